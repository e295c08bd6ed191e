//! Loss recovery: how far the window is reduced while losses are repaired, and what it takes to
//! undo the reduction.

use super::congestion::{CongestionState, Window};
use airpace_units::Time;

/// State of loss recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    pub(super) state: CongestionState,
    /// The recovery ends when everything below this offset is acknowledged (RecoveryPoint of RFC
    /// 6675; Linux `high_seq`).
    pub(super) high: u64,
    /// The window before the reduction, segments.
    pub(super) prior_window: u32,
    /// Segments delivered and sent since the reduction began (prr_delivered and prr_out of RFC
    /// 6937, section 3).
    delivered: u32,
    sent: u32,
    /// What the reduction can be undone to, if it can.
    pub(super) undo: Option<Undo>,
    /// When the first retransmission of the recovery was sent.
    pub(super) first_resent: Option<Time>,
    /// Whether the last timeout may still turn out to be spurious (F-RTO, RFC 5682).
    pub(super) timeout_in_doubt: bool,
}

/// What a reduction can be undone to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// First byte that was not acknowledged when the reduction began.
    pub(super) from: u64,
    /// The slow-start threshold before the reduction.
    threshold: u32,
    /// Retransmissions for which no duplicate was reported; `None` before the first retransmission.
    unexplained: Option<u32>,
}

impl Recovery {
    /// Whether the window is being reduced.
    pub(super) fn is_reducing(&self) -> bool {
        matches!(
            self.state,
            CongestionState::Reduced | CongestionState::Recovery
        )
    }

    /// Begins a reduction that ends when everything below `high` is acknowledged.
    pub(super) fn begin(&mut self, high: u64, window: &mut Window) {
        self.high = high;
        self.prior_window = window.segments;
        (self.delivered, self.sent) = (0, 0);
        window.clear_credit();
    }

    /// Records what the reduction can be undone to; `resent` segments of those in flight are
    /// retransmissions from before it.
    pub(super) fn allow_undo(&mut self, from: u64, window: &Window, resent: u32) {
        // Linux `tcp_current_ssthresh`: three quarters of the window count as what the path has
        // sustained.
        let sustained = window.segments / 2 + window.segments / 4;
        let threshold = if self.is_reducing() {
            window.threshold
        } else {
            window.threshold.max(sustained)
        };
        self.undo = Some(Undo {
            from,
            threshold,
            unexplained: (resent > 0).then_some(resent),
        });
    }

    /// A segment was retransmitted.
    pub(super) fn on_resent(&mut self, now: Time) {
        self.first_resent.get_or_insert(now);
        if let Some(undo) = &mut self.undo {
            *undo.unexplained.get_or_insert(0) += 1;
        }
    }

    /// A segment was sent, new or again.
    pub(super) fn on_sent(&mut self) {
        self.sent = self.sent.saturating_add(1);
    }

    /// A segment that counted as sent was refused.
    pub(super) fn on_refused(&mut self) {
        self.sent = self.sent.saturating_sub(1);
    }

    /// The receiver reported a duplicate that ends at `end` (RFC 2883).
    pub(super) fn on_duplicate(&mut self, end: u64) {
        if let Some(Undo {
            from,
            unexplained: Some(n),
            ..
        }) = &mut self.undo
            && end > *from
        {
            *n = n.saturating_sub(1);
        }
    }

    /// Whether every retransmission has been reported as a duplicate, so that nothing had been lost
    /// (RFC 3708).
    pub(super) fn all_were_duplicates(&self) -> bool {
        self.undo.is_some_and(|undo| undo.unexplained == Some(0))
    }

    /// Whether the echoed timestamp shows that the original arrived and not the retransmission
    /// (Eifel, RFC 3522).
    pub(super) fn original_arrived(&self, echo: Time) -> bool {
        self.undo.is_some() && self.first_resent.is_some_and(|at| echo < at)
    }

    /// Restores threshold and window; `segments` is the window that the algorithm asks for.
    pub(super) fn restore_window(&mut self, window: &mut Window, segments: u32) {
        if let Some(undo) = self.undo.take() {
            window.segments = segments;
            window.threshold = window.threshold.max(undo.threshold);
        }
    }

    /// Sets the window after an acknowledgement: proportional rate reduction with the slow-start
    /// bound (PRR-SSRB, RFC 6937, section 3; Linux `tcp_cwnd_reduction`).
    pub(super) fn reduce(&mut self, counts: AckCounts, in_flight: u32, window: &mut Window) {
        if counts.delivered == 0 || self.prior_window == 0 {
            return;
        }
        self.delivered = self.delivered.saturating_add(counts.delivered);
        let room = i64::from(window.threshold) - i64::from(in_flight);
        let send = if room < 0 {
            // More in flight than the threshold: send in proportion to what was delivered, rounded
            // up.
            let share = u64::from(window.threshold) * u64::from(self.delivered)
                + u64::from(self.prior_window)
                - 1;
            (share / u64::from(self.prior_window)) as i64 - i64::from(self.sent)
        } else {
            // Below the threshold: grow back towards it, by one more than was delivered while
            // nothing else is lost.
            let owed =
                (i64::from(self.delivered) - i64::from(self.sent)).max(i64::from(counts.delivered));
            (owed + i64::from(counts.advanced && counts.lost == 0)).min(room)
        };
        // The first retransmission (fast retransmit) is sent whatever the window.
        let send = send.max(i64::from(self.sent == 0));
        window.segments = in_flight.saturating_add(u32::try_from(send).unwrap_or(0));
    }
}

/// What an acknowledgement reports that proportional rate reduction needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckCounts {
    /// Segments newly delivered.
    pub(super) delivered: u32,
    /// Segments newly declared lost.
    pub(super) lost: u32,
    /// Whether the cumulative acknowledgement advanced.
    pub(super) advanced: bool,
}
