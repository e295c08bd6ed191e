//! Running a scenario to its end, or until it is stopped.

use super::resolve::Resolved;
use super::{Loaded, summary};
use crate::results::SimulationSummary;
use crate::stop::Stop;
use airpace_sim::world::{Outcome, World, WorldError};
use airpace_units::Time;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// Steps of a run between which progress is shown and a stop is heeded: so many, or more if they would be longer than
/// [`LONGEST_STEP`] of simulated time.
const STEPS: u32 = 1_000;
const LONGEST_STEP: Duration = Duration::from_millis(100);
/// Runs that take less show no progress.
const QUIET: Duration = Duration::from_secs(2);

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    /// What the network was.
    pub resolved: Resolved,
    /// What it came to.
    pub outcome: Outcome,
    /// The figures.
    pub summary: SimulationSummary,
}

/// Runs `loaded`. Raising `stop` ends it early: what was measured until then is told if the warm-up was over.
///
/// # Errors
/// If the simulator refuses the network.
pub fn run(
    loaded: &Loaded,
    resolved: Resolved,
    stop: &Stop,
    show: bool,
) -> Result<Option<Finished>, WorldError> {
    let begun = Instant::now();
    let mut world = World::new(resolved.world.clone())?;
    let interrupted = !advance(&mut world, stop, show);
    let wall = begun.elapsed();
    if interrupted && world.now() <= Time::ZERO.saturating_add(resolved.world.warm_up) {
        return Ok(None);
    }
    let outcome = world.outcome();
    let mut summary = summary::summary(loaded, &resolved, &outcome);
    summary.interrupted = interrupted;
    summary.wall_s = wall.as_secs_f64();
    summary.packets_per_wall_s = outcome.totals.delivered as f64 / wall.as_secs_f64().max(1e-9);
    Ok(Some(Finished {
        resolved,
        outcome,
        summary,
    }))
}

/// Runs the world to its end; tells whether it got there.
fn advance(world: &mut World, stop: &Stop, show: bool) -> bool {
    let end = world.end();
    let step = (end.since(Time::ZERO) / STEPS).clamp(Duration::from_nanos(1), LONGEST_STEP);
    let progress = Progress::new(show);
    while world.now() < end {
        if stop.is_raised() {
            return false;
        }
        world.run_until(world.now().saturating_add(step).min(end));
        progress.at(world.now(), end);
    }
    progress.finish();
    true
}

/// A bar on a terminal, once the run has lasted for a while.
struct Progress {
    bar: Option<ProgressBar>,
    begun: Instant,
}

impl Progress {
    fn new(show: bool) -> Self {
        let bar = (show && std::io::stderr().is_terminal()).then(|| {
            let bar =
                ProgressBar::with_draw_target(Some(u64::from(STEPS)), ProgressDrawTarget::hidden());
            let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}, {eta} left");
            bar.set_style(style.expect("the template is constant"));
            bar
        });
        Self {
            bar,
            begun: Instant::now(),
        }
    }

    fn at(&self, now: Time, end: Time) {
        let Some(bar) = &self.bar else { return };
        if bar.is_hidden() && self.begun.elapsed() > QUIET {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let seconds = |at: Time| at.since(Time::ZERO).as_secs_f64();
        bar.set_message(format!("{:.1} of {:.1} s", seconds(now), seconds(end)));
        bar.set_position((f64::from(STEPS) * seconds(now) / seconds(end)) as u64);
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
