//! The transmit path of one access category of one radio: from the packet that is handed down to the frame that is built.
//!
//! Today that is a first-in-first-out queue per link and a [`Schedule`] over the links. What a later path needs (a queueing
//! discipline, a driver queue, flow queues per link, a hardware queue) replaces [`Queue`] and the order here: contention, frames
//! and windows know no more of them than [`Path::next`], [`Queue::next_mpdu`] and [`Queue::pop`].

use super::frame::{Limits, next_mpdu};
use super::window::Window;
use super::{QueueLimit, QueueScope, Schedule};
use airpace_core::packet::Packet;
use airpace_core::phy::mpdu_bytes;
use airpace_core::queue::{DropReason, Dropped};
use airpace_units::Time;
use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Packets that wait for one link, each with the time at which it came.
#[derive(Debug)]
pub(super) struct Queue<P> {
    packets: VecDeque<(Time, P)>,
    bytes: u64,
    peak: usize,
}

impl<P: Packet> Queue<P> {
    fn push(&mut self, now: Time, packet: P) {
        self.bytes += u64::from(packet.bytes());
        self.packets.push_back((now, packet));
        self.peak = self.peak.max(self.packets.len());
    }

    /// The MPDU that the next packets make; see [`next_mpdu`].
    pub(super) fn next_mpdu(&self, limits: &Limits, room: u32) -> Option<(u32, u16)> {
        let (_, first) = self.packets.front()?;
        if limits.amsdu == 0 {
            return Some((mpdu_bytes(first.bytes()), 1));
        }
        next_mpdu(self.packets.iter().map(|(_, packet)| packet), limits, room)
    }

    /// Takes the next packet.
    pub(super) fn pop(&mut self) -> Option<(Time, P)> {
        let (came, packet) = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes());
        Some((came, packet))
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The longest the queue has been since this was last asked.
    pub(super) fn take_peak(&mut self) -> usize {
        core::mem::replace(&mut self.peak, self.packets.len())
    }
}

/// What a link has in one category.
#[derive(Debug)]
pub(super) struct Lane<P> {
    pub(super) link: u32,
    pub(super) queue: Queue<P>,
    pub(super) window: Window<P>,
    /// Packets that count against a limit per link.
    held: usize,
    /// Whether it stands in the order, or is being served.
    listed: bool,
}

impl<P: Packet + Clone> Lane<P> {
    fn has_work(&self) -> bool {
        self.queue.len() > 0 || !self.window.is_empty()
    }

    /// When the oldest of its packets came.
    fn oldest(&self) -> Time {
        let queued = self.queue.packets.front().map(|(came, _)| *came);
        self.window.oldest().or(queued).unwrap_or_default()
    }
}

/// Lanes with work, in the order in which they are served.
#[derive(Debug)]
enum Order {
    Ring(VecDeque<u32>),
    Oldest(BinaryHeap<Reverse<(Time, u32)>>),
}

#[derive(Debug)]
pub(super) struct Path<P> {
    limit: QueueLimit,
    lanes: Vec<Lane<P>>,
    order: Order,
    /// Packets that count against a limit for all links.
    held: usize,
    /// A lane is being served.
    serving: bool,
}

impl<P: Packet + Clone> Path<P> {
    pub(super) const fn new(limit: QueueLimit, schedule: Schedule) -> Self {
        let order = match schedule {
            Schedule::RoundRobin => Order::Ring(VecDeque::new()),
            Schedule::OldestFirst => Order::Oldest(BinaryHeap::new()),
        };
        Self { limit, lanes: Vec::new(), order, held: 0, serving: false }
    }

    /// A lane for a link that had none.
    pub(super) fn add_lane(&mut self, link: u32) -> u32 {
        let queue = Queue { packets: VecDeque::new(), bytes: 0, peak: 0 };
        self.lanes.push(Lane { link, queue, window: Window::new(), held: 0, listed: false });
        // There are fewer than 2^16 receivers.
        self.lanes.len() as u32 - 1
    }

    pub(super) fn lane(&self, lane: u32) -> &Lane<P> {
        &self.lanes[lane as usize]
    }

    pub(super) fn lane_mut(&mut self, lane: u32) -> &mut Lane<P> {
        &mut self.lanes[lane as usize]
    }

    /// Takes a packet for a lane, or hands back what is dropped for it.
    pub(super) fn push(&mut self, now: Time, index: u32, packet: P) -> Result<(), Dropped<P>> {
        let lane = &mut self.lanes[index as usize];
        let held = match self.limit.scope {
            QueueScope::Link => lane.held,
            QueueScope::Radio => self.held,
        };
        if held >= self.limit.packets {
            return Err(Dropped { reason: DropReason::PacketLimit, packet });
        }
        lane.held += 1;
        self.held += 1;
        lane.queue.push(now, packet);
        if !core::mem::replace(&mut lane.listed, true) {
            match &mut self.order {
                Order::Ring(ring) => ring.push_back(index),
                Order::Oldest(heap) => heap.push(Reverse((now, index))),
            }
        }
        Ok(())
    }

    /// Whether a lane waits to be served.
    pub(super) fn has_work(&self) -> bool {
        match &self.order {
            Order::Ring(ring) => !ring.is_empty(),
            Order::Oldest(heap) => !heap.is_empty(),
        }
    }

    /// Whether no lane waits, nor is being served.
    pub(super) fn is_idle(&self) -> bool {
        !self.serving && !self.has_work()
    }

    /// The lane that would be served next.
    pub(super) fn peek(&self) -> Option<u32> {
        match &self.order {
            Order::Ring(ring) => ring.front().copied(),
            Order::Oldest(heap) => heap.peek().map(|Reverse((_, lane))| *lane),
        }
    }

    /// The lane to serve now. It stands in the order no longer, until [`Path::served`].
    pub(super) fn next(&mut self) -> Option<u32> {
        let next = match &mut self.order {
            Order::Ring(ring) => ring.pop_front(),
            Order::Oldest(heap) => heap.pop().map(|Reverse((_, lane))| lane),
        };
        self.serving = next.is_some();
        next
    }

    /// A frame of a lane was built: `packets` have left its queue.
    pub(super) fn took(&mut self, lane: u32, packets: usize) {
        if !self.limit.in_flight {
            self.leave(lane, packets);
        }
    }

    /// `packets` of a lane were acknowledged or given up.
    pub(super) fn settled(&mut self, lane: u32, packets: usize) {
        if self.limit.in_flight {
            self.leave(lane, packets);
        }
    }

    fn leave(&mut self, lane: u32, packets: usize) {
        self.lanes[lane as usize].held -= packets;
        self.held -= packets;
    }

    /// A lane was served. Without work it leaves the order; if it was served to the end it goes to the tail, else it keeps its turn.
    pub(super) fn served(&mut self, index: u32, done: bool) {
        self.serving = false;
        let lane = &mut self.lanes[index as usize];
        lane.listed = lane.has_work();
        if !lane.listed {
            return;
        }
        match &mut self.order {
            Order::Ring(ring) if done => ring.push_back(index),
            Order::Ring(ring) => ring.push_front(index),
            Order::Oldest(heap) => heap.push(Reverse((lane.oldest(), index))),
        }
    }

    /// Packets that wait or are in flight.
    pub(super) fn inside(&self) -> usize {
        self.lanes.iter().map(|lane| lane.queue.len() + lane.window.in_flight()).sum()
    }
}
