//! In which order the lanes of a path are served.

use super::Schedule;
use airpace_core::queue::AirtimeFairness;
use airpace_units::Time;
use core::cmp::Reverse;
use core::time::Duration;
use std::collections::{BinaryHeap, VecDeque};

/// Lanes with work, in the order in which they are served. By airtime a lane that is served stays in it; else it leaves until it is put
/// back.
#[derive(Debug)]
pub(super) enum Order {
    Ring(VecDeque<u32>),
    Oldest(BinaryHeap<Reverse<(Time, u32)>>),
    Airtime(Box<AirtimeFairness>),
}

impl Order {
    pub(super) fn new(schedule: Schedule) -> Self {
        match schedule {
            Schedule::RoundRobin => Self::Ring(VecDeque::new()),
            Schedule::OldestFirst => Self::Oldest(BinaryHeap::new()),
            Schedule::Airtime(config) => Self::Airtime(Box::new(AirtimeFairness::new(config))),
        }
    }

    /// There is one more lane.
    pub(super) fn add(&mut self, weight: u16) {
        if let Self::Airtime(fairness) = self {
            fairness.add(weight);
        }
    }

    /// A lane whose oldest packet came at `since` goes to the tail.
    pub(super) fn push(&mut self, lane: u32, since: Time) {
        match self {
            Self::Ring(ring) => ring.push_back(lane),
            Self::Oldest(heap) => heap.push(Reverse((since, lane))),
            Self::Airtime(fairness) => fairness.wake(lane),
        }
    }

    /// A lane goes back to where it was taken from.
    pub(super) fn put_back(&mut self, lane: u32, since: Time) {
        match self {
            Self::Ring(ring) => ring.push_front(lane),
            _ => self.push(lane, since),
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
    pub(super) fn peek(&mut self) -> Option<u32> {
        match self {
            Self::Ring(ring) => ring.front().copied(),
            Self::Oldest(heap) => heap.peek().map(|Reverse((_, lane))| *lane),
            Self::Airtime(fairness) => fairness.next(),
        }
    }

    /// The lane to serve now.
    pub(super) fn next(&mut self) -> Option<u32> {
        match self {
            Self::Ring(ring) => ring.pop_front(),
            Self::Oldest(heap) => heap.pop().map(|Reverse((_, lane))| lane),
            Self::Airtime(fairness) => fairness.next(),
        }
    }

    /// The lane that [`Order::next`] gave has nothing to send.
    pub(super) fn found_empty(&mut self, lane: u32) {
        if let Self::Airtime(fairness) = self {
            fairness.found_empty(lane);
        }
    }

    /// The lane that [`Order::next`] gave must not send now; the others come first.
    pub(super) fn skip(&mut self, lane: u32, since: Time) {
        match self {
            Self::Airtime(fairness) => fairness.skip(lane),
            _ => self.push(lane, since),
        }
    }

    /// The exchanges of a lane, whichever way they went, have taken `airtime`.
    pub(super) fn charge(&mut self, lane: u32, airtime: Duration) {
        if let Self::Airtime(fairness) = self {
            fairness.charge(lane, airtime);
        }
    }
}
