//! One file per command: its arguments and the call of the library that does the work.

mod airtime;
mod allocate;
mod bench;
mod check;
mod control;
mod demo;
mod dist;
mod doctor;
mod edge;
mod emulate;
mod proxy;
mod reproduce;
mod schema;
mod sim;
mod status;
mod step;
mod tool;
mod validate;

use airpace_agent::agent::{self, Agent};
use airpace_agent::keygen::{self, Keygen};
use clap::Subcommand;
use std::process::ExitCode;

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    Demo(demo::Demo),
    Edge(edge::Edge),
    Status(status::Status),
    Doctor(doctor::Doctor),
    Check(check::Check),
    Schema(schema::Schema),
    Emulate(Box<emulate::Emulate>),
    Proxy(proxy::Proxy),
    #[command(after_help = agent::examples("airpace agent", "airpace keygen"))]
    Agent(Agent),
    #[command(after_help = keygen::examples("airpace keygen", "proxy.key"))]
    Keygen(Keygen),
    Allocate(allocate::Allocate),
    Airtime(airtime::Airtime),
    Sim(sim::Sim),
    Step(step::Step),
    Reproduce(reproduce::Reproduce),
    Control(control::Control),
    Bench(bench::Bench),
    Tool(tool::Tool),
    #[command(hide = true)]
    Dist(dist::Dist),
    #[command(hide = true)]
    Validate(validate::Validate),
}

/// Runs a command and returns what the process ends with.
pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Edge(args) => edge::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Emulate(args) => emulate::run(&args),
        Command::Proxy(args) => proxy::run(&args),
        Command::Agent(args) => agent::run(&args),
        Command::Keygen(args) => keygen::run(&args),
        Command::Allocate(args) => allocate::run(&args),
        Command::Airtime(args) => airtime::run(&args),
        Command::Sim(args) => sim::run(&args),
        Command::Step(args) => step::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Control(args) => control::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Tool(args) => tool::run(&args),
        Command::Dist(args) => dist::run(&args),
        Command::Validate(args) => validate::run(&args),
    }
}
