//! IP packets in buffers, and the pool of buffers.

use airpace_core::packet::{Ecn, Packet};
use airpace_core::phy::AccessCategory;
use airpace_core::wire::ip;
use airpace_core::wire::tcp::{self, PureAck};
use airpace_core::wire::transport::Transport;
use airpace_edge::agent::UplinkPacket;
use airpace_units::Time;
use core::hash::Hasher;

/// An IP packet in a buffer of the [`Pool`].
#[derive(Debug)]
pub struct PacketBuf {
    bytes: Vec<u8>,
    arrived: Time,
}

impl PacketBuf {
    /// A packet that arrived now.
    #[must_use]
    pub const fn new(arrived: Time, bytes: Vec<u8>) -> Self {
        Self { bytes, arrived }
    }

    /// The packet from its IP header on.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// When it arrived.
    #[must_use]
    pub const fn arrived(&self) -> Time {
        self.arrived
    }
}

impl Packet for PacketBuf {
    fn bytes(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        ip::hash_flow(&self.bytes, state);
    }

    fn ecn(&self) -> Ecn {
        ip::ecn(&self.bytes)
    }

    fn category(&self) -> AccessCategory {
        let class = ip::traffic_class(&self.bytes).unwrap_or(0);
        ip::category(class >> 2)
    }

    fn mark_ce(&mut self) -> bool {
        ip::mark_ce(&mut self.bytes)
    }

    fn acknowledges(&self) -> Option<u32> {
        match Transport::parse(&self.bytes) {
            Some(Transport::Tcp(header)) => header.acknowledgement,
            _ => None,
        }
    }
}

impl UplinkPacket for PacketBuf {
    fn pure_ack(&self) -> Option<PureAck> {
        PureAck::parse(&self.bytes)
    }

    fn is_same_flow(&self, other: &Self) -> bool {
        tcp::is_same_flow(&self.bytes, &other.bytes)
    }
}

/// Buffers for reuse, so that nothing is allocated per packet once the largest backlog has
/// occurred.
#[derive(Debug, Default)]
pub struct Pool {
    spare: Vec<Vec<u8>>,
}

/// Most spare buffers: the memory of a larger burst is given back.
const MAX_SPARE: usize = 4096;

impl Pool {
    /// A buffer of `len` bytes: zero, or left over from an earlier packet.
    pub fn take(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = self
            .spare
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(len.max(2048)));
        buffer.resize(len, 0);
        buffer
    }

    /// Takes back the buffer of a packet that is no longer needed.
    pub fn put(&mut self, packet: PacketBuf) {
        if self.spare.len() < MAX_SPARE {
            self.spare.push(packet.bytes);
        }
    }
}
