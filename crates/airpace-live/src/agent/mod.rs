//! The agent: reports what the frames that a station receives look like, and carries its uplink.
//!
//! [`AgentCore`] decides, sans-IO; [`run_agent`] carries packets between it, the interface, the socket and the monitor.

mod acks;
mod core;
mod monitor;
mod run;

pub use self::core::{AgentCore, Counts};
pub use run::run_agent;

#[cfg(test)]
mod tests;
