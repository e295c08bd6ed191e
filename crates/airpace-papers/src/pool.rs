use super::case::{Call, Case, Extract, Figures, Results, Run, Source, load};
use super::claim::Claim;
use crate::verdicts::{REPRODUCTION_FORMAT, ReproducedRow, Reproduction, RowOutcome};
use airpace_config::quantity::Span;
use airpace_scenario::Loaded;
use airpace_scenario::PROGRAM_VERSION;
use airpace_scenario::progress::Silent;
use airpace_scenario::results::SimulationSummary;
use airpace_scenario::run::run;
use airpace_scenario::stop::Stop;
use anyhow::{Context as _, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// How much is run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// First seed.
    pub seed: u64,
    /// Seeds of each case, in place of each row's own number.
    pub seeds: Option<u32>,
    /// How long the measured part of every scenario lasts, in place of its own duration.
    pub duration: Option<Span>,
    /// Runs at a time.
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

/// Rows and what they rest on.
#[derive(Debug)]
pub struct Made {
    /// The rows.
    pub reproduction: Reproduction,
    /// Per row, in the same order, the runs by the names of their cases.
    pub runs: Vec<BTreeMap<String, Vec<Arc<Run>>>>,
}

/// Something to be run, and which rows wait for it.
struct Job {
    work: Work,
    seed: u64,
    users: Vec<User>,
}

enum Work {
    Scenario(Box<Loaded>, Option<Extract>),
    Call(Call),
    Refused(String),
}

/// A place among the runs of a case of a row.
#[derive(Clone)]
struct User {
    claim: usize,
    case: String,
    place: usize,
}

/// Makes the runs of `claims` and judges them. `None` if `stop` was raised before all were done.
#[must_use]
pub fn reproduce(claims: &[Claim], effort: &Effort, stop: &Stop) -> Option<Made> {
    let begun = Instant::now();
    let jobs = jobs(claims, effort);
    let board = Mutex::new(Board::new(claims, &jobs));
    let progress = progress(jobs.len());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..effort.parallel.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                while let Some(job) = jobs
                    .get(next.fetch_add(1, Ordering::Relaxed))
                    .filter(|_| !stop.is_raised())
                {
                    let Some((made, refusal)) = made(job, stop) else {
                        break;
                    };
                    let lines = lock(&board).put(claims, job, made, refusal);
                    progress.inc(1);
                    lines.iter().for_each(|line| tell(&progress, line));
                }
            });
        }
    });
    progress.finish_and_clear();
    let board = board.into_inner().unwrap_or_else(PoisonError::into_inner);
    board.finish(claims, effort, begun.elapsed().as_secs_f64())
}

/// A thread that panics ends the whole run, so no lock is poisoned for long.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What makes a run of a scenario what it is: hash of the scenario, seed, what is taken from it.
type Key = (String, u64, usize);

/// Every different run that the claims need, in the order of the claims.
fn jobs(claims: &[Claim], effort: &Effort) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    let mut known: BTreeMap<Key, usize> = BTreeMap::new();
    for (claim, case) in claims
        .iter()
        .enumerate()
        .flat_map(|(idx, claim)| (claim.cases)().into_iter().map(move |c| (idx, c)))
    {
        for place in 0..case.seeds.or(effort.seeds).unwrap_or(claims[claim].seeds) {
            let seed = effort.seed.wrapping_add(u64::from(place));
            let user = User {
                claim,
                case: case.name.clone(),
                place: place as usize,
            };
            let work = work(&case, seed, effort);
            let key = key(&work, seed);
            if let Some(&at) = key.as_ref().and_then(|key| known.get(key)) {
                jobs[at].users.push(user);
                continue;
            }
            known.extend(key.map(|key| (key, jobs.len())));
            jobs.push(Job {
                work,
                seed,
                users: vec![user],
            });
        }
    }
    jobs
}

fn work(case: &Case, seed: u64, effort: &Effort) -> Work {
    match &case.source {
        Source::Call(call) => Work::Call(Arc::clone(call)),
        Source::Scenario {
            text,
            settings,
            extract,
        } => {
            let duration = effort
                .duration
                .map(|duration| format!("duration={duration}"));
            let more: Vec<String> = duration
                .into_iter()
                .chain([format!("seed={seed}")])
                .collect();
            match load(text, settings, &more) {
                Ok(loaded) => Work::Scenario(Box::new(loaded), *extract),
                Err(error) => Work::Refused(error),
            }
        }
    }
}

fn key(work: &Work, seed: u64) -> Option<Key> {
    match work {
        Work::Scenario(loaded, extract) => Some((
            loaded.record().hash,
            seed,
            extract.map_or(0, |of| of as usize),
        )),
        _ => None,
    }
}

/// Makes a run; what was refused is an empty run and the reason. `None` if it was stopped.
fn made(job: &Job, stop: &Stop) -> Option<(Run, Option<String>)> {
    let begun = Instant::now();
    let mut run = Run {
        seed: job.seed,
        summary: None,
        figures: BTreeMap::new(),
        wall_s: 0.0,
    };
    let made = match &job.work {
        Work::Refused(why) => Err(anyhow::anyhow!("{why}")),
        Work::Call(call) => call(job.seed, stop).map(|figures| run.figures = figures),
        Work::Scenario(loaded, extract) => match scenario(loaded, *extract, stop) {
            Ok(Some((summary, figures))) => {
                (run.summary, run.figures) = (Some(summary), figures);
                Ok(())
            }
            Ok(None) => return None,
            Err(error) => Err(error),
        },
    };
    if stop.is_raised() {
        return None;
    }
    run.wall_s = begun.elapsed().as_secs_f64();
    Some((run, made.err().map(|error| format!("{error:#}"))))
}

/// Runs a scenario; `None` if it was stopped.
fn scenario(
    loaded: &Loaded,
    extract: Option<Extract>,
    stop: &Stop,
) -> Result<Option<(SimulationSummary, Figures)>> {
    let mut resolved = loaded
        .resolve()
        .map_err(|error| anyhow::anyhow!("{}", error.one_line("scenario")))?;
    if extract.is_none() {
        resolved.world.record = airpace_sim::world::Record::default();
        resolved.world.slot = resolved
            .world
            .slot
            .filter(|_| !resolved.world.proxies.is_empty());
    }
    let finished = run(loaded, resolved, stop, &Silent).context("starting the simulation")?;
    Ok(finished
        .filter(|finished| !finished.summary.interrupted)
        .map(|finished| {
            let figures = extract.map_or_else(BTreeMap::new, |extract| extract(&finished));
            let mut summary = finished.summary;
            // The text is in the folder of scenarios; what takes time is told apart from what was measured.
            summary.scenario.text = String::new();
            (summary.wall_s, summary.packets_per_wall_s) = (0.0, 0.0);
            (summary, figures)
        }))
}

/// What the rows have so far.
struct Board(Vec<State>);

#[derive(Default)]
struct State {
    left: usize,
    runs: BTreeMap<String, BTreeMap<usize, Arc<Run>>>,
    refused: Option<String>,
    row: Option<ReproducedRow>,
}

impl Board {
    fn new(claims: &[Claim], jobs: &[Job]) -> Self {
        let mut states: Vec<State> = claims.iter().map(|_| State::default()).collect();
        jobs.iter()
            .flat_map(|job| &job.users)
            .for_each(|user| states[user.claim].left += 1);
        Self(states)
    }

    /// Puts a run where it belongs and judges the rows that waited for nothing else; says what became of them.
    fn put(
        &mut self,
        claims: &[Claim],
        job: &Job,
        run: Run,
        refused: Option<String>,
    ) -> Vec<String> {
        let run = Arc::new(run);
        let mut lines = Vec::new();
        for user in &job.users {
            let state = &mut self.0[user.claim];
            state
                .runs
                .entry(user.case.clone())
                .or_default()
                .insert(user.place, Arc::clone(&run));
            state.left -= 1;
            if let Some(why) = &refused {
                state
                    .refused
                    .get_or_insert_with(|| format!("{} was refused: {why}", user.case));
            }
            if state.left == 0 {
                let row = state.judge(&claims[user.claim]);
                lines.push(format!("{}: {}", row.id, row.outcome.word()));
                state.row = Some(row);
            }
        }
        lines
    }

    fn finish(mut self, claims: &[Claim], effort: &Effort, wall_s: f64) -> Option<Made> {
        for (state, claim) in self.0.iter_mut().zip(claims) {
            if state.row.is_none() && state.left == 0 {
                state.row = Some(state.judge(claim));
            }
        }
        let rows: Vec<ReproducedRow> = self
            .0
            .iter()
            .map(|state| state.row.clone())
            .collect::<Option<_>>()?;
        let reproduction = Reproduction {
            format: REPRODUCTION_FORMAT,
            program_version: PROGRAM_VERSION.to_owned(),
            seed: effort.seed,
            reproduced: rows
                .iter()
                .filter(|row| row.outcome == RowOutcome::Reproduced)
                .count(),
            rows,
            wall_s,
        };
        Some(Made {
            reproduction,
            runs: self
                .0
                .into_iter()
                .map(|state| state.results().cases)
                .collect(),
        })
    }
}

impl State {
    fn results(&self) -> Results {
        let runs = |places: &BTreeMap<usize, Arc<Run>>| places.values().map(Arc::clone).collect();
        Results {
            cases: self
                .runs
                .iter()
                .map(|(case, places)| (case.clone(), runs(places)))
                .collect(),
        }
    }

    fn judge(&self, claim: &Claim) -> ReproducedRow {
        let results = self.results();
        let mut findings = (claim.judge)(&results);
        if let Some(why) = &self.refused {
            findings.note(why.clone());
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

fn progress(runs: usize) -> ProgressBar {
    let shown = std::io::stderr().is_terminal();
    let target = if shown {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(runs as u64), target);
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {elapsed} gone, {eta} left");
    bar.set_style(style.expect("the template is constant"));
    bar
}

/// A line above the bar, or in the log where there is none.
fn tell(bar: &ProgressBar, line: &str) {
    if bar.is_hidden() {
        tracing::info!("{line}")
    } else {
        bar.println(line)
    }
}
