//! One file per command: its arguments and the call of the library that does the work.

mod airtime;
mod allocate;
mod keygen;

use clap::Subcommand;
use std::process::ExitCode;

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    Allocate(allocate::Allocate),
    Airtime(airtime::Airtime),
    Keygen(keygen::Keygen),
}

/// Runs a command and says what the process ends with.
pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Allocate(args) => allocate::run(&args),
        Command::Airtime(args) => airtime::run(&args),
        Command::Keygen(args) => keygen::run(&args),
    }
}
