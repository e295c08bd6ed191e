//! The 802.11 MAC as one sans-IO state machine ([`mac`]), and networks in virtual time ([`world`]).
//!
//! The emulated access point runs the same MAC under a real clock. Nothing here reads a clock, a
//! file, a socket or a global random generator; a run is a function of its configuration and its
//! seed.
//!
//! Types to know: [`world::WorldConfig`] says what a network consists of, [`world::World`] runs it,
//! [`world::Outcome`] is what it comes to.
//!
//! ```
//! use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
//! use airpace_sim::mac::{CellConfig, StationConfig};
//! use airpace_sim::world::{ChannelConfig, FlowConfig, NodeId, Traffic, World, WorldConfig};
//! use core::time::Duration;
//!
//! // An access point (node 0) that always has packets for one station (node 1) at 390 Mbit/s.
//! let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800)?;
//! let cell = CellConfig::new(vec![StationConfig::new(rate)]);
//! let mut network = WorldConfig::new(2, Duration::from_millis(200), Duration::from_secs(1));
//! network.channels = vec![ChannelConfig {
//!     mac: cell.mac()?,
//!     nodes: vec![NodeId(0), NodeId(1)],
//! }];
//! let saturating = Traffic::Saturating { payload: 1_470, window: 128 };
//! network.flows = vec![FlowConfig::new(NodeId(0), NodeId(1), saturating)];
//!
//! let mut world = World::new(network)?;
//! world.run();
//! let outcome = world.outcome();
//! let mbps = outcome.flows[0].payload_bytes as f64 * 8e-6 / outcome.window.as_secs_f64();
//! assert!((310.0..360.0).contains(&mbps), "{mbps}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod channel;
pub mod closed_loop;
pub mod mac;
pub mod overheard;
pub mod radio;
pub mod rate;
pub mod rng;
mod row;
pub mod sensors;
pub mod steady;
pub mod step;
pub mod timestamps;
pub mod traffic;
pub mod transport;
pub mod world;
