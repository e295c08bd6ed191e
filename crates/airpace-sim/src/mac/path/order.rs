//! In which order the lanes of a path are served.

use super::Schedule;
use crate::mac::ids::LaneId;
use airpace_core::queue::{AirtimeConfig, AirtimeFairness};
use airpace_units::Time;
use core::cmp::Reverse;
use core::time::Duration;
use std::collections::{BinaryHeap, VecDeque};

/// Lanes with work, in the order in which they are served. Where airtime is shared out, a lane
/// stays in the order while it is served; otherwise it leaves until it is put back.
#[derive(Debug)]
pub(super) enum Order {
    /// In turn.
    Ring(VecDeque<LaneId>),
    /// By the time at which the oldest packet came.
    Oldest(BinaryHeap<Reverse<(Time, LaneId)>>),
    /// By airtime used.
    Airtime(Box<AirtimeFairness>),
}

impl Order {
    pub(super) fn new(schedule: Schedule, airtime: Option<AirtimeConfig>) -> Self {
        match (airtime, schedule) {
            (Some(config), _) => Self::Airtime(Box::new(AirtimeFairness::new(config))),
            (None, Schedule::RoundRobin) => Self::Ring(VecDeque::new()),
            (None, Schedule::OldestFirst) => Self::Oldest(BinaryHeap::new()),
        }
    }

    /// Adds a lane; lanes are numbered in the order in which they are added.
    pub(super) fn add(&mut self, weight: u16) {
        if let Self::Airtime(fairness) = self {
            fairness.add(weight);
        }
    }

    /// A lane whose oldest packet came at `since` goes to the tail.
    pub(super) fn push(&mut self, lane: LaneId, since: Time) {
        match self {
            Self::Ring(ring) => ring.push_back(lane),
            Self::Oldest(heap) => heap.push(Reverse((since, lane))),
            Self::Airtime(fairness) => fairness.wake(lane.number()),
        }
    }

    /// A lane goes back to where it was taken from.
    pub(super) fn put_back(&mut self, lane: LaneId, since: Time) {
        match self {
            Self::Ring(ring) => ring.push_front(lane),
            Self::Oldest(_) | Self::Airtime(_) => self.push(lane, since),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Ring(ring) => ring.is_empty(),
            Self::Oldest(heap) => heap.is_empty(),
            Self::Airtime(fairness) => fairness.is_empty(),
        }
    }

    /// The lane that would be served next.
    pub(super) fn peek(&mut self) -> Option<LaneId> {
        match self {
            Self::Ring(ring) => ring.front().copied(),
            Self::Oldest(heap) => heap.peek().map(|Reverse((_, lane))| *lane),
            Self::Airtime(fairness) => fairness.next().map(LaneId::from_number),
        }
    }

    /// Takes the lane to serve now.
    pub(super) fn next(&mut self) -> Option<LaneId> {
        match self {
            Self::Ring(ring) => ring.pop_front(),
            Self::Oldest(heap) => heap.pop().map(|Reverse((_, lane))| lane),
            Self::Airtime(fairness) => fairness.next().map(LaneId::from_number),
        }
    }

    /// The lane at the head goes to the tail without having been served. Only a ring has a tail to
    /// which a lane can go for no reason.
    pub(super) fn pass_over(&mut self) {
        if let Self::Ring(ring) = self
            && !ring.is_empty()
        {
            ring.rotate_left(1);
        }
    }

    /// The lane that [`Order::next`] gave has nothing to send.
    pub(super) fn found_empty(&mut self, lane: LaneId) {
        if let Self::Airtime(fairness) = self {
            fairness.found_empty(lane.number());
        }
    }

    /// The lane that [`Order::next`] gave must not send now: the others come first.
    pub(super) fn skip(&mut self, lane: LaneId, since: Time) {
        match self {
            Self::Airtime(fairness) => fairness.skip(lane.number()),
            Self::Ring(_) | Self::Oldest(_) => self.push(lane, since),
        }
    }

    /// The exchanges of a lane, whichever way they went, have taken `airtime`.
    pub(super) fn charge(&mut self, lane: LaneId, airtime: Duration) {
        if let Self::Airtime(fairness) = self {
            fairness.charge(lane.number(), airtime);
        }
    }
}
