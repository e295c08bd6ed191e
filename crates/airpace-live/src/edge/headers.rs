//! What the headers of frames say to the sensors and about the stations.

use airpace_core::sensor::ack_burst::{FlowKey, UplinkAck};
use airpace_core::wire::ethernet::{Dhcp, Ethernet};
use airpace_core::wire::ieee80211::MacAddr;
use airpace_core::wire::transport::{Transport, hash_connection};
use airpace_edge::inline::Uplink;
use airpace_net::inline::ObservationKind;
use core::hash::{BuildHasher, Hasher};
use std::hash::RandomState;

/// Gives each connection a key, the same in both directions. It is secret, so that nobody can choose
/// addresses that share the key of another connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowKeys(RandomState);

impl FlowKeys {
    /// The key of the connection of an IP packet.
    pub(crate) fn key(&self, packet: &[u8]) -> Option<FlowKey> {
        let mut state = self.0.build_hasher();
        hash_connection(packet, &mut state).then(|| FlowKey(state.finish()))
    }
}

/// The source of a frame that came from the access point's side, and what it says.
pub(crate) fn uplink(
    kind: ObservationKind,
    frame: &[u8],
    length: u32,
    keys: &FlowKeys,
) -> Option<(MacAddr, Uplink)> {
    let ethernet = Ethernet::parse(frame).ok()?;
    let headers = u32::try_from(frame.len() - ethernet.payload.len()).unwrap_or(0);
    let bytes = length.saturating_sub(headers);
    let what = match kind {
        ObservationKind::Tcp => match Transport::parse(ethernet.payload) {
            Some(Transport::Tcp(header)) => match header.acknowledgement {
                // A SYN or FIN is answered on its own.
                Some(number) if !header.is_control => Uplink::Ack(
                    UplinkAck {
                        flow: keys.key(ethernet.payload)?,
                        number,
                        timestamps: header.timestamps,
                        sack_edge: header.sack_edge,
                    },
                    bytes,
                ),
                _ => Uplink::Other(bytes),
            },
            _ => Uplink::Other(bytes),
        },
        ObservationKind::Quic => Uplink::Other(bytes),
        _ => Uplink::Presence,
    };
    Some((ethernet.source, what))
}

/// The name that a client gives itself in a DHCP message.
pub(crate) fn dhcp_name(frame: &[u8]) -> Option<(MacAddr, String)> {
    let ethernet = Ethernet::parse(frame).ok()?;
    let packet = ethernet.payload;
    if !matches!(
        Transport::parse(packet),
        Some(Transport::Udp {
            ports: (68, 67),
            ..
        })
    ) {
        return None;
    }
    let header_bytes = usize::from(packet.first()? & 0x0f) * 4;
    let message = Dhcp::parse(packet.get(header_bytes + 8..)?).ok()?;
    let name = printable(message.host_name?);
    (!name.is_empty()).then_some((message.client, name))
}

/// The printable characters of a name that anybody may have sent, at most 63 (RFC 1035 §2.3.4).
fn printable(name: &[u8]) -> String {
    let is_printable = |c: &char| c.is_alphanumeric() || "-_. ".contains(*c);
    let name = String::from_utf8_lossy(name);
    name.chars().filter(is_printable).take(63).collect()
}
