//! The interface of a packet, simulated or real, to queues and the MAC.

use crate::phy::AccessCategory;
use core::hash::Hasher;

/// The ECN codepoint of a packet (RFC 3168 §5, RFC 9331 §2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Ecn {
    /// The transport is not ECN-capable: congestion is signalled by a drop.
    #[default]
    NotEct,
    /// ECT(1): the sender's congestion control is scalable, so it wants the low-latency service
    /// (L4S, RFC 9331 §2).
    Ect1,
    /// ECT(0): the transport is ECN-capable and responds to a mark as to a drop (RFC 3168).
    Ect0,
    /// Congestion Experienced: a queue has marked the packet.
    Ce,
}

impl Ecn {
    /// The codepoint in the low two bits of `field`, which are those of the traffic class.
    #[must_use]
    pub const fn from_field(field: u8) -> Self {
        match field & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Whether a queue may mark the packet instead of dropping it.
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// A packet that can be queued, aggregated and marked.
///
/// The simulator's small records and the live system's buffers implement it, so that both pass
/// through the same code.
pub trait Packet {
    /// Length in bytes of the network-layer packet (IP header included, link headers not).
    fn bytes(&self) -> u32;

    /// Feeds what identifies the packet's flow (addresses, protocol, ports) to `state`.
    ///
    /// The queue owns the hash and its secret key, so that a sender cannot aim packets at another
    /// flow's queue.
    fn hash_flow<H: Hasher>(&self, state: &mut H);

    /// Marks the packet Congestion Experienced if its transport is ECN-capable (RFC 3168). Returns
    /// whether it is marked.
    fn mark_ce(&mut self) -> bool;

    /// The packet's ECN codepoint, by which a dual queue classifies it (RFC 9331 §5.1). The default
    /// is [`Ecn::NotEct`]: the packet is never taken for low-latency traffic.
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    /// The acknowledgement number of a TCP segment (RFC 9293 §3.1): what its receiver has sent up to there
    /// has arrived, so that it may send as much again. The default is `None`: the packet permits nothing.
    fn acknowledges(&self) -> Option<u32> {
        None
    }

    /// The access category in which it is sent over the air; the default is best effort.
    fn category(&self) -> AccessCategory {
        AccessCategory::BestEffort
    }
}

/// A packet that is moved often is cheaper to move behind a pointer.
impl<P: Packet + ?Sized> Packet for Box<P> {
    #[inline]
    fn bytes(&self) -> u32 {
        (**self).bytes()
    }

    #[inline]
    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        (**self).hash_flow(state);
    }

    #[inline]
    fn mark_ce(&mut self) -> bool {
        (**self).mark_ce()
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        (**self).ecn()
    }

    #[inline]
    fn acknowledges(&self) -> Option<u32> {
        (**self).acknowledges()
    }

    #[inline]
    fn category(&self) -> AccessCategory {
        (**self).category()
    }
}
