//! Experiments on real packets: bulk TCP, ping, the demo and the datapath benchmark.
//!
//! It decides nothing about Wi-Fi or pacing: it starts the emulated access point, the proxy and the agents, loads them with the [`tool`]s, and
//! writes down what happened. Results are [`airpace_api::results`] types; plots are drawn from the stored files by `python/airpace`.
#![expect(
    clippy::disallowed_methods,
    reason = "experiments on real packets live by the machine's clock"
)]

pub mod bench;
pub mod cell;
pub mod demo;
pub mod frames;
pub mod interrupt;
mod load;
pub mod stats;
pub mod tool;
