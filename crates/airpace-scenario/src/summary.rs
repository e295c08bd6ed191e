//! The figures of a run.

use super::resolve::{FlowName, Member, Resolved};
use super::{Loaded, PROGRAM_VERSION};
use crate::file::{FlowKind, NodeKind};
use crate::results::{
    DelaySummary, FlowSummary, LinkSummary, PageLoadSummary, RunTotals, SIMULATION_FORMAT,
    SimulationSummary, StationSummary, TotalsSummary,
};
use airpace_core::model::jain;
use airpace_sim::traffic::{self, DelayStatistic};
use airpace_sim::world::{self, Details, DirectionCounts, LinkCounts, Losses, NodeId, Outcome};
use std::collections::BTreeMap;
use std::time::Duration;

/// The figures of `outcome`; how long it took is left at zero.
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
        stations,
        totals,
        wall_s: 0.0,
        packets_per_wall_s: 0.0,
    }
}

fn stations(resolved: &Resolved, outcome: &Outcome) -> Vec<StationSummary> {
    let own = own_flows(resolved, outcome);
    let nodes = resolved.nodes.iter().zip(&own).enumerate();
    let stations = nodes.filter(|(_, (member, _))| member.kind == NodeKind::Station);
    let station = |(idx, (member, node)): (usize, (&Member, &Own))| {
        let DirectionCounts {
            sent,
            received,
            lost,
            delay,
            ..
        } = &node.counts;
        StationSummary {
            name: member.name.clone(),
            goodput_mbps: mbps(node.payload_bytes, outcome.window),
            level: level_of(outcome, idx),
            delay_ms: delays(delay),
            sent: *sent,
            received: *received,
            dropped: dropped(lost),
            airtime_share: share(airtime_of(outcome, idx), outcome.window),
        }
    };
    stations.map(station).collect()
}

/// What a node's own flows came to.
#[derive(Clone, Default)]
struct Own {
    counts: DirectionCounts,
    payload_bytes: u64,
}

/// For every node, its flows: those that end there and those that start there, each in its main direction.
fn own_flows(resolved: &Resolved, outcome: &Outcome) -> Vec<Own> {
    let mut own = vec![Own::default(); resolved.nodes.len()];
    for (named, flow) in named(resolved, outcome) {
        let (from, to, counts) = main_direction(named, flow);
        for node in [from, to] {
            let node = &mut own[node.0 as usize];
            node.counts.merge(counts);
            node.payload_bytes += flow.payload_bytes;
        }
    }
    own
}

/// Mean MPDUs per frame to a node, or from it if there are no frames to it.
fn level_of(outcome: &Outcome, node: usize) -> Option<f64> {
    let level = |is_meant: fn(&world::LinkSummary, usize) -> bool| {
        let mut sum = LinkCounts::default();
        for link in outcome.links.iter().filter(|link| is_meant(link, node)) {
            sum.frames += link.counts.frames;
            sum.mpdus += link.counts.mpdus;
        }
        sum.level()
    };
    level(|link, node| link.to.0 as usize == node)
        .or_else(|| level(|link, node| link.from.0 as usize == node))
}

/// Airtime of all frames to and from a node.
fn airtime_of(outcome: &Outcome, node: usize) -> Duration {
    let ends =
        |link: &&world::LinkSummary| [link.from.0 as usize, link.to.0 as usize].contains(&node);
    outcome
        .links
        .iter()
        .filter(ends)
        .map(|link| link.counts.airtime)
        .sum()
}

fn totals(resolved: &Resolved, outcome: &Outcome, stations: &[StationSummary]) -> TotalsSummary {
    let mut all = DirectionCounts::default();
    for (named, flow) in named(resolved, outcome) {
        all.merge(main_direction(named, flow).2);
    }
    let levels: Vec<f64> = stations
        .iter()
        .filter_map(|station| station.level)
        .collect();
    let busy: Duration = outcome.busy.iter().sum();
    // There are at most 20,000 channels, one per node.
    let channels = resolved.channels.len() as f64;
    let run = outcome.totals;
    let fairness = |value: fn(&StationSummary) -> f64| {
        let shares: Vec<f64> = stations.iter().map(value).collect();
        shares
            .iter()
            .any(|&share| share > 0.0)
            .then(|| jain(&shares))
    };
    TotalsSummary {
        goodput_mbps: outcome
            .flows
            .iter()
            .map(|flow| mbps(flow.payload_bytes, outcome.window))
            .sum(),
        level: (!levels.is_empty()).then(|| levels.iter().sum::<f64>() / levels.len() as f64),
        delay_ms: delays(&all.delay),
        sent: all.sent,
        received: all.received,
        dropped: all.lost.total(),
        airtime_share: share(busy, outcome.window) / channels,
        jain_airtime: fairness(|station| station.airtime_share),
        jain_goodput: fairness(|station| station.goodput_mbps),
        run: RunTotals {
            sent: run.sent,
            delivered: run.delivered,
            dropped: run.dropped,
            held: run.held,
        },
    }
}

/// What a flow carries from the sender that the scenario names: of a web page that is the answers to its receiver's requests.
fn main_direction<'o>(
    named: &FlowName,
    flow: &'o world::FlowSummary,
) -> (NodeId, NodeId, &'o DirectionCounts) {
    if named.kind == FlowKind::Web.word() {
        (flow.to, flow.from, &flow.counts.backward)
    } else {
        (flow.from, flow.to, &flow.counts.forward)
    }
}

/// The flows with their names.
fn named<'o>(
    resolved: &'o Resolved,
    outcome: &'o Outcome,
) -> impl Iterator<Item = (&'o FlowName, &'o world::FlowSummary)> {
    resolved.flows.iter().zip(&outcome.flows)
}

fn flows(resolved: &Resolved, outcome: &Outcome) -> Vec<FlowSummary> {
    let name = |node: NodeId| resolved.nodes[node.0 as usize].name.clone();
    let flow = |(named, flow): (&FlowName, &world::FlowSummary)| {
        let (
            from,
            to,
            DirectionCounts {
                sent,
                received,
                lost,
                delay,
                ..
            },
        ) = main_direction(named, flow);
        let mut summary = FlowSummary {
            name: named.name.clone(),
            kind: named.kind.to_owned(),
            from: name(from),
            to: name(to),
            goodput_mbps: mbps(flow.payload_bytes, outcome.window),
            delay_ms: delays(delay),
            sent: *sent,
            received: *received,
            dropped: dropped(lost),
            rtt_ms: None,
            retransmits: None,
            mos: None,
            network_mos: None,
            page_load_s: None,
        };
        detail(&mut summary, &flow.details);
        summary
    };
    named(resolved, outcome).map(flow).collect()
}

/// What the kind of traffic tells besides.
fn detail(summary: &mut FlowSummary, details: &Details) {
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
    let name = |node: NodeId| resolved.nodes[node.0 as usize].name.clone();
    let link = |link: &world::LinkSummary| {
        let counts = link.counts;
        let per = |count: u64, of: u64| {
            if of == 0 {
                0.0
            } else {
                count as f64 / of as f64
            }
        };
        Some(LinkSummary {
            channel: resolved.channels[link.channel].clone(),
            from: name(link.from),
            to: name(link.to),
            frames: counts.frames,
            level: counts.level()?,
            level_deviation: counts.level_deviation()?,
            retry_share: per(counts.retries, counts.mpdus),
            collision_share: per(counts.collisions, counts.frames),
            phy_mbps: counts.mean_rate_bps()? / 1e6,
            airtime_share: share(counts.airtime, outcome.window),
            ppdu_share: share(counts.ppdu_time, outcome.window),
            queue: per(counts.queued_sum, counts.frames),
        })
    };
    outcome.links.iter().filter_map(link).collect()
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

/// Delays in milliseconds; `None` without any.
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
