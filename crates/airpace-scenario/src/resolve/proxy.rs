//! Proxies.

use super::network::Network;
use crate::file::{FlowKind, NoLaw, NodeKind, Proxy, Reports};
use airpace_config::choice::Extended;
use airpace_config::document::{KeyError, refuse};
use airpace_core::control::{Goal, LawConfig, StreamConfig};
use airpace_core::queue::{CoDelConfig, FqCoDelConfig};
use airpace_sim::world::{Feedback, ProxyConfig};
use airpace_units::Time;

/// IPv4 and UDP headers.
const UDP_HEADERS: u32 = 28;
/// Payload of the packets that a law reckons with, if no flow says another.
const PAYLOAD: u32 = 1_470;

pub(super) fn proxies(network: &Network<'_>) -> Result<Vec<ProxyConfig>, KeyError> {
    let proxies = network.scenario.proxy.iter().enumerate();
    proxies
        .map(|(index, proxy)| one(network, proxy, &format!("proxy.{index}")))
        .collect()
}

fn one(network: &Network<'_>, proxy: &Proxy, at: &str) -> Result<ProxyConfig, KeyError> {
    let place = match &proxy.at {
        Some(name) => network.find(name),
        None => network.access_point(),
    };
    let Some(place) = place else {
        return refuse(
            at,
            "there is no access point to stand at: say with `at` where it is",
        );
    };
    let stations = stations(network, place);
    if stations.is_empty() {
        return refuse(
            format!("{at}.at"),
            format!(
                "no station is reached through `{}`",
                network.members[place].name
            ),
        );
    }
    let payload = payload(network, proxy);
    let late = |&idx: &usize| !network.table(idx).joins.0.is_zero();
    let joins = |&idx: &usize| {
        (
            Network::id(idx),
            Time::ZERO.saturating_add(network.table(idx).joins.0),
        )
    };
    let joins = stations.iter().filter(|idx| late(idx)).map(joins).collect();
    let nodes = stations.into_iter().map(Network::id).collect();
    let slot = proxy.slot.unwrap_or(network.scenario.slot).0;
    let base = ProxyConfig::new(Network::id(place), nodes, law(proxy, payload, at)?, slot);
    let queue = FqCoDelConfig {
        packet_limit: proxy.queue.0,
        codel: CoDelConfig {
            ecn: proxy.ecn,
            ..CoDelConfig::default()
        },
        ..FqCoDelConfig::default()
    };
    Ok(ProxyConfig {
        joins,
        edge: airpace_edge::proxy::ProxyConfig {
            packet_bytes: payload + UDP_HEADERS,
            level: proxy.level,
            delay_target: proxy.delay.map(|delay| delay.0),
            queue,
            // The bounds of the keys keep sizes within 32 bits.
            packet_overhead: proxy.tunnel.0.0 as u32,
            ..base.edge
        },
        report_bytes: (proxy.reports != Reports::Free)
            .then_some(proxy.report_size.0.0 as u32 + UDP_HEADERS),
        feedback: if proxy.reports == Reports::Air {
            Feedback::OverTheAir
        } else {
            Feedback::Direct
        },
        ..base
    })
}

/// The stations below the access point at which the proxy stands; before several access points, all stations.
fn stations(network: &Network<'_>, place: usize) -> Vec<usize> {
    let above = matches!(network.members[place].kind, NodeKind::Ap | NodeKind::Relay);
    let below = |idx: usize| {
        let mut at = idx;
        let mut steps = 0;
        while let Some(next) = network.members[at]
            .above
            .filter(|_| steps < network.members.len())
        {
            if next == place {
                return true;
            }
            (at, steps) = (next, steps + 1);
        }
        false
    };
    let stations =
        (0..network.members.len()).filter(|&idx| network.members[idx].kind == NodeKind::Station);
    stations.filter(|&idx| !above || below(idx)).collect()
}

/// Payload of the packets that the law reckons with: that of the first flow of UDP.
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
        .map_or(PAYLOAD, |size| size.0.0 as u32)
}

fn law(proxy: &Proxy, payload: u32, at: &str) -> Result<Option<LawConfig>, KeyError> {
    let law = match proxy.law.0 {
        Extended::Base(law) => law,
        Extended::More(NoLaw::None) => return Ok(None),
    };
    let goal = Goal {
        level: proxy.level,
        delay: proxy.delay.map(|delay| delay.0),
    };
    let mut law = LawConfig::named(law, goal);
    tune(&mut law, proxy, payload);
    foreign_gains(&law, proxy, at)?;
    match law.build() {
        Ok(_) => Ok(Some(law)),
        Err(error) => refuse(at, error.to_string()),
    }
}

/// Puts the parameters of the scenario into the law's configuration.
fn tune(law: &mut LawConfig, proxy: &Proxy, payload: u32) {
    let set = |stream: &mut StreamConfig| {
        (stream.payload_bytes, stream.packet_bytes) = (payload, payload + UDP_HEADERS);
        if let Some(rate) = proxy.initial_rate {
            stream.initial_mbps = rate.0.as_bps_f64() / 1e6;
        }
    };
    let replace = |value: &mut f64, by: Option<f64>| *value = by.unwrap_or(*value);
    let overhead = proxy.overhead.map(|overhead| overhead.0);
    match law {
        LawConfig::Linear(config) => {
            set(&mut config.stream);
            replace(&mut config.gain_mbps, proxy.gain);
        }
        LawConfig::LinearPf(config) => {
            set(&mut config.stream);
            replace(&mut config.gain_mbps, proxy.gain);
        }
        LawConfig::Dual(config) => {
            set(&mut config.stream);
            replace(&mut config.dual_step, proxy.gain);
            config.frame_overhead = overhead.unwrap_or(config.frame_overhead);
        }
        LawConfig::Nonlinear(config) => {
            set(&mut config.stream);
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
fn foreign_gains(law: &LawConfig, proxy: &Proxy, at: &str) -> Result<(), KeyError> {
    let (linear, nonlinear) = match law {
        LawConfig::Linear(_) | LawConfig::LinearPf(_) | LawConfig::Dual(_) => (true, false),
        LawConfig::Nonlinear(_) => (false, true),
        _ => (false, false),
    };
    let keys = [
        (
            "gain",
            proxy.gain.is_some(),
            linear,
            "linear, linear-pf and dual",
        ),
        (
            "inner_gain",
            proxy.inner_gain.is_some(),
            nonlinear,
            "nonlinear",
        ),
        (
            "outer_gain",
            proxy.outer_gain.is_some(),
            nonlinear,
            "nonlinear",
        ),
        (
            "overhead_gain",
            proxy.overhead_gain.is_some(),
            nonlinear,
            "nonlinear",
        ),
    ];
    match keys
        .into_iter()
        .find(|&(_, given, known, _)| given && !known)
    {
        Some((key, _, _, laws)) => refuse(
            format!("{at}.{key}"),
            format!("law {} has no `{key}`: it is for {laws}", proxy.law),
        ),
        None => Ok(()),
    }
}
