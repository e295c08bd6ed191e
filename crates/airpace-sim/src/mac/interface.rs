//! What goes into the MAC and what comes out of it.

use super::{Neighbours, Quality};
use airpace_core::meter::{self, FrameHints};
use airpace_core::phy::{AccessCategory, TxRate};
use airpace_core::queue;
use airpace_units::Time;
use core::fmt;
use core::time::Duration;

/// A radio within one [`super::Mac`], from zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RadioId(pub u32);

impl RadioId {
    /// The identifier as an index into a slice.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The identifier of the radio at `index`.
    ///
    /// # Panics
    /// If `index` does not fit 32 bits, which no table of radios reaches.
    #[must_use]
    pub fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("a radio index fits 32 bits"))
    }
}

impl fmt::Display for RadioId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "radio {}", self.0)
    }
}

/// Which way a frame goes in a cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// From the access point to a station.
    Down,
    /// From a station to the access point.
    Up,
}

/// What the world does to the MAC.
#[derive(Clone, Debug)]
pub enum Input<P> {
    /// A packet is to go over a link. Its access category is what [`airpace_core::packet::Packet::category`] says.
    Send {
        /// The sender.
        from: RadioId,
        /// The receiver.
        to: RadioId,
        /// The packet.
        packet: P,
    },
    /// Nothing but the passing of time.
    Tick,
    /// A link's rate is fixed from now on; its rate adaptation is forgotten. Frames on the air are not touched.
    SetRate {
        /// The sender.
        from: RadioId,
        /// The receiver.
        to: RadioId,
        /// The new rate.
        rate: TxRate,
    },
    /// A link's quality changes. Probabilities of loss are clamped to [0, 1]; one that is no number counts as 0.
    SetQuality {
        /// The sender.
        from: RadioId,
        /// The receiver.
        to: RadioId,
        /// The new quality.
        quality: Quality,
    },
    /// Other networks come, change or go.
    SetNeighbours(Neighbours),
}

/// What the MAC does to the world. A frame's [`Output::Frame`] comes first, then what it carried.
#[derive(Clone, Debug)]
pub enum Output<P> {
    /// A data frame has left the air.
    Frame(FrameRecord),
    /// A packet of an MPDU was decoded; only with [`super::MacConfig::monitor`], in the order of the air.
    Heard {
        /// Which frame and MPDU.
        mpdu: Mpdu,
        /// A copy of the packet.
        packet: P,
    },
    /// A packet was handed up by its receiver.
    Delivered {
        /// End of the PPDU that completed it.
        at: Time,
        /// Which frame and MPDU.
        mpdu: Mpdu,
        /// The packet.
        packet: P,
    },
    /// A packet is gone.
    Dropped {
        /// When.
        at: Time,
        /// The sender of the link that it was to go over.
        from: RadioId,
        /// The receiver of that link.
        to: RadioId,
        /// Its access category.
        category: AccessCategory,
        /// Why.
        reason: DropReason,
        /// The packet.
        packet: P,
    },
}

/// One MPDU of one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mpdu {
    /// Its sender.
    pub from: RadioId,
    /// Its receiver.
    pub to: RadioId,
    /// Its access category.
    pub category: AccessCategory,
    /// The frame in which it was decoded; see [`FrameRecord::ampdu`].
    pub ampdu: u32,
    /// Its 12-bit sequence number, counted per link and access category.
    pub sequence: u16,
    /// Whether it had been sent before.
    pub retry: bool,
}

/// Why a packet is gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DropReason {
    /// The sender's queue dropped it.
    Queue(queue::DropReason),
    /// It was sent as often as the retry limit allows.
    RetryLimit,
    /// There is no link between these radios in this direction.
    UnknownLink,
}

impl FrameRecord {
    /// What a monitor interface at the receiver shows of `mpdu`, one of this frame's, that carries an IP packet of `bytes`.
    #[must_use]
    pub fn shown(&self, mpdu: &Mpdu, bytes: u32) -> meter::Mpdu {
        let frame = FrameHints {
            ampdu: Some(mpdu.ampdu),
            tsft_us: Some(self.end.as_nanos() / 1_000),
            rate: Some(self.rate.rate()),
            retry: Some(mpdu.retry),
        };
        let (sequence, tid) = (mpdu.sequence, Some(mpdu.category.user_priority()));
        meter::Mpdu {
            arrival: self.end,
            frame,
            sequence,
            tid,
            packets: 1,
            bytes,
        }
    }
}

/// One data frame (PPDU), written when it leaves the air.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FrameRecord {
    /// Number of the frame within the MAC, modulo 2³²; the A-MPDU reference of monitor interfaces.
    pub ampdu: u32,
    /// Its sender.
    pub from: RadioId,
    /// Its receiver.
    pub to: RadioId,
    /// Its access category.
    pub category: AccessCategory,
    /// Beginning of the PPDU.
    pub start: Time,
    /// End of the PPDU.
    pub end: Time,
    /// Rate of its payload.
    pub rate: TxRate,
    /// MPDUs in it.
    pub mpdus: u16,
    /// Packets in it: more than MPDUs if some of them are A-MSDUs.
    pub packets: u32,
    /// MPDUs in it that were sent before.
    pub retries: u16,
    /// MPDUs in it that were decoded.
    pub decoded: u16,
    /// Bytes of its PSDU.
    pub psdu_bytes: u32,
    /// Time that the exchange kept the channel: RTS and CTS if there were any, PPDU, SIFS and (block) acknowledgement; without the
    /// latter two if none came.
    pub airtime: Duration,
    /// Whether another transmission reached the receiver at the same time.
    pub collided: bool,
    /// Packets left in the sender's queue for this receiver and category when the frame was composed.
    pub queued: u32,
}
