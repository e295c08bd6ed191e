//! What queues and the MAC need to know of a packet, simulated or real.

use crate::phy::AccessCategory;
use core::hash::Hasher;

/// A packet that can be queued, aggregated and marked.
///
/// Implemented by the simulator's small records and by the live system's buffers, so that both pass through the same code.
pub trait Packet {
    /// Length in bytes of the network-layer packet (IP header included, link headers not).
    fn bytes(&self) -> u32;

    /// Feeds what identifies the packet's flow (addresses, protocol, ports) to `state`.
    ///
    /// The queue owns the hash and its secret key, so that a sender cannot aim for a neighbour's queue.
    fn hash_flow<H: Hasher>(&self, state: &mut H);

    /// Marks the packet Congestion Experienced if its transport takes part in ECN (RFC 3168); tells whether it did.
    fn mark_ce(&mut self) -> bool;

    /// The access category that it is sent in over the air; best effort unless the packet says otherwise.
    fn category(&self) -> AccessCategory {
        AccessCategory::BestEffort
    }
}
