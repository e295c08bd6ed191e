//! TCP as two sans-IO state machines, [`Sender`] and [`Receiver`], that exchange [`DataSegment`]s
//! and [`AckSegment`]s.
//!
//! Segments are abstract: stream offsets have 64 bits and segments carry no bytes, but every option
//! that changes the size of a packet or the behaviour of an end is modelled: timestamps, SACK and
//! D-SACK blocks, the window, ECN and accurate ECN. A connection carries data in one direction; a request and its
//! response are two connections. Behaviour follows the RFCs as Linux applies them;
//! `docs/design/tcp.md` lists the sources and what is not modelled.
//!
//! After each call of an `on_*` method the driver drains [`Sender::poll_transmit`] or
//! [`Receiver::poll_ack`] and then waits until `deadline()`, which may have moved in either
//! direction.

mod config;
mod congestion;
mod delivery;
mod pacer;
mod rack;
mod ranges;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
mod segment;
mod sender;

pub use config::{Algorithm, SenderConfig};
pub use congestion::{AckEvent, CongestionControl, CongestionState, Window};
pub use receiver::{Receiver, ReceiverConfig, ReceiverStatistics};
pub use segment::{AckSegment, Block, CeCounts, DataSegment, SackBlocks, TIMESTAMP_UNIT};
pub use sender::{Sender, SenderInfo, SenderStatistics};
