//! One flow: what its two ends do, and what has become of its packets.

use super::parcel::{Ecn, Parcel, Payload};
use super::statistics::FlowCounts;
use super::event::Alarm;
use super::{FlowConfig, NodeId, Traffic};
use crate::rng::Stream;
use airpace_units::{BitRate, Time};

/// Bytes of IPv4 and UDP headers.
const UDP_HEADERS: u32 = 28;

/// A flow and its ends.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) config: FlowConfig,
    index: u32,
    ends: Ends,
    pub(super) alarm: Alarm,
    running: bool,
    /// Number of the next packet from `from` to `to`.
    sequence: u64,
    pub(super) counts: FlowCounts,
}

/// A packet that one of the ends sends.
#[derive(Debug)]
pub(super) struct Departure {
    pub(super) node: NodeId,
    pub(super) parcel: Parcel,
}

#[derive(Debug)]
enum Ends {
    Constant(Constant),
    Saturating { payload: u32, window: u32, under_way: u32 },
}
