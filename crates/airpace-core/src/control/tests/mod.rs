//! Tests of every law together, and the model of an access point that they run against.

mod bad_input;
mod closed_loop;
mod liars;
pub(super) mod plant;
