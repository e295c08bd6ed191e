//! The airpace program: it parses arguments, calls the libraries and prints what they return. It has no logic of its own.
//!
//! Results go to standard output, everything else to standard error. Exit codes are in [`failure`].

mod args;
mod bar;
mod commands;
mod config;
mod failure;
mod output;
mod progress;
mod rate;

use std::io::IsTerminal as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match args::parse() {
        Ok(args) => args,
        Err(code) => return code,
    };
    start_logging(args.verbose, args.quiet);
    failure::exit_code(commands::run(args.command))
}

/// Logs to standard error: what matters by default, `-v` and `-vv` more, `-q` only what must not be missed.
fn start_logging(verbose: u8, quiet: bool) {
    let level = match (quiet, verbose) {
        (true, _) => "warn",
        (false, 0) => "info",
        (false, 1) => "debug",
        (false, _) => "trace",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("AIRPACE_LOG")
        .unwrap_or_else(|_| level.parse().unwrap_or_default());
    let coloured = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    log.with_ansi(coloured).with_target(false).init();
}
