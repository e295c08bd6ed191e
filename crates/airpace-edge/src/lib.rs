//! The state machines between measurement and pacing: the same live, emulated and simulated.
//!
//! - [`proxy::Proxy`] turns the stations' reports into rates and releases packets at these rates.
//! - [`agent::Agent`] turns what a station's radio receives into one report per slot, and shapes
//!   the station's uplink.
//! - [`inline::Inline`] learns the stations behind access points and does both in-line, without their
//!   help.
//! - [`tunnel::Tunnel`] seals datagrams between the two.
//!
//! None of them reads a clock, opens a socket or a file, or has a random generator: time, packets,
//! keys and randomness are arguments. Proxy and agent are generic over the packet that they carry,
//! bytes live and a small record in simulation; the tunnel is generic over its cryptography.
//!
//! ```
//! use airpace_core::packet::Packet;
//! use airpace_edge::proxy::{Output, Pacing, Proxy, ProxyConfig, StationConfig};
//! use airpace_units::{BitRate, Time};
//!
//! /// A packet of 1500 bytes.
//! #[derive(Debug)]
//! struct Full;
//!
//! impl Packet for Full {
//!     fn bytes(&self) -> u32 {
//!         1500
//!     }
//!     fn hash_flow<H: core::hash::Hasher>(&self, _state: &mut H) {}
//!     fn mark_ce(&mut self) -> bool {
//!         false
//!     }
//! }
//!
//! let config = ProxyConfig {
//!     pacing: Pacing::Fixed(BitRate::from_mbps(12)),
//!     stations: vec![StationConfig::default()],
//!     ..ProxyConfig::default()
//! };
//! let mut proxy = Proxy::new(config, |_| [0; 16])?;
//! proxy.set_connected(Time::ZERO, 0, true);
//! for _ in 0..10 {
//!     proxy.enqueue(Time::ZERO, 0, Full);
//! }
//! // At 12 Mbit/s a packet takes a millisecond, and two may leave together.
//! let mut sent = 0;
//! while let Some(Output::Packet { .. }) = proxy.poll(Time::from_millis(1)) {
//!     sent += 1;
//! }
//! assert_eq!(sent, 2);
//! # Ok::<(), airpace_edge::proxy::ProxyError>(())
//! ```

pub mod agent;
pub mod inline;
pub mod proxy;
pub mod tunnel;
