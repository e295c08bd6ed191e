//! Entering and leaving recovery (Linux `tcp_fastretrans_alert`).

use super::Sender;
use super::ack::News;
use crate::transport::tcp::congestion::{CongestionControl, State};
use crate::transport::tcp::rack::Path;
use airpace_units::Time;

impl Sender {
    /// Draws the consequences of an acknowledgement for the state, marks losses.
    pub(super) fn assess(&mut self, now: Time, news: &mut News) {
        let state = self.recovery.state;
        if state == State::Open
            && !news.sacked
            && !news.duplicate
            && !news.marked
            && self.clock.reorder_due.is_none()
        {
            return;
        }
        if state != State::Open && self.stream.acknowledged >= self.recovery.high {
            self.leave(news);
        }
        match self.recovery.state {
            State::Recovery => self.go_on_recovering(now, news),
            State::Loss => self.go_on_after_timeout(now, news),
            State::Open | State::Disorder | State::Reduced => {
                if self.recovery.state != State::Reduced && self.recovery.all_were_duplicates() {
                    self.take_back(false);
                }
                self.look_for_losses(now, news);
            }
        }
    }

    /// Everything up to `Recovery::high` is acknowledged.
    fn leave(&mut self, news: &News) {
        match self.recovery.state {
            State::Reduced if self.stream.acknowledged > self.recovery.high => {
                self.end_reduction();
                self.set_state(State::Open);
            }
            State::Recovery => {
                if self.may_undo(news) {
                    self.take_back(false);
                } else {
                    self.end_reduction();
                }
                self.recovery.undo = None;
                self.set_state(State::Open);
            }
            _ => {}
        }
        if self.board.n_resent() == 0 {
            self.recovery.first_resent = None;
        }
    }

    fn go_on_recovering(&mut self, now: Time, news: &News) {
        // A hole was filled by what had only been delayed.
        if news.advanced && self.recovery.original_arrived(news.echo) {
            if self.board.n_resent() > 0 {
                return;
            }
            self.take_back(true);
            return self.keep_open();
        }
        if self.recovery.all_were_duplicates() {
            self.take_back(false);
            self.keep_open();
            if news.marked {
                self.reduce_for_mark(now);
            }
        }
        self.look_for_losses(now, news);
    }

    fn go_on_after_timeout(&mut self, now: Time, news: &News) {
        let spurious = news.advanced && self.may_undo(news);
        let original = self.recovery.timeout_in_doubt && news.original;
        if spurious || original {
            self.take_back(true);
            self.set_state(State::Open);
            return self.look_for_losses(now, news);
        }
        if news.sacked || self.stream.acknowledged >= self.recovery.high {
            self.recovery.timeout_in_doubt = false;
        }
        if self.stream.acknowledged >= self.recovery.high {
            self.recovery.undo = None;
            self.set_state(State::Open);
            return self.look_for_losses(now, news);
        }
        // What was sent again may be lost again; the window grows from one in any case.
        self.detect_losses(now);
    }

    fn look_for_losses(&mut self, now: Time, news: &News) {
        self.detect_losses(now);
        if self.recovery.state == State::Recovery {
            return;
        }
        if self.board.n_lost() > 0 {
            return self.enter_recovery(now, news.marked);
        }
        if news.marked {
            self.reduce_for_mark(now);
        }
        if self.recovery.state != State::Reduced {
            self.keep_open();
        }
    }

    /// Runs RACK and returns how many segments it takes for lost.
    pub(super) fn detect_losses(&mut self, now: Time) -> u32 {
        let recovering = self.recovery.state >= State::Recovery;
        let path = self.path();
        let (lost, again) = self.rack.detect(now, &mut self.board, recovering, path);
        self.clock.reorder_due = again;
        self.delivery.lost += u64::from(lost);
        lost
    }

    pub(super) fn path(&self) -> Path {
        Path {
            min_rtt: self.rtt.min(),
            smoothed_rtt: self.rtt.smoothed().unwrap_or_default(),
        }
    }

    /// Losses are to be repaired; `marked` tells that a mark came with them.
    pub(super) fn enter_recovery(&mut self, now: Time, marked: bool) {
        self.statistics.recoveries += 1;
        self.rack.on_recovery();
        let resent = self.board.n_resent();
        if marked {
            self.recovery.undo = None;
        } else {
            self.recovery
                .allow_undo(self.stream.acknowledged, &self.window, resent);
        }
        self.recovery.first_resent = None;
        if !self.recovery.is_reducing() {
            self.begin_reduction(now);
        } else {
            self.recovery.high = self.stream.next;
        }
        self.set_state(State::Recovery);
    }

    /// A congestion mark counts like a loss, once each round trip (RFC 3168, section 6.1.2).
    fn reduce_for_mark(&mut self, now: Time) {
        if self.recovery.state >= State::Reduced {
            return;
        }
        self.statistics.reductions += 1;
        self.recovery.undo = None;
        self.answer_mark = true;
        self.begin_reduction(now);
        self.set_state(State::Reduced);
    }

    fn begin_reduction(&mut self, now: Time) {
        self.clock.probe = None;
        self.recovery.begin(self.stream.next, &mut self.window);
        self.window.threshold = self.congestion.on_congestion(now, &self.window);
    }

    fn end_reduction(&mut self) {
        if !self.congestion.governs_window() {
            self.window.segments = self.window.threshold;
        }
    }

    fn may_undo(&self, news: &News) -> bool {
        self.recovery.all_were_duplicates() || self.recovery.original_arrived(news.echo)
    }

    /// Takes a reduction back: nothing was lost. With `all`, what waits to be sent again does not.
    fn take_back(&mut self, all: bool) {
        if all {
            self.board.unmark_losses();
        }
        self.statistics.undone += 1;
        let window_to = self
            .congestion
            .on_undo(&self.window, self.recovery.prior_window);
        self.recovery.take_back(&mut self.window, window_to);
    }

    fn keep_open(&mut self) {
        let quiet =
            self.board.n_sacked() == 0 && self.board.n_lost() == 0 && self.board.n_resent() == 0;
        let state = if quiet { State::Open } else { State::Disorder };
        if state != self.recovery.state {
            self.recovery.high = self.stream.next;
            self.set_state(state);
        }
    }

    pub(super) fn set_state(&mut self, state: State) {
        self.recovery.state = state;
        self.congestion.on_state(state);
    }

    /// An outstanding probe may be answered (RFC 8985, section 7.4).
    pub(super) fn answer_probe(&mut self, now: Time, ack: u64, news: &News) {
        let Some(probe) = self.clock.probe.filter(|probe| ack >= probe.end) else {
            return;
        };
        let nothing_new = !news.advanced && !news.sacked;
        if !probe.resent || news.probe_was_duplicate || nothing_new {
            self.clock.probe = None;
        } else if ack > probe.end {
            // The probe repaired a loss: the window is reduced as for any other.
            self.begin_reduction(now);
            self.set_state(State::Reduced);
            self.end_reduction();
            self.keep_open();
        }
    }
}
