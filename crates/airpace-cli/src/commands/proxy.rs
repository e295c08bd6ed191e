//! `airpace proxy`.

use super::tunnel;
use crate::{config, output};
use airpace_api::config::UdpLoadConfig;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  airpace proxy --config proxy.toml
  airpace proxy --config proxy.toml --udp-load     constant UDP to each agent at the rate it is granted
  airpace proxy --config proxy.toml --print-config

The least that a configuration needs:
  private_key_file = \"proxy.key\"     # made by: airpace keygen --out proxy.key
  [tun]
  address = \"10.99.0.1/24\"
  [[station]]
  name = \"laptop\"
  public_key = \"...\"                 # printed by: airpace keygen --out agent.key
  address = \"10.99.0.2\"";

/// Pace what each station is sent; runs in front of the access point.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Proxy {
    /// Configuration (TOML).
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Also send constant paced UDP to every connected station at its allocated rate.
    #[arg(long)]
    udp_load: bool,
    /// Print the configuration with all defaults, and do nothing else.
    #[arg(long)]
    print_config: bool,
}

pub(crate) fn run(args: &Proxy) -> anyhow::Result<ExitCode> {
    let mut config = config::proxy(&args.config)?;
    if args.udp_load && config.udp_load.is_none() {
        config.udp_load = Some(UdpLoadConfig::default());
    }
    if args.print_config {
        output::text(&config.to_toml())?;
        return Ok(ExitCode::SUCCESS);
    }
    tunnel::until_stopped(|stop| airpace_live::run_proxy(&config, stop).map(drop))
}
