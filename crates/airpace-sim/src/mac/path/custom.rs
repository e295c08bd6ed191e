//! Queues of the user's own in the place of those that the MAC has.
//!
//! The MAC keeps the packets and hands the queue a small record of each. The queue decides in which
//! order they leave, which are dropped and which are marked; so it need not know what the packets
//! are.

use super::Backlog;
use crate::mac::RadioId;
use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;
use airpace_core::queue::{DropReason, Dropped};
use airpace_units::Time;
use core::fmt;
use core::hash::Hasher;
use siphasher::sip::SipHasher13;
use std::collections::VecDeque;
use std::sync::Arc;

/// The queue of one link and access category, in which packets wait until a frame is composed of
/// them.
///
/// ```
/// use airpace_sim::mac::{PacketStore, PathConfig, QueueSite, QueuedPacket, TransmitQueue};
/// use airpace_units::Time;
///
/// /// Last in, first out.
/// #[derive(Default)]
/// struct Lifo(Vec<QueuedPacket>);
///
/// impl TransmitQueue for Lifo {
///     fn enqueue(&mut self, _now: Time, packet: QueuedPacket, _store: &mut dyn PacketStore) {
///         self.0.push(packet);
///     }
///
///     fn dequeue(&mut self, _now: Time, _store: &mut dyn PacketStore) -> Option<QueuedPacket> {
///         self.0.pop()
///     }
/// }
///
/// let path = PathConfig::custom(|_: &QueueSite| Box::new(Lifo::default()) as Box<dyn TransmitQueue>);
/// ```
pub trait TransmitQueue: Send {
    /// Takes a packet. A queue that is full drops this packet or another one by
    /// [`PacketStore::discard`]; nothing else bounds it.
    fn enqueue(&mut self, now: Time, packet: QueuedPacket, store: &mut dyn PacketStore);

    /// Gives the packet that is sent next. It may drop and mark packets before that.
    ///
    /// A queue that gives `None` although it holds packets is not asked again before the next
    /// packet comes.
    fn dequeue(&mut self, now: Time, store: &mut dyn PacketStore) -> Option<QueuedPacket>;
}

/// What a [`TransmitQueue`] may do to packets that it was given.
pub trait PacketStore {
    /// Drops a packet; the caller of the MAC is told, with the reason.
    fn discard(&mut self, packet: QueuedPacket, reason: DropReason);

    /// Marks a packet Congestion Experienced. Returns false, and does nothing, if its transport
    /// takes no part in ECN (RFC 3168).
    fn mark(&mut self, packet: &QueuedPacket) -> bool;
}

/// A packet that a [`TransmitQueue`] holds. Whoever loses it loses the packet: it is never sent,
/// and counts as waiting for ever.
#[derive(Debug)]
pub struct QueuedPacket {
    slot: usize,
    number: u64,
    bytes: u32,
    flow: u64,
    came: Time,
}

impl QueuedPacket {
    /// Length in bytes, IP header included.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// A keyed hash of the packet's flow: equal for packets of one flow, and different for nearly
    /// all others.
    #[must_use]
    pub const fn flow(&self) -> u64 {
        self.flow
    }

    /// When the packet came.
    #[must_use]
    pub const fn came(&self) -> Time {
        self.came
    }
}

/// What a queue is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueSite {
    /// The radio that sends.
    pub sender: RadioId,
    /// The radio that its packets are for.
    pub receiver: RadioId,
    /// Their access category.
    pub category: AccessCategory,
}

/// Builds the queues of a radio, one for each link and access category in which anything is sent.
///
/// Functions of a [`QueueSite`] that return a boxed queue are factories. Queues of one factory may
/// share state, such as a common limit.
pub trait QueueFactory: Send + Sync {
    /// Builds an empty queue.
    fn build(&self, site: &QueueSite) -> Box<dyn TransmitQueue>;

    /// A name for debug output; the type's by default.
    fn name(&self) -> &str {
        core::any::type_name::<Self>()
    }
}

impl<F: Fn(&QueueSite) -> Box<dyn TransmitQueue> + Send + Sync> QueueFactory for F {
    fn build(&self, site: &QueueSite) -> Box<dyn TransmitQueue> {
        self(site)
    }
}

/// A [`QueueFactory`] in a configuration. Clones share the factory; two are equal if they share it.
#[derive(Clone)]
pub struct CustomQueues(Arc<dyn QueueFactory>);

impl CustomQueues {
    /// The queues that `factory` builds.
    #[must_use]
    pub fn new(factory: impl QueueFactory + 'static) -> Self {
        Self(Arc::new(factory))
    }

    pub(super) fn build(&self, site: &QueueSite) -> Box<dyn TransmitQueue> {
        self.0.build(site)
    }
}

impl PartialEq for CustomQueues {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for CustomQueues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomQueues").field(&self.0.name()).finish()
    }
}

/// A queue of the user's own at work, with the packets that it decides on.
pub(super) struct CustomQueue<P> {
    queue: Box<dyn TransmitQueue>,
    store: Store<P>,
    key: [u8; 16],
    /// The queue has given nothing since the last packet came.
    refused: bool,
}

impl<P: Packet> CustomQueue<P> {
    /// `key` is the key of the hash that tells flows apart.
    pub(super) fn new(queue: Box<dyn TransmitQueue>, key: [u8; 16]) -> Self {
        Self {
            queue,
            store: Store {
                slots: Vec::new(),
                free: Vec::new(),
                arrivals: VecDeque::new(),
                next_number: 0,
                backlog: Backlog::default(),
                drops: VecDeque::new(),
            },
            key,
            refused: false,
        }
    }

    pub(super) fn enqueue(&mut self, now: Time, packet: P) {
        let mut hasher = SipHasher13::new_with_key(&self.key);
        packet.hash_flow(&mut hasher);
        let queued = self.store.insert(now, packet, hasher.finish());
        self.refused = false;
        self.queue.enqueue(now, queued, &mut self.store);
    }

    /// Takes the next packet, with the time at which it came.
    pub(super) fn dequeue(&mut self, now: Time) -> Option<(Time, P)> {
        let given = self.queue.dequeue(now, &mut self.store);
        self.refused = given.is_none();
        let parked = self.store.remove(&given?)?;
        Some((parked.came, parked.packet))
    }

    /// Whether the queue has a packet to give, as far as is known.
    pub(super) const fn may_give(&self) -> bool {
        self.store.backlog.packets > 0 && !self.refused
    }

    /// A packet that the queue dropped.
    pub(super) fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.store.drops.pop_front()
    }

    /// What the queue holds.
    pub(super) const fn backlog(&self) -> Backlog {
        self.store.backlog
    }

    /// When the oldest packet came.
    pub(super) fn oldest(&self) -> Option<Time> {
        let &(slot, _) = self.store.arrivals.front()?;
        let parked = self.store.slots.get(slot)?.as_ref()?;
        Some(parked.came)
    }
}

impl<P> fmt::Debug for CustomQueue<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomQueue")
            .field("backlog", &self.store.backlog)
            .field("refused", &self.refused)
            .finish_non_exhaustive()
    }
}

/// The packets that a queue of the user's own decides on.
struct Store<P> {
    slots: Vec<Option<Parked<P>>>,
    /// Slots without a packet.
    free: Vec<usize>,
    /// Slots and numbers of packets in the order in which they came. The first is always there;
    /// others may be gone.
    arrivals: VecDeque<(usize, u64)>,
    next_number: u64,
    backlog: Backlog,
    drops: VecDeque<Dropped<P>>,
}

/// A packet in its slot.
struct Parked<P> {
    packet: P,
    came: Time,
    /// Tells it from packets that had the slot before.
    number: u64,
}

impl<P: Packet> Store<P> {
    fn insert(&mut self, now: Time, packet: P, flow: u64) -> QueuedPacket {
        let (bytes, number) = (packet.bytes(), self.next_number);
        let slot = self.free.pop().unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[slot] = Some(Parked {
            packet,
            came: now,
            number,
        });
        self.next_number += 1;
        self.arrivals.push_back((slot, number));
        self.backlog.add(bytes);
        QueuedPacket {
            slot,
            number,
            bytes,
            flow,
            came: now,
        }
    }

    /// The packet that a record stands for; `None` for a record that comes from another queue.
    fn remove(&mut self, queued: &QueuedPacket) -> Option<Parked<P>> {
        let slot = self.slots.get_mut(queued.slot)?;
        let parked = slot.take_if(|parked| parked.number == queued.number)?;
        self.free.push(queued.slot);
        self.backlog.remove(parked.packet.bytes());
        while let Some(&(slot, number)) = self.arrivals.front() {
            let there = self.slots[slot].as_ref();
            if there.is_some_and(|parked| parked.number == number) {
                break;
            }
            self.arrivals.pop_front();
        }
        Some(parked)
    }
}

impl<P: Packet> PacketStore for Store<P> {
    fn discard(&mut self, packet: QueuedPacket, reason: DropReason) {
        if let Some(Parked { packet, .. }) = self.remove(&packet) {
            self.drops.push_back(Dropped { reason, packet });
        }
    }

    fn mark(&mut self, packet: &QueuedPacket) -> bool {
        match self.slots.get_mut(packet.slot) {
            Some(Some(parked)) if parked.number == packet.number => parked.packet.mark_ce(),
            _ => false,
        }
    }
}
