//! Integration tests of scenarios.
mod runaway;
