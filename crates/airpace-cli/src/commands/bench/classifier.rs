//! `airpace bench classifier`.

use super::exit_code;
use crate::bar::Bar;
use crate::failure::Interrupted;
use crate::output::{self, Table};
use airpace_lab::bench::classifier::{
    ClassifierReport, Counts, PLAIN, USABLE_BAR, WRONG_BAR, measure, trained_weights,
};
use airpace_lab::interrupt::with_signals;
use anyhow::Context as _;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  airpace bench classifier --quick
  airpace bench classifier --json > classifier.json
  airpace bench classifier --seed 2 --check          exit code 1 if a bar is missed
  airpace bench classifier --train crates/airpace-core/src/meter/classifier/weights.rs";

/// The level that an agent tells from receive timestamps alone, against the access point's own
/// records, in virtual time, under jitter that its classifier was not trained on.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Classifier {
    /// Judge by two of the 36 cells.
    #[arg(long)]
    quick: bool,
    /// Seed of every draw.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Train the classifier anew and write its weights, as Rust, to this file instead. They count
    /// once the program has been built with them.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "check", "json"])]
    train: Option<PathBuf>,
    /// Fail if a bar is missed.
    #[arg(long)]
    check: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Classifier) -> anyhow::Result<ExitCode> {
    let bar = Bar::new("{bar:30} {pos}/{len} cells, {elapsed} elapsed, {eta} left");
    let progress = |done: usize, total: usize| bar.set(done as u64, total as u64);
    if let Some(path) = &args.train {
        return write_weights(path, args.seed, &progress);
    }
    let (report, interrupted) =
        with_signals(|stop| measure(args.seed, args.quick, stop, &progress))?;
    drop(bar);
    let report = report?;
    if args.json {
        output::json(&report)?;
    } else {
        output::text(&describe(&report))?;
    }
    if interrupted {
        return Err(Interrupted.into());
    }
    Ok(exit_code(args.check, report.holds))
}

fn write_weights(
    path: &Path,
    seed: u64,
    progress: &dyn Fn(usize, usize),
) -> anyhow::Result<ExitCode> {
    let (source, _) = with_signals(|stop| trained_weights(seed, stop, progress))?;
    let Some(source) = source? else {
        return Err(Interrupted.into());
    };
    std::fs::write(path, source).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn describe(report: &ClassifierReport) -> String {
    let mut table = Table::new([
        "disturbance",
        "receiver",
        "rows",
        "within 10 %",
        "wrong",
        "unusable",
        "fixed gap within 10 %",
    ]);
    let mut row = |family: &str, receiver: &str, counts: &Counts| {
        table.row([
            family.to_owned(),
            receiver.to_owned(),
            counts.rows.to_string(),
            counts.right.to_string(),
            counts.wrong.to_string(),
            counts.unusable.to_string(),
            counts.fixed_gap_right.to_string(),
        ]);
    };
    for summary in &report.receivers {
        row(
            summary.family,
            summary.receiver.unwrap_or("all"),
            &summary.counts,
        );
    }
    let all = &report.all;
    row("all", "all", all);
    let percent = |part: usize| 100.0 * all.share(part);
    let verdict = if report.holds { "holds" } else { "FAILS" };
    format!(
        "{table}
{:.1} % within 10 %, {:.2} % wrong, {:.1} % unusable; the fixed gap has {:.1} % within 10 % and the rest wrong
{verdict}: at levels from 2 to 48 at most {} % of the rows are wrong, {} % are usable, and {} % of those without disturbance\n",
        percent(all.right),
        percent(all.wrong),
        percent(all.unusable),
        percent(all.fixed_gap_right),
        100.0 * WRONG_BAR,
        100.0 * USABLE_BAR,
        100.0 * PLAIN.1,
    )
}
