//! TCP as two sans-IO state machines, [`Sender`] and [`Receiver`], that exchange [`DataSegment`]s and [`AckSegment`]s.
//!
//! Segments are abstract: stream offsets have 64 bits and no bytes are carried, but every option that changes the size of a packet or the behaviour of
//! an end is there: timestamps, SACK and D-SACK blocks, window, ECN. A connection carries data one way; a request and its answer are two of them.
//! Behaviour follows the RFCs as Linux applies them; `docs/design/tcp.md` says where and what is left out.
//!
//! After each call of `on_*` the driver drains [`Sender::poll_transmit`] or [`Receiver::poll_ack`], then waits until `deadline()`, which may move both ways.

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
pub use congestion::{AckEvent, CongestionControl, State, Window};
pub use receiver::{Receiver, ReceiverConfig, ReceiverStatistics};
pub use segment::{AckSegment, Block, DataSegment, SackBlocks};
pub use sender::{Sender, SenderInfo, SenderStatistics};
