//! Routes: the next hop of a packet.

use super::{FlowConfig, NodeId, RouteConfig, Traffic, WireConfig, WorldConfig, WorldError};
use crate::mac::RadioId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::OnceLock;

/// One hop of a packet's path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hop {
    /// Over the air.
    Radio {
        /// Index of the channel.
        channel: u32,
        /// The sending radio.
        from: RadioId,
        /// The receiving radio.
        to: RadioId,
    },
    /// Over a wire.
    Wire {
        /// Index of the wire.
        wire: u32,
        /// Whether it goes from the wire's first end to its second.
        forward: bool,
    },
}

/// A directed link between two neighbours.
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: NodeId,
    to: NodeId,
    hop: Hop,
}

/// The next hop from every node to every other.
///
/// Most nodes are ends: they have links with one other node alone, as a station with its access
/// point. What an end sends goes to that node, and what others send to it goes to that node first.
/// So paths are searched for between the rest, the core, and only to where packets go: memory grows
/// with the number of nodes and links, and with the core times the destinations in it.
#[derive(Debug)]
pub(super) struct Routes {
    /// The place of each node.
    places: Vec<Place>,
    /// The nodes of the core.
    core: Vec<NodeId>,
    /// Of each node of the core, the links that arrive from others of the core.
    arriving: Vec<Vec<(usize, Hop)>>,
    /// By destination in the core, once a packet goes there: the next hop of each node of the core.
    found: Vec<OnceLock<Vec<Option<Hop>>>>,
    /// The configured routes, by node and destination.
    configured: BTreeMap<(NodeId, NodeId), Hop>,
    /// The node of each radio of each channel.
    radios: Vec<Vec<NodeId>>,
}

/// A station, by radio, at an access point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Attachment {
    /// The access point.
    pub(super) to: NodeId,
    pub(super) channel: u32,
    /// Its radio, and that of the station.
    pub(super) radio: RadioId,
    pub(super) own: RadioId,
}

/// Where a node is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In the core, with this number.
    Core(usize),
    /// At the end of links with the node of the core of this number.
    End {
        at: usize,
        /// To that node, and from it.
        out: Option<Hop>,
        back: Option<Hop>,
    },
}

impl Routes {
    /// Shortest paths by number of hops; among equals the link that comes first in the
    /// configuration. The configured routes override them.
    pub(super) fn new(config: &WorldConfig) -> Result<Self, WorldError> {
        let mut edges = edges(config)?;
        let roaming = &config.roaming;
        let roams = |node: NodeId| roaming.iter().any(|roaming| roaming.station == node);
        // Where roaming stations are changes.
        edges.retain(|edge| roaming.is_empty() || !(roams(edge.from) || roams(edge.to)));
        let served = roaming.iter().flat_map(|roaming| &roaming.access_points);
        let served: Vec<NodeId> = served.map(|access_point| access_point.node).collect();
        let nodes = config.nodes as usize;
        let radios = config
            .channels
            .iter()
            .map(|channel| channel.nodes.clone())
            .collect();
        let (places, core) = places(nodes, &edges, &served);
        let mut arriving = vec![Vec::new(); core.len()];
        for edge in &edges {
            if let [Place::Core(from), Place::Core(to)] =
                [edge.from, edge.to].map(|node| places[node.0 as usize])
            {
                arriving[to].push((from, edge.hop));
            }
        }
        let mut routes = Self {
            found: core.iter().map(|_| OnceLock::new()).collect(),
            places,
            core,
            arriving,
            configured: BTreeMap::new(),
            radios,
        };
        for route in &config.routes {
            routes.override_with(route, &edges)?;
        }
        Ok(routes)
    }

    /// The next hop of every node of the core on its path to that of number `to`: breadth-first
    /// search from the end.
    fn find_paths_to(&self, to: usize) -> Vec<Option<Hop>> {
        let mut next = vec![None; self.core.len()];
        let mut frontier = VecDeque::from([to]);
        while let Some(node) = frontier.pop_front() {
            for &(from, hop) in &self.arriving[node] {
                if from != to && next[from].is_none() {
                    next[from] = Some(hop);
                    frontier.push_back(from);
                }
            }
        }
        next
    }

    fn override_with(&mut self, route: &RouteConfig, edges: &[Edge]) -> Result<(), WorldError> {
        let edge = edges
            .iter()
            .find(|edge| (edge.from, edge.to) == (route.at, route.via));
        let edge = edge.ok_or(WorldError::RouteWithoutLink {
            at: route.at,
            via: route.via,
        })?;
        if route.to.0 as usize >= self.places.len() {
            return Err(WorldError::UnknownNode { node: route.to });
        }
        self.configured.insert((route.at, route.to), edge.hop);
        Ok(())
    }

    /// Checks that every flow has a path in both directions, and that its packets take time.
    pub(super) fn check(&self, config: &WorldConfig) -> Result<(), WorldError> {
        for (index, flow) in config.flows.iter().enumerate() {
            let FlowConfig { from, to, .. } = *flow;
            if from == to && matches!(flow.traffic, Traffic::Multicast(_)) {
                continue;
            }
            let forward = self.takes_time(from, to, &config.wires);
            let backward = self.takes_time(to, from, &config.wires);
            match (forward, backward) {
                (Some(true), Some(_)) => {}
                (Some(false), Some(_)) => return Err(WorldError::Instantaneous { flow: index }),
                _ => {
                    return Err(WorldError::Unreachable {
                        flow: index,
                        from,
                        to,
                    });
                }
            }
        }
        Ok(())
    }

    /// Whether packets take any time from `from` to `to`; `None` if they do not get there.
    fn takes_time(&self, from: NodeId, to: NodeId, wires: &[WireConfig]) -> Option<bool> {
        let (mut at, mut takes) = (from, false);
        // A path with more hops than there are nodes is a loop.
        for _ in 0..=self.places.len() {
            if at == to {
                return (from != to).then_some(takes);
            }
            at = match self.next(at, to)? {
                Hop::Radio { channel, to, .. } => {
                    takes = true;
                    *self.radios.get(channel as usize)?.get(to.index())?
                }
                Hop::Wire { wire, forward } => {
                    let wire = wires.get(wire as usize)?;
                    takes |= wire.rate.is_some() || !wire.delay.is_zero();
                    if forward { wire.ends.1 } else { wire.ends.0 }
                }
            };
        }
        None
    }

    /// A roaming station is at an access point: what it sends goes there, and what others send to
    /// it, too.
    pub(super) fn attach(&mut self, station: NodeId, at: &Attachment) {
        let &Attachment {
            to,
            channel,
            radio,
            own,
        } = at;
        let Some(Place::Core(core)) = self.places.get(to.0 as usize).copied() else {
            return;
        };
        let hop = |from, to| Some(Hop::Radio { channel, from, to });
        self.places[station.0 as usize] = Place::End {
            at: core,
            out: hop(own, radio),
            back: hop(radio, own),
        };
    }

    /// A roaming station has no access point; what others send to it still goes to the last one.
    pub(super) fn detach(&mut self, station: NodeId) {
        if let Some(Place::End { out, .. }) = self.places.get_mut(station.0 as usize) {
            *out = None;
        }
    }

    /// The next hop from `at` to `to`; `None` if there is no path, or if they are the same.
    #[inline]
    pub(super) fn next(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        if !self.configured.is_empty()
            && let Some(&hop) = self.configured.get(&(at, to))
        {
            return Some(hop);
        }
        if at == to {
            return None;
        }
        let here = self.places.get(at.0 as usize)?;
        let there = self.places.get(to.0 as usize)?;
        let (target, last) = match there {
            Place::Core(target) => (*target, &None),
            // There is no way but the last hop.
            Place::End { at, back, .. } => {
                if back.is_none() {
                    return None;
                }
                (*at, back)
            }
        };
        match *here {
            Place::Core(here) if here == target => *last,
            Place::Core(here) => self.paths_to(target)[here],
            Place::End { at, out, .. } => {
                let is_reachable = at == target || self.paths_to(target)[at].is_some();
                out.filter(|_| is_reachable)
            }
        }
    }

    fn paths_to(&self, to: usize) -> &[Option<Hop>] {
        self.found[to].get_or_init(|| self.find_paths_to(to))
    }
}

/// The place of each node, and the nodes of the core, to which those of `inner` belong in any case.
fn places(nodes: usize, edges: &[Edge], inner: &[NodeId]) -> (Vec<Place>, Vec<NodeId>) {
    // Of each node the only other one with which it has links, if there is just one.
    let mut only: Vec<Option<NodeId>> = vec![None; nodes];
    let mut has_several = vec![false; nodes];
    for node in inner {
        has_several[node.0 as usize] = true;
    }
    for edge in edges {
        for (node, other) in [(edge.from, edge.to), (edge.to, edge.from)] {
            let node = node.0 as usize;
            has_several[node] |= only[node].is_some_and(|only| only != other);
            only[node] = Some(other);
        }
    }
    let neighbour_of_end = |node: usize| only[node].filter(|_| !has_several[node]);
    // Of two nodes that have none but each other, the second is the end.
    let is_end = |node: usize| {
        neighbour_of_end(node).is_some_and(|other| {
            let other = other.0 as usize;
            other != node && (other < node || neighbour_of_end(other).is_none())
        })
    };
    let mut places = Vec::with_capacity(nodes);
    let mut core = Vec::new();
    for (node, id) in (0..nodes).zip((0..).map(NodeId)) {
        if !is_end(node) {
            core.push(id);
        }
        places.push(Place::Core(core.len().saturating_sub(1)));
    }
    for node in (0..nodes).filter(|&node| is_end(node)) {
        let at = neighbour_of_end(node).map(|other| places[other.0 as usize]);
        if let Some(Place::Core(at)) = at {
            let (out, back) = (None, None);
            places[node] = Place::End { at, out, back };
        }
    }
    for edge in edges {
        if let Place::End { out, .. } = &mut places[edge.from.0 as usize] {
            out.get_or_insert(edge.hop);
        }
        if let Place::End { back, .. } = &mut places[edge.to.0 as usize] {
            back.get_or_insert(edge.hop);
        }
    }
    (places, core)
}

/// Every link of the network, wires first: they are preferred.
fn edges(config: &WorldConfig) -> Result<Vec<Edge>, WorldError> {
    let mut edges = Vec::new();
    let known = |node: NodeId| {
        if node.0 < config.nodes {
            Ok(node)
        } else {
            Err(WorldError::UnknownNode { node })
        }
    };
    for (wire, link) in (0..).zip(&config.wires) {
        let (a, b) = (known(link.ends.0)?, known(link.ends.1)?);
        edges.push(Edge {
            from: a,
            to: b,
            hop: Hop::Wire {
                wire,
                forward: true,
            },
        });
        edges.push(Edge {
            from: b,
            to: a,
            hop: Hop::Wire {
                wire,
                forward: false,
            },
        });
    }
    for (channel, cell) in (0..).zip(&config.channels) {
        let node = |radio: RadioId| {
            let node = cell.nodes.get(radio.index()).copied();
            known(node.ok_or(WorldError::RadioWithoutNode { radio: radio.0 })?)
        };
        for link in &cell.mac.links {
            let (from, to) = (link.from, link.to);
            edges.push(Edge {
                from: node(from)?,
                to: node(to)?,
                hop: Hop::Radio { channel, from, to },
            });
        }
    }
    Ok(edges)
}

#[cfg(test)]
mod tests;
