//! Transport protocols between simulated hosts.

pub mod tcp;
