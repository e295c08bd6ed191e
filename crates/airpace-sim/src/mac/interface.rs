//! What goes into the MAC and what comes out of it.

use super::{ManagementFrame, Neighbours, Quality, RadioId};
use crate::radio::PairPowers;
use airpace_core::meter::{self, FrameHints};
use airpace_core::phy::{AccessCategory, TxRate};
use airpace_core::queue;
use airpace_units::{BitRate, Time};
use core::time::Duration;

/// Which way a frame goes in a cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// From the access point to a station.
    Down,
    /// From a station to the access point.
    Up,
}

/// What happens to the MAC.
#[derive(Clone, Debug)]
pub enum Input<P> {
    /// A radio is given a packet to send over a link, in the access category that
    /// [`airpace_core::packet::Packet::category`] says unless [`super::RadioConfig::category`] says
    /// otherwise.
    Send {
        /// The sender.
        from: RadioId,
        /// The receiver.
        to: RadioId,
        /// The packet.
        packet: P,
    },
    /// Time passes.
    Tick,
    /// A link has a fixed rate from now on, in place of its rate adaptation. Frames that are
    /// composed already keep their rate.
    SetRate {
        /// The sender.
        from: RadioId,
        /// The receiver.
        to: RadioId,
        /// The new rate.
        rate: TxRate,
    },
    /// A link's quality changes. Probabilities of loss are clamped to [0, 1]; not a number counts
    /// as 0.
    SetQuality {
        /// The sender.
        from: RadioId,
        /// The receiver.
        to: RadioId,
        /// The new quality.
        quality: Quality,
    },
    /// Neighbouring networks come, change or go.
    SetNeighbours(Neighbours),
    /// A radio is given a management frame to send. What becomes of it,
    /// [`super::Mac::poll_management`] tells.
    Manage {
        /// The sender.
        from: RadioId,
        /// The frame.
        frame: ManagementFrame,
    },
    /// A radio leaves the channel for another one, or comes back. While it is away it receives
    /// nothing and begins no exchange; one that has begun goes on.
    SetAway {
        /// The radio.
        radio: RadioId,
        /// Whether it is away from now on.
        is_away: bool,
    },
    /// A radio keeps its packets for another one, because that one sleeps, or sends them again
    /// (power save, 11.2.3).
    SetAsleep {
        /// The radio that keeps its packets.
        from: RadioId,
        /// The one that sleeps.
        to: RadioId,
        /// Whether it sleeps from now on.
        asleep: bool,
    },
    /// A radio receives nothing more of another one, because it has left that one for a third, or
    /// receives it again.
    SetDeaf {
        /// The other one.
        from: RadioId,
        /// The radio.
        to: RadioId,
        /// Whether it receives nothing from now on.
        is_deaf: bool,
    },
    /// An association ends or begins: a radio drops what it holds for another one, and block-ack
    /// agreement and sequence numbers begin anew. A frame that is on the air is dropped with what is
    /// not acknowledged of it.
    Forget {
        /// The sender.
        from: RadioId,
        /// The receiver.
        to: RadioId,
    },
    /// A radio has moved. Without [`super::Hearing::Powers`] nothing changes: who hears whom is
    /// fixed. What is on the air is received with the new powers from now on.
    SetPowers {
        /// The radio.
        radio: RadioId,
        /// What it and each radio receive of each other, in the order of the radios; its own entry
        /// is ignored.
        pairs: Vec<PairPowers>,
    },
}

/// What monitor interfaces at the receivers show of the MPDUs that are decoded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Monitoring {
    /// There are none.
    #[default]
    Off,
    /// Which MPDUs, and the lengths of the packets in them.
    Lengths,
    /// The packets, too, of which copies are made.
    Packets,
}

/// What the MAC reports. A frame's [`Output::Frame`] comes before the packets that it carried.
#[derive(Clone, Debug)]
pub enum Output<P> {
    /// A data frame has left the air. Boxed, because it is larger than what is reported of a packet.
    Frame(Box<FrameRecord>),
    /// A packet of an MPDU was decoded; only with [`super::MacConfig::monitor`], in the order of
    /// the air.
    Heard {
        /// Which frame and MPDU.
        mpdu: Mpdu,
        /// Length of the IP packet.
        bytes: u32,
        /// A copy of the packet with [`Monitoring::Packets`].
        packet: Option<P>,
    },
    /// A packet was handed over to the network layer of its receiver.
    Delivered {
        /// End of the PPDU that completed it.
        at: Time,
        /// Which frame and MPDU.
        mpdu: Mpdu,
        /// The packet.
        packet: P,
    },
    /// A packet was dropped.
    Dropped {
        /// When.
        at: Time,
        /// The sender of its link.
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
    /// Packets that it carries: several in an A-MSDU.
    pub packets: u16,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DropReason {
    /// The sender's queue dropped it.
    Queue(queue::DropReason),
    /// It was sent as often as the retry limit allows.
    RetryLimit,
    /// There is no link between these radios in this direction.
    UnknownLink,
    /// It was for a group, and a member did not receive it ([`super::LinkConfig::members`]).
    Missed,
}

impl FrameRecord {
    /// What a monitor interface at the receiver shows of `mpdu`, one of this frame's MPDUs, which
    /// carries IP packets of `bytes` in all. `rate` is that of [`FrameRecord::rate`].
    #[must_use]
    #[inline]
    pub fn shown(&self, mpdu: &Mpdu, bytes: u32, rate: BitRate) -> meter::Mpdu {
        let frame = FrameHints {
            ampdu: Some(mpdu.ampdu),
            single: false,
            tsft_us: Some(self.end.as_nanos() / 1_000),
            rate: Some(rate),
            retry: Some(mpdu.retry),
        };
        let (sequence, tid) = (mpdu.sequence, Some(mpdu.category.user_priority()));
        meter::Mpdu {
            arrival: self.end,
            frame,
            sequence,
            tid,
            packets: mpdu.packets,
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
    /// Number of MPDUs.
    pub mpdus: u16,
    /// Number of packets: larger than that of MPDUs if some are A-MSDUs.
    pub packets: u32,
    /// MPDUs that were sent before.
    pub retries: u16,
    /// MPDUs that were decoded.
    pub decoded: u16,
    /// Bytes of its PSDU.
    pub psdu_bytes: u32,
    /// Time for which the exchange occupied the channel: RTS and CTS if there were any, PPDU, and
    /// SIFS and (block) acknowledgement if one came.
    pub airtime: Duration,
    /// Whether another transmission reached the receiver at the same time.
    pub collided: bool,
    /// Packets left in the sender's queue for this receiver and category when the frame was
    /// composed.
    pub queued: u32,
}
