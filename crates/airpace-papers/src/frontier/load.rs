//! Loads: what a cell leaves open, a bulk download per station and a ping to each.

use airpace_config::choice::Choice;
use airpace_config::quantity::{Rate, Span};
use airpace_scenario::file::{Flow, FlowKind, Node, NodeKind, Scenario};
use airpace_scenario::resolve::Resolved;
use airpace_sim::transport::tcp::Algorithm;
use airpace_units::BitRate;
use std::collections::BTreeMap;
use std::time::Duration;
use strum::{Display, EnumIter, EnumMessage, EnumString};

/// The bulk download of each station.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Display,
    EnumIter,
    EnumMessage,
    EnumString,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Load {
    /// TCP with Cubic.
    Cubic,
    /// TCP with BBR.
    Bbr,
    /// UDP above what the cell can carry.
    Udp,
}

/// Name of the bulk downloads, followed by `@` and the name of the station.
const BULK: &str = "frontier-bulk";
/// Name of the pings to a station if the cell has none of its own.
const PING: &str = "frontier-ping";

/// Stations of this name get the bulk downloads alone, if there are any.
const BULK_GROUP: &str = "bulk";

/// UDP is offered at this multiple of the most that any arm can give the station.
const OVERLOAD: f64 = 1.25;

/// Least time between the pings to a station.
const PING_INTERVAL: Duration = Duration::from_millis(100);
/// Least time between pings to any two stations: a ping and its answer take about 0.3 ms of air.
const PING_SPACING: Duration = Duration::from_millis(10);

/// The station whose bulk download has this name; `None` for all other flows.
pub(super) fn bulk_station(flow: &str) -> Option<&str> {
    match flow.split_once('@')? {
        (BULK, station) => Some(station),
        _ => None,
    }
}

/// Adds the load to `scenario`. `bare` is the same scenario resolved without it, which tells how
/// fast each station is.
pub(super) fn add(load: Load, scenario: &mut Scenario, bare: &Resolved) {
    let stations = |of: &dyn Fn(&Node) -> bool| -> Vec<String> {
        let tables = scenario.node.iter();
        let tables = tables.filter(|node| node.kind == NodeKind::Station && of(node));
        tables.flat_map(Node::names).collect()
    };
    let all = stations(&|_| true);
    let mut bulk = stations(&|node| node.group() == BULK_GROUP);
    if bulk.is_empty() {
        bulk.clone_from(&all);
    }
    let offered = offered_bps(&bulk, bare);
    let mut flows = Vec::new();
    for station in &bulk {
        let flow = Flow {
            name: Some(format!("{BULK}@{station}")),
            to: station.clone(),
            ..Flow::default()
        };
        flows.push(match load {
            Load::Cubic => tcp(flow, Algorithm::Cubic),
            Load::Bbr => tcp(flow, Algorithm::Bbr),
            // Exponential gaps, because senders in step would lock each other out of a full queue.
            Load::Udp => Flow {
                kind: FlowKind::UdpPoisson,
                rate: Some(Rate(BitRate::from_bps(offered[station]))),
                ..flow
            },
        });
    }
    let stations = u32::try_from(all.len()).unwrap_or(u32::MAX);
    let interval = PING_INTERVAL.max(PING_SPACING.saturating_mul(stations));
    let has_pings = scenario.flow.iter().any(|flow| flow.kind == FlowKind::Ping);
    for station in all.iter().filter(|_| !has_pings) {
        flows.push(Flow {
            name: Some(format!("{PING}@{station}")),
            to: station.clone(),
            kind: FlowKind::Ping,
            interval: Some(Span(interval)),
            ..Flow::default()
        });
    }
    scenario.flow.extend(flows);
}

fn tcp(flow: Flow, algorithm: Algorithm) -> Flow {
    Flow {
        kind: FlowKind::Tcp,
        congestion: Some(Choice(algorithm)),
        ..flow
    }
}

/// The rate of UDP to each station, bit/s: more than its share under any arm, but finite, because
/// every packet that is dropped costs time to simulate.
///
/// A station gets most either by equal airtime, R/n, or by equal packets, 1/Σ(1/R): a level limit
/// that all meet and a shared FIFO serve equal packets.
fn offered_bps(stations: &[String], bare: &Resolved) -> BTreeMap<String, u64> {
    let mut rates = BTreeMap::new();
    for station in stations {
        rates.insert(station.clone(), fastest_bps(station, bare));
    }
    let equal_packets = 1.0 / rates.values().map(|rate| 1.0 / rate).sum::<f64>();
    let count = rates.len() as f64;
    let offer = |rate: f64| OVERLOAD * (rate / count).max(equal_packets);
    rates
        .into_iter()
        // Rates are finite and far below 2^64.
        .map(|(station, rate)| (station, offer(rate) as u64))
        .collect()
}

/// The fastest PHY rate of frames to a station, bit/s.
fn fastest_bps(station: &str, bare: &Resolved) -> f64 {
    let mut fastest: f64 = 1e6;
    for channel in &bare.world.channels {
        for link in &channel.mac.links {
            let to = channel.nodes[link.to.index()];
            if bare.nodes[to.0 as usize].name == station {
                fastest = fastest.max(link.adaptation.fastest().rate().as_bps_f64());
            }
        }
    }
    fastest
}
