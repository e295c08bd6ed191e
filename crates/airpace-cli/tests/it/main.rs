//! The program as its users see it: output, error messages and exit codes.
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(
    clippy::print_stderr,
    reason = "tests that are skipped, or measure, say so"
)]

mod airtime;
mod allocate;
mod bench;
mod check;
mod config;
mod control;
mod demo;
mod docs;
mod edge;
mod emulate;
mod keygen;
mod logs;
mod remote_sensors;
mod reproduce;
mod shared;
mod sim;
mod stalled;
mod step;
mod terminal;
mod tool;
mod usage;
mod watch;
