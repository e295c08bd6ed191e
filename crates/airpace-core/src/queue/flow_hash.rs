//! The keyed hash that assigns flows to queues.

use crate::packet::Packet;
use core::hash::Hasher;
use siphasher::sip::SipHasher13;

/// SipHash-1-3 under a secret key.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowHash {
    key: (u64, u64),
}

impl FlowHash {
    pub(super) const fn new(key: [u8; 16]) -> Self {
        let key = u128::from_le_bytes(key);
        // Both halves of the key; each `as` keeps the low 64 bits.
        Self {
            key: (key as u64, (key >> 64) as u64),
        }
    }

    /// The queue of the packet's flow, as an index below `queues`.
    #[inline]
    pub(super) fn queue<P: Packet>(&self, packet: &P, queues: u32) -> u32 {
        let mut hasher = SipHasher13::new_with_keys(self.key.0, self.key.1);
        packet.hash_flow(&mut hasher);
        // The high half of the hash, scaled to the number of queues: the product is below 2^32 ·
        // 2^32 and its high part below the number of queues.
        (((hasher.finish() >> 32) * u64::from(queues)) >> 32) as u32
    }
}
