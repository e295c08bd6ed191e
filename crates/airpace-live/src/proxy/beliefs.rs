//! What the law believes about the medium, and which changes of that an operator should hear of.

use airpace_core::control::Diagnostics;
use airpace_units::Time;
use core::time::Duration;

/// Least time between two warnings of a kind: beliefs at the edge change back and forth.
const QUIET: Duration = Duration::from_secs(10);

/// The beliefs of the last decision, and when they were last warned of.
#[derive(Debug, Default)]
pub(super) struct Beliefs {
    diagnostics: Diagnostics,
    delay_told: Option<Time>,
    capped_told: Option<Time>,
}

impl Beliefs {
    pub(super) const fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Takes the beliefs of a decision and warns of what has become true with it.
    pub(super) fn update(&mut self, now: Time, diagnostics: Diagnostics, target: Option<Duration>) {
        if let Some(warning) = self.infeasible(now, &diagnostics, target) {
            tracing::warn!("{warning}");
        }
        if let Some(warning) = self.capped(now, &diagnostics) {
            tracing::warn!("{warning}");
        }
        self.diagnostics = diagnostics;
    }

    fn infeasible(
        &mut self,
        now: Time,
        new: &Diagnostics,
        target: Option<Duration>,
    ) -> Option<String> {
        let (least_s, target) = new.smallest_delay_s.zip(target)?;
        let is_new = self.diagnostics.smallest_delay_s.is_none();
        (is_new && may_tell(now, &mut self.delay_told)).then(|| {
            format!(
                "the delay target of {:.1} ms is below {:.1} ms, the least that is feasible for these stations: running at that",
                target.as_secs_f64() * 1e3,
                least_s * 1e3
            )
        })
    }

    fn capped(&mut self, now: Time, new: &Diagnostics) -> Option<String> {
        let is_new = new.capped_elsewhere > self.diagnostics.capped_elsewhere;
        (is_new && may_tell(now, &mut self.capped_told)).then(|| {
            format!(
                "stations whose bottleneck appears to lie elsewhere than at the access point: {} (they are sent what arrives)",
                new.capped_elsewhere
            )
        })
    }
}

fn may_tell(now: Time, told: &mut Option<Time>) -> bool {
    let may = told.is_none_or(|at| now.saturating_since(at) >= QUIET);
    if may {
        *told = Some(now);
    }
    may
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infeasible_target_is_told_when_it_becomes_so_and_not_in_every_slot() {
        let mut beliefs = Beliefs::default();
        let target = Some(Duration::from_millis(5));
        let bad = Diagnostics {
            smallest_delay_s: Some(0.0073),
            ..Diagnostics::default()
        };
        let mut told = Vec::new();
        for slot in 0..300 {
            let now = Time::from_millis(100 * slot);
            // Feasible for a moment every second.
            let new = if slot % 10 == 9 {
                Diagnostics::default()
            } else {
                bad
            };
            told.extend(beliefs.infeasible(now, &new, target));
            beliefs.update(now, new, None);
        }
        assert_eq!(told.len(), 3, "{told:?}");
        let expected = "the delay target of 5.0 ms is below 7.3 ms, the least that is feasible for these stations: running at that";
        assert_eq!(told[0], expected);
    }

    #[test]
    fn a_station_capped_elsewhere_is_told_once() {
        let mut beliefs = Beliefs::default();
        let capped = Diagnostics {
            capped_elsewhere: 1,
            ..Diagnostics::default()
        };
        assert!(
            beliefs
                .capped(Time::ZERO, &capped)
                .is_some_and(|text| text.contains(": 1 "))
        );
        beliefs.update(Time::ZERO, capped, None);
        assert_eq!(beliefs.capped(Time::from_millis(60_000), &capped), None);
    }
}
