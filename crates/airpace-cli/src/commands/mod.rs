//! One file per command: its arguments and the call of the library that does the work.

mod airtime;

use clap::Subcommand;
use std::process::ExitCode;

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    Airtime(airtime::Airtime),
}

/// Runs a command and says what the process ends with.
pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Airtime(args) => airtime::run(&args),
    }
}
