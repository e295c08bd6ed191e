//! The timers of a sender: retransmission (RFC 6298), tail loss probe (RFC 8985, section 7) and
//! reordering (RFC 8985, section 6).

use super::{Phase, Sender};
use crate::transport::tcp::congestion::{CongestionControl, CongestionState};
use crate::transport::tcp::recovery::AckCounts;
use crate::transport::tcp::rtt::{INITIAL_TIMEOUT, MAX_TIMEOUT, MIN_TIMEOUT};
use crate::transport::tcp::segment::DataSegment;
use airpace_units::Time;
use core::time::Duration;

/// Added to two round-trip times before a probe (Linux `TCP_TIMEOUT_MIN_US`: two ticks of 1 ms).
const PROBE_SLACK: Duration = Duration::from_millis(2);
/// Most doublings of the timeout of a SYN.
const MOST_DOUBLINGS: u8 = 6;

/// What a timer does when it expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    Retransmission,
    Probe,
    Reordering,
}

/// A tail loss probe that is not yet acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// SND.NXT when it was sent (TLP.end_seq).
    pub(super) end: u64,
    /// Whether it was a retransmission (TLP.is_retrans).
    pub(super) resent: bool,
}

impl Sender {
    /// When to call [`Sender::on_timeout`] and then poll, if nothing arrives before. It may move in
    /// either direction with every call and is updated when [`Sender::poll_transmit`] returns
    /// `None`.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        if let Phase::SynSent { at, n } = self.phase {
            return Some(at.saturating_add(syn_timeout(n)));
        }
        let timer = self.timers.next_due;
        if self.is_refused() {
            timer
        } else if self.held_by_pacer {
            Some(timer.map_or(self.pacer.next(), |due| due.min(self.pacer.next())))
        } else {
            timer
        }
    }

    /// Tells the sender that the time of [`Sender::deadline`] has come; an earlier call does
    /// nothing. Drain [`Sender::poll_transmit`] afterwards.
    pub fn on_timeout(&mut self, now: Time) {
        if let Phase::SynSent { at, n } = self.phase {
            if at.saturating_add(syn_timeout(n)) <= now {
                self.statistics.timeouts += 1;
                self.phase = Phase::Opening {
                    n: n.saturating_add(1),
                };
            }
            return;
        }
        if self.timers.next_due.is_none_or(|due| due > now) {
            // Only the time of the pacer has come, which `poll_transmit` checks itself.
            return;
        }
        self.timers.refused = None;
        match self.next_timer() {
            Some((due, purpose)) if due <= now => match purpose {
                Purpose::Retransmission => self.on_retransmission_timeout(now),
                Purpose::Probe => self.timers.probe_due = true,
                Purpose::Reordering => self.on_reordering_timeout(now),
            },
            _ => {}
        }
        // Polling sets the timer only once there is nothing to send. A caller that stops earlier, as
        // under TCP small queues, would otherwise be called again at the same instant for ever.
        self.arm();
    }

    /// Sets when the next timer expires.
    pub(super) fn arm(&mut self) {
        let timer = self.next_timer().map(|(due, _)| due);
        let retry = self.retry_due();
        self.timers.next_due = [timer, retry].into_iter().flatten().min();
    }

    /// The current retransmission timeout without back-off.
    pub(super) fn timeout(&self) -> Duration {
        self.rtt.timeout()
    }

    /// When the next timer of what is in flight expires and what for; `None` if nothing is.
    fn next_timer(&self) -> Option<(Time, Purpose)> {
        let front = self.board.front()?;
        let timeout = self
            .timeout()
            .saturating_mul(1 << self.timers.backoff.min(16))
            .min(MAX_TIMEOUT);
        let retransmission = self.timers.progress.max(front.sent).saturating_add(timeout);
        // There is one timer (RFC 8985, section 8): reordering takes precedence over the probe, and
        // either counts only if it is due before the retransmission timeout.
        let sooner = if let Some(due) = self.timers.reorder_due {
            Some((due, Purpose::Reordering))
        } else if self.may_probe() {
            let due = self.timers.probe_from.saturating_add(self.probe_timeout());
            Some((due, Purpose::Probe))
        } else {
            None
        };
        match sooner {
            Some((due, purpose)) if due <= retransmission => Some((due, purpose)),
            _ => Some((retransmission, Purpose::Retransmission)),
        }
    }

    /// Whether a tail loss probe may be scheduled (RFC 8985, section 7.2).
    fn may_probe(&self) -> bool {
        matches!(
            self.recovery.state,
            CongestionState::Open | CongestionState::Reduced
        ) && self.timers.probe.is_none()
            && !self.timers.probe_due
            && self.timers.backoff == 0
    }

    /// Time from the last transmission or progress to the probe (PTO of RFC 8985, section 7.2).
    fn probe_timeout(&self) -> Duration {
        let Some(smoothed) = self.rtt.smoothed() else {
            return INITIAL_TIMEOUT;
        };
        // The receiver may delay the acknowledgement of a single segment.
        2 * smoothed
            + if self.board.n_segments() == 1 {
                MIN_TIMEOUT
            } else {
                PROBE_SLACK
            }
    }

    /// Sends the probe if one is due: new data if there is any, else the last segment again (RFC
    /// 8985, section 7.3).
    pub(super) fn probe(&mut self, now: Time) -> Option<DataSegment> {
        if !core::mem::take(&mut self.timers.probe_due) {
            return None;
        }
        let new = self.next_new();
        // Whether or not there is a segment to send, no other probe is due before the
        // retransmission timer.
        self.timers.probe = Some(Probe {
            end: self.stream.next,
            resent: new.is_none(),
        });
        self.timers.progress = now;
        self.statistics.probes += 1;
        let segment = match new {
            Some(new) => self.send_new(now, new),
            None => self.resend(now, self.board.last_unanswered()?),
        };
        // A probe of new data has advanced SND.NXT.
        self.timers.probe = Some(Probe {
            end: self.stream.next,
            resent: new.is_none(),
        });
        Some(segment)
    }

    /// Declares everything lost except what was sent just now (RFC 8985, section 6.3; RFC 6298,
    /// section 5).
    fn on_retransmission_timeout(&mut self, now: Time) {
        self.statistics.timeouts += 1;
        let state = self.recovery.state;
        let again = state == CongestionState::Loss && self.timers.backoff > 0;
        let front = self.board.front().map_or(0, |front| front.offset);
        let allowance = self.rack.allowance(true, self.path_rtt());
        let n_lost = self.board.mark_pending_lost(|segment| {
            segment.offset == front || segment.sent.saturating_add(allowance) <= now
        });
        self.delivery.lost += u64::from(n_lost);
        // Linux `tcp_enter_loss`: a timeout within a recovery reduces the window only once for the
        // same losses.
        let fresh =
            state <= CongestionState::Disorder || self.recovery.high <= self.stream.acknowledged;
        if fresh || (state == CongestionState::Loss && !again) {
            self.recovery.allow_undo(
                self.stream.acknowledged,
                &self.window,
                self.board.n_resent(),
            );
            self.recovery.prior_window = self.window.segments;
            self.window.threshold = self.congestion.on_congestion(now, &self.window);
        }
        // F-RTO is possible unless a recovery had sent retransmissions before (RFC 5682, section
        // 3.1).
        self.recovery.timeout_in_doubt = fresh || again;
        // The loss window of one segment (RFC 5681, section 3.1), beside what is still in flight.
        self.window.segments = self.board.in_flight() + 1;
        self.window.clear_credit();
        self.set_state(CongestionState::Loss);
        self.recovery.high = self.stream.next;
        if fresh {
            self.recovery.first_resent = None;
        }
        self.timers.probe = None;
        self.timers.reorder_due = None;
        // RFC 6298, section 5.5: back off.
        self.timers.backoff = self.timers.backoff.saturating_add(1);
        self.timers.progress = now;
    }

    fn on_reordering_timeout(&mut self, now: Time) {
        let lost = self.detect_losses(now);
        if lost > 0 && self.recovery.state != CongestionState::Recovery {
            self.enter_recovery(now, false);
            if !self.congestion.governs_window() {
                // The retransmission is sent at once, although no acknowledgement has made room for
                // it.
                let counts = AckCounts {
                    delivered: 1,
                    lost,
                    advanced: false,
                };
                self.recovery
                    .reduce(counts, self.board.in_flight(), &mut self.window);
            }
        }
    }
}

/// Timeout of a SYN that was sent `n` times before (RFC 6298, section 5).
fn syn_timeout(n: u8) -> Duration {
    INITIAL_TIMEOUT * (1 << n.min(MOST_DOUBLINGS))
}
