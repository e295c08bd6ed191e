//! L-SIG, the first field of every header: a receiver that cannot decode it leaves the frame, as in
//! ns-3 (`OfdmPhy::EndReceiveHeader`), and may take another that begins later. A failure of a later
//! field keeps the receiver on the frame, whose length L-SIG has announced.

use super::reception::LEGACY_HEADER;
use super::{Field, Signal};
use airpace_core::phy::error::BitHazard;
use airpace_units::Time;

impl Field {
    /// `signal` begins while others are on the air: each may disturb the L-SIG fields of the others
    /// that have not ended. Where a frame is alone in its first microseconds nothing need be found
    /// out before its end.
    pub(super) fn expect_legacy_headers(&mut self, signal: &Signal) {
        let Some(last) = self.signals.last() else {
            return;
        };
        let end = |signal: &Signal| signal.begun + LEGACY_HEADER.until;
        let expected = self.legacy_headers.back();
        let is_expected = expected.is_some_and(|(_, expected)| expected.id == last.id);
        if !is_expected && end(last) > signal.begun {
            self.legacy_headers.push_back((end(last), *last));
        }
        self.legacy_headers.push_back((end(signal), *signal));
    }

    /// The next signal whose L-SIG field has ended at `now`, if there is another one.
    pub(super) fn take_legacy_header(&mut self, now: Time) -> Option<Signal> {
        let &(at, signal) = self.legacy_headers.front()?;
        if at > now {
            return None;
        }
        self.legacy_headers.pop_front();
        Some(signal)
    }

    /// The L-SIG field of a signal has ended at a receiver. If that is on the frame and another
    /// signal has made it lose the field, it leaves the frame.
    pub(super) fn end_legacy_header(&mut self, index: usize, signal: &Signal) {
        let receiver = &self.receivers[index];
        if !receiver.is_on(signal.id) || receiver.audible.len() < 2 {
            return;
        }
        self.find_overlaps(index, signal);
        let span = LEGACY_HEADER.of(signal);
        if !self.is_disturbed_in(span) {
            return;
        }
        let wanted = self.wanted(index, signal);
        let lost = BitHazard::loss(self.header_events(&wanted, span));
        let is_lost = self.draw(index, lost);
        let receiver = &mut self.receivers[index];
        if is_lost {
            receiver.locked = None;
        } else if let Some(lock) = &mut receiver.locked {
            lock.has_legacy_header = true;
        }
    }
}
