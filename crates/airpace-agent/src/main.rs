//! The program for stations: it reports what received frames look like, and makes keys.

use airpace_agent::program::{Command, Program};
use airpace_agent::{agent, args, failure, keygen};
use std::process::ExitCode;

fn main() -> ExitCode {
    let program: Program = match args::parse() {
        Ok(program) => program,
        Err(code) => return code,
    };
    let _log = program.verbosity.start_logging();
    failure::exit_code(match program.command {
        Command::Run(args) => agent::run(&args),
        Command::Keygen(args) => keygen::run(&args),
    })
}
