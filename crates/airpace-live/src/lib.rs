//! Proxy and agent: the loops that join the core to the network.
//!
//! What is decided is decided by types of `airpace-core` and by the sans-IO types here ([`tunnel::Tunnel`],
//! [`proxy::PacketProxy`], [`agent::PacketAgent`]); the loops only carry bytes and time.
//!
//! To run them: [`run_proxy`] and [`run_agent`], each in the calling thread and its network namespace until a file becomes
//! readable; [`keys::KeyPair`] makes, reads and writes keys.

pub mod agent;
pub mod keys;
pub mod packet;
pub mod proxy;
pub mod tunnel;

mod batch;
mod device;
mod queues;
mod runtime;

pub use agent::run_agent;
pub use proxy::run_proxy;
pub use runtime::Stop;
