//! The sender's timers: retransmission (RFC 6298), tail loss probe (RFC 8985, section 7), reordering (the same, section 6).

use super::{Phase, Sender};
use crate::transport::tcp::congestion::{CongestionControl, State};
use crate::transport::tcp::recovery::Newly;
use crate::transport::tcp::rtt::{INITIAL_TIMEOUT, MAX_TIMEOUT, MIN_TIMEOUT};
use crate::transport::tcp::segment::DataSegment;
use airpace_units::Time;
use core::time::Duration;

/// Added to two round-trip times before a probe (Linux `TCP_TIMEOUT_MIN_US`: two ticks of 1 ms).
const PROBE_SLACK: Duration = Duration::from_millis(2);
/// SYNs are sent again no less often than this.
const MOST_DOUBLINGS: u8 = 6;

/// What the timer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    Retransmission,
    Probe,
    Reordering,
}

/// A tail loss probe that is not yet answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// Everything below this was sent when it was.
    pub(super) end: u64,
    /// Whether it was a segment sent again.
    pub(super) resent: bool,
}

impl Sender {
    /// When to call [`Sender::on_timeout`] and then poll, if nothing arrives before. It may move both ways with every call, and is worked out when
    /// [`Sender::poll_transmit`] has nothing more.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        if let Phase::SynSent { at, n } = self.phase {
            return Some(at.saturating_add(syn_timeout(n)));
        }
        let timer = self.clock.timer;
        if self.paced {
            Some(timer.map_or(self.pacer.next(), |due| due.min(self.pacer.next())))
        } else {
            timer
        }
    }

    /// The time of [`Sender::deadline`] has come; nothing happens before it. Drain [`Sender::poll_transmit`] afterwards.
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
        if self.clock.timer.is_none_or(|due| due > now) {
            // Only the pacer's time has come, which polling sees to.
            return;
        }
        match self.timer() {
            Some((due, purpose)) if due <= now => match purpose {
                Purpose::Retransmission => self.on_retransmission_timeout(now),
                Purpose::Probe => self.clock.probe_due = true,
                Purpose::Reordering => self.on_reordering_timeout(now),
            },
            _ => {}
        }
    }

    /// Works out when the next timer expires.
    pub(super) fn arm(&mut self) {
        self.clock.timer = self.timer().map(|(due, _)| due);
    }

    /// The retransmission timeout as it is now, without back-off.
    pub(super) fn timeout(&self) -> Duration {
        self.rtt.timeout()
    }

    fn timer(&self) -> Option<(Time, Purpose)> {
        let front = self.board.front()?;
        let timeout = self
            .timeout()
            .saturating_mul(1 << self.clock.backoff.min(16))
            .min(MAX_TIMEOUT);
        let retransmission = self.clock.progress.max(front.sent).saturating_add(timeout);
        let reordering = self.clock.reorder_due.map(|due| (due, Purpose::Reordering));
        let probe = || {
            (
                self.clock.probe_from.saturating_add(self.probe_timeout()),
                Purpose::Probe,
            )
        };
        let sooner = reordering.or_else(|| self.may_probe().then(probe));
        sooner
            .filter(|&(due, _)| due <= retransmission)
            .or(Some((retransmission, Purpose::Retransmission)))
    }

    fn may_probe(&self) -> bool {
        matches!(self.recovery.state, State::Open | State::Reduced)
            && self.clock.probe.is_none()
            && self.clock.backoff == 0
    }

    fn probe_timeout(&self) -> Duration {
        let Some(smoothed) = self.rtt.smoothed() else {
            return INITIAL_TIMEOUT;
        };
        // The acknowledgement of a single segment may be delayed.
        2 * smoothed
            + if self.board.n_segments() == 1 {
                MIN_TIMEOUT
            } else {
                PROBE_SLACK
            }
    }

    /// The probe, if one is due: new data if there is any, else the last segment again.
    pub(super) fn probe(&mut self, now: Time) -> Option<DataSegment> {
        if !core::mem::take(&mut self.clock.probe_due) {
            return None;
        }
        let new = self.next_new();
        // With or without a segment to send, the next thing to wait for is the retransmission timer.
        self.clock.probe = Some(Probe {
            end: self.stream.next,
            resent: new.is_none(),
        });
        self.clock.progress = now;
        self.statistics.probes += 1;
        let segment = match new {
            Some(new) => self.send_new(now, new),
            None => self.resend(now, self.board.last_unanswered()?),
        };
        self.clock.probe = Some(Probe {
            end: self.stream.next,
            resent: new.is_none(),
        });
        Some(segment)
    }

    /// Everything is taken for lost but what was sent just now (RFC 8985, section 6.3; RFC 6298, section 5).
    fn on_retransmission_timeout(&mut self, now: Time) {
        self.statistics.timeouts += 1;
        let state = self.recovery.state;
        let again = state == State::Loss && self.clock.backoff > 0;
        let front = self.board.front().map_or(0, |front| front.offset);
        let allowance = self.rack.allowance(true, self.path());
        let n = self.board.mark_pending_lost(|segment| {
            segment.offset == front || segment.sent.saturating_add(allowance) <= now
        });
        self.delivery.lost += u64::from(n);
        let fresh = state <= State::Disorder || self.recovery.high <= self.stream.acknowledged;
        if fresh || (state == State::Loss && !again) {
            self.recovery.allow_undo(
                self.stream.acknowledged,
                &self.window,
                self.board.n_resent(),
            );
            self.recovery.prior_window = self.window.segments;
            self.window.threshold = self.congestion.on_congestion(now, &self.window);
        }
        self.recovery.timeout_in_doubt = fresh || again;
        self.window.segments = self.board.in_flight() + 1;
        self.window.clear_credit();
        self.set_state(State::Loss);
        self.recovery.high = self.stream.next;
        if fresh {
            self.recovery.first_resent = None;
        }
        self.clock.probe = None;
        self.clock.reorder_due = None;
        self.clock.backoff = self.clock.backoff.saturating_add(1);
        self.clock.progress = now;
    }

    fn on_reordering_timeout(&mut self, now: Time) {
        let lost = self.detect_losses(now);
        if lost > 0 && self.recovery.state != State::Recovery {
            self.enter_recovery(now, false);
            if !self.congestion.governs_window() {
                // The retransmission goes at once.
                let newly = Newly {
                    delivered: 1,
                    lost,
                    advanced: false,
                };
                self.recovery
                    .reduce(newly, self.board.in_flight(), &mut self.window);
            }
        }
    }
}

fn syn_timeout(n: u8) -> Duration {
    INITIAL_TIMEOUT * (1 << n.min(MOST_DOUBLINGS))
}
