//! The flow queues of an access point (the paper of Høiland-Jørgensen et al., "Ending the Anomaly",
//! USENIX ATC 2017, §3.1).
//!
//! A separate FQ-CoDel for each station and category would need a thousand queues for each. Here
//! all of them share one set of queues. This is the published design, Algorithms 1 and 2:
//!
//! - A packet's flow is hashed to a queue of the set. The queue belongs to the packet's TID until
//!   it is idle; a packet of another TID that hashes to it meanwhile waits in the overflow queue of
//!   its own TID.
//! - Each TID serves its queues by deficit round robin with precedence for those that have just
//!   become busy, and CoDel manages each queue. CoDel's parameters depend on the station: at a slow
//!   station a standing queue takes longer to recognise.
//! - One limit applies to all queues together. Above it, packets are dropped at the head of the
//!   longest queue, of whatever station, so that one station's burst does not lock out the others.
//!
//! Packets leave in a different order than they arrived. Sequence numbers and initialisation
//! vectors, which depend on the order, must therefore be assigned when a packet is dequeued.
//!
//! Where the paper says nothing, or where this differs from it:
//!
//! - The paper drops before the new packet is appended and does not say how much room that packet
//!   needs. Here the packet is appended first, as in Linux, and packets are dropped until the
//!   limits hold. The new packet itself may be dropped.
//! - A flow whose packets wait in the overflow queue stays there until they have left, even if its
//!   own queue becomes idle: otherwise later packets would overtake them.
//! - Overflow queues are created when they are needed, and reused, so that a TID without collisions
//!   costs no queue.
//! - A TID without packets releases its queues at once and not when it is next asked for a packet,
//!   which may be never.
//! - CoDel starts from scratch in a queue that passes to another TID, and in an overflow queue that
//!   is assigned.
//! - A queue leaves the lists only after a round in which it has sent nothing; a sender can exploit
//!   queues that leave at once (`schedule.rs`).
//! - The longest queue is the one with the most bytes, each packet counted with at least
//!   [`MIN_WEIGHT`]: otherwise a sender that fills the packet limit with empty packets would always
//!   have the shortest queue. (Linux uses bytes as the length, and counts the memory of the buffers
//!   against the memory limit.)

mod config;

pub use config::FqMacConfig;

use super::codel::CoDel;
use super::counters::Ledger;
use super::fifo::Queued;
use super::flow_hash::FlowHash;
use super::longest::Longest;
use super::schedule::{Lists, Turns};
use super::store::{List, Store};
use super::{Counters, DropReason, Dropped};
use crate::packet::Packet;
use airpace_units::{BitRate, Time};
use std::collections::BTreeMap;

/// Smallest number of bytes with which a packet counts against the memory limit and in the length
/// of its queue. The descriptor of a buffer takes about as much (`struct sk_buff` in Linux: 232
/// bytes).
const MIN_WEIGHT: u32 = 256;

/// No queue, or no TID.
const NONE: u32 = u32::MAX;

/// More than one TID.
const SEVERAL: u32 = u32::MAX - 1;

/// Identifies the queues of one station and category. It is valid only for the [`FqMac`] that
/// returned it; another one panics or takes it for a different TID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TidId(u32);

impl TidId {
    /// Its index among the TIDs of its [`FqMac`], from zero in the order in which they were added.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One queue of the shared set, or one overflow queue. It fills a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Flow {
    list: List,
    /// The TID that it belongs to while it is listed, and belonged to last otherwise.
    owner: u32,
    bytes: u64,
    law: CoDel,
}

/// Packets of flows that hash to a queue and wait in overflow queues.
#[derive(Clone, Copy, Debug)]
struct Strays {
    count: u32,
    /// Their TID, or [`SEVERAL`].
    tid: u32,
}

impl Strays {
    /// Whether packets of `tid` may be among them.
    const fn may_be_of(self, tid: TidId) -> bool {
        self.count > 0 && (self.tid == tid.0 || self.tid == SEVERAL)
    }

    const fn add(&mut self, tid: TidId) {
        self.tid = if self.count == 0 || self.tid == tid.0 {
            tid.0
        } else {
            SEVERAL
        };
        self.count += 1;
    }
}

impl Flow {
    const NEW: Self = Self {
        list: List::EMPTY,
        owner: NONE,
        bytes: 0,
        law: CoDel::NEW,
    };
}

#[derive(Clone, Debug)]
struct Tid {
    lists: Lists,
    /// Index of its station in `FqMac::stations`.
    station: u32,
    /// Its overflow queue, if it has one at present.
    overflow: u32,
    len: u32,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Station {
    slow: bool,
    /// When that changed last.
    changed: Option<Time>,
}

/// The flow queues of an access point: FQ-CoDel for each TID over queues that all share.
#[derive(Clone, Debug)]
pub struct FqMac<P> {
    config: FqMacConfig,
    hash: FlowHash,
    /// Queues that flows are hashed to, and after them those for overflow.
    flows: Vec<Flow>,
    /// One entry for each queue that flows are hashed to. It is separate from `flows` because it is
    /// read only when a queue becomes busy.
    strays: Vec<Strays>,
    /// Overflow queues that are not assigned to a TID.
    spare: Vec<u32>,
    lengths: Longest,
    turns: Turns,
    tids: Vec<Tid>,
    stations: Vec<Station>,
    /// Index in `stations` of each station.
    slots: BTreeMap<u32, u32>,
    store: Store<P>,
    len: u32,
    bytes: u64,
    memory: u64,
    ledger: Ledger<(TidId, P)>,
}

impl<P: Packet> FqMac<P> {
    /// Empty queues without TIDs. `key` must be secret: a sender who knows it can aim packets at
    /// another flow's queue.
    ///
    /// Parameters outside their ranges are clamped to them.
    #[must_use]
    pub fn new(config: FqMacConfig, key: [u8; 16]) -> Self {
        let config = config.clamped();
        Self {
            config,
            hash: FlowHash::new(key),
            flows: vec![Flow::NEW; config.queues as usize],
            strays: vec![
                Strays {
                    count: 0,
                    tid: NONE
                };
                config.queues as usize
            ],
            spare: Vec::new(),
            lengths: Longest::new(config.queues),
            turns: Turns::new(config.queues, config.quantum),
            tids: Vec::new(),
            stations: Vec::new(),
            slots: BTreeMap::new(),
            store: Store::new(),
            len: 0,
            bytes: 0,
            memory: 0,
            ledger: Ledger::new(),
        }
    }

    /// Adds a TID for the packets of one category to `station`. The TIDs of a station share its
    /// CoDel parameters.
    pub fn add_tid(&mut self, station: u32) -> TidId {
        let station = self.slot(station);
        let index = u32::try_from(self.tids.len()).expect("memory ends before 2^32 TIDs");
        self.tids.push(Tid {
            lists: Lists::EMPTY,
            station,
            overflow: NONE,
            len: 0,
            bytes: 0,
        });
        TidId(index)
    }

    fn slot(&mut self, station: u32) -> u32 {
        // Stations are identified by 32 bits, so there are at most 2^32 entries; memory ends long
        // before.
        let next = self.stations.len() as u32;
        let slot = *self.slots.entry(station).or_insert(next);
        if slot == next {
            self.stations.push(Station::default());
        }
        slot
    }

    /// Sets the throughput that `station` can expect at its current transmit rate, which selects
    /// the CoDel parameters of its queues. They change at most once per hysteresis time. Call this
    /// regularly, because a change that comes too early is not remembered.
    pub fn set_expected_throughput(&mut self, now: Time, station: u32, rate: BitRate) {
        let slot = self.slot(station);
        let station = &mut self.stations[slot as usize];
        let slow = rate < self.config.slow_below;
        let settled = station
            .changed
            .is_none_or(|at| now.saturating_since(at) >= self.config.hysteresis);
        if slow != station.slow && settled {
            *station = Station {
                slow,
                changed: Some(now),
            };
        }
    }

    /// Appends `packet` to its flow's queue. If that exceeds a limit, packets are dropped at the
    /// head of the longest queue, which may be this one.
    pub fn enqueue(&mut self, now: Time, tid: TidId, packet: P) {
        self.ledger.begin();
        let bytes = packet.bytes();
        self.ledger.offer(bytes);
        let index = self.queue_for(tid, &packet);
        let flow = &mut self.flows[index as usize];
        flow.bytes += u64::from(bytes);
        self.store.push(&mut flow.list, now, packet);
        let weight = weight(bytes);
        self.lengths.set(index, self.lengths.length(index) + weight);
        let state = &mut self.tids[tid.0 as usize];
        state.len += 1;
        state.bytes += u64::from(bytes);
        state.lists.wake(&mut self.turns, index);
        self.len += 1;
        self.bytes += u64::from(bytes);
        self.memory += weight;
        // Dropping after the append keeps the limits for packets of any size.
        while self.over_limits() {
            self.drop_from_longest();
        }
    }

    /// Assigns the queue for a packet of `tid` (Algorithm 1, lines 5 to 8).
    fn queue_for(&mut self, tid: TidId, packet: &P) -> u32 {
        let home = self.hash.queue(packet, self.config.queues);
        let flow = &mut self.flows[home as usize];
        let strays = &mut self.strays[home as usize];
        if self.turns.is_listed(home) {
            if flow.owner == tid.0 {
                return home;
            }
        } else if !strays.may_be_of(tid) {
            // The queue is idle, and no packet of this TID waits in overflow for it, so none is
            // overtaken.
            flow.give_to(tid);
            return home;
        }
        // Another TID owns the queue, or earlier packets of the flow still wait in overflow.
        strays.add(tid);
        self.overflow(tid)
    }

    /// The overflow queue of `tid`.
    fn overflow(&mut self, tid: TidId) -> u32 {
        let overflow = &mut self.tids[tid.0 as usize].overflow;
        if *overflow == NONE {
            *overflow = self.spare.pop().unwrap_or_else(|| {
                self.flows.push(Flow::NEW);
                self.lengths.push();
                self.turns.push();
                u32::try_from(self.flows.len() - 1).expect("memory ends before 2^32 queues")
            });
            self.flows[*overflow as usize].give_to(tid);
        }
        *overflow
    }

    /// Removes and returns the next packet of `tid` in turn that CoDel does not drop, with its
    /// arrival time (Algorithm 2).
    pub fn dequeue(&mut self, now: Time, tid: TidId) -> Option<(Time, P)> {
        self.ledger.begin();
        while let Some(index) = self.tids[tid.0 as usize].lists.current(&mut self.turns) {
            if let Some((since, packet)) = self.dequeue_from(now, tid, index) {
                self.turns.charge(index, packet.bytes());
                self.release_if_empty(tid);
                return Some((since, packet));
            }
            // The queue is empty, or CoDel dropped all of it: it goes to the old queues or leaves.
            if let Some(left) = self.tids[tid.0 as usize].lists.found_empty(&mut self.turns) {
                self.retire(left);
            }
        }
        None
    }

    /// Removes and returns the first packet of a queue that CoDel does not drop.
    fn dequeue_from(&mut self, now: Time, tid: TidId, index: u32) -> Option<(Time, P)> {
        let station = self.tids[tid.0 as usize].station;
        let slow = self.stations[station as usize].slow;
        while let Some(mut queued) = self.pop(index) {
            let config = if slow {
                &self.config.slow
            } else {
                &self.config.codel
            };
            let flow = &mut self.flows[index as usize];
            let sojourn = now.saturating_since(queued.since);
            let mark = || queued.packet.mark_ce();
            let verdict = flow.law.judge(now, config, sojourn, flow.bytes, mark);
            let bytes = queued.packet.bytes();
            if let Some((_, packet)) = self.ledger.settle(verdict, bytes, (tid, queued.packet)) {
                return Some((queued.since, packet));
            }
        }
        self.flows[index as usize].law.on_empty();
        None
    }

    /// Removes the head of a queue and updates the backlogs.
    fn pop(&mut self, index: u32) -> Option<Queued<P>> {
        let flow = &mut self.flows[index as usize];
        let queued = self.store.pop(&mut flow.list)?;
        let bytes = queued.packet.bytes();
        let weight = weight(bytes);
        flow.bytes -= u64::from(bytes);
        self.lengths.set(index, self.lengths.length(index) - weight);
        let tid = &mut self.tids[flow.owner as usize];
        tid.len -= 1;
        tid.bytes -= u64::from(bytes);
        self.len -= 1;
        self.bytes -= u64::from(bytes);
        self.memory -= weight;
        if index >= self.config.queues {
            // A packet in an overflow queue is counted at the queue that it hashes to.
            let home = self.hash.queue(&queued.packet, self.config.queues);
            self.strays[home as usize].count -= 1;
        }
        Some(queued)
    }

    fn over_limits(&self) -> bool {
        self.len > self.config.packet_limit || self.memory > self.config.memory_limit
    }

    /// Drops the packet at the head of the longest queue.
    fn drop_from_longest(&mut self) {
        if let Some(index) = self.lengths.longest() {
            let tid = TidId(self.flows[index as usize].owner);
            self.drop_head(tid, index, DropReason::FattestFlow);
            self.release_if_empty(tid);
        }
    }

    /// Drops the packet at the head of a queue of `tid`. Returns whether there was one.
    fn drop_head(&mut self, tid: TidId, index: u32, reason: DropReason) -> bool {
        let Some(queued) = self.pop(index) else {
            return false;
        };
        let bytes = queued.packet.bytes();
        self.ledger.drop(reason, bytes, (tid, queued.packet));
        true
    }

    /// Drops all packets of `tid`, whose station has left the network.
    pub fn flush(&mut self, tid: TidId) {
        self.ledger.begin();
        while let Some(index) = self.tids[tid.0 as usize]
            .lists
            .remove_first(&mut self.turns)
        {
            while self.drop_head(tid, index, DropReason::Gone) {}
            self.retire(index);
        }
    }

    /// Releases the queues of a TID without packets. Each was listed because of a packet, so this
    /// costs a fixed time per packet.
    fn release_if_empty(&mut self, tid: TidId) {
        let tid = tid.0 as usize;
        if self.tids[tid].len == 0 {
            while let Some(index) = self.tids[tid].lists.remove_first(&mut self.turns) {
                self.retire(index);
            }
        }
    }

    /// Reports that queue `index` is idle. An overflow queue is released.
    fn retire(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        flow.law.on_empty();
        if index >= self.config.queues {
            self.tids[flow.owner as usize].overflow = NONE;
            flow.owner = NONE;
            self.spare.push(index);
        }
    }

    /// Returns a packet that the last call dropped, with its TID.
    pub fn poll_drop(&mut self) -> Option<(TidId, Dropped<P>)> {
        let Dropped {
            reason,
            packet: (tid, packet),
        } = self.ledger.poll_drop()?;
        Some((tid, Dropped { reason, packet }))
    }

    /// When the packet of `tid` that is next in turn arrived.
    #[must_use]
    pub fn head_since(&self, tid: TidId) -> Option<Time> {
        // Queues that have run empty stay in the lists until their turn comes.
        let mut order = self.tids[tid.0 as usize].lists.iter(&self.turns);
        order
            .find_map(|index| self.store.front(&self.flows[index as usize].list))
            .map(|head| head.since)
    }

    /// Number of packets of `tid` in the queues.
    #[must_use]
    pub fn len(&self, tid: TidId) -> usize {
        self.tids[tid.0 as usize].len as usize
    }

    /// Whether `tid` has no packets in the queues.
    #[must_use]
    pub fn is_empty(&self, tid: TidId) -> bool {
        self.len(tid) == 0
    }

    /// Bytes of `tid` in the queues.
    #[must_use]
    pub fn bytes(&self, tid: TidId) -> u64 {
        self.tids[tid.0 as usize].bytes
    }

    /// Number of packets of all TIDs in the queues.
    #[must_use]
    pub const fn total_len(&self) -> usize {
        self.len as usize
    }

    /// Bytes of all TIDs in the queues.
    #[must_use]
    pub const fn total_bytes(&self) -> u64 {
        self.bytes
    }

    /// The parameters, after clamping.
    #[must_use]
    pub const fn config(&self) -> &FqMacConfig {
        &self.config
    }

    /// The counters since the queues were created.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.ledger.counters
    }
}

impl Flow {
    /// Assigns an idle queue to `tid`. CoDel's state is reset if it comes from another TID's
    /// packets.
    fn give_to(&mut self, tid: TidId) {
        if self.owner != tid.0 {
            self.owner = tid.0;
            self.law = CoDel::NEW;
        }
    }
}

/// The number of bytes that a packet adds to the length of its queue and to the memory in use.
const fn weight(bytes: u32) -> u64 {
    if bytes < MIN_WEIGHT {
        MIN_WEIGHT as u64
    } else {
        bytes as u64
    }
}

#[cfg(test)]
mod tests;
