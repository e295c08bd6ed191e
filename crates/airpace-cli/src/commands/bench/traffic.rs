//! `airpace bench traffic`.

use super::{EXAMPLES, exit_code, print, verdict};
use crate::commands::demo;
use crate::output::Table;
use airpace_config::quantity::Span;
use airpace_lab::bench::traffic::{ARMS, CELLS, TrafficComparison, TrafficRow, compare};
use airpace_lab::demo::DemoOptions;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// The in-line box, with nothing on the stations, before uploads and UDP beside downloads, against agents on
/// all stations and against no pacing, over the emulated access point.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Traffic {
    /// Duration of the load of each arm.
    #[arg(long, default_value = "20 s")]
    load: Span,
    /// Beginning of the load that the figures leave out.
    #[arg(long, default_value = "6 s")]
    ramp: Span,
    /// Folder for summary and series of the arms, as `airpace demo` writes them.
    #[arg(long, default_value = "out/traffic", value_name = "FOLDER")]
    out: PathBuf,
    /// Seed of the access point's back-off.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fail if a bar is missed.
    #[arg(long)]
    check: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Traffic) -> anyhow::Result<ExitCode> {
    let mut options = DemoOptions::new(args.out.clone(), demo::program()?);
    options.arms = ARMS.to_vec();
    (options.cells, options.traffic) = CELLS
        .iter()
        .map(|cell| cell.iter().copied().unzip())
        .unzip();
    (options.load, options.ramp) = (args.load.0, args.ramp.0);
    options.seed = args.seed;
    let comparison = compare(&demo::measure(&options)?);
    print(args.json, &comparison, describe)?;
    Ok(exit_code(args.check, comparison.holds))
}

fn describe(comparison: &TrafficComparison) -> String {
    let mut table = Table::new([
        "MCS and traffic",
        "station",
        "Mbit/s",
        "all with agents",
        "unpaced",
        "ping p95 ms",
        "unpaced ms",
        "bars missed",
    ]);
    for row in &comparison.rows {
        table.row(cells(row));
    }
    let verdict = verdict(
        comparison.holds,
        comparison.trusted,
        "nobody pays for frames that nobody sees",
    );
    format!("{table}\n{verdict}")
}

fn cells(row: &TrafficRow) -> [String; 8] {
    let number = |value: f64| format!("{value:.1}");
    [
        row.cell.clone(),
        row.station.to_string(),
        number(row.acks_mbps),
        number(row.agents_mbps),
        number(row.unpaced_mbps),
        number(row.acks_p95_ms),
        number(row.unpaced_p95_ms),
        row.missed.join("; "),
    ]
}
