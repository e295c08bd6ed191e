//! Changes of the network while it runs.

use super::{Change, NodeId, Parcel, World};
use crate::mac::{Input, PairPowers, Quality, RadioId};

impl World {
    /// Applies a change of the configuration whose time has come.
    pub(super) fn change(&mut self, index: usize) {
        match self.changes[index].clone() {
            Change::Rate(node, rate) => {
                self.change_links(node, |from, to| Input::SetRate { from, to, rate })
            }
            Change::Quality(node, quality) => {
                self.change_links(node, |from, to| Input::SetQuality {
                    from,
                    to,
                    quality: quality.clone(),
                });
            }
            Change::LinkQuality {
                channel,
                ends,
                quality,
            } => self.change_link(channel, ends, &quality),
            Change::Powers {
                channel,
                node,
                pairs,
            } => self.move_radio(channel, node, pairs),
            Change::Neighbours {
                channel,
                neighbours,
            } => {
                if let Some(channel) = self.channels.get_mut(channel) {
                    channel.handle(self.now, Input::SetNeighbours(neighbours));
                }
            }
            change @ (Change::Reports { .. }
            | Change::Agent { .. }
            | Change::ProxyRestart { .. }) => self.change_proxy(&change),
            Change::FlowRate { flow, rate } => {
                if let Some(changed) = self.flows.get_mut(flow) {
                    changed.set_rate(self.now, rate);
                    self.attend(flow);
                }
            }
        }
    }

    /// Applies an input to every link from and to a node.
    fn change_links(
        &mut self,
        node: NodeId,
        input: impl Fn(RadioId, RadioId) -> Input<Box<Parcel>>,
    ) {
        for channel in &mut self.channels {
            let pairs: Vec<(RadioId, RadioId)> = channel.links.pairs().collect();
            for (from, to) in pairs {
                let ends = [channel.nodes[from.index()], channel.nodes[to.index()]];
                if ends.contains(&node) {
                    channel.handle(self.now, input(from, to));
                }
            }
        }
    }

    /// Changes the quality of the links between two nodes.
    fn change_link(&mut self, channel: usize, ends: [NodeId; 2], quality: &Quality) {
        let Some(channel) = self.channels.get_mut(channel) else {
            return;
        };
        let radio_of = |node| channel.nodes.iter().position(|&other| other == node);
        let [Some(a), Some(b)] = ends.map(radio_of) else {
            return;
        };
        for (from, to) in [(a, b), (b, a)] {
            let input = Input::SetQuality {
                from: RadioId::from_index(from),
                to: RadioId::from_index(to),
                quality: quality.clone(),
            };
            channel.handle(self.now, input);
        }
    }

    /// Tells a channel that a node has moved.
    fn move_radio(&mut self, channel: usize, node: NodeId, pairs: Vec<PairPowers>) {
        let Some(channel) = self.channels.get_mut(channel) else {
            return;
        };
        let radio = channel.nodes.iter().position(|&other| other == node);
        if let Some(radio) = radio.map(RadioId::from_index) {
            channel.handle(self.now, Input::SetPowers { radio, pairs });
        }
    }
}
