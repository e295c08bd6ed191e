//! `airpace sim run`.

use super::{Chosen, EXAMPLES};
use crate::failure::Interrupted;
use crate::output;
use crate::progress::{self, RunBar};
use airpace_lab::interrupt::with_signals;
use airpace_scenario::resolve::Resolved;
use airpace_scenario::{run, store, table};
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

pub(super) fn run(args: &Run) -> anyhow::Result<ExitCode> {
    let loaded = args.chosen.load()?;
    let mut resolved = loaded
        .resolve()
        .map_err(|error| args.chosen.refusal(&error))?;
    if args.out.is_none() {
        // Nobody would see what is recorded.
        (resolved.world.record, resolved.world.slot) = Default::default();
    }
    announce(&resolved);
    let begun = progress::now();
    let bar = RunBar::new();
    let (finished, interrupted) = with_signals(|stop| run::run(&loaded, resolved, stop, &bar))?;
    drop(bar);
    let Some(mut finished) = finished.context("starting the simulation")? else {
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
