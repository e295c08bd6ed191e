//! Experiments on real packets: bulk TCP, ping, the demo and the datapath benchmark.
//!
//! And, in [`sim`], scenarios of the simulator: resolved, run, stored and swept over.
//!
//! It decides nothing about Wi-Fi or pacing: it starts the emulated access point, the proxy and the agents, loads them with the [`tool`]s, and
//! writes down what happened. Results are [`airpace_api::results`] types; plots are drawn from the stored files by `python/airpace`.
#![expect(
    clippy::disallowed_methods,
    reason = "experiments on real packets live by the machine's clock"
)]

pub mod bench;
pub mod cell;
pub mod control;
pub mod demo;
pub mod frames;
pub mod interrupt;
mod load;
pub mod reproduce;
pub mod sim;
pub mod stats;
pub mod tool;
pub mod validate;
