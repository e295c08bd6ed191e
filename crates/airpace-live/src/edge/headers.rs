//! What frame headers tell the sensors, and what they tell about stations.

use airpace_core::sensor::ack_burst::{FlowKey, SpinBit, UplinkAck, UplinkQuic};
use airpace_core::wire::ethernet::{Binding, Dhcp, Ethernet, arp_binding, neighbour_binding};
use airpace_core::wire::ieee80211::MacAddr;
use airpace_core::wire::transport::{Transport, hash_connection};
use airpace_edge::inline::Uplink;
use airpace_net::inline::{Observation, ObservationKind};
use core::hash::{BuildHasher, Hasher};
use std::hash::RandomState;

/// Gives each connection a key, the same in both directions. It is secret, so that nobody can choose
/// addresses that share the key of another connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowKeys(RandomState);

impl FlowKeys {
    /// Returns the key of the connection of an IP packet.
    pub(crate) fn key(&self, packet: &[u8]) -> Option<FlowKey> {
        let mut state = self.0.build_hasher();
        hash_connection(packet, &mut state).then(|| FlowKey(state.finish()))
    }

    /// Returns the spin bit of an IP packet with these transport headers.
    pub(crate) fn spin_bit(&self, packet: &[u8], transport: &Transport) -> Option<SpinBit> {
        match transport {
            Transport::Udp {
                quic: Some(quic), ..
            } if !quic.is_long => Some(SpinBit {
                flow: self.key(packet)?,
                is_set: quic.spin,
                is_fixed: quic.fixed,
            }),
            _ => None,
        }
    }
}

/// Returns the source of a frame from the access point's side, and what it means to the sensors.
pub(crate) fn uplink(seen: &Observation<'_>, keys: &FlowKeys) -> Option<(MacAddr, Uplink)> {
    let ethernet = Ethernet::parse(seen.bytes).ok()?;
    let what = match seen.kind {
        ObservationKind::Tcp => tcp_uplink(ethernet.payload, seen.before_bytes, keys)?,
        ObservationKind::Quic => quic_uplink(ethernet.payload, seen.before_bytes, keys),
        ObservationKind::Data => Uplink::Other {
            before_bytes: seen.before_bytes,
        },
        _ => Uplink::Presence,
    };
    Some((ethernet.source, what))
}

/// Returns what a TCP segment means to the sensors, before which `before_bytes` had come from its source;
/// `None` if it acknowledges data and its connection cannot be read.
fn tcp_uplink(packet: &[u8], before_bytes: u32, keys: &FlowKeys) -> Option<Uplink> {
    let other = Uplink::Other { before_bytes };
    let Some(Transport::Tcp(header)) = Transport::parse(packet) else {
        return Some(other);
    };
    match header.acknowledgement {
        // A SYN or FIN is answered on its own.
        Some(number) if !header.is_control => Some(Uplink::Ack(UplinkAck {
            flow: keys.key(packet)?,
            number,
            timestamps: header.timestamps,
            highest_sack: header.highest_sack,
            before_bytes: Some(before_bytes),
        })),
        _ => Some(other),
    }
}

/// Returns what a UDP datagram of the port of QUIC means to the sensors.
fn quic_uplink(packet: &[u8], before_bytes: u32, keys: &FlowKeys) -> Uplink {
    let other = Uplink::Other { before_bytes };
    let Some(transport) = Transport::parse(packet) else {
        return other;
    };
    match (keys.spin_bit(packet, &transport), transport) {
        (
            Some(spin),
            Transport::Udp {
                quic: Some(quic), ..
            },
        ) => Uplink::Quic(UplinkQuic {
            spin,
            bytes: quic.bytes,
            before_bytes: Some(before_bytes),
        }),
        _ => other,
    }
}

/// Parses a DHCP message.
fn dhcp(frame: &[u8]) -> Option<Dhcp<'_>> {
    let packet = Ethernet::parse(frame).ok()?.payload;
    match Transport::parse(packet) {
        Some(Transport::Udp {
            ports: (68, 67) | (67, 67 | 68),
            ..
        }) => {}
        _ => return None,
    }
    let header_bytes = usize::from(packet.first()? & 0x0f) * 4;
    Dhcp::parse(packet.get(header_bytes + 8..)?).ok()
}

/// Returns the name that a client gives itself in a DHCP message.
pub(crate) fn dhcp_name(frame: &[u8]) -> Option<(MacAddr, String)> {
    let message = dhcp(frame)?;
    let name = printable(message.host_name?);
    (!name.is_empty()).then_some((message.client, name))
}

/// Returns the address that a host announces by ARP, neighbour discovery or an acknowledged DHCP
/// request.
pub(crate) fn binding(kind: ObservationKind, frame: &[u8]) -> Option<Binding> {
    match kind {
        ObservationKind::Arp => arp_binding(Ethernet::parse(frame).ok()?.payload).ok()?,
        ObservationKind::NeighbourDiscovery => {
            neighbour_binding(Ethernet::parse(frame).ok()?.payload).ok()?
        }
        ObservationKind::Dhcp => {
            let message = dhcp(frame)?;
            let address = message.assigned.filter(|_| message.kind == Dhcp::ACK)?;
            Some(Binding {
                mac: message.client,
                address: address.into(),
            })
        }
        _ => None,
    }
}

/// Returns the printable characters of a name, at most 63 (RFC 1035 §2.3.4): anybody may have sent it.
fn printable(name: &[u8]) -> String {
    let is_printable = |c: &char| c.is_alphanumeric() || "-_. ".contains(*c);
    let name = String::from_utf8_lossy(name);
    name.chars().filter(is_printable).take(63).collect()
}
