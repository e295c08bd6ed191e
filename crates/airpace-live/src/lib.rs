//! Proxy and agent as processes: the loops between the state machines and the network.
//!
//! The state machines of `airpace-edge` decide: the tunnel, and within [`proxy::PacketProxy`] and
//! [`agent::PacketAgent`] the proxy and the agent. The loops here carry bytes and time between them
//! and the system, and `crypto` gives the tunnel its cryptography.
//!
//! [`run_proxy`] and [`run_agent`] run in the calling thread and its network namespace until a file
//! becomes readable; [`keys::KeyPair`] generates, reads and writes keys.

pub mod agent;
pub mod doctor;
pub mod edge;
mod journal;
pub mod keys;
pub mod packet;
pub mod proxy;

mod batch;
mod capture;
mod control;
mod crypto;
mod device;
#[cfg(fuzzing)]
pub mod fuzzing;
mod queues;
mod runtime;
mod service;
mod summary;
mod warnings;

pub use agent::run_agent;
pub use edge::run_edge;
pub use proxy::run_proxy;
pub use runtime::Stop;
