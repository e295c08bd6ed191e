use super::event::{Agenda, Alarm, Class};
use super::{NodeId, Parcel, WireConfig};
use airpace_core::packet::Packet as _;
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// One direction of a wired link: a queue, a sender and the packets on their way.
#[derive(Debug)]
pub(super) struct Lane {
    config: WireConfig,
    /// When the sender has sent what it holds.
    free: Time,
    /// Every packet not arrived yet, with the time at which its sending begins and the time at which it arrives.
    packets: VecDeque<(Time, Time, Parcel)>,
    /// The node at the far end.
    end: NodeId,
    alarm: Alarm,
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
    pub(super) fn push(&mut self, now: Time, parcel: Parcel) -> Option<Parcel> {
        if self.config.rate.is_some() && self.waiting(now) >= self.config.queue as usize {
            return Some(parcel);
        }
        let begin = self.free.max(now);
        self.free = begin.saturating_add(self.sending_time(parcel.bytes()));
        self.packets
            .push_back((begin, self.free.saturating_add(self.config.delay), parcel));
        None
    }

    /// A packet that has arrived by `now`, and where.
    pub(super) fn pop(&mut self, now: Time) -> Option<(NodeId, Parcel)> {
        if self.next()? > now {
            return None;
        }
        self.packets
            .pop_front()
            .map(|(_, _, parcel)| (self.end, parcel))
    }

    /// Sees to it that an event comes when the next packet arrives.
    pub(super) fn await_next(&mut self, agenda: &mut Agenda, index: u32) {
        self.alarm.set(agenda, self.next(), Class::Wire, index);
    }

    /// The event has come.
    pub(super) fn ring(&mut self, now: Time) {
        self.alarm.ring(now);
    }

    /// When the next packet arrives.
    fn next(&self) -> Option<Time> {
        self.packets.front().map(|&(_, arrival, _)| arrival)
    }

    /// Packets on the link, waiting or under way.
    pub(super) fn held(&self) -> usize {
        self.packets.len()
    }

    /// Packets whose sending has not begun.
    fn waiting(&self, now: Time) -> usize {
        // Beginnings are in order.
        self.packets.len() - self.packets.partition_point(|&(begin, _, _)| begin <= now)
    }

    fn sending_time(&self, bytes: u32) -> Duration {
        // A rate of zero is refused with the configuration.
        let bits = 8 * u64::from(bytes);
        let ns = |bps: u64| (u128::from(bits) * 1_000_000_000).div_ceil(u128::from(bps.max(1)));
        self.config.rate.map_or(Duration::ZERO, |rate| {
            Duration::from_nanos(ns(rate.bps()).try_into().unwrap_or(u64::MAX))
        })
    }
}
