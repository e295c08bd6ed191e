//! `airpace bench sensors`.

use super::exit_code;
use crate::bar::Bar;
use crate::failure::{Interrupted, bad_input};
use crate::output::{self, Table};
use airpace_config::quantity::Span;
use airpace_lab::bench::sensors::{HeardFrames, SensorComparison, SensorPlan, compare};
use airpace_lab::interrupt::with_signals;
use clap::Args;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::time::Duration;
use strum::VariantNames as _;

const EXAMPLES: &str = "Examples:
  airpace bench sensors --quick
  airpace bench sensors --json > sensors.json
  airpace bench sensors --heard few-headers --missed 0.4 --seed 7
  airpace bench sensors --check                      exit code 1 if a bar is missed";

/// The level that block acks and bursts of acknowledgements tell, against the access point's own
/// records, in virtual time.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Sensors {
    /// What the radio beside the access point hears besides block acks: rts, headers (of every
    /// second data frame), few-headers (of one in ten), block-acks (nothing besides).
    #[arg(long, value_name = "FRAMES", default_value = "rts", value_parser = heard)]
    heard: HeardFrames,
    /// Probability that the radio misses a control frame, below 1.
    #[arg(long, value_name = "P", default_value = "0.2", value_parser = crate::args::probability)]
    missed: f64,
    /// Time that each trial observes, after a second of warm-up.
    #[arg(long, default_value = "20 s", value_name = "TIME")]
    duration: Span,
    /// Run a tenth of the trials.
    #[arg(long)]
    quick: bool,
    /// Seed of every draw.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fail if a bar is missed.
    #[arg(long)]
    check: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Sensors learn for a second, so less than two leaves little to judge.
const DURATIONS: RangeInclusive<Duration> = Duration::from_secs(2)..=Duration::from_secs(3_600);

fn heard(name: &str) -> Result<HeardFrames, String> {
    let names = HeardFrames::VARIANTS.join(", ");
    name.parse().map_err(|_| format!("give one of {names}"))
}

pub(super) fn run(args: &Sensors) -> anyhow::Result<ExitCode> {
    if !DURATIONS.contains(&args.duration.0) {
        return Err(bad_input("--duration: give 2 s to 1 h"));
    }
    let plan = SensorPlan::new(
        args.quick,
        args.heard,
        args.missed,
        args.duration.0,
        args.seed,
    );
    let bar = Bar::new("{bar:30} {pos}/{len} trials, {elapsed} elapsed, {eta} left");
    let progress = |done: usize, total: usize| {
        bar.set(done as u64, total as u64);
        // Without a terminal, a line now and then tells that the run goes on.
        if !bar.is_shown() && done.is_multiple_of(20) {
            tracing::info!("{done} of {total} trials");
        }
    };
    let (comparison, interrupted) = with_signals(|stop| compare(&plan, stop, &progress))?;
    drop(bar);
    let comparison = comparison?;
    if args.json {
        output::json(&comparison)?;
    } else {
        output::text(&describe(&comparison))?;
    }
    if interrupted {
        return Err(Interrupted.into());
    }
    let holds = comparison.bars.iter().all(|bar| bar.holds);
    Ok(exit_code(args.check, holds))
}

fn describe(comparison: &SensorComparison) -> String {
    let mut table = Table::new([
        "sensor",
        "client",
        "stations",
        "rows",
        "usable",
        "mean error %",
        "largest %",
    ]);
    for summary in comparison.summaries() {
        table.row([
            summary.sensor.to_owned(),
            summary.client.to_owned(),
            summary.stations.to_string(),
            summary.rows.to_string(),
            summary.usable.to_string(),
            format!("{:.1}", 100.0 * summary.mean_error),
            format!("{:.1}", 100.0 * summary.worst_error),
        ]);
    }
    let mut text = format!("{table}\n");
    for bar in &comparison.bars {
        let verdict = if bar.holds { "holds" } else { "FAILS" };
        let worst = bar.worst_error.map_or(String::new(), |error| {
            format!(", largest error {:.1} %", 100.0 * error)
        });
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{verdict}: {} ({} of {} rows miss it{worst})",
            bar.claim, bar.missed_by, bar.rows
        );
    }
    text
}
