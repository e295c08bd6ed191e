//! Running the cases of rows on all cores, each run once however many rows use it.

use super::case::{Case, Compute, Extract, Figures, LiveRun, Results, Run, Source, load};
use super::claim::Claim;
use super::verdicts::{REPRODUCTION_FORMAT, ReproducedRow, Reproduction, RowOutcome};
use crate::nonlinear::LiveTestbed;
use airpace_config::quantity::Span;
use airpace_scenario::Loaded;
use airpace_scenario::PROGRAM_VERSION;
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
        /// Whether it is reproduced.
        outcome: RowOutcome,
    },
}

/// Why rows were not reproduced.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// The stop was raised before every run was done.
    #[error("stopped before every run was done")]
    Stopped,
    /// The threads cannot be started.
    #[error("the threads for the runs cannot be started")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// Rows with the runs that they use.
#[derive(Debug)]
pub struct Completed {
    /// The rows.
    pub reproduction: Reproduction,
    /// For each row, in the same order, the runs by the names of their cases.
    pub runs: Vec<BTreeMap<String, Vec<Arc<Run>>>>,
}

/// A run to be made, and the places that use it.
struct Job {
    work: Work,
    seed: u64,
    users: Vec<User>,
}

enum Work {
    Scenario(Box<Loaded>, Option<Extract>),
    Compute(Compute),
    Live(LiveRun),
    /// A scenario that was refused, with the reason.
    Refused(String),
}

/// One of the runs of a case of a row.
#[derive(Clone)]
struct User {
    claim: usize,
    case: String,
    /// Place among the runs of the case.
    place: usize,
}

/// Makes the runs of `claims` and judges them. Rows of real packets are measured in `live`; without
/// it they are not reproduced. `progress` is called from several threads.
///
/// # Errors
/// If `stop` was raised before every run was done, or no threads can be started.
pub fn reproduce(
    claims: &[Claim],
    effort: &Effort,
    live: Option<&dyn LiveTestbed>,
    progress: &(dyn Fn(Progress<'_>) + Sync),
    stop: &Stop,
) -> Result<Completed, ReproduceError> {
    let begun = Instant::now();
    let jobs = jobs(claims, effort);
    let board = Mutex::new(Board::new(claims, &jobs));
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
                board.put(claims, job, run, refusal, progress);
                let done = ended.fetch_add(1, Ordering::Relaxed) + 1;
                progress(Progress::Runs { done, total });
            }
        });
    });
    let board = board.into_inner().unwrap_or_else(PoisonError::into_inner);
    board
        .finish(claims, effort, begun.elapsed().as_secs_f64())
        .ok_or(ReproduceError::Stopped)
}

/// What identifies a run of a scenario: hash of the scenario, seed, address of the function that
/// extracts figures.
type Key = (String, u64, usize);

/// Every different run that the claims need, in the order of the claims.
fn jobs(claims: &[Claim], effort: &Effort) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    let mut known: BTreeMap<Key, usize> = BTreeMap::new();
    for (index, claim) in claims.iter().enumerate() {
        for case in (claim.cases)() {
            for place in 0..case.seeds.or(effort.seeds).unwrap_or(claim.seeds) {
                let seed = effort.seed.wrapping_add(u64::from(place));
                let user = User {
                    claim: index,
                    case: case.name.clone(),
                    place: place as usize,
                };
                let work = Work::new(&case, seed, effort);
                let key = work.key(seed);
                // Rows share runs of the same scenario.
                if let Some(&job) = key.as_ref().and_then(|key| known.get(key)) {
                    jobs[job].users.push(user);
                    continue;
                }
                if let Some(key) = key {
                    known.insert(key, jobs.len());
                }
                jobs.push(Job {
                    work,
                    seed,
                    users: vec![user],
                });
            }
        }
    }
    jobs
}

impl Work {
    fn new(case: &Case, seed: u64, effort: &Effort) -> Self {
        match &case.source {
            Source::Compute(compute) => Self::Compute(Arc::clone(compute)),
            Source::Live(run) => Self::Live(*run),
            Source::Scenario {
                text,
                settings,
                extract,
            } => {
                let mut more = Vec::new();
                if let Some(duration) = effort.duration {
                    more.push(format!("duration={duration}"));
                }
                more.push(format!("seed={seed}"));
                match load(text, settings, &more) {
                    Ok(loaded) => Self::Scenario(Box::new(loaded), *extract),
                    Err(error) => Self::Refused(error),
                }
            }
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

impl Job {
    /// Makes the run. A refused run is empty and comes with the reason. `None` if it was stopped.
    fn run(&self, live: Option<&dyn LiveTestbed>, stop: &Stop) -> Option<(Run, Option<String>)> {
        let begun = Instant::now();
        let result = match &self.work {
            Work::Refused(reason) => Err(anyhow!("{reason}")),
            Work::Compute(compute) => compute(self.seed).map(|figures| (None, figures)),
            Work::Live(run) => live
                .context("it needs real packets, for which there is no test bed")
                .and_then(|testbed| run(testbed, self.seed, stop))
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
            seed: self.seed,
            summary,
            figures,
            wall_s: begun.elapsed().as_secs_f64(),
        };
        Some((run, refusal))
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

/// The runs and verdicts that each row has so far.
struct Board(Vec<RowState>);

#[derive(Default)]
struct RowState {
    /// Runs that the row still waits for.
    waiting: usize,
    /// Runs by case and place.
    runs: BTreeMap<String, BTreeMap<usize, Arc<Run>>>,
    /// Why the first refused run was refused.
    refusal: Option<String>,
    row: Option<ReproducedRow>,
}

impl Board {
    fn new(claims: &[Claim], jobs: &[Job]) -> Self {
        let mut states: Vec<RowState> = claims.iter().map(|_| RowState::default()).collect();
        for user in jobs.iter().flat_map(|job| &job.users) {
            states[user.claim].waiting += 1;
        }
        Self(states)
    }

    /// Gives a run to the rows that use it, and judges those that wait for no other.
    fn put(
        &mut self,
        claims: &[Claim],
        job: &Job,
        run: Run,
        refusal: Option<String>,
        progress: &(dyn Fn(Progress<'_>) + Sync),
    ) {
        let run = Arc::new(run);
        for user in &job.users {
            let state = &mut self.0[user.claim];
            let places = state.runs.entry(user.case.clone()).or_default();
            places.insert(user.place, Arc::clone(&run));
            state.waiting -= 1;
            if let Some(reason) = &refusal
                && state.refusal.is_none()
            {
                state.refusal = Some(format!("{} was refused: {reason}", user.case));
            }
            if state.waiting == 0 {
                let row = state.judge(&claims[user.claim]);
                progress(Progress::RowJudged {
                    id: &row.id,
                    outcome: row.outcome,
                });
                state.row = Some(row);
            }
        }
    }

    /// All rows; `None` if one of them still waits for a run.
    fn finish(self, claims: &[Claim], effort: &Effort, wall_s: f64) -> Option<Completed> {
        let mut rows = Vec::new();
        let mut runs = Vec::new();
        for (state, claim) in self.0.into_iter().zip(claims) {
            // Rows without runs are not judged before.
            let judge = || (state.waiting == 0).then(|| state.judge(claim));
            rows.push(state.row.clone().or_else(judge)?);
            runs.push(state.results().cases);
        }
        let is_reproduced = |row: &&ReproducedRow| row.outcome == RowOutcome::Reproduced;
        let reproduction = Reproduction {
            format: REPRODUCTION_FORMAT,
            program_version: PROGRAM_VERSION.to_owned(),
            seed: effort.seed,
            reproduced: rows.iter().filter(is_reproduced).count(),
            rows,
            wall_s,
        };
        Some(Completed { reproduction, runs })
    }
}

impl RowState {
    fn results(&self) -> Results {
        let mut cases = BTreeMap::new();
        for (case, places) in &self.runs {
            cases.insert(case.clone(), places.values().map(Arc::clone).collect());
        }
        Results { cases }
    }

    fn judge(&self, claim: &Claim) -> ReproducedRow {
        let results = self.results();
        let mut findings = (claim.judge)(&results);
        if let Some(reason) = &self.refusal {
            findings.note(reason.clone());
        }
        let runs = || results.cases.values().flatten();
        ReproducedRow {
            id: claim.id.to_owned(),
            source: claim.source.to_owned(),
            kind: claim.kind,
            claim: claim.claim.to_owned(),
            outcome: findings.outcome(),
            measured: findings.measured(),
            expected: findings.expected(),
            note: findings.text(),
            relations: findings.relations,
            seeds: results.cases.values().map(Vec::len).max().unwrap_or(0),
            runs: runs().count(),
            wall_s: runs().map(|run| run.wall_s).sum(),
        }
    }
}
