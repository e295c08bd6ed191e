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
    let total = resolved.world.warm_up + resolved.world.duration;
    watched(loaded, resolved, stop, &mut |world| {
        progress.update(world.now().since(Time::ZERO), total);
    })
}

/// The same, with a `watch` that is shown the network many times a second of simulated time.
///
/// # Errors
/// The simulator refuses the network.
pub fn watched(
    loaded: &Loaded,
    resolved: Resolved,
    stop: &Stop,
    watch: &mut dyn FnMut(&World),
) -> Result<Option<Finished>, WorldError> {
    let mut world = World::new(resolved.world.clone())?;
    let interrupted = !advance(&mut world, stop, watch);
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

/// Time for which a run must be observed before it can be called short.
const SHORT_LOOK: Duration = Duration::from_millis(30);
/// A run that seems to take less than this is not observed further.
const SHORT_RUN: Duration = Duration::from_secs(20);

/// Estimates how long the run of `resolved` will take, from its beginning, which is simulated for at
/// most about `budget` and discarded. `clock` never goes back: it tells the time since any fixed
/// moment.
///
/// The beginning differs from the rest (TCP starts slowly, changes come later), so the estimate may
/// be wrong by a factor of two. `None` if the simulator refuses the network.
pub fn estimate(
    resolved: &Resolved,
    clock: &dyn Fn() -> Duration,
    budget: Duration,
) -> Option<Duration> {
    let begun = clock();
    let mut world = World::new(resolved.world.clone()).ok()?;
    let total = world.end().since(Time::ZERO);
    let step = step(total);
    while world.now() < world.end() {
        world.run_until(world.now().saturating_add(step).min(world.end()));
        let taken = clock().saturating_sub(begun);
        let done = world.now().since(Time::ZERO);
        let factor = total.as_secs_f64() / done.as_secs_f64().max(1e-9);
        let all = Duration::try_from_secs_f64(taken.as_secs_f64() * factor);
        let all = all.unwrap_or(Duration::MAX);
        if taken >= budget || (taken >= SHORT_LOOK && all < SHORT_RUN) {
            return Some(all);
        }
    }
    Some(clock().saturating_sub(begun))
}

/// Simulated time between two steps of a run.
fn step(total: Duration) -> Duration {
    (total / STEPS).clamp(Duration::from_nanos(1), LONGEST_STEP)
}

/// Runs the world to its end; returns whether it got there.
fn advance(world: &mut World, stop: &Stop, watch: &mut dyn FnMut(&World)) -> bool {
    let total = world.end().since(Time::ZERO);
    let step = step(total);
    while world.now() < world.end() {
        if stop.is_raised() {
            return false;
        }
        world.run_until(world.now().saturating_add(step).min(world.end()));
        watch(world);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn resolved(duration: &str) -> Resolved {
        let text = format!(
            "duration = \"{duration}\"\nwarm_up = \"0 s\"\n[[node]]\nkind = \"ap\"\n[[node]]\n\
             kind = \"station\"\n[[flow]]\nkind = \"udp-cbr\"\nrate = \"1 Mbit/s\"\n"
        );
        let loaded = Loaded::new(&text, Vec::new(), ".".as_ref()).unwrap();
        loaded.resolve().unwrap()
    }

    /// A clock on which each call takes 10 ms.
    fn estimate_with_slow_clock(duration: &str) -> (Duration, u32) {
        let calls = Cell::new(0);
        let clock = || {
            calls.set(calls.get() + 1);
            Duration::from_millis(10) * calls.get()
        };
        let budget = Duration::from_millis(200);
        let estimate = estimate(&resolved(duration), &clock, budget).unwrap();
        (estimate, calls.get())
    }

    #[test]
    fn a_long_run_is_estimated_from_its_beginning() {
        // Steps of 100 ms of simulated time, 10 ms each by that clock.
        let (estimate, calls) = estimate_with_slow_clock("10000 s");
        assert_eq!(estimate, Duration::from_secs(1_000));
        assert_eq!(calls, 21);
    }

    #[test]
    fn a_short_run_is_not_observed_for_long() {
        let (estimate, calls) = estimate_with_slow_clock("100 s");
        assert_eq!(estimate, Duration::from_secs(10));
        assert_eq!(calls, 4);
    }
}
