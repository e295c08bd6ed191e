//! From winning the channel to the end of the exchange: what is on the air, and what happens when.

use super::flight::{Exchange, Flight, Step, Work, category_of};
use super::window::Fate;
use super::{FrameRecord, Mac, NO_LANE, Output};
use airpace_core::packet::Packet;
use airpace_units::Time;
use core::time::Duration;

/// Time from the beginning of a PPDU to its being noticed (aRxPHYStartDelay of OFDM, table 17-21), which the reset of a NAV set by a
/// request to send waits for (10.3.2.4).
const RX_START_DELAY: Duration = Duration::from_micros(20);

/// What is due next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A step of the exchange at this place.
    Step(usize),
    /// The beacon at this place.
    Beacon(usize),
    /// Nodes that have waited long enough.
    Access,
}

impl<P: Packet + Clone> Mac<P> {
    /// Everything that is due up to and including `now`.
    pub(super) fn run_until(&mut self, now: Time) {
        while let Some((at, event)) = self.next.filter(|next| next.0 <= now) {
            match event {
                Event::Step(place) => self.step(place, at),
                Event::Beacon(place) => self.send_beacon(place, at),
                Event::Access => self.grant(at),
            }
            self.next = self.find_next();
        }
    }

    /// What is due next, in the order: ends, beacons, accesses, beginnings after SIFS.
    pub(super) fn find_next(&self) -> Option<(Time, Event)> {
        let steps = self.exchanges.iter().enumerate();
        let steps =
            steps.map(|(place, e)| (e.at, if e.begins() { 3 } else { 0 }, Event::Step(place)));
        let beacons = self.beacons.iter().enumerate();
        let beacons = beacons.map(|(place, b)| {
            (
                self.views[b.view].priority_access(b.due),
                1,
                Event::Beacon(place),
            )
        });
        let access = self
            .next_access
            .iter()
            .flatten()
            .min()
            .map(|&at| (at, 2, Event::Access));
        let first = steps
            .chain(beacons)
            .chain(access)
            .min_by_key(|&(at, class, _)| (at, class));
        first.map(|(at, _, event)| (at, event))
    }

    fn begin_ppdu(&mut self, transmitter: u32, at: Time, end: Time) {
        for hearer in &self.hearers[transmitter as usize] {
            let view = hearer.view as usize;
            self.views[view].begin(at, end, hearer);
            if hearer.senses {
                self.next_access[view] = None;
            }
        }
    }

    /// A PPDU ends that announces that its exchange goes on for `announced`; tells whether it was clean in the view `at_view`.
    fn end_ppdu(&mut self, exchange: &Exchange, announced: Duration, at_view: usize) -> bool {
        let mut clean = false;
        for hearer in &self.hearers[exchange.transmitter as usize] {
            let view = hearer.view as usize;
            let clean_here = self.views[view].end(exchange.at, exchange.begun, announced, hearer);
            clean |= clean_here && view == at_view;
            if hearer.senses {
                self.next_access[view] = self.views[view].due();
            }
        }
        clean
    }

    fn refresh(&mut self, view: usize) {
        self.next_access[view] = self.views[view].due();
    }

    fn send_beacon(&mut self, place: usize, at: Time) {
        let beacon = &mut self.beacons[place];
        beacon.due += beacon.interval;
        let (transmitter, airtime) = (beacon.radio, beacon.airtime);
        self.airtime[transmitter as usize].beacons += airtime;
        self.begin_ppdu(transmitter, at, at + airtime);
        self.exchanges.push(Exchange {
            at: at + airtime,
            begun: at,
            transmitter,
            work: Work::Beacon,
        });
    }

    /// Every node whose time has come transmits. Of one radio's categories the highest does; to the others that is a collision.
    fn grant(&mut self, at: Time) {
        let mut winners = core::mem::take(&mut self.winners);
        for view in 0..self.views.len() {
            if self.next_access[view].is_some_and(|next| next <= at) {
                self.views[view].take_due(at, &mut winners);
                self.refresh(view);
            }
        }
        winners.sort_unstable();
        let radios = self.radios.len() as u32;
        let yields = |place: usize, node: u32| {
            node < 4 * radios
                && winners
                    .get(place + 1)
                    .is_some_and(|next| next / 4 == node / 4)
        };
        for (place, &node) in winners.iter().enumerate() {
            if node >= 4 * radios {
                self.transmit_neighbour(node, at);
            } else if !yields(place, node) {
                self.transmit(node, at);
            }
        }
        for (place, &node) in winners.iter().enumerate() {
            if yields(place, node) {
                self.collide_internally(node, at);
            }
        }
        winners.clear();
        self.winners = winners;
    }

    fn transmit_neighbour(&mut self, node: u32, at: Time) {
        let (transmitter, end) = (self.radios.len() as u32, at + self.neighbour_airtime);
        self.begin_ppdu(transmitter, at, end);
        self.exchanges.push(Exchange {
            at: end,
            begun: at,
            transmitter,
            work: Work::Neighbour(node),
        });
    }

    /// A higher category of the same radio came first: the window doubles as after a collision, and the attempt counts (10.23.2.4).
    fn collide_internally(&mut self, node: u32, at: Time) {
        let spent = match self.paths[node as usize].peek() {
            Some(lane) => self.count_unanswered(node, lane),
            None => false,
        };
        let contender = &mut self.contenders[node as usize];
        let view = &mut self.views[contender.view()];
        if spent {
            contender.succeed(at, view)
        } else {
            contender.fail(at, view)
        }
        contender.wait(view);
        let view = contender.view();
        self.refresh(view);
    }

    /// Counts a frame without an answer; tells whether it was the last of as many in a row as the retry limit allows.
    fn count_unanswered(&mut self, contender: u32, lane: u32) -> bool {
        let link = &mut self.links[self.paths[contender as usize].lane(lane).link as usize];
        link.unanswered += 1;
        let spent = link.unanswered >= self.rules.retry_limit;
        if spent {
            link.unanswered = 0;
        }
        spent
    }

    /// A node has won the channel: it sends the frame that it has ready, or builds one, or a request to send.
    fn transmit(&mut self, contender: u32, at: Time) {
        let txop = self.radios[contender as usize / 4].config.edca[contender as usize % 4].txop;
        let txop_end = (!txop.is_zero()).then(|| at + txop);
        let flight = if self.paths[contender as usize].composes_ahead() {
            self.paths[contender as usize]
                .take_composed()
                .map(|flight| Flight { txop_end, ..flight })
        } else {
            self.compose_now(contender, at, (txop_end.map(|end| end.since(at)), true))
        };
        match flight {
            Some(flight) => self.launch(Flight { txop_end, ..flight }, at, true),
            None => self.back_off(at, contender, true),
        }
    }

    /// Puts the first PPDU of an exchange on the air.
    fn launch(&mut self, flight: Flight, at: Time, may_protect: bool) {
        let transmitter = flight.contender / 4;
        self.paths[flight.contender as usize].begin_service();
        let threshold = self.radios[transmitter as usize].config.rts_threshold;
        let protect =
            may_protect && threshold.is_some_and(|threshold| flight.built.psdu_bytes > threshold);
        let (step, ppdu) = if protect {
            let rts = self.rules.rts(flight.built.rate);
            self.airtime[transmitter as usize].control += rts;
            (Step::Rts, rts)
        } else {
            self.airtime[transmitter as usize].data += flight.built.ppdu;
            (Step::Data, flight.built.ppdu)
        };
        self.begin_ppdu(transmitter, at, at + ppdu);
        self.exchanges.push(Exchange {
            at: at + ppdu,
            begun: at,
            transmitter,
            work: Work::Data(step, flight),
        });
    }

    fn step(&mut self, place: usize, at: Time) {
        let exchange = self.exchanges.swap_remove(place);
        match exchange.work {
            Work::Beacon => {
                self.end_ppdu(&exchange, Duration::ZERO, 0);
            }
            Work::Neighbour(node) => self.end_neighbour(&exchange, node),
            Work::Data(Step::Rts, flight) => self.end_rts(&exchange, flight),
            Work::Data(Step::CtsDue, flight) => self.follow(&exchange, Step::Cts, flight),
            Work::Data(Step::Cts, flight) => self.end_cts(&exchange, flight),
            Work::Data(Step::DataDue, flight) => self.follow(&exchange, Step::Data, flight),
            Work::Data(Step::Data, flight) => self.end_data(&exchange, flight),
            Work::Data(Step::AnswerDue, flight) => self.follow(&exchange, Step::Answer, flight),
            Work::Data(Step::Answer, flight) => self.end_answer(&exchange, flight),
            Work::Data(Step::NextDue, flight) => self.go_on(flight, at),
        }
    }

    /// The PPDU that is due after SIFS begins.
    fn follow(&mut self, exchange: &Exchange, step: Step, flight: Flight) {
        let transmitter = exchange.transmitter;
        let ppdu = match step {
            Step::Cts => self.rules.cts(flight.built.rate),
            Step::Answer => flight.built.response,
            _ => flight.built.ppdu,
        };
        let airtime = &mut self.airtime[transmitter as usize];
        if step == Step::Data {
            airtime.data += ppdu
        } else {
            airtime.control += ppdu
        }
        self.begin_ppdu(transmitter, exchange.at, exchange.at + ppdu);
        let (at, begun) = (exchange.at + ppdu, exchange.at);
        self.exchanges.push(Exchange {
            at,
            begun,
            transmitter,
            work: Work::Data(step, flight),
        });
    }

    /// `transmitter` will go on with `step` after SIFS.
    fn await_sifs(&mut self, at: Time, transmitter: u32, step: Step, flight: Flight) {
        let at = at + self.rules.medium.sifs();
        self.exchanges.push(Exchange {
            at,
            begun: at,
            transmitter,
            work: Work::Data(step, flight),
        });
    }

    fn end_neighbour(&mut self, exchange: &Exchange, node: u32) {
        let clean = self.end_ppdu(exchange, Duration::ZERO, self.neighbour_view);
        // It may be gone by now.
        if let Some(contender) = self
            .neighbours
            .iter_mut()
            .find(|contender| contender.node() == node)
        {
            let view = &mut self.views[self.neighbour_view];
            if clean {
                contender.succeed(exchange.at, view)
            } else {
                contender.fail(exchange.at, view)
            }
            contender.wait(view);
            self.refresh(self.neighbour_view);
        }
    }

    /// The receiver's number and view.
    fn receiver(&self, flight: &Flight) -> (u32, usize) {
        let link =
            &self.links[self.paths[flight.contender as usize].lane(flight.lane).link as usize];
        (link.to.0, self.radios[link.to.index()].view)
    }

    fn end_rts(&mut self, exchange: &Exchange, mut flight: Flight) {
        let (receiver, view) = self.receiver(&flight);
        let (sifs, cts) = (self.rules.medium.sifs(), self.rules.cts(flight.built.rate));
        let reserved = self.views[view].is_reserved(exchange.at);
        // Whoever hears no data after all is free again (10.3.2.4); whoever does is told by the data.
        let announced = 2 * sifs + cts + RX_START_DELAY + 2 * self.rules.medium.slot();
        let clean = self.end_ppdu(exchange, announced, view);
        if clean && !reserved && !self.views[view].is_sensing() {
            flight.protection = exchange.at.since(exchange.begun) + cts + 2 * sifs;
            self.await_sifs(exchange.at, receiver, Step::CtsDue, flight);
        } else {
            self.withhold(&flight, exchange.at.since(exchange.begun));
            self.conclude((exchange.at, exchange.at), &flight, false);
        }
    }

    /// The frame is not sent after all: its MPDUs count as tried, and the request for it as airtime.
    fn withhold(&mut self, flight: &Flight, airtime: Duration) {
        let path = &mut self.paths[flight.contender as usize];
        path.lane_mut(flight.lane)
            .window
            .withhold(flight.built.number);
        path.charge(flight.lane, airtime);
    }

    fn end_cts(&mut self, exchange: &Exchange, flight: Flight) {
        let sender = flight.contender / 4;
        let sifs = self.rules.medium.sifs();
        let announced = 2 * sifs + flight.built.ppdu + flight.built.response;
        if self.end_ppdu(exchange, announced, self.radios[sender as usize].view) {
            self.await_sifs(exchange.at, sender, Step::DataDue, flight);
        } else {
            self.withhold(&flight, flight.protection);
            self.conclude((exchange.at, exchange.at), &flight, false);
        }
    }

    fn end_data(&mut self, exchange: &Exchange, flight: Flight) {
        let (receiver, view) = self.receiver(&flight);
        let answer = self.rules.medium.sifs() + flight.built.response;
        let clean = self.end_ppdu(exchange, answer, view);
        let decoded = self.receive(exchange, &flight, clean);
        if decoded == 0 {
            self.conclude((exchange.at, exchange.at), &flight, false);
        } else if self.views.len() == 1 {
            // Everyone has heard the announcement: nothing can disturb the answer, and nothing happens before its end.
            self.views[0].count_announced(flight.built.response);
            self.airtime[receiver as usize].control += flight.built.response;
            self.conclude((exchange.at, exchange.at + answer), &flight, true);
        } else {
            self.await_sifs(exchange.at, receiver, Step::AnswerDue, flight);
        }
    }

    fn end_answer(&mut self, exchange: &Exchange, flight: Flight) {
        let sender = flight.contender / 4;
        let heard = self.end_ppdu(exchange, Duration::ZERO, self.radios[sender as usize].view);
        self.conclude((exchange.at, exchange.at), &flight, heard);
    }

    /// What of the frame is decoded; hands out its record and what it carried.
    fn receive(&mut self, exchange: &Exchange, flight: &Flight, clean: bool) -> u16 {
        let lane = self.paths[flight.contender as usize].lane_mut(flight.lane);
        let link = &mut self.links[lane.link as usize];
        let mut record = flight.record(exchange, (link.from, link.to), self.next_ampdu);
        record.collided = !clean;
        self.next_ampdu = self.next_ampdu.wrapping_add(1);
        // The record goes first; what the frame carried, once known, completes it.
        let position = self.outputs.len();
        self.outputs.push_back(Output::Frame(record));
        let (outputs, at) = (&mut self.outputs, exchange.at);
        let whose = (record.from, record.to, record.category);
        let mut tell = |fate: Fate<P>| outputs.push_back(fate.output(at, whose));
        link.receive(exchange.begun, flight.built.rate);
        let lost = |bytes| !clean || link.loses(bytes);
        let number = (flight.built.number, record.ampdu);
        let decoded = lane.window.receive(number, &self.rules, lost, &mut tell);
        if self.views.len() > 1 {
            // Else the end of the exchange, which is known now, does it.
            lane.window.release(&mut tell);
        }
        record.decoded = decoded;
        if decoded > 0 {
            record.airtime += self.rules.medium.sifs() + flight.built.response;
        }
        self.outputs[position] = Output::Frame(record);
        self.account(flight, &record);
        decoded
    }

    /// A frame was sent: its airtime is charged where airtime is shared out, at its sender and at its receiver.
    fn account(&mut self, flight: &Flight, record: &FrameRecord) {
        let path = &mut self.paths[flight.contender as usize];
        path.charge(flight.lane, record.airtime);
        path.on_frame(record);
        let back = self
            .peer(record.to, record.from)
            .map_or(NO_LANE, |peer| peer.lanes[record.category as usize]);
        if back != NO_LANE {
            self.paths[4 * record.to.index() + record.category as usize]
                .charge(back, record.airtime);
        }
    }

    /// The exchange is over at `at`, as is known from `known` on: its sender learns what was received, if there was an answer, and goes on
    /// or contends again.
    fn conclude(&mut self, (known, at): (Time, Time), flight: &Flight, answered: bool) {
        let path = &mut self.paths[flight.contender as usize];
        let lane = path.lane_mut(flight.lane);
        let link = &mut self.links[lane.link as usize];
        let (from, to, category) = (link.from, link.to, category_of(flight.contender));
        let outputs = &mut self.outputs;
        let tell = |fate: Fate<P>| outputs.push_back(fate.output(known, (from, to, category)));
        let settled = lane
            .window
            .settle((flight.built.number, answered), &self.rules, tell);
        path.settled(flight.lane, settled.packets);
        link.adaptation.on_result(at, &flight.result(settled.acked));
        let spent = if answered {
            link.unanswered = 0;
            false
        } else {
            self.count_unanswered(flight.contender, flight.lane)
        };
        self.end_service(flight, (known, at), answered || spent);
        let goes_on = answered
            && flight
                .txop_end
                .is_some_and(|end| at + self.rules.medium.sifs() < end);
        if goes_on && self.paths[flight.contender as usize].has_work() {
            self.await_sifs(at, flight.contender / 4, Step::NextDue, *flight);
        } else {
            self.back_off(at, flight.contender, answered || spent);
        }
    }

    /// The next exchange of a TXOP, if one fits into what is left of it.
    fn go_on(&mut self, flight: Flight, at: Time) {
        let (contender, txop_end) = (flight.contender, flight.txop_end);
        let room = txop_end.map_or(Duration::ZERO, |end| end.saturating_since(at));
        let next = if self.paths[contender as usize].composes_ahead() {
            let path = &mut self.paths[contender as usize];
            let fits = path
                .first_composed()
                .is_some_and(|next| self.rules.estimate(&next.built) <= room);
            if fits { path.take_composed() } else { None }
        } else {
            self.compose_now(contender, at, (Some(room), false))
        };
        match next {
            Some(next) => self.launch(Flight { txop_end, ..next }, at, false),
            None => self.back_off(at, contender, true),
        }
    }

    /// Back-off, and whether the node stays in contention.
    fn back_off(&mut self, at: Time, node: u32, done: bool) {
        let contender = &mut self.contenders[node as usize];
        let view = &mut self.views[contender.view()];
        if done {
            contender.succeed(at, view)
        } else {
            contender.fail(at, view)
        }
        if self.paths[node as usize].has_work() {
            contender.wait(view);
        }
        let view = contender.view();
        self.refresh(view);
    }
}
