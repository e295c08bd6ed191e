//! Counts of which an operator is told now and then.

use airpace_units::Time;
use core::time::Duration;

/// How often an increase is told.
const INTERVAL: Duration = Duration::from_secs(60);

/// What was told last of a count, and when it may be told again.
#[derive(Debug, Default)]
pub(super) struct ToldCount {
    told: u64,
    next: Time,
}

impl ToldCount {
    /// By how much the count has grown since it was told last, if that is to be told now: once a minute at most.
    pub(super) fn increase(&mut self, now: Time, count: u64) -> Option<u64> {
        let more = count.saturating_sub(self.told);
        if more == 0 || now < self.next {
            return None;
        }
        self.told = count;
        self.next = now.saturating_add(INTERVAL);
        Some(more)
    }
}
