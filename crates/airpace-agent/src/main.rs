//! The program for stations: it reports what received frames look like, and makes keys.

use airpace_agent::agent::{self, Agent};
use airpace_agent::keygen::{self, Keygen};
use airpace_agent::log::{ENVIRONMENT, Verbosity};
use airpace_agent::{args, failure};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Reports to an airpace proxy what the Wi-Fi frames that this station receives look like.
#[derive(Parser)]
#[command(
    name = "airpace-agent",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = ENVIRONMENT
)]
struct Program {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(after_help = agent::examples("airpace-agent run", "airpace-agent keygen"))]
    Run(Agent),
    #[command(after_help = keygen::examples("airpace-agent keygen", "agent.key"))]
    Keygen(Keygen),
}

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
