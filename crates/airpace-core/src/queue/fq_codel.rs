use super::codel::{CoDel, CoDelConfig};
use super::counters::Ledger;
use super::flow_hash::FlowHash;
use super::longest::Longest;
use super::schedule::{Lists, Turns};
use super::store::{List, Store};
use super::{Counters, DropReason, Dropped};
use crate::packet::Packet;
use airpace_units::Time;
use core::time::Duration;
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

/// The smallest quantum. Below it a large packet would cost many turns of the scheduler (the same
/// value as in Linux).
const MIN_QUANTUM: u32 = 256;
/// Most bytes that one acknowledgement is taken to acknowledge: receivers that merge segments (GRO) or
/// thin their acknowledgements cover up to 64 KiB with one.
const MOST_ACKNOWLEDGED: u32 = 1 << 16;
/// A number that is ahead of the last one by more than this is that of another connection in the same queue.
/// Most send windows are smaller.
const SAME_CONNECTION: u32 = 1 << 24;

/// When an empty queue of [`FqCoDel`] leaves the lists. Displayed, parsed and listed (`strum`) in
/// kebab case.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
    // By its path, because the trait has a constant of the same name as `VariantArray`.
    strum::VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Leaving {
    /// After a round in which it has sent nothing, so that no timing gains a share.
    #[default]
    AfterIdleRound,
    /// As in RFC 8290 §4.2 and Linux: an old queue at once.
    AtOnce,
}

/// Whose bytes must exceed [`CoDelConfig::mtu`] for a standing queue in [`FqCoDel`]. Displayed, parsed
/// and listed (`strum`) in kebab case.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
    // By its path, because the trait has a constant of the same name as `VariantArray`.
    strum::VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Backlog {
    /// Those of the queue from which the packet came, so that a flow loses nothing for what others
    /// have waiting.
    #[default]
    Flow,
    /// Those of all queues, as in Linux (`fq_codel_dequeue`).
    All,
}

/// Parameters of [`FqCoDel`]. Defaults are those of RFC 8290 §5.2, but for `leaving`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FqCoDelConfig {
    /// Number of queues that flows are hashed to, 1 to 65,536. Default 1024.
    pub queues: u32,
    /// Bytes that a queue may send per turn, at least 256. Default 1514.
    pub quantum: u32,
    /// Packets that all queues may hold together. Default 10,240.
    pub packet_limit: u32,
    /// Bytes that all queues may hold together. Default 32 MiB.
    pub byte_limit: u64,
    /// Largest number of packets dropped in one batch when a limit is exceeded, at least 1. Default
    /// 64.
    pub drop_batch: u32,
    /// Parameters of CoDel in each queue.
    pub codel: CoDelConfig,
    /// When an empty queue leaves the lists. Default [`Leaving::AfterIdleRound`].
    pub leaving: Leaving,
    /// Whose bytes make a standing queue. Default [`Backlog::Flow`].
    pub backlog: Backlog,
    /// Whether a TCP acknowledgement costs its queue's turn the bytes that it acknowledges for the first
    /// time as well. Where what it permits shares the medium with the other flows, as on Wi-Fi, a station's
    /// upload then has the share of a download; otherwise it takes what it can, since the acknowledgements
    /// themselves are small. Default: no.
    pub charge_acknowledged: bool,
}

impl Default for FqCoDelConfig {
    fn default() -> Self {
        Self {
            queues: 1024,
            quantum: 1514,
            packet_limit: 10_240,
            byte_limit: 32 << 20,
            drop_batch: 64,
            codel: CoDelConfig::default(),
            leaving: Leaving::default(),
            backlog: Backlog::default(),
            charge_acknowledged: false,
        }
    }
}

/// From which queue of [`FqCoDel`] a packet came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Served {
    /// Number of the queue, below [`FqCoDelConfig::queues`].
    pub queue: u32,
    /// Whether it was one of the new queues, which have precedence: its flow was idle before, and
    /// has not used up its quantum.
    pub is_new: bool,
    /// Bytes that the packet acknowledges for the first time, if acknowledgements are charged; 0 for one
    /// of the low-latency queue of a [`DualQueue`](super::DualQueue), which is not charged.
    pub acknowledged_bytes: u32,
}

/// One queue: the packets of the flows that hash to it.
#[derive(Clone, Debug)]
struct Flow {
    list: List,
    law: CoDel,
    /// The last acknowledgement number that was sent, if acknowledgements are charged.
    acknowledged: Option<u32>,
}

impl Flow {
    /// Bytes that an acknowledgement which is sent acknowledges for the first time, at most
    /// [`MOST_ACKNOWLEDGED`]: the next one after others were dropped acknowledges what they did as well. A
    /// number of another connection in the same queue acknowledges nothing.
    fn acknowledge(&mut self, number: u32) -> u32 {
        let Some(before) = self.acknowledged else {
            self.acknowledged = Some(number);
            return 0;
        };
        let (ahead, behind) = (number.wrapping_sub(before), before.wrapping_sub(number));
        // The acknowledgement has been overtaken.
        if behind <= SAME_CONNECTION {
            return 0;
        }
        self.acknowledged = Some(number);
        if ahead <= SAME_CONNECTION {
            ahead.min(MOST_ACKNOWLEDGED)
        } else {
            0
        }
    }
}

/// FQ-CoDel (RFC 8290): flows are hashed to queues, queues are served by deficit round robin with
/// precedence for those that have just become busy (sparse flows), and CoDel manages each queue.
///
/// By default it departs from the RFC in one point: a queue leaves the lists only after a round in
/// which it has sent nothing, because a sender can exploit it if queues leave at once
/// (`docs/design/fq-mac.md`). [`Leaving::AtOnce`] is the RFC's way.
#[derive(Clone, Debug)]
pub struct FqCoDel<P> {
    config: FqCoDelConfig,
    hash: FlowHash,
    flows: Vec<Flow>,
    /// Bytes in each queue.
    backlogs: Longest,
    turns: Turns,
    lists: Lists,
    served: Served,
    store: Store<P>,
    /// Number of queues that hold packets.
    busy: u32,
    len: u32,
    bytes: u64,
    pub(super) ledger: Ledger<P>,
}

/// Packets and bytes that wait in a queue which shares the limits of an [`FqCoDel`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    pub(super) packets: u32,
    pub(super) bytes: u64,
}

impl<P: Packet> FqCoDel<P> {
    /// An empty queue. `key` must be secret: a sender who knows it can aim packets at another
    /// flow's queue.
    ///
    /// Parameters outside their ranges are clamped to them.
    #[must_use]
    pub fn new(config: FqCoDelConfig, key: [u8; 16]) -> Self {
        let queues = config.queues.clamp(1, 1 << 16);
        let flow = Flow {
            list: List::EMPTY,
            law: CoDel::default(),
            acknowledged: None,
        };
        Self {
            config,
            hash: FlowHash::new(key),
            flows: vec![flow; queues as usize],
            backlogs: Longest::new(queues),
            turns: Turns::new(queues, config.quantum.max(MIN_QUANTUM)),
            lists: Lists::EMPTY,
            served: Served::default(),
            store: Store::new(),
            busy: 0,
            len: 0,
            bytes: 0,
            ledger: Ledger::new(),
        }
    }

    /// Appends `packet` to its flow's queue. If that exceeds a limit, packets of the fattest flow
    /// are dropped, possibly this one.
    pub fn enqueue(&mut self, now: Time, packet: P) {
        self.ledger.begin();
        let index = self.classify(&packet);
        self.enqueue_to(now, index, packet, Beside::default());
    }

    /// Appends `packet` to queue `index`, which [`FqCoDel::classify`] has found, while `beside`
    /// waits elsewhere within the same limits. The caller has begun the call in the ledger.
    pub(super) fn enqueue_to(&mut self, now: Time, index: u32, packet: P, beside: Beside) {
        let bytes = packet.bytes();
        self.ledger.offer(bytes);
        let flow = &mut self.flows[index as usize];
        self.busy += u32::from(flow.list.len() == 0);
        self.store.push(&mut flow.list, now, packet);
        self.backlogs
            .set(index, self.backlogs.length(index) + weight(bytes));
        self.len += 1;
        self.bytes += u64::from(bytes);
        self.lists.wake(&mut self.turns, index);
        self.make_room(beside);
    }

    /// Drops packets of the fattest flows until the limits hold while `beside` waits elsewhere.
    pub(super) fn make_room(&mut self, beside: Beside) {
        // An empty set of queues frees nothing, however much waits beside it.
        while self.len > 0 && self.over_limits(beside) {
            self.drop_from_fattest();
        }
    }

    /// Removes and returns the next packet in turn that CoDel does not drop.
    pub fn dequeue(&mut self, now: Time) -> Option<P> {
        self.dequeue_with_sojourn(now).map(|(packet, _)| packet)
    }

    /// Like [`FqCoDel::dequeue`], with the time for which the packet has waited.
    pub fn dequeue_with_sojourn(&mut self, now: Time) -> Option<(P, Duration)> {
        self.ledger.begin();
        self.next_in_turn(now)
    }

    /// Like [`FqCoDel::dequeue_with_sojourn`], in a call that the caller has begun in the ledger.
    pub(super) fn next_in_turn(&mut self, now: Time) -> Option<(P, Duration)> {
        while let Some(index) = self.lists.current(&mut self.turns) {
            let is_new = self.lists.serves_new();
            match self.dequeue_from(index, now) {
                Some((packet, sojourn)) => {
                    let acknowledged_bytes = self.acknowledged_bytes(index, &packet);
                    self.turns
                        .charge(index, packet.bytes().saturating_add(acknowledged_bytes));
                    self.served = Served {
                        queue: index,
                        is_new,
                        acknowledged_bytes,
                    };
                    return Some((packet, sojourn));
                }
                None => {
                    match self.config.leaving {
                        Leaving::AfterIdleRound => self.lists.found_empty(&mut self.turns),
                        Leaving::AtOnce => self.lists.found_empty_as_in_rfc_8290(&mut self.turns),
                    };
                }
            }
        }
        None
    }

    /// Bytes that a packet from queue `index` acknowledges for the first time, as far as they are charged.
    fn acknowledged_bytes(&mut self, index: u32, packet: &P) -> u32 {
        if !self.config.charge_acknowledged {
            return 0;
        }
        packet
            .acknowledges()
            .map_or(0, |number| self.flows[index as usize].acknowledge(number))
    }

    /// Whether the next packet is of a flow that was idle before and has not used up its quantum.
    #[must_use]
    #[inline]
    pub fn is_sparse_next(&self) -> bool {
        self.len > 0 && self.has_sparse()
    }

    fn has_sparse(&self) -> bool {
        self.lists
            .new_queues(&self.turns)
            .any(|index| self.flows[index as usize].list.len() > 0)
    }

    /// From which queue the last packet came that was dequeued.
    #[must_use]
    pub const fn last_served(&self) -> Served {
        self.served
    }

    /// Removes and returns the first packet of a queue that CoDel does not drop, with its sojourn
    /// time.
    fn dequeue_from(&mut self, index: u32, now: Time) -> Option<(P, Duration)> {
        while let Some(mut queued) = self.pop(index) {
            let law = &mut self.flows[index as usize].law;
            let sojourn = now.saturating_since(queued.since);
            let behind = match self.config.backlog {
                Backlog::Flow => self.backlogs.length(index),
                Backlog::All => self.bytes,
            };
            let mark = || queued.packet.mark_ce();
            let verdict = law.judge(now, &self.config.codel, sojourn, behind, mark);
            if let Some(packet) = self
                .ledger
                .settle(verdict, queued.packet.bytes(), queued.packet)
            {
                return Some((packet, sojourn));
            }
        }
        self.flows[index as usize].law.on_empty();
        None
    }

    /// Removes the head of a queue and updates the backlog.
    fn pop(&mut self, index: u32) -> Option<super::fifo::Queued<P>> {
        let list = &mut self.flows[index as usize].list;
        let queued = self.store.pop(list)?;
        self.busy -= u32::from(list.len() == 0);
        let bytes = queued.packet.bytes();
        self.backlogs
            .set(index, self.backlogs.length(index) - weight(bytes));
        self.bytes -= u64::from(bytes);
        self.len -= 1;
        Some(queued)
    }

    /// Drops half of the fattest flow, but at most one batch, from its head (RFC 8290 §4.1.3).
    fn drop_from_fattest(&mut self) {
        let Some(index) = self.backlogs.longest() else {
            return;
        };
        let half = self.backlogs.length(index) / 2;
        let mut dropped = 0;
        while let Some(queued) = self.pop(index) {
            let bytes = queued.packet.bytes();
            self.ledger
                .drop(DropReason::FattestFlow, bytes, queued.packet);
            dropped += 1;
            if dropped >= self.config.drop_batch || self.backlogs.length(index) <= half {
                break;
            }
        }
        // As in Linux, these drops count as signals to the flow.
        self.flows[index as usize].law.strengthen(dropped);
    }

    fn over_limits(&self, beside: Beside) -> bool {
        self.len.saturating_add(beside.packets) > self.config.packet_limit
            || self.bytes.saturating_add(beside.bytes) > self.config.byte_limit
    }

    /// The queue of the packet's flow.
    pub(super) fn classify(&self, packet: &P) -> u32 {
        // The number of queues is at most 65,536.
        self.hash.queue(packet, self.flows.len() as u32)
    }

    /// Changes CoDel's target and interval, for the packets that leave from now on.
    pub fn set_codel(&mut self, target: Duration, interval: Duration) {
        self.config.codel.target = target;
        self.config.codel.interval = interval;
    }

    /// Changes how many packets all queues may hold together. The call itself drops nothing. If
    /// more packets wait, the next arrival drops from the fattest flow until the limit holds, like
    /// any arrival at a full queue. (Dropping arrivals until the backlog has drained, as a FIFO
    /// does, would make sparse flows lose packets for a queue that others have built.)
    pub fn set_packet_limit(&mut self, packets: u32) {
        self.config.packet_limit = packets;
    }

    /// Returns a packet that the last call dropped.
    pub fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.ledger.poll_drop()
    }

    /// How long the head of the queue whose turn it is has waited.
    #[must_use]
    pub fn head_sojourn(&self, now: Time) -> Option<Duration> {
        let flow = &self.flows[self.lists.first()? as usize];
        let head = self.store.front(&flow.list)?;
        Some(now.saturating_since(head.since))
    }

    /// Number of packets in the queues.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Bytes in the queues.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether all queues are empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of queues that hold packets.
    #[must_use]
    pub const fn busy_queues(&self) -> usize {
        self.busy as usize
    }

    /// Number of packets in queue `index`.
    pub(super) fn flow_len(&self, index: u32) -> u32 {
        self.flows[index as usize].list.len()
    }

    /// Number of queues.
    pub(super) fn queues(&self) -> usize {
        self.flows.len()
    }

    /// The parameters.
    #[must_use]
    pub const fn config(&self) -> &FqCoDelConfig {
        &self.config
    }

    /// The counters since the queue was created.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.ledger.counters
    }
}

/// The number of bytes that a packet adds to the backlog of its queue. An empty packet counts as
/// one byte, so that the fattest queue always holds a packet and each batch drop frees something.
const fn weight(bytes: u32) -> u64 {
    if bytes == 0 { 1 } else { bytes as u64 }
}

#[cfg(test)]
mod tests;
