//! `airpace sim sweep`.

use super::{Chosen, EXAMPLES};
use crate::failure::Interrupted;
use crate::output;
use crate::progress::{self, RunsBar};
use airpace_lab::interrupt::with_signals;
use airpace_scenario::sweep::{self, Axis, Completion, Execution, Journal};
use anyhow::bail;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run a scenario over a grid of settings, several times each, on all cores. A sweep that was
/// stopped can be resumed.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Sweep {
    #[command(flatten)]
    chosen: Chosen,
    /// A setting and its values. Repeat the flag for a grid.
    #[arg(long, value_name = "KEY=A,B,C", required = true)]
    over: Vec<Axis>,
    /// Runs of each point, with seeds that count up from the scenario's.
    #[arg(long, default_value_t = 1, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeats: u32,
    /// Runs at a time; one per core if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Folder for the tables `runs.parquet`, `stations.parquet` and `flows.parquet`, joined by their
    /// column `run`. Runs that are there are not repeated.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Write the summary of each run, as `airpace sim run --json` prints it, to `runs.jsonl` as well.
    #[arg(long)]
    summaries: bool,
    /// Print the table as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Sweep) -> anyhow::Result<ExitCode> {
    let loaded = args.chosen.load()?;
    let jobs = sweep::jobs(&loaded, &args.over, args.repeats)
        .map_err(|error| args.chosen.refusal(&error))?;
    let mut journal = Journal::open(&args.out, args.summaries)?;
    let done = journal.count(&jobs);
    if done > 0 {
        tracing::info!("{done} of {} runs are already done", jobs.len());
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let parallel = args.jobs.map_or(cores, usize::from);
    let begun = progress::now();
    let estimate = sweep::estimate(&jobs, &journal, parallel, &|| begun.elapsed());
    if let Some(about) = progress::about(estimate) {
        tracing::info!(
            "this will take about {about}; it can be stopped, and the same command goes on from there"
        );
    }
    let begun = progress::now();
    let bar = RunsBar::new();
    let (completion, interrupted) = with_signals(|stop| {
        let execution = Execution {
            parallel,
            stop,
            progress: &bar,
            clock: &|| begun.elapsed(),
        };
        sweep::execute(&jobs, &mut journal, &execution)
    })?;
    drop(bar);
    let dataset = journal.fold(&jobs)?;
    let Completion {
        complete,
        refused,
        reason,
    } = completion?;
    let runs = sweep::finished(&jobs, &dataset);
    if !complete {
        tracing::warn!(
            "stopped with {} of {} runs done; the same command goes on from there",
            journal.count(&jobs),
            jobs.len()
        );
    }
    if let Some(reason) = &reason {
        if complete && refused == jobs.len() {
            bail!("no run was finished, {refused} were refused: {reason}");
        }
        tracing::warn!(
            "{refused} of {} runs have no figures and are rows with an error; the first: {reason}",
            jobs.len()
        );
    }
    let rows = sweep::rows(&runs);
    if args.json {
        output::json(&rows)?;
    } else {
        output::text(&sweep::table(&rows))?;
    }
    if interrupted && !complete {
        Err(Interrupted.into())
    } else {
        Ok(ExitCode::SUCCESS)
    }
}
