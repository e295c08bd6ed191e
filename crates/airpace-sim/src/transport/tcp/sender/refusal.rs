//! What a sender does when the queue of its own host refuses a segment (Linux `tcp_transmit_skb`
//! and `tcp_write_xmit`).

use super::Sender;
use crate::transport::tcp::congestion::CongestionState;
use crate::transport::tcp::segment::DataSegment;
use airpace_units::Time;

impl Sender {
    /// The queue of the sender's own host had no room for `segment`, which was polled at `now`, nor
    /// for those polled after it. Nothing is lost: the segments count as not sent. The window is
    /// reduced as for a congestion mark (Linux `tcp_enter_cwr`), at most once per round trip. The
    /// sender tries again when an acknowledgement arrives, or after a retransmission timeout. A
    /// refused SYN is repeated by its timer.
    pub fn on_refused(&mut self, now: Time, segment: &DataSegment) {
        if segment.syn {
            return;
        }
        if segment.retransmission {
            self.board.take_back_resent(segment.offset);
        } else if segment.offset < self.stream.next {
            self.board.take_back(segment.offset);
            self.stream.next = segment.offset;
            self.stream.fin_sent = false;
        }
        self.statistics.refused += 1;
        self.timers.refused = Some(now);
        if self.recovery.state < CongestionState::Reduced {
            self.recovery.undo = None;
            self.begin_reduction(now);
            self.set_state(CongestionState::Reduced);
        }
    }

    /// Whether a segment was refused and nothing has happened since.
    pub(super) fn is_refused(&self) -> bool {
        self.timers.refused.is_some()
    }

    /// When to try again with nothing in flight, so that no acknowledgement is to be expected
    /// (Linux `tcp_check_probe_timer`).
    pub(super) fn retry_due(&self) -> Option<Time> {
        let refused = self.timers.refused?;
        let nothing_in_flight = self.board.n_segments() == 0;
        nothing_in_flight.then(|| refused.saturating_add(self.timeout()))
    }
}
