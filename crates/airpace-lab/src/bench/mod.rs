//! Benchmarks of the whole system.

pub mod ap;
pub mod aps;
pub mod classifier;
pub mod datapath;
pub mod edge;
pub mod emulator;
pub mod forged;
pub mod insight;
pub mod mixed;
pub mod saturation;
pub mod sensors;
pub mod tcp;
pub mod traffic;
