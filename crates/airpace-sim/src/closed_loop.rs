//! A preset of [`crate::world`]: one access point whose stations a proxy with one law keeps
//! busy.
//!
//! The proxy stands at a server in front of the access point and always has packets for every
//! station. It gets the stations' reports directly at the end of each slot, as in the papers' ns-3
//! runs; on the air reports are load only. A run is a function of its configuration.

mod record;

#[cfg(test)]
mod tests;

pub use record::{SlotRecord, StationSlot, mean_over, mean_round_s};

use crate::mac::{CellConfig, Neighbours, Quality};
use crate::traffic::{FrameSize, Frames, Pattern, Phase, Rate, SourceConfig, Spread};
use crate::world::{
    self, ChannelConfig, Feedback, FlowConfig, NodeId, Outcome, ProxyConfig, Record, Traffic,
    WireConfig, World, WorldConfig, WorldError,
};
use airpace_core::control::LawConfig;
use airpace_core::phy::{AccessCategory, TxRate};
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES;
use airpace_edge::agent::AgentConfig;
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Nodes: the server with the proxy, the access point, and from then on the stations.
const SERVER: NodeId = NodeId(0);
const ACCESS_POINT: NodeId = NodeId(1);

/// A rate at which the second frame comes after the end of any run.
const ONCE: Rate = Rate::Packets {
    count: 1,
    period: Duration::from_secs(1_000_000),
};

/// The configuration of a closed loop.
#[derive(Clone, Debug)]
pub struct LoopConfig {
    /// The cell, with every station that will ever take part.
    pub cell: CellConfig,
    /// The law.
    pub law: LawConfig,
    /// Length of a slot (Δ).
    pub slot: Duration,
    /// Bytes of a packet with its IP header (default 1498, the papers' 1470 bytes of payload).
    pub packet_bytes: u32,
    /// Bytes with IP header of a report that each station sends over the air once per slot; `None`
    /// sends none. The law learns the same either way: on the air a report is load only.
    pub report_bytes: Option<u32>,
    /// Stations that join only at a later time.
    pub joins: Vec<(StationId, Time)>,
    /// Changes in the course of the run.
    pub changes: Vec<(Time, Change)>,
    /// Seed of every random stream.
    pub seed: u64,
}

impl LoopConfig {
    /// A loop in which every station takes part from the start, nothing changes, and reports take
    /// no airtime.
    #[must_use]
    pub fn new(cell: CellConfig, law: LawConfig, slot: Duration) -> Self {
        Self {
            cell,
            law,
            slot,
            packet_bytes: 1_498,
            report_bytes: None,
            joins: Vec::new(),
            changes: Vec::new(),
            seed: 1,
        }
    }

    /// Runs `slots` slots from the start.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub fn run(&self, slots: usize) -> Result<Vec<SlotRecord>, WorldError> {
        Ok(self.records(&self.outcome(slots)?))
    }

    /// The results of the simulated network after `slots` slots.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub fn outcome(&self, slots: usize) -> Result<Outcome, WorldError> {
        let mut world = World::new(self.network(slots)?)?;
        world.run();
        Ok(world.outcome())
    }

    /// The network of the loop, to run for `slots` slots.
    fn network(&self, slots: usize) -> Result<WorldConfig, WorldError> {
        let stations = self.cell.stations.len();
        let node = |idx: usize| station_node(StationId::from_index(idx));
        let mac = self
            .cell
            .mac()
            .map_err(|error| WorldError::Mac { channel: 0, error })?;
        let radios = [ACCESS_POINT]
            .into_iter()
            .chain((0..stations).map(node))
            .collect();
        let mut flows: Vec<FlowConfig> = (0..stations).map(|idx| self.source(node(idx))).collect();
        let mut changes = Vec::new();
        for &(at, change) in &self.changes {
            match change.in_world() {
                Some(change) => changes.push((at, change)),
                None => flows.extend(self.burst(at, change)),
            }
        }
        Ok(WorldConfig {
            seed: self.seed,
            warm_up: Duration::ZERO,
            duration: self.slot * u32::try_from(slots).unwrap_or(u32::MAX),
            slot: Some(self.slot),
            // Stations are numbered by 32 bits.
            nodes: stations as u32 + 2,
            keys: self.keys(),
            channels: vec![ChannelConfig { mac, nodes: radios }],
            wires: vec![WireConfig {
                ends: (SERVER, ACCESS_POINT),
                rate: None,
                delay: Duration::ZERO,
                queue: u32::MAX,
            }],
            routes: Vec::new(),
            flows,
            proxies: vec![self.proxy((0..stations).map(node).collect())],
            roaming: Vec::new(),
            changes,
            record: Record::default(),
        })
    }

    /// Keys of the nodes' random streams: those of a station depend on its number in the cell.
    fn keys(&self) -> Vec<u64> {
        let stations = 0..self.cell.stations.len() as u64;
        // The server and the access point have numbers that no station has.
        [u64::MAX, u64::MAX - 1]
            .into_iter()
            .chain(stations)
            .collect()
    }

    fn proxy(&self, stations: Vec<NodeId>) -> ProxyConfig {
        let joins = self.joins.iter();
        let proxy = ProxyConfig::new(SERVER, stations, Some(self.law), self.slot);
        ProxyConfig {
            joins: joins
                .map(|&(station, at)| (station_node(station), at))
                .collect(),
            report_bytes: self.report_bytes,
            feedback: Feedback::Direct,
            agent: AgentConfig {
                adapts_slots: matches!(self.law, LawConfig::Waterfill(_)),
                ..proxy.agent
            },
            ..proxy
        }
    }

    /// Packets that always wait at the proxy for a station.
    fn source(&self, to: NodeId) -> FlowConfig {
        let traffic = Traffic::Saturating {
            payload: self.payload_bytes(),
            window: 1,
        };
        flow(SERVER, to, traffic, Time::ZERO)
    }

    /// Packets that arrive at the access point at one instant, besides those of the proxy; `None`
    /// for other changes.
    fn burst(&self, at: Time, change: Change) -> Option<FlowConfig> {
        let Change::Burst(station, packets) = change else {
            return None;
        };
        let source = SourceConfig {
            phase: Phase::Fixed(Duration::ZERO),
            ..SourceConfig::new(Pattern::Frames(Frames {
                rate: ONCE,
                mean_bytes: self.payload_bytes() * packets,
                size: FrameSize::Constant,
                packet_bytes: self.payload_bytes(),
                spread: Spread::BackToBack,
            }))
        };
        let traffic = Traffic::Udp(source);
        Some(flow(ACCESS_POINT, station_node(station), traffic, at))
    }

    const fn payload_bytes(&self) -> u32 {
        self.packet_bytes.saturating_sub(IPV4_UDP_HEADER_BYTES)
    }
}

fn flow(from: NodeId, to: NodeId, traffic: Traffic, start: Time) -> FlowConfig {
    FlowConfig {
        from,
        to,
        category: AccessCategory::BestEffort,
        traffic,
        start,
        stop: None,
    }
}

const fn station_node(station: StationId) -> NodeId {
    NodeId(station.0 + 2)
}

/// A change of the cell while the loop runs.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// A station's rate changes.
    Rate(StationId, TxRate),
    /// A station's MPDU loss probability changes.
    Loss(StationId, f64),
    /// Neighbouring networks come, change or go.
    Neighbours(Neighbours),
    /// Packets for a station arrive at the access point at one instant, besides those of its paced
    /// source.
    Burst(StationId, u32),
}

impl Change {
    /// The change of the network; `None` if it is traffic.
    fn in_world(self) -> Option<world::Change> {
        Some(match self {
            Self::Rate(station, rate) => world::Change::Rate(station_node(station), rate),
            Self::Loss(station, loss) => {
                world::Change::Quality(station_node(station), Quality::Loss(loss))
            }
            Self::Neighbours(neighbours) => world::Change::Neighbours {
                channel: 0,
                neighbours,
            },
            Self::Burst(..) => return None,
        })
    }
}
