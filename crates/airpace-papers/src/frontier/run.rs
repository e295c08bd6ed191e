//! Running cells × loads × settings × seeds on all cores.

use super::judge::judge;
use super::row::{FRONTIER_FORMAT, Frontier, Row, RunFigures, row};
use super::{Arm, Cell, Load, Setting, load};
use airpace_config::quantity::Span;
use airpace_scenario::file::{DocumentError, Override, Scenario};
use airpace_scenario::progress::Silent;
use airpace_scenario::stop::Stop;
use airpace_scenario::{Loaded, PROGRAM_VERSION};
use airpace_sim::world::WorldError;
use std::sync::mpsc;
use thiserror::Error;

/// How much is run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// First seed. Default 1.
    pub seed: u64,
    /// Seeds of each setting. Default 3.
    pub seeds: u32,
    /// Length of the warm-up of every cell; by default the cell's own.
    pub warm_up: Option<Span>,
    /// Length of the measured part of every cell; by default the cell's own.
    pub duration: Option<Span>,
    /// Whether every other value of the knobs is left out. Default false.
    pub coarse: bool,
    /// Runs at a time, at least 1. Default one per core.
    pub parallel: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            seed: 1,
            seeds: 3,
            warm_up: None,
            duration: None,
            coarse: false,
            parallel: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// What is run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cells.
    pub cells: Vec<Cell>,
    /// The loads.
    pub loads: Vec<Load>,
    /// The arms. [`Arm::Airtime`] is run in any case, because utilities are relative to it.
    pub arms: Vec<Arm>,
    /// How much is run.
    pub effort: Effort,
}

/// What happens during a measurement.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// The runs begin, or one has ended.
    Runs {
        /// Runs that have ended.
        done: usize,
        /// All runs.
        total: usize,
    },
    /// A scenario was refused with one seed, which the rows of the cell leave out.
    Refused {
        /// Name of the cell.
        cell: &'a str,
        /// The seed.
        seed: u64,
        /// Why.
        reason: &'a str,
    },
    /// All rows of a cell and load are there; these are all rows so far.
    Rows(&'a Frontier),
}

/// Why nothing was measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FrontierError {
    /// A cell is not a valid scenario, or does not go with an arm.
    #[error("{0}")]
    Cell(String),
    /// The simulator refused a network.
    #[error("cell {cell}: {error}")]
    World {
        /// Name of the cell.
        cell: String,
        /// Why.
        error: WorldError,
    },
    /// The threads cannot be started.
    #[error("the threads for the runs cannot be started")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// The runs of one cell under one load.
struct Group<'p> {
    cell: &'p Cell,
    load: Load,
    settings: Vec<Setting>,
    /// Index of the setting that utilities are relative to.
    reference: usize,
    /// Index of its first run among all runs.
    first_run: usize,
}

/// One run.
#[derive(Clone, Copy)]
struct Job {
    group: usize,
    setting: usize,
    /// Place of the seed, from zero.
    place: u32,
}

/// What came of one run.
enum Attempt {
    Finished(Box<RunFigures>),
    /// The seed does not suit the scenario, for example because it places a station out of reach.
    Refused(String),
    Stopped,
}

/// Runs what `plan` says. Raising `stop` ends it early: rows whose runs are not all done are then
/// missing.
///
/// # Errors
/// A cell is not a valid scenario or does not go with an arm, or no threads can be started.
pub fn measure(
    plan: &Plan,
    stop: &Stop,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Frontier, FrontierError> {
    let mut frontier = Frontier {
        format: FRONTIER_FORMAT,
        program_version: PROGRAM_VERSION.to_owned(),
        seed: plan.effort.seed,
        interrupted: false,
        cells: Default::default(),
        rows: Vec::new(),
        verdicts: Vec::new(),
    };
    for cell in &plan.cells {
        let title = plain(cell)?.scenario.title;
        frontier.cells.insert(cell.name.clone(), title);
    }
    let groups = groups(plan)?;
    let jobs = jobs(&groups, plan.effort.seeds);
    let total = jobs.len();
    progress(Progress::Runs { done: 0, total });
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(plan.effort.parallel.clamp(1, total.max(1)))
        .build()?;
    let (sender, attempts) = mpsc::channel();
    let mut board = Board {
        groups: &groups,
        seeds: plan.effort.seeds as usize,
        runs: vec![None; total],
        is_done: vec![false; total],
        reported: 0,
    };
    let mut first_error = None;
    // Runs start in the order of the jobs, on the pool; this thread alone collects them.
    pool.in_place_scope_fifo(|scope| {
        for (index, job) in jobs.iter().enumerate() {
            let (sender, group) = (sender.clone(), &groups[job.group]);
            let seed = plan.effort.seed.wrapping_add(u64::from(job.place));
            scope.spawn_fifo(move |_| {
                let attempt = attempt(group, job.setting, seed, plan, stop);
                // The receiver lives until all senders are gone.
                let _ = sender.send((index, seed, attempt));
            });
        }
        // The loop below ends once the last run has dropped its sender.
        drop(sender);
        for (before, (index, seed, attempt)) in attempts.into_iter().enumerate() {
            match attempt {
                Ok(Attempt::Finished(figures)) => board.put(index, Some(*figures)),
                Ok(Attempt::Refused(reason)) => {
                    let cell = &groups[jobs[index].group].cell.name;
                    progress(Progress::Refused {
                        cell,
                        seed,
                        reason: &reason,
                    });
                    board.put(index, None);
                }
                Ok(Attempt::Stopped) => {}
                Err(error) => {
                    first_error.get_or_insert(error);
                    stop.raise();
                }
            }
            let done = before + 1;
            progress(Progress::Runs { done, total });
            if board.report_groups(&mut frontier) {
                progress(Progress::Rows(&frontier));
            }
        }
    });
    if let Some(error) = first_error {
        return Err(error);
    }
    if board.reported < groups.len() {
        frontier.interrupted = true;
        board.report_rest(&mut frontier);
    }
    Ok(frontier)
}

/// The cell without load and arm.
fn plain(cell: &Cell) -> Result<Loaded, FrontierError> {
    Loaded::new(&cell.text, Vec::new(), &cell.folder).map_err(|error| refused(cell, &error))
}

fn refused(cell: &Cell, error: &DocumentError) -> FrontierError {
    FrontierError::Cell(error.one_line(&format!("cell {}", cell.name)))
}

fn groups(plan: &Plan) -> Result<Vec<Group<'_>>, FrontierError> {
    let mut groups = Vec::new();
    let mut first_run = 0;
    for cell in &plan.cells {
        let scenario = plain(cell)?.scenario;
        let settings = settings(plan, &scenario);
        // Settings are checked now, so that none is refused after an hour of runs.
        for setting in &settings {
            loaded(cell, setting, plan, plan.effort.seed).map_err(|error| refused(cell, &error))?;
        }
        let reference = settings
            .iter()
            .position(|setting| setting.arm == Arm::Airtime)
            .expect("the arm is always among the settings");
        for &load in &plan.loads {
            groups.push(Group {
                cell,
                load,
                settings: settings.clone(),
                reference,
                first_run,
            });
            first_run += settings.len() * plan.effort.seeds as usize;
        }
    }
    Ok(groups)
}

/// Every setting that is run in a cell.
fn settings(plan: &Plan, scenario: &Scenario) -> Vec<Setting> {
    let mut arms = plan.arms.clone();
    if !arms.contains(&Arm::Airtime) {
        arms.insert(0, Arm::Airtime);
    }
    let limits = scenario.channel.iter().map(|channel| channel.max_mpdus);
    let limit = limits.max().unwrap_or(64);
    let settings = arms
        .iter()
        .map(|arm| arm.settings(limit, plan.effort.coarse));
    settings.flatten().collect()
}

fn jobs(groups: &[Group<'_>], seeds: u32) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (group, Group { settings, .. }) in groups.iter().enumerate() {
        for setting in 0..settings.len() {
            for place in 0..seeds {
                jobs.push(Job {
                    group,
                    setting,
                    place,
                });
            }
        }
    }
    jobs
}

/// The cell with a setting, times and seed, but without a load.
fn loaded(cell: &Cell, setting: &Setting, plan: &Plan, seed: u64) -> Result<Loaded, DocumentError> {
    let overrides = vec![
        over("seed", seed),
        over("proxy", setting.proxies()),
        // Slots of proxies that do not say otherwise; the live proxy's default.
        over("slot", "100 ms"),
    ];
    let mut loaded = Loaded::new(&cell.text, overrides, &cell.folder)?;
    shorten(&mut loaded.scenario, &plan.effort);
    setting.replace_queues(&mut loaded.scenario);
    Ok(loaded)
}

/// Puts in the times of `effort`, and leaves out what would change after the end.
fn shorten(scenario: &mut Scenario, effort: &Effort) {
    scenario.warm_up = effort.warm_up.unwrap_or(scenario.warm_up);
    scenario.duration = effort.duration.unwrap_or(scenario.duration);
    let end = scenario.warm_up.0 + scenario.duration.0;
    scenario.change.retain(|change| change.at.0 < end);
}

fn over(key: &str, value: impl ToString) -> Override {
    Override {
        key: key.to_owned(),
        value: value.to_string(),
    }
}

/// The cell with a setting, a load and a seed.
pub(super) fn scenario(
    cell: &Cell,
    load: Load,
    setting: &Setting,
    plan: &Plan,
    seed: u64,
) -> Result<Loaded, DocumentError> {
    let mut loaded = loaded(cell, setting, plan, seed)?;
    let bare = loaded.resolve()?;
    load::add(load, &mut loaded.scenario, &bare);
    Ok(loaded)
}

fn attempt(
    group: &Group<'_>,
    setting: usize,
    seed: u64,
    plan: &Plan,
    stop: &Stop,
) -> Result<Attempt, FrontierError> {
    if stop.is_raised() {
        return Ok(Attempt::Stopped);
    }
    let cell = group.cell;
    let scenario = scenario(cell, group.load, &group.settings[setting], plan, seed);
    let (loaded, mut resolved) = match scenario.and_then(|loaded| Ok((loaded.resolve()?, loaded))) {
        Ok((resolved, loaded)) => (loaded, resolved),
        Err(error) => return Ok(Attempt::Refused(error.to_string())),
    };
    // Only the summary is used. Slots are needed by proxies alone.
    resolved.world.record = airpace_sim::world::Record::default();
    if resolved.world.proxies.is_empty() {
        resolved.world.slot = None;
    }
    let finished = airpace_scenario::run::run(&loaded, resolved, stop, &Silent);
    let finished = finished.map_err(|error| FrontierError::World {
        cell: cell.name.clone(),
        error,
    })?;
    Ok(match finished {
        Some(finished) if !finished.summary.interrupted => {
            let figures = RunFigures::new(&finished.resolved, &finished.summary);
            Attempt::Finished(Box::new(figures))
        }
        _ => Attempt::Stopped,
    })
}

/// The runs so far.
struct Board<'g, 'p> {
    groups: &'g [Group<'p>],
    seeds: usize,
    /// The figures of each job; `None` also if the job was refused.
    runs: Vec<Option<RunFigures>>,
    is_done: Vec<bool>,
    /// Groups whose rows are in the frontier.
    reported: usize,
}

impl Board<'_, '_> {
    fn put(&mut self, job: usize, figures: Option<RunFigures>) {
        self.runs[job] = figures;
        self.is_done[job] = true;
    }

    /// Adds the rows of groups that are complete, in order. Returns whether there were any.
    fn report_groups(&mut self, frontier: &mut Frontier) -> bool {
        let before = self.reported;
        while let Some(group) = self.groups.get(self.reported) {
            let runs = group.first_run..group.first_run + group.settings.len() * self.seeds;
            if !self.is_done[runs].iter().all(|&done| done) {
                break;
            }
            let rows = self.rows(group);
            frontier.verdicts.extend(judge(&rows));
            frontier.rows.extend(rows);
            self.reported += 1;
        }
        self.reported > before
    }

    /// Adds the rows of settings that are complete in groups that are not. Such groups are not
    /// judged: the rows that decide may be missing.
    fn report_rest(&self, frontier: &mut Frontier) {
        for group in &self.groups[self.reported..] {
            frontier.rows.extend(self.rows(group));
        }
    }

    /// The rows of the group's settings all of whose seeds are done; none without the reference.
    fn rows(&self, group: &Group<'_>) -> Vec<Row> {
        let runs_of = |setting: usize| {
            let first = group.first_run + setting * self.seeds;
            let range = first..first + self.seeds;
            let all_done = self.is_done[range.clone()].iter().all(|&done| done);
            all_done.then(|| &self.runs[range])
        };
        let Some(reference) = runs_of(group.reference) else {
            return Vec::new();
        };
        let mut rows: Vec<Row> = Vec::new();
        for (index, setting) in group.settings.iter().enumerate() {
            // No runs give no row.
            let runs = runs_of(index).unwrap_or_default();
            rows.extend(row(
                &group.cell.name,
                group.load,
                setting.arm,
                &setting.label,
                runs,
                reference,
            ));
        }
        rows
    }
}
