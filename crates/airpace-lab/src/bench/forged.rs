//! Frames that an attacker's radio forges, against the same run without them: the tunnel with agents
//! that have a monitor interface, and the in-line box with a radio that hears block acks.

use crate::demo::{Arm, ArmKind, DemoOptions};
use crate::forge::{Forgery, Transmitter};
use crate::results::ArmResult;
use crate::tool::Stop;
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// Bar for the p95 ping under load, as a multiple of what it is without forged frames.
pub const PING_BAR: f64 = 1.3;

/// The sensors that can be deceived.
pub const SENSOR_NAMES: [&str; 2] = ["monitor", "radio"];

/// What to run.
#[derive(Clone, Debug)]
pub struct ForgedPlan {
    /// The airpace program.
    pub program: PathBuf,
    /// VHT MCS of the stations, 80 MHz and one stream.
    pub mcs: Vec<u8>,
    /// The sensors to deceive, of [`SENSOR_NAMES`].
    pub sensors: Vec<String>,
    /// Runs of each case; the medians are compared.
    pub repeats: u32,
    /// Duration of the load of each run: a Cubic download per station, and pings.
    pub load: Duration,
    /// Beginning of the load that the figures leave out.
    pub ramp: Duration,
    /// Folder for the telemetry of the runs.
    pub out: PathBuf,
    /// Seed of the first run; each further one has the next.
    pub seed: u64,
}

/// One kind of forged frames.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ForgedRow {
    /// Which sensor is deceived: `monitor` or `radio`.
    pub sensor: &'static str,
    /// What is forged.
    pub forged: &'static str,
    /// p95 of the pings under load to all stations, ms: of each run.
    pub ping_p95_ms: Vec<f64>,
    /// Goodput of all stations, Mbit/s: of each run.
    pub goodput_mbps: Vec<f64>,
    /// Median p95 over that without forged frames.
    pub ping_ratio: f64,
    /// Median goodput over that without forged frames.
    pub goodput_ratio: f64,
    /// Whether the ping keeps to [`PING_BAR`].
    pub holds: bool,
}

/// The rows of both sensors.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ForgedComparison {
    /// Sensor by sensor, first without forged frames.
    pub rows: Vec<ForgedRow>,
    /// Whether all rows keep to the bar.
    pub holds: bool,
    /// Whether the emulator kept up in every run. If not, the figures cannot be trusted.
    pub trusted: bool,
}

/// A kind of forged frames, with its name; `None` forges nothing.
type Case = (&'static str, Option<Forgery>);

/// The arms, the sensor that each relies upon, and what is forged for it.
const SENSORS: [(&str, ArmKind, &[Case]); 2] = [
    (
        "monitor",
        ArmKind::AirpaceCubic,
        &[
            ("nothing", None),
            ("100 A-MPDUs/s", Some(Forgery::Aggregates(Transmitter::Own))),
            (
                "100 A-MPDUs/s as the access point",
                Some(Forgery::Aggregates(Transmitter::AccessPoint)),
            ),
            ("1000 frames/s", Some(Forgery::Singles(Transmitter::Own))),
            (
                "1000 frames/s as the access point",
                Some(Forgery::Singles(Transmitter::AccessPoint)),
            ),
        ],
    ),
    (
        "radio",
        ArmKind::EdgeRadio,
        &[
            ("nothing", None),
            ("100 block acks/s", Some(Forgery::BlockAcks)),
        ],
    ),
];

/// Runs every case. The in-line box needs root; without it the radio is left out.
///
/// # Errors
/// If namespaces or TUN devices cannot be created, a run fails, or `stop` was raised.
pub fn compare(plan: &ForgedPlan, stop: &Stop) -> Result<ForgedComparison> {
    std::fs::create_dir_all(&plan.out)
        .with_context(|| format!("creating {}", plan.out.display()))?;
    let is_root = airpace_net::netns::is_system_root();
    let mut comparison = ForgedComparison {
        rows: Vec::new(),
        holds: true,
        trusted: true,
    };
    for (sensor, kind, cases) in SENSORS {
        let is_wanted = plan.sensors.iter().any(|wanted| wanted == sensor);
        if is_wanted && kind == ArmKind::EdgeRadio && !is_root {
            tracing::warn!(
                "the radio is left out: the in-line box loads BPF programs, which needs root"
            );
            continue;
        }
        if !is_wanted {
            continue;
        }
        let mut without = None;
        for &(forged, forgery) in cases {
            let runs = plan.runs(kind, forgery, stop)?;
            comparison.trusted &= runs.iter().all(|run| run.trusted);
            let row = row(sensor, forged, &runs, without);
            without.get_or_insert((median(&row.ping_p95_ms), median(&row.goodput_mbps)));
            comparison.holds &= row.holds;
            tracing::info!(sensor, forged, ping_p95_ms = ?row.ping_p95_ms, goodput_mbps = ?row.goodput_mbps);
            comparison.rows.push(row);
        }
    }
    Ok(comparison)
}

impl ForgedPlan {
    fn runs(&self, kind: ArmKind, forgery: Option<Forgery>, stop: &Stop) -> Result<Vec<ArmResult>> {
        let mut runs = Vec::new();
        let mut options = DemoOptions::new(self.out.clone(), self.program.clone());
        (options.load, options.ramp) = (self.load, self.ramp);
        for repeat in 0..self.repeats {
            options.seed = self.seed.wrapping_add(repeat.into());
            let arm = Arm {
                options: &options,
                kind,
                mcs: &self.mcs,
                traffic: &[],
                forgery,
            };
            let (result, _) = arm.run(stop, &mut |_| {})?;
            runs.push(result);
        }
        Ok(runs)
    }
}

/// The row of some runs; `without` has the median ping and goodput where nothing is forged.
fn row(
    sensor: &'static str,
    forged: &'static str,
    runs: &[ArmResult],
    without: Option<(f64, f64)>,
) -> ForgedRow {
    let ping_p95_ms: Vec<f64> = runs.iter().map(|run| run.figures.ping_ms.p95).collect();
    let goodput_mbps: Vec<f64> = runs.iter().map(|run| run.figures.goodput_mbps).collect();
    let (ping, goodput) = (median(&ping_p95_ms), median(&goodput_mbps));
    let (ping_without, goodput_without) = without.unwrap_or((ping, goodput));
    let ping_ratio = ping / ping_without;
    ForgedRow {
        sensor,
        forged,
        ping_p95_ms,
        goodput_mbps,
        ping_ratio,
        goodput_ratio: goodput / goodput_without,
        // A ratio that is not a number holds nothing.
        holds: ping_ratio <= PING_BAR,
    }
}

/// The median; of an even number of values the upper one in the middle.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::tests::arm;

    fn run(ping_p95_ms: f64) -> ArmResult {
        let mut arm = arm("airpace-cubic", 1);
        arm.figures.ping_ms.p95 = ping_p95_ms;
        arm.figures.goodput_mbps = 100.0;
        arm
    }

    #[test]
    fn medians_of_the_runs_are_compared() {
        let without = Some((10.0, 200.0));
        let row = row("monitor", "x", &[run(50.0), run(12.0), run(11.0)], without);
        assert!((row.ping_ratio - 1.2).abs() < 1e-9);
        assert!((row.goodput_ratio - 0.5).abs() < 1e-9);
        assert!(row.holds);
    }

    #[test]
    fn a_longer_ping_and_runs_without_pings_miss_the_bar() {
        let without = Some((10.0, 200.0));
        assert!(!row("monitor", "x", &[run(13.1)], without).holds);
        assert!(!row("monitor", "x", &[run(f64::NAN)], without).holds);
    }
}
