//! The messages. Numbers have the unit in their name. Values that are not known are left out;
//! unknown keys are refused.

use serde::{Deserialize, Serialize};

/// A slot that has ended, with at most one report per station.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// End of the slot in µs, on any clock that does not go back.
    pub time_us: f64,
    /// What the stations observed. A known station without a report keeps its last state.
    #[serde(default)]
    pub reports: Vec<Report>,
    /// Stations that have left. The controller forgets them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<u32>,
}

/// What one station observed in one slot. A report without frames is valid and makes the station
/// known.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Number of the station.
    pub station: u32,
    /// Number of the slot, counted by the station.
    #[serde(default)]
    pub slot: u64,
    /// Length of the slot in µs, above 0.
    pub length_us: f64,
    /// Data frames (PPDUs) with packets that had not been sent before.
    #[serde(default)]
    pub frames: u32,
    /// MPDUs in them that had not been sent before. Default: as many as `packets`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpdus: Option<u32>,
    /// Packets in them that had not been sent before. The aggregation level is packets / frames.
    #[serde(default)]
    pub packets: u32,
    /// Bytes of all packets received, IP header included.
    #[serde(default)]
    pub bytes: u64,
    /// End of the first of the frames in µs, on the station's clock; given together with `last_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_us: Option<f64>,
    /// End of the last of the frames in µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_us: Option<f64>,
    /// Sum over the frames of 1/R in s/bit, where R is the PHY rate; 0 if it is not known.
    #[serde(default)]
    pub inverse_rate_sum: f64,
    /// Packets that never arrived.
    #[serde(default)]
    pub lost: u32,
    /// Packets that were sent more than once.
    #[serde(default)]
    pub late: u32,
    /// Whether packets for the station waited at the sender. Default: yes, as with sources that
    /// always have packets.
    #[serde(default = "yes")]
    pub backlogged: bool,
    /// Packets sent to the station in the slot; 0 if that is not known.
    #[serde(default)]
    pub sent_packets: u32,
    /// Bytes of those packets.
    #[serde(default)]
    pub sent_bytes: u64,
}

/// The rates at which the stations are sent packets from now on.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Decision {
    /// One per known station, in the order of their numbers.
    pub allocations: Vec<Allocation>,
    /// The law's estimate of the overhead of a round in µs, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead_us: Option<f64>,
    /// The least delay in ms that can be held, if that is above the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_delay_ms: Option<f64>,
    /// Reports that were ignored so far because they contradicted themselves.
    pub ignored_reports: u64,
}

/// The rate of one station.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Allocation {
    /// Number of the station.
    pub station: u32,
    /// Packets per second.
    pub rate_pps: f64,
    /// Bytes per second, IP header included.
    pub rate_bytes_per_s: f64,
    /// The target level, packets per frame.
    pub level: f64,
}

fn yes() -> bool {
    true
}
