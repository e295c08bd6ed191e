use super::counters::Ledger;
use super::{Counters, DropReason, Dropped};
use crate::packet::Packet;
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// The limits of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Largest number of packets.
    pub packets: usize,
    /// Largest number of bytes.
    pub bytes: u64,
}

impl Limits {
    /// A limit on the number of packets only, like that of an access point's driver queue.
    #[must_use]
    pub const fn packets(packets: usize) -> Self {
        Self {
            packets,
            bytes: u64::MAX,
        }
    }

    /// A limit on bytes only.
    #[must_use]
    pub const fn bytes(bytes: u64) -> Self {
        Self {
            packets: usize::MAX,
            bytes,
        }
    }

    /// The limit that a packet of `bytes` would exceed in a queue with this backlog, if any.
    fn broken_by(self, bytes: u32, len: usize, backlog: u64) -> Option<DropReason> {
        if len >= self.packets {
            Some(DropReason::PacketLimit)
        } else if backlog.saturating_add(u64::from(bytes)) > self.bytes {
            Some(DropReason::ByteLimit)
        } else {
            None
        }
    }
}

/// A packet with its arrival time.
#[derive(Clone, Debug)]
pub(super) struct Queued<P> {
    pub(super) since: Time,
    pub(super) packet: P,
}

/// A first-in-first-out queue limited in packets and bytes. A packet for which there is no room is
/// dropped (tail drop).
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    limits: Limits,
    queued: VecDeque<Queued<P>>,
    bytes: u64,
    pub(super) ledger: Ledger<P>,
}

impl<P: Packet> Fifo<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            queued: VecDeque::new(),
            bytes: 0,
            ledger: Ledger::new(),
        }
    }

    /// Appends `packet`, or drops it if there is no room. Returns whether it was appended.
    pub fn enqueue(&mut self, now: Time, packet: P) -> bool {
        self.ledger.begin();
        let bytes = packet.bytes();
        self.ledger.offer(bytes);
        if let Some(reason) = self.limits.broken_by(bytes, self.queued.len(), self.bytes) {
            self.ledger.drop(reason, bytes, packet);
            return false;
        }
        self.bytes += u64::from(bytes);
        self.queued.push_back(Queued { since: now, packet });
        true
    }

    /// Removes and returns the oldest packet.
    pub fn dequeue(&mut self, _now: Time) -> Option<P> {
        self.ledger.begin();
        let queued = self.pop()?;
        self.ledger.dequeue(queued.packet.bytes());
        Some(queued.packet)
    }

    /// Removes and returns the oldest packet without counting it as dequeued.
    pub(super) fn pop(&mut self) -> Option<Queued<P>> {
        let queued = self.queued.pop_front()?;
        self.bytes -= u64::from(queued.packet.bytes());
        Some(queued)
    }

    /// Returns a packet that the last call dropped.
    pub fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.ledger.poll_drop()
    }

    /// The oldest packet.
    #[must_use]
    pub fn peek(&self) -> Option<&P> {
        self.queued.front().map(|q| &q.packet)
    }

    /// How long the oldest packet has waited.
    #[must_use]
    pub fn head_sojourn(&self, now: Time) -> Option<Duration> {
        self.queued.front().map(|q| now.saturating_since(q.since))
    }

    /// The limits.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Changes the limits. A backlog above the new limits is kept; new packets are dropped until it
    /// has drained.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Number of packets in the queue.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queued.len()
    }

    /// Bytes in the queue.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// The counters since the queue was created.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.ledger.counters
    }
}
