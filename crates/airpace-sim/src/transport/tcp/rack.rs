//! RACK, loss detection by time (RFC 8985, section 6): the only loss detection that Linux has had
//! since 6.17.

use super::scoreboard::{Scoreboard, Segment};
use airpace_units::Time;
use core::time::Duration;

/// Selectively acknowledged segments that indicate a loss if no reordering has been seen (DupThresh
/// of RFC 8985, section 6.2, step 4).
const DUP_THRESH: u32 = 3;
/// Recoveries after which an enlarged reordering window is reset (RFC 8985, section 6.2, step 4).
const PERSISTENCE: u8 = 16;

/// The most recently sent segment that was delivered, and how much reordering is expected.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// When the most recently sent segment that was delivered was sent (RACK.xmit_ts), its end
    /// (RACK.end_seq) and its round-trip time (RACK.rtt).
    sent: Time,
    end: u64,
    rtt: Duration,
    reordering_seen: bool,
    /// Size of the reordering window in quarters of the minimum round-trip time
    /// (RACK.reo_wnd_mult).
    steps: u32,
    /// Recoveries left until the window is reset (RACK.reo_wnd_persist).
    persistence: u8,
    /// Whether the receiver has reported a duplicate since the window was last enlarged.
    duplicate_seen: bool,
    /// Segments delivered when the window was last enlarged: it is enlarged at most once per round
    /// trip.
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

    /// A segment was delivered (RFC 8985, section 6.2, step 2).
    pub(super) fn on_delivered(&mut self, now: Time, segment: &Segment, min_rtt: Duration) {
        let rtt = now.saturating_since(segment.sent);
        if segment.ever_resent && rtt < min_rtt {
            // Too soon after the retransmission: an earlier transmission arrived.
            return;
        }
        self.rtt = rtt;
        if (segment.sent, segment.end()) > (self.sent, self.end) {
            (self.sent, self.end) = (segment.sent, segment.end());
        }
    }

    /// A segment that was sent once was delivered after later ones (step 3).
    pub(super) fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// The receiver reported a duplicate: a segment was declared lost too early (step 4).
    pub(super) fn on_duplicate(&mut self) {
        self.duplicate_seen = true;
    }

    /// Adapts the reordering window to reported duplicates, at most once per round trip (step 4).
    pub(super) fn adapt(&mut self, prior_delivered: u64, delivered: u64) {
        // The segments of this acknowledgement were sent before the last enlargement took effect.
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

    /// A recovery begins: one less for which an enlarged window is kept.
    pub(super) fn on_recovery(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
    }

    /// How long after its transmission a segment counts as lost: the round-trip time and the
    /// reordering window (step 4).
    ///
    /// `loss_indicated` says that a recovery is under way or that there are as many selective
    /// acknowledgements as the classic threshold requires: then the window is zero unless
    /// reordering has been seen.
    pub(super) fn allowance(&self, loss_indicated: bool, path: PathRtt) -> Duration {
        if loss_indicated && !self.reordering_seen {
            return self.rtt;
        }
        let window = (path.min_rtt / 4).saturating_mul(self.steps);
        self.rtt + window.min(path.smoothed_rtt)
    }

    /// Marks lost segments (step 5); `recovering` says whether losses are already known.
    pub(super) fn detect(
        &self,
        now: Time,
        board: &mut Scoreboard,
        recovering: bool,
        path: PathRtt,
    ) -> Detection {
        let allowance = self.allowance(recovering || board.n_sacked() >= DUP_THRESH, path);
        let mut detection = Detection::default();
        let mut candidate = board.oldest();
        while let Some(id) = candidate {
            let segment = board.get(id);
            // Only segments sent before the most recently sent one that was delivered can be lost
            // by this rule.
            if (segment.sent, segment.end()) >= (self.sent, self.end) {
                break;
            }
            // Marking takes the segment out of the list, so its successor is looked up first.
            candidate = board.newer(id);
            let due = segment.sent.saturating_add(allowance);
            if due <= now {
                board.mark_lost(id);
                detection.n_lost += 1;
            } else {
                // The timer waits for the last of them, as the reference implementation does
                // (RACK_detect_loss).
                detection.check_at = detection.check_at.max(Some(due));
            }
        }
        detection
    }
}

/// The result of [`Rack::detect`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Detection {
    /// Segments newly marked as lost.
    pub(super) n_lost: u32,
    /// When to detect again, because further segments may be lost by then.
    pub(super) check_at: Option<Time>,
}

/// Round-trip times of the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathRtt {
    pub(super) min_rtt: Duration,
    pub(super) smoothed_rtt: Duration,
}
