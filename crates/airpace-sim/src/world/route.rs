//! Routes: the next hop of a packet.

use super::{FlowConfig, NodeId, RouteConfig, WireConfig, WorldConfig, WorldError};
use crate::mac::RadioId;
use std::collections::VecDeque;

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
#[derive(Debug)]
pub(super) struct Routes {
    nodes: usize,
    /// By node and destination, row by row.
    next: Vec<Option<Hop>>,
    /// The node of each radio of each channel.
    radios: Vec<Vec<NodeId>>,
}

impl Routes {
    /// Shortest paths by number of hops; among equals the link that comes first in the
    /// configuration. The configured routes override them.
    pub(super) fn new(config: &WorldConfig) -> Result<Self, WorldError> {
        let edges = edges(config)?;
        let nodes = config.nodes as usize;
        let radios = config
            .channels
            .iter()
            .map(|channel| channel.nodes.clone())
            .collect();
        let mut routes = Self {
            nodes,
            next: vec![None; nodes * nodes],
            radios,
        };
        let mut arriving = vec![Vec::new(); nodes];
        for edge in &edges {
            arriving[edge.to.0 as usize].push(*edge);
        }
        for to in 0..nodes {
            routes.find_paths_to(to, &arriving);
        }
        for route in &config.routes {
            routes.override_with(route, &edges)?;
        }
        Ok(routes)
    }

    /// Finds the next hop of every node on its path to `to`: breadth-first search from the end.
    fn find_paths_to(&mut self, to: usize, arriving: &[Vec<Edge>]) {
        let mut reached = vec![false; self.nodes];
        reached[to] = true;
        let mut frontier = VecDeque::from([to]);
        while let Some(node) = frontier.pop_front() {
            for edge in &arriving[node] {
                let from = edge.from.0 as usize;
                if !core::mem::replace(&mut reached[from], true) {
                    self.next[from * self.nodes + to] = Some(edge.hop);
                    frontier.push_back(from);
                }
            }
        }
    }

    fn override_with(&mut self, route: &RouteConfig, edges: &[Edge]) -> Result<(), WorldError> {
        let edge = edges
            .iter()
            .find(|edge| (edge.from, edge.to) == (route.at, route.via));
        let edge = edge.ok_or(WorldError::RouteWithoutLink {
            at: route.at,
            via: route.via,
        })?;
        if route.to.0 as usize >= self.nodes {
            return Err(WorldError::UnknownNode { node: route.to });
        }
        let place = route.at.0 as usize * self.nodes + route.to.0 as usize;
        self.next[place] = Some(edge.hop);
        Ok(())
    }

    /// Checks that every flow has a path in both directions, and that its packets take time.
    pub(super) fn check(&self, config: &WorldConfig) -> Result<(), WorldError> {
        for (index, flow) in config.flows.iter().enumerate() {
            let FlowConfig { from, to, .. } = *flow;
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
        for _ in 0..=self.nodes {
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

    /// The next hop from `at` to `to`; `None` if there is no path, or if they are the same.
    pub(super) fn next(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        self.next
            .get(at.0 as usize * self.nodes + to.0 as usize)
            .copied()
            .flatten()
    }
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
