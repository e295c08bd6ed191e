use super::codel::Verdict;
use std::collections::VecDeque;

/// Why a queue dropped a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum DropReason {
    /// The queue held its maximum number of packets, and the new packet was dropped (tail drop).
    PacketLimit,
    /// The new packet would have exceeded the queue's limit in bytes (tail drop).
    ByteLimit,
    /// CoDel: packets had stayed longer than the target for an interval, and this one could not be
    /// marked. Low-latency queue: the packet had stayed longer than any may.
    Sojourn,
    /// The flow queues together exceeded their limit, and this packet was at the head of the
    /// longest queue. Low-latency queue: the packet is of the flow that did not respond to marks.
    FattestFlow,
    /// The receiver left the network.
    Gone,
}

impl DropReason {
    /// All reasons, in the order of the enumeration.
    pub const ALL: [Self; 5] = [
        Self::PacketLimit,
        Self::ByteLimit,
        Self::Sojourn,
        Self::FattestFlow,
        Self::Gone,
    ];
}

/// A packet that a queue dropped, handed back to the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped<P> {
    /// Why it was dropped.
    pub reason: DropReason,
    /// The packet itself, so that the caller can reuse its buffer.
    pub packet: P,
}

/// Counters of a queue since it was created. At any time, `offered = dequeued + dropped + len`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets passed to `enqueue`.
    pub offered: u64,
    /// Bytes of those packets.
    pub offered_bytes: u64,
    /// Packets returned by `dequeue`.
    pub dequeued: u64,
    /// Bytes of those packets.
    pub dequeued_bytes: u64,
    /// Packets returned with a Congestion Experienced mark that this queue set.
    pub marked: u64,
    dropped: [u64; DropReason::ALL.len()],
    /// Bytes of all packets dropped, for any reason.
    pub dropped_bytes: u64,
}

impl Counters {
    /// Packets dropped for `reason`.
    #[must_use]
    pub const fn dropped_for(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize]
    }

    /// Packets dropped for any reason.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }
}

/// The counters of a queue and the packets that its last call dropped.
#[derive(Clone, Debug)]
pub(super) struct Ledger<P> {
    pub(super) counters: Counters,
    drops: VecDeque<Dropped<P>>,
}

impl<P> Ledger<P> {
    pub(super) fn new() -> Self {
        Self {
            counters: Counters::default(),
            drops: VecDeque::new(),
        }
    }

    /// Begins a call: discards dropped packets of earlier calls that the caller did not take.
    pub(super) fn begin(&mut self) {
        // Clearing an empty deque is not free, and this runs twice per packet.
        if !self.drops.is_empty() {
            self.drops.clear();
        }
    }

    pub(super) fn offer(&mut self, bytes: u32) {
        self.counters.offered += 1;
        self.counters.offered_bytes += u64::from(bytes);
    }

    pub(super) fn dequeue(&mut self, bytes: u32) {
        self.counters.dequeued += 1;
        self.counters.dequeued_bytes += u64::from(bytes);
    }

    pub(super) fn drop(&mut self, reason: DropReason, bytes: u32, packet: P) {
        self.counters.dropped[reason as usize] += 1;
        self.counters.dropped_bytes += u64::from(bytes);
        self.drops.push_back(Dropped { reason, packet });
    }

    /// Carries out CoDel's verdict on a packet of `bytes`: returns it or drops it.
    #[inline]
    pub(super) fn settle(&mut self, verdict: Verdict, bytes: u32, packet: P) -> Option<P> {
        match verdict {
            Verdict::Drop => {
                self.drop(DropReason::Sojourn, bytes, packet);
                return None;
            }
            Verdict::Mark => self.counters.marked += 1,
            Verdict::Pass => {}
        }
        self.dequeue(bytes);
        Some(packet)
    }

    pub(super) fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.drops.pop_front()
    }
}
