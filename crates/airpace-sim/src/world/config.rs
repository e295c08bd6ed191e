//! The configuration of a simulated network.

use super::{RoamingConfig, WorldError};
use crate::mac::{MacConfig, Neighbours, PairPowers, Quality};
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
            roaming: Vec::new(),
            changes: Vec::new(),
            record: Record::default(),
        }
    }

    /// Whether any flow goes to all stations of an access point.
    pub(super) fn has_multicast(&self) -> bool {
        let mut flows = self.flows.iter();
        flows.any(|flow| matches!(flow.traffic, Traffic::Multicast(_)))
    }

    /// Checks what the parts of the network do not check themselves.
    pub(super) fn validate(&self) -> Result<(), WorldError> {
        if self.duration.is_zero() {
            return Err(WorldError::Zero {
                what: "the duration",
            });
        }
        if self.slot.is_some_and(|slot| slot.is_zero()) {
            return Err(WorldError::Zero { what: "the slot" });
        }
        let stations = self.roaming.iter().map(|roaming| roaming.station);
        let access_points = self
            .roaming
            .iter()
            .flat_map(|roaming| &roaming.access_points);
        for node in stations.chain(access_points.map(|access_point| access_point.node)) {
            if node.0 >= self.nodes {
                return Err(WorldError::UnknownNode { node });
            }
        }
        for node in self.flows.iter().flat_map(|flow| [flow.from, flow.to]) {
            if node.0 >= self.nodes {
                return Err(WorldError::UnknownNode { node });
            }
        }
        Ok(())
    }
}

/// A node: whatever sends, receives or forwards packets. An index into [`WorldConfig::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u32);

/// A network, and how long it is observed.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// Seed of every random stream.
    pub seed: u64,
    /// Time before the statistics begin.
    pub warm_up: Duration,
    /// Time over which statistics are taken, after the warm-up.
    pub duration: Duration,
    /// Length of the slots for which series are recorded; `None` records no series and no decisions
    /// of proxies.
    pub slot: Option<Duration>,
    /// Number of nodes.
    pub nodes: u32,
    /// Keys from which the random streams of each node, its radios, flows and reports derive (see
    /// [`crate::rng::key`]), so that adding nodes anywhere changes nothing for the others. If
    /// empty, streams derive from the numbers of the nodes.
    pub keys: Vec<u64>,
    /// Radio channels. Frames of different channels never meet.
    pub channels: Vec<ChannelConfig>,
    /// Wired links.
    pub wires: Vec<WireConfig>,
    /// Next hops that differ from those of the shortest path.
    pub routes: Vec<RouteConfig>,
    /// The traffic.
    pub flows: Vec<FlowConfig>,
    /// Proxies that pace stations.
    pub proxies: Vec<ProxyConfig>,
    /// Stations that go from one access point to another.
    pub roaming: Vec<RoamingConfig>,
    /// Changes in the course of the run.
    pub changes: Vec<(Time, Change)>,
    /// What is recorded besides the summary.
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
    /// Rate of each direction; `None` if sending takes no time.
    pub rate: Option<BitRate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Most packets that wait at each end, without the one being sent; tail drop.
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
    /// Where it starts (for `Ping` and `Web`: the end that asks).
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// Access category on the air, in both directions.
    pub category: AccessCategory,
    /// The kind of traffic.
    pub traffic: Traffic,
    /// When it starts.
    pub start: Time,
    /// When it stops sending; `None` for the end of the run.
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
    /// UDP from an open-loop source. Its own start and stop are ignored: those of the flow count.
    Udp(SourceConfig),
    /// UDP from an open-loop source to all stations of the access point `to`, which may be `from`,
    /// too. On the air each packet is sent once, by the link of its radio to itself (see
    /// [`crate::mac::LinkConfig::members`]). Counts are those of the copies for the stations: each
    /// has it or misses it. Its own start and stop are ignored.
    Multicast(SourceConfig),
    /// One direction of a G.711 call.
    Voip(VoipSinkConfig),
    /// A TCP connection that carries data from `from` to `to`.
    Tcp(TcpConfig),
    /// A browser at `from` that loads pages from a server at `to`.
    Web {
        /// The browser. Its own start and stop are ignored.
        browser: BrowserConfig,
        /// The connections; the number of bytes is ignored.
        tcp: TcpConfig,
    },
    /// Echo requests and replies. The configuration's own start and stop are ignored.
    Ping(PingConfig),
    /// UDP that always has `window` packets in flight: each that arrives or is dropped makes room
    /// for the next. At the node of a proxy it is a source that always has packets waiting,
    /// whatever the window.
    Saturating {
        /// UDP payload bytes of a packet.
        payload: u32,
        /// Packets in flight.
        window: u32,
    },
}

/// A TCP connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpConfig {
    /// How the sender behaves; its seed is ignored.
    pub sender: SenderConfig,
    /// How the receiver behaves.
    pub receiver: ReceiverConfig,
    /// Bytes to send; `None` for an endless stream.
    pub bytes: Option<u64>,
    /// Whether its packets look like those of QUIC between the ends: a proxy and monitors see no more of
    /// them than the spin bit.
    pub is_quic: bool,
}

/// An airpace proxy: packets for its stations that pass its node wait there and are paced. Proxy
/// and agents are those of [`airpace_edge`], which run live as well.
#[derive(Clone, PartialEq, Debug)]
pub struct ProxyConfig {
    /// Its node: the access point itself or a node in front of it.
    pub at: NodeId,
    /// Its stations.
    pub stations: Vec<NodeId>,
    /// The access point whose medium it paces: of its stations those that are associated with that
    /// one. Several proxies may stand at a node if they pace different ones. `None` (default): all of
    /// its stations share one medium, wherever they are.
    pub medium: Option<NodeId>,
    /// Stations that join only at a later time. Until then they send no reports, the law does not
    /// know them, and packets for them bypass the proxy.
    pub joins: Vec<(NodeId, Time)>,
    /// Stations whose agents have no monitor interface: they tell frames apart by arrival times.
    pub unmonitored: Vec<NodeId>,
    /// Stations with an agent although the proxy observes the others: with [`Feedback::Observed`]
    /// only, which has no agents otherwise. Such agents know nothing of a tunnel; the box completes
    /// their reports by what it has seen.
    pub agents: Vec<NodeId>,
    /// The proxy itself. Its stations are those of `stations`, in the same order; weights may be
    /// given here.
    pub edge: proxy::ProxyConfig,
    /// The agent of every station. The world sets its station number and its first slot.
    pub agent: AgentConfig,
    /// IP bytes of the report that each station sends once per slot (88 for 60 bytes of UDP
    /// payload); `None` sends none.
    pub report_bytes: Option<u32>,
    /// How reports reach the law.
    pub feedback: Feedback,
    /// A radio near the access point, with [`Feedback::Observed`] only (default none).
    pub radio: Option<AirRadioConfig>,
}

/// A radio near the access point that hears the channel of the proxy's first station. The box knows
/// from it which frames were acknowledged, and when.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AirRadioConfig {
    /// Probability, 0 to 1, that it misses a data frame as a whole (default 1: data go out at high
    /// rates, in beams that point elsewhere).
    pub data_loss: f64,
    /// Probability, 0 to 1, that it misses a control frame, which has a legacy rate (default 0).
    pub control_loss: f64,
}

impl Default for AirRadioConfig {
    fn default() -> Self {
        Self {
            data_loss: 1.0,
            control_loss: 0.0,
        }
    }
}

impl ProxyConfig {
    /// A proxy in-line in front of `stations`, under `law`; without one it only measures. Slots are
    /// equally long at the proxy and at the agents; the law gives the first rates, as in the
    /// papers; packets leave on the nanosecond; reports of 60 bytes of payload go over the air;
    /// agents hold no acknowledgements.
    #[must_use]
    pub fn new(at: NodeId, stations: Vec<NodeId>, law: Option<LawConfig>, slot: Duration) -> Self {
        // Virtual time wakes the proxy on the nanosecond, so no packet needs to leave early.
        let pace = PaceConfig {
            burst: Duration::ZERO,
            burst_packets: 1,
            ..PaceConfig::default()
        };
        Self {
            at,
            stations,
            medium: None,
            joins: Vec::new(),
            unmonitored: Vec::new(),
            agents: Vec::new(),
            edge: proxy::ProxyConfig {
                pacing: law.map_or(Pacing::Unpaced, Pacing::Law),
                slot,
                start: StartRate::FromLaw,
                pace,
                ..proxy::ProxyConfig::default()
            },
            agent: AgentConfig {
                slot,
                // The published laws are defined for reports in equal slots.
                adapts_slots: false,
                gather_acks: Duration::ZERO,
                ..AgentConfig::default()
            },
            report_bytes: Some(88),
            feedback: Feedback::OverTheAir,
            radio: None,
        }
    }
}

/// Faults of a station's reports on their way to the proxy, besides the fate of their packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReportFaults {
    /// Probability that a report is lost, 0 to 1. Default 0.
    pub loss: f64,
    /// Additional delay of every report. Default none.
    pub delay: Duration,
    /// How many copies of a report that is not lost arrive. Default 1.
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

/// How reports reach the law.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Feedback {
    /// In the packets that carry them: late if a packet is late, lost if it is lost.
    #[default]
    OverTheAir,
    /// At the end of the slot, without delay or loss, as in the ns-3 runs. Packets as long as
    /// reports are sent as load only.
    Direct,
    /// There are no agents and no reports: the proxy's node observes what passes it in both
    /// directions ([`airpace_edge::inline::Observer`]).
    Observed,
}

/// A change of the network while it runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// The rate of the links from and to a node.
    Rate(NodeId, TxRate),
    /// How MPDUs are lost on the links from and to a node.
    Quality(NodeId, Quality),
    /// How MPDUs are lost on the links of a channel between two nodes, both ways.
    LinkQuality {
        /// Index of the channel.
        channel: usize,
        /// The nodes.
        ends: [NodeId; 2],
        /// How they are lost.
        quality: Quality,
    },
    /// A node has moved: what its radio on a channel and the others there receive of each other.
    /// Without [`crate::mac::Hearing::Powers`] it changes nothing; how its own MPDUs are lost is
    /// changed by `Quality`.
    Powers {
        /// Index of the channel.
        channel: usize,
        /// The node.
        node: NodeId,
        /// An entry for each radio of the channel, in their order.
        pairs: Vec<PairPowers>,
    },
    /// Other networks on a channel.
    Neighbours {
        /// Index of the channel.
        channel: usize,
        /// The other networks from now on.
        neighbours: Neighbours,
    },
    /// Faults of the reports of a proxy's station.
    Reports {
        /// The station.
        station: NodeId,
        /// The faults from now on.
        faults: ReportFaults,
    },
    /// The agent of a proxy's station stops, or a new one starts. Packets that arrive in between
    /// are not measured.
    Agent {
        /// The station.
        station: NodeId,
        /// Whether it runs from now on.
        running: bool,
    },
    /// The proxy at a node restarts: it loses everything that it holds, and its stations connect at
    /// once.
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

/// What is recorded besides the summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Record {
    /// Every data frame.
    pub frames: bool,
    /// Every packet that arrives.
    pub packets: bool,
    /// Every MPDU that is decoded.
    pub mpdus: bool,
    /// The headers of their packets, and every control frame and beacon.
    pub air: bool,
    /// Every packet that passes this node on its way: what a box there sees.
    pub passing: Option<NodeId>,
}
