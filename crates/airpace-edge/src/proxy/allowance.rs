//! How many reports of a station count.

use airpace_units::Time;
use core::time::Duration;

/// Reports that may come at once: those that were held up on their way arrive together.
const MOST: u32 = 6;

/// Allows one report per half slot, and some at once after a time with fewer. An agent that cuts its
/// slots because it has news sends two per slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// When the next report is due if all that are allowed at once are used.
    used_until: Time,
}

impl Allowance {
    pub(super) const NEW: Self = Self {
        used_until: Time::ZERO,
    };

    /// Returns whether a report that comes now counts.
    pub(super) fn takes(&mut self, now: Time, slot: Duration) -> bool {
        let interval = slot / 2;
        let used_until = self.used_until.max(now);
        let is_allowed = used_until.saturating_since(now) <= interval * (MOST - 1);
        if is_allowed {
            self.used_until = used_until.saturating_add(interval);
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Duration = Duration::from_millis(100);

    fn taken(times_ms: impl Iterator<Item = u64>) -> usize {
        let mut allowance = Allowance::NEW;
        times_ms
            .filter(|&ms| allowance.takes(Time::from_millis(ms), SLOT))
            .count()
    }

    #[test]
    fn two_reports_per_slot_all_count() {
        assert_eq!(
            taken((0..2000).flat_map(|slot| [100 * slot, 100 * slot + 20])),
            4000
        );
    }

    #[test]
    fn reports_that_were_held_up_count_together() {
        assert_eq!(taken([1000; 5].into_iter()), 5);
    }

    #[test]
    fn a_storm_counts_as_one_report_per_half_slot() {
        let counted = taken(0..10_000);
        assert!((200..=206).contains(&counted), "{counted}");
    }
}
