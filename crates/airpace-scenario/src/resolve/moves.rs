//! Nodes that move: where they stand when, what they and others then receive of each other, and how
//! their own MPDUs are lost.

use super::air::Air;
use super::network::Network;
use super::rate::Rates;
use crate::file::Change;
use airpace_config::document::{KeyError, refuse};
use airpace_sim::channel::Position;
use airpace_sim::mac::{Hearing, PairPowers, RadioId};
use airpace_sim::world::{self, ChannelConfig};
use airpace_units::Time;
use std::time::Duration;

/// A node that walks is at a new place this often, unless the way takes so long that there would be
/// more than [`MOST_STEPS`].
const STEP: Duration = Duration::from_millis(100);
/// Most places on one way.
const MOST_STEPS: u32 = 1_000;

/// A node comes to another place.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Step {
    pub(super) at: Time,
    /// Index of the table in the scenario.
    pub(super) change: usize,
    pub(super) member: usize,
    pub(super) position: Position,
}

/// Every step of every node, in order of time.
pub(super) fn steps(network: &Network<'_>) -> Vec<Step> {
    let mut moves: Vec<(usize, &Change)> = (network.scenario.change.iter().enumerate())
        .filter(|(_, change)| change.position.is_some())
        .collect();
    moves.sort_by_key(|(_, change)| change.at.0);
    let mut steps = Vec::new();
    for member in 0..network.members.len() {
        let of_member = |(_, change): &&(usize, &Change)| {
            let node = change.node.as_ref();
            node.is_some_and(|name| network.group(name).contains(&member))
        };
        let own: Vec<&(usize, &Change)> = moves.iter().filter(of_member).collect();
        let mut place = network.members[member].position;
        for (turn, &&(index, change)) in own.iter().enumerate() {
            // A way ends where the next one begins.
            let until = own.get(turn + 1).map(|(_, next)| next.at.0);
            for (at, position) in way(place, change) {
                if until.is_some_and(|until| at > until) {
                    break;
                }
                place = position;
                steps.push(Step {
                    at: Time::ZERO.saturating_add(at),
                    change: index,
                    member,
                    position,
                });
            }
        }
    }
    // The sort is stable: steps of one instant stay in the order of the nodes.
    steps.sort_by_key(|step| step.at);
    steps
}

/// The places on the way from `from` to where a change leads, each with its time.
fn way(from: Position, change: &Change) -> Vec<(Duration, Position)> {
    let Some(point) = change.position else {
        return Vec::new();
    };
    let to = Position::new(point.0.0, point.1.0, 0.0);
    let walk = change.walk.map_or(Duration::ZERO, |walk| walk.0);
    let count = walk.as_nanos().div_ceil(STEP.as_nanos());
    let count = u32::try_from(count).map_or(MOST_STEPS, |count| count.clamp(1, MOST_STEPS));
    let mut places = Vec::new();
    for step in 1..=count {
        let part = f64::from(step) / f64::from(count);
        let along = |from: f64, to: f64| from + part * (to - from);
        let place = Position::new(along(from.x, to.x), along(from.y, to.y), 0.0);
        places.push((change.at.0 + walk * step / count, place));
    }
    places
}

/// What the steps change in the network.
pub(super) fn changes(
    network: &Network<'_>,
    rates: &Rates<'_>,
    channels: &[ChannelConfig],
) -> Result<Vec<(Time, world::Change)>, KeyError> {
    let mut changes = Vec::new();
    let mut network = network.clone();
    for step in &network.steps.clone() {
        network.members[step.member].position = step.position;
        let member = &network.members[step.member];
        let quality = super::air::quality_of(&network, rates, step.member)?;
        let (Some(quality), Some(channel)) = (quality, member.uplink) else {
            return refuse(
                format!("change.{}.position", step.change),
                format!(
                    "`{}` cannot move: only clients of an access point whose channel has \
                     error_model = \"snr\" can",
                    member.name
                ),
            );
        };
        let node = Network::id(step.member);
        let mut on_channels = vec![channel];
        on_channels.extend(member.downlink);
        if member.roams_to.is_empty() {
            changes.push((step.at, world::Change::Quality(node, quality)));
        }
        for &above in &member.roams_to {
            let Some(channel) = network.members[above].downlink else {
                continue;
            };
            let quality =
                super::air::quality_between(&network, rates, channel, step.member, above)?;
            if let Some(quality) = quality {
                let ends = [node, Network::id(above)];
                let change = world::Change::LinkQuality {
                    channel,
                    ends,
                    quality,
                };
                changes.push((step.at, change));
            }
            if !on_channels.contains(&channel) {
                on_channels.push(channel);
            }
        }
        for channel in on_channels {
            let by_powers = matches!(channels[channel].mac.hearing, Hearing::Powers(_));
            let said = changes.last().is_some_and(|(at, change)| {
                *at == step.at
                    && matches!(change, world::Change::Powers { node: other, channel: on, .. }
                        if (*other, *on) == (node, channel))
            });
            if by_powers && !said {
                let air = Air::new(&network, rates, channel);
                let pairs = air.pairs(step.member)?;
                let powers = world::Change::Powers {
                    channel,
                    node,
                    pairs,
                };
                changes.push((step.at, powers));
            }
        }
    }
    Ok(changes)
}

impl Air<'_> {
    /// What a node and each radio on the channel receive of each other.
    fn pairs(&self, member: usize) -> Result<Vec<PairPowers>, KeyError> {
        let members = self.members();
        let propagation = self.propagation(&members)?;
        let own = members.iter().position(|&other| other == member);
        let own = RadioId::from_index(own.unwrap_or(members.len()));
        let others = (0..members.len()).map(RadioId::from_index);
        let pairs = others.map(|other| PairPowers {
            sent_dbm: propagation.received_dbm(own, other),
            received_dbm: propagation.received_dbm(other, own),
        });
        Ok(pairs.collect())
    }

    /// Whether a step brings a node of this channel to where it and another do not sense each
    /// other.
    pub(super) fn parts_on_the_way(&self, members: &[usize]) -> Result<bool, KeyError> {
        let mut network = self.network.clone();
        for step in &self.network.steps {
            network.members[step.member].position = step.position;
            let Some(own) = members.iter().position(|&other| other == step.member) else {
                continue;
            };
            let air = Air::new(&network, self.rates, self.index);
            let propagation = air.propagation(members)?;
            let own = RadioId::from_index(own);
            for other in (0..members.len()).map(RadioId::from_index) {
                let hears = propagation.link(own, other).is_in_range()
                    && propagation.link(other, own).is_in_range();
                if other != own && !hears {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
