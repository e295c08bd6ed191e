//! Whose turn it is to send.
//!
//! Stations whose pacers permit a packet now stand in a ring and take turns; those that must wait
//! for their pacer stand in a heap by the time of their release. So a packet costs the logarithm of
//! the number of stations, and not a walk over all of them.

use airpace_units::Time;
use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Packets sent to one station before the next has its turn: enough for one group of segments.
const TURN: u32 = 32;

/// Where a station stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// It has nothing to send, or must not send before another grant.
    Idle,
    /// It is in the ring of those that may send now.
    Ready,
    /// It waits for its pacer until then.
    Waiting(Time),
}

/// A station that waits, and until when: as one number, because a heap compares that faster than two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Wait(u128);

impl Wait {
    fn new(release: Time, station: usize) -> Self {
        // A proxy has far fewer than 2^64 stations.
        Self(u128::from(release.as_nanos()) << 64 | station as u128)
    }

    const fn release(self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }

    const fn station(self) -> usize {
        self.0 as usize
    }
}

/// The ring and the heap.
#[derive(Debug, Default)]
pub(super) struct Turns {
    ready: VecDeque<u32>,
    /// An entry counts only while the station's [`Place`] says the same: a station whose release
    /// moves gets a new entry, and the old one is skipped when its time comes.
    waiting: BinaryHeap<Reverse<Wait>>,
    /// Whether the first entry of the heap has been taken already. A station that has sent mostly
    /// waits again: its new entry then replaces that one, with one walk down the heap, not two.
    taken: bool,
    /// Packets that the first station of the ring has sent in its turn.
    sent: u32,
}

impl Turns {
    /// The station whose turn it is.
    pub(super) fn current(&self) -> Option<usize> {
        self.ready.front().map(|&station| station as usize)
    }

    /// Whether the current station may send another packet in this turn.
    pub(super) const fn goes_on(&self) -> bool {
        self.sent < TURN
    }

    /// The current station has sent a packet.
    pub(super) const fn count(&mut self) {
        self.sent += 1;
    }

    /// Ends the turn of the current station, which then stands nowhere.
    pub(super) fn end_turn(&mut self) {
        self.sent = 0;
        self.ready.pop_front();
    }

    /// Puts a station at the end of the ring.
    pub(super) fn push_ready(&mut self, station: usize) -> Place {
        self.ready.push_back(station as u32);
        Place::Ready
    }

    /// Has a station wait until `release`.
    pub(super) fn push_waiting(&mut self, station: usize, release: Time) -> Place {
        let entry = Reverse(Wait::new(release, station));
        if core::mem::take(&mut self.taken)
            && let Some(mut first) = self.waiting.peek_mut()
        {
            *first = entry;
        } else {
            self.waiting.push(entry);
        }
        Place::Waiting(release)
    }

    /// The first entry of the heap that has not been taken.
    #[inline]
    fn first_waiting(&self) -> Option<Wait> {
        if self.taken {
            // The next one is one of the two below the first.
            let entries = self.waiting.as_slice();
            return entries
                .get(1)
                .max(entries.get(2))
                .map(|Reverse(wait)| *wait);
        }
        self.waiting.peek().map(|Reverse(wait)| *wait)
    }

    /// Takes the first entry of the heap that has not been taken.
    fn take_first(&mut self) {
        if core::mem::replace(&mut self.taken, true) {
            self.waiting.pop();
        }
    }

    /// The next station whose release has come; `place` tells where a station stands.
    pub(super) fn pop_released(
        &mut self,
        now: Time,
        place: impl Fn(usize) -> Place,
    ) -> Option<usize> {
        while let Some(wait) = self.first_waiting() {
            let (release, station) = (wait.release(), wait.station());
            if release > now {
                return None;
            }
            self.take_first();
            if place(station) == Place::Waiting(release) {
                return Some(station);
            }
        }
        None
    }

    /// The earliest entry of the heap. It may be of a station whose release has moved: then one
    /// wake-up is spurious and the entry is removed.
    #[inline]
    pub(super) fn next_release(&self) -> Option<Time> {
        self.first_waiting().map(Wait::release)
    }

    /// Whether nobody may send now.
    #[inline]
    pub(super) fn is_quiet(&self, now: Time) -> bool {
        !self.is_ready() && self.next_release().is_none_or(|release| release > now)
    }

    /// Whether a station may send now.
    pub(super) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }
}
