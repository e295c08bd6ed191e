//! The airpace program: it parses arguments, calls the libraries and prints what they return. It
//! has no logic of its own.
//!
//! Results go to standard output, everything else to standard error. Exit codes are in [`failure`].

mod args;
mod bar;
mod commands;
mod dashboard;
#[cfg(test)]
mod documented;
mod files;
mod output;
mod progress;
mod rate;
mod watch;

use airpace_agent::failure;
use args::Program;
use std::process::ExitCode;

fn main() -> ExitCode {
    let program: Program = match airpace_agent::args::parse() {
        Ok(program) => program,
        Err(code) => return code,
    };
    let _log = program.verbosity.start_logging();
    failure::exit_code(commands::run(program.command))
}
