//! What a sender does when the queue of its own host refuses a segment (Linux `tcp_transmit_skb`
//! and `tcp_write_xmit`).

use super::Sender;
use crate::transport::tcp::congestion::CongestionState;
use crate::transport::tcp::segment::DataSegment;
use airpace_units::Time;
use core::time::Duration;

/// When a refused retransmission is tried again (Linux `TCP_RESOURCE_PROBE_INTERVAL`).
const RESOURCE_PROBE_INTERVAL: Duration = Duration::from_millis(500);

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
        self.recovery.on_refused();
        self.statistics.refused += 1;
        self.timers.refused = Some(now);
        if self.recovery.state < CongestionState::Reduced {
            self.recovery.undo = None;
            self.begin_reduction(now);
            self.set_state(CongestionState::Reduced);
        }
        // A caller that stops polling while there is still something to send, as under TCP small
        // queues, needs the new deadline too.
        self.arm();
    }

    /// Whether a segment was refused and nothing has happened since.
    pub(super) fn is_refused(&self) -> bool {
        self.timers.refused.is_some()
    }

    /// When to try again without waiting for an acknowledgement: with nothing in flight none is to be
    /// expected (Linux `tcp_check_probe_timer`), and a refused retransmission after a timeout is tried
    /// again soon, without a longer timeout (Linux `tcp_retransmit_timer`).
    pub(super) fn retry_due(&self) -> Option<Time> {
        let refused = self.timers.refused?;
        if self.board.n_segments() == 0 {
            Some(refused.saturating_add(self.timeout()))
        } else if self.recovery.state == CongestionState::Loss {
            Some(refused.saturating_add(RESOURCE_PROBE_INTERVAL))
        } else {
            None
        }
    }
}
