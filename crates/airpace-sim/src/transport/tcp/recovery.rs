//! How far the window is reduced while losses are repaired, and what it takes to undo that.

use super::congestion::{State, Window};
use airpace_units::Time;

/// State of loss recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    pub(super) state: State,
    /// The state ends when everything below this is acknowledged.
    pub(super) high: u64,
    /// The window before the reduction.
    pub(super) prior_window: u32,
    /// Segments delivered and sent since it began (RFC 6937).
    delivered: u32,
    sent: u32,
    pub(super) undo: Option<Undo>,
    /// When the first segment was sent again.
    pub(super) first_resent: Option<Time>,
    /// Whether a timeout may yet turn out to be spurious (F-RTO, RFC 5682).
    pub(super) timeout_in_doubt: bool,
}

/// What a reduction can be undone to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// First byte not acknowledged when it began.
    pub(super) from: u64,
    /// The threshold before it.
    threshold: u32,
    /// Segments sent again of which no duplicate was reported; `None` before the first.
    unexplained: Option<u32>,
}

impl Recovery {
    /// Whether the window is on its way down.
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.state, State::Reduced | State::Recovery)
    }

    /// Begins a reduction up to `high`.
    pub(super) fn begin(&mut self, high: u64, window: &mut Window) {
        self.high = high;
        self.prior_window = window.segments;
        (self.delivered, self.sent) = (0, 0);
        window.clear_credit();
    }

    /// Allows the reduction to be undone: `resent` segments had been sent again before it.
    pub(super) fn allow_undo(&mut self, from: u64, window: &Window, resent: u32) {
        // Linux `tcp_current_ssthresh`: what the window had proved to be good for.
        let proved = window.segments / 2 + window.segments / 4;
        let threshold = if self.is_reducing() {
            window.threshold
        } else {
            window.threshold.max(proved)
        };
        self.undo = Some(Undo {
            from,
            threshold,
            unexplained: (resent > 0).then_some(resent),
        });
    }

    /// A segment is sent again.
    pub(super) fn on_resent(&mut self, now: Time) {
        self.first_resent.get_or_insert(now);
        if let Some(undo) = &mut self.undo {
            *undo.unexplained.get_or_insert(0) += 1;
        }
    }

    /// A segment is sent, for whatever reason.
    pub(super) fn on_sent(&mut self) {
        self.sent = self.sent.saturating_add(1);
    }

    /// The receiver reports a duplicate ending at `end`.
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

    /// Whether every segment sent again has been reported as a duplicate (RFC 3708).
    pub(super) fn all_were_duplicates(&self) -> bool {
        self.undo.is_some_and(|undo| undo.unexplained == Some(0))
    }

    /// Whether an echo tells that what arrived was sent before the first segment sent again (Eifel, RFC 3522).
    pub(super) fn original_arrived(&self, echo: Time) -> bool {
        self.undo.is_some() && self.first_resent.is_some_and(|at| echo < at)
    }

    /// Gives back threshold and window; `window_to` is the window that the algorithm wants.
    pub(super) fn take_back(&mut self, window: &mut Window, window_to: u32) {
        if let Some(undo) = self.undo.take() {
            window.segments = window_to;
            window.threshold = window.threshold.max(undo.threshold);
        }
    }

    /// The window after an acknowledgement: proportional rate reduction (RFC 6937 with its slow-start bound, as Linux `tcp_cwnd_reduction`).
    pub(super) fn reduce(&mut self, newly: Newly, in_flight: u32, window: &mut Window) {
        if newly.delivered == 0 || self.prior_window == 0 {
            return;
        }
        self.delivered = self.delivered.saturating_add(newly.delivered);
        let room = i64::from(window.threshold) - i64::from(in_flight);
        let send = if room < 0 {
            let share = u64::from(window.threshold) * u64::from(self.delivered)
                + u64::from(self.prior_window)
                - 1;
            (share / u64::from(self.prior_window)) as i64 - i64::from(self.sent)
        } else {
            let owed =
                (i64::from(self.delivered) - i64::from(self.sent)).max(i64::from(newly.delivered));
            (owed + i64::from(newly.advanced && newly.lost == 0)).min(room)
        };
        // A fast retransmission goes whatever the window.
        let send = send.max(i64::from(self.sent == 0));
        window.segments = in_flight.saturating_add(u32::try_from(send).unwrap_or(0));
    }
}

/// What an acknowledgement brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Newly {
    /// Segments delivered.
    pub(super) delivered: u32,
    /// Segments taken for lost.
    pub(super) lost: u32,
    /// Whether the cumulative acknowledgement advanced.
    pub(super) advanced: bool,
}
