//! Telemetry: one JSON object per line, station and slot, as proxy and agent write it and plots
//! read it.
//!
//! Names contain the unit. Fields are added, but never renamed or given another meaning.

use serde::{Deserialize, Serialize};

/// One slot of one station: what the proxy saw and decided.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ProxySlot {
    /// End of the slot in seconds since the proxy started.
    pub time_s: f64,
    /// Wall-clock time of the end of the slot in seconds since 1970, to align the files of several
    /// programs.
    pub unix_s: f64,
    /// Name of the station.
    pub station: String,
    /// `controlled`, `starting` (no report yet), `conservative` or `unshaped` (reports are
    /// missing), `away` (no session).
    pub mode: String,
    /// Reported aggregation level, packets per frame.
    pub level: Option<f64>,
    /// Aggregation level aimed at, packets per frame.
    pub level_target: Option<f64>,
    /// Granted rate in packets per second; absent when unshaped.
    pub rate_pps: Option<f64>,
    /// Granted rate in Mbit/s of packets on the air; absent when unshaped.
    pub rate_mbps: Option<f64>,
    /// Mbit/s sent to the network in the slot, tunnel headers included.
    pub sent_mbps: f64,
    /// Mbit/s that the station reported as received in its slot.
    pub goodput_mbps: Option<f64>,
    /// Mean time between frames to the station, ms.
    pub round_ms: Option<f64>,
    /// The controller's estimate of the overhead of a round, us.
    pub overhead_us: Option<f64>,
    /// While the delay target cannot be met, the least that can be, ms. The same for all stations.
    #[serde(default)]
    pub smallest_delay_ms: Option<f64>,
    /// While the latency that was asked for cannot be met, the least that seems feasible, ms.
    #[serde(default)]
    pub least_latency_ms: Option<f64>,
    /// Price of delay (κ) that the law applies.
    #[serde(default)]
    pub price: Option<f64>,
    /// Number of stations whose bottleneck appears to lie elsewhere than at the access point.
    #[serde(default)]
    pub capped_elsewhere: u32,
    /// Reported mean PHY rate, Mbit/s.
    pub phy_mbps: Option<f64>,
    /// Packets waiting at the proxy for the station at the end of the slot.
    pub backlog_packets: u64,
    /// Bytes of those packets.
    pub backlog_bytes: u64,
    /// Median sojourn time at the proxy of the packets sent in the slot, ms.
    pub sojourn_p50_ms: Option<f64>,
    /// 95th percentile of the sojourn time, ms.
    pub sojourn_p95_ms: Option<f64>,
    /// Mean waiting time at the access point: time from the proxy to the station above the smallest
    /// seen, ms.
    pub wait_mean_ms: Option<f64>,
    /// Median of the same time, ms.
    pub wait_p50_ms: Option<f64>,
    /// 95th percentile of the same time, ms.
    pub wait_p95_ms: Option<f64>,
    /// Packets that the station reported as lost.
    pub lost: Option<u32>,
    /// Packets dropped by the proxy's queue in the slot.
    pub dropped: u64,
    /// Packets marked by the proxy's queue in the slot.
    pub marked: u64,
    /// Its agent's reports that claimed what contradicts the standard or what was sent, since it came.
    #[serde(default)]
    pub corrected_reports: u64,
    /// Its agent's reports that did not count because too many came, since it came.
    #[serde(default)]
    pub surplus_reports: u64,
}

/// One slot of one station, as the in-line box saw it and decided.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct EdgeSlot {
    /// End of the slot in seconds since the machine started.
    pub time_s: f64,
    /// Wall-clock time of the end of the slot in seconds since 1970.
    pub unix_s: f64,
    /// Name of the access point.
    pub ap: String,
    /// Hardware address of the station.
    pub station: String,
    /// Name of the station, if one is known.
    pub name: Option<String>,
    /// `controlled`, `starting` (not observed yet), `conservative` or `unshaped` (not observed for
    /// some time).
    pub mode: String,
    /// What observed the station: `agent`, `block-ack`, `ack-burst`, `waiting-time` or `none`.
    pub sensor: Option<String>,
    /// How far the observed level can be relied upon, 0 to 1.
    pub confidence: Option<f64>,
    /// Observed aggregation level, packets per frame.
    pub level: Option<f64>,
    /// Aggregation level aimed at, packets per frame.
    pub level_target: Option<f64>,
    /// Granted rate in Mbit/s of IP packets; absent when unshaped. In a dry run the rate that would
    /// have been granted.
    pub rate_mbps: Option<f64>,
    /// Whether nothing was paced.
    #[serde(default)]
    pub dry_run: bool,
    /// Packets that waited for the pacer in the slot, or in a dry run would have waited.
    #[serde(default)]
    pub held_packets: Option<u32>,
    /// Mbit/s of IP packets sent to the access point in the slot.
    pub sent_mbps: f64,
    /// Mbit/s that the station has acknowledged in its slot.
    pub goodput_mbps: Option<f64>,
    /// Mean time between frames to the station, ms.
    pub round_ms: Option<f64>,
    /// PHY rate of the frames to the station in Mbit/s, if its sensor knows it.
    pub phy_mbps: Option<f64>,
    /// Frames in which packets came from the station in its slot, as far as gaps between them tell.
    pub uplink_frames: Option<u32>,
    /// The controller's estimate of the overhead of a round, us.
    pub overhead_us: Option<f64>,
    /// Price of delay (κ) that the law applies.
    pub price: Option<f64>,
    /// Number of stations whose bottleneck appears to lie elsewhere than at the access point.
    pub capped_elsewhere: u32,
    /// Packets waiting in the box for the station at the end of the slot.
    pub backlog_packets: u64,
    /// Bytes of those packets.
    pub backlog_bytes: u64,
    /// Median sojourn time in the box of the packets sent in the slot, ms.
    pub sojourn_p50_ms: Option<f64>,
    /// 95th percentile of the sojourn time, ms.
    pub sojourn_p95_ms: Option<f64>,
    /// Median waiting time at the access point, ms.
    pub wait_p50_ms: Option<f64>,
    /// 95th percentile of the same time, ms.
    pub wait_p95_ms: Option<f64>,
    /// Packets dropped by the box's queue in the slot.
    pub dropped: u64,
    /// Packets marked by the box's queue in the slot.
    pub marked: u64,
    /// Its agent's reports that claimed what contradicts the standard or what was sent, since it came.
    #[serde(default)]
    pub corrected_reports: u64,
    /// Its agent's reports that did not count because too many came, since it came.
    #[serde(default)]
    pub surplus_reports: u64,
    /// Share of the air that others than the access point and its stations used in the slot, 0 to 1,
    /// as far as the radio near it has heard; absent without a radio.
    #[serde(default)]
    pub air_of_others: Option<f64>,
    /// Rows of all stations that were left out since the start because there were too many.
    #[serde(default)]
    pub rows_left_out: u64,
    /// Stations that were crowded out since the start: not learnt, or forgotten for others, because
    /// there were too many.
    #[serde(default)]
    pub crowded_out: u64,
}

/// One slot as the agent measured it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AgentSlot {
    /// End of the slot in seconds since the agent started.
    pub time_s: f64,
    /// Wall-clock time of the end of the slot, in seconds since 1970.
    pub unix_s: f64,
    /// Slot number.
    pub slot: u64,
    /// Frames counted.
    pub frames: u32,
    /// Packets in those frames.
    pub packets: u32,
    /// Bytes of those packets.
    pub bytes: u64,
    /// Packets per frame.
    pub level: Option<f64>,
    /// Mean time between frames, ms.
    pub round_ms: Option<f64>,
    /// Mean PHY rate, Mbit/s.
    pub phy_mbps: Option<f64>,
    /// Packets that never arrived.
    pub lost: u32,
    /// Packets that arrived after one sent later.
    pub late: u32,
    /// Acknowledgements of the uplink that were dropped because a later one made them redundant.
    #[serde(default)]
    pub thinned_acks: u64,
    /// How the level was measured: `ampdu`, `tsft`, `counters` or `socket`.
    pub source: String,
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
}
