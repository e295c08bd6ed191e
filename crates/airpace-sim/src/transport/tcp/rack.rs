//! Loss detection by time: RACK (RFC 8985, section 6), the only one that Linux has had since 6.17.

use super::scoreboard::{Scoreboard, Segment};
use airpace_units::Time;
use core::time::Duration;

/// Duplicates that tell of a loss if no reordering was ever seen (RFC 8985, section 3.3).
const DUPLICATES: u32 = 3;
/// Recoveries for which a longer reordering window is kept (RFC 8985, section 6.2, step 4).
const PERSISTENCE: u8 = 16;

/// What was delivered most recently, by time of sending, and how much reordering is expected.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    sent: Time,
    end: u64,
    rtt: Duration,
    reordering_seen: bool,
    /// Quarters of the smallest round-trip time in the reordering window.
    steps: u32,
    persistence: u8,
    duplicate_seen: bool,
    /// The step is taken once each round trip.
    stepped_at: u64,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self {
            sent: Time::ZERO,
            end: 0,
            rtt: Duration::ZERO,
            reordering_seen: false,
            steps: 1,
            persistence: 0,
            duplicate_seen: false,
            stepped_at: 0,
        }
    }

    /// A segment is delivered (step 2).
    pub(super) fn on_delivered(&mut self, now: Time, segment: &Segment, min_rtt: Duration) {
        let rtt = now.saturating_since(segment.sent);
        if segment.ever_resent && rtt < min_rtt {
            // What arrived was an earlier transmission.
            return;
        }
        self.rtt = rtt;
        if (segment.sent, segment.end()) > (self.sent, self.end) {
            (self.sent, self.end) = (segment.sent, segment.end());
        }
    }

    /// A segment sent once has been delivered after later ones (step 3).
    pub(super) fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// The receiver reports a duplicate: something was taken for lost too early (step 4).
    pub(super) fn on_duplicate(&mut self) {
        self.duplicate_seen = true;
    }

    /// Adapts the reordering window once the round trip in which it was last adapted is over (step 4).
    pub(super) fn adapt(&mut self, prior_delivered: u64, delivered: u64) {
        if prior_delivered < self.stepped_at {
            self.duplicate_seen = false;
        }
        if core::mem::take(&mut self.duplicate_seen) {
            self.steps = (self.steps + 1).min(255);
            self.persistence = PERSISTENCE;
            self.stepped_at = delivered;
        } else if self.persistence == 0 {
            self.steps = 1;
        }
    }

    /// A recovery begins.
    pub(super) fn on_recovery(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
    }

    /// How long after it was sent a segment counts as lost (step 4); `certain` tells whether a loss is as good as known.
    pub(super) fn allowance(&self, certain: bool, path: Path) -> Duration {
        if certain && !self.reordering_seen {
            return self.rtt;
        }
        self.rtt
            + (path.min_rtt / 4)
                .saturating_mul(self.steps)
                .min(path.smoothed_rtt)
    }

    /// Marks what is lost (step 5) and returns how many, and when to look again if others may be; `recovering` tells whether losses are known already.
    pub(super) fn detect(
        &self,
        now: Time,
        board: &mut Scoreboard,
        recovering: bool,
        path: Path,
    ) -> (u32, Option<Time>) {
        let allowed = self.allowance(recovering || board.n_sacked() >= DUPLICATES, path);
        let (mut n, mut again) = (0, None);
        let mut at = board.oldest();
        while let Some(id) = at {
            let segment = board.get(id);
            if (segment.sent, segment.end()) >= (self.sent, self.end) {
                break;
            }
            at = board.newer(id);
            let due = segment.sent.saturating_add(allowed);
            if due <= now {
                board.mark_lost(id);
                n += 1;
            } else {
                again = again.max(Some(due));
            }
        }
        (n, again)
    }
}

/// Round-trip times of the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub(super) min_rtt: Duration,
    pub(super) smoothed_rtt: Duration,
}
