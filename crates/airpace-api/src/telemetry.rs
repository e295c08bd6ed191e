//! Telemetry: one JSON object per line, station and slot, as proxy and agent write it and plots
//! read it.
//!
//! Names contain the unit. Fields are added, but never renamed or given another meaning. Fields that
//! are absent or zero are not written. `docs/telemetry.md` explains the files.

use serde::{Deserialize, Serialize};

/// One slot of one station: what the proxy saw and decided.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ProxySlot {
    /// End of the slot in seconds since the proxy started.
    pub time_s: f64,
    /// Wall-clock time of the end of the slot in seconds since 1970, to align the files of several
    /// programs.
    pub unix_s: f64,
    /// Slots of which the row is made; absent if it is one. With `telemetry_detail = "summary"`, rates,
    /// levels and estimates are means over them, counts are sums, and backlogs and percentiles are
    /// the largest of the slots' own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    /// Length of these slots together in seconds; absent if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_s: Option<f64>,
    /// Name of the station.
    pub station: String,
    /// `controlled`, `starting` (no report yet), `conservative` or `unshaped` (reports are
    /// missing), `away` (no session).
    pub mode: String,
    /// Reported aggregation level, packets per frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// Aggregation level aimed at, packets per frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_target: Option<f64>,
    /// Granted rate in packets per second; absent when unshaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_pps: Option<f64>,
    /// Granted rate in Mbit/s of packets on the air; absent when unshaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_mbps: Option<f64>,
    /// Mbit/s sent to the network in the slot, tunnel headers included.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sent_mbps: f64,
    /// Mbit/s that the station reported as received in its slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_mbps: Option<f64>,
    /// Mean time between frames to the station, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_ms: Option<f64>,
    /// The controller's estimate of the overhead of a round, us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead_us: Option<f64>,
    /// While the delay target cannot be met, the least that can be, ms. The same for all stations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_delay_ms: Option<f64>,
    /// While the latency that was asked for cannot be met, the least that seems feasible, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_latency_ms: Option<f64>,
    /// Price of delay (κ) that the law applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
    /// Number of stations whose bottleneck appears to lie elsewhere than at the access point.
    #[serde(default, skip_serializing_if = "is_default")]
    pub capped_elsewhere: u32,
    /// Reported mean PHY rate, Mbit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phy_mbps: Option<f64>,
    /// Packets waiting at the proxy for the station at the end of the slot.
    #[serde(default, skip_serializing_if = "is_default")]
    pub backlog_packets: u64,
    /// Bytes of those packets.
    #[serde(default, skip_serializing_if = "is_default")]
    pub backlog_bytes: u64,
    /// Median sojourn time at the proxy of the packets sent in the slot, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sojourn_p50_ms: Option<f64>,
    /// 95th percentile of the sojourn time, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sojourn_p95_ms: Option<f64>,
    /// Mean waiting time at the access point: time from the proxy to the station above the smallest
    /// seen, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_mean_ms: Option<f64>,
    /// Median of the same time, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_p50_ms: Option<f64>,
    /// 95th percentile of the same time, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_p95_ms: Option<f64>,
    /// Packets that the station reported as lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u32>,
    /// Packets dropped by the proxy's queue in the slot.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dropped: u64,
    /// Packets marked by the proxy's queue in the slot.
    #[serde(default, skip_serializing_if = "is_default")]
    pub marked: u64,
    /// Its agent's reports that claimed what contradicts the standard or what was sent, since it came.
    #[serde(default, skip_serializing_if = "is_default")]
    pub corrected_reports: u64,
    /// Its agent's reports that did not count because too many came, since it came.
    #[serde(default, skip_serializing_if = "is_default")]
    pub surplus_reports: u64,
}

/// One slot of one station, as the in-line box saw it and decided.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct EdgeSlot {
    /// End of the slot in seconds since the machine started.
    pub time_s: f64,
    /// Wall-clock time of the end of the slot in seconds since 1970.
    pub unix_s: f64,
    /// Slots of which the row is made; absent if it is one. With `telemetry_detail = "summary"`, rates,
    /// levels and estimates are means over them, counts are sums, and backlogs and percentiles are
    /// the largest of the slots' own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    /// Length of these slots together in seconds; absent if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_s: Option<f64>,
    /// Name of the access point.
    pub ap: String,
    /// Hardware address of the station.
    pub station: String,
    /// Name of the station, if one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `controlled`, `starting` (not observed yet), `conservative` or `unshaped` (not observed for
    /// some time).
    pub mode: String,
    /// What observed the station: `agent`, `block-ack`, `ack-burst`, `waiting-time` or `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensor: Option<String>,
    /// How far the observed level can be relied upon, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Observed aggregation level, packets per frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// Aggregation level aimed at, packets per frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_target: Option<f64>,
    /// Granted rate in Mbit/s of IP packets; absent when unshaped. In a dry run the rate that would
    /// have been granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_mbps: Option<f64>,
    /// Whether nothing was paced.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dry_run: bool,
    /// Packets that waited for the pacer in the slot, or in a dry run would have waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_packets: Option<u32>,
    /// Mbit/s of IP packets sent to the access point in the slot.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sent_mbps: f64,
    /// Mbit/s that the station has acknowledged in its slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_mbps: Option<f64>,
    /// Mean time between frames to the station, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_ms: Option<f64>,
    /// PHY rate of the frames to the station in Mbit/s, if its sensor knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phy_mbps: Option<f64>,
    /// Frames in which packets came from the station in its slot, as far as gaps between them tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_frames: Option<u32>,
    /// The controller's estimate of the overhead of a round, us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead_us: Option<f64>,
    /// Price of delay (κ) that the law applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
    /// Number of stations whose bottleneck appears to lie elsewhere than at the access point.
    #[serde(default, skip_serializing_if = "is_default")]
    pub capped_elsewhere: u32,
    /// Packets waiting in the box for the station at the end of the slot.
    #[serde(default, skip_serializing_if = "is_default")]
    pub backlog_packets: u64,
    /// Bytes of those packets.
    #[serde(default, skip_serializing_if = "is_default")]
    pub backlog_bytes: u64,
    /// Median sojourn time in the box of the packets sent in the slot, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sojourn_p50_ms: Option<f64>,
    /// 95th percentile of the sojourn time, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sojourn_p95_ms: Option<f64>,
    /// Median waiting time at the access point, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_p50_ms: Option<f64>,
    /// 95th percentile of the same time, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_p95_ms: Option<f64>,
    /// Packets dropped by the box's queue in the slot.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dropped: u64,
    /// Packets marked by the box's queue in the slot.
    #[serde(default, skip_serializing_if = "is_default")]
    pub marked: u64,
    /// Its agent's reports that claimed what contradicts the standard or what was sent, since it came.
    #[serde(default, skip_serializing_if = "is_default")]
    pub corrected_reports: u64,
    /// Its agent's reports that did not count because too many came, since it came.
    #[serde(default, skip_serializing_if = "is_default")]
    pub surplus_reports: u64,
    /// Share of the air that others than the access point and its stations used in the slot, 0 to 1,
    /// as far as the radio near it has heard; absent without a radio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub air_of_others: Option<f64>,
    /// Rows of all stations that were left out since the start because there were too many.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rows_left_out: u64,
    /// Stations that were crowded out since the start: not learnt, or forgotten for others, because
    /// there were too many.
    #[serde(default, skip_serializing_if = "is_default")]
    pub crowded_out: u64,
}

/// One slot as the agent measured it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AgentSlot {
    /// End of the slot in seconds since the agent started.
    pub time_s: f64,
    /// Wall-clock time of the end of the slot, in seconds since 1970.
    pub unix_s: f64,
    /// Slots of which the row is made; absent if it is one. With `telemetry_detail = "summary"`, rates,
    /// levels and estimates are means over them, counts are sums, and backlogs and percentiles are
    /// the largest of the slots' own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    /// Length of these slots together in seconds; absent if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_s: Option<f64>,
    /// Slot number.
    #[serde(default, skip_serializing_if = "is_default")]
    pub slot: u64,
    /// Frames counted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub frames: u32,
    /// Packets in those frames.
    #[serde(default, skip_serializing_if = "is_default")]
    pub packets: u32,
    /// Bytes of those packets.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bytes: u64,
    /// Packets per frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// Mean time between frames, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_ms: Option<f64>,
    /// Mean PHY rate, Mbit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phy_mbps: Option<f64>,
    /// Packets that never arrived.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lost: u32,
    /// Packets that arrived after one sent later.
    #[serde(default, skip_serializing_if = "is_default")]
    pub late: u32,
    /// Acknowledgements of the uplink that were dropped because a later one made them redundant.
    #[serde(default, skip_serializing_if = "is_default")]
    pub thinned_acks: u64,
    /// How the level was measured: `ampdu`, `tsft`, `counters` or `socket`.
    pub source: String,
}

/// Whether a field has the value that a reader assumes if it is absent.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Parses a file of JSON lines. A last line that a crash cut short is skipped.
///
/// # Errors
/// A complete line is not an object of this type.
pub fn parse_lines<'a, T: Deserialize<'a>>(text: &'a str) -> Result<Vec<T>, serde_json::Error> {
    let mut rows = Vec::new();
    for line in text.split_inclusive('\n') {
        match serde_json::from_str(line.trim_end()) {
            Ok(row) => rows.push(row),
            Err(_) if !line.ends_with('\n') => break,
            Err(error) => return Err(error),
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_back_and_an_incomplete_last_line_is_skipped() {
        let row = ProxySlot {
            time_s: 0.1,
            station: "laptop".to_owned(),
            level: Some(31.5),
            ..ProxySlot::default()
        };
        let line = serde_json::to_string(&row).expect("serialisable");
        let text = format!("{line}\n{line}\n{}", &line[..20]);
        assert_eq!(
            parse_lines::<ProxySlot>(&text).expect("two rows"),
            vec![row.clone(), row]
        );
        assert!(parse_lines::<ProxySlot>("{}x\n").is_err());
    }

    #[test]
    fn fields_that_are_absent_or_zero_are_not_written() {
        let row = EdgeSlot {
            time_s: 1.5,
            dropped: 3,
            ..EdgeSlot::default()
        };
        let line = serde_json::to_string(&row).expect("serialisable");
        assert_eq!(
            line,
            r#"{"time_s":1.5,"unix_s":0.0,"ap":"","station":"","mode":"","dropped":3}"#
        );
        let rows = parse_lines::<EdgeSlot>(&format!("{line}\n")).expect("one row");
        assert_eq!(rows, vec![row]);
    }

    #[test]
    fn every_field_is_documented() {
        let documented = include_str!("../../../docs/telemetry.md");
        let mut fields = 0;
        for line in include_str!("telemetry.rs").lines() {
            if let Some(field) = line.strip_prefix("    pub ") {
                let name = field.split(':').next().expect("a name");
                assert!(
                    documented.contains(&format!("| `{name}` |")),
                    "docs/telemetry.md lacks {name}"
                );
                fields += 1;
            }
        }
        assert!(fields > 60, "{fields}");
    }
}
