//! `airpace edge`.

mod operate;

use crate::output;
use airpace_agent::config;
use airpace_agent::failure::bad_input;
use airpace_agent::log;
use airpace_agent::stop::until_stopped;
use airpace_api::config::{ApConfig, EdgeConfig, Override};
use airpace_api::operator::EdgeRequest;
use airpace_config::schema;
use airpace_live::edge::{self, Reload};
use airpace_net::interfaces;
use airpace_net::signals::Signals;
use clap::Args;
use core::net::SocketAddr;
use operate::Operation;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  airpace edge --wan eth0 --ap eth1                  the whole set-up: a bridge is made over both ports
  airpace edge --wan eth0 --ap eth1 --ap eth2        two access points, each a medium of its own
  airpace edge --wan eth0 --ap eth1 --bridge br0     the ports are in a bridge already
  airpace edge --wan eth0 --ap eth1 --dry-run        measure and decide, but pace nothing
  airpace edge --wan eth0 --ap eth1 --radio air0     with a monitor interface near the access point
  airpace edge --wan eth0 --ap eth1 --web --metrics  page at http://127.0.0.1:8080, metrics at port 9110
  airpace edge --config edge.toml
  airpace edge --undo                                remove what a killed run has left
  airpace edge --schema                              every key of the configuration

While it runs:
  airpace status                                     what limits each station, and why
  airpace status --watch                             the same as a dashboard
  airpace edge status                                access points and stations, as they stand now
  airpace edge status --json
  airpace edge reload                                read --config again, as SIGHUP does
  airpace edge exempt 3c:22:fb:01:02:03              let a station's frames pass unpaced
  airpace edge exempt printer --off                  pace it again
  airpace edge aim low-latency                       aim at something else until the next reload
  airpace edge aim \"10 ms\"                           95 of 100 packets pass within 10 ms

The box stands between the wired network and the access points. Nothing is configured on the
stations. If airpace is killed, the bridge carries all traffic on. Reloading loses no packet; ports,
bridge, queues and radios cannot change at run time.

A radio near the access point, on its channel, shows every station's frames by their block acks:
  iw phy phy0 interface add air0 type monitor && ip link set air0 up && iw dev air0 set channel 36

Try it first with --dry-run: everything is measured and decided, and nothing is paced. What is known
of stations without agents, and how well: docs/design/sensors.md, docs/design/assumed-rates.md.";

/// Pace what each station is sent, in front of any access point; nothing runs on the stations.
#[derive(Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Edge {
    #[command(subcommand)]
    operation: Option<Operation>,
    /// Interface towards the wired network.
    #[arg(long, value_name = "INTERFACE")]
    wan: Option<String>,
    /// Interface towards an access point; once for each.
    #[arg(long, value_name = "INTERFACE")]
    ap: Vec<String>,
    /// Monitor interface of a radio near the access point; once for each --ap, in the same order.
    #[arg(long, value_name = "INTERFACE")]
    radio: Vec<String>,
    /// Configuration (TOML). Options given besides replace its values.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// An existing bridge that the ports are in, or are to join.
    #[arg(long, value_name = "BRIDGE")]
    bridge: Option<String>,
    /// Leave the bridge that was made when airpace ends.
    #[arg(long)]
    keep_bridge: bool,
    /// Measure and decide, but pace nothing.
    #[arg(long)]
    dry_run: bool,
    /// File to which rows about stations are appended, JSON objects one a line (docs/telemetry.md).
    #[arg(long, value_name = "FILE")]
    telemetry: Option<PathBuf>,
    /// Serve metrics for Prometheus [default address: 127.0.0.1:9110]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1)]
    metrics: Option<Option<SocketAddr>>,
    /// Serve the web page [default address: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1)]
    web: Option<Option<SocketAddr>>,
    /// Remove what a killed run on the same --wan has left, and do nothing else.
    #[arg(long)]
    undo: bool,
    /// Print the configuration with all defaults, and do nothing else; without ports or a file, with eth0 and
    /// eth1 as the ports.
    #[arg(long)]
    print_config: bool,
    /// Print the reference of the configuration's keys, and do nothing else.
    #[arg(long)]
    schema: bool,
}

pub(crate) fn run(args: &Edge) -> anyhow::Result<ExitCode> {
    if let Some(operation) = &args.operation {
        return operate::run(operation);
    }
    if args.schema {
        output::text(&schema::markdown::<EdgeConfig>(
            "The in-line box's configuration",
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.undo {
        return undo(args);
    }
    let mut config = configuration(args)?;
    if args.print_config {
        config.spell_out();
        output::text(&config.to_toml())?;
        return Ok(ExitCode::SUCCESS);
    }
    log::prefer(config.log_format);
    let signal = Signals::reload()?;
    let read = || match args.config {
        Some(_) => configuration(args).inspect(|config| log::prefer(config.log_format)),
        None => Err(bad_input(
            "it was started without --config, so there is nothing to read again",
        )),
    };
    let reload = Reload {
        signal: Some(&signal),
        is_possible: args.config.is_some(),
        read: &read,
    };
    if config.metrics.is_none() && config.web.is_none() {
        return until_stopped(|stop| airpace_live::run_edge(&config, stop, reload, None).map(drop));
    }
    let (handle, inbox) = edge::inbox()?;
    let ask = move |request: &EdgeRequest| handle.ask(request);
    let server = airpace_web::start(&config, Box::new(ask))?;
    let ended =
        until_stopped(|stop| airpace_live::run_edge(&config, stop, reload, Some(&inbox)).map(drop));
    // Nobody answers any more, and the server must not wait for it.
    drop(inbox);
    drop(server);
    ended
}

fn undo(args: &Edge) -> anyhow::Result<ExitCode> {
    let wan = match (&args.wan, &args.config) {
        (Some(wan), _) => wan.clone(),
        (None, Some(path)) => config::edge(path, &[])?.wan,
        (None, None) => match airpace_live::edge::ports_of_gone_boxes().as_slice() {
            [] => match edge::ports_of_running_boxes().as_slice() {
                [] => {
                    output::text(
                        "nothing to undo: no run has left anything in this network namespace\n",
                    )?;
                    return Ok(ExitCode::SUCCESS);
                }
                // A box that runs is refused below.
                [wan, ..] => wan.clone(),
            },
            [wan] => wan.clone(),
            several => {
                return Err(bad_input(format!(
                    "several runs have left something, on {}: name one, --wan {}",
                    several.join(", "),
                    several[0]
                )));
            }
        },
    };
    let what = if airpace_live::edge::undo(&wan)? {
        "restored what the run had left"
    } else if interfaces::exists(&wan)? {
        "nothing to undo"
    } else {
        return Err(bad_input(format!(
            "no run has left anything on {wan}, and there is no such interface: name the --wan of the run to undo; `ip -br link` lists the interfaces"
        )));
    };
    output::text(&format!("{wan}: {what}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The ports in the configuration that is printed if none are named: towards the wired network, and towards
/// the access point.
const EXAMPLE_PORTS: (&str, &str) = ("eth0", "eth1");

/// The configuration of the file, with the options in place of its values.
fn configuration(args: &Edge) -> anyhow::Result<EdgeConfig> {
    let mut config = match (&args.config, &args.wan) {
        // A file may leave the ports to the options.
        (Some(path), _) => config::edge(path, &ports(args))?,
        (None, Some(wan)) if args.ap.is_empty() => {
            return Err(bad_input(format!(
                "name the side of the access point too: --wan {wan} --ap eth1"
            )));
        }
        (None, Some(wan)) => EdgeConfig {
            wan: wan.clone(),
            ap: args.ap.iter().map(|port| access_point(port)).collect(),
            ..EdgeConfig::default()
        },
        // The defaults can be read without naming ports.
        (None, None) if args.print_config && args.ap.is_empty() => EdgeConfig {
            wan: EXAMPLE_PORTS.0.to_owned(),
            ap: vec![access_point(EXAMPLE_PORTS.1)],
            ..EdgeConfig::default()
        },
        (None, None) => {
            return Err(bad_input(
                "name the two sides: --wan eth0 (towards the wired network) --ap eth1 (towards the access point)",
            ));
        }
    };
    if args.radio.len() > config.ap.len() {
        return Err(bad_input(format!(
            "{} times --radio for {} access points: give each access point one at most",
            args.radio.len(),
            config.ap.len()
        )));
    }
    for (ap, radio) in config.ap.iter_mut().zip(&args.radio) {
        ap.radio = Some(radio.clone());
    }
    if args.bridge.is_some() {
        config.bridge.clone_from(&args.bridge);
    }
    if args.telemetry.is_some() {
        config.telemetry.clone_from(&args.telemetry);
    }
    if let Some(address) = args.metrics {
        let metrics = config.metrics.get_or_insert_default();
        metrics.listen = address.unwrap_or(metrics.listen);
    }
    if let Some(address) = args.web {
        let web = config.web.get_or_insert_default();
        web.listen = address.unwrap_or(web.listen);
    }
    config.keep_bridge |= args.keep_bridge;
    config.dry_run |= args.dry_run;
    config
        .validate()
        // The line is one of a file that nobody has written.
        .map_err(|error| bad_input(format!("with these options, {}", error.message)))?;
    Ok(config)
}

/// The ports that options name, as settings of the configuration.
fn ports(args: &Edge) -> Vec<Override> {
    // A text in JSON is one in TOML.
    let text = |port: &String| serde_json::Value::from(port.as_str()).to_string();
    let setting = |key: &str, value: String| Override {
        key: key.to_owned(),
        value,
    };
    let mut settings = Vec::new();
    settings.extend(args.wan.as_ref().map(|port| setting("wan", text(port))));
    if !args.ap.is_empty() {
        let tables = args
            .ap
            .iter()
            .map(|port| format!("{{ ports = [{}] }}", text(port)));
        let tables = tables.collect::<Vec<_>>().join(", ");
        settings.push(setting("ap", format!("[{tables}]")));
    }
    settings
}

pub(super) fn access_point(port: &str) -> ApConfig {
    ApConfig {
        ports: vec![port.to_owned()],
        ..ApConfig::default()
    }
}
