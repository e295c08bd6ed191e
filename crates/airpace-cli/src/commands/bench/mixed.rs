//! `airpace bench mixed`.

use super::{EXAMPLES, exit_code, print, verdict};
use crate::commands::demo;
use crate::output::Table;
use airpace_config::quantity::Span;
use airpace_lab::bench::mixed::{ARMS, CELLS, MixedComparison, MixedRow, compare};
use airpace_lab::demo::DemoOptions;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// The in-line box with an agent on one of three stations, against agents on all and against no
/// pacing, with kernel TCP over the emulated access point.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Mixed {
    /// Duration of the load of each arm.
    #[arg(long, default_value = "34 s")]
    load: Span,
    /// Beginning of the load that the figures leave out.
    #[arg(long, default_value = "4 s")]
    ramp: Span,
    /// Folder for summary and series of the arms, as `airpace demo` writes them.
    #[arg(long, default_value = "out/mixed", value_name = "FOLDER")]
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

pub(super) fn run(args: &Mixed) -> anyhow::Result<ExitCode> {
    let mut options = DemoOptions::new(args.out.clone(), demo::program()?);
    options.arms = ARMS.to_vec();
    options.cells = CELLS.iter().map(|cell| cell.to_vec()).collect();
    (options.load, options.ramp) = (args.load.0, args.ramp.0);
    options.seed = args.seed;
    let comparison = compare(&demo::measure(&options)?);
    print(args.json, &comparison, describe)?;
    Ok(exit_code(args.check, comparison.holds))
}

fn describe(comparison: &MixedComparison) -> String {
    let mut table = Table::new([
        "MCS",
        "station",
        "sensor",
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
        "no station pays for what its neighbours lack",
    );
    format!("{table}\n{verdict}")
}

fn cells(row: &MixedRow) -> [String; 9] {
    let number = |value: f64| format!("{value:.1}");
    [
        row.cell.clone(),
        row.station.to_string(),
        row.sensor.clone().unwrap_or_default(),
        number(row.mixed_mbps),
        number(row.agents_mbps),
        number(row.unpaced_mbps),
        number(row.mixed_p95_ms),
        number(row.unpaced_p95_ms),
        row.missed.join("; "),
    ]
}
