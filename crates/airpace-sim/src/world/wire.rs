//! Wired links.

use super::event::{Agenda, Alarm, Class};
use super::{NodeId, Parcel, WireConfig};
use airpace_core::packet::Packet as _;
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// One direction of a wired link: its queue, the packet being sent, and those in flight.
#[derive(Debug)]
pub(super) struct Lane {
    config: WireConfig,
    /// When everything in the queue will have been sent.
    free: Time,
    /// Every packet that has not arrived yet, in order.
    packets: VecDeque<Passage>,
    /// The node at the far end.
    end: NodeId,
    alarm: Alarm,
}

/// A packet on a wire.
#[derive(Debug)]
struct Passage {
    /// When its sending begins.
    begin: Time,
    arrival: Time,
    parcel: Box<Parcel>,
}

impl Lane {
    /// Both directions of a link.
    pub(super) fn pair(config: WireConfig) -> [Self; 2] {
        let lane = |end| Self {
            config,
            free: Time::ZERO,
            packets: VecDeque::new(),
            end,
            alarm: Alarm::default(),
        };
        [lane(config.ends.1), lane(config.ends.0)]
    }

    /// Takes a packet, or hands it back because the queue is full.
    pub(super) fn push(&mut self, now: Time, parcel: Box<Parcel>) -> Option<Box<Parcel>> {
        if self.config.rate.is_some() && self.waiting(now) >= self.config.queue as usize {
            return Some(parcel);
        }
        let begin = self.free.max(now);
        self.free = begin.saturating_add(self.sending_time(parcel.bytes()));
        self.packets.push_back(Passage {
            begin,
            arrival: self.free.saturating_add(self.config.delay),
            parcel,
        });
        None
    }

    /// The next packet that has arrived by `now`, and the node that it has reached.
    pub(super) fn pop(&mut self, now: Time) -> Option<(NodeId, Box<Parcel>)> {
        if self.next()? > now {
            return None;
        }
        let passage = self.packets.pop_front()?;
        Some((self.end, passage.parcel))
    }

    /// Schedules an event for the arrival of the next packet.
    pub(super) fn await_next(&mut self, agenda: &mut Agenda, index: u32) {
        self.alarm.set(agenda, self.next(), Class::Wire, index);
    }

    /// Notes that the event has come.
    pub(super) fn ring(&mut self, now: Time) {
        self.alarm.ring(now);
    }

    /// When the next packet arrives.
    fn next(&self) -> Option<Time> {
        self.packets.front().map(|passage| passage.arrival)
    }

    /// Packets on the link, waiting or in flight.
    pub(super) fn held(&self) -> usize {
        self.packets.len()
    }

    /// Packets whose sending has not begun.
    fn waiting(&self, now: Time) -> usize {
        // Packets begin to be sent in order.
        let begun = self.packets.partition_point(|passage| passage.begin <= now);
        self.packets.len() - begun
    }

    fn sending_time(&self, bytes: u32) -> Duration {
        let Some(rate) = self.config.rate else {
            return Duration::ZERO;
        };
        let bits = 8 * u128::from(bytes);
        // A rate of zero counts as 1 bit/s: nothing arrives within a run.
        let ns = (bits * 1_000_000_000).div_ceil(u128::from(rate.bps().max(1)));
        Duration::from_nanos(ns.try_into().unwrap_or(u64::MAX))
    }
}
