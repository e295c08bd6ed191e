//! `airpace sim run`.

use super::{Chosen, EXAMPLES};
use crate::failure::Interrupted;
use crate::output;
use crate::progress::{self, RunBar};
use crate::watch::{self, Ended};
use airpace_lab::interrupt::with_signals;
use airpace_scenario::resolve::Resolved;
use airpace_scenario::stop::Stop;
use airpace_scenario::{Loaded, run, store, table};
use anyhow::Context as _;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Run a scenario and print its figures.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Run {
    #[command(flatten)]
    chosen: Chosen,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
    /// Folder for files: the summary as JSON, tables as Parquet and, if `[record]` of the scenario
    /// asks for them, frames, packets and a capture.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Draw levels, delays and rates in the terminal while it runs. q ends the run, space pauses it.
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Simulated seconds per second, if they are watched; by default as many as the machine can do.
    #[arg(
        long,
        value_name = "FACTOR",
        requires = "watch",
        value_parser = factor,
        allow_negative_numbers = true
    )]
    speed: Option<f64>,
}

/// A factor above 0.
fn factor(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if factor > 0.0 && f64::is_finite(factor) => Ok(factor),
        _ => Err("give a number above 0, for example 0.5".to_owned()),
    }
}

/// Time for which the beginning of a run is simulated to estimate how long it will take.
const LOOK: Duration = Duration::from_millis(300);

/// Says how long the run will take, if that is long.
fn announce(resolved: &Resolved) {
    let begun = progress::now();
    let estimate = run::estimate(resolved, &|| begun.elapsed(), LOOK);
    if let Some(about) = estimate.and_then(progress::about) {
        tracing::info!("this will take about {about}; Ctrl-C prints what was measured until then");
    }
}

/// Runs the scenario, with a dashboard or a bar.
fn start(args: &Run, loaded: &Loaded, resolved: Resolved, stop: &Stop) -> anyhow::Result<Ended> {
    if args.watch {
        return watch::run(loaded, resolved, args.speed, stop);
    }
    let finished = run::run(loaded, resolved, stop, &RunBar::new());
    Ok(Ended {
        finished: finished.context("starting the simulation")?,
        interrupted: false,
    })
}

pub(super) fn run(args: &Run) -> anyhow::Result<ExitCode> {
    let loaded = args.chosen.load()?;
    let mut resolved = loaded
        .resolve()
        .map_err(|error| args.chosen.refusal(&error))?;
    if args.watch {
        watch::require_terminal()?;
    }
    if args.out.is_none() {
        // Nobody would see what is recorded. What is watched is in slots.
        resolved.world.record = Default::default();
        resolved.world.slot = resolved.world.slot.filter(|_| args.watch);
    }
    if args.speed.is_none() {
        announce(&resolved);
    }
    let begun = progress::now();
    let (ended, signalled) = with_signals(|stop| start(args, &loaded, resolved, stop))?;
    let Ended {
        finished,
        interrupted,
    } = ended?;
    let interrupted = interrupted || signalled;
    let Some(mut finished) = finished else {
        tracing::warn!("stopped within the warm-up: nothing was measured");
        return Err(Interrupted.into());
    };
    finished.summary.set_wall_time(begun.elapsed());
    if let Some(folder) = &args.out {
        for file in store::store(folder, &finished, &loaded.scenario.record)? {
            tracing::info!("wrote {}", file.display());
        }
    }
    if args.json {
        output::json(&finished.summary)?;
    } else {
        output::text(&table::render(&finished.summary))?;
    }
    if interrupted && finished.summary.interrupted {
        Err(Interrupted.into())
    } else {
        Ok(ExitCode::SUCCESS)
    }
}
