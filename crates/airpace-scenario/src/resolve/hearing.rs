//! Who hears whom on a channel, and what becomes of frames that overlap.

use super::air::Air;
use crate::file::{ErrorModel as ErrorModelName, Node, NodeKind, Reception};
use airpace_config::document::{KeyError, refuse};
use airpace_config::quantity::Length;
use airpace_sim::channel;
use airpace_sim::mac::{Capture, Hearing, RadioId, Relation};

impl Air<'_> {
    /// Who hears whom: by ranges if they are given, else by received power.
    pub(super) fn hearing(
        &self,
        members: &[usize],
        propagation: &channel::Channel,
    ) -> Result<Hearing, KeyError> {
        let by_power = self.channel.error_model == ErrorModelName::Snr
            && self.channel.carrier_sense_range.is_none();
        let powers = || propagation.powers(self.channel.capture.then(Capture::default));
        let several = self.has_several_access_points(members);
        let is_among_neighbours = several && self.has_positions(members);
        let has_roaming = self.has_roaming(members)?;
        let is_sinr = match self.channel.reception {
            Some(reception) => reception == Reception::Sinr,
            None => is_among_neighbours || has_roaming,
        };
        if by_power && is_sinr {
            // Who hears whom, pair by pair, need not be known.
            return Ok(powers());
        }
        let hearing = if let Some(sense) = self.channel.carrier_sense_range {
            self.by_ranges(members, sense)
        } else if by_power {
            simplest(propagation.hearing(), members.len())
        } else {
            Hearing::All
        };
        let moves = self.network.steps.iter();
        let moves = moves.filter(|step| members.contains(&step.member)).count() > 0;
        let has_places = by_power && (moves || self.has_positions(members));
        let default = has_places
            && (several || hearing != Hearing::All || moves && self.parts_on_the_way(members)?);
        let reception = self.channel.reception.unwrap_or(if default {
            Reception::Sinr
        } else {
            Reception::Collide
        });
        match reception {
            Reception::Sinr if !by_power => refuse(
                self.key("reception"),
                "\"sinr\" needs received powers: let `error_model` be \"snr\", and leave `carrier_sense_range` out",
            ),
            Reception::Sinr => Ok(powers()),
            Reception::Collide if self.channel.capture => refuse(
                self.key("capture"),
                "frames that overlap are lost as a whole here, so that none can be captured: give the channel `reception = \"sinr\"`",
            ),
            Reception::Collide => Ok(hearing),
        }
    }

    /// Whether stations on this channel roam, for which signals must have powers.
    fn has_roaming(&self, members: &[usize]) -> Result<bool, KeyError> {
        let roams = |&&member: &&usize| !self.network.members[member].roams_to.is_empty();
        let Some(&station) = members.iter().find(roams) else {
            return Ok(false);
        };
        let channel = self.channel;
        let remedy = if channel.error_model != ErrorModelName::Snr {
            "let `error_model` be \"snr\""
        } else if channel.carrier_sense_range.is_some() {
            "leave `carrier_sense_range` out"
        } else if channel.reception == Some(Reception::Collide) {
            "let `reception` be \"sinr\""
        } else if !channel.beacons {
            "let `beacons` be true"
        } else {
            return Ok(true);
        };
        let name = &self.network.members[station].name;
        refuse(
            format!("{}.roam.to", self.network.key(station)),
            format!(
                "`{name}` roams by the received power of beacons, which channel `{}` does not have: \
                 {remedy} there",
                channel.name
            ),
        )
    }

    fn key(&self, name: &str) -> String {
        format!("channel.{}.{name}", self.index)
    }

    fn by_ranges(&self, members: &[usize], sense: Length) -> Hearing {
        let disturb = self.channel.interference_range.unwrap_or(sense);
        let position = |radio: RadioId| self.network.members[members[radio.index()]].position;
        let within = |range: Length| {
            Relation::by(members.len(), |from, to| {
                from != to && position(from).distance(position(to)) <= range.0
            })
        };
        Hearing::Matrix {
            senses: within(sense),
            disturbs: within(disturb),
            decodes: within(sense),
        }
    }

    fn has_several_access_points(&self, members: &[usize]) -> bool {
        let access_points = members.iter().filter(|&&member| {
            let is_above = self.network.members[member].downlink == Some(self.index);
            is_above && self.network.table(member).kind == NodeKind::Ap
        });
        access_points.count() > 1
    }

    /// Whether the scenario says where any of the nodes stands.
    fn has_positions(&self, members: &[usize]) -> bool {
        let usual = Node::default().distance;
        members.iter().any(|&member| {
            let node = self.network.table(member);
            node.position.is_some() || node.within.is_some() || node.distance != usual
        })
    }
}

/// [`Hearing::All`], which costs less, if it says the same.
fn simplest(hearing: Hearing, radios: usize) -> Hearing {
    let Hearing::Matrix {
        senses,
        disturbs,
        decodes,
    } = &hearing
    else {
        return hearing;
    };
    let all = Relation::by(radios, |from, to| from != to);
    if *senses == all && *disturbs == all && *decodes == all {
        Hearing::All
    } else {
        hearing
    }
}
