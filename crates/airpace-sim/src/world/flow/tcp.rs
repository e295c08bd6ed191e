//! A TCP connection: the sender at one end, the receiver at the other.

use super::Departure;
use crate::traffic::{DelayStatistic, DelaySummary};
use crate::transport::tcp::{Receiver, ReceiverStatistics, Sender, SenderStatistics};
use crate::world::TcpConfig;
use crate::world::parcel::{Ecn, Parcel, Payload};
use airpace_units::Time;

/// Both ends of a connection that carries data one way.
#[derive(Debug)]
pub(super) struct TcpEnds {
    sender: Sender,
    receiver: Receiver,
    start: Time,
    stop: Time,
    /// Whether the stream has been handed to the sender.
    opened: bool,
    closed: bool,
    bytes: Option<u64>,
    delivered: u64,
    begin: Time,
    round_trip: DelayStatistic,
    completed: Option<Time>,
}

/// How a connection went.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TcpReport {
    /// What the sender did, over the whole run.
    pub sender: SenderStatistics,
    /// What the receiver saw, over the whole run.
    pub receiver: ReceiverStatistics,
    /// Round-trip times that the sender measured within the time of the statistics.
    pub round_trip: Option<DelaySummary>,
    /// Time from the start to the arrival of the last byte, if the connection was to carry a number of bytes and has.
    pub completion_s: Option<f64>,
}
