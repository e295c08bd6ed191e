//! The arguments of the small program, `airpace-agent`.

use crate::agent::{self, Agent};
use crate::keygen::{self, Keygen};
use crate::log::{ENVIRONMENT, Verbosity};
use clap::{Parser, Subcommand};

/// Reports to an airpace proxy what the Wi-Fi frames that this station receives look like.
#[derive(Parser)]
#[command(
    name = "airpace-agent",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = ENVIRONMENT
)]
pub struct Program {
    #[expect(missing_docs, reason = "a comment would become the help text")]
    #[command(flatten)]
    pub verbosity: Verbosity,
    #[expect(missing_docs, reason = "a comment would become the help text")]
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    #[command(after_help = agent::examples("airpace-agent run", "airpace-agent keygen"))]
    #[expect(missing_docs, reason = "the help text is that of the arguments")]
    Run(Agent),
    #[command(after_help = keygen::examples("airpace-agent keygen", "agent.key"))]
    #[expect(missing_docs, reason = "the help text is that of the arguments")]
    Keygen(Keygen),
}
