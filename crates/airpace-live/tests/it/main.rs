//! Proxy and agent with the real kernel, in namespaces of their own.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests against the real kernel; what was skipped is said aloud"
)]

mod bench;
mod live;
mod monitor;
