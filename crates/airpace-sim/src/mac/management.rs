//! Management frames: probes, authentication and association, and the null frames by which a
//! station says that it sleeps or wakes.
//!
//! They are sent at the lowest basic rate with the channel access of voice (10.2.3.2), before any
//! data of their radio. Those for one receiver are acknowledged, and repeated up to the retry limit;
//! those for everybody are sent once. What they mean is the caller's business.

use super::Mac;
use super::contention::Contender;
use super::exchange::{Exchange, Work};
use super::field::Content;
use super::ids::{ContenderId, Transmitter};
use super::radio::Radio;
use crate::radio::RadioId;
use crate::rng::Stream;
use airpace_core::packet::Packet;
use airpace_core::phy::{ACK_BYTES, AccessCategory, LegacyRate, TxRate};
use airpace_units::Time;
use core::time::Duration;
use std::collections::VecDeque;

/// A management frame to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ManagementFrame {
    /// Its receiver; `None` for all radios that [listen](super::RadioConfig::listens).
    pub to: Option<RadioId>,
    /// What it is.
    pub kind: ManagementKind,
    /// Its length in bytes, header and FCS included.
    pub bytes: u32,
}

/// What a management frame is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ManagementKind {
    /// A beacon. The MAC sends it by itself ([`super::RadioConfig::beacon`]).
    Beacon,
    /// Asks all access points on the channel to answer.
    ProbeRequest,
    /// An access point's answer to that.
    ProbeResponse,
    /// Asks for authentication.
    AuthenticationRequest,
    /// The answer to that.
    AuthenticationResponse,
    /// Asks for association, or for association in place of that with another access point.
    AssociationRequest,
    /// The answer to that.
    AssociationResponse,
    /// A null data frame: from now on the station does not listen.
    Sleeps,
    /// A null data frame: the station listens again.
    Wakes,
}

/// What has become of a management frame.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ManagementEvent {
    /// A radio has received one.
    Received {
        /// End of its PPDU.
        at: Time,
        /// Its sender.
        from: RadioId,
        /// The radio that has received it.
        by: RadioId,
        /// What it is.
        kind: ManagementKind,
        /// The mean power in dBm with which it was received; `None` without
        /// [`super::Hearing::Powers`].
        dbm: Option<f64>,
    },
    /// Its sender is done with one: it was acknowledged, or was for everybody, or was given up.
    Sent {
        /// When.
        at: Time,
        /// Its sender.
        from: RadioId,
        /// Its receiver; `None` for everybody.
        to: Option<RadioId>,
        /// What it is.
        kind: ManagementKind,
        /// Whether it was acknowledged; true if it was for everybody.
        arrived: bool,
    },
}

/// The management frames of one radio.
#[derive(Debug)]
pub(super) struct Manager {
    contender: Contender,
    /// The first is the one that is sent.
    waiting: VecDeque<ManagementFrame>,
    /// How often the first was sent.
    tries: u8,
    /// Whether its receiver has it already: only the acknowledgement was lost.
    is_received: bool,
    /// Whether it waits for its radio to be back on the channel.
    is_parked: bool,
}

impl<P: Packet + Clone> Mac<P> {
    /// The next thing that has become of a management frame; `None` when all have been told.
    pub fn poll_management(&mut self) -> Option<ManagementEvent> {
        self.managed.pop_front()
    }

    /// A radio is given a management frame to send.
    pub(super) fn manage(&mut self, now: Time, from: RadioId, frame: ManagementFrame) {
        let receivers = frame.to.into_iter().chain([from]);
        if receivers
            .into_iter()
            .any(|radio| radio.index() >= self.radios.len())
        {
            return;
        }
        if self.managers.len() < self.radios.len() {
            self.managers.resize_with(self.radios.len(), || None);
        }
        let radio = &self.radios[from.index()];
        let view = radio.view;
        if self.managers[from.index()].is_none() {
            let contender = new_contender(radio, from, self.seed, self.air.view_mut(view));
            self.managers[from.index()] = Some(Box::new(Manager {
                contender,
                waiting: VecDeque::new(),
                tries: 0,
                is_received: false,
                is_parked: false,
            }));
        }
        let Some(manager) = &mut self.managers[from.index()] else {
            return;
        };
        manager.waiting.push_back(frame);
        if manager.waiting.len() == 1 {
            manager.contender.arrive(now, self.air.view_mut(view));
            self.air.refresh(view);
            self.next = self.find_next();
        }
    }

    /// A radio that was away is back: a frame that waited for that contends again.
    pub(super) fn unpark_management(&mut self, now: Time, radio: RadioId) {
        let manager = self.managers.get_mut(radio.index());
        let Some(manager) = manager.and_then(Option::as_deref_mut) else {
            return;
        };
        if core::mem::take(&mut manager.is_parked) {
            let view = manager.contender.view();
            manager.contender.arrive(now, self.air.view_mut(view));
            self.air.refresh(view);
        }
    }

    /// A radio has won the channel for a management frame.
    pub(super) fn transmit_management(&mut self, radio: RadioId, at: Time) {
        let is_away = self.radios[radio.index()].is_away;
        let Some(manager) = &mut self.managers[radio.index()] else {
            return;
        };
        manager.contender.win();
        if is_away {
            manager.is_parked = true;
            return;
        }
        let Some(frame) = manager.waiting.front().copied() else {
            return;
        };
        let rate = self.management_rate();
        let airtime = self.rules.medium.control_airtime(rate, frame.bytes);
        self.radios[radio.index()].airtime.management += airtime;
        let end = at + airtime;
        self.air.begin_ppdu(Transmitter::Radio(radio), at, end, || {
            Content::single(TxRate::legacy(rate), frame.bytes)
        });
        self.exchanges.push(Exchange {
            at: end,
            begun: at,
            work: Work::Management(radio),
        });
    }

    /// A management frame has ended.
    pub(super) fn end_management(&mut self, exchange: &Exchange, radio: RadioId) {
        let manager = self.managers[radio.index()].as_deref();
        let Some(frame) = manager.and_then(|manager| manager.waiting.front().copied()) else {
            return;
        };
        let Some(to) = frame.to else {
            self.end_ppdu(exchange, Duration::ZERO, self.air.neighbour_view());
            self.tell_listeners(exchange, radio, frame.kind);
            return self.conclude_management(exchange.at, radio, true);
        };
        let sifs = self.rules.medium.sifs();
        let answer = sifs + self.management_ack();
        let view = self.radios[to.index()].view;
        let is_clean = self.end_ppdu(exchange, answer, view);
        if !is_clean || self.radios[to.index()].is_away {
            return self.conclude_management(exchange.at, radio, false);
        }
        let manager = self.managers[radio.index()].as_deref_mut();
        let again = manager.is_some_and(|it| core::mem::replace(&mut it.is_received, true));
        if !again {
            self.tell_received(exchange.at, radio, to, frame.kind);
        }
        let work = Work::ManagementAckBegins {
            from: radio,
            by: to,
        };
        self.after_sifs(exchange.at, work);
    }

    /// The acknowledgement of a management frame begins.
    pub(super) fn begin_management_ack(&mut self, from: RadioId, by: RadioId, at: Time) {
        let (rate, airtime) = (self.management_rate(), self.management_ack());
        self.radios[by.index()].airtime.control += airtime;
        let end = at + airtime;
        self.air.begin_ppdu(Transmitter::Radio(by), at, end, || {
            Content::single(TxRate::legacy(rate), ACK_BYTES)
        });
        self.exchanges.push(Exchange {
            at: end,
            begun: at,
            work: Work::ManagementAck { from, by },
        });
    }

    /// The acknowledgement of a management frame has ended.
    pub(super) fn end_management_ack(&mut self, exchange: &Exchange, from: RadioId) {
        let view = self.radios[from.index()].view;
        let is_clean = self.end_ppdu(exchange, Duration::ZERO, view);
        self.conclude_management(exchange.at, from, is_clean);
    }

    /// A management frame has arrived or not. It is repeated up to the retry limit; then comes the
    /// next.
    fn conclude_management(&mut self, at: Time, radio: RadioId, arrived: bool) {
        let retry_limit = self.rules.retry_limit;
        let Some(manager) = &mut self.managers[radio.index()] else {
            return;
        };
        manager.tries += 1;
        let is_done = arrived || manager.tries >= retry_limit;
        if is_done {
            (manager.tries, manager.is_received) = (0, false);
            if let Some(frame) = manager.waiting.pop_front() {
                self.managed.push_back(ManagementEvent::Sent {
                    at,
                    from: radio,
                    to: frame.to,
                    kind: frame.kind,
                    arrived,
                });
            }
        }
        let view = manager.contender.view();
        let state = self.air.view_mut(view);
        manager.contender.back_off(at, state, is_done);
        if !manager.waiting.is_empty() {
            manager.contender.wait(state);
        }
        self.air.refresh(view);
    }

    /// Tells of a frame for everybody, which has just ended, that radios which listen have received
    /// it.
    pub(super) fn tell_listeners(
        &mut self,
        exchange: &Exchange,
        from: RadioId,
        kind: ManagementKind,
    ) {
        for index in 0..self.listeners.len() {
            let by = self.listeners[index];
            let radio = &self.radios[by.index()];
            if by != from && !radio.is_away && self.air.has_decoded(radio.view) {
                self.tell_received(exchange.at, from, by, kind);
            }
        }
    }

    fn tell_received(&mut self, at: Time, from: RadioId, by: RadioId, kind: ManagementKind) {
        let dbm = self.air.received_dbm(from, by);
        self.managed.push_back(ManagementEvent::Received {
            at,
            from,
            by,
            kind,
            dbm,
        });
    }

    /// The lowest basic rate.
    fn management_rate(&self) -> LegacyRate {
        self.rules.medium.basic_rates()[0]
    }

    fn management_ack(&self) -> Duration {
        let rate = self.management_rate();
        self.rules.medium.control_airtime(rate, ACK_BYTES)
    }
}

fn new_contender<P>(
    radio: &Radio<P>,
    id: RadioId,
    seed: u64,
    view: &mut super::view::View,
) -> Contender {
    let edca = radio.config.edca(AccessCategory::Voice);
    let draws = match radio.config.stream {
        Some(key) => Stream::new(seed, "named management", key),
        None => Stream::new(seed, "management", u64::from(id.0)),
    };
    Contender::new(ContenderId::Management(id), edca, radio.view, view, draws)
}
