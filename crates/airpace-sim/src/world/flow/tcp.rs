//! A TCP connection: the sender at one end, the receiver at the other.

use super::Departure;
use crate::transport::tcp::{
    AckSegment, DataSegment, Receiver, ReceiverConfig, Sender, SenderConfig,
};
use crate::world::parcel::{Ecn, Parcel, Payload};
use crate::world::TcpConfig;
use airpace_units::Time;

/// Both ends of a connection that carries data one way.
#[derive(Debug)]
pub(super) struct TcpEnds {
    sender: Sender,
    receiver: Receiver,
    start: Time,
    started: bool,
    stop: Option<Time>,
    bytes: Option<u64>,
    delivered: u64,
}
