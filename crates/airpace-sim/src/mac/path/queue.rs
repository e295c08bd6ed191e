//! What packets of one link and category wait in, and where a frame takes its packets from.

use super::super::frame::{Limits, next_mpdu};
use airpace_core::packet::Packet;
use airpace_core::phy::mpdu_bytes;
use airpace_core::queue::{Dropped, FqMac, TidId};
use airpace_units::{BitRate, Time};
use std::collections::VecDeque;

/// Where a frame takes its packets from.
pub(in crate::mac) trait Feed<P> {
    /// The MPDU that the next packets make; see [`next_mpdu`].
    fn next_mpdu(&mut self, limits: &Limits, room: u32) -> Option<(u32, u16)>;

    /// Takes the next packet, with the time at which it came.
    fn pop(&mut self) -> Option<(Time, P)>;
}

/// Packets that wait for one link, each with the time at which it came.
#[derive(Debug)]
pub(in crate::mac) struct Queue<P> {
    packets: VecDeque<(Time, P)>,
    bytes: u64,
}

impl<P: Packet> Queue<P> {
    pub(super) const fn new() -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: 0,
        }
    }

    pub(super) fn push(&mut self, came: Time, packet: P) {
        self.bytes += u64::from(packet.bytes());
        self.packets.push_back((came, packet));
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When the first packet came.
    pub(super) fn oldest(&self) -> Option<Time> {
        self.packets.front().map(|(came, _)| *came)
    }
}

impl<P: Packet> Feed<P> for Queue<P> {
    fn next_mpdu(&mut self, limits: &Limits, room: u32) -> Option<(u32, u16)> {
        let (_, first) = self.packets.front()?;
        if limits.amsdu == 0 {
            return Some((mpdu_bytes(first.bytes()), 1));
        }
        next_mpdu(self.packets.iter().map(|(_, packet)| packet), limits, room)
    }

    fn pop(&mut self) -> Option<(Time, P)> {
        let (came, packet) = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes());
        Some((came, packet))
    }
}

/// Flow queues that all links and categories of a radio share.
#[derive(Debug)]
pub(in crate::mac) struct Pool<P> {
    pub(super) queues: FqMac<P>,
    /// Category and lane that each TID is of.
    tids: Vec<(u8, u32)>,
    drops: VecDeque<(TidId, Dropped<P>)>,
}

impl<P: Packet> Pool<P> {
    pub(super) const fn new(queues: FqMac<P>) -> Self {
        Self {
            queues,
            tids: Vec::new(),
            drops: VecDeque::new(),
        }
    }

    /// A TID for a lane; TIDs of one station share the parameters of CoDel.
    pub(in crate::mac) fn add(&mut self, category: u8, lane: u32, station: u32) -> TidId {
        self.tids.push((category, lane));
        self.queues.add_tid(station)
    }

    pub(super) fn enqueue(&mut self, now: Time, tid: TidId, packet: P) {
        self.queues.enqueue(now, tid, packet);
        self.collect();
    }

    /// What a station is expected to get chooses the parameters of CoDel for it.
    pub(in crate::mac) fn expect(&mut self, now: Time, station: u32, throughput: BitRate) {
        self.queues
            .set_expected_throughput(now, station, throughput);
    }

    /// Drops are forgotten by the next call, so they are kept here.
    fn collect(&mut self) {
        self.drops
            .extend(core::iter::from_fn(|| self.queues.poll_drop()));
    }

    /// A packet that was dropped, with its category and lane.
    pub(in crate::mac) fn poll_drop(&mut self) -> Option<(u8, u32, Dropped<P>)> {
        let (tid, dropped) = self.drops.pop_front()?;
        let &(category, lane) = self.tids.get(tid.index())?;
        Some((category, lane, dropped))
    }

    /// Packets that wait in the flow queues.
    pub(in crate::mac) fn len(&self) -> usize {
        self.queues.total_len()
    }
}

/// The packets of one TID, those first that were taken from its flow queues before and did not fit a frame.
pub(super) struct Pooled<'a, P> {
    pub(super) staged: &'a mut Queue<P>,
    pub(super) pool: &'a mut Pool<P>,
    pub(super) tid: TidId,
    pub(super) now: Time,
}

impl<P: Packet> Pooled<'_, P> {
    /// Takes one more packet out of the flow queues.
    fn stage(&mut self) -> bool {
        let taken = self.pool.queues.dequeue(self.now, self.tid);
        self.pool.collect();
        let some = taken.is_some();
        if let Some((came, packet)) = taken {
            self.staged.push(came, packet);
        }
        some
    }
}

impl<P: Packet> Feed<P> for Pooled<'_, P> {
    fn next_mpdu(&mut self, limits: &Limits, room: u32) -> Option<(u32, u16)> {
        if self.staged.len() == 0 && !self.stage() {
            return None;
        }
        loop {
            let mpdu = self.staged.next_mpdu(limits, room)?;
            // An A-MSDU of all that is staged may have room for more.
            let all = limits.amsdu > 0 && usize::from(mpdu.1) == self.staged.len();
            if !all || !self.stage() {
                return Some(mpdu);
            }
        }
    }

    fn pop(&mut self) -> Option<(Time, P)> {
        self.staged.pop()
    }
}
