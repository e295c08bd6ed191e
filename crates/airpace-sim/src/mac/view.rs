//! The channel as one group of radios sees it: busy, reserved or idle, and which of them wait for
//! it.

use super::air::{EndingPpdu, Reached};
use super::field::Heard;
use super::ids::ContenderId;
use airpace_core::phy::{ACK_BYTES, Medium};
use airpace_units::Time;
use core::cmp::Reverse;
use core::time::Duration;
use std::collections::BinaryHeap;

/// The spaces between frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spacing {
    pub(super) sifs: Duration,
    pub(super) slot: Duration,
    /// What EIFS adds to the idle time after a frame that could not be decoded: SIFS and an
    /// acknowledgement at the lowest basic rate (10.3.2.3.7).
    pub(super) eifs: Duration,
}

impl Spacing {
    pub(super) fn of(medium: Medium) -> Self {
        // Every medium has basic rates; the lowest comes first.
        let ack = medium
            .basic_rates()
            .first()
            .map_or(Duration::ZERO, |&rate| {
                medium.control_airtime(rate, ACK_BYTES)
            });
        Self {
            sifs: medium.sifs(),
            slot: medium.slot(),
            eifs: medium.sifs() + ack,
        }
    }
}

/// How long a group of radios found the channel busy, up to some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChannelTime {
    /// At least one transmission was sensed, their own included.
    pub busy: Duration,
    /// The part of `busy` in which more than one transmission was sensed. By received powers
    /// ([`super::Hearing::Powers`]) only the sum of all transmissions is sensed, and this is zero.
    pub overlapped: Duration,
}

/// The channel as radios that hear the same see it.
///
/// Idle slots are counted once for all of them, per arbitration interframe space; a contender that
/// draws a back-off of b slots remembers the count at which it expires. So a contender that waits
/// costs nothing until its turn comes.
#[derive(Debug)]
pub(super) struct View {
    spacing: Spacing,
    sifs_ns: u64,
    slot_ns: u64,
    eifs_ns: u64,
    /// End of the last transmission sensed, in the future while it lasts.
    busy_until: Time,
    /// End of the reservation that decoded frames have announced (NAV).
    reserved_until: Time,
    /// End of the time that EIFS adds after the last frame that was not decoded; a frame that is
    /// decoded ends it.
    extended_until: Time,
    /// The latest of the three: since when, or from when on, the channel is idle.
    idle_since: Time,
    /// Transmissions on the air that are sensed.
    sensed: u32,
    /// Transmissions on the air that disturb receivers.
    disturbing: u32,
    /// When two disturbing transmissions were last found to overlap: at the beginning of the
    /// second, and at the end of the first.
    overlap_began: Option<Time>,
    overlap_ended: Option<Time>,
    counters: Vec<Counter>,
    /// Contenders that wait at all counters.
    waiting: usize,
    /// Busy periods that have ended, and what overlapped within them.
    busy_ns: u64,
    overlapped_ns: u64,
    /// When the present busy period began, and when transmissions last began to overlap.
    busy_from: Time,
    overlapped_from: Time,
}

/// One of a view's counters of idle slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct CounterId(usize);

/// Idle slots after one arbitration interframe space, and the contenders that count them.
#[derive(Debug)]
struct Counter {
    aifsn: u8,
    /// Idle slots counted up to the last transmission.
    slots: u64,
    /// The counts at which back-offs expire, and whose they are.
    waiting: BinaryHeap<Reverse<(u64, ContenderId)>>,
}

/// Nanoseconds from `earlier` to `now`.
const fn ns_since(now: Time, earlier: Time) -> u64 {
    now.as_nanos().saturating_sub(earlier.as_nanos())
}

impl View {
    pub(super) fn new(spacing: Spacing) -> Self {
        Self {
            spacing,
            sifs_ns: spacing.sifs.as_nanos() as u64,
            slot_ns: spacing.slot.as_nanos() as u64,
            eifs_ns: spacing.eifs.as_nanos() as u64,
            busy_until: Time::ZERO,
            reserved_until: Time::ZERO,
            extended_until: Time::ZERO,
            idle_since: Time::ZERO,
            sensed: 0,
            disturbing: 0,
            overlap_began: None,
            overlap_ended: None,
            counters: Vec::new(),
            waiting: 0,
            busy_ns: 0,
            overlapped_ns: 0,
            busy_from: Time::ZERO,
            overlapped_from: Time::ZERO,
        }
    }

    /// The counter of contenders that wait for `aifsn` slots after SIFS.
    pub(super) fn counter(&mut self, aifsn: u8) -> CounterId {
        let known = self.counters.iter().position(|c| c.aifsn == aifsn);
        if let Some(index) = known {
            return CounterId(index);
        }
        self.counters.push(Counter {
            aifsn,
            slots: 0,
            waiting: BinaryHeap::new(),
        });
        CounterId(self.counters.len() - 1)
    }

    /// Whether the channel is busy: a transmission is sensed, a reservation lasts, or EIFS has not
    /// passed.
    pub(super) fn is_busy(&self, now: Time) -> bool {
        now < self.idle_since
    }

    /// Whether decoded frames have reserved the channel beyond `now` (NAV).
    pub(super) fn is_reserved(&self, now: Time) -> bool {
        now < self.reserved_until
    }

    /// Whether a transmission is sensed.
    pub(super) const fn is_sensing(&self) -> bool {
        self.sensed > 0
    }

    /// The earliest access for a frame that goes before all data (a beacon) and is due at `due`:
    /// after one PIFS of idle time, which begins at `busy_until` at the earliest.
    pub(super) fn priority_access(&self, due: Time, busy_until: Time) -> Time {
        let idle_since = self.idle_since.max(busy_until);
        due.max(idle_since + self.spacing.sifs + self.spacing.slot)
    }

    /// A transmission begins and will last until `end`.
    pub(super) fn begin(&mut self, at: Time, end: Time, reached: &Reached) {
        if reached.senses {
            self.begin_sensing(at, end);
        }
        if reached.disturbs {
            if self.disturbing > 0 {
                self.overlap_began = Some(at);
            }
            self.disturbing += 1;
        }
    }

    /// A transmission begins to be sensed that will last until `end`.
    pub(super) fn begin_sensing(&mut self, at: Time, end: Time) {
        self.count_slots(at);
        match self.sensed {
            0 => self.busy_from = at,
            1 => self.overlapped_from = at,
            _ => {}
        }
        self.sensed += 1;
        self.sense_until(end);
    }

    /// What is sensed will last at least until `end`.
    pub(super) fn sense_until(&mut self, end: Time) {
        self.busy_until = self.busy_until.max(end);
        self.idle_since = self.idle_since.max(end);
    }

    /// Nothing is sensed any more, whatever was expected.
    pub(super) fn end_sensing(&mut self, at: Time) {
        if core::mem::take(&mut self.sensed) > 0 {
            self.busy_ns += ns_since(at, self.busy_from);
        }
        self.busy_until = at;
        self.find_idle();
    }

    /// A frame was decoded: it ends EIFS (10.3.2.3.7), and its exchange goes on until `reserved`
    /// (NAV, 10.3.2.4).
    pub(super) fn decode(&mut self, at: Time, reserved: Time) {
        self.extended_until = at;
        self.reserve(reserved);
    }

    /// A frame was received of which nothing could be decoded.
    pub(super) fn fail_to_decode(&mut self, at: Time) {
        let extended = Time::from_nanos(at.as_nanos() + self.eifs_ns);
        self.extended_until = self.extended_until.max(extended);
        self.find_idle();
    }

    /// The channel is reserved until `until`.
    pub(super) fn reserve(&mut self, until: Time) {
        self.reserved_until = self.reserved_until.max(until);
        self.find_idle();
    }

    /// A transmission that was sensed alone from `noticed` to `at` has ended, of which a radio has
    /// `heard` that its exchange goes on until `reserved`: the same as beginning to sense it, making
    /// something of it, and ceasing to sense it, one after the other.
    #[inline]
    pub(super) fn pass_over(&mut self, noticed: Time, at: Time, heard: Heard, reserved: Time) {
        self.count_slots(noticed);
        self.busy_ns += ns_since(at, noticed);
        self.busy_until = at;
        match heard {
            Heard::Nothing => {}
            Heard::Undecoded => {
                let extended = Time::from_nanos(at.as_nanos() + self.eifs_ns);
                self.extended_until = self.extended_until.max(extended);
            }
            Heard::Decoded => {
                self.extended_until = at;
                self.reserved_until = self.reserved_until.max(reserved);
            }
        }
        self.find_idle();
    }

    /// Whether any contender waits for the channel.
    pub(super) const fn is_waited_for(&self) -> bool {
        self.waiting > 0
    }

    fn find_idle(&mut self) {
        self.idle_since = self
            .busy_until
            .max(self.reserved_until)
            .max(self.extended_until);
    }

    /// A transmission ends. Returns whether it was clean: no other one disturbed it here.
    pub(super) fn end(&mut self, ppdu: &EndingPpdu, reached: &Reached) -> bool {
        let &EndingPpdu {
            begun,
            end: at,
            announced,
            ..
        } = ppdu;
        if reached.disturbs {
            if self.disturbing > 1 {
                self.overlap_ended = Some(at);
            }
            self.disturbing -= 1;
        }
        let overlapped = self.overlap_began.is_some_and(|began| began >= begun);
        let clean = !overlapped && self.overlap_ended.is_none_or(|ended| ended <= begun);
        if reached.senses {
            self.sensed -= 1;
            match self.sensed {
                0 => self.busy_ns += ns_since(at, self.busy_from),
                1 => self.overlapped_ns += ns_since(at, self.overlapped_from),
                _ => {}
            }
            if clean && reached.decodes {
                self.decode(at, at + announced);
            } else {
                self.fail_to_decode(at);
            }
        }
        clean
    }

    /// Counts an answer as busy time whose PPDU is not simulated, because nothing can disturb it.
    pub(super) fn count_announced(&mut self, airtime: Duration) {
        self.busy_ns += airtime.as_nanos() as u64;
    }

    /// How long the channel has been busy up to `now`.
    pub(super) fn usage(&self, now: Time) -> ChannelTime {
        let mut usage = ChannelTime {
            busy: Duration::from_nanos(self.busy_ns),
            overlapped: Duration::from_nanos(self.overlapped_ns),
        };
        if self.sensed >= 1 {
            usage.busy += now.saturating_since(self.busy_from);
        }
        if self.sensed >= 2 {
            usage.overlapped += now.saturating_since(self.overlapped_from);
        }
        usage
    }

    /// Adds the idle slots up to `at`, when a transmission ends the idle period.
    fn count_slots(&mut self, at: Time) {
        let slots = self.slots_after_sifs(at);
        if slots > 0 {
            for counter in &mut self.counters {
                counter.slots += slots.saturating_sub(counter.aifsn.into());
            }
        }
    }

    /// Whole slots between SIFS after the channel fell idle and `at`.
    fn slots_after_sifs(&self, at: Time) -> u64 {
        let idle_ns = at
            .as_nanos()
            .saturating_sub(self.idle_since.as_nanos().saturating_add(self.sifs_ns));
        idle_ns.checked_div(self.slot_ns).unwrap_or(0)
    }

    /// Idle slots counted by `counter` up to `now`.
    pub(super) fn counted(&self, counter: CounterId, now: Time) -> u64 {
        let counter = &self.counters[counter.0];
        counter.slots
            + self
                .slots_after_sifs(now)
                .saturating_sub(counter.aifsn.into())
    }

    /// The count at the first slot boundary from `now` on.
    pub(super) fn boundary(&self, counter: CounterId, now: Time) -> u64 {
        let slot = self.spacing.slot.as_nanos() as u64;
        let counter = &self.counters[counter.0];
        let span = now.saturating_since(self.start(counter)).as_nanos() as u64;
        counter.slots + span.div_ceil(slot.max(1))
    }

    /// When back-offs begin to run down.
    fn start(&self, counter: &Counter) -> Time {
        self.idle_since + self.spacing.sifs + self.spacing.slot * u32::from(counter.aifsn)
    }

    /// `contender` waits for the channel: its back-off expires at the count `expires`.
    pub(super) fn wait(&mut self, counter: CounterId, expires: u64, contender: ContenderId) {
        let waiting = &mut self.counters[counter.0].waiting;
        waiting.push(Reverse((expires, contender)));
        self.waiting += 1;
    }

    /// Makes all contenders leave for which `stays` does not hold.
    pub(super) fn retain(&mut self, stays: impl Fn(ContenderId) -> bool) {
        self.waiting = 0;
        for counter in &mut self.counters {
            counter
                .waiting
                .retain(|Reverse((_, contender))| stays(*contender));
            self.waiting += counter.waiting.len();
        }
    }

    /// When the first of the contenders may transmit if the channel stays idle.
    fn next_access(&self) -> Option<Time> {
        let first = |counter: &Counter| Some(self.access(counter, counter.waiting.peek()?.0.0));
        self.counters.iter().filter_map(first).min()
    }

    /// The same, or `None` while a transmission is sensed: its end decides how long the channel
    /// stays busy.
    pub(super) fn due(&self) -> Option<Time> {
        if self.sensed > 0 || self.waiting == 0 {
            None
        } else {
            self.next_access()
        }
    }

    fn access(&self, counter: &Counter, expires: u64) -> Time {
        // Back-offs are at most 2^15 slots and idle periods far below 2^64 ns.
        let remaining = expires.saturating_sub(counter.slots);
        self.start(counter) + Duration::from_nanos(self.spacing.slot.as_nanos() as u64 * remaining)
    }

    /// Takes out the contenders that may transmit at `at`.
    pub(super) fn take_due(&mut self, at: Time, winners: &mut Vec<ContenderId>) {
        for index in 0..self.counters.len() {
            while let Some(&Reverse((expires, contender))) = self.counters[index].waiting.peek() {
                if self.access(&self.counters[index], expires) > at {
                    break;
                }
                self.counters[index].waiting.pop();
                self.waiting -= 1;
                winners.push(contender);
            }
        }
    }
}
