//! The law's estimates of the medium, and which of their changes cause a warning.

use super::Event;
use airpace_core::control::Diagnostics;
use airpace_units::Time;
use core::time::Duration;

/// Least time between two warnings of a kind: estimates near a threshold flap.
const QUIET: Duration = Duration::from_secs(10);

/// The estimates of the last decision, and when they last caused a warning.
#[derive(Debug, Default)]
pub(super) struct MediumEstimates {
    diagnostics: Diagnostics,
    target_told: Option<Time>,
    latency_told: Option<Time>,
    elsewhere_told: Option<Time>,
}

impl MediumEstimates {
    pub(super) const fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Takes the estimates of a decision and returns the warnings that it causes.
    pub(super) fn update(
        &mut self,
        now: Time,
        diagnostics: Diagnostics,
        delay_target: Option<Duration>,
    ) -> [Option<Event>; 3] {
        let events = [
            self.target_missed(now, &diagnostics, delay_target),
            self.latency_missed(now, &diagnostics),
            self.bottleneck_elsewhere(now, &diagnostics),
        ];
        self.diagnostics = diagnostics;
        events
    }

    fn target_missed(
        &mut self,
        now: Time,
        new: &Diagnostics,
        delay_target: Option<Duration>,
    ) -> Option<Event> {
        let least_s = new.smallest_delay_s?;
        let target = delay_target?;
        let is_new = self.diagnostics.smallest_delay_s.is_none();
        (is_new && may_tell(now, &mut self.target_told))
            .then_some(Event::DelayTargetInfeasible { target, least_s })
    }

    fn latency_missed(&mut self, now: Time, new: &Diagnostics) -> Option<Event> {
        let least_s = new.least_latency_s?;
        let is_new = self.diagnostics.least_latency_s.is_none();
        (is_new && may_tell(now, &mut self.latency_told))
            .then_some(Event::LatencyInfeasible { least_s })
    }

    fn bottleneck_elsewhere(&mut self, now: Time, new: &Diagnostics) -> Option<Event> {
        let stations = new.capped_elsewhere;
        let is_new = stations > self.diagnostics.capped_elsewhere;
        (is_new && may_tell(now, &mut self.elsewhere_told))
            .then_some(Event::BottleneckElsewhere { stations })
    }
}

fn may_tell(now: Time, told: &mut Option<Time>) -> bool {
    let quiet_is_over = told.is_none_or(|at| now.saturating_since(at) >= QUIET);
    if quiet_is_over {
        *told = Some(now);
    }
    quiet_is_over
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infeasible_target_is_told_when_it_becomes_so_and_not_in_every_slot() {
        let mut estimates = MediumEstimates::default();
        let target = Some(Duration::from_millis(5));
        let bad = Diagnostics {
            smallest_delay_s: Some(0.0073),
            ..Diagnostics::default()
        };
        let mut told = Vec::new();
        for slot in 0..300 {
            let now = Time::from_millis(100 * slot);
            // Feasible for a moment every second.
            let feasible = slot % 10 == 9;
            let new = if feasible {
                Diagnostics::default()
            } else {
                bad
            };
            told.extend(estimates.update(now, new, target).into_iter().flatten());
        }
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(
            told[0].to_string(),
            "the delay target of 5.0 ms is below 7.3 ms, the least that is feasible for these stations: \
             running at that"
        );
    }

    #[test]
    fn a_station_capped_elsewhere_is_told_once() {
        let mut estimates = MediumEstimates::default();
        let capped = Diagnostics {
            capped_elsewhere: 1,
            ..Diagnostics::default()
        };
        let first = estimates.update(Time::ZERO, capped, None);
        assert_eq!(first[2], Some(Event::BottleneckElsewhere { stations: 1 }));
        let again = estimates.update(Time::from_millis(60_000), capped, None);
        assert_eq!(again, [const { None }; 3]);
    }

    #[test]
    fn a_latency_that_cannot_be_met_is_told_with_the_least_that_can() {
        let mut estimates = MediumEstimates::default();
        let missed = Diagnostics {
            least_latency_s: Some(0.0123),
            ..Diagnostics::default()
        };
        let [_, told, _] = estimates.update(Time::ZERO, missed, None);
        let told = told.expect("it is news");
        assert!(told.to_string().contains("within 12.3 ms"), "{told}");
        assert_eq!(
            estimates.update(Time::from_millis(100), missed, None),
            [const { None }; 3]
        );
    }
}
