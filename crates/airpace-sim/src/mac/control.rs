//! Records of control frames and beacons, for captures.

use super::Mac;
use super::exchange::Exchange;
use super::flight::Flight;
use crate::radio::RadioId;
use airpace_core::packet::Packet;
use airpace_core::phy::{AccessCategory, LegacyRate, control_rate};
use airpace_units::Time;
use core::time::Duration;

/// A control frame or beacon, written when its receiver has decoded it.
///
/// Under [`Hearing::Powers`](super::Hearing::Powers) nobody receives beacons; every one is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControlRecord {
    /// What it is.
    pub kind: ControlKind,
    /// Who sends it.
    pub from: RadioId,
    /// Who receives it; the sender itself for a beacon, which is for everybody.
    pub to: RadioId,
    /// Access category of the data that it belongs to.
    pub category: AccessCategory,
    /// Beginning of its PPDU.
    pub start: Time,
    /// End of its PPDU.
    pub end: Time,
    /// Its rate.
    pub rate: LegacyRate,
    /// Time that its exchange takes from `end` on.
    pub remaining: Duration,
}

/// Kinds of frames that carry no data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlKind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Clear to send, by the sender of the data to itself.
    CtsToSelf,
    /// Request for a block ack.
    BlockAckRequest {
        /// The first sequence number asked about, 0 to 4095.
        start: u16,
    },
    /// Acknowledgement of a frame of one MPDU.
    Ack,
    /// Acknowledgement of a longer frame.
    BlockAck {
        /// MPDUs of that frame.
        mpdus: u16,
    },
    /// A beacon.
    Beacon,
}

impl ControlKind {
    /// The answer to a frame.
    pub(super) const fn answer_to(flight: &Flight) -> Self {
        match flight.built.mpdus {
            0 | 1 => Self::Ack,
            mpdus => Self::BlockAck { mpdus },
        }
    }
}

impl<P: Packet + Clone> Mac<P> {
    /// Writes the record of a control frame of `flight` that began at `start`, if records are wanted.
    pub(super) fn note_control(&mut self, kind: ControlKind, flight: &Flight, start: Time) {
        if !self.rules.controls {
            return;
        }
        let (built, rules) = (&flight.built, &self.rules);
        let sifs = rules.medium.sifs();
        let answer = sifs + built.response;
        let own_cts = match kind {
            ControlKind::CtsToSelf => self.own_cts(flight),
            _ => None,
        };
        let rate = own_cts.unwrap_or(control_rate(built.rate));
        let (length, remaining) = match kind {
            ControlKind::Rts => {
                let cts = rules.cts(built.rate);
                let rest = sifs + cts + sifs + built.ppdu + answer;
                (rules.rts(built.rate), rest)
            }
            ControlKind::Cts => (rules.cts(built.rate), sifs + built.ppdu + answer),
            ControlKind::CtsToSelf => (rules.cts_to_self(rate), sifs + built.ppdu + answer),
            ControlKind::BlockAckRequest { .. } => (rules.request(built.rate), answer),
            ControlKind::Ack | ControlKind::BlockAck { .. } => (built.response, Duration::ZERO),
            ControlKind::Beacon => return,
        };
        let link = &self.links[flight.link.index()];
        let (from, to) = match kind {
            ControlKind::Rts | ControlKind::BlockAckRequest { .. } => (link.from, link.to),
            ControlKind::CtsToSelf => (link.from, link.from),
            _ => (link.to, link.from),
        };
        self.controls.push_back(ControlRecord {
            kind,
            from,
            to,
            category: flight.function.category,
            start,
            end: start + length,
            rate,
            remaining,
        });
    }

    /// Writes the record of a beacon of `radio`, if records are wanted and nothing disturbed it.
    pub(super) fn note_beacon(&mut self, exchange: &Exchange, radio: RadioId, clean: bool) {
        if !self.rules.controls || !(clean || self.air.field.is_some()) {
            return;
        }
        self.controls.push_back(ControlRecord {
            kind: ControlKind::Beacon,
            from: radio,
            to: radio,
            category: AccessCategory::Voice,
            start: exchange.begun,
            end: exchange.at,
            rate: self.rules.medium.basic_rates()[0],
            remaining: Duration::ZERO,
        });
    }

    /// The first sequence number about which a block-ack request for `flight` asks.
    pub(super) fn request_start(&mut self, flight: &Flight) -> u16 {
        let path = &mut self.radios[flight.function.radio.index()].paths[flight.function.category];
        path.lane_mut(flight.lane).window.start()
    }
}
