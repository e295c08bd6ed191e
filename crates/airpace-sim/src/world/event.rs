use airpace_units::Time;
use core::cmp::Reverse;
use std::collections::BinaryHeap;

/// What an event is, in the order in which events of one instant happen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(super) enum Class {
    /// A change of the network.
    Change,
    /// The end of a slot of statistics.
    Slot,
    /// A station of a proxy joins.
    Join,
    /// An agent's slot ends, or its uplink may send.
    Agent,
    /// A station sends a packet that is as long as a report and carries none.
    ReportLoad,
    /// A packet arrives at the end of a wire, or the next one is sent.
    Wire,
    /// A proxy may release a packet, or its slot ends.
    Proxy,
    /// A flow has something to do.
    Flow,
}

const CLASSES: [Class; 8] = [
    Class::Change,
    Class::Slot,
    Class::Join,
    Class::Agent,
    Class::ReportLoad,
    Class::Wire,
    Class::Proxy,
    Class::Flow,
];

/// An event: when, what and which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Event {
    pub(super) at: Time,
    pub(super) class: Class,
    pub(super) index: u32,
}

/// The events to come, in the total order time, class, index; but see [`salt`] for flows.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<u128>>,
    /// Whether the first entry has been taken already. Most events bring about their successor, which then takes its place: one walk down
    /// the heap instead of two.
    taken: bool,
}

impl Agenda {
    pub(super) fn push(&mut self, event: Event) {
        let entry = Reverse(event.key());
        if core::mem::take(&mut self.taken)
            && let Some(mut first) = self.heap.peek_mut()
        {
            *first = entry;
            return;
        }
        self.heap.push(entry);
    }

    pub(super) fn next(&mut self) -> Option<Time> {
        self.settle();
        self.heap.peek().map(|Reverse(key)| Event::of(*key).at)
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        self.settle();
        let first = self.heap.peek().map(|Reverse(key)| Event::of(*key));
        self.taken = first.is_some();
        first
    }

    /// Removes the entry that was taken, if nothing took its place.
    fn settle(&mut self) {
        if core::mem::take(&mut self.taken) {
            self.heap.pop();
        }
    }
}

impl Event {
    /// One number to compare instead of three: measured twice as fast in a heap of 100.
    fn key(self) -> u128 {
        let index = self.index ^ salt(self.at, self.class);
        u128::from(self.at.as_nanos()) << 64 | (self.class as u128) << 32 | u128::from(index)
    }

    fn of(key: u128) -> Self {
        // Each `as` keeps the bits that `key` put there.
        let at = Time::from_nanos((key >> 64) as u64);
        let class = CLASSES[(key >> 32) as u8 as usize];
        Self {
            at,
            class,
            index: key as u32 ^ salt(at, class),
        }
    }
}

/// What the numbers of flows are mixed with, so that the order of those with the same instant changes from instant to instant. The packets of a
/// frame arrive at once and wake several flows; if the first flow always went first, its packets would find the places of a full
/// queue and those of the others would be dropped for ever, where no machine has such an order (phase effects; Floyd and Jacobson 1991).
const fn salt(at: Time, class: Class) -> u32 {
    match class {
        // The golden ratio spreads successive times over the upper half (Knuth, volume 3, section 6.4).
        Class::Flow => (at.as_nanos().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32,
        _ => 0,
    }
}

/// An alarm that is moved far more often than it goes off: later settings cost nothing, the event already scheduled
/// finds out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Alarm {
    /// The earliest event that is in the agenda.
    scheduled: Option<Time>,
}

impl Alarm {
    /// Sees to it that an event comes at `due` or before.
    pub(super) fn set(&mut self, agenda: &mut Agenda, due: Option<Time>, class: Class, index: u32) {
        let Some(at) = due else { return };
        if self.scheduled.is_none_or(|scheduled| at < scheduled) {
            self.scheduled = Some(at);
            agenda.push(Event { at, class, index });
        }
    }

    /// An event of this alarm comes at `now`; tells whether it is the one that counts.
    pub(super) fn ring(&mut self, now: Time) -> bool {
        let valid = self.scheduled == Some(now);
        if valid {
            self.scheduled = None;
        }
        valid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_of_one_instant_take_turns_in_coming_first() {
        let first = |us| {
            let mut agenda = Agenda::default();
            (0..3).for_each(|index| {
                agenda.push(Event {
                    at: Time::from_micros(us),
                    class: Class::Flow,
                    index,
                })
            });
            agenda.pop().map(|event| event.index)
        };
        let count = |index| (0..3_000).filter(|&us| first(us) == Some(index)).count();
        assert!(
            [0, 1, 2].map(count).iter().all(|&count| count > 600),
            "{:?}",
            [0, 1, 2].map(count)
        );
    }

    #[test]
    fn events_come_by_time_then_class_then_index() {
        let event = |us, class, index| Event {
            at: Time::from_micros(us),
            class,
            index,
        };
        let mut agenda = Agenda::default();
        let order = [
            event(1, Class::Flow, 7),
            event(2, Class::Change, 9),
            event(2, Class::Slot, 0),
            event(2, Class::Proxy, 1),
            event(2, Class::Proxy, 2),
            event(3, Class::Change, 0),
        ];
        for index in [3, 0, 5, 2, 4, 1] {
            agenda.push(order[index]);
        }
        assert_eq!(agenda.next(), Some(Time::from_micros(1)));
        assert_eq!(
            core::iter::from_fn(|| agenda.pop()).collect::<Vec<_>>(),
            order
        );
    }

    #[test]
    fn an_alarm_moved_later_goes_off_once_and_is_set_again() {
        let (mut agenda, mut alarm) = (Agenda::default(), Alarm::default());
        let at = Time::from_micros;
        for due in [5, 9, 7, 3] {
            alarm.set(&mut agenda, Some(at(due)), Class::Flow, 0);
        }
        let valid: Vec<bool> = core::iter::from_fn(|| agenda.pop())
            .map(|event| alarm.ring(event.at))
            .collect();
        assert_eq!(valid, [true, false]);
        alarm.set(&mut agenda, Some(at(7)), Class::Flow, 0);
        assert_eq!(agenda.next(), Some(at(7)));
    }
}
