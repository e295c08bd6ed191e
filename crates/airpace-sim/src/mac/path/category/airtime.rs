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

    /// A frame of a lane, whichever way it went, was sent.
    #[inline]
    pub(in crate::mac) fn charge_frame(&mut self, lane: LaneId, record: &FrameRecord) {
        let airtime = if self.counts_frames_alone {
            record.end.saturating_since(record.start)
        } else {
            record.airtime
        };
        self.charge(lane, airtime);
    }

    /// A frame of a lane was not sent, because its RTS met no answer; that took `airtime`.
    pub(in crate::mac) fn charge_withheld(&mut self, lane: LaneId, airtime: Duration) {
        // ath9k counts the tries of the data (`ts_longretry`), not those of the RTS.
        if !self.counts_frames_alone {
            self.charge(lane, airtime);
        }
    }

    /// Such a frame was tried for the last time.
    pub(in crate::mac) fn charge_given_up(&mut self, flight: &Flight) {
        // ath9k adds one to the tries that failed, for the one that did not, even if none did.
        if self.counts_frames_alone {
            self.charge(flight.lane, flight.built.ppdu);
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
