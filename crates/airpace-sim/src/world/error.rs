use super::NodeId;
use crate::mac;
use crate::traffic::SourceError;
use airpace_edge::proxy::ProxyError;
use thiserror::Error;

/// Why a world cannot be built.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum WorldError {
    /// A channel is refused.
    #[error("channel {channel}: {error}")]
    Mac {
        /// Its index.
        channel: usize,
        /// What is wrong with it.
        error: mac::ConfigError,
    },
    /// A source is refused.
    #[error("flow {flow}: {error}")]
    Source {
        /// Index of the flow.
        flow: u32,
        /// What is wrong with it.
        error: SourceError,
    },
    /// A proxy is refused.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// Something names a node that does not exist.
    #[error("there is no node {}: nodes are numbered from 0 to one less than their count", node.0)]
    UnknownNode {
        /// The node named.
        node: NodeId,
    },
    /// A radio belongs to no node.
    #[error("radio {radio} belongs to no node: name the node of every radio of a channel")]
    RadioWithoutNode {
        /// The radio's number.
        radio: u32,
    },
    /// A static route goes to a node that is no neighbour.
    #[error("the route at node {} goes via node {}, to which it has no link", at.0, via.0)]
    RouteWithoutLink {
        /// Where the route is.
        at: NodeId,
        /// Where it points.
        via: NodeId,
    },
    /// A flow has no way to its end.
    #[error("flow {flow}: there is no way from node {} to node {}; add a link between them or a relay", from.0, to.0)]
    Unreachable {
        /// Index of the flow.
        flow: usize,
        /// Where it comes from.
        from: NodeId,
        /// Where it goes.
        to: NodeId,
    },
    /// A flow's packets arrive the moment they are sent, so that nothing ever ends the sending.
    #[error("flow {flow} takes no time: give a wire on its way a rate or a delay")]
    Instantaneous {
        /// Index of the flow.
        flow: usize,
    },
    /// Something must be positive.
    #[error("{what} must be longer than zero")]
    Zero {
        /// What.
        what: &'static str,
    },
    /// A station has two proxies, or a node has.
    #[error("node {} has two proxies: a station is paced by one proxy, and a node runs one", node.0)]
    TwoProxies {
        /// The node.
        node: NodeId,
    },
}
