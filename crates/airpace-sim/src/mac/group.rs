//! Frames for a group of which each member receives them or not.

use super::delivery::Address;
use super::exchange::Exchange;
use super::flight::Flight;
use super::link::Link;
use super::outputs::Outputs;
use super::window::Fate;
use super::{DropReason, Mac, RadioId};
use airpace_core::packet::Packet;
use airpace_units::Time;

/// Which members of a group have received the last frame that was sent to one.
#[derive(Debug, Default)]
pub(super) struct GroupReception {
    received: Vec<RadioId>,
    missed: Vec<RadioId>,
}

impl GroupReception {
    /// The same, if `link` leads to a group whose members receive its frames.
    pub(super) fn of(&self, link: &Link) -> Option<&Self> {
        (!link.members.is_empty()).then_some(self)
    }
}

impl<P: Packet + Clone> Mac<P> {
    /// A frame for a group has ended: finds who has received it. The given loss of a member's own
    /// link holds for it, too.
    pub(super) fn find_group(&mut self, exchange: &Exchange, flight: &Flight) {
        if let Some(field) = &mut self.air.field {
            field.end_decoding();
        }
        let by_powers = self.air.field.is_some();
        let group = &self.links[flight.link.index()];
        let (sender, rate) = (group.from, flight.built.rate);
        let bytes = flight.built.mpdu_bytes;
        self.group.received.clear();
        self.group.missed.clear();
        for index in 0..self.links[flight.link.index()].members.len() {
            let member = self.links[flight.link.index()].members[index];
            if self
                .link_mut(sender, member)
                .is_some_and(|link| link.is_deaf)
            {
                // It is associated with another access point.
                continue;
            }
            let radio = &self.radios[member.index()];
            let mut is_received = !radio.is_away && self.air.has_decoded(radio.view);
            if let Some(link) = self.link_mut(sender, member)
                && is_received
                && !(by_powers && link.is_noisy())
            {
                link.receive(exchange.begun, rate);
                is_received = !link.loses(bytes);
            }
            if is_received {
                self.group.received.push(member);
            } else {
                self.group.missed.push(member);
            }
        }
    }
}

impl<P: Clone> Fate<P> {
    /// Tells the caller of the copy of each member.
    pub(super) fn tell_of_group(
        self,
        at: Time,
        address: Address,
        group: &GroupReception,
        outputs: &mut Outputs<P>,
    ) {
        for &to in &group.received {
            let copy = match &self {
                Self::Heard {
                    bytes,
                    packet,
                    reception,
                } => Self::Heard {
                    bytes: *bytes,
                    packet: packet.clone(),
                    reception: *reception,
                },
                Self::Released { packet, reception } => Self::Released {
                    packet: packet.clone(),
                    reception: *reception,
                },
                Self::GivenUp { packet } => Self::GivenUp {
                    packet: packet.clone(),
                },
            };
            copy.tell(at, Address { to, ..address }, outputs);
        }
        let (Self::Released { packet, .. } | Self::GivenUp { packet }) = self else {
            return;
        };
        if group.received.is_empty() && group.missed.is_empty() {
            // There is nobody.
            return Self::GivenUp { packet }.tell(at, address, outputs);
        }
        for &to in &group.missed {
            let address = Address { to, ..address };
            outputs.dropped(at, address, DropReason::Missed, packet.clone());
        }
    }
}
