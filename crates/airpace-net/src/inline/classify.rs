//! What a frame is, as `kind_of` of the XDP programs decides, for the path without them.

use super::ObservationKind;

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameKind {
    /// One of those that are reported.
    Reported(ObservationKind),
    /// Any other IPv4 or IPv6 packet.
    Ip,
    /// SCTP.
    Sctp,
    /// Neither IPv4 nor IPv6.
    NotIp,
}

/// A frame and where its network header begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Classified {
    pub(super) kind: FrameKind,
    pub(super) network: usize,
}

impl Classified {
    /// Classifies an Ethernet frame, behind up to two VLAN tags.
    pub(super) fn of(frame: &[u8]) -> Self {
        let mut at = 12;
        loop {
            let ether_type = word(frame, at).unwrap_or(0);
            let network = at + 2;
            let packet = frame.get(network..).unwrap_or_default();
            let kind = match ether_type {
                0x8100 | 0x88a8 if at < 20 => {
                    at += 4;
                    continue;
                }
                0x0800 => kind_of_ipv4(packet),
                0x86dd => kind_of_ipv6(packet),
                0x0806 => FrameKind::Reported(ObservationKind::Arp),
                0x888e | 0x88c7 => FrameKind::Reported(ObservationKind::Eapol),
                _ => FrameKind::NotIp,
            };
            return Self { kind, network };
        }
    }

    /// Returns whether a unicast frame for a station is one to be queued.
    pub(super) fn is_for_queue(self) -> bool {
        matches!(
            self.kind,
            FrameKind::Ip | FrameKind::Reported(ObservationKind::Tcp | ObservationKind::Quic)
        )
    }
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const SCTP: u8 = 132;
/// Longest payload of a TCP segment that is reported.
const SMALL_PAYLOAD: usize = 128;

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn kind_of_ipv4(packet: &[u8]) -> FrameKind {
    if packet.len() < 20 {
        return FrameKind::NotIp;
    }
    let header_bytes = usize::from(packet[0] & 15) * 4;
    let total = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    let offset = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff;
    let transport = packet.get(header_bytes..).unwrap_or_default();
    match packet[9] {
        SCTP => FrameKind::Sctp,
        // Only the first fragment has the ports.
        _ if header_bytes < 20 || offset != 0 => FrameKind::Ip,
        UDP => kind_of_udp(transport, [67, 68]),
        TCP if total > header_bytes => kind_of_tcp(transport, total - header_bytes),
        _ => FrameKind::Ip,
    }
}

fn kind_of_ipv6(packet: &[u8]) -> FrameKind {
    let Some((header, transport)) = packet.split_at_checked(40) else {
        return FrameKind::NotIp;
    };
    let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
    match header[6] {
        SCTP => FrameKind::Sctp,
        UDP => kind_of_udp(transport, [546, 547]),
        TCP => kind_of_tcp(transport, payload),
        // RFC 4861: solicitations, advertisements and redirects.
        ICMPV6 if matches!(transport.first(), Some(133..=137)) => {
            FrameKind::Reported(ObservationKind::NeighbourDiscovery)
        }
        _ => FrameKind::Ip,
    }
}

fn kind_of_udp(datagram: &[u8], dhcp: [u16; 2]) -> FrameKind {
    let (Some(from), Some(to)) = (word(datagram, 0), word(datagram, 2)) else {
        return FrameKind::Ip;
    };
    if dhcp.contains(&from) || dhcp.contains(&to) {
        FrameKind::Reported(ObservationKind::Dhcp)
    } else if from == 443 || to == 443 {
        FrameKind::Reported(ObservationKind::Quic)
    } else {
        FrameKind::Ip
    }
}

/// `bytes` is the length of the segment with its header, as the IP header has it.
fn kind_of_tcp(segment: &[u8], bytes: usize) -> FrameKind {
    match segment.get(12) {
        Some(words) if bytes <= usize::from(words >> 4) * 4 + SMALL_PAYLOAD => {
            FrameKind::Reported(ObservationKind::Tcp)
        }
        _ => FrameKind::Ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            ether_type in proptest::sample::select(vec![[8, 0], [0x86, 0xdd], [0x81, 0], [8, 6]]),
            mut bytes in proptest::collection::vec(any::<u8>(), 0..120),
        ) {
            for (to, from) in bytes.iter_mut().skip(12).zip(ether_type) {
                *to = from;
            }
            let classified = Classified::of(&bytes);
            prop_assert!(classified.network >= 14);
        }
    }
}
