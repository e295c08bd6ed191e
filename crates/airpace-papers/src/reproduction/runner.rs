//! Running the cases of rows on all cores, each run once however many rows use it.

use super::board::{Board, User};
use super::case::{Case, Compute, Extract, Figures, LiveRun, Run, Source, Trial, load};
use super::claim::Claim;
use super::store::{Store, StoredRuns};
use super::verdicts::{Reproduction, Verdict};
use crate::nonlinear::LiveTestbed;
use airpace_config::quantity::Span;
use airpace_scenario::Loaded;
use airpace_scenario::progress::Silent;
use airpace_scenario::results::SimulationSummary;
use airpace_scenario::stop::Stop;
use anyhow::{Context as _, Result, anyhow};
use rayon::iter::{ParallelBridge as _, ParallelIterator as _};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use thiserror::Error;

/// How much is run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// First seed. Default 1.
    pub seed: u64,
    /// Seeds of each case; by default each row's own number.
    pub seeds: Option<u32>,
    /// Length of the measured part of every scenario; by default the scenario's own.
    pub duration: Option<Span>,
    /// Factor on the time that every run measures, above 0. Default 1. A verdict that changes if
    /// this is doubled was taken too early.
    pub horizon: f64,
    /// Runs at a time, at least 1. Default one per core.
    pub parallel: usize,
}

impl Default for Effort {
    fn default() -> Self {
        let parallel = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            seed: 1,
            seeds: None,
            duration: None,
            horizon: 1.0,
            parallel,
        }
    }
}

/// What happens while rows are reproduced.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// The runs begin, or one has ended.
    Runs {
        /// Runs that have ended.
        done: usize,
        /// All runs.
        total: usize,
    },
    /// All runs of a row have ended, and it is judged.
    RowJudged {
        /// The row.
        id: &'a str,
        /// Whether it holds.
        verdict: Verdict,
    },
}

/// Why rows were not reproduced.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// A row cannot be read from the store or written to it.
    #[error("the store of the rows failed")]
    Store(#[source] anyhow::Error),
    /// The threads cannot be started.
    #[error("the threads for the runs cannot be started")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// Rows with the runs that they use.
#[derive(Debug)]
pub struct Completed {
    /// The rows that were judged: all, unless it was interrupted.
    pub reproduction: Reproduction,
    /// For each row, in the same order, the runs by the names of their cases.
    pub runs: Vec<BTreeMap<String, Vec<Arc<Run>>>>,
}

/// A run to be made, and the places that use it.
pub(super) struct Job {
    work: Work,
    trial: Trial,
    /// See [`Run::settings`].
    settings: String,
    pub(super) users: Vec<User>,
}

enum Work {
    /// A run that the store has.
    Stored(Arc<Run>),
    Scenario(Box<Loaded>, Option<Extract>),
    Compute(Compute),
    Live(LiveRun),
    /// A scenario that was refused, with the reason.
    Refused(String),
}

/// Makes the runs of `claims` and judges them. Rows of real packets are measured in `live`; without
/// it they are missed. Every row is put into `store` once it is judged. `progress` is called from
/// several threads. After a stop, the rows that were judged before are returned.
///
/// # Errors
/// If a row cannot be stored, or no threads can be started.
pub fn reproduce(
    claims: &[Claim],
    effort: &Effort,
    live: Option<&dyn LiveTestbed>,
    store: Option<&Store>,
    progress: &(dyn Fn(Progress<'_>) + Sync),
    stop: &Stop,
) -> Result<Completed, ReproduceError> {
    let begun = Instant::now();
    let jobs = jobs(claims, effort, store).map_err(ReproduceError::Store)?;
    let board = Mutex::new(Board::new(claims, &jobs, store));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(effort.parallel.clamp(1, jobs.len().max(1)))
        .build()?;
    let total = jobs.len();
    progress(Progress::Runs { done: 0, total });
    let ended = AtomicUsize::new(0);
    // A bridge hands out the jobs in their order, so that rows are finished one after the other.
    pool.install(|| {
        jobs.iter().par_bridge().for_each(|job| {
            if stop.is_raised() {
                return;
            }
            if let Some((run, refusal)) = job.run(live, stop) {
                let mut board = board.lock().unwrap_or_else(PoisonError::into_inner);
                board.put(job, &run, refusal, progress);
                let done = ended.fetch_add(1, Ordering::Relaxed) + 1;
                progress(Progress::Runs { done, total });
            }
        });
    });
    let board = board.into_inner().unwrap_or_else(PoisonError::into_inner);
    board
        .finish(effort, begun.elapsed().as_secs_f64())
        .map_err(ReproduceError::Store)
}

/// What identifies a run of a scenario: hash of the scenario, seed, address of the function that
/// extracts figures.
type Key = (String, u64, usize);

/// Every different run that the claims need, in the order of the claims.
fn jobs(claims: &[Claim], effort: &Effort, store: Option<&Store>) -> Result<Vec<Job>> {
    let mut jobs: Vec<Job> = Vec::new();
    let mut known: BTreeMap<Key, usize> = BTreeMap::new();
    for (index, claim) in claims.iter().enumerate() {
        let stored = store.map_or_else(|| Ok(StoredRuns::new()), |store| store.runs(claim.id))?;
        for case in (claim.cases)() {
            for place in 0..case.seeds.or(effort.seeds).unwrap_or(claim.seeds) {
                let user = User {
                    claim: index,
                    case: case.name.clone(),
                    place: place as usize,
                };
                let trial = Trial {
                    seed: effort.seed.wrapping_add(u64::from(place)),
                    horizon: effort.horizon,
                };
                let work = Work::new(&case, trial, effort);
                let key = work.key(trial.seed);
                // Rows share runs of the same scenario.
                if let Some(&job) = key.as_ref().and_then(|key| known.get(key)) {
                    jobs[job].users.push(user);
                    continue;
                }
                if let Some(key) = key {
                    known.insert(key, jobs.len());
                }
                jobs.push(Job::new(work, trial, user, &stored));
            }
        }
    }
    Ok(jobs)
}

impl Work {
    fn new(case: &Case, trial: Trial, effort: &Effort) -> Self {
        match &case.source {
            Source::Compute(compute) => Self::Compute(Arc::clone(compute)),
            Source::Live(run) => Self::Live(*run),
            Source::Scenario {
                text,
                settings,
                extract,
            } => match load_for(text, settings, trial, effort) {
                Ok(loaded) => Self::Scenario(Box::new(loaded), *extract),
                Err(error) => Self::Refused(error),
            },
        }
    }

    /// `None` for runs that are never shared.
    fn key(&self, seed: u64) -> Option<Key> {
        match self {
            Self::Scenario(loaded, extract) => {
                let extract = extract.map_or(0, |extract| extract as usize);
                Some((loaded.record().hash, seed, extract))
            }
            _ => None,
        }
    }
}

/// A scenario with the seed and the measured time of a trial.
fn load_for(
    text: &str,
    settings: &[String],
    trial: Trial,
    effort: &Effort,
) -> Result<Loaded, String> {
    let mut more = vec![format!("seed={}", trial.seed)];
    let usual = match effort.duration {
        Some(duration) => duration,
        None => load(text, settings, &[])?.scenario.duration,
    };
    let duration = Span(usual.0.mul_f64(trial.horizon));
    more.push(format!("duration=\"{duration}\""));
    load(text, settings, &more)
}

impl Job {
    fn new(work: Work, trial: Trial, user: User, stored: &StoredRuns) -> Self {
        let settings = match &work {
            Work::Scenario(loaded, _) => loaded.record().hash,
            _ => format!("horizon {}", trial.horizon),
        };
        let mut candidates = stored.get(&user.case).into_iter().flatten();
        // A refused run is empty, and is tried again.
        let same = candidates.find(|run| {
            let is_complete = run.summary.is_some() || !run.figures.is_empty();
            is_complete && run.seed == trial.seed && run.settings == settings
        });
        Self {
            work: same.map_or(work, |run| Work::Stored(Arc::clone(run))),
            trial,
            settings,
            users: vec![user],
        }
    }

    /// Makes the run. A refused run is empty and comes with the reason. `None` if it was stopped.
    fn run(
        &self,
        live: Option<&dyn LiveTestbed>,
        stop: &Stop,
    ) -> Option<(Arc<Run>, Option<String>)> {
        let begun = Instant::now();
        let result = match &self.work {
            Work::Stored(run) => return Some((Arc::clone(run), None)),
            Work::Refused(reason) => Err(anyhow!("{reason}")),
            Work::Compute(compute) => compute(self.trial).map(|figures| (None, figures)),
            Work::Live(run) => live
                .context("it needs real packets, for which there is no test bed")
                .and_then(|testbed| run(testbed, self.trial, stop))
                .map(|figures| (None, figures)),
            Work::Scenario(loaded, extract) => {
                match simulate(loaded, *extract, stop).transpose()? {
                    Ok((summary, figures)) => Ok((Some(summary), figures)),
                    Err(error) => Err(error),
                }
            }
        };
        if stop.is_raised() {
            return None;
        }
        let (outcome, refusal) = match result {
            Ok(outcome) => (outcome, None),
            Err(error) => ((None, Figures::new()), Some(format!("{error:#}"))),
        };
        let (summary, figures) = outcome;
        let run = Run {
            seed: self.trial.seed,
            settings: self.settings.clone(),
            summary,
            figures,
            wall_s: begun.elapsed().as_secs_f64(),
        };
        Some((Arc::new(run), refusal))
    }
}

/// Runs a scenario; `None` if it was stopped.
fn simulate(
    loaded: &Loaded,
    extract: Option<Extract>,
    stop: &Stop,
) -> Result<Option<(SimulationSummary, Figures)>> {
    let mut resolved = loaded
        .resolve()
        .map_err(|error| anyhow!("{}", error.one_line("scenario")))?;
    if extract.is_none() {
        // Only the summary is used, so nothing needs to be recorded. Proxies still need slots.
        resolved.world.record = airpace_sim::world::Record::default();
        if resolved.world.proxies.is_empty() {
            resolved.world.slot = None;
        }
    }
    let finished = airpace_scenario::run::run(loaded, resolved, stop, &Silent)
        .context("starting the simulation")?;
    let Some(finished) = finished.filter(|finished| !finished.summary.interrupted) else {
        return Ok(None);
    };
    let figures = extract.map_or_else(BTreeMap::new, |extract| extract(&finished));
    let mut summary = finished.summary;
    // The folder of scenarios has the text.
    summary.scenario.text = String::new();
    Ok(Some((summary, figures)))
}
