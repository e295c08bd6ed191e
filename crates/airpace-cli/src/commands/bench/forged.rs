//! `airpace bench forged`.

use super::{EXAMPLES, check_stations, exit_code, print, uninterrupted, verdict};
use crate::commands::demo;
use crate::output::Table;
use airpace_config::quantity::Span;
use airpace_lab::bench::forged::{ForgedComparison, ForgedPlan, PING_BAR, SENSOR_NAMES, compare};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Frames that an attacker's radio forges, against the same run without them, with kernel TCP over
/// the emulated access point.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Forged {
    /// VHT MCS of the stations, 80 MHz, one stream; the frames are forged for the first.
    #[arg(long, default_value = "9,4,1", value_delimiter = ',')]
    mcs: Vec<u8>,
    /// Sensors to deceive: the agents' monitor interfaces, the box's radio.
    #[arg(long, default_value = "monitor,radio", value_delimiter = ',', value_parser = SENSOR_NAMES)]
    sensors: Vec<String>,
    /// Runs of each case; their medians are compared.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    /// Duration of the load of each run.
    #[arg(long, default_value = "13 s")]
    load: Span,
    /// Beginning of the load that the figures leave out.
    #[arg(long, default_value = "4 s")]
    ramp: Span,
    /// Folder for the telemetry of the runs.
    #[arg(long, default_value = "out/forged", value_name = "FOLDER")]
    out: PathBuf,
    /// Seed of the access point's back-off in the first run.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fail if the bar is missed.
    #[arg(long)]
    check: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Forged) -> anyhow::Result<ExitCode> {
    let times = (args.load.0, args.ramp.0);
    check_stations(&args.mcs, 1..=8, "stations", times)?;
    let plan = ForgedPlan {
        program: demo::program()?,
        mcs: args.mcs.clone(),
        sensors: args.sensors.clone(),
        repeats: args.repeats,
        load: args.load.0,
        ramp: args.ramp.0,
        out: args.out.clone(),
        seed: args.seed,
    };
    let comparison = uninterrupted(|stop| compare(&plan, stop))?;
    print(args.json, &comparison, describe)?;
    Ok(exit_code(args.check, comparison.holds))
}

fn describe(comparison: &ForgedComparison) -> String {
    let mut table = Table::new([
        "sensor",
        "forged",
        "ping p95 ms of each run",
        "ratio",
        "Mbit/s of each run",
        "ratio",
    ]);
    for row in &comparison.rows {
        table.row([
            row.sensor.to_owned(),
            row.forged.to_owned(),
            numbers(&row.ping_p95_ms),
            format!("{:.2}", row.ping_ratio),
            numbers(&row.goodput_mbps),
            format!("{:.2}", row.goodput_ratio),
        ]);
    }
    let claim = format!("forged frames make the p95 ping at most {PING_BAR} times as long");
    let verdict = verdict(comparison.holds, comparison.trusted, &claim);
    format!("{table}\n{verdict}")
}

fn numbers(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(|value| format!("{value:.1}")).collect();
    texts.join(", ")
}
