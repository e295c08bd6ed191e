//! The agent: reports what the frames that a station receives look like, and carries its uplink.
//!
//! [`PacketAgent`] decides, without input or output of its own; [`run_agent`] carries packets
//! between it, the interface, the socket and the monitor.

mod accept;
mod lookup;
mod monitor;
mod packets;
mod run;
mod sensor;
mod telemetry;

pub use airpace_edge::agent::Counts;
pub use packets::PacketAgent;
pub use run::run_agent;

#[cfg(test)]
mod tests;
