//! Entering and leaving recovery (Linux `tcp_fastretrans_alert`).

use super::Sender;
use super::ack::AckSummary;
use crate::transport::tcp::congestion::{CongestionControl, CongestionState};
use crate::transport::tcp::rack::PathRtt;
use airpace_units::Time;

impl Sender {
    /// Detects losses after an acknowledgement and moves between the states of [`CongestionState`].
    pub(super) fn update_recovery(&mut self, now: Time, summary: &mut AckSummary) {
        let state = self.recovery.state;
        // The common case: an acknowledgement without any sign of loss or congestion.
        if state == CongestionState::Open
            && !summary.sacked
            && !summary.duplicate
            && !summary.marked
            && self.timers.reorder_due.is_none()
        {
            return;
        }
        if state != CongestionState::Open && self.stream.acknowledged >= self.recovery.high {
            self.leave_state(summary);
        }
        match self.recovery.state {
            CongestionState::Recovery => self.continue_recovery(now, summary),
            CongestionState::Loss => self.continue_after_timeout(now, summary),
            CongestionState::Open | CongestionState::Disorder | CongestionState::Reduced => {
                if self.recovery.state != CongestionState::Reduced
                    && self.recovery.all_were_duplicates()
                {
                    self.undo_reduction(false);
                }
                self.look_for_losses(now, summary);
            }
        }
    }

    /// Leaves the state, as everything below `Recovery::high` is acknowledged.
    fn leave_state(&mut self, summary: &AckSummary) {
        match self.recovery.state {
            // One byte beyond, so that the reduction lasts a whole round trip.
            CongestionState::Reduced if self.stream.acknowledged > self.recovery.high => {
                self.end_reduction();
                self.set_state(CongestionState::Open);
            }
            CongestionState::Recovery => {
                if self.may_undo(summary) {
                    self.undo_reduction(false);
                } else {
                    self.end_reduction();
                }
                self.recovery.undo = None;
                self.set_state(CongestionState::Open);
            }
            _ => {}
        }
        if self.board.n_resent() == 0 {
            self.recovery.first_resent = None;
        }
    }

    fn continue_recovery(&mut self, now: Time, summary: &AckSummary) {
        // The original of a segment declared lost has arrived: it was only delayed (Linux
        // `tcp_try_undo_partial`).
        if summary.advanced && self.recovery.original_arrived(summary.echo) {
            if self.board.n_resent() > 0 {
                // Retransmissions are still in flight: wait until it is known whether they were
                // needed.
                return;
            }
            self.undo_reduction(true);
            return self.return_to_open_or_disorder();
        }
        // Every retransmission was a duplicate (Linux `tcp_try_undo_dsack`).
        if self.recovery.all_were_duplicates() {
            self.undo_reduction(false);
            self.return_to_open_or_disorder();
            if summary.marked {
                self.reduce_for_mark(now);
            }
        }
        self.look_for_losses(now, summary);
    }

    fn continue_after_timeout(&mut self, now: Time, summary: &AckSummary) {
        // Eifel and D-SACK, or F-RTO (RFC 5682, section 3.1): the originals are still arriving.
        let spurious = summary.advanced && self.may_undo(summary);
        let original = self.recovery.timeout_in_doubt && summary.original;
        if spurious || original {
            self.undo_reduction(true);
            self.set_state(CongestionState::Open);
            return self.look_for_losses(now, summary);
        }
        // What arrived was not an original, so the timeout was genuine.
        if summary.sacked || self.stream.acknowledged >= self.recovery.high {
            self.recovery.timeout_in_doubt = false;
        }
        if self.stream.acknowledged >= self.recovery.high {
            self.recovery.undo = None;
            self.set_state(CongestionState::Open);
            return self.look_for_losses(now, summary);
        }
        // Retransmissions may be lost again. That does not reduce the window once more: it grows
        // from one segment anyway.
        self.detect_losses(now);
    }

    /// Runs loss detection outside recovery and reacts to losses and marks.
    fn look_for_losses(&mut self, now: Time, summary: &AckSummary) {
        self.detect_losses(now);
        if self.recovery.state == CongestionState::Recovery {
            return;
        }
        if self.board.n_lost() > 0 {
            return self.enter_recovery(now, summary.marked);
        }
        if summary.marked {
            self.reduce_for_mark(now);
        }
        if self.recovery.state != CongestionState::Reduced {
            self.return_to_open_or_disorder();
        }
    }

    /// Runs RACK and returns the number of segments that it declares lost.
    pub(super) fn detect_losses(&mut self, now: Time) -> u32 {
        let recovering = self.recovery.state >= CongestionState::Recovery;
        let path = self.path_rtt();
        let detection = self.rack.detect(now, &mut self.board, recovering, path);
        self.timers.reorder_due = detection.check_at;
        self.delivery.lost += u64::from(detection.n_lost);
        detection.n_lost
    }

    /// The round-trip times that RACK needs.
    pub(super) fn path_rtt(&self) -> PathRtt {
        PathRtt {
            min_rtt: self.rtt.min(),
            smoothed_rtt: self.rtt.smoothed().unwrap_or_default(),
        }
    }

    /// Begins to repair losses; `marked` says that the acknowledgement also echoed a congestion
    /// mark.
    pub(super) fn enter_recovery(&mut self, now: Time, marked: bool) {
        self.statistics.recoveries += 1;
        self.rack.on_recovery();
        let resent = self.board.n_resent();
        if marked {
            // The reduction answers the mark as well, so it stands even if nothing was lost.
            self.recovery.undo = None;
        } else {
            self.recovery
                .allow_undo(self.stream.acknowledged, &self.window, resent);
        }
        self.recovery.first_resent = None;
        // A loss during a reduction does not reduce the window twice.
        if !self.recovery.is_reducing() {
            self.begin_reduction(now);
        } else {
            self.recovery.high = self.stream.next;
        }
        self.set_state(CongestionState::Recovery);
    }

    /// Reduces the window for a congestion mark as for a loss, at most once per round trip (RFC
    /// 3168, section 6.1.2).
    fn reduce_for_mark(&mut self, now: Time) {
        if self.recovery.state >= CongestionState::Reduced {
            return;
        }
        self.statistics.reductions += 1;
        self.recovery.undo = None;
        self.announce_reduction = true;
        self.begin_reduction(now);
        self.set_state(CongestionState::Reduced);
    }

    pub(super) fn begin_reduction(&mut self, now: Time) {
        self.timers.probe = None;
        self.recovery.begin(self.stream.next, &mut self.window);
        self.window.threshold = self.congestion.on_congestion(now, &self.window);
    }

    fn end_reduction(&mut self) {
        if !self.congestion.governs_window() {
            self.window.segments = self.window.threshold;
        }
    }

    fn may_undo(&self, summary: &AckSummary) -> bool {
        self.recovery.all_were_duplicates() || self.recovery.original_arrived(summary.echo)
    }

    /// Undoes a reduction, because nothing was lost. With `revoke_losses`, segments declared lost
    /// are no longer so.
    fn undo_reduction(&mut self, revoke_losses: bool) {
        if revoke_losses {
            self.board.unmark_losses();
        }
        self.statistics.undone += 1;
        let window_to = self
            .congestion
            .on_undo(&self.window, self.recovery.prior_window);
        self.recovery.restore_window(&mut self.window, window_to);
    }

    /// The state outside recovery: `Open` if nothing is missing, else `Disorder` (Linux
    /// `tcp_try_keep_open`).
    fn return_to_open_or_disorder(&mut self) {
        let quiet =
            self.board.n_sacked() == 0 && self.board.n_lost() == 0 && self.board.n_resent() == 0;
        let state = if quiet {
            CongestionState::Open
        } else {
            CongestionState::Disorder
        };
        if state != self.recovery.state {
            self.recovery.high = self.stream.next;
            self.set_state(state);
        }
    }

    pub(super) fn set_state(&mut self, state: CongestionState) {
        self.recovery.state = state;
        self.congestion.on_state(state);
    }

    /// Handles the acknowledgement of a tail loss probe (RFC 8985, section 7.4).
    pub(super) fn on_probe_answer(&mut self, now: Time, ack: u64, summary: &AckSummary) {
        let Some(probe) = self.timers.probe.filter(|probe| ack >= probe.end) else {
            return;
        };
        // The probe was new data, or arrived twice, or caused a duplicate acknowledgement: no loss.
        let nothing_new = !summary.advanced && !summary.sacked;
        if !probe.resent || summary.probe_was_duplicate || nothing_new {
            self.timers.probe = None;
        } else if ack > probe.end {
            // The probe itself repaired a loss: the window is reduced as for any other loss.
            self.begin_reduction(now);
            self.set_state(CongestionState::Reduced);
            self.end_reduction();
            self.return_to_open_or_disorder();
        }
    }
}
