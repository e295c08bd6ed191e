//! The sans-IO core: what a frame costs ([`phy`]), how packets aggregate ([`model`]), how the air is shared ([`alloc`]),
//! the laws that hold it there ([`control`]), queues ([`queue`]), pacing ([`pace`]), the receiver's meter ([`meter`]) and
//! messages ([`wire`]).
//!
//! It never reads a clock, a socket, a file, an environment variable or a global random generator: time is the first
//! argument of whatever needs it, and the caller owns the buffers.
//!
//! Three types to know: [`report::SlotReport`] (what a station saw in a slot), [`control::RateController`] (turns reports into
//! rates) and [`report::Allocation`] (a rate and the aggregation level it aims at).

pub mod packet;
pub mod report;

pub mod alloc;
pub mod control;
pub mod meter;
pub mod model;
pub mod pace;
pub mod phy;
pub mod queue;
pub mod wire;
