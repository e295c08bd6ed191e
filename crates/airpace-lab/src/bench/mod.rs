//! Benchmarks of the whole system.

pub mod ap;
pub mod datapath;
pub mod edge;
pub mod emulator;
pub mod saturation;
pub mod tcp;
