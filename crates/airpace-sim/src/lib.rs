//! The 802.11 MAC as one sans-IO state machine ([`mac`]), and networks in virtual time ([`world`]).
//!
//! The emulated access point runs the same MAC under a real clock. Nothing here reads a clock, a
//! file, a socket or a global random generator; a run is a function of its configuration and its
//! seed.

pub mod channel;
pub mod closed_loop;
pub mod mac;
pub mod radio;
pub mod rate;
pub mod rng;
pub mod steady;
pub mod step;
pub mod traffic;
pub mod transport;
pub mod world;
