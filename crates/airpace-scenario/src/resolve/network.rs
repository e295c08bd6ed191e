//! The single nodes: where they stand, which access point each belongs to, and the wires between
//! them.

use super::moves::Step;
use crate::file::{EACH_STATION, Node, NodeKind, Scenario};
use airpace_config::document::{KeyError, refuse};
use airpace_config::quantity::Length;
use airpace_sim::channel::Position;
use airpace_sim::rng::Stream;
use airpace_sim::world::{NodeId, RouteConfig, WireConfig};
use std::f64::consts::PI;

/// One node.
#[derive(Clone, PartialEq, Debug)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// Index of its table in the scenario.
    pub(super) table: usize,
    /// Its number among those of its table, from zero.
    pub(super) number: usize,
    /// Its access point, or the relay above it.
    pub(super) above: Option<usize>,
    /// The access points between which it goes, its own first; none if it stays with that.
    pub(super) roams_to: Vec<usize>,
    /// Channel on which it is a client.
    pub(super) uplink: Option<usize>,
    /// Channel on which it is an access point.
    pub(super) downlink: Option<usize>,
    /// Where it stands.
    pub(super) position: Position,
}

impl Member {
    /// Whether it is a client of the node `above`, at first or once it has gone there.
    pub(super) fn may_be_at(&self, above: usize) -> bool {
        self.above == Some(above) || self.roams_to.contains(&above)
    }
}

/// All nodes of a scenario.
#[derive(Clone, Debug)]
pub struct Network<'s> {
    pub(super) scenario: &'s Scenario,
    pub(super) members: Vec<Member>,
    /// Where nodes go in the course of the run, in order of time.
    pub(super) steps: Vec<Step>,
}

impl<'s> Network<'s> {
    pub(super) fn new(scenario: &'s Scenario) -> Result<Self, KeyError> {
        let tables = scenario.node.iter().enumerate();
        let members = tables.flat_map(|(table, node)| {
            node.names().enumerate().map(move |(number, name)| Member {
                name,
                kind: node.kind,
                table,
                number,
                above: None,
                roams_to: Vec::new(),
                uplink: None,
                downlink: None,
                position: Position::default(),
            })
        });
        let mut network = Self {
            scenario,
            members: members.collect(),
            steps: Vec::new(),
        };
        network.associate()?;
        super::roaming::find_access_points(&mut network);
        network.place();
        network.steps = super::moves::steps(&network);
        Ok(network)
    }

    /// Number of nodes.
    pub(super) fn count(&self) -> u32 {
        // The check of the scenario keeps the number far below 2^32.
        self.members.len() as u32
    }

    /// The table of a node.
    pub(super) fn table(&self, member: usize) -> &'s Node {
        &self.scenario.node[self.members[member].table]
    }

    /// The key of the table of a node.
    pub(super) fn key(&self, member: usize) -> String {
        format!("node.{}", self.members[member].table)
    }

    /// The node's number in the world.
    pub(super) fn id(member: usize) -> NodeId {
        // See `count`.
        NodeId(member as u32)
    }

    /// The single node called `name`.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| member.name == name)
    }

    /// The nodes that `name` stands for: a node, a group, or all stations.
    pub(super) fn group(&self, name: &str) -> Vec<usize> {
        let belongs = |member: &Member| {
            if name == EACH_STATION {
                member.kind == NodeKind::Station
            } else {
                member.name == name || self.scenario.node[member.table].group() == name
            }
        };
        (0..self.members.len())
            .filter(|&idx| belongs(&self.members[idx]))
            .collect()
    }

    /// The first access point.
    pub(super) fn access_point(&self) -> Option<usize> {
        self.members
            .iter()
            .position(|member| member.kind == NodeKind::Ap)
    }

    /// The access point at the top of the tree that the node belongs to; itself if it is one.
    pub(super) fn root(&self, mut member: usize) -> usize {
        // No tree is deeper than it has nodes.
        for _ in 0..self.members.len() {
            match self.members[member].above {
                Some(above) => member = above,
                None => break,
            }
        }
        member
    }

    /// The access points at which a client may be: its own first, then those to which it roams. An access point that it
    /// also names among these comes twice.
    pub(super) fn access_points_of(&self, member: usize) -> impl Iterator<Item = usize> {
        let roams_to = self.members[member].roams_to.iter().copied();
        core::iter::once(self.root(member)).chain(roams_to)
    }

    /// Finds the access point and the channels of every node.
    fn associate(&mut self) -> Result<(), KeyError> {
        for idx in 0..self.members.len() {
            let node = self.table(idx);
            self.members[idx].above = match (node.kind, &node.ap) {
                (NodeKind::Ap | NodeKind::Host, _) => None,
                (NodeKind::Station | NodeKind::Relay, Some(name)) => self.find(name),
                (NodeKind::Station | NodeKind::Relay, None) => self.access_point(),
            };
        }
        for idx in 0..self.members.len() {
            self.refuse_cycle(idx)?;
            if self.members[idx].kind == NodeKind::Ap {
                self.members[idx].downlink = Some(self.channel(idx, 0).unwrap_or(0));
            }
        }
        // From the top down, because a client's channel is the one on which the node above it
        // serves clients. Each pass settles at least one more level of the tree.
        for _ in 0..self.members.len() {
            let mut settled = true;
            for idx in 0..self.members.len() {
                settled &= !self.settle_channels(idx)?;
            }
            if settled {
                break;
            }
        }
        Ok(())
    }

    /// Refuses a node that is, over relays, its own access point.
    fn refuse_cycle(&self, member: usize) -> Result<(), KeyError> {
        let mut at = member;
        // No path upwards is longer than there are nodes, unless it leads through another cycle.
        for _ in 0..=self.members.len() {
            match self.members[at].above {
                Some(above) if above == member => {
                    return refuse(
                        format!("{}.ap", self.key(member)),
                        "it is below itself: no access point is at the top",
                    );
                }
                Some(above) => at = above,
                None => break,
            }
        }
        Ok(())
    }

    /// Gives a client its channels if those of the node above it are known; returns whether
    /// anything changed.
    fn settle_channels(&mut self, idx: usize) -> Result<bool, KeyError> {
        let Some(above) = self.members[idx].above else {
            return Ok(false);
        };
        let (Some(channel), None) = (self.members[above].downlink, self.members[idx].uplink) else {
            return Ok(false);
        };
        let mut named = Vec::new();
        named.extend(self.channel(idx, 0));
        named.extend(self.channel(idx, 1));
        if !named.is_empty() && !named.contains(&channel) {
            let name = &self.scenario.channel[channel].name;
            let message = format!(
                "its access point `{}` is on channel `{name}`: name that one",
                self.members[above].name
            );
            return refuse(format!("{}.channel", self.key(idx)), message);
        }
        let member = &mut self.members[idx];
        member.uplink = Some(channel);
        if member.kind == NodeKind::Relay {
            // A relay that names one channel serves its own clients on that one, too.
            let other = named.into_iter().find(|&other| other != channel);
            member.downlink = Some(other.unwrap_or(channel));
        }
        Ok(true)
    }

    /// The channel that the node's table names at `place`.
    fn channel(&self, member: usize, place: usize) -> Option<usize> {
        let name = self.table(member).channel.get(place)?;
        self.scenario
            .channel
            .iter()
            .position(|channel| channel.name == *name)
    }

    /// Gives every node its position.
    fn place(&mut self) {
        for idx in 0..self.members.len() {
            let node = self.table(idx);
            let member = &self.members[idx];
            // Nodes are placed in the order of the file: only access points before their clients
            // have a position yet.
            let centre = match member.above {
                Some(above) if above < idx => self.members[above].position,
                _ => Position::default(),
            };
            let is_client = matches!(node.kind, NodeKind::Station | NodeKind::Relay);
            self.members[idx].position = match (node.position, node.within) {
                (Some(point), _) => Position::new(point.0.0, point.1.0, 0.0),
                (None, Some(side)) => at_random(self.scenario.seed, &member.name, centre, side),
                (None, None) if is_client => on_circle(member.number, centre, node.distance),
                (None, None) => Position::default(),
            };
        }
    }

    pub(super) fn wires(&self) -> Vec<WireConfig> {
        let mut wires = Vec::new();
        for wire in &self.scenario.wire {
            // The check of the scenario leaves only names of nodes.
            let (Some(a), Some(b)) = (self.find(&wire.a), self.find(&wire.b)) else {
                continue;
            };
            wires.push(WireConfig {
                ends: (Self::id(a), Self::id(b)),
                rate: Some(wire.rate.0),
                delay: wire.delay.0,
                queue: wire.queue.0,
            });
        }
        wires
    }

    pub(super) fn routes(&self) -> Result<Vec<RouteConfig>, KeyError> {
        let mut routes = Vec::new();
        for (index, route) in self.scenario.route.iter().enumerate() {
            let ends = (
                self.find(&route.at),
                self.find(&route.to),
                self.find(&route.via),
            );
            let (Some(at), Some(to), Some(via)) = ends else {
                continue;
            };
            if at == via || !(self.wired(at, via) || self.related(at, via)) {
                let message = format!(
                    "`{}` has no link to `{}`: add a wire, or make one the access point of the other",
                    route.at, route.via
                );
                return refuse(format!("route.{index}.via"), message);
            }
            routes.push(RouteConfig {
                at: Self::id(at),
                to: Self::id(to),
                via: Self::id(via),
            });
        }
        Ok(routes)
    }

    /// Whether wires alone lead from one node to the other.
    pub(super) fn connected_by_wire(&self, from: usize, to: usize) -> bool {
        // Breadth-first search.
        let mut reached = vec![self.members[from].name.as_str()];
        let mut next = 0;
        while let Some(&name) = reached.get(next) {
            next += 1;
            for wire in &self.scenario.wire {
                let far = if wire.a == name {
                    wire.b.as_str()
                } else if wire.b == name {
                    wire.a.as_str()
                } else {
                    continue;
                };
                if !reached.contains(&far) {
                    reached.push(far);
                }
            }
        }
        reached.contains(&self.members[to].name.as_str())
    }

    fn wired(&self, a: usize, b: usize) -> bool {
        let names = (self.members[a].name.as_str(), self.members[b].name.as_str());
        self.scenario.wire.iter().any(|wire| {
            (wire.a.as_str(), wire.b.as_str()) == names
                || (wire.b.as_str(), wire.a.as_str()) == names
        })
    }

    fn related(&self, a: usize, b: usize) -> bool {
        self.members[a].may_be_at(b) || self.members[b].may_be_at(a)
    }
}

/// A position drawn uniformly from a square. It depends on seed and name alone, so that other nodes
/// change nothing.
fn at_random(seed: u64, name: &str, centre: Position, side: Length) -> Position {
    let mut stream = Stream::new(seed, &format!("position of {name}"), 0);
    let mut along = |middle: f64| middle + side.0 * (stream.unit() - 0.5);
    Position::new(along(centre.x), along(centre.y), 0.0)
}

/// A position on a circle, at the golden angle from the previous node's, so that any number of
/// nodes stands evenly around the centre.
fn on_circle(number: usize, centre: Position, distance: Length) -> Position {
    let golden = PI * (3.0 - 5_f64.sqrt());
    let angle = golden * number as f64;
    Position::new(
        centre.x + distance.0 * angle.cos(),
        centre.y + distance.0 * angle.sin(),
        0.0,
    )
}
