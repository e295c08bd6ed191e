//! A grid of scenarios times seeds on all cores, resumable at any point.

mod grid;
mod journal;
mod table;

pub use grid::{Axis, Point, grid};
pub use journal::Journal;
pub use table::{SweepRow, rows, table};

use super::run::run;
use super::{Loaded, PROGRAM_VERSION, hex};
use crate::tool::Stop;
use airpace_api::scenario::{Override, ScenarioError};
use airpace_api::simulation::SweepRun;
use anyhow::{Context as _, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use siphasher::sip128::{Hasher128 as _, SipHasher24};
use std::collections::BTreeSet;
use std::hash::Hasher as _;
use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One run to be made.
#[derive(Clone, Debug)]
pub struct Job {
    key: String,
    over: Vec<String>,
    repeat: u32,
    loaded: Loaded,
}

/// Every run of the grid `axes`, `repeats` times with seeds that count up from the scenario's.
///
/// # Errors
/// What is wrong with any of the scenarios: nothing is run if one of them is refused.
pub fn jobs(loaded: &Loaded, axes: &[Axis], repeats: u32) -> Result<Vec<Job>, ScenarioError> {
    let mut jobs = Vec::new();
    for point in grid(axes) {
        let at_point = loaded.with(&point)?;
        at_point.resolve()?;
        let first = at_point.scenario.seed;
        for repeat in 0..repeats {
            let seed = Override { key: "seed".to_owned(), value: first.saturating_add(u64::from(repeat)).to_string() };
            let loaded = at_point.with(&[seed])?;
            let over = point.iter().map(Override::to_string).collect();
            jobs.push(Job { key: key(&loaded), over, repeat, loaded });
        }
    }
    Ok(jobs)
}

/// What makes a run what it is.
fn key(loaded: &Loaded) -> String {
    let mut hasher = SipHasher24::new();
    for part in [&loaded.hash(), &loaded.scenario.seed.to_string(), PROGRAM_VERSION] {
        hasher.write(part.as_bytes());
        hasher.write_u8(0);
    }
    hex(hasher.finish128().as_u128())
}

/// Makes the runs that the journal does not have, `parallel` at a time; tells whether all were made. Every finished run is on disk
/// before it counts as done.
///
/// # Errors
/// If a run is refused or the journal cannot be written.
pub fn make(jobs: &[Job], journal: &mut Journal, parallel: usize, stop: &Stop) -> Result<bool> {
    let done: BTreeSet<String> = journal.runs().iter().map(|run| run.key.clone()).collect();
    let mut queued = BTreeSet::new();
    let left: Vec<&Job> = jobs.iter().filter(|job| !done.contains(&job.key) && queued.insert(&job.key)).collect();
    let bar = progress(jobs.len(), jobs.len() - left.len());
    let next = AtomicUsize::new(0);
    let shared = Mutex::new((journal, None::<anyhow::Error>));
    std::thread::scope(|scope| {
        for _ in 0..parallel.clamp(1, left.len().max(1)) {
            scope.spawn(|| {
                while let Some(job) = left.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !stop.is_raised()) {
                    let result = one(job, stop);
                    // A thread that panics ends the whole run, so the lock is never poisoned for long.
                    let mut shared = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    let kept = result.and_then(|run| run.map_or(Ok(()), |run| shared.0.add(run)));
                    if let Err(error) = kept {
                        shared.1.get_or_insert(error);
                        stop.raise();
                    }
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let (journal, error) = shared.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    match error {
        Some(error) => Err(error),
        None => Ok(jobs.iter().all(|job| journal.has(&job.key))),
    }
}

/// Makes one run; `None` if it was stopped.
fn one(job: &Job, stop: &Stop) -> Result<Option<SweepRun>> {
    let named = || format!("{} (seed {})", job.over.join(" "), job.loaded.scenario.seed);
    let mut resolved = job.loaded.resolve().map_err(anyhow::Error::new).with_context(named)?;
    // A sweep keeps summaries only.
    resolved.world.record = airpace_sim::world::Record::default();
    resolved.world.slot = resolved.world.slot.filter(|_| !resolved.world.proxies.is_empty());
    let finished = run(&job.loaded, resolved, stop, false).with_context(named)?;
    let whole = finished.filter(|finished| !finished.summary.interrupted);
    Ok(whole.map(|finished| SweepRun {
        key: job.key.clone(),
        over: job.over.clone(),
        repeat: job.repeat,
        summary: finished.summary,
    }))
}

/// A run that is done, and the point of the grid that it is of. Another grid may have called the same run by other values.
#[derive(Clone, Copy, Debug)]
pub struct Done<'a> {
    /// The values of the point, as `key=value`.
    pub over: &'a [String],
    /// The run.
    pub run: &'a SweepRun,
}

/// The runs of `jobs` that the journal has, in the order of the jobs.
#[must_use]
pub fn finished<'a>(jobs: &'a [Job], journal: &'a Journal) -> Vec<Done<'a>> {
    let done = |job: &'a Job| Some(Done { over: &job.over, run: journal.find(&job.key)? });
    jobs.iter().filter_map(done).collect()
}

fn progress(all: usize, done: usize) -> ProgressBar {
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(all as u64), target).with_position(done as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {elapsed} gone, {eta} left");
    bar.set_style(style.expect("the template is constant"));
    // What was there before says nothing about the pace.
    bar.reset_eta();
    bar
}
