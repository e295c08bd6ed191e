//! The airtime that is charged to lanes, and that of frames composed ahead.

use super::CategoryPath;
use crate::mac::FrameRecord;
use crate::mac::flight::Flight;
use crate::mac::ids::LaneId;
use airpace_core::packet::Packet;
use core::time::Duration;

impl<P: Packet + Clone> CategoryPath<P> {
    /// The exchanges of a lane, whichever way they went, have taken `airtime`.
    pub(in crate::mac) fn charge(&mut self, lane: LaneId, airtime: Duration) {
        self.order.charge(lane, airtime);
    }

    /// What this radio counts of a frame that it has sent.
    #[inline]
    pub(in crate::mac) fn airtime_of_sent(&self, record: &FrameRecord) -> Duration {
        if self.counts_frames_alone {
            record.end.saturating_since(record.start)
        } else {
            record.airtime
        }
    }

    /// What it counts of a frame that it was to send and did not, because its RTS met no answer; that
    /// took `airtime`.
    pub(in crate::mac) const fn airtime_of_withheld(&self, airtime: Duration) -> Duration {
        // ath9k counts the tries of the data (`ts_longretry`), not those of the RTS.
        if self.counts_frames_alone {
            Duration::ZERO
        } else {
            airtime
        }
    }

    /// What it counts beside that when such a frame was tried for the last time.
    pub(in crate::mac) const fn airtime_of_given_up(&self, flight: &Flight) -> Duration {
        // ath9k adds one to the tries that failed, for the one that did not, even if none did.
        if self.counts_frames_alone {
            flight.built.ppdu
        } else {
            Duration::ZERO
        }
    }

    /// An aggregate that will take about `airtime` was composed ahead for a lane.
    pub(in crate::mac) fn commit(&mut self, lane: LaneId, airtime: Duration) {
        if let Some(limit) = &mut self.airtime_limit {
            limit.sent(lane.number(), airtime);
        }
    }

    /// An aggregate for which `airtime` was committed has been sent or given up.
    pub(in crate::mac) fn complete(&mut self, lane: LaneId, airtime: Duration) {
        if let Some(limit) = &mut self.airtime_limit {
            limit.completed(lane.number(), airtime);
        }
    }
}
