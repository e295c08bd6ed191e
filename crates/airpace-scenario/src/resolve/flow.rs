//! Traffic: every flow between two single nodes.

use super::FlowName;
use super::network::Network;
use crate::file::{Congestion, Flow, FlowKind, NodeKind, Page};
use airpace_config::document::{KeyError, refuse};
use airpace_sim::traffic::web::{self, BrowserConfig};
use airpace_sim::traffic::{
    Activity, FrameSize, Frames, Pattern, Period, PingConfig, Rate, SourceConfig, Spread,
    VoipSinkConfig,
};
use airpace_sim::transport::tcp::{Algorithm, ReceiverConfig, SenderConfig};
use airpace_sim::world::{FlowConfig, TcpConfig, Traffic};
use airpace_units::{BitRate, Time};
use std::time::Duration;

/// Payload of a UDP packet unless the scenario says otherwise: that of the papers.
const UDP_PAYLOAD: u32 = 1_470;
/// Payload of a ping, as `ping` has it.
const PING_PAYLOAD: u32 = 56;
/// Pictures per second of a stream of bursts.
const PICTURE_INTERVAL: Duration = Duration::from_micros(16_667);

/// Longest IP packet that radio carries: an MSDU of 2304 bytes (IEEE 802.11-2020, clause 9.2.4.7.1) less eight of LLC and SNAP.
const LONGEST_PACKET: u32 = 2_304 - 8;
/// IPv4 and UDP, or ICMP, headers.
const UDP_HEADERS: u32 = 28;
/// IPv4 and TCP headers with timestamps (RFC 7323).
const TCP_HEADERS: u32 = 52;

/// Most flows after expansion: beyond, a count has too many digits.
const MOST_FLOWS: usize = 100_000;

/// Every flow, with its name.
pub(super) fn flows(network: &Network<'_>) -> Result<Vec<(FlowName, FlowConfig)>, KeyError> {
    let mut flows = Vec::new();
    for (index, flow) in network.scenario.flow.iter().enumerate() {
        let at = format!("flow.{index}");
        let pairs = ends(network, flow, &at)?;
        let several = pairs.len() > 1;
        let traffic = traffic(network, flow, &at)?;
        fits(network, flow, &pairs, &at)?;
        for (from, to, other) in pairs {
            for turn in 1..=flow.count {
                let mut name = flow.label().to_owned();
                if several {
                    name = format!("{name}@{}", network.members[other].name);
                }
                if flow.count > 1 {
                    name = format!("{name}#{turn}");
                }
                flows.push((
                    FlowName {
                        name,
                        kind: flow.kind.word(),
                        table: index,
                    },
                    config(network, flow, (from, to), traffic.clone()),
                ));
            }
        }
        if flows.len() > MOST_FLOWS {
            return refuse(
                format!("{at}.count"),
                format!("more than {MOST_FLOWS} flows"),
            );
        }
    }
    Ok(flows)
}

/// Sender, receiver, and the one of both that the flow is named after where there are several.
fn ends(
    network: &Network<'_>,
    flow: &Flow,
    at: &str,
) -> Result<Vec<(usize, usize, usize)>, KeyError> {
    let to = network.group(&flow.to);
    let from = match &flow.from {
        Some(name) => network.group(name),
        None => default_sender(network, &to, at)?,
    };
    match (from.as_slice(), to.as_slice()) {
        (&[from], all) => Ok(all
            .iter()
            .filter(|&&to| to != from)
            .map(|&to| (from, to, to))
            .collect()),
        (all, &[to]) => Ok(all
            .iter()
            .filter(|&&from| from != to)
            .map(|&from| (from, to, from))
            .collect()),
        // One sender for each receiver, by default.
        (senders, receivers) if flow.from.is_none() && senders.len() == receivers.len() => {
            Ok(senders
                .iter()
                .zip(receivers)
                .map(|(&from, &to)| (from, to, to))
                .collect())
        }
        _ => refuse(
            format!("{at}.to"),
            "both ends are several nodes: one of them must be a single one",
        ),
    }
}

/// The only host; without one, each receiver's access point.
fn default_sender(network: &Network<'_>, to: &[usize], at: &str) -> Result<Vec<usize>, KeyError> {
    let hosts: Vec<usize> = (0..network.members.len())
        .filter(|&idx| network.members[idx].kind == NodeKind::Host)
        .collect();
    if let &[host] = hosts.as_slice() {
        return Ok(vec![host]);
    }
    if !hosts.is_empty() {
        return refuse(
            at,
            format!(
                "there are {} hosts: say with `from` which one sends",
                hosts.len()
            ),
        );
    }
    let mut roots: Vec<usize> = to.iter().map(|&to| network.root(to)).collect();
    if roots.windows(2).all(|pair| pair[0] == pair[1]) {
        roots.truncate(1);
    }
    Ok(roots)
}

/// Refuses packets that are too long for the air, which every flow crosses whose ends wires do not connect.
fn fits(
    network: &Network<'_>,
    flow: &Flow,
    pairs: &[(usize, usize, usize)],
    at: &str,
) -> Result<(), KeyError> {
    for (key, size, headers) in [
        ("payload", flow.payload, UDP_HEADERS),
        ("mss", flow.mss, TCP_HEADERS),
    ] {
        let most = LONGEST_PACKET - headers;
        let Some(size) = size.filter(|size| size.0.0 > u64::from(most)) else {
            continue;
        };
        if pairs
            .iter()
            .any(|&(from, to, _)| !network.connected_by_wire(from, to))
        {
            let message = format!(
                "{size} and {headers} B of headers are more than the {LONGEST_PACKET} B that an IP packet has at most on the air: at most {most} B"
            );
            return refuse(format!("{at}.{key}"), message);
        }
    }
    Ok(())
}

fn config(
    network: &Network<'_>,
    flow: &Flow,
    (from, to): (usize, usize),
    traffic: Traffic,
) -> FlowConfig {
    // Nothing is sent to or by a node before it has joined.
    let joined = network.table(from).joins.0.max(network.table(to).joins.0);
    let time = |span: Duration| Time::ZERO.saturating_add(span);
    // A web page is asked for by its receiver.
    let (from, to) = if flow.kind == FlowKind::Web {
        (to, from)
    } else {
        (from, to)
    };
    FlowConfig {
        from: Network::id(from),
        to: Network::id(to),
        category: super::air::access_category(flow.category),
        traffic,
        start: time(flow.start.0.max(joined)),
        stop: flow.stop.map(|stop| time(stop.0)),
    }
}

fn traffic(network: &Network<'_>, flow: &Flow, at: &str) -> Result<Traffic, KeyError> {
    // The bounds of the key keep sizes within 32 bits.
    let payload = flow.payload.map(|size| size.0.0 as u32);
    let payload_bytes = payload.unwrap_or(UDP_PAYLOAD);
    let rate = Rate::Bits(flow.rate.map_or(BitRate::from_bps(0), |rate| rate.0));
    Ok(match flow.kind {
        FlowKind::UdpCbr => udp(
            flow,
            Pattern::Constant {
                payload_bytes,
                rate,
            },
        ),
        FlowKind::UdpPoisson => udp(
            flow,
            Pattern::Poisson {
                payload_bytes,
                rate,
            },
        ),
        FlowKind::Burst => udp(flow, burst(flow, payload_bytes, at)?),
        FlowKind::Voip => Traffic::Voip(VoipSinkConfig::default()),
        FlowKind::Ping => Traffic::Ping(PingConfig {
            interval: flow
                .interval
                .map_or(Duration::from_secs(1), |interval| interval.0),
            payload_bytes: payload.unwrap_or(PING_PAYLOAD),
            ..PingConfig::default()
        }),
        // Enough for two frames: the queue is never empty when a frame is built.
        FlowKind::Saturate => {
            let longest = network
                .scenario
                .channel
                .iter()
                .map(|channel| channel.max_mpdus)
                .max()
                .unwrap_or(64);
            Traffic::Saturating {
                payload: payload_bytes,
                window: 4 * u32::from(longest),
            }
        }
        FlowKind::Tcp => Traffic::Tcp(tcp(flow)),
        FlowKind::Web => web_pages(flow),
    })
}

fn udp(flow: &Flow, pattern: Pattern) -> Traffic {
    let activity = match (flow.on, flow.off) {
        (Some(on), Some(off)) => Activity::OnOff {
            on: Period::Fixed(on.0),
            off: Period::Fixed(off.0),
        },
        _ => Activity::Always,
    };
    Traffic::Udp(SourceConfig {
        activity,
        ..SourceConfig::new(pattern)
    })
}

/// Bursts of equal distance whose mean size makes the rate.
fn burst(flow: &Flow, packet_bytes: u32, at: &str) -> Result<Pattern, KeyError> {
    let interval = flow
        .interval
        .map_or(PICTURE_INTERVAL, |interval| interval.0);
    let rate = flow.rate.map_or(0.0, |rate| rate.0.as_bps_f64());
    let mean = (rate * interval.as_secs_f64() / 8.0).round();
    if !(1.0..=1e9).contains(&mean) {
        return refuse(
            format!("{at}.rate"),
            format!("a burst every {interval:?} would have {mean} bytes"),
        );
    }
    let size = match flow.spread {
        Some(deviation) if deviation > 0.0 => FrameSize::LogNormal { deviation },
        _ => FrameSize::Constant,
    };
    Ok(Pattern::Frames(Frames {
        rate: Rate::Packets {
            count: 1,
            period: interval,
        },
        mean_bytes: mean as u32,
        size,
        packet_bytes,
        spread: Spread::BackToBack,
    }))
}

fn tcp(flow: &Flow) -> TcpConfig {
    let algorithm = match flow.congestion.unwrap_or(Congestion::Cubic) {
        Congestion::Cubic => Algorithm::Cubic,
        Congestion::Reno => Algorithm::Reno,
        Congestion::Bbr => Algorithm::Bbr,
    };
    let mut sender = SenderConfig::new(algorithm);
    let mut receiver = ReceiverConfig::default();
    // The bounds of the keys keep sizes within 32 bits.
    sender.segment_bytes = flow
        .mss
        .map_or(sender.segment_bytes, |size| size.0.0 as u32);
    sender.send_buffer = flow.send_buffer.map_or(sender.send_buffer, |size| size.0.0);
    sender.ecn = flow.ecn.unwrap_or(sender.ecn);
    receiver.buffer = flow.window.map_or(receiver.buffer, |size| size.0.0 as u32);
    TcpConfig {
        sender,
        receiver,
        bytes: flow.bytes.map(|size| size.0.0),
    }
}

fn web_pages(flow: &Flow) -> Traffic {
    let page = match flow.page.unwrap_or(Page::Small) {
        Page::Small => web::Page::small(),
        Page::Large => web::Page::large(),
    };
    let mut browser = BrowserConfig::new(page);
    browser.connections = flow.connections.unwrap_or(browser.connections);
    match flow.interval {
        Some(interval) => browser.think = Period::Fixed(interval.0),
        None => browser.limit = Some(1),
    }
    Traffic::Web {
        browser,
        tcp: tcp(flow),
    }
}
