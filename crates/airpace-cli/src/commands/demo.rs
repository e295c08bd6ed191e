//! `airpace demo`: the comparison in the README.

use crate::args::one_or_more;
use crate::bar::Bar;
use crate::failure::{Interrupted, bad_input};
use crate::output;
use airpace_config::quantity::Span;
use airpace_lab::demo::{self, ArmKind, DemoOptions, Progress, table};
use airpace_lab::interrupt::with_signals;
use airpace_lab::results::DemoSummary;
use anyhow::Context as _;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str =
    "Writes summary.json and a time series per arm to the folder. `python -m airpace.demo_report FOLDER` draws plots of them.

Examples:
  airpace demo
  airpace demo --out /tmp/demo --arms cubic,edge-acks --stations 9 --load '30 s'
  airpace demo --stations 9 --stations 9,4,1 --seed 7";

/// The same download over an emulated access point with Cubic, with BBR and behind airpace, and over
/// a modified one, side by side.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Demo {
    /// Folder for the results.
    #[arg(long, default_value = "out/demo", value_name = "FOLDER")]
    out: PathBuf,
    /// Arms to run: cubic, bbr, fqmac-airtime-cubic, edge-acks, edge-radio, edge-agents, edge-mixed,
    /// airpace-cubic, airpace-udp [default: all but edge-mixed].
    #[arg(long, value_delimiter = ',', value_parser = arm)]
    arms: Vec<ArmKind>,
    /// Stations of a cell, by their VHT MCS at 80 MHz and one stream. Can be given several times
    /// [default: 9, and 9,4,1].
    #[arg(long, value_name = "MCS,...", value_parser = cell)]
    stations: Vec<Cell>,
    /// Duration of the pings without load.
    #[arg(long, default_value = "1 s")]
    idle: Span,
    /// Duration of the load.
    #[arg(long, default_value = "13 s")]
    load: Span,
    /// Beginning of the load that the figures leave out.
    #[arg(long, default_value = "4 s")]
    ramp: Span,
    /// Level that airpace is held to, mean packets per frame, instead of its default aim.
    #[arg(long, value_parser = one_or_more)]
    level: Option<f64>,
    /// TCP flows per station.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    flows: u16,
    /// Seed of the access point's back-off.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the summary as JSON instead of the table.
    #[arg(long)]
    json: bool,
}

/// The stations of one cell.
#[derive(Clone)]
struct Cell(Vec<u8>);

pub(crate) fn run(args: &Demo) -> anyhow::Result<ExitCode> {
    let summary = measure(&options(args)?)?;
    if args.json {
        output::json(&summary)?;
    } else {
        output::text(&table::render(&summary))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the arms with a bar that shows how far they are.
pub(super) fn measure(options: &DemoOptions) -> anyhow::Result<DemoSummary> {
    if options.ramp + options.slot > options.load {
        return Err(bad_input(
            "--ramp: leave at least 100 ms of the load to be measured",
        ));
    }
    // A process can only get a user namespace while it has a single thread.
    airpace_net::netns::acquire_rights()?;
    let bar = Bar::new("{bar:30} {pos:>3}/{len} s  {msg}");
    let mut progress = |event: Progress<'_>| show(&bar, event);
    let (summary, interrupted) = with_signals(|stop| demo::run(options, stop, &mut progress))?;
    drop(bar);
    if interrupted {
        return Err(Interrupted.into());
    }
    summary
}

/// This program, from which boxes, proxies and agents are started.
pub(super) fn program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("finding this program to start boxes, proxies and agents from")
}

fn show(bar: &Bar, event: Progress<'_>) {
    match event {
        Progress::ArmBegun { title } if bar.is_shown() => bar.set_message(title),
        Progress::ArmBegun { title } => bar.print_line(title),
        Progress::Elapsed { done, total } => bar.set(done.as_secs(), total.as_secs()),
        Progress::ArmDone { result } => bar.print_line(result),
    }
}

fn options(args: &Demo) -> anyhow::Result<DemoOptions> {
    let mut options = DemoOptions::new(args.out.clone(), program()?);
    if !args.arms.is_empty() {
        options.arms.clone_from(&args.arms);
    }
    if !args.stations.is_empty() {
        options.cells = args.stations.iter().map(|cell| cell.0.clone()).collect();
    }
    options.seed = args.seed;
    (options.idle, options.load, options.ramp) = (args.idle.0, args.load.0, args.ramp.0);
    (options.flows, options.target_level) = (args.flows, args.level);
    Ok(options)
}

fn arm(name: &str) -> Result<ArmKind, String> {
    name.parse().map_err(|_| {
        let names: Vec<&str> = ArmKind::ALL.iter().map(|arm| arm.name()).collect();
        format!("give one of {}", names.join(", "))
    })
}

fn cell(list: &str) -> Result<Cell, String> {
    let mcs = |text: &str| {
        let mcs: u8 = text
            .trim()
            .parse()
            .map_err(|_| format!("{text:?} is not an MCS index"))?;
        airpace_lab::bench::saturation::vht80(mcs).map_err(|error| error.to_string())?;
        Ok(mcs)
    };
    let stations: Vec<u8> = list.split(',').map(mcs).collect::<Result<_, String>>()?;
    if stations.len() > 16 {
        Err("give at most 16 stations".to_owned())
    } else {
        Ok(Cell(stations))
    }
}
