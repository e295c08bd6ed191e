use super::codel::Verdict;
use std::collections::VecDeque;

/// Why a queue dropped a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum DropReason {
    /// The queue held as many packets as it may; the new packet was dropped (tail drop).
    PacketLimit,
    /// The new packet would have taken the queue over its limit of bytes (tail drop).
    ByteLimit,
    /// CoDel: packets had stayed longer than the target for an interval, and this one could not be marked.
    Sojourn,
    /// The flow queues were over their limits together and this packet stood at the head of the longest one.
    FattestFlow,
    /// The receiver left the network; nobody is there to send to.
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
    /// Why.
    pub reason: DropReason,
    /// The packet itself, so that its buffer can be used again.
    pub packet: P,
}

/// What went through a queue since it was made. `offered = dequeued + dropped + len` at any time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets handed to `enqueue`.
    pub offered: u64,
    /// Bytes of those packets.
    pub offered_bytes: u64,
    /// Packets handed out by `dequeue`.
    pub dequeued: u64,
    /// Bytes of those packets.
    pub dequeued_bytes: u64,
    /// Packets handed out with a Congestion Experienced mark that this queue set.
    pub marked: u64,
    dropped: [u64; DropReason::ALL.len()],
    /// Bytes of all packets dropped, for whatever reason.
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

    /// Begins a call: drops of earlier calls that nobody took are forgotten.
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

    /// Does what CoDel decided of a packet of `bytes`: hands it out, or drops it.
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
