//! Composing frames, on winning the channel or ahead of it, out of what the transmit paths hold.

use super::Mac;
use super::flight::Flight;
use airpace_core::packet::Packet;
use airpace_units::Time;
use core::time::Duration;

impl<P: Packet + Clone> Mac<P> {
    /// Composes a frame for the lane whose turn it is, within what `room` a TXOP has. It is the `first` of its TXOP, or there is none if not
    /// even one MPDU fits.
    fn compose(
        &mut self,
        contender: u32,
        at: Time,
        within: (Option<Duration>, bool),
    ) -> Option<Flight> {
        loop {
            let pool = self.pools[contender as usize / 4].as_deref();
            let lane = self.paths[contender as usize].next(pool)?;
            if let Some(flight) = self.build((contender, lane), at, within) {
                return Some(flight);
            }
            let pool = self.pools[contender as usize / 4].as_deref();
            let path = &mut self.paths[contender as usize];
            if !within.1 && path.lane(lane).has_work(pool) {
                path.served(lane, false, pool);
                return None;
            }
            path.found_nothing(lane, pool);
        }
    }

    /// The same on having won the channel.
    pub(super) fn compose_now(
        &mut self,
        contender: u32,
        at: Time,
        within: (Option<Duration>, bool),
    ) -> Option<Flight> {
        let flight = self.compose(contender, at, within);
        self.report_drops(at, contender as usize);
        flight
    }

    fn build(
        &mut self,
        (contender, lane): (u32, u32),
        at: Time,
        (room, first): (Option<Duration>, bool),
    ) -> Option<Flight> {
        let path = &mut self.paths[contender as usize];
        let mut pool = self.pools[contender as usize / 4].as_deref_mut();
        let radio = &self.radios[contender as usize / 4].config;
        let link = &mut self.links[path.lane(lane).link as usize];
        let (rate, mut limits) = link.choose(at, radio, &self.rules);
        if let Some(room) = room {
            let protected = first && radio.rts_threshold.is_some();
            limits = limits.within(room, rate, &self.rules, protected);
            limits.strict = !first;
        }
        if let Some(pool) = &mut pool {
            let edca = &radio.edca[contender as usize % 4];
            pool.expect(
                at,
                link.to.0,
                link.expected_throughput(radio, edca, &self.rules),
            );
        }
        let built = path.build(
            (at, lane),
            pool.as_deref_mut(),
            (rate, &limits),
            &self.rules,
        )?;
        let queued = path.lane(lane).waiting(pool.as_deref()).0;
        Some(Flight {
            contender,
            lane,
            built,
            queued,
            protection: Duration::ZERO,
            txop_end: None,
        })
    }

    /// Composes as many aggregates as the hardware's queue has room for.
    pub(super) fn compose_ahead(&mut self, node: usize, at: Time) {
        while self.paths[node].wants_aggregate() {
            // There are fewer than 2^32 contenders.
            let Some(flight) = self.compose(node as u32, at, (self.txop(node), true)) else {
                break;
            };
            self.make_ready(flight, false);
        }
    }

    fn make_ready(&mut self, flight: Flight, again: bool) {
        let path = &mut self.paths[flight.contender as usize];
        path.commit(flight.lane, self.rules.estimate(&flight.built), false);
        path.ready(
            flight,
            again,
            self.pools[flight.contender as usize / 4].as_deref(),
        );
    }

    /// The length of a TXOP, if the category has any.
    fn txop(&self, node: usize) -> Option<Duration> {
        let txop = self.radios[node / 4].config.edca[node % 4].txop;
        (!txop.is_zero()).then_some(txop)
    }

    /// A lane was served, to the end (`done`) or not, as is known from `known` on: what is ready for the next access, and what the queues above have room for now.
    pub(super) fn end_service(&mut self, flight: &Flight, (known, at): (Time, Time), done: bool) {
        let node = flight.contender as usize;
        let path = &mut self.paths[node];
        path.served(flight.lane, done, self.pools[node / 4].as_deref());
        if path.wants_size(at) {
            self.resize(node, at);
        }
        let path = &mut self.paths[node];
        path.refill(at);
        if path.composes_ahead() {
            path.commit(flight.lane, self.rules.estimate(&flight.built), true);
            // The hardware sends what was not answered again before anything else.
            let again = if done {
                None
            } else {
                self.build((flight.contender, flight.lane), at, (self.txop(node), true))
            };
            if let Some(again) = again {
                self.make_ready(again, true);
            }
            self.compose_ahead(node, at);
        }
        self.report_drops(known, node);
    }
}
