//! Flow queues that all links and access categories of a radio share: 004's FQ-MAC.

use crate::mac::RadioId;
use crate::mac::ids::LaneId;
use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;
use airpace_core::queue::{Dropped, FqMac, FqMacConfig, TidId};
use airpace_units::{BitRate, Time};
use std::collections::VecDeque;

/// The flow queues of a radio. Each lane has a TID in them.
#[derive(Debug)]
pub(in crate::mac) struct FlowQueues<P> {
    queues: FqMac<P>,
    /// The lane of each TID.
    lanes: Vec<(AccessCategory, LaneId)>,
    drops: VecDeque<(TidId, Dropped<P>)>,
}

impl<P: Packet> FlowQueues<P> {
    pub(super) fn new(config: FqMacConfig, key: [u8; 16]) -> Self {
        Self {
            queues: FqMac::new(config, key),
            lanes: Vec::new(),
            drops: VecDeque::new(),
        }
    }

    /// Adds a TID for a lane. TIDs of one receiver share the parameters of CoDel.
    pub(super) fn add(
        &mut self,
        category: AccessCategory,
        lane: LaneId,
        receiver: RadioId,
    ) -> TidId {
        self.lanes.push((category, lane));
        self.queues.add_tid(receiver.0)
    }

    pub(super) fn enqueue(&mut self, now: Time, tid: TidId, packet: P) {
        self.queues.enqueue(now, tid, packet);
        self.collect();
    }

    /// Takes the next packet of a TID, with the time at which it came.
    pub(super) fn dequeue(&mut self, now: Time, tid: TidId) -> Option<(Time, P)> {
        let taken = self.queues.dequeue(now, tid);
        self.collect();
        taken
    }

    /// Sets the throughput that a receiver is expected to get, by which the parameters of CoDel are
    /// chosen for it.
    pub(in crate::mac) fn expect(&mut self, now: Time, receiver: RadioId, throughput: BitRate) {
        self.queues
            .set_expected_throughput(now, receiver.0, throughput);
    }

    /// When the next packet of a TID came.
    pub(super) fn head_since(&self, tid: TidId) -> Option<Time> {
        self.queues.head_since(tid)
    }

    /// Keeps what was dropped: the next call would forget it.
    fn collect(&mut self) {
        while let Some(drop) = self.queues.poll_drop() {
            self.drops.push_back(drop);
        }
    }

    /// A packet that was dropped, with its category and lane.
    pub(super) fn poll_drop(&mut self) -> Option<(AccessCategory, LaneId, Dropped<P>)> {
        let (tid, dropped) = self.drops.pop_front()?;
        let &(category, lane) = self.lanes.get(tid.index())?;
        Some((category, lane, dropped))
    }
}
