//! What a simulated network consists of.

use super::WorldError;
use crate::mac::{MacConfig, Neighbours, Quality};
use crate::traffic::web::BrowserConfig;
use crate::traffic::{PingConfig, Rate, SourceConfig, VoipSinkConfig};
use crate::transport::tcp::{ReceiverConfig, SenderConfig};
use airpace_core::control::LawConfig;
use airpace_core::pace::PaceConfig;
use airpace_core::phy::{AccessCategory, TxRate};
use airpace_edge::agent::AgentConfig;
use airpace_edge::proxy::{self, Pacing, StartRate};
use airpace_units::{BitRate, Time};
use core::time::Duration;

impl WorldConfig {
    /// A network of `nodes` nodes without channels, wires and flows, with seed 1. The caller adds
    /// what the network consists of.
    #[must_use]
    pub fn new(nodes: u32, warm_up: Duration, duration: Duration) -> Self {
        Self {
            seed: 1,
            warm_up,
            duration,
            slot: None,
            nodes,
            keys: Vec::new(),
            channels: Vec::new(),
            wires: Vec::new(),
            routes: Vec::new(),
            flows: Vec::new(),
            proxies: Vec::new(),
            changes: Vec::new(),
            record: Record::default(),
        }
    }

    /// Checks what the parts do not check themselves.
    pub(super) fn validate(&self) -> Result<(), WorldError> {
        if self.duration.is_zero() {
            return Err(WorldError::Zero {
                what: "the duration",
            });
        }
        if self.slot.is_some_and(|slot| slot.is_zero()) {
            return Err(WorldError::Zero { what: "the slot" });
        }
        let known = |&node: &NodeId| node.0 < self.nodes;
        let named = self.flows.iter().flat_map(|flow| [flow.from, flow.to]);
        named
            .clone()
            .find(|node| !known(node))
            .map_or(Ok(()), |node| Err(WorldError::UnknownNode { node }))
    }
}

/// A node: whatever sends, receives or forwards packets. An index into [`WorldConfig::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u32);

/// A network and how long it is watched.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// Seed of every draw.
    pub seed: u64,
    /// Time before statistics begin.
    pub warm_up: Duration,
    /// Time over which statistics are taken, after the warm-up.
    pub duration: Duration,
    /// Length of the slots for which series are recorded and controllers run, unless a proxy has its own; `None` records no series.
    pub slot: Option<Duration>,
    /// How many nodes there are.
    pub nodes: u32,
    /// What tells the draws of each node, its radios, flows and reports from those of others (see [`crate::rng::key`]), so that nodes added anywhere
    /// change nothing for them. Empty for their numbers.
    pub keys: Vec<u64>,
    /// Radio channels. Frames of different channels never meet.
    pub channels: Vec<ChannelConfig>,
    /// Wired links.
    pub wires: Vec<WireConfig>,
    /// Next hops that differ from those of the shortest path.
    pub routes: Vec<RouteConfig>,
    /// What is sent.
    pub flows: Vec<FlowConfig>,
    /// Proxies that pace stations.
    pub proxies: Vec<ProxyConfig>,
    /// What changes in the course of the run.
    pub changes: Vec<(Time, Change)>,
    /// What is kept beside the summary.
    pub record: Record,
}

/// One radio channel.
#[derive(Clone, Debug)]
pub struct ChannelConfig {
    /// The medium and its radios.
    pub mac: MacConfig,
    /// The node that each radio of `mac` belongs to, in the order of its radios.
    pub nodes: Vec<NodeId>,
}

/// A full-duplex wired link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WireConfig {
    /// Its two ends.
    pub ends: (NodeId, NodeId),
    /// Rate of each direction; `None` takes no time to send.
    pub rate: Option<BitRate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Packets that wait at each end at most, the one being sent not counted; tail drop.
    pub queue: u32,
}

/// Packets at `at` for `to` go to the neighbour `via`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteConfig {
    /// Where the packet is.
    pub at: NodeId,
    /// Where it is going.
    pub to: NodeId,
    /// A node that `at` has a link to.
    pub via: NodeId,
}

/// Traffic from one node to another.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Where it comes from (for `Ping` and `Web`: who asks).
    pub from: NodeId,
    /// Where it goes.
    pub to: NodeId,
    /// Access category on the air, both ways.
    pub category: AccessCategory,
    /// What it is.
    pub traffic: Traffic,
    /// When it starts.
    pub start: Time,
    /// When it stops sending; `None` goes on to the end.
    pub stop: Option<Time>,
}

impl FlowConfig {
    /// Best-effort traffic from the beginning of the run to its end.
    #[must_use]
    pub const fn new(from: NodeId, to: NodeId, traffic: Traffic) -> Self {
        Self {
            from,
            to,
            category: AccessCategory::BestEffort,
            traffic,
            start: Time::ZERO,
            stop: None,
        }
    }
}

/// What a flow sends.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Traffic {
    /// UDP from an open-loop source. Its own start and stop are not looked at: the flow has them.
    Udp(SourceConfig),
    /// One direction of a G.711 call.
    Voip(VoipSinkConfig),
    /// A TCP connection that carries data from `from` to `to`.
    Tcp(TcpConfig),
    /// A browser at `from` that loads pages from a server at `to`.
    Web {
        /// The browser. Its own start and stop are not looked at.
        browser: BrowserConfig,
        /// The connections; of this the number of bytes is not looked at.
        tcp: TcpConfig,
    },
    /// Echo requests and replies. The configuration's own start and stop are not looked at.
    Ping(PingConfig),
    /// UDP that always has `window` packets under way: each that arrives or is dropped makes room for the next. Behind
    /// a proxy it is a source that always has packets waiting, whatever the window.
    Saturating {
        /// UDP payload bytes of a packet.
        payload: u32,
        /// Packets under way.
        window: u32,
    },
}

/// A TCP connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpConfig {
    /// How the sender behaves; its seed is not looked at.
    pub sender: SenderConfig,
    /// How the receiver behaves.
    pub receiver: ReceiverConfig,
    /// Bytes to send; `None` for as many as the time allows.
    pub bytes: Option<u64>,
}

/// An airpace proxy: packets that pass its node for its stations wait there and are paced. Proxy and agents are those of
/// [`airpace_edge`], which run live as well.
#[derive(Clone, PartialEq, Debug)]
pub struct ProxyConfig {
    /// Where it is: the access point itself or a node before it.
    pub at: NodeId,
    /// Its stations.
    pub stations: Vec<NodeId>,
    /// Stations that are there only from a time on: before, they send no reports, the law does not know them, and what is sent to
    /// them passes by the proxy.
    pub joins: Vec<(NodeId, Time)>,
    /// Stations whose agents have no monitor interface: arrival times tell the frames apart.
    pub unmonitored: Vec<NodeId>,
    /// The proxy itself. Its stations are those of the lists above; weights and loads may be given, in the same order.
    pub edge: proxy::ProxyConfig,
    /// The agent of every station. Its station number and first slot are set by the world.
    pub agent: AgentConfig,
    /// IP bytes of the report that each station sends once per slot (88 for 60 bytes of UDP payload); `None` sends none.
    pub report_bytes: Option<u32>,
    /// How the controller learns what the stations saw.
    pub feedback: Feedback,
}

impl ProxyConfig {
    /// A proxy in-line before `stations`, under `law` or, without one, only measuring. Slots are as long at the proxy and at the
    /// agents; the law gives the first rates, as in the papers; packets leave on the nanosecond; reports of 60 bytes of
    /// payload go over the air; agents hold no acknowledgements.
    #[must_use]
    pub fn new(at: NodeId, stations: Vec<NodeId>, law: Option<LawConfig>, slot: Duration) -> Self {
        // Virtual time wakes the proxy on the nanosecond, so nothing needs to leave before it is paid for.
        let pace = PaceConfig {
            burst: Duration::ZERO,
            burst_packets: 1,
            ..PaceConfig::default()
        };
        Self {
            at,
            stations,
            joins: Vec::new(),
            unmonitored: Vec::new(),
            edge: proxy::ProxyConfig {
                pacing: law.map_or(Pacing::Unpaced, Pacing::Law),
                slot,
                start: StartRate::FromLaw,
                pace,
                ..proxy::ProxyConfig::default()
            },
            agent: AgentConfig {
                slot,
                gather_acks: Duration::ZERO,
                ..AgentConfig::default()
            },
            report_bytes: Some(88),
            feedback: Feedback::OverTheAir,
        }
    }
}

/// What goes wrong with the reports of a station on their way to the proxy, besides what happens to their packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReportFaults {
    /// Probability that a report is lost, 0 to 1. Default 0.
    pub loss: f64,
    /// Time that a report takes longer. Default none.
    pub delay: Duration,
    /// How often a report that is not lost arrives. Default once.
    pub copies: u8,
}

impl Default for ReportFaults {
    fn default() -> Self {
        Self {
            loss: 0.0,
            delay: Duration::ZERO,
            copies: 1,
        }
    }
}

/// How reports reach the controller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Feedback {
    /// In the packets that carry them: late if these are late, lost if they are lost.
    #[default]
    OverTheAir,
    /// At the end of the slot, at once and complete, as in the ns-3 runs; packets are sent as load only.
    Direct,
}

/// A change of the network while it runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// The rate of the links from and to a node.
    Rate(NodeId, TxRate),
    /// How MPDUs are lost on the links from and to a node.
    Quality(NodeId, Quality),
    /// Other networks on a channel.
    Neighbours {
        /// Index of the channel.
        channel: usize,
        /// What they are from now on.
        neighbours: Neighbours,
    },
    /// What goes wrong with the reports of a proxy's station.
    Reports {
        /// The station.
        station: NodeId,
        /// What goes wrong from now on.
        faults: ReportFaults,
    },
    /// The agent of a proxy's station stops, or starts anew. What reaches the station meanwhile is not measured.
    Agent {
        /// The station.
        station: NodeId,
        /// Whether it runs from now on.
        running: bool,
    },
    /// The proxy at a node loses all that it holds and begins anew; its stations connect at once.
    ProxyRestart {
        /// The node.
        at: NodeId,
    },
    /// The rate of an open-loop source.
    FlowRate {
        /// Its index.
        flow: usize,
        /// The new rate.
        rate: Rate,
    },
}

/// What is kept beside the summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Record {
    /// Every data frame.
    pub frames: bool,
    /// Every packet that arrives.
    pub packets: bool,
    /// Every MPDU that is decoded.
    pub mpdus: bool,
}
