//! What is on the air: exchanges, their frames, and what comes of them.

use super::frame::Built;
use super::window::Fate;
use super::{AccessCategory, DropReason, FrameRecord, Mpdu, Output, RadioId};
use crate::rate::FrameResult;
use airpace_units::Time;
use core::time::Duration;

/// What is on the air, or follows after SIFS.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    /// When its next step is due.
    pub(super) at: Time,
    /// When the PPDU on the air began.
    pub(super) begun: Time,
    /// The radio that sends it; for neighbours the number that follows those of the radios.
    pub(super) transmitter: u32,
    pub(super) work: Work,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Beacon,
    Neighbour(u32),
    Data(Step, Flight),
}

/// What happens at [`Exchange::at`]: a PPDU ends, or (due) begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Rts,
    CtsDue,
    Cts,
    DataDue,
    Data,
    AnswerDue,
    Answer,
    /// The next exchange of a TXOP begins.
    NextDue,
}

/// A data frame and whose it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// The contender, which is four times the radio plus the category.
    pub(super) contender: u32,
    pub(super) lane: u32,
    pub(super) built: Built,
    /// Packets left in the queue when the frame was built.
    pub(super) queued: usize,
    /// Airtime of RTS, CTS and the spaces after them.
    pub(super) protection: Duration,
    /// End of the TXOP, if it has one.
    pub(super) txop_end: Option<Time>,
}

impl Exchange {
    /// At one time PPDUs end first; those that follow another after SIFS begin last, because nodes whose back-off expires at that time
    /// cannot have sensed them.
    pub(super) fn begins(&self) -> bool {
        matches!(
            self.work,
            Work::Data(
                Step::CtsDue | Step::DataDue | Step::AnswerDue | Step::NextDue,
                _
            )
        )
    }
}

/// The category of a contender.
pub(super) fn category_of(contender: u32) -> AccessCategory {
    use AccessCategory::{Background, BestEffort, Video, Voice};
    [Background, BestEffort, Video, Voice][contender as usize % 4]
}

impl Flight {
    pub(super) fn record(
        &self,
        exchange: &Exchange,
        (from, to): (RadioId, RadioId),
        ampdu: u32,
    ) -> FrameRecord {
        let built = &self.built;
        FrameRecord {
            ampdu,
            from,
            to,
            category: category_of(self.contender),
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

    pub(super) fn result(&self, acked: u16) -> FrameResult {
        let Built {
            rate,
            mpdus,
            mpdu_bytes,
            ..
        } = self.built;
        let mpdus = u32::from(mpdus);
        FrameResult {
            rate,
            mpdus,
            acked: acked.into(),
            mpdu_bytes: mpdu_bytes / mpdus.max(1),
        }
    }
}

impl<P> Fate<P> {
    pub(super) fn output(
        self,
        at: Time,
        (from, to, category): (RadioId, RadioId, AccessCategory),
    ) -> Output<P> {
        let mpdu = |ampdu, sequence, retry| Mpdu {
            from,
            to,
            category,
            ampdu,
            sequence,
            retry,
        };
        match self {
            Self::Heard {
                packet,
                sequence,
                ampdu,
                retry,
            } => Output::Heard {
                mpdu: mpdu(ampdu, sequence, retry),
                packet,
            },
            Self::Released {
                packet,
                sequence,
                ampdu,
                retry,
            } => Output::Delivered {
                at,
                mpdu: mpdu(ampdu, sequence, retry),
                packet,
            },
            Self::GivenUp { packet } => Output::Dropped {
                at,
                from,
                to,
                category,
                reason: DropReason::RetryLimit,
                packet,
            },
        }
    }
}
