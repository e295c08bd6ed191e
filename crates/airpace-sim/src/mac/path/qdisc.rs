//! The queueing discipline above a driver's queue.

use super::Qdisc;
use crate::mac::ids::LaneId;
use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;
use airpace_core::queue::{CoDelQueue, Dropped, Fifo, FqCoDel, Limits};
use airpace_units::Time;
use core::hash::Hasher;

/// A packet with the lane for which it is.
#[derive(Clone, Debug)]
pub(super) struct Addressed<P> {
    pub(super) lane: LaneId,
    pub(super) packet: P,
}

impl<P: Packet> Packet for Addressed<P> {
    fn bytes(&self) -> u32 {
        self.packet.bytes()
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        self.packet.hash_flow(state);
    }

    fn mark_ce(&mut self) -> bool {
        self.packet.mark_ce()
    }

    fn category(&self) -> AccessCategory {
        self.packet.category()
    }
}

/// A queueing discipline with its packets.
#[derive(Debug)]
pub(super) enum Discipline<P> {
    Fifo(Fifo<Addressed<P>>),
    Codel(Box<CoDelQueue<Addressed<P>>>),
    FqCodel(Box<FqCoDel<Addressed<P>>>),
}

impl<P: Packet> Discipline<P> {
    pub(super) fn new(config: Qdisc, key: [u8; 16]) -> Self {
        match config {
            Qdisc::Fifo { packets } => Self::Fifo(Fifo::new(Limits::packets(packets))),
            Qdisc::Codel { config, packets } => {
                Self::Codel(Box::new(CoDelQueue::new(config, Limits::packets(packets))))
            }
            Qdisc::FqCodel(config) => Self::FqCodel(Box::new(FqCoDel::new(config, key))),
        }
    }

    pub(super) fn enqueue(&mut self, now: Time, packet: Addressed<P>) {
        match self {
            Self::Fifo(queue) => {
                queue.enqueue(now, packet);
            }
            Self::Codel(queue) => {
                queue.enqueue(now, packet);
            }
            Self::FqCodel(queue) => queue.enqueue(now, packet),
        }
    }

    pub(super) fn dequeue(&mut self, now: Time) -> Option<Addressed<P>> {
        match self {
            Self::Fifo(queue) => queue.dequeue(now),
            Self::Codel(queue) => queue.dequeue(now),
            Self::FqCodel(queue) => queue.dequeue(now),
        }
    }

    /// A packet that the last call dropped.
    pub(super) fn poll_drop(&mut self) -> Option<Dropped<Addressed<P>>> {
        match self {
            Self::Fifo(queue) => queue.poll_drop(),
            Self::Codel(queue) => queue.poll_drop(),
            Self::FqCodel(queue) => queue.poll_drop(),
        }
    }

    pub(super) const fn bytes(&self) -> u64 {
        match self {
            Self::Fifo(queue) => queue.bytes(),
            Self::Codel(queue) => queue.bytes(),
            Self::FqCodel(queue) => queue.bytes(),
        }
    }

    pub(super) fn set_limit(&mut self, packets: u32) {
        match self {
            Self::Fifo(queue) => queue.set_limits(Limits::packets(packets as usize)),
            Self::Codel(queue) => queue.set_limits(Limits::packets(packets as usize)),
            Self::FqCodel(queue) => queue.set_packet_limit(packets),
        }
    }
}
