//! Where a packet goes next.

use super::{NodeId, RouteConfig, WireConfig, WorldConfig, WorldError};
use crate::mac::RadioId;
use std::collections::VecDeque;

/// One step of a packet's way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hop {
    /// Over the air.
    Radio {
        /// Index of the channel.
        channel: u32,
        /// Radio that sends.
        from: RadioId,
        /// Radio that receives.
        to: RadioId,
    },
    /// Over a wire.
    Wire {
        /// Index of the wire.
        wire: u32,
        /// Whether from its first end to its second.
        forward: bool,
    },
}

/// A step between two neighbours.
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
    next: Vec<Option<Hop>>,
    /// The node of each radio of each channel.
    radios: Vec<Vec<NodeId>>,
}

impl Routes {
    /// Shortest paths by number of hops, earlier links first among equals; then the exceptions.
    pub(super) fn new(config: &WorldConfig) -> Result<Self, WorldError> {
        let edges = edges(config)?;
        let nodes = config.nodes as usize;
        let radios = config
            .channels
            .iter()
            .map(|channel| channel.nodes.clone())
            .collect();
        let mut this = Self {
            nodes,
            next: vec![None; nodes * nodes],
            radios,
        };
        let mut arriving = vec![Vec::new(); nodes];
        for edge in &edges {
            arriving[edge.to.0 as usize].push(*edge);
        }
        for to in 0..nodes {
            this.spread(to, &arriving);
        }
        for route in &config.routes {
            this.override_with(route, &edges)?;
        }
        Ok(this)
    }

    /// Finds every node's way to `to`, nearest first.
    fn spread(&mut self, to: usize, arriving: &[Vec<Edge>]) {
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

    /// Whether packets from `from` take any time to `to`; `None` if they do not get there.
    pub(super) fn takes_time(
        &self,
        from: NodeId,
        to: NodeId,
        wires: &[WireConfig],
    ) -> Option<bool> {
        let (mut at, mut takes) = (from, false);
        // A way that is longer than there are nodes goes in circles.
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

    /// The next hop from `at` to `to`; `None` if there is no way, or none is needed.
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
