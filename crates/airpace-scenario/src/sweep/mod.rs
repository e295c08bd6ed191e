//! A grid of settings times seeds on all cores, which can be stopped and resumed at any point.

mod dataset;
mod grid;
mod journal;
mod record;
mod table;

pub use dataset::Dataset;
pub use grid::{Axis, Point, grid};
pub use journal::Journal;
#[cfg(feature = "parquet")]
pub use journal::read;
pub use record::{RunRecord, Status};
pub use table::{Estimate, SweepRow, rows, table};

use crate::file::{DocumentError, Override};
use crate::progress::{Progress, Silent};
use crate::results::SweepRun;
use crate::run::run;
use crate::stop::Stop;
use crate::store::table::{Column, Table};
use crate::{Loaded, PROGRAM_VERSION, hex};
use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128 as _, SipHasher24};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct Job {
    key: String,
    over: Vec<String>,
    repeat: u32,
    scenario_hash: String,
    loaded: Loaded,
}

impl Job {
    /// `scenario_hash` is that of `loaded`, which all repetitions of a point share.
    fn new(loaded: Loaded, scenario_hash: String, over: Vec<String>, repeat: u32) -> Self {
        Self {
            key: key(&scenario_hash, loaded.scenario.seed),
            over,
            repeat,
            scenario_hash,
            loaded,
        }
    }

    /// What tells the run from others: a hash of scenario, seed and version; 32 hexadecimal digits.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// All that another process needs to carry out the run, as JSON. Paths of files in the scenario
    /// are relative to the same folder there.
    #[must_use]
    pub fn to_json(&self) -> String {
        let order = Order {
            key: self.key.clone(),
            over: self.over.clone(),
            repeat: self.repeat,
            text: self.loaded.text.clone(),
            set: self
                .loaded
                .settings
                .iter()
                .map(Override::to_string)
                .collect(),
            folder: self.loaded.folder.clone(),
        };
        serde_json::to_string(&order).expect("texts and numbers are representable")
    }

    /// The run that [`Job::to_json`] describes.
    ///
    /// # Errors
    /// The text is something else, the scenario is refused, or it is another one for this version of
    /// airpace or with this machine's files.
    pub fn from_json(text: &str) -> Result<Self> {
        let order: Order = serde_json::from_str(text).context("this is not a run of a sweep")?;
        let mut set = Vec::new();
        for setting in &order.set {
            set.push(setting.parse().map_err(anyhow::Error::msg)?);
        }
        let loaded = Loaded::new(&order.text, set, &order.folder)?;
        let scenario_hash = loaded.hash();
        let job = Self::new(loaded, scenario_hash, order.over, order.repeat);
        if job.key != order.key {
            bail!(
                "{} is another run here: all workers need the same version of airpace (this is \
                 {PROGRAM_VERSION}) and the same files",
                job.title()
            );
        }
        Ok(job)
    }

    /// Seed of every random draw.
    const fn seed(&self) -> u64 {
        self.loaded.scenario.seed
    }

    /// What messages call the run.
    fn title(&self) -> String {
        format!(
            "{} (seed {})",
            self.over.join(" "),
            self.loaded.scenario.seed
        )
    }
}

/// A [`Job`] on its way to another process.
#[derive(Serialize, Deserialize)]
struct Order {
    key: String,
    over: Vec<String>,
    repeat: u32,
    text: String,
    set: Vec<String>,
    folder: PathBuf,
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
        let over: Vec<String> = point.iter().map(Override::to_string).collect();
        let hash = at_point.hash();
        for repeat in 0..repeats {
            let loaded = at_point.with_seed(first_seed.saturating_add(u64::from(repeat)))?;
            jobs.push(Job::new(loaded, hash.clone(), over.clone(), repeat));
        }
    }
    Ok(jobs)
}

/// What tells one run from another: scenario, seed and version.
fn key(scenario_hash: &str, seed: u64) -> String {
    let seed = seed.to_string();
    let mut hasher = SipHasher24::new();
    for part in [scenario_hash, &seed, PROGRAM_VERSION] {
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
    /// Whether every run is done; `false` if the sweep was stopped before.
    pub complete: bool,
    /// Runs without figures, for example because their seed placed a station out of reach.
    pub refused: usize,
    /// Why the first of them has none.
    pub reason: Option<String>,
}

/// What a carried out run leaves.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Its rows.
    pub record: RunRecord,
    /// All of its figures, if it has any.
    pub run: Option<Box<SweepRun>>,
}

/// Carries out the runs that the journal does not have. Every finished run is on disk before it
/// counts as done.
///
/// # Errors
/// The journal cannot be written.
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
    let mut first_error = None;
    // Runs start in the order of the jobs, on the pool; this thread alone writes the journal.
    pool.in_place_scope_fifo(|scope| {
        for job in left {
            let sender = sender.clone();
            scope.spawn_fifo(move |_| {
                let attempt = if stop.is_raised() {
                    None
                } else {
                    attempt(job, stop, clock)
                };
                // The receiver lives until all senders are gone.
                let _ = sender.send(attempt);
            });
        }
        // The loop below ends once the last run has dropped its sender.
        drop(sender);
        for attempt in attempts {
            let kept = attempt.map_or(Ok(()), |outcome| journal.add(outcome));
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
        None => completion(jobs, journal),
    }
}

/// What came of the runs of `jobs`.
///
/// # Errors
/// As of [`Journal::dataset`].
pub fn completion(jobs: &[Job], journal: &Journal) -> Result<Completion> {
    let dataset = journal.dataset(jobs)?;
    let mut without_figures = BTreeMap::new();
    for (row, key) in dataset.keys().into_iter().enumerate() {
        if let Some(error) = dataset.error(row) {
            without_figures.insert(key, error.to_owned());
        }
    }
    let refused = jobs.iter().filter_map(|job| without_figures.get(&job.key));
    Ok(Completion {
        complete: jobs.iter().all(|job| journal.has(&job.key)),
        refused: refused.clone().count(),
        reason: refused.clone().next().cloned(),
    })
}

/// The row of a run that could not be carried out, for example because the processes that tried died.
#[must_use]
pub fn failed(job: &Job, error: &str) -> RunRecord {
    let error = format!("{}: {error}", job.title());
    RunRecord::without_figures(job, Status::Failed, &error)
}

/// Carries out one run; `None` if it was stopped. A run that is refused, fails or panics leaves a row
/// with the reason.
pub fn attempt(job: &Job, stop: &Stop, clock: &(dyn Fn() -> Duration + Sync)) -> Option<Outcome> {
    let begun = clock();
    let without_figures = |status, error: &str| {
        let error = format!("{}: {error}", job.title());
        Some(Outcome {
            record: RunRecord::without_figures(job, status, &error),
            run: None,
        })
    };
    let mut resolved = match job.loaded.resolve() {
        Ok(resolved) => resolved,
        Err(error) => return without_figures(Status::Refused, &error.to_string()),
    };
    // A sweep keeps summaries only. Slots are needed by proxies alone then.
    resolved.world.record = airpace_sim::world::Record::default();
    if resolved.world.proxies.is_empty() {
        resolved.world.slot = None;
    }
    let finished = match caught(|| run(&job.loaded, resolved, stop, &Silent)) {
        Ok(Ok(finished)) => finished?,
        Ok(Err(error)) => return without_figures(Status::Failed, &error.to_string()),
        Err(panic) => return without_figures(Status::Failed, &panic),
    };
    let mut summary = finished.summary;
    if summary.interrupted {
        return None;
    }
    summary.set_wall_time(clock().saturating_sub(begun));
    Some(Outcome {
        record: RunRecord::finished(job, &summary),
        run: Some(Box::new(SweepRun {
            key: job.key.clone(),
            over: job.over.clone(),
            repeat: job.repeat,
            summary,
        })),
    })
}

/// What `act` returns, or what it panicked with: a defect that one run in a thousand meets must not
/// cost the others.
fn caught<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    // Whatever the run has left half done is dropped with it.
    catch_unwind(AssertUnwindSafe(act)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("the simulator has a defect: {}", text.unwrap_or("a panic"))
    })
}

/// A finished run, and the point of the grid that it belongs to. An earlier sweep may have given
/// the same run another point, so the point of the run itself does not count.
#[derive(Clone, Copy, Debug)]
pub struct PointRun<'a> {
    /// The values of the point, as `key=value`.
    pub over: &'a [String],
    /// The table with the run, `runs` of a data set.
    pub runs: &'a Table,
    /// Its row there.
    pub row: usize,
}

impl PointRun<'_> {
    /// The figure in this column; `None` if the run does not have it.
    #[must_use]
    pub fn number(&self, column: &str) -> Option<f64> {
        self.runs.column(column)?.number(self.row)
    }

    /// What the run's warnings are about, each once.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let column = self.runs.column("warnings").into_iter();
        let text = column.flat_map(Column::texts).nth(self.row);
        text.unwrap_or_default().split_whitespace()
    }
}

/// The finished runs of `jobs` in the data set, in the order of the jobs.
#[must_use]
pub fn finished<'a>(jobs: &'a [Job], dataset: &'a Dataset) -> Vec<PointRun<'a>> {
    dataset.finished(jobs)
}

/// What the files of a data set say of the sweep that they are from.
#[cfg(feature = "parquet")]
fn metadata(jobs: &[Job]) -> Vec<(&'static str, String)> {
    let mut metadata = vec![
        (
            "airpace.format",
            crate::results::SIMULATION_FORMAT.to_string(),
        ),
        ("airpace.version", PROGRAM_VERSION.to_owned()),
    ];
    if let Some(job) = jobs.first() {
        let record = job.loaded.record();
        metadata.push(("airpace.scenario.title", record.title));
        metadata.push(("airpace.scenario.text", record.text));
        // Point and seed, which follow, are columns.
        let of_all = record.set.len() - job.over.len() - 1;
        metadata.push(("airpace.scenario.set", record.set[..of_all].join("\n")));
    }
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_reason() {
        assert_eq!(caught(|| 3), Ok(3));
        let reason = caught(|| panic!("level {} of 3", 4)).map(|()| 0);
        assert_eq!(
            reason.unwrap_err(),
            "the simulator has a defect: level 4 of 3"
        );
        let reason = caught(|| panic!("no")).map(|()| 0);
        assert_eq!(reason.unwrap_err(), "the simulator has a defect: no");
    }

    #[test]
    fn another_seed_is_as_if_it_had_been_read() {
        let text =
            "node = [{ kind = \"ap\" }, { kind = \"station\" }]\nflow = [{ kind = \"ping\" }]";
        let loaded = Loaded::new(text, Vec::new(), ".".as_ref()).unwrap();
        let setting: Override = "seed=7".parse().unwrap();
        let seeded = loaded.with_seed(7).unwrap();
        let read = loaded.with(&[setting]).unwrap();
        assert_eq!(seeded.record(), read.record());
        assert_eq!(seeded.scenario.seed, read.scenario.seed);
        assert_eq!(seeded.hash(), loaded.hash());
    }
}
