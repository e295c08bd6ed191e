//! A rate controller behind a pipe: one JSON object per slot and line, reports in, allocations out.
//!
//! `airpace control` reads [`Slot`]s and answers each with a [`Decision`], so that any simulator or test bed can use the controllers.
//! Names contain the unit. Values that are not known are left out; unknown keys are refused.

use serde::{Deserialize, Serialize};

/// One slot that has ended. The reports are of different stations.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// End of the slot in µs, on any clock that does not run backwards.
    pub time_us: f64,
    /// What the stations saw. A known station that is left out keeps its last state.
    #[serde(default)]
    pub reports: Vec<Report>,
    /// Stations that have left and will be forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<u32>,
}

/// What one station saw in one slot. A report without frames is valid and makes the station known.
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
    /// Data frames (PPDUs) with packets that were not sent before.
    #[serde(default)]
    pub frames: u32,
    /// MPDUs in them that were not sent before; by default as many as packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpdus: Option<u32>,
    /// Packets in them that were not sent before. The aggregation level is packets / frames.
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
    /// Sum over the frames of 1/R in s/bit, where R is the PHY rate; 0 if R is not known.
    #[serde(default)]
    pub inverse_rate_sum: f64,
    /// Packets that never arrived.
    #[serde(default)]
    pub lost: u32,
    /// Packets that were sent more than once.
    #[serde(default)]
    pub late: u32,
    /// Whether packets for the station waited at the sender. True by default, as with sources that always have packets.
    #[serde(default = "yes")]
    pub backlogged: bool,
    /// Packets sent to the station in the slot; 0 if that is not known.
    #[serde(default)]
    pub sent_packets: u32,
    /// Bytes of those packets.
    #[serde(default)]
    pub sent_bytes: u64,
}

/// What the stations are sent from now on.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Decision {
    /// One for each known station, in the order of their numbers.
    pub allocations: Vec<Allocation>,
    /// The law's estimate of the overhead of a round in µs, if it makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead_us: Option<f64>,
    /// While the delay target cannot be met, the least delay in ms that can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_delay_ms: Option<f64>,
    /// Reports ignored so far because they contradicted themselves.
    pub ignored_reports: u64,
}

/// What one station is sent.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Allocation {
    /// Number of the station.
    pub station: u32,
    /// Packets per second.
    pub rate_pps: f64,
    /// Bytes per second, IP header included.
    pub rate_bytes_per_s: f64,
    /// The level that the law aims for, packets per frame.
    pub level: f64,
}

fn yes() -> bool {
    true
}
