//! Integration tests of scenarios.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod runaway;
