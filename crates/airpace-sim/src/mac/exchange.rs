//! A frame exchange on the air: RTS, CTS, data and the answer to it, each SIFS after the other.

use super::Mac;
use super::air::{EndingPpdu, RX_START_DELAY};
use super::compose::TxopRoom;
use super::control::ControlKind;
use super::delivery::Ending;
use super::field::Content;
use super::flight::Flight;
use super::frame::Rules;
use super::ids::{AccessFunctionId, Transmitter, ViewId};
use super::management::ManagementKind;
use crate::radio::RadioId;
use airpace_core::packet::Packet;
use airpace_core::phy::LegacyRate;
use airpace_units::Time;
use core::time::Duration;

/// What is on the air, or follows after SIFS.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    /// When the PPDU on the air ends, or that after SIFS begins.
    pub(super) at: Time,
    /// When the PPDU on the air began.
    pub(super) begun: Time,
    pub(super) work: Work,
}

/// What happens at [`Exchange::at`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// A beacon of this radio ends.
    Beacon(RadioId),
    /// The frame of the neighbour with this number ends.
    Neighbour(u32),
    /// A PPDU of the exchange ends.
    Ends(Ppdu, Flight),
    /// A PPDU of the exchange begins.
    Begins(Ppdu, Flight),
    /// The next exchange of the TXOP begins.
    NextBegins(Flight),
    /// The management frame of this radio ends.
    Management(RadioId),
    /// The acknowledgement of `from`'s management frame begins.
    ManagementAckBegins { from: RadioId, by: RadioId },
    /// The same ends.
    ManagementAck { from: RadioId, by: RadioId },
}

/// The PPDUs of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ppdu {
    Rts,
    Cts,
    /// A CTS of the sender to itself, at this rate.
    CtsToSelf(LegacyRate),
    Data,
    /// A block-ack request.
    Request,
    /// Acknowledgement or block acknowledgement.
    Answer,
}

impl Exchange {
    /// Whether a PPDU begins next, rather than ends.
    pub(super) const fn begins(&self) -> bool {
        matches!(
            self.work,
            Work::Begins(..) | Work::NextBegins(_) | Work::ManagementAckBegins { .. }
        )
    }
}

impl<P: Packet + Clone> Mac<P> {
    /// An access function has won the channel: it sends a frame that was composed ahead, or
    /// composes one now.
    pub(super) fn transmit(&mut self, function: AccessFunctionId, at: Time) {
        let radio = &mut self.radios[function.radio.index()];
        if radio.is_away {
            return radio.parked.push(function.category);
        }
        let txop = radio.config.edca(function.category).txop;
        let path = &mut radio.paths[function.category];
        if let Some(flight) = path.take_request() {
            return self.begin_ppdu(Ppdu::Request, flight, at);
        }
        let flight = if path.composes_ahead() {
            path.take_composed()
        } else {
            self.compose_now(function, at, TxopRoom::whole(txop))
        };
        let txop_end = (!txop.is_zero()).then(|| at + txop);
        match flight {
            Some(flight) => self.begin_exchange(Flight { txop_end, ..flight }, at, true),
            None => self.back_off(at, function, true),
        }
    }

    /// Sends the first PPDU of an exchange. If it `may_protect` the frame, that is an RTS before a frame
    /// longer than the threshold, and otherwise a CTS to itself where the radio has one sent; else it is
    /// the frame.
    fn begin_exchange(&mut self, flight: Flight, at: Time, may_protect: bool) {
        // Group-addressed frames are never preceded by RTS (10.3.6).
        let may_protect = may_protect && !self.links[flight.link.index()].group;
        let radio = &mut self.radios[flight.function.radio.index()];
        radio.paths[flight.function.category].begin_service(flight.lane);
        let is_long = radio
            .config
            .rts_threshold
            .is_some_and(|threshold| flight.built.psdu_bytes > threshold);
        let first = match self.own_cts(&flight) {
            _ if may_protect && is_long => Ppdu::Rts,
            Some(rate) if may_protect => Ppdu::CtsToSelf(rate),
            _ => Ppdu::Data,
        };
        self.begin_ppdu(first, flight, at);
    }

    /// The rate of the CTS that the sender of a frame sends to itself before it, if it does.
    pub(super) fn own_cts(&self, flight: &Flight) -> Option<LegacyRate> {
        let radio = &self.radios[flight.function.radio.index()];
        radio.config.own_cts(flight.built.rate)
    }

    /// Puts a PPDU on the air.
    fn begin_ppdu(&mut self, ppdu: Ppdu, flight: Flight, at: Time) {
        let transmitter = self.transmitter(ppdu, &flight);
        let duration = match ppdu {
            Ppdu::Rts => self.rules.rts(flight.built.rate),
            Ppdu::Cts => self.rules.cts(flight.built.rate),
            Ppdu::CtsToSelf(rate) => self.rules.cts_to_self(rate),
            Ppdu::Data => flight.built.ppdu,
            Ppdu::Request => self.rules.request(flight.built.rate),
            Ppdu::Answer => flight.built.response,
        };
        let airtime = &mut self.radios[transmitter.index()].airtime;
        if ppdu == Ppdu::Data {
            airtime.data += duration;
        } else {
            airtime.control += duration;
        }
        let end = at + duration;
        let rules = &self.rules;
        self.air
            .begin_ppdu(Transmitter::Radio(transmitter), at, end, || match ppdu {
                Ppdu::Rts => rules.rts_content(flight.built.rate),
                Ppdu::Cts => rules.cts_content(flight.built.rate),
                Ppdu::CtsToSelf(rate) => Rules::cts_to_self_content(rate),
                Ppdu::Data => Content {
                    rate: flight.built.rate,
                    mpdus: flight.built.mpdus,
                    bytes: flight.built.mpdu_bytes,
                },
                Ppdu::Request => rules.request_content(flight.built.rate),
                Ppdu::Answer => rules.answer_content(&flight.built),
            });
        self.exchanges.push(Exchange {
            at: end,
            begun: at,
            work: Work::Ends(ppdu, flight),
        });
    }

    /// The radio that sends a PPDU of an exchange.
    fn transmitter(&self, ppdu: Ppdu, flight: &Flight) -> RadioId {
        match ppdu {
            Ppdu::Rts | Ppdu::CtsToSelf(_) | Ppdu::Data | Ppdu::Request => flight.function.radio,
            Ppdu::Cts | Ppdu::Answer => self.links[flight.link.index()].to,
        }
    }

    /// Whatever the exchange at `index` is about to do happens.
    pub(super) fn step(&mut self, index: usize, at: Time) {
        let exchange = self.exchanges.swap_remove(index);
        // By reference: a flight is longer than many a step takes to move it.
        match &exchange.work {
            &Work::Beacon(radio) => {
                // Beacons are airtime alone: it does not matter who receives them.
                let clean = self.end_ppdu(&exchange, Duration::ZERO, self.air.neighbour_view());
                self.note_beacon(&exchange, radio, clean);
                self.tell_listeners(&exchange, radio, ManagementKind::Beacon);
            }
            &Work::Neighbour(number) => self.end_neighbour(&exchange, number),
            Work::Begins(ppdu, flight) => self.begin_ppdu(*ppdu, *flight, at),
            Work::Ends(Ppdu::Rts, flight) => self.end_rts(&exchange, *flight),
            Work::Ends(Ppdu::Cts, flight) => self.end_cts(&exchange, *flight),
            Work::Ends(Ppdu::CtsToSelf(_), flight) => self.end_cts_to_self(&exchange, *flight),
            Work::Ends(Ppdu::Data, flight) => self.end_data(&exchange, flight),
            Work::Ends(Ppdu::Request, flight) => self.end_request(&exchange, flight),
            Work::Ends(Ppdu::Answer, flight) => self.end_answer(&exchange, flight),
            Work::NextBegins(flight) => self.continue_txop(flight, at),
            &Work::Management(radio) => self.end_management(&exchange, radio),
            &Work::ManagementAckBegins { from, by } => self.begin_management_ack(from, by, at),
            &Work::ManagementAck { from, .. } => self.end_management_ack(&exchange, from),
        }
    }

    /// Plans what happens SIFS after `at`.
    pub(super) fn after_sifs(&mut self, at: Time, work: Work) {
        self.exchanges.push(Exchange {
            at: at + self.rules.medium.sifs(),
            begun: at,
            work,
        });
    }

    /// The PPDU of `exchange` ends; its header says that the exchange goes on for `announced`.
    /// Returns whether it reached the radios of the view `receiver`; see [`super::air::Air::end_ppdu`].
    pub(super) fn end_ppdu(
        &mut self,
        exchange: &Exchange,
        announced: Duration,
        receiver: ViewId,
    ) -> bool {
        let transmitter = match &exchange.work {
            Work::Neighbour(_) => Transmitter::Neighbour,
            Work::Beacon(radio) | Work::Management(radio) => Transmitter::Radio(*radio),
            Work::ManagementAckBegins { by, .. } | Work::ManagementAck { by, .. } => {
                Transmitter::Radio(*by)
            }
            Work::Ends(ppdu, flight) | Work::Begins(ppdu, flight) => {
                Transmitter::Radio(self.transmitter(*ppdu, flight))
            }
            Work::NextBegins(flight) => Transmitter::Radio(flight.function.radio),
        };
        let is_for_many = match &exchange.work {
            Work::Beacon(_) | Work::Management(_) => !self.listeners.is_empty(),
            Work::Ends(Ppdu::Data, flight) => !self.links[flight.link.index()].members.is_empty(),
            _ => false,
        };
        let ppdu = EndingPpdu {
            transmitter,
            begun: exchange.begun,
            end: exchange.at,
            announced,
            is_data: matches!(exchange.work, Work::Ends(Ppdu::Data, _)) && !is_for_many,
            is_for_many,
        };
        self.air.end_ppdu(&ppdu, receiver)
    }

    /// The views of sender and receiver.
    fn views_of(&self, flight: &Flight) -> (ViewId, ViewId) {
        let receiver = self.links[flight.link.index()].to;
        (
            self.radios[flight.function.radio.index()].view,
            self.radios[receiver.index()].view,
        )
    }

    /// Whether the receiver of a frame is on the channel and listens to its sender.
    fn is_there(&self, flight: &Flight) -> bool {
        let link = &self.links[flight.link.index()];
        !link.is_deaf && !self.radios[link.to.index()].is_away
    }

    fn end_rts(&mut self, exchange: &Exchange, mut flight: Flight) {
        let (_, receiver) = self.views_of(&flight);
        let (sifs, cts) = (self.rules.medium.sifs(), self.rules.cts(flight.built.rate));
        let reserved = self.air.view_mut(receiver).is_reserved(exchange.at);
        // Radios that notice no data after the RTS may reset their NAV after this time (10.3.2.4).
        // Those that do hear it learn of the rest of the exchange from its header.
        let announced = 2 * sifs + cts + RX_START_DELAY + 2 * self.rules.medium.slot();
        let clean = self.end_ppdu(exchange, announced, receiver);
        let rts = exchange.at.since(exchange.begun);
        // The receiver answers if its NAV allows it and the channel is idle (10.3.2.9).
        let is_there = self.is_there(&flight);
        if clean && is_there && !reserved && !self.air.view_mut(receiver).is_sensing() {
            flight.protection = rts + cts + 2 * sifs;
            self.note_control(ControlKind::Rts, &flight, exchange.begun);
            self.after_sifs(exchange.at, Work::Begins(Ppdu::Cts, flight));
        } else {
            self.withhold(&flight, rts);
            self.conclude(&flight, Ending::withheld(exchange.at));
        }
    }

    fn end_cts(&mut self, exchange: &Exchange, flight: Flight) {
        let (sender, _) = self.views_of(&flight);
        let announced = 2 * self.rules.medium.sifs() + flight.built.ppdu + flight.built.response;
        if self.end_ppdu(exchange, announced, sender) {
            self.note_control(ControlKind::Cts, &flight, exchange.begun);
            self.after_sifs(exchange.at, Work::Begins(Ppdu::Data, flight));
        } else {
            self.withhold(&flight, flight.protection);
            self.conclude(&flight, Ending::withheld(exchange.at));
        }
    }

    /// A CTS to itself has ended. Its sender does not learn whether anybody heard it.
    fn end_cts_to_self(&mut self, exchange: &Exchange, mut flight: Flight) {
        let (_, receiver) = self.views_of(&flight);
        let sifs = self.rules.medium.sifs();
        let announced = 2 * sifs + flight.built.ppdu + flight.built.response;
        let clean = self.end_ppdu(exchange, announced, receiver);
        flight.protection = exchange.at.since(exchange.begun) + sifs;
        if clean {
            self.note_control(ControlKind::CtsToSelf, &flight, exchange.begun);
        }
        self.after_sifs(exchange.at, Work::Begins(Ppdu::Data, flight));
    }

    /// The frame is not sent, because its RTS met no answer: its MPDUs count as tried, and
    /// `airtime` as used.
    fn withhold(&mut self, flight: &Flight, airtime: Duration) {
        let path = &mut self.radios[flight.function.radio.index()].paths[flight.function.category];
        let window = &mut path.lane_mut(flight.lane).window;
        window.withhold(flight.built.number);
        self.account_beside(flight, |path| path.airtime_of_withheld(airtime));
    }

    fn end_data(&mut self, exchange: &Exchange, flight: &Flight) {
        if self.links[flight.link.index()].group {
            return self.end_group_frame(exchange, flight);
        }
        let (_, receiver) = self.views_of(flight);
        let answer = self.rules.medium.sifs() + flight.built.response;
        let clean = self.end_ppdu(exchange, answer, receiver);
        let is_there = self.is_there(flight);
        let decoded = self.receive(exchange, flight, clean && is_there);
        self.air
            .end_reception(receiver, exchange.at, answer, decoded > 0);
        if decoded == 0 {
            self.conclude(flight, Ending::unanswered(exchange.at));
        } else {
            self.answer(exchange, flight);
        }
    }

    /// A block-ack request has ended.
    fn end_request(&mut self, exchange: &Exchange, flight: &Flight) {
        let (_, receiver) = self.views_of(flight);
        let answer = self.rules.medium.sifs() + flight.built.response;
        let request = self.rules.request(flight.built.rate);
        self.account_beside(flight, |_| request);
        if self.end_ppdu(exchange, answer, receiver) && self.is_there(flight) {
            let start = self.request_start(flight);
            let kind = ControlKind::BlockAckRequest { start };
            self.note_control(kind, flight, exchange.begun);
            self.answer(exchange, flight);
        } else {
            self.conclude(flight, Ending::unanswered(exchange.at));
        }
    }

    /// The receiver answers the PPDU of `exchange`.
    fn answer(&mut self, exchange: &Exchange, flight: &Flight) {
        if self.air.is_shared_by_all() {
            // Everybody has heard the announcement: nothing can disturb the answer, and nothing
            // happens before it ends. So the end of the exchange is known now, and the answer needs
            // no step of its own.
            let view = self.air.neighbour_view();
            self.air
                .view_mut(view)
                .count_announced(flight.built.response);
            let receiver = self.links[flight.link.index()].to;
            self.radios[receiver.index()].airtime.control += flight.built.response;
            let begin = exchange.at + self.rules.medium.sifs();
            self.note_control(ControlKind::answer_to(flight), flight, begin);
            self.conclude(
                flight,
                Ending {
                    at: exchange.at + self.rules.medium.sifs() + flight.built.response,
                    known: exchange.at,
                    answered: true,
                    is_sent: true,
                },
            );
        } else {
            self.after_sifs(exchange.at, Work::Begins(Ppdu::Answer, *flight));
        }
    }

    /// A group-addressed frame has ended. Nobody answers, so its sender takes it for received: it
    /// neither repeats it nor widens its contention window (10.3.6).
    fn end_group_frame(&mut self, exchange: &Exchange, flight: &Flight) {
        let (_, receiver) = self.views_of(flight);
        if self.links[flight.link.index()].members.is_empty() {
            let clean = self.end_ppdu(exchange, Duration::ZERO, receiver);
            let decoded = self.receive(exchange, flight, clean);
            self.air
                .end_reception(receiver, exchange.at, Duration::ZERO, decoded > 0);
        } else {
            self.end_ppdu(exchange, Duration::ZERO, self.air.neighbour_view());
            self.find_group(exchange, flight);
            self.receive(exchange, flight, true);
        }
        self.conclude(
            flight,
            Ending {
                at: exchange.at,
                known: exchange.at,
                answered: true,
                is_sent: true,
            },
        );
    }

    fn end_answer(&mut self, exchange: &Exchange, flight: &Flight) {
        let (sender, _) = self.views_of(flight);
        let answered = self.end_ppdu(exchange, Duration::ZERO, sender);
        if answered {
            self.note_control(ControlKind::answer_to(flight), flight, exchange.begun);
        }
        self.conclude(
            flight,
            Ending {
                at: exchange.at,
                known: exchange.at,
                answered,
                is_sent: true,
            },
        );
    }

    /// Begins the next exchange of a TXOP, if one fits into what is left of it.
    fn continue_txop(&mut self, last: &Flight, at: Time) {
        let (function, txop_end) = (last.function, last.txop_end);
        let room = txop_end.map_or(Duration::ZERO, |end| end.saturating_since(at));
        let path = &mut self.radios[function.radio.index()].paths[function.category];
        let next = if path.composes_ahead() {
            let fits = path
                .first_composed()
                .is_some_and(|next| self.rules.estimate(&next.built) <= room);
            if fits { path.take_composed() } else { None }
        } else {
            self.compose_now(function, at, TxopRoom::Rest(room))
        };
        match next {
            Some(next) => self.begin_exchange(Flight { txop_end, ..next }, at, false),
            None => self.back_off(at, function, true),
        }
    }
}
