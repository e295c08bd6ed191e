//! Other networks on the channel: saturated transmitters whose frames are airtime and nothing else.

use super::contention::Contender;
use super::exchange::{Exchange, Work};
use super::field::Content;
use super::ids::{ContenderId, Transmitter};
use super::{Mac, Neighbours};
use crate::rng::Stream;
use airpace_core::packet::Packet;
use airpace_core::phy::{ACK_BYTES, AccessCategory, Edca, TxRate};
use airpace_units::Time;
use core::time::Duration;

/// The transmitters of other networks that there are now.
#[derive(Debug, Default)]
pub(super) struct Neighbourhood {
    contenders: Vec<Contender>,
    airtime: Duration,
    /// How many have ever come.
    seen: u32,
}

impl<P: Packet + Clone> Mac<P> {
    /// Neighbours come, change or go.
    pub(super) fn set_neighbours(&mut self, now: Time, neighbours: Neighbours) {
        let view = self.air.neighbour_view();
        let count = usize::from(neighbours.count);
        let present = &mut self.neighbours.contenders;
        present.truncate(count);
        let stays = |id: ContenderId| match id {
            ContenderId::Radio(_) | ContenderId::Management(_) => true,
            ContenderId::Neighbour(_) => present.iter().any(|contender| contender.id() == id),
        };
        self.air.view_mut(view).retain(stays);
        for index in present.len()..count {
            // A neighbour may leave while its frame is on the air, and another may come before the
            // frame ends: each has a number of its own.
            let id = ContenderId::Neighbour(self.neighbours.seen);
            self.neighbours.seen = self.neighbours.seen.wrapping_add(1);
            let backoff = Stream::new(self.seed, "neighbour", index as u64);
            let edca = Edca::of(AccessCategory::BestEffort);
            let state = self.air.view_mut(view);
            let mut contender = Contender::new(id, &edca, view, state, backoff);
            contender.arrive(now, state);
            present.push(contender);
        }
        self.neighbours.airtime = neighbours.airtime;
        self.air.refresh(view);
        self.next = self.find_next();
    }

    /// A neighbour has won the channel.
    pub(super) fn transmit_neighbour(&mut self, number: u32, at: Time) {
        let end = at + self.neighbours.airtime;
        let medium = self.rules.medium;
        self.air.begin_ppdu(Transmitter::Neighbour, at, end, || {
            Content::single(TxRate::legacy(medium.basic_rates()[0]), ACK_BYTES)
        });
        self.exchanges.push(Exchange {
            at: end,
            begun: at,
            work: Work::Neighbour(number),
        });
    }

    /// A neighbour's frame ends.
    pub(super) fn end_neighbour(&mut self, exchange: &Exchange, number: u32) {
        let view = self.air.neighbour_view();
        let clean = self.end_ppdu(exchange, Duration::ZERO, view);
        let id = ContenderId::Neighbour(number);
        let mut present = self.neighbours.contenders.iter_mut();
        // It may have left by now.
        if let Some(contender) = present.find(|contender| contender.id() == id) {
            contender.back_off(exchange.at, self.air.view_mut(view), clean);
            contender.wait(self.air.view_mut(view));
            self.air.refresh(view);
        }
    }
}
