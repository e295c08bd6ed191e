//! The packet of tests, benchmarks and simple simulations.

use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;
use core::hash::Hasher;

/// A simulated packet without content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Any number by which the sender knows it.
    pub id: u64,
    /// Its flow, which flow queues hash.
    pub flow: u32,
    /// Its access category (default best effort).
    pub category: AccessCategory,
    /// Length in bytes, IP header included.
    pub bytes: u32,
}

impl Datagram {
    /// A packet of `bytes` bytes (IP header included) in flow 0.
    #[must_use]
    pub const fn new(id: u64, bytes: u32) -> Self {
        Self {
            id,
            flow: 0,
            category: AccessCategory::BestEffort,
            bytes,
        }
    }
}

impl Packet for Datagram {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.flow);
    }

    fn mark_ce(&mut self) -> bool {
        false
    }

    fn category(&self) -> AccessCategory {
        self.category
    }
}
