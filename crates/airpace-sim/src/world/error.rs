//! Why a world cannot be built.

use super::NodeId;
use crate::mac;
use crate::traffic::SourceError;
use airpace_edge::proxy::ProxyError;
use thiserror::Error;

/// Why a world cannot be built.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum WorldError {
    /// The configuration of a channel is invalid.
    #[error("channel {channel}: {error}")]
    Mac {
        /// Its index.
        channel: usize,
        /// Why.
        error: mac::ConfigError,
    },
    /// The source of a flow is invalid.
    #[error("flow {flow}: {error}")]
    Source {
        /// Index of the flow.
        flow: u32,
        /// Why.
        error: SourceError,
    },
    /// The configuration of a proxy is invalid.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// The configuration names a node that does not exist.
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
    /// A static route leads to a node that is not a neighbour.
    #[error("the route at node {} goes via node {}, to which it has no link", at.0, via.0)]
    RouteWithoutLink {
        /// Where the route is.
        at: NodeId,
        /// The next hop.
        via: NodeId,
    },
    /// A flow has no path to its end, or its answers none back.
    #[error("flow {flow}: there is no path from node {} to node {}; add a link between them or a relay", from.0, to.0)]
    Unreachable {
        /// Index of the flow.
        flow: usize,
        /// Where it starts.
        from: NodeId,
        /// Where it ends.
        to: NodeId,
    },
    /// The packets of a flow arrive at the instant at which they are sent, so that sending would
    /// never end.
    #[error("the packets of flow {flow} take no time: give a wire on their path a rate or a delay")]
    Instantaneous {
        /// Index of the flow.
        flow: usize,
    },
    /// A duration is zero that must be positive.
    #[error("{what} must be longer than zero")]
    Zero {
        /// Which duration.
        what: &'static str,
    },
    /// Two proxies have the same station, or the same node.
    #[error("node {} has two proxies: a station is paced by one proxy, and a node runs one", node.0)]
    TwoProxies {
        /// The node.
        node: NodeId,
    },
}
