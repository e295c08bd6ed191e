//! The server over real connections.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod connections;
mod cost;
mod dashboards;
