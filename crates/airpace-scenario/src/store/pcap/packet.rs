//! IP packets up to their payload.

use super::tcp::{self, Connection};
use crate::resolve::Resolved;
use airpace_core::packet::Ecn;
use airpace_core::phy::AccessCategory;
use airpace_sim::world::{MpduRecord, NodeId, PacketOnAir, Traffic, TransportOnAir};
use std::collections::BTreeMap;

/// IP protocol numbers.
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Ports at the end `to` of flows count up from here: the dynamic ones, which no analyser takes for
/// a protocol.
const SERVER_PORT: u16 = 49_152;
/// Ports at the end `from` count up from here, with the connections of a flow that has several.
const CLIENT_PORT: u16 = 32_768;
const PORTS: u64 = 16_384;
/// Port of stations' reports.
const REPORT_PORT: u16 = 65_000;
/// Bytes of an IPv4 header.
const IPV4_BYTES: usize = 20;

/// What the packets of each connection that were shown before have said: flow, connection.
#[derive(Default)]
pub(super) struct Conversations(BTreeMap<(u32, u64), Connection>);

/// The two ends of a packet.
struct Ends {
    source: NodeId,
    destination: NodeId,
    source_port: u16,
    destination_port: u16,
}

/// The bytes of a packet from the IP header to the end of its transport header.
pub(super) fn headers(
    resolved: &Resolved,
    record: &MpduRecord,
    packet: &PacketOnAir,
    conversations: &mut Conversations,
) -> Vec<u8> {
    let ends = ends(resolved, record, packet);
    let payload = u32::try_from(IPV4_BYTES).map_or(0, |header| packet.bytes.saturating_sub(header));
    let (protocol, mut segment) = match &packet.transport {
        TransportOnAir::Datagram | TransportOnAir::Report => (UDP, udp(&ends, payload)),
        &TransportOnAir::Echo { request, number } => (ICMP, echo(record.flow, request, number)),
        TransportOnAir::Data(id, segment) => {
            let connection = conversations.0.entry((record.flow, *id)).or_default();
            let is_forward = packet.to == resolved.world.flows[record.flow as usize].to;
            let mss = mss(resolved, record.flow);
            (TCP, connection.data(segment, is_forward, mss))
        }
        TransportOnAir::Ack(id, ack) => {
            let connection = conversations.0.entry((record.flow, *id)).or_default();
            let is_forward = packet.to == resolved.world.flows[record.flow as usize].to;
            (TCP, connection.ack(ack, packet.sent, is_forward))
        }
    };
    if protocol == TCP {
        tcp::complete(&mut segment, ends.source_port, ends.destination_port);
        let sum = pseudo_header_sum(&ends, TCP, payload) + sum(&segment);
        segment[16..18].copy_from_slice(&fold(sum).to_be_bytes());
    }
    let mut bytes = ipv4(&ends, protocol, packet, record.mpdu.category);
    bytes.extend(segment);
    bytes.truncate(packet.bytes as usize);
    bytes
}

/// Who sends a packet to whom. A flow's packets go between its ends, whichever way; reports belong
/// to no flow, and their senders send them themselves.
fn ends(resolved: &Resolved, record: &MpduRecord, packet: &PacketOnAir) -> Ends {
    let Some(flow) = resolved.world.flows.get(record.flow as usize) else {
        let nodes = &resolved.world.channels[record.channel as usize].nodes;
        return Ends {
            source: nodes[record.mpdu.from.index()],
            destination: packet.to,
            source_port: REPORT_PORT,
            destination_port: REPORT_PORT,
        };
    };
    let connection = match packet.transport {
        TransportOnAir::Data(id, _) | TransportOnAir::Ack(id, _) => id,
        _ => 0,
    };
    // Both remainders are below 16,384.
    let client = CLIENT_PORT + (connection % PORTS) as u16;
    let server = SERVER_PORT + (u64::from(record.flow) % PORTS) as u16;
    if packet.to == flow.to {
        Ends {
            source: flow.from,
            destination: flow.to,
            source_port: client,
            destination_port: server,
        }
    } else {
        Ends {
            source: flow.to,
            destination: flow.from,
            source_port: server,
            destination_port: client,
        }
    }
}

/// The largest segment that the ends of a flow announce: as for Ethernet if they say nothing.
fn mss(resolved: &Resolved, flow: u32) -> u16 {
    let segment = match &resolved.world.flows[flow as usize].traffic {
        Traffic::Tcp(config) => config.sender.segment_bytes,
        Traffic::Web { tcp, .. } => tcp.sender.segment_bytes,
        _ => tcp::DEFAULT_SEGMENT,
    };
    // The option does not count the timestamps (RFC 6691).
    u16::try_from(segment + 12).unwrap_or(u16::MAX)
}

fn ipv4(ends: &Ends, protocol: u8, packet: &PacketOnAir, category: AccessCategory) -> Vec<u8> {
    // A code point that gives the category (RFC 8325), and the ECN field.
    let dscp = match category {
        AccessCategory::Background => 8,
        AccessCategory::BestEffort => 0,
        AccessCategory::Video => 34,
        AccessCategory::Voice => 46,
    };
    let ecn = match packet.ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    // Packets have at most 2296 bytes.
    let [high, low] = (packet.bytes as u16).to_be_bytes();
    // Version and header length; no fragments; a time to live of 64.
    let mut header = vec![
        0x45,
        dscp << 2 | ecn,
        high,
        low,
        0,
        0,
        0x40,
        0,
        64,
        protocol,
        0,
        0,
    ];
    header.extend(address(ends.source));
    header.extend(address(ends.destination));
    let sum = fold(sum(&header)).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
    header
}

/// The address of a node: 10.0.0.1 is that of the first.
fn address(node: NodeId) -> [u8; 4] {
    let [_, a, b, c] = node.0.wrapping_add(1).to_be_bytes();
    [10, a, b, c]
}

/// A UDP header without checksum, which IPv4 allows.
fn udp(ends: &Ends, length: u32) -> Vec<u8> {
    let ports = [ends.source_port, ends.destination_port].map(u16::to_be_bytes);
    [ports[0], ports[1], (length as u16).to_be_bytes(), [0, 0]].concat()
}

/// An ICMP echo request or reply.
fn echo(flow: u32, request: bool, number: u32) -> Vec<u8> {
    let mut bytes = vec![if request { 8 } else { 0 }, 0, 0, 0];
    bytes.extend((flow as u16).to_be_bytes());
    bytes.extend((number as u16).to_be_bytes());
    let sum = fold(sum(&bytes)).to_be_bytes();
    bytes[2..4].copy_from_slice(&sum);
    bytes
}

/// The sum of the words of the pseudo header (RFC 9293 §3.1), for a segment of `length` bytes.
fn pseudo_header_sum(ends: &Ends, protocol: u8, length: u32) -> u32 {
    sum(&address(ends.source)) + sum(&address(ends.destination)) + u32::from(protocol) + length
}

/// The sum of the words of `bytes`, whose number is even.
fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2);
    words
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum()
}

/// The Internet checksum of a sum of words (RFC 1071).
fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
