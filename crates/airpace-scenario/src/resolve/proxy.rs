//! Proxies.

use super::flow::UDP_PAYLOAD;
use super::network::Network;
use crate::file::{FlowKind, Interactive, NoLaw, NodeKind, Proxy, Reports};
use airpace_config::choice::Extended;
use airpace_config::document::{KeyError, refuse};
use airpace_core::control::{Goal, LawConfig, StreamConfig};
use airpace_core::phy::AccessCategory;
use airpace_core::queue::{CoDelConfig, FqCoDelConfig, L4sConfig};
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES as UDP_HEADERS;
use airpace_edge::agent::AgentConfig;
use airpace_edge::proxy::{InteractiveConfig, Pacing};
use airpace_sim::world::{AirRadioConfig, Feedback, NodeId, ProxyConfig};
use airpace_units::Time;
use core::time::Duration;

pub(super) fn proxies(network: &Network<'_>) -> Result<Vec<ProxyConfig>, KeyError> {
    let mut proxies = Vec::new();
    for (index, proxy) in network.scenario.proxy.iter().enumerate() {
        let at = format!("proxy.{index}");
        let place = place(network, proxy, &at)?;
        let stations = stations(network, place);
        let mediums = mediums(network, place, &stations);
        for medium in mediums {
            proxies.push(resolve_proxy(network, proxy, place, medium, &at)?);
        }
    }
    Ok(proxies)
}

/// The access points of which each has a proxy of its own at a place, because stations go from one
/// to another; a single `None` if there are no such stations.
fn mediums(network: &Network<'_>, place: usize, stations: &[usize]) -> Vec<Option<usize>> {
    let members = &network.members;
    let roams = |&station: &usize| !members[station].roams_to.is_empty();
    if !stations.iter().any(roams) {
        return vec![None];
    }
    if members[place].kind == NodeKind::Ap {
        return vec![Some(place)];
    }
    let mut mediums = Vec::new();
    for &station in stations {
        for access_point in network.access_points_of(station) {
            if !mediums.contains(&Some(access_point)) {
                mediums.push(Some(access_point));
            }
        }
    }
    mediums
}

/// Where a proxy stands.
fn place(network: &Network<'_>, proxy: &Proxy, at: &str) -> Result<usize, KeyError> {
    let place = match &proxy.at {
        Some(name) => network.find(name),
        None => network.access_point(),
    };
    let Some(place) = place else {
        return refuse(
            at,
            "there is no access point for it to stand at: say with `at` where it stands",
        );
    };
    Ok(place)
}

/// The stations of a proxy, of those of a place the ones that may be at an access point if it paces
/// that one alone.
fn stations_of(
    network: &Network<'_>,
    proxy: &Proxy,
    place: usize,
    medium: Option<usize>,
    at: &str,
) -> Result<Vec<usize>, KeyError> {
    let mut stations = stations(network, place);
    if let Some(medium) = medium {
        if matches!(proxy.reports, Reports::Told | Reports::Free) {
            return refuse(
                format!("{at}.reports"),
                "stations that roam report over the air or are observed: let `reports` be \"air\", \
                 \"observed\" or \"radio\"",
            );
        }
        stations.retain(|&station| network.access_points_of(station).any(|own| own == medium));
    }
    if stations.is_empty() {
        return refuse(
            format!("{at}.at"),
            format!(
                "no station is reached through `{}`",
                network.members[place].name
            ),
        );
    }
    Ok(stations)
}

fn resolve_proxy(
    network: &Network<'_>,
    proxy: &Proxy,
    place: usize,
    medium: Option<usize>,
    at: &str,
) -> Result<ProxyConfig, KeyError> {
    let stations = stations_of(network, proxy, place, medium, at)?;
    let payload = payload(network, proxy);
    let (joins, unmonitored) = (joins(network, &stations), unmonitored(network, &stations));
    let observes = matches!(proxy.reports, Reports::Observed | Reports::Radio);
    let agents = agents_beside(network, &stations, observes)?;
    let nodes = stations.into_iter().map(Network::id).collect();
    let slot = proxy.slot.unwrap_or(network.scenario.slot).0;
    let mut base = ProxyConfig::new(Network::id(place), nodes, law(proxy, payload, at)?, slot);
    let in_line = proxy.in_line.unwrap_or(observes);
    if let Pacing::Law(LawConfig::Waterfill(law)) = &mut base.edge.pacing
        && in_line
    {
        law.set_in_line();
    }
    let takes_news = matches!(base.edge.pacing, Pacing::Law(LawConfig::Waterfill(_)));
    let codel = if in_line {
        CoDelConfig::in_line()
    } else {
        CoDelConfig::paced()
    };
    let queue = FqCoDelConfig {
        packet_limit: proxy.queue.0,
        codel: CoDelConfig {
            ecn: proxy.ecn,
            ..codel
        },
        charge_acknowledged: true,
        ..FqCoDelConfig::default()
    };
    Ok(ProxyConfig {
        medium: medium.map(Network::id),
        joins,
        unmonitored,
        edge: airpace_edge::proxy::ProxyConfig {
            packet_bytes: payload + UDP_HEADERS,
            level: proxy.level.unwrap_or(Goal::DEFAULT_LEVEL),
            delay_target: proxy.delay.map(|delay| delay.0),
            queue,
            l4s: (proxy.l4s && proxy.ecn).then(L4sConfig::default),
            // The bounds of the keys keep sizes within 32 bits.
            packet_overhead: proxy.tunnel.0.0 as u32,
            interactive: interactive(proxy),
            ..base.edge
        },
        agent: AgentConfig {
            // Agents beside a box only report.
            gather_acks: if observes {
                Duration::ZERO
            } else {
                proxy.gather_acks.0
            },
            thin_acks: proxy.thin_acks,
            adapts_slots: takes_news && (proxy.reports == Reports::Air || observes),
            ..base.agent
        },
        report_bytes: (matches!(proxy.reports, Reports::Air | Reports::Told) || !agents.is_empty())
            .then_some(proxy.report_size.0.0 as u32 + UDP_HEADERS),
        feedback: match proxy.reports {
            Reports::Air => Feedback::OverTheAir,
            Reports::Told | Reports::Free => Feedback::Direct,
            Reports::Observed | Reports::Radio => Feedback::Observed,
        },
        radio: (proxy.reports == Reports::Radio).then(|| radio(proxy)),
        agents,
        ..base
    })
}

/// The stations that join later, and when: the others are there from the beginning.
fn joins(network: &Network<'_>, stations: &[usize]) -> Vec<(NodeId, Time)> {
    let mut joins = Vec::new();
    for &station in stations {
        let joins_after = network.table(station).joins.0;
        if !joins_after.is_zero() {
            joins.push((Network::id(station), Time::ZERO.saturating_add(joins_after)));
        }
    }
    joins
}

/// The stations whose agents have no monitor interface.
fn unmonitored(network: &Network<'_>, stations: &[usize]) -> Vec<NodeId> {
    let mut unmonitored = Vec::new();
    for &station in stations {
        if !network.table(station).monitor {
            unmonitored.push(Network::id(station));
        }
    }
    unmonitored
}

/// The stations with agents beside a proxy that `observes` the others.
fn agents_beside(
    network: &Network<'_>,
    stations: &[usize],
    observes: bool,
) -> Result<Vec<NodeId>, KeyError> {
    let mut agents = Vec::new();
    for &station in stations {
        if !network.table(station).agent {
            continue;
        }
        if !observes {
            return refuse(
                format!("{}.agent", network.key(station)),
                "all stations of its proxy have agents: remove it, or give the proxy reports = \"observed\" or \"radio\"",
            );
        }
        agents.push(Network::id(station));
    }
    Ok(agents)
}

/// The radio near the access point.
fn radio(proxy: &Proxy) -> AirRadioConfig {
    let default = AirRadioConfig::default();
    AirRadioConfig {
        data_loss: proxy.air_loss.unwrap_or(default.data_loss),
        control_loss: proxy.air_loss_control.unwrap_or(default.control_loss),
    }
}

/// The access category of the packets of sparse flows and their budget, if they have a category of
/// their own.
fn interactive(proxy: &Proxy) -> Option<InteractiveConfig> {
    let category = match proxy.interactive? {
        Interactive::Video => AccessCategory::Video,
        Interactive::Voice => AccessCategory::Voice,
    };
    let budget = proxy
        .interactive_budget
        .unwrap_or(InteractiveConfig::DEFAULT_BUDGET);
    Some(InteractiveConfig { category, budget })
}

/// The stations that a proxy at `place` paces: those below the access point or relay at which it
/// stands, else those of the access points to which wires lead from it.
fn stations(network: &Network<'_>, place: usize) -> Vec<usize> {
    let serves_clients = matches!(network.members[place].kind, NodeKind::Ap | NodeKind::Relay);
    let is_below = |station: usize| {
        let mut above = network.members[station].above;
        while let Some(node) = above {
            if node == place {
                return true;
            }
            // Nodes that are below themselves were refused, so the path ends.
            above = network.members[node].above;
        }
        network.members[station].roams_to.contains(&place)
    };
    let reached: Vec<bool> = (0..network.members.len())
        .map(|member| {
            let is_access_point = network.members[member].kind == NodeKind::Ap;
            is_access_point && network.connected_by_wire(place, member)
        })
        .collect();
    let is_behind = |station: usize| {
        let mut access_points = network.access_points_of(station);
        access_points.any(|access_point| reached[access_point])
    };
    let is_served = |station: usize| {
        if serves_clients {
            is_below(station)
        } else {
            is_behind(station)
        }
    };
    let is_paced = |&idx: &usize| network.members[idx].kind == NodeKind::Station && is_served(idx);
    (0..network.members.len()).filter(is_paced).collect()
}

/// Payload of the packets that the law assumes: that of the first UDP flow.
fn payload(network: &Network<'_>, proxy: &Proxy) -> u32 {
    if let Some(packet) = proxy.packet {
        return (packet.0.0 as u32).saturating_sub(UDP_HEADERS).max(1);
    }
    let udp = [
        FlowKind::UdpCbr,
        FlowKind::UdpPoisson,
        FlowKind::Saturate,
        FlowKind::Burst,
    ];
    let flow = network
        .scenario
        .flow
        .iter()
        .find(|flow| udp.contains(&flow.kind));
    flow.and_then(|flow| flow.payload)
        .map_or(UDP_PAYLOAD, |size| size.0.0 as u32)
}

fn law(proxy: &Proxy, payload: u32, at: &str) -> Result<Option<LawConfig>, KeyError> {
    let law = match proxy.law.0 {
        Extended::Base(law) => law,
        Extended::More(NoLaw::None) => return Ok(None),
    };
    let goal = Goal {
        level: proxy.level,
        delay: proxy.delay.map(|delay| delay.0),
        aim: proxy.aim.map(|aim| aim.0),
        price: proxy.price,
        latency: proxy.latency.map(|latency| latency.0),
    };
    let mut law = LawConfig::named(law, goal);
    tune(&mut law, proxy, payload);
    refuse_foreign_gains(&law, proxy, at)?;
    match law.build() {
        Ok(_) => Ok(Some(law)),
        Err(error) => refuse(at, error.to_string()),
    }
}

/// Puts the parameters of the scenario into the law's configuration.
fn tune(law: &mut LawConfig, proxy: &Proxy, payload: u32) {
    let tune_stream = |stream: &mut StreamConfig| {
        (stream.payload_bytes, stream.packet_bytes) = (payload, payload + UDP_HEADERS);
        if let Some(rate) = proxy.initial_rate {
            stream.initial_mbps = rate.0.as_bps_f64() / 1e6;
        }
    };
    let replace = |gain: &mut f64, by: Option<f64>| *gain = by.unwrap_or(*gain);
    let overhead = proxy.overhead.map(|overhead| overhead.0);
    match law {
        LawConfig::Linear(config) => {
            tune_stream(&mut config.stream);
            replace(&mut config.gain_mbps, proxy.gain);
        }
        LawConfig::LinearPf(config) => {
            tune_stream(&mut config.stream);
            replace(&mut config.gain_mbps, proxy.gain);
        }
        LawConfig::Dual(config) => {
            tune_stream(&mut config.stream);
            replace(&mut config.dual_step, proxy.gain);
            config.frame_overhead = overhead.unwrap_or(config.frame_overhead);
        }
        LawConfig::Nonlinear(config) => {
            tune_stream(&mut config.stream);
            replace(&mut config.inner_gain, proxy.inner_gain);
            replace(&mut config.outer_gain, proxy.outer_gain);
            replace(&mut config.overhead_gain, proxy.overhead_gain);
            config.frame_overhead = overhead.unwrap_or(config.frame_overhead);
        }
        LawConfig::Waterfill(config) => {
            config.packet_bytes = f64::from(payload + UDP_HEADERS);
            config.frame_overhead = overhead.unwrap_or(config.frame_overhead);
        }
        _ => {}
    }
}

/// Refuses gains that the law does not have.
fn refuse_foreign_gains(law: &LawConfig, proxy: &Proxy, at: &str) -> Result<(), KeyError> {
    let is_linear = matches!(
        law,
        LawConfig::Linear(_) | LawConfig::LinearPf(_) | LawConfig::Dual(_)
    );
    let is_nonlinear = matches!(law, LawConfig::Nonlinear(_));
    // Each gain, whether the law has it, and the laws that have it.
    for (key, gain, is_known, laws) in [
        ("gain", proxy.gain, is_linear, "linear, linear-pf and dual"),
        ("inner_gain", proxy.inner_gain, is_nonlinear, "nonlinear"),
        ("outer_gain", proxy.outer_gain, is_nonlinear, "nonlinear"),
        (
            "overhead_gain",
            proxy.overhead_gain,
            is_nonlinear,
            "nonlinear",
        ),
    ] {
        if gain.is_some() && !is_known {
            return refuse(
                format!("{at}.{key}"),
                format!("law {} has no `{key}`: it is for {laws}", proxy.law),
            );
        }
    }
    Ok(())
}
