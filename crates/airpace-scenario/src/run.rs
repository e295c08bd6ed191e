//! Running a scenario to its end, or until it is stopped.

use crate::progress::Progress;
use crate::resolve::Resolved;
use crate::results::SimulationSummary;
use crate::stop::Stop;
use crate::{Loaded, summary};
use airpace_sim::world::{Outcome, World, WorldError};
use airpace_units::Time;
use std::time::Duration;

/// Steps of a run, between which progress is told and a stop is noticed, unless they would be
/// longer than [`LONGEST_STEP`].
const STEPS: u32 = 1_000;
/// Longest simulated time between two steps, so that a stop is noticed soon in a long run as well.
const LONGEST_STEP: Duration = Duration::from_millis(100);

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    /// The network that was run.
    pub resolved: Resolved,
    /// What happened in it.
    pub outcome: Outcome,
    /// The figures. The time that the run took is zero until [`SimulationSummary::set_wall_time`].
    pub summary: SimulationSummary,
}

/// Runs `loaded`, which was resolved to `resolved`; `progress` is told the simulated time.
///
/// Raising `stop` ends the run early. Returns what was measured until then, or `None` if the
/// warm-up was not over yet.
///
/// # Errors
/// The simulator refuses the network.
pub fn run(
    loaded: &Loaded,
    resolved: Resolved,
    stop: &Stop,
    progress: &impl Progress<Duration>,
) -> Result<Option<Finished>, WorldError> {
    let mut world = World::new(resolved.world.clone())?;
    let interrupted = !advance(&mut world, stop, progress);
    if interrupted && world.now() <= Time::ZERO.saturating_add(resolved.world.warm_up) {
        return Ok(None);
    }
    let outcome = world.outcome();
    let mut summary = summary::summary(loaded, &resolved, &outcome);
    summary.interrupted = interrupted;
    Ok(Some(Finished {
        resolved,
        outcome,
        summary,
    }))
}

/// Runs the world to its end; returns whether it got there.
fn advance(world: &mut World, stop: &Stop, progress: &impl Progress<Duration>) -> bool {
    let total = world.end().since(Time::ZERO);
    let step = (total / STEPS).clamp(Duration::from_nanos(1), LONGEST_STEP);
    while world.now() < world.end() {
        if stop.is_raised() {
            return false;
        }
        world.run_until(world.now().saturating_add(step).min(world.end()));
        progress.update(world.now().since(Time::ZERO), total);
    }
    true
}
