//! The figures of a run.

use crate::file::{FlowKind, NodeKind};
use crate::resolve::{FlowName, Resolved};
use crate::results::{
    DelaySummary, FlowSummary, HandOverSummary, LinkSummary, PageLoadSummary, ProxySummary,
    RunTotals, SIMULATION_FORMAT, SimulationSummary, StationSummary, TotalsSummary,
};
use crate::{Loaded, PROGRAM_VERSION};
use airpace_core::model::jain;
use airpace_sim::traffic::{self, DelayStatistic};
use airpace_sim::world::{self, Details, DirectionCounts, LinkCounts, Losses, NodeId, Outcome};
use airpace_units::Time;
use std::collections::BTreeMap;
use std::time::Duration;

/// The figures of `outcome`. The time that the run took is left at zero, and warnings are left out.
#[must_use]
pub fn summary(loaded: &Loaded, resolved: &Resolved, outcome: &Outcome) -> SimulationSummary {
    let stations = stations(resolved, outcome);
    let totals = totals(resolved, outcome, &stations);
    SimulationSummary {
        format: SIMULATION_FORMAT,
        program_version: PROGRAM_VERSION.to_owned(),
        seed: loaded.scenario.seed,
        scenario: loaded.record(),
        warm_up_s: resolved.world.warm_up.as_secs_f64(),
        duration_s: outcome.window.as_secs_f64(),
        interrupted: false,
        flows: flows(resolved, outcome),
        links: links(resolved, outcome),
        proxies: proxies(resolved, outcome),
        hand_overs: hand_overs(resolved, outcome),
        stations,
        totals,
        warnings: Vec::new(),
        wall_s: 0.0,
        packets_per_wall_s: 0.0,
    }
}

fn stations(resolved: &Resolved, outcome: &Outcome) -> Vec<StationSummary> {
    let traffic = node_traffic(resolved, outcome);
    let mut stations = Vec::new();
    for (idx, member) in resolved.nodes.iter().enumerate() {
        if member.kind != NodeKind::Station {
            continue;
        }
        let NodeTraffic {
            counts,
            payload_bytes,
        } = &traffic[idx];
        stations.push(StationSummary {
            name: member.name.clone(),
            goodput_mbps: mbps(*payload_bytes, outcome.window),
            level: level_of(outcome, idx),
            delay_ms: delays(&counts.delay),
            sent: counts.sent,
            received: counts.received,
            dropped: dropped(&counts.lost),
            airtime_share: share(airtime_of(outcome, idx), outcome.window),
            counted_airtime_share: Some(share(counted_airtime_of(outcome, idx), outcome.window)),
        });
    }
    stations
}

/// The flows that end at a node and those that start there, each in its main direction, added up.
#[derive(Clone, Default)]
struct NodeTraffic {
    counts: DirectionCounts,
    payload_bytes: u64,
}

/// The traffic of every node.
fn node_traffic(resolved: &Resolved, outcome: &Outcome) -> Vec<NodeTraffic> {
    let mut traffic = vec![NodeTraffic::default(); resolved.nodes.len()];
    for (name, flow) in named_flows(resolved, outcome) {
        let main = main_direction(name, flow);
        for node in [main.from, main.to] {
            let node = &mut traffic[node.0 as usize];
            node.counts.merge(main.counts);
            node.payload_bytes += flow.payload_bytes;
        }
    }
    traffic
}

/// Mean MPDUs per frame to a node, or from it if there are no frames to it.
fn level_of(outcome: &Outcome, node: usize) -> Option<f64> {
    let (mut to_node, mut from_node) = (LinkCounts::default(), LinkCounts::default());
    for link in &outcome.links {
        for (end, sum) in [(link.to, &mut to_node), (link.from, &mut from_node)] {
            if end.0 as usize == node {
                sum.frames += link.counts.frames;
                sum.mpdus += link.counts.mpdus;
            }
        }
    }
    to_node.level().or_else(|| from_node.level())
}

/// Airtime of all frames to and from a node.
fn airtime_of(outcome: &Outcome, node: usize) -> Duration {
    let mut airtime = Duration::ZERO;
    for link in &outcome.links {
        if [link.from.0 as usize, link.to.0 as usize].contains(&node) {
            airtime += link.counts.airtime;
        }
    }
    airtime
}

/// The same as the other ends count it.
fn counted_airtime_of(outcome: &Outcome, node: usize) -> Duration {
    let mut airtime = Duration::ZERO;
    for link in &outcome.links {
        if link.to.0 as usize == node {
            airtime += link.counted.sender;
        }
        if link.from.0 as usize == node {
            airtime += link.counted.receiver;
        }
    }
    airtime
}

fn totals(resolved: &Resolved, outcome: &Outcome, stations: &[StationSummary]) -> TotalsSummary {
    let mut all = DirectionCounts::default();
    let mut goodput_mbps = 0.0;
    for (name, flow) in named_flows(resolved, outcome) {
        all.merge(main_direction(name, flow).counts);
        goodput_mbps += mbps(flow.payload_bytes, outcome.window);
    }
    let levels: Vec<f64> = stations
        .iter()
        .filter_map(|station| station.level)
        .collect();
    let level = (!levels.is_empty()).then(|| levels.iter().sum::<f64>() / levels.len() as f64);
    let busy: Duration = outcome.busy.iter().sum();
    let channels = resolved.channels.len() as f64;
    // Shares that are all zero are not fair but undefined.
    let fairness = |value: fn(&StationSummary) -> f64| {
        let shares: Vec<f64> = stations.iter().map(value).collect();
        let any = shares.iter().any(|&share| share > 0.0);
        any.then(|| jain(&shares))
    };
    TotalsSummary {
        goodput_mbps,
        level,
        delay_ms: delays(&all.delay),
        sent: all.sent,
        received: all.received,
        dropped: all.lost.total(),
        airtime_share: share(busy, outcome.window) / channels,
        jain_airtime: fairness(|station| station.airtime_share),
        jain_goodput: fairness(|station| station.goodput_mbps),
        run: RunTotals {
            sent: outcome.totals.sent,
            delivered: outcome.totals.delivered,
            dropped: outcome.totals.dropped,
            held: outcome.totals.held,
            bottleneck_alarms: outcome.totals.bottleneck_alarms,
        },
    }
}

/// One direction of a flow.
pub(crate) struct Direction<'o> {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) counts: &'o DirectionCounts,
}

/// The direction of a flow from the sender that the scenario names. Of web pages these are the
/// answers, because the simulator calls the client their sender.
pub(crate) fn main_direction<'o>(name: &FlowName, flow: &'o world::FlowSummary) -> Direction<'o> {
    if name.kind == FlowKind::Web.word() {
        Direction {
            from: flow.to,
            to: flow.from,
            counts: &flow.counts.backward,
        }
    } else {
        Direction {
            from: flow.from,
            to: flow.to,
            counts: &flow.counts.forward,
        }
    }
}

/// The flows with their names.
fn named_flows<'o>(
    resolved: &'o Resolved,
    outcome: &'o Outcome,
) -> impl Iterator<Item = (&'o FlowName, &'o world::FlowSummary)> {
    resolved.flows.iter().zip(&outcome.flows)
}

fn flows(resolved: &Resolved, outcome: &Outcome) -> Vec<FlowSummary> {
    let node_name = |node: NodeId| resolved.nodes[node.0 as usize].name.clone();
    let mut flows = Vec::new();
    for (name, flow) in named_flows(resolved, outcome) {
        let Direction { from, to, counts } = main_direction(name, flow);
        let mut summary = FlowSummary {
            name: name.name.clone(),
            kind: name.kind.to_owned(),
            from: node_name(from),
            to: node_name(to),
            goodput_mbps: mbps(flow.payload_bytes, outcome.window),
            delay_ms: delays(&counts.delay),
            proxy_wait_ms: counts.proxy_wait.as_ref().and_then(delays),
            sent: counts.sent,
            received: counts.received,
            dropped: dropped(&counts.lost),
            rtt_ms: None,
            retransmits: None,
            mos: None,
            network_mos: None,
            page_load_s: None,
        };
        add_details(&mut summary, &flow.details);
        flows.push(summary);
    }
    flows
}

/// Adds the figures that only this kind of traffic has.
fn add_details(summary: &mut FlowSummary, details: &Details) {
    match details {
        Details::Tcp(tcp) => {
            summary.rtt_ms = tcp.round_trip.as_ref().map(in_ms);
            summary.retransmits = Some(tcp.sender.resent);
        }
        Details::Ping(ping) => summary.rtt_ms = ping.round_trip.as_ref().map(in_ms),
        Details::Voip(call) => {
            summary.mos = Some(call.mean_opinion_score);
            summary.network_mos = Some(call.network_score);
        }
        Details::Web(pages) => {
            summary.page_load_s = pages.as_ref().map(|pages| PageLoadSummary {
                count: pages.count,
                mean: pages.mean.as_secs_f64(),
                min: pages.min.as_secs_f64(),
                max: pages.max.as_secs_f64(),
            });
        }
        _ => {}
    }
}

fn links(resolved: &Resolved, outcome: &Outcome) -> Vec<LinkSummary> {
    let links = outcome.links.iter();
    links
        .filter_map(|link| link_summary(resolved, outcome, link))
        .collect()
}

/// The figures of a link; `None` if it carried no frames.
fn link_summary(
    resolved: &Resolved,
    outcome: &Outcome,
    link: &world::LinkSummary,
) -> Option<LinkSummary> {
    let name = |node: NodeId| resolved.nodes[node.0 as usize].name.clone();
    let counts = link.counts;
    Some(LinkSummary {
        channel: resolved.channels[link.channel].clone(),
        from: name(link.from),
        to: name(link.to),
        frames: counts.frames,
        level: counts.level()?,
        windowed_level: counts.windowed.mean()?,
        level_deviation: counts.level_deviation()?,
        retry_share: ratio(counts.retries, counts.mpdus),
        collision_share: ratio(counts.collisions, counts.frames),
        phy_mbps: counts.mean_rate_bps()? / 1e6,
        airtime_share: share(counts.airtime, outcome.window),
        ppdu_share: share(counts.ppdu_time, outcome.window),
        queue: ratio(counts.queued_sum, counts.frames),
        wait_ms: link.wait.as_ref().map(in_ms),
    })
}

fn proxies(resolved: &Resolved, outcome: &Outcome) -> Vec<ProxySummary> {
    let mut proxies = Vec::new();
    for proxy in &outcome.proxies {
        proxies.push(ProxySummary {
            at: resolved.nodes[proxy.node.0 as usize].name.clone(),
            bottleneck_alarms: proxy.bottleneck_alarms,
            least_latency_ms: proxy.least_latency_s.map(|least_s| least_s * 1e3),
        });
    }
    proxies
}

fn hand_overs(resolved: &Resolved, outcome: &Outcome) -> Vec<HandOverSummary> {
    let name = |node: NodeId| resolved.nodes[node.0 as usize].name.clone();
    let mut hand_overs = Vec::new();
    for hand_over in &outcome.hand_overs {
        hand_overs.push(HandOverSummary {
            station: name(hand_over.station),
            from: name(hand_over.from),
            to: name(hand_over.to),
            at_s: hand_over.joined.since(Time::ZERO).as_secs_f64(),
            interruption_ms: hand_over.interruption().as_secs_f64() * 1e3,
        });
    }
    hand_overs
}

fn ratio(count: u64, of: u64) -> f64 {
    if of == 0 {
        0.0
    } else {
        count as f64 / of as f64
    }
}

fn mbps(bytes: u64, window: Duration) -> f64 {
    if window.is_zero() {
        0.0
    } else {
        8.0 * bytes as f64 / window.as_secs_f64() / 1e6
    }
}

fn share(time: Duration, window: Duration) -> f64 {
    if window.is_zero() {
        0.0
    } else {
        time.as_secs_f64() / window.as_secs_f64()
    }
}

fn dropped(losses: &Losses) -> BTreeMap<String, u64> {
    losses
        .iter()
        .map(|(loss, count)| (loss.name().to_owned(), count))
        .collect()
}

/// Delays in milliseconds; `None` if there are none.
fn delays(delay: &DelayStatistic) -> Option<DelaySummary> {
    delay.summary().map(|summary| in_ms(&summary))
}

fn in_ms(delay: &traffic::DelaySummary) -> DelaySummary {
    let ms = |span: Duration| span.as_secs_f64() * 1e3;
    DelaySummary {
        mean: ms(delay.mean),
        p50: ms(delay.p50),
        p95: ms(delay.p95),
        p99: ms(delay.p99),
        min: ms(delay.min),
    }
}
