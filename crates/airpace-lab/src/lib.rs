//! Experiments on real packets: traffic tools, the demo, and benchmarks of the emulator, the tunnel
//! and the kernel's TCP.
//!
//! It decides nothing about Wi-Fi or pacing. It starts the emulated access point, the proxy and the
//! agents, loads them with the [`tool`]s and records what happens. [`results`] has the types of the
//! stored files; `python/airpace` draws plots from them.
#![expect(
    clippy::disallowed_methods,
    reason = "experiments on real packets use the machine's clock"
)]

pub mod bench;
pub mod cell;
pub mod demo;
mod forge;
pub mod frames;
pub mod interrupt;
mod load;
pub mod quality;
pub mod results;
pub mod soak;
pub mod stats;
pub mod tool;
