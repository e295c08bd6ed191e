//! Traffic: from tables that stand for many flows to flows between two nodes.

use super::FlowName;
use super::network::Network;
use crate::file::{Flow, FlowKind, NodeKind};
use airpace_config::document::{KeyError, refuse};
use airpace_core::wire::ip::IPV4_HEADER_BYTES;
// The ICMP header of a ping is as long as that of UDP.
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES as UDP_HEADERS;
use airpace_sim::traffic::web::BrowserConfig;
use airpace_sim::traffic::{
    Activity, FrameSize, Frames, Pattern, Period, PingConfig, Rate, SourceConfig, Spread,
    VoipSinkConfig,
};
use airpace_sim::transport::tcp::{ReceiverConfig, SenderConfig};
use airpace_sim::world::{FlowConfig, TcpConfig, Traffic};
use airpace_units::{BitRate, Time};
use std::time::Duration;

/// Payload of a UDP packet unless the scenario says otherwise, as in the papers.
pub(super) const UDP_PAYLOAD: u32 = 1_470;
/// Payload of a ping unless the scenario says otherwise, as of the command `ping`.
const PING_PAYLOAD: u32 = 56;
/// Time between bursts unless the scenario says otherwise: 60 pictures a second.
const PICTURE_INTERVAL: Duration = Duration::from_micros(16_667);

/// Longest IP packet on the air, bytes: an MSDU of 2304 (IEEE 802.11-2020, 9.2.4.7.1) less 8 of LLC
/// and SNAP.
const LONGEST_PACKET: u32 = 2_304 - 8;
/// Headers of IPv4 and TCP (20 bytes) with padded timestamps (12 bytes, RFC 7323), bytes.
const TCP_HEADERS: u32 = IPV4_HEADER_BYTES + 20 + 12;

/// Most flows between single nodes. A larger count is a typing error.
const MAX_FLOWS: usize = 100_000;

/// A flow between two single nodes.
#[derive(Clone, Debug)]
pub(super) struct NamedFlow {
    /// Its name.
    pub(super) name: FlowName,
    /// What the simulator runs.
    pub(super) config: FlowConfig,
}

/// The two ends of a flow.
#[derive(Clone, Copy)]
struct Ends {
    from: usize,
    to: usize,
    /// The end that the flow is named after if its table stands for several flows.
    named_after: usize,
}

/// Every flow between two single nodes.
pub(super) fn flows(network: &Network<'_>) -> Result<Vec<NamedFlow>, KeyError> {
    let mut flows = Vec::new();
    for (table, flow) in network.scenario.flow.iter().enumerate() {
        let at = format!("flow.{table}");
        let all_ends = ends(network, flow, &at)?;
        let traffic = traffic(network, flow, &at)?;
        check_lengths(network, flow, &all_ends, &at)?;
        for &ends in &all_ends {
            for number in 1..=flow.count {
                let mut name = flow.label().to_owned();
                if all_ends.len() > 1 {
                    name = format!("{name}@{}", network.members[ends.named_after].name);
                }
                if flow.count > 1 {
                    name = format!("{name}#{number}");
                }
                let kind = flow.kind.word();
                flows.push(NamedFlow {
                    name: FlowName { name, kind, table },
                    config: config(network, flow, ends, traffic.clone()),
                });
            }
        }
        if flows.len() > MAX_FLOWS {
            return refuse(
                format!("{at}.count"),
                format!("more than {MAX_FLOWS} flows"),
            );
        }
    }
    Ok(flows)
}

/// The pairs of nodes between which there is such a flow.
fn ends(network: &Network<'_>, flow: &Flow, at: &str) -> Result<Vec<Ends>, KeyError> {
    let receivers = network.group(&flow.to);
    let senders = match &flow.from {
        Some(name) => network.group(name),
        None => default_senders(network, &receivers, at)?,
    };
    let mut pairs = Vec::new();
    match (senders.as_slice(), receivers.as_slice()) {
        (&[from], receivers) => {
            for &to in receivers {
                pairs.push(Ends {
                    from,
                    to,
                    named_after: to,
                });
            }
        }
        (senders, &[to]) => {
            for &from in senders {
                pairs.push(Ends {
                    from,
                    to,
                    named_after: from,
                });
            }
        }
        // The default is one sender for each receiver.
        (senders, receivers) if flow.from.is_none() && senders.len() == receivers.len() => {
            for (&from, &to) in senders.iter().zip(receivers) {
                pairs.push(Ends {
                    from,
                    to,
                    named_after: to,
                });
            }
            return Ok(pairs);
        }
        _ => {
            return refuse(
                format!("{at}.to"),
                "both ends are several nodes: one of them must be a single node",
            );
        }
    }
    // A member of a group sends nothing to itself.
    pairs.retain(|ends| ends.from != ends.to || flow.kind == FlowKind::Multicast);
    Ok(pairs)
}

/// The only host; without hosts, each receiver's access point.
fn default_senders(network: &Network<'_>, to: &[usize], at: &str) -> Result<Vec<usize>, KeyError> {
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

/// Refuses packets that are too long for the air, which a flow crosses unless wires connect its
/// ends.
fn check_lengths(
    network: &Network<'_>,
    flow: &Flow,
    all_ends: &[Ends],
    at: &str,
) -> Result<(), KeyError> {
    let mut pairs = all_ends.iter();
    let crosses_air = pairs.any(|ends| !network.connected_by_wire(ends.from, ends.to));
    for (key, size, headers) in [
        ("payload", flow.payload, UDP_HEADERS),
        ("mss", flow.mss, TCP_HEADERS),
    ] {
        let most = LONGEST_PACKET - headers;
        if let Some(size) = size
            && size.0.0 > u64::from(most)
            && crosses_air
        {
            let message = format!(
                "{size} and {headers} B of headers are more than the {LONGEST_PACKET} B that an IP packet has \
                 at most on the air: at most {most} B"
            );
            return refuse(format!("{at}.{key}"), message);
        }
    }
    Ok(())
}

fn config(network: &Network<'_>, flow: &Flow, ends: Ends, traffic: Traffic) -> FlowConfig {
    // Nothing is sent to or by a node before it has joined.
    let joins = |node: usize| network.table(node).joins.0;
    let joined = joins(ends.from).max(joins(ends.to));
    let time = |span: Duration| Time::ZERO.saturating_add(span);
    // The simulator calls the client of a web page its sender, because it sends the first packet.
    let (from, to) = if flow.kind == FlowKind::Web {
        (ends.to, ends.from)
    } else {
        (ends.from, ends.to)
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
        FlowKind::Multicast => Traffic::Multicast(source(
            flow,
            Pattern::Constant {
                payload_bytes,
                rate,
            },
        )),
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
        FlowKind::Saturate => {
            let longest = network
                .scenario
                .channel
                .iter()
                .map(|channel| channel.max_mpdus)
                .max()
                .unwrap_or(64);
            // As much as four frames, so that the queue is never empty when a frame is built.
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
    Traffic::Udp(source(flow, pattern))
}

fn source(flow: &Flow, pattern: Pattern) -> SourceConfig {
    let activity = match (flow.on, flow.off) {
        (Some(on), Some(off)) => Activity::OnOff {
            on: Period::Fixed(on.0),
            off: Period::Fixed(off.0),
        },
        _ => Activity::Always,
    };
    SourceConfig {
        activity,
        ..SourceConfig::new(pattern)
    }
}

/// Bursts at equal intervals; their mean size follows from the rate.
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
    let algorithm = flow.congestion.unwrap_or_default().0;
    let mut sender = SenderConfig::new(algorithm);
    let mut receiver = ReceiverConfig::default();
    // The bounds of the keys keep sizes within 32 bits.
    sender.segment_bytes = flow
        .mss
        .map_or(sender.segment_bytes, |size| size.0.0 as u32);
    sender.send_buffer = flow.send_buffer.map_or(sender.send_buffer, |size| size.0.0);
    sender.small_queue = flow.small_queue.map(|size| size.0.0);
    sender.refusals = flow.refusals.unwrap_or(sender.refusals);
    sender.ecn = flow.ecn.unwrap_or(sender.ecn);
    receiver.buffer = flow.window.map_or(receiver.buffer, |size| size.0.0 as u32);
    receiver.ack_every = flow.ack_every.unwrap_or(receiver.ack_every);
    receiver.merge = flow.merge.unwrap_or(receiver.merge);
    TcpConfig {
        sender,
        receiver,
        bytes: flow.bytes.map(|size| size.0.0),
        is_quic: flow.quic.unwrap_or_default(),
    }
}

fn web_pages(flow: &Flow) -> Traffic {
    let page = flow.page.unwrap_or_default().0.page();
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
