//! A grid of settings times seeds on all cores, which can be stopped and resumed at any point.

mod grid;
mod journal;
mod table;

pub use grid::{Axis, Point, grid};
pub use journal::Journal;
pub use table::{Estimate, SweepRow, rows, table};

use crate::file::{DocumentError, Override};
use crate::progress::{Progress, Silent};
use crate::results::SweepRun;
use crate::run::run;
use crate::stop::Stop;
use crate::{Loaded, PROGRAM_VERSION, hex};
use anyhow::{Context as _, Result, bail};
use siphasher::sip128::{Hasher128 as _, SipHasher24};
use std::collections::BTreeSet;
use std::hash::Hasher as _;
use std::sync::mpsc;
use std::time::Duration;

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct Job {
    key: String,
    over: Vec<String>,
    repeat: u32,
    loaded: Loaded,
}

impl Job {
    /// What messages call the run.
    fn title(&self) -> String {
        format!(
            "{} (seed {})",
            self.over.join(" "),
            self.loaded.scenario.seed
        )
    }
}

/// Every run of the grid `axes`, `repeats` times with seeds that count up from the scenario's.
///
/// # Errors
/// One of the scenarios is refused, so that nothing is run. A scenario that places nodes at random
/// is not refused here, because another seed may place them better; its refusal shows when it is
/// run.
pub fn jobs(loaded: &Loaded, axes: &[Axis], repeats: u32) -> Result<Vec<Job>, DocumentError> {
    let mut jobs = Vec::new();
    for point in grid(axes) {
        let at_point = loaded.with(&point)?;
        let places_at_random = at_point
            .scenario
            .node
            .iter()
            .any(|node| node.within.is_some());
        if let Err(error) = at_point.resolve()
            && !places_at_random
        {
            return Err(error);
        }
        let first_seed = at_point.scenario.seed;
        for repeat in 0..repeats {
            let seed = Override {
                key: "seed".to_owned(),
                value: first_seed.saturating_add(u64::from(repeat)).to_string(),
            };
            let loaded = at_point.with(&[seed])?;
            jobs.push(Job {
                key: key(&loaded),
                over: point.iter().map(Override::to_string).collect(),
                repeat,
                loaded,
            });
        }
    }
    Ok(jobs)
}

/// What tells one run from another: scenario, seed and version.
fn key(loaded: &Loaded) -> String {
    let seed = loaded.scenario.seed.to_string();
    let mut hasher = SipHasher24::new();
    for part in [&loaded.hash(), &seed, PROGRAM_VERSION] {
        hasher.write(part.as_bytes());
        // Separates the parts, none of which contains a zero byte.
        hasher.write_u8(0);
    }
    hex(hasher.finish128().as_u128())
}

/// How a sweep is carried out.
pub struct Execution<'e> {
    /// Runs at a time, at least 1.
    pub parallel: usize,
    /// Ends the sweep early.
    pub stop: &'e Stop,
    /// Is told how many runs of the sweep are done.
    pub progress: &'e dyn Progress<usize>,
    /// A clock that never goes back, for the time that each run takes: the time since any fixed
    /// moment.
    pub clock: &'e (dyn Fn() -> Duration + Sync),
}

/// Runs whose cost is looked at to estimate that of a whole sweep.
const SAMPLES: usize = 8;
/// Time for which the beginning of each of them is observed at most.
const SAMPLE_BUDGET: Duration = Duration::from_millis(100);

/// Estimates how long the runs that the journal does not have will take, `parallel` at a time, from
/// the beginnings of a few of them; see [`crate::run::estimate`].
#[must_use]
pub fn estimate(
    jobs: &[Job],
    journal: &Journal,
    parallel: usize,
    clock: &dyn Fn() -> Duration,
) -> Duration {
    let left: Vec<&Job> = jobs.iter().filter(|job| !journal.has(&job.key)).collect();
    let mut sampled = 0;
    let mut sum = Duration::ZERO;
    let distance = left.len().div_ceil(SAMPLES).max(1);
    for job in left.iter().step_by(distance) {
        // A run that is refused takes no time.
        let Ok(resolved) = job.loaded.resolve() else {
            continue;
        };
        if let Some(one) = crate::run::estimate(&resolved, clock, SAMPLE_BUDGET) {
            sum = sum.saturating_add(one);
            sampled += 1;
        }
    }
    if sampled == 0 {
        return Duration::ZERO;
    }
    let runs = left.len() as f64 / f64::from(sampled);
    let rounds = runs / parallel.clamp(1, left.len()) as f64;
    Duration::try_from_secs_f64(sum.as_secs_f64() * rounds).unwrap_or(Duration::MAX)
}

/// What carrying out a sweep came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Whether every run was either finished or refused; `false` if the sweep was stopped before.
    pub complete: bool,
    /// Runs that were refused, for example because their seed placed a station out of reach. The
    /// journal does not have them.
    pub refused: usize,
    /// Why the first of them was refused.
    pub reason: Option<String>,
}

/// What came of a single run.
enum Attempt {
    Finished(Box<SweepRun>),
    Refused(String),
    Stopped,
}

/// Carries out the runs that the journal does not have. Every finished run is on disk before it
/// counts as done.
///
/// # Errors
/// The simulator refuses a network, the journal cannot be written, or every run was refused.
pub fn execute(
    jobs: &[Job],
    journal: &mut Journal,
    execution: &Execution<'_>,
) -> Result<Completion> {
    let Execution {
        parallel,
        stop,
        progress,
        clock,
    } = *execution;
    // Points of the grid may coincide: the same run is done once.
    let mut queued = BTreeSet::new();
    let mut left = Vec::new();
    for job in jobs {
        if !journal.has(&job.key) && queued.insert(&job.key) {
            left.push(job);
        }
    }
    let mut done = jobs.len() - left.len();
    progress.update(done, jobs.len());

    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(parallel.clamp(1, left.len().max(1)))
        .build()
        .context("starting the threads of the sweep")?;
    let (sender, attempts) = mpsc::channel();
    let mut refused: Vec<(usize, String)> = Vec::new();
    let mut first_error = None;
    // Runs start in the order of the jobs, on the pool; this thread alone writes the journal.
    pool.in_place_scope_fifo(|scope| {
        for (index, &job) in left.iter().enumerate() {
            let sender = sender.clone();
            scope.spawn_fifo(move |_| {
                let attempt = if stop.is_raised() {
                    Ok(Attempt::Stopped)
                } else {
                    attempt(job, stop, clock)
                };
                // The receiver lives until all senders are gone.
                let _ = sender.send((index, attempt));
            });
        }
        // The loop below ends once the last run has dropped its sender.
        drop(sender);
        for (index, attempt) in attempts {
            let kept = match attempt {
                Ok(Attempt::Finished(run)) => journal.add(*run),
                Ok(Attempt::Refused(reason)) => {
                    refused.push((index, reason));
                    Ok(())
                }
                Ok(Attempt::Stopped) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = kept {
                first_error.get_or_insert(error);
                stop.raise();
            }
            done += 1;
            progress.update(done, jobs.len());
        }
    });
    match first_error {
        Some(error) => Err(error),
        None => completion(jobs, &left, journal, refused),
    }
}

fn completion(
    jobs: &[Job],
    left: &[&Job],
    journal: &Journal,
    mut refused: Vec<(usize, String)>,
) -> Result<Completion> {
    refused.sort_unstable();
    let was_refused = |index: &usize| refused.iter().any(|(other, _)| other == index);
    let is_done = |(index, job): (usize, &&Job)| journal.has(&job.key) || was_refused(&index);
    let complete = left.iter().enumerate().all(is_done);
    let count = refused.len();
    let reason = refused.into_iter().next().map(|(_, reason)| reason);
    if let Some(reason) = &reason
        && !jobs.iter().any(|job| journal.has(&job.key))
    {
        bail!("no run was finished, {count} were refused: {reason}");
    }
    Ok(Completion {
        complete,
        refused: count,
        reason,
    })
}

/// Carries out one run.
fn attempt(job: &Job, stop: &Stop, clock: &(dyn Fn() -> Duration + Sync)) -> Result<Attempt> {
    let begun = clock();
    let mut resolved = match job.loaded.resolve() {
        Ok(resolved) => resolved,
        Err(error) => return Ok(Attempt::Refused(format!("{}: {error}", job.title()))),
    };
    // A sweep keeps summaries only. Slots are needed by proxies alone then.
    resolved.world.record = airpace_sim::world::Record::default();
    if resolved.world.proxies.is_empty() {
        resolved.world.slot = None;
    }
    let finished = run(&job.loaded, resolved, stop, &Silent).with_context(|| job.title())?;
    match finished {
        Some(finished) if !finished.summary.interrupted => {
            let mut summary = finished.summary;
            summary.set_wall_time(clock().saturating_sub(begun));
            Ok(Attempt::Finished(Box::new(SweepRun {
                key: job.key.clone(),
                over: job.over.clone(),
                repeat: job.repeat,
                summary,
            })))
        }
        _ => Ok(Attempt::Stopped),
    }
}

/// A finished run, and the point of the grid that it belongs to. An earlier sweep may have given
/// the same run another point, so the point of the run itself does not count.
#[derive(Clone, Copy, Debug)]
pub struct PointRun<'a> {
    /// The values of the point, as `key=value`.
    pub over: &'a [String],
    /// The run.
    pub run: &'a SweepRun,
}

/// The runs of `jobs` that the journal has, in the order of the jobs.
#[must_use]
pub fn finished<'a>(jobs: &'a [Job], journal: &'a Journal) -> Vec<PointRun<'a>> {
    let mut finished = Vec::new();
    for job in jobs {
        if let Some(run) = journal.find(&job.key) {
            finished.push(PointRun {
                over: &job.over,
                run,
            });
        }
    }
    finished
}
