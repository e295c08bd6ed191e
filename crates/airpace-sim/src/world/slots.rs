//! The series of slots: counts per link and node.

use super::statistics::LinkCounts;
use super::{NodeId, Parcel};
use airpace_core::packet::Packet as _;
use airpace_units::Time;
use core::time::Duration;

/// One slot of the whole network.
#[derive(Clone, PartialEq, Debug)]
pub struct SlotRecord {
    /// Its end.
    pub end: Time,
    /// Every directed link of every channel, in the order of the configuration.
    pub links: Vec<LinkSlot>,
    /// Every node, in order.
    pub nodes: Vec<NodeSlot>,
}

/// One directed link in one slot.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LinkSlot {
    /// Frames, MPDUs and airtime.
    pub counts: LinkCounts,
    /// Packets that waited at its sender at the end of the slot.
    pub queued: usize,
}

/// The packets that reached one node in one slot.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct NodeSlot {
    /// Packets of flows that arrived.
    pub received: u32,
    /// Their IP bytes.
    pub bytes: u64,
    /// Sum of their delays.
    pub delay_sum: Duration,
    /// The longest.
    pub delay_max: Duration,
    /// Packets for it that were lost.
    pub lost: u32,
}

/// The slots so far, and the one that runs.
#[derive(Debug)]
pub(super) struct SlotSeries {
    length: Duration,
    /// When the slot that runs ends.
    next: Time,
    nodes: Vec<NodeSlot>,
    pub(super) records: Vec<SlotRecord>,
}

impl SlotSeries {
    /// A series that begins at time zero.
    pub(super) fn new(length: Duration, nodes: u32) -> Self {
        let nodes = vec![NodeSlot::default(); nodes as usize];
        Self {
            length,
            next: Time::ZERO.saturating_add(length),
            nodes,
            records: Vec::new(),
        }
    }

    /// When the slot that runs ends.
    pub(super) const fn next(&self) -> Time {
        self.next
    }

    pub(super) fn on_received(&mut self, now: Time, parcel: &Parcel) {
        let node = &mut self.nodes[parcel.to.0 as usize];
        let delay = now.saturating_since(parcel.sent);
        node.received += 1;
        node.bytes += u64::from(parcel.bytes());
        node.delay_sum += delay;
        node.delay_max = node.delay_max.max(delay);
    }

    pub(super) fn on_lost(&mut self, to: NodeId) {
        self.nodes[to.0 as usize].lost += 1;
    }

    /// Ends the slot, with the counts of every link in it.
    pub(super) fn close(&mut self, links: Vec<LinkSlot>) {
        let nodes = self.nodes.iter_mut().map(core::mem::take).collect();
        self.records.push(SlotRecord {
            end: self.next,
            links,
            nodes,
        });
        self.next = self.next.saturating_add(self.length);
    }
}
