//! The server over real connections.
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::print_stderr, reason = "a test that measures says what")]

mod connections;
mod cost;
mod dashboards;
