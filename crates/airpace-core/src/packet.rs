//! The interface of a packet, simulated or real, to queues and the MAC.

use crate::phy::AccessCategory;
use core::hash::Hasher;

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

    /// The access category in which it is sent over the air; the default is best effort.
    fn category(&self) -> AccessCategory {
        AccessCategory::BestEffort
    }
}
