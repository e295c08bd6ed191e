//! `airpace proxy`.

use crate::output;
use airpace_agent::config;
use airpace_agent::log;
use airpace_agent::stop::until_stopped;
use airpace_api::config::{ProxyConfig, UdpLoadConfig};
use airpace_config::schema;
use airpace_net::signals::Signals;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  airpace proxy --config proxy.toml
  airpace proxy --config proxy.toml --udp-load     constant UDP to each agent at the rate it is granted
  airpace proxy --config proxy.toml --print-config
  airpace proxy --schema                           every key of the configuration

The smallest configuration:
  private_key_file = \"proxy.key\"     # written by: airpace keygen --out proxy.key
  [tun]
  address = \"10.99.0.1/24\"
  [[station]]
  name = \"laptop\"
  public_key = \"...\"                 # printed on the station by: airpace-agent keygen --out agent.key
  address = \"10.99.0.2\"";

/// Pace what each station is sent; runs in front of the access point.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Proxy {
    /// Configuration (TOML).
    #[arg(long, value_name = "FILE", required_unless_present = "schema")]
    config: Option<PathBuf>,
    /// Also send constant paced UDP to every connected station at its allocated rate.
    #[arg(long)]
    udp_load: bool,
    /// Print the configuration with all defaults, and do nothing else.
    #[arg(long)]
    print_config: bool,
    /// Print the reference of the configuration's keys, and do nothing else.
    #[arg(long)]
    schema: bool,
}

pub(crate) fn run(args: &Proxy) -> anyhow::Result<ExitCode> {
    if args.schema {
        output::text(&schema::markdown::<ProxyConfig>(
            "The proxy's configuration",
        ))?;
    }
    let Some(path) = args.config.as_ref().filter(|_| !args.schema) else {
        return Ok(ExitCode::SUCCESS);
    };
    let mut config = config::proxy(path)?;
    if args.udp_load && config.udp_load.is_none() {
        config.udp_load = Some(UdpLoadConfig::default());
    }
    if args.print_config {
        config.spell_out();
        output::text(&config.to_toml())?;
        return Ok(ExitCode::SUCCESS);
    }
    log::prefer(config.log_format);
    let hangup = Signals::reload()?;
    until_stopped(|stop| airpace_live::run_proxy(&config, stop, Some(&hangup)).map(drop))
}
