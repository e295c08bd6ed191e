//! The commands that the small program for stations, `airpace-agent`, shares with the large one,
//! `airpace`, and what every command needs: arguments, exit codes, logging, printing.
//!
//! Nothing here depends on the simulator, the emulated access point or the experiments, so that
//! `airpace-agent` stays small; `xtask tidy` checks that. All decisions are made in `airpace-live`
//! and below.
//!
//! Start at [`agent::Agent`] and [`keygen::Keygen`], the commands; [`failure`] has the exit codes.
//!
//! ```
//! use airpace_agent::agent::Agent;
//! use clap::Parser;
//!
//! #[derive(Parser)]
//! struct Program {
//!     #[command(flatten)]
//!     agent: Agent,
//! }
//!
//! // A configuration is needed, or a flag that does without one.
//! assert!(Program::try_parse_from(["program"]).is_err());
//! assert!(Program::try_parse_from(["program", "--config", "agent.toml"]).is_ok());
//! ```

pub mod agent;
pub mod args;
pub mod config;
pub mod failure;
pub mod keygen;
pub mod log;
pub mod output;
pub mod program;
pub mod stop;
