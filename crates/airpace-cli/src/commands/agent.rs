//! `airpace agent`.

use super::tunnel;
use crate::{config, output};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  airpace agent --config agent.toml
  airpace agent --config agent.toml --print-config

The least that a configuration needs:
  proxy = \"192.0.2.1:51900\"
  proxy_public_key = \"...\"           # printed by: airpace keygen --out proxy.key
  private_key_file = \"agent.key\"     # made by: airpace keygen --out agent.key
  monitor = \"mon0\"                   # a radiotap interface, if there is one
  [tun]
  address = \"10.99.0.2/24\"";

/// Report what received frames look like; runs on each station.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Agent {
    /// Configuration (TOML).
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Print the configuration with all defaults, and do nothing else.
    #[arg(long)]
    print_config: bool,
}

pub(crate) fn run(args: &Agent) -> anyhow::Result<ExitCode> {
    let config = config::agent(&args.config)?;
    if args.print_config {
        output::text(&config.to_toml())?;
        return Ok(ExitCode::SUCCESS);
    }
    tunnel::until_stopped(|stop| airpace_live::run_agent(&config, stop))
}
