//! The agent: a small program on each station that reports what received frames look like.

use crate::stop::until_stopped;
use crate::{config, log, output};
use airpace_api::config::AgentConfig;
use airpace_config::schema;
use airpace_net::signals::Signals;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Report what received frames look like; runs on each station.
#[derive(Args)]
pub struct Agent {
    /// Configuration (TOML).
    #[arg(long, value_name = "FILE", required_unless_present = "schema")]
    config: Option<PathBuf>,
    /// Print the configuration with all defaults, and do nothing else.
    #[arg(long)]
    print_config: bool,
    /// Print the reference of the configuration's keys, and do nothing else.
    #[arg(long)]
    schema: bool,
}

/// The end of the command's help: examples of `command`, and of `keygen`, which makes the keys.
#[must_use]
pub fn examples(command: &str, keygen: &str) -> String {
    format!(
        "Examples:
  {command} --config agent.toml
  {command} --config agent.toml --print-config
  {command} --schema                 every key of the configuration

The smallest configuration:
  proxy = \"192.0.2.1:51900\"
  proxy_public_key = \"...\"           # printed on the proxy by: airpace keygen --out proxy.key
  private_key_file = \"agent.key\"     # written by: {keygen} --out agent.key
  monitor = \"mon0\"                   # a radiotap interface, if there is one
  [tun]
  address = \"10.99.0.2/24\"

Beside an in-line box (airpace edge), which the station's traffic passes anyway, the agent only reports:
  mode = \"sensor\"                   # in place of [tun]; `proxy` is the box's address in [agents]"
    )
}

/// Runs the agent until a signal stops it.
///
/// # Errors
/// The configuration or the key is refused, the network interface cannot be created, or a signal
/// ended the run.
pub fn run(args: &Agent) -> anyhow::Result<ExitCode> {
    if args.schema {
        output::text(&schema::markdown::<AgentConfig>(
            "The agent's configuration",
        ))?;
    }
    let Some(path) = args.config.as_ref().filter(|_| !args.schema) else {
        return Ok(ExitCode::SUCCESS);
    };
    let mut config = config::agent(path)?;
    if args.print_config {
        config.spell_out();
        output::text(&config.to_toml())?;
        return Ok(ExitCode::SUCCESS);
    }
    log::prefer(config.log_format);
    let hangup = Signals::reload()?;
    until_stopped(|stop| airpace_live::run_agent(&config, stop, Some(&hangup)))
}
