//! A data frame under way: what was composed, for whom, and what is reported of it.

use super::exchange::Exchange;
use super::frame::Built;
use super::ids::{AccessFunctionId, LaneId, LinkId};
use super::{FrameRecord, RadioId};
use crate::rate::FrameResult;
use airpace_units::Time;
use core::time::Duration;

/// A data frame from its composition to the end of its exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// The access function that sends it.
    pub(super) function: AccessFunctionId,
    /// The lane from which its packets come, and the link over which they go.
    pub(super) lane: LaneId,
    pub(super) link: LinkId,
    pub(super) built: Built,
    /// Packets left in the queue when the frame was composed.
    pub(super) queued: usize,
    /// Airtime of RTS, CTS and the spaces after them.
    pub(super) protection: Duration,
    /// End of the TXOP, if it has one.
    pub(super) txop_end: Option<Time>,
    /// Since when its sender has missed the block ack and asks for it.
    pub(super) missed: Option<Time>,
}

impl Flight {
    /// The record of the frame, which ends now, as if nothing of it were decoded.
    pub(super) fn record(
        &self,
        exchange: &Exchange,
        from: RadioId,
        to: RadioId,
        ampdu: u32,
    ) -> FrameRecord {
        let built = &self.built;
        FrameRecord {
            ampdu,
            from,
            to,
            category: self.function.category,
            start: exchange.begun,
            end: exchange.at,
            rate: built.rate,
            mpdus: built.mpdus,
            packets: built.packets,
            retries: built.retries,
            decoded: 0,
            psdu_bytes: built.psdu_bytes,
            airtime: self.protection + built.ppdu,
            collided: false,
            queued: u32::try_from(self.queued).unwrap_or(u32::MAX),
        }
    }

    /// What the rate adaptation learns of the frame, of which `acked` MPDUs were acknowledged.
    pub(super) fn result(&self, acked: u16) -> FrameResult {
        let mpdus = u32::from(self.built.mpdus);
        FrameResult {
            rate: self.built.rate,
            mpdus,
            acked: acked.into(),
            mpdu_bytes: self.built.mpdu_bytes / mpdus.max(1),
        }
    }
}
