use super::{Parcel, WireConfig};
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
}

impl Lane {
    pub(super) const fn new(config: WireConfig) -> Self {
        Self { config, free: Time::ZERO, packets: VecDeque::new() }
    }

    /// Takes a packet, or hands it back because the queue is full.
    pub(super) fn push(&mut self, now: Time, parcel: Parcel) -> Option<Parcel> {
        if self.config.rate.is_some() && self.waiting(now) >= self.config.queue as usize {
            return Some(parcel);
        }
        let begin = self.free.max(now);
        self.free = begin.saturating_add(self.sending_time(parcel.bytes()));
        self.packets.push_back((begin, self.free.saturating_add(self.config.delay), parcel));
        None
    }

    /// The packet that has arrived by `now`, if any.
    pub(super) fn pop(&mut self, now: Time) -> Option<Parcel> {
        if self.next()? > now {
            return None;
        }
        self.packets.pop_front().map(|(_, _, parcel)| parcel)
    }

    /// When the next packet arrives.
    pub(super) fn next(&self) -> Option<Time> {
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
        self.config.rate.map_or(Duration::ZERO, |rate| Duration::from_nanos(ns(rate.bps()).try_into().unwrap_or(u64::MAX)))
    }
}
