//! A grid of scenarios times seeds on all cores, resumable at any point.

mod grid;
mod journal;
mod table;

pub use grid::{Axis, Point, grid};
pub use journal::Journal;
pub use table::{Estimate, SweepRow, rows, table};

use super::run::run;
use super::{Loaded, PROGRAM_VERSION, hex};
use crate::file::{DocumentError, Override};
use crate::results::SweepRun;
use crate::stop::Stop;
use anyhow::{Context as _, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use siphasher::sip128::{Hasher128 as _, SipHasher24};
use std::collections::{BTreeMap, BTreeSet};
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
/// What is wrong with any of the scenarios: nothing is run if one of them is refused, unless it draws places at random; that is
/// told when it is run, as another seed may place its nodes better.
pub fn jobs(loaded: &Loaded, axes: &[Axis], repeats: u32) -> Result<Vec<Job>, DocumentError> {
    let mut jobs = Vec::new();
    for point in grid(axes) {
        let at_point = loaded.with(&point)?;
        if let Err(error) = at_point.resolve()
            && !at_point
                .scenario
                .node
                .iter()
                .any(|node| node.within.is_some())
        {
            return Err(error);
        }
        let first = at_point.scenario.seed;
        for repeat in 0..repeats {
            let seed = Override {
                key: "seed".to_owned(),
                value: first.saturating_add(u64::from(repeat)).to_string(),
            };
            let loaded = at_point.with(&[seed])?;
            let over = point.iter().map(Override::to_string).collect();
            jobs.push(Job {
                key: key(&loaded),
                over,
                repeat,
                loaded,
            });
        }
    }
    Ok(jobs)
}

/// What makes a run what it is.
fn key(loaded: &Loaded) -> String {
    let mut hasher = SipHasher24::new();
    for part in [
        &loaded.hash(),
        &loaded.scenario.seed.to_string(),
        PROGRAM_VERSION,
    ] {
        hasher.write(part.as_bytes());
        hasher.write_u8(0);
    }
    hex(hasher.finish128().as_u128())
}

/// What came of making runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Made {
    /// Whether every run was made or refused: `false` if it was stopped before.
    pub complete: bool,
    /// Runs that were refused, for example as their seed placed a station out of reach. They leave no line in the journal.
    pub refused: usize,
    /// Why the first of them was.
    pub reason: Option<String>,
}

/// What came of a single run.
enum Ran {
    Done(Box<SweepRun>),
    Refused(String),
    Stopped,
}

/// Makes the runs that the journal does not have, `parallel` at a time. Every finished run is on disk before it counts as done.
///
/// # Errors
/// If the simulator refuses a network, the journal cannot be written, or every run was refused.
pub fn make(jobs: &[Job], journal: &mut Journal, parallel: usize, stop: &Stop) -> Result<Made> {
    let done: BTreeSet<String> = journal.runs().iter().map(|run| run.key.clone()).collect();
    let mut queued = BTreeSet::new();
    let left: Vec<&Job> = jobs
        .iter()
        .filter(|job| !done.contains(&job.key) && queued.insert(&job.key))
        .collect();
    let bar = progress(jobs.len(), jobs.len() - left.len());
    let next = AtomicUsize::new(0);
    let shared = Mutex::new((journal, None::<anyhow::Error>));
    let refused = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..parallel.clamp(1, left.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let turn = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = left.get(turn).filter(|_| !stop.is_raised()) else {
                        break;
                    };
                    let result = one(job, stop);
                    let mut shared = lock(&shared);
                    let kept = result.and_then(|ran| match ran {
                        Ran::Done(run) => shared.0.add(*run),
                        Ran::Refused(reason) => {
                            lock(&refused).insert(turn, reason);
                            Ok(())
                        }
                        Ran::Stopped => Ok(()),
                    });
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
    let (journal, error) = shared
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(error) = error {
        return Err(error);
    }
    let refused = refused
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let made = made(&left, journal, refused);
    match &made.reason {
        Some(reason) if !jobs.iter().any(|job| journal.has(&job.key)) => {
            anyhow::bail!("no run was made, {} were refused: {reason}", made.refused)
        }
        _ => Ok(made),
    }
}

/// A thread that panics ends the whole run, so no lock is poisoned for long.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn made(left: &[&Job], journal: &Journal, refused: BTreeMap<usize, String>) -> Made {
    let complete = left
        .iter()
        .enumerate()
        .all(|(turn, job)| journal.has(&job.key) || refused.contains_key(&turn));
    Made {
        complete,
        refused: refused.len(),
        reason: refused.into_values().next(),
    }
}

/// Makes one run.
fn one(job: &Job, stop: &Stop) -> Result<Ran> {
    let named = || format!("{} (seed {})", job.over.join(" "), job.loaded.scenario.seed);
    let mut resolved = match job.loaded.resolve() {
        Ok(resolved) => resolved,
        Err(error) => return Ok(Ran::Refused(format!("{}: {error}", named()))),
    };
    // A sweep keeps summaries only.
    resolved.world.record = airpace_sim::world::Record::default();
    resolved.world.slot = resolved
        .world
        .slot
        .filter(|_| !resolved.world.proxies.is_empty());
    let finished = run(&job.loaded, resolved, stop, false).with_context(named)?;
    let whole = finished.filter(|finished| !finished.summary.interrupted);
    let Some(finished) = whole else {
        return Ok(Ran::Stopped);
    };
    let (key, over) = (job.key.clone(), job.over.clone());
    Ok(Ran::Done(Box::new(SweepRun {
        key,
        over,
        repeat: job.repeat,
        summary: finished.summary,
    })))
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
    let done = |job: &'a Job| {
        Some(Done {
            over: &job.over,
            run: journal.find(&job.key)?,
        })
    };
    jobs.iter().filter_map(done).collect()
}

fn progress(all: usize, done: usize) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(all as u64), target).with_position(done as u64);
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {elapsed} gone, {eta} left");
    bar.set_style(style.expect("the template is constant"));
    // What was there before says nothing about the pace.
    bar.reset_eta();
    bar
}
