//! Frames are composed of what the transmit paths hold, either on winning the channel or ahead of
//! it.

use super::Mac;
use super::flight::Flight;
use super::ids::{AccessFunctionId, LaneId};
use super::path::Position;
use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;
use airpace_units::Time;
use core::time::Duration;

/// How much time a TXOP has for an exchange.
#[derive(Clone, Copy, Debug)]
pub(super) enum TxopRoom {
    /// One exchange of any length.
    Unlimited,
    /// A whole TXOP of this length. Its first frame is sent even if not one MPDU fits.
    Whole(Duration),
    /// What is left of a TXOP. Nothing is sent that does not fit.
    Rest(Duration),
}

impl TxopRoom {
    /// The room of a whole TXOP with this limit; zero stands for one exchange of any length
    /// (9.4.2.28).
    pub(super) const fn whole(limit: Duration) -> Self {
        if limit.is_zero() {
            Self::Unlimited
        } else {
            Self::Whole(limit)
        }
    }
}

impl<P: Packet + Clone> Mac<P> {
    /// Composes a frame for the lane whose turn it is. `None` if there is nothing to send, or
    /// nothing that fits the rest of a TXOP.
    fn compose(&mut self, function: AccessFunctionId, at: Time, room: TxopRoom) -> Option<Flight> {
        let category = function.category;
        loop {
            let paths = &mut self.radios[function.radio.index()].paths;
            let lane = paths.next(category)?;
            let flight = self.build(function, lane, at, room);
            if flight.is_some() {
                return flight;
            }
            let paths = &mut self.radios[function.radio.index()].paths;
            if matches!(room, TxopRoom::Rest(_)) && paths[category].lane(lane).has_work() {
                // What the lane has does not fit: it keeps its turn for the next TXOP.
                paths.served(category, lane, false);
                return None;
            }
            paths[category].found_nothing(lane);
        }
    }

    /// Composes a frame on winning the channel.
    pub(super) fn compose_now(
        &mut self,
        function: AccessFunctionId,
        at: Time,
        room: TxopRoom,
    ) -> Option<Flight> {
        let flight = self.compose(function, at, room);
        self.report_drops(at, function);
        flight
    }

    /// Composes a frame for one lane.
    fn build(
        &mut self,
        function: AccessFunctionId,
        lane: LaneId,
        at: Time,
        room: TxopRoom,
    ) -> Option<Flight> {
        let category = function.category;
        let radio = &mut self.radios[function.radio.index()];
        let link_id = radio.paths[category].lane(lane).link;
        let link = &mut self.links[link_id.index()];
        let (rate, mut limits) = link.choose(at, &radio.config, &self.rules);
        if radio.config.path.driver.lone_voice && category == AccessCategory::Voice {
            limits.mpdus = 1;
        }
        let limits = match room {
            TxopRoom::Unlimited => limits,
            TxopRoom::Whole(room) => {
                let protection = self.rules.protection(&radio.config, rate);
                limits.within(room, rate, &self.rules, protection)
            }
            TxopRoom::Rest(room) => {
                let mut limits = limits.within(room, rate, &self.rules, Duration::ZERO);
                limits.strict = true;
                limits
            }
        };
        if let Some(flow_queues) = radio.paths.flow_queues() {
            let edca = radio.config.edca(category);
            let throughput = link.expected_throughput(&radio.config, edca, &self.rules);
            flow_queues.expect(at, link.to, throughput);
        }
        let built = radio
            .paths
            .build(at, category, lane, rate, &limits, &self.rules)?;
        Some(Flight {
            function,
            lane,
            link: link_id,
            built,
            queued: radio.paths[category].lane(lane).waiting().packets,
            protection: Duration::ZERO,
            txop_end: None,
            missed: None,
        })
    }

    /// Composes as many frames as the hardware's queue has room for.
    pub(in crate::mac) fn compose_ahead(&mut self, function: AccessFunctionId, at: Time) {
        let category = function.category;
        while self.radios[function.radio.index()].paths[category].wants_aggregate() {
            let Some(flight) = self.compose(function, at, self.whole_txop(function)) else {
                return;
            };
            let lane = flight.lane;
            self.put_ready(flight, Position::Last);
            for _ in 1..self.radios[function.radio.index()].paths[category].frames_at_turn(lane) {
                let Some(more) = self.build(function, lane, at, self.whole_txop(function)) else {
                    break;
                };
                self.put_ready(more, Position::Next);
            }
        }
        self.radios[function.radio.index()].paths[category].pass_over();
    }

    /// A packet has come: composes what the hardware's queue has room for.
    #[inline]
    pub(super) fn compose_for_arrival(&mut self, function: AccessFunctionId, at: Time) {
        let path = &self.radios[function.radio.index()].paths[function.category];
        if path.passes_over() && path.has_qdisc() {
            self.give_one_by_one(function, at);
        } else if path.may_want_aggregate() {
            self.compose_ahead(function, at);
        }
    }

    /// Gives the driver what its queue has room for, packet by packet.
    fn give_one_by_one(&mut self, function: AccessFunctionId, at: Time) {
        let give_next = |mac: &mut Self| {
            mac.radios[function.radio.index()].paths[function.category].give_next(at)
        };
        while give_next(self) {
            self.compose_ahead(function, at);
        }
    }

    fn put_ready(&mut self, flight: Flight, position: Position) {
        let paths = &mut self.radios[flight.function.radio.index()].paths;
        let airtime = self.rules.estimate(&flight.built);
        paths[flight.function.category].commit(flight.lane, airtime);
        paths.put_ready(flight, position);
    }

    fn whole_txop(&self, function: AccessFunctionId) -> TxopRoom {
        let config = &self.radios[function.radio.index()].config;
        TxopRoom::whole(config.edca(function.category).txop)
    }

    /// A lane was served, to the end (`done`) or not; that the exchange ends at `at` is known from
    /// `known` on. Refills the queues, and composes what is sent at the next access.
    pub(super) fn end_service(&mut self, flight: &Flight, at: Time, known: Time, done: bool) {
        let function = flight.function;
        let paths = &mut self.radios[function.radio.index()].paths;
        paths.served(function.category, flight.lane, done);
        if paths[function.category].wants_size(at) {
            self.resize(function, at);
        }
        let path = &mut self.radios[function.radio.index()].paths[function.category];
        let passes_over = path.passes_over();
        if !passes_over {
            path.refill(at);
        }
        if path.composes_ahead() {
            path.complete(flight.lane, self.rules.estimate(&flight.built));
            if !done && !path.lane(flight.lane).is_asleep() {
                // As the hardware does, what was not answered is sent again before anything else.
                let again = self.build(function, flight.lane, at, self.whole_txop(function));
                if let Some(again) = again {
                    self.put_ready(again, Position::First);
                }
            }
            self.compose_ahead(function, at);
        }
        if passes_over {
            // The discipline runs when the driver is done with the frame.
            self.give_one_by_one(function, at);
        }
        self.report_drops(known, function);
    }
}
