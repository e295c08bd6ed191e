//! The controllers behind a pipe, for other simulators and test beds: one JSON object per line and
//! slot, reports in, allocations out.
//!
//! [`serve`] reads [`Slot`]s and answers each with a [`Decision`]; `airpace control` runs it on
//! standard input and output.
//!
//! ```
//! use airpace_core::control::{Goal, Law};
//! use airpace_papers::control::{ControlConfig, serve};
//!
//! let config = ControlConfig {
//!     law: Law::Waterfill,
//!     goal: Goal::papers(32.0, None),
//!     initial_mbps: None,
//!     payload_bytes: 1_470,
//! };
//! let slots = r#"{"time_us":0,"reports":[{"station":3,"length_us":100000}]}"#;
//! let mut answers = Vec::new();
//! serve(&mut *config.build()?, slots.as_bytes(), &mut answers)?;
//! assert!(String::from_utf8(answers)?.starts_with(r#"{"allocations":[{"station":3,"#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod messages;

pub use messages::{Allocation, Decision, Report, Slot};

use airpace_core::control::{ConfigError, Goal, Law, LawConfig, RateController, StreamConfig};
use airpace_core::pace::PaceConfig;
use airpace_core::report::{Answers, LevelSource, OtherNetworks, SenderView, Sensor, SlotReport};
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES;
use airpace_edge::proxy::{Pacing, controller};
use airpace_units::{StationId, Time};
use std::io::{BufRead, Write};
use std::time::Duration;
use thiserror::Error;

/// Longest line that is read, in bytes. A report takes some 300 bytes, so this is enough for tens
/// of thousands of stations.
const LINE_MAX: u64 = 16 << 20;
/// Greatest time or span that is accepted, in µs: over thirty years, and far within the range of
/// nanoseconds in 64 bits.
const TIME_MAX_US: f64 = 1e15;

/// A law and those of its parameters that other simulators need to set.
#[derive(Clone, PartialEq, Debug)]
pub struct ControlConfig {
    /// The law.
    pub law: Law,
    /// Target level and delay.
    pub goal: Goal,
    /// Rate that the published laws start a station with, Mbit/s of payload. `None` leaves the
    /// law's default.
    pub initial_mbps: Option<f64>,
    /// Bytes of UDP payload in a packet. The laws compute with packets of this size.
    pub payload_bytes: u32,
}

/// Why the exchange ended early.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// A line cannot be used; the message says why.
    #[error("line {line}: {fault}")]
    Line {
        /// Number of the line, from 1.
        line: u64,
        /// The reason.
        fault: String,
    },
    /// A pipe failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl ControlConfig {
    /// Builds the controller that a proxy would have. What else a proxy does (slots, missing and
    /// repeated reports, pacing) is the other simulator's.
    ///
    /// # Errors
    /// If the law refuses a value.
    pub fn build(&self) -> Result<Box<dyn RateController + Send>, ConfigError> {
        let pacing = Pacing::Law(self.law_config());
        let controller = controller(&pacing, PaceConfig::default().frame_overhead)?;
        Ok(controller.expect("a law measures"))
    }

    /// The configuration of the law.
    #[must_use]
    pub fn law_config(&self) -> LawConfig {
        let mut law = LawConfig::named(self.law, self.goal);
        let packet_bytes = self.payload_bytes.saturating_add(IPV4_UDP_HEADER_BYTES);
        let set_stream = |stream: &mut StreamConfig| {
            stream.payload_bytes = self.payload_bytes;
            stream.packet_bytes = packet_bytes;
            if let Some(initial_mbps) = self.initial_mbps {
                stream.initial_mbps = initial_mbps;
            }
        };
        match &mut law {
            LawConfig::Linear(config) => set_stream(&mut config.stream),
            LawConfig::LinearPf(config) => set_stream(&mut config.stream),
            LawConfig::Dual(config) => set_stream(&mut config.stream),
            LawConfig::Nonlinear(config) => set_stream(&mut config.stream),
            LawConfig::Waterfill(config) => config.packet_bytes = f64::from(packet_bytes),
            _ => {}
        }
        law
    }
}

/// Reads slots from `input`, one per line, and writes the law's decision on each to `output`, until
/// the input ends. Empty lines are skipped.
///
/// # Errors
/// The first line that cannot be used, or the failure of a pipe.
pub fn serve(
    law: &mut dyn RateController,
    mut input: impl BufRead,
    mut output: impl Write,
) -> Result<(), ControlError> {
    let mut text = Vec::new();
    let mut last = Time::ZERO;
    for line in 1.. {
        text.clear();
        // Without a limit an endless line would fill the memory.
        if std::io::Read::take(&mut input, LINE_MAX).read_until(b'\n', &mut text)? == 0 {
            break;
        }
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let error = |fault| ControlError::Line { line, fault };
        if text.len() as u64 == LINE_MAX {
            return Err(error(format!("longer than {LINE_MAX} bytes")));
        }
        let slot: Slot = serde_json::from_slice(&text).map_err(|why| error(why.to_string()))?;
        let now = slot_end(&slot, last).map_err(error)?;
        let reports = read_reports(&slot).map_err(error)?;
        last = now;
        let decision = decide(law, now, &slot, &reports);
        serde_json::to_writer(&mut output, &decision).map_err(std::io::Error::from)?;
        output.write_all(b"\n")?;
        // The other side waits for the answer before it goes on.
        output.flush()?;
    }
    Ok(())
}

fn decide(
    law: &mut dyn RateController,
    now: Time,
    slot: &Slot,
    reports: &[SlotReport],
) -> Decision {
    for &station in &slot.left {
        law.remove(StationId(station));
    }
    let mut allocations = Vec::new();
    for allocation in law.on_slot(now, reports) {
        allocations.push(Allocation {
            station: allocation.station.0,
            rate_pps: allocation.rate_pps,
            rate_bytes_per_s: allocation.rate_bytes_per_s,
            level: allocation.level,
        });
    }
    let diagnostics = law.diagnostics();
    Decision {
        allocations,
        overhead_us: diagnostics.overhead_s.map(|seconds| seconds * 1e6),
        smallest_delay_ms: diagnostics.smallest_delay_s.map(|seconds| seconds * 1e3),
        ignored_reports: diagnostics.ignored_reports,
    }
}

/// The end of the slot, or why it is refused. `last` is the end of the slot before.
fn slot_end(slot: &Slot, last: Time) -> Result<Time, String> {
    let now = time("time_us", slot.time_us)?;
    if now < last {
        return Err(format!(
            "time_us goes back from {} to {}",
            last.as_nanos() as f64 / 1e3,
            slot.time_us
        ));
    }
    Ok(now)
}

/// The reports in the controllers' own type, or why one of them is refused.
fn read_reports(slot: &Slot) -> Result<Vec<SlotReport>, String> {
    let mut stations: Vec<u32> = slot.reports.iter().map(|report| report.station).collect();
    stations.sort_unstable();
    if let Some(pair) = stations.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("station {} reports twice in one slot", pair[0]));
    }
    slot.reports.iter().map(read_report).collect()
}

fn read_report(report: &Report) -> Result<SlotReport, String> {
    let error = |fault: String| format!("station {}: {fault}", report.station);
    let time = |name, micros| time(name, micros).map_err(error);
    let length = Duration::from_nanos(time("length_us", report.length_us)?.as_nanos());
    if length.is_zero() {
        return Err(error("length_us must be above 0".to_owned()));
    }
    let span = match (report.first_us, report.last_us) {
        (Some(first), Some(last)) => Some((time("first_us", first)?, time("last_us", last)?)),
        (None, None) => None,
        _ => {
            return Err(error(
                "first_us and last_us must be given both or not at all".to_owned(),
            ));
        }
    };
    if !(report.inverse_rate_sum.is_finite() && report.inverse_rate_sum >= 0.0) {
        return Err(error(
            "inverse_rate_sum must be a number of at least 0".to_owned(),
        ));
    }
    Ok(SlotReport {
        station: StationId(report.station),
        slot: report.slot,
        length,
        frames: report.frames,
        mpdus: report.mpdus.unwrap_or(report.packets),
        packets: report.packets,
        longest_frame: 0,
        bytes: report.bytes,
        span,
        inverse_rate_sum: report.inverse_rate_sum,
        recent_inverse_rate: 0.0,
        lost: report.lost,
        late: report.late,
        wait: None,
        transit: None,
        others: OtherNetworks::Unknown,
        airtime_bps: None,
        answers: Answers::Tell,
        upload_bps: None,
        source: LevelSource::AmpduReference,
        sensor: Sensor::Agent,
        confidence: 1.0,
        sender: SenderView {
            backlogged: report.backlogged,
            sent_packets: report.sent_packets,
            sent_bytes: report.sent_bytes,
            ..SenderView::default()
        },
    })
}

/// A time in µs, or why it is refused.
fn time(name: &str, micros: f64) -> Result<Time, String> {
    if (0.0..=TIME_MAX_US).contains(&micros) {
        // At most 10^18 ns, which 64 bits hold.
        Ok(Time::from_nanos((micros * 1e3).round() as u64))
    } else {
        Err(format!(
            "{name} must lie between 0 and {TIME_MAX_US:e}, but is {micros}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(law: Law) -> ControlConfig {
        let goal = Goal::papers(32.0, None);
        ControlConfig {
            law,
            goal,
            initial_mbps: None,
            payload_bytes: 1_470,
        }
    }

    fn answers(law: Law, input: impl AsRef<[u8]>) -> Result<Vec<Decision>, ControlError> {
        let mut output = Vec::new();
        serve(
            &mut *config(law).build().unwrap(),
            input.as_ref(),
            &mut output,
        )?;
        Ok(String::from_utf8(output)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect())
    }

    #[test]
    fn every_law_answers_each_slot_with_one_rate_per_known_station() {
        let input = concat!(
            r#"{"time_us":0,"reports":[{"station":1,"length_us":100000},{"station":0,"length_us":100000}]}"#,
            "\n\n",
            r#"{"time_us":100000,"reports":[{"station":0,"slot":1,"length_us":100000,"frames":10,"packets":80,"#,
            r#""bytes":119840,"first_us":1000,"last_us":9000,"inverse_rate_sum":2.6e-8,"sent_packets":80,"sent_bytes":119840}]}"#,
            "\n",
            r#"{"time_us":200000,"left":[0]}"#,
        );
        for law in Law::COMPARED {
            let answers = answers(law, input).unwrap();
            let stations: Vec<Vec<u32>> = answers
                .iter()
                .map(|answer| answer.allocations.iter().map(|a| a.station).collect())
                .collect();
            assert_eq!(stations, [vec![0, 1], vec![0, 1], vec![1]], "{law}");
            assert!(
                answers
                    .iter()
                    .flat_map(|answer| &answer.allocations)
                    .all(|a| a.rate_pps > 0.0),
                "{law}"
            );
        }
    }

    #[test]
    fn the_decision_is_that_of_the_law() {
        let answer = answers(
            Law::LinearPf,
            r#"{"time_us":0,"reports":[{"station":3,"length_us":5e5}]}"#,
        )
        .unwrap();
        // A station without frames counts as level 1: the initial rate of 1 Mbit/s, and K = 1
        // Mbit/s for each of the 31 packets to the target.
        let pps = 32e6 / (8.0 * 1_470.0);
        assert!(
            (answer[0].allocations[0].rate_pps - pps).abs() < 1e-9,
            "{answer:?}"
        );
    }

    #[test]
    fn the_error_for_an_unusable_line_gives_its_number_and_the_reason() {
        let report =
            |fields: &str| format!(r#"{{"time_us":5,"reports":[{{"station":2,{fields}}}]}}"#);
        for (input, reason) in [
            ("{}".into(), "time_us"),
            ("[".into(), "EOF"),
            (r#"{"time_us":1,"rate":2}"#.into(), "unknown field `rate`"),
            (r#"{"time_us":-1}"#.into(), "time_us must lie between"),
            (format!("{}\n{}", r#"{"time_us":9}"#, r#"{"time_us":8}"#), "line 2: time_us goes back"),
            (report(r#""length_us":0"#), "station 2: length_us must be above 0"),
            (report(r#""length_us":1e300"#), "length_us must lie between"),
            (report(r#""length_us":9,"frames":-1"#), "invalid value"),
            (report(r#""length_us":9,"first_us":1"#), "both or not at all"),
            (report(r#""length_us":9,"inverse_rate_sum":-1"#), "inverse_rate_sum"),
            (r#"{"time_us":1,"reports":[{"station":2,"length_us":9},{"station":2,"length_us":9}]}"#.into(), "twice"),
        ] {
            let error = answers(Law::Waterfill, &input).unwrap_err().to_string();
            assert!(error.starts_with("line ") && error.contains(reason), "{input}: {error}");
        }
        assert!(answers(Law::Waterfill, b"{\"\xff").is_err());
    }

    #[test]
    fn reports_that_contradict_themselves_are_counted_and_ignored() {
        let input = r#"{"time_us":0,"reports":[{"station":0,"length_us":9,"frames":4294967295,"packets":1,"first_us":8,"last_us":2}]}"#;
        let answer = answers(Law::Waterfill, input).unwrap();
        assert_eq!(
            (answer[0].allocations.len(), answer[0].ignored_reports),
            (0, 1)
        );
    }

    #[test]
    fn impossible_configurations_are_refused() {
        let none = ControlConfig {
            initial_mbps: Some(0.0),
            ..config(Law::Linear)
        };
        assert!(none.build().is_err());
        let large = ControlConfig {
            payload_bytes: u32::MAX,
            ..config(Law::Linear)
        };
        assert!(large.build().is_err());
    }
}
