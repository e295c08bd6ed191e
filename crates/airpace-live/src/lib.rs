//! Proxy and agent: the loops that join the core to the network.
//!
//! What is decided is decided by types of `airpace-core` and by the sans-IO types here; the loops only carry bytes and time.
//!
//! Types to know: [`tunnel::Tunnel`] (one end of the sealed tunnel) and [`keys::KeyPair`].

pub mod keys;
pub mod tunnel;
