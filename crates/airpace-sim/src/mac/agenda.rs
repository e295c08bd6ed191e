//! What happens next, and in which order at one time.

use super::Mac;
use super::exchange::{Exchange, Work};
use super::field::Content;
use super::ids::{Transmitter, ViewId};
use crate::radio::RadioId;
use airpace_core::packet::Packet;
use airpace_core::phy::TxRate;
use airpace_units::Time;
use core::time::Duration;

/// Bytes of a beacon where it is received by its power, whatever its airtime: 236 µs at 6 Mbit/s.
const BEACON_BYTES: u32 = 158;

/// What is due next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A step of the exchange at this index.
    Step(usize),
    /// The beacon at this index.
    Beacon(usize),
    /// Radios notice that a PPDU has begun.
    Notice,
    /// Back-offs have run down.
    Access,
}

/// The order of events that are due at one time. PPDUs end first; those that follow another after
/// SIFS begin last, because contenders whose back-off expires at that time cannot have sensed them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Class {
    End,
    Beacon,
    Access,
    Begin,
}

/// Beacons to come of one access point.
#[derive(Debug)]
pub(super) struct Beacons {
    pub(super) radio: RadioId,
    pub(super) view: ViewId,
    /// When the next is due.
    pub(super) due: Time,
    pub(super) interval: Duration,
    pub(super) airtime: Duration,
}

impl<P: Packet + Clone> Mac<P> {
    /// Handles everything that is due up to and including `now`.
    #[inline]
    pub(super) fn run_until(&mut self, now: Time) {
        // Between two events come many packets.
        if self.next.is_some_and(|next| next.0 <= now) {
            self.run_due(now);
        }
    }

    #[inline(never)]
    fn run_due(&mut self, now: Time) {
        while let Some((at, event)) = self.next.filter(|next| next.0 <= now) {
            match event {
                Event::Step(index) => self.step(index, at),
                Event::Beacon(index) => self.send_beacon(index, at),
                Event::Notice => self.air.notice(at),
                Event::Access => self.grant(at),
            }
            self.next = self.find_next();
        }
    }

    /// What is due next.
    pub(super) fn find_next(&self) -> Option<(Time, Event)> {
        let steps = self.exchanges.iter().enumerate().map(|(index, exchange)| {
            let class = if exchange.begins() {
                Class::Begin
            } else {
                Class::End
            };
            (exchange.at, class, Event::Step(index))
        });
        let access = self.air.next_access();
        let access = access.map(|at| (at, Class::Access, Event::Access));
        let notice = self.air.next_notice();
        let notice = notice.map(|at| (at, Class::End, Event::Notice));
        let first = notice
            .into_iter()
            .chain(steps)
            .chain(access)
            .min_by_key(|&(at, class, _)| (at, class));
        let first = match first {
            // Beacons are rare, and none comes before it is due.
            Some(first) if first.0 < self.beacon_due => Some(first),
            first => first
                .into_iter()
                .chain(self.next_beacon())
                .min_by_key(|&(at, class, _)| (at, class)),
        };
        first.map(|(at, _, event)| (at, event))
    }

    /// The beacon that is next, if there are any.
    fn next_beacon(&self) -> Option<(Time, Class, Event)> {
        let beacons = self.beacons.iter().enumerate().map(|(index, beacon)| {
            let at = self.air.priority_access(beacon.view, beacon.due);
            (at, Class::Beacon, Event::Beacon(index))
        });
        beacons.min_by_key(|&(at, _, _)| at)
    }

    /// Finds out again when the first beacon is due.
    pub(super) fn find_beacon_due(&mut self) {
        let due = self.beacons.iter().map(|beacon| beacon.due).min();
        self.beacon_due = due.unwrap_or(Time::from_nanos(u64::MAX));
    }

    fn send_beacon(&mut self, index: usize, at: Time) {
        let beacon = &mut self.beacons[index];
        beacon.due += beacon.interval;
        let end = at + beacon.airtime;
        let radio = beacon.radio;
        self.radios[radio.index()].airtime.beacons += beacon.airtime;
        self.find_beacon_due();
        let medium = self.rules.medium;
        self.air.begin_ppdu(Transmitter::Radio(radio), at, end, || {
            Content::single(TxRate::legacy(medium.basic_rates()[0]), BEACON_BYTES)
        });
        self.exchanges.push(Exchange {
            at: end,
            begun: at,
            work: Work::Beacon(radio),
        });
    }
}
