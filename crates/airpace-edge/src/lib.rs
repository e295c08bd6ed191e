//! What stands between the sensors and the pacers, as state machines.
//!
//! The same proxy, agent and tunnel run live, under the emulated access point and in simulation: the caller
//! brings the packets, the time and the randomness.

pub mod agent;
pub mod proxy;
pub mod tunnel;
