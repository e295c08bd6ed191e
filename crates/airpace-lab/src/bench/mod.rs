//! Benchmarks whose results are figures of the system, not of a function.

pub mod ap;
pub mod comparison;
pub mod datapath;
pub mod saturation;
pub mod tcp;
