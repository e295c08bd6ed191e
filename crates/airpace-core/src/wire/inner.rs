//! What queues need of an IP packet: its length, its flow, its ECN field (RFC 791, RFC 8200, RFC 3168).
//!
//! A live buffer implements [`Packet`](crate::packet::Packet) with [`IpInfo::parse`] once on arrival, then [`hash_flow`] and
//! [`mark_ce`]; [`IpInfo::category`] says what its differentiated services mean on the air.

use crate::phy::AccessCategory;
use core::hash::Hasher;
use thiserror::Error;

/// Extension headers that are stepped over before the transport header is given up on.
const MAX_EXTENSIONS: usize = 8;
const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
/// ECN field of the traffic class: 00 not capable, 11 Congestion Experienced.
const ECN: u8 = 0x03;

/// IP protocol numbers (IANA "Assigned Internet Protocol Numbers").
mod protocol {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const TCP: u8 = 6;
    pub(super) const UDP: u8 = 17;
    pub(super) const DCCP: u8 = 33;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const DESTINATION_OPTIONS: u8 = 60;
    pub(super) const SCTP: u8 = 132;
    pub(super) const UDP_LITE: u8 = 136;
}

/// Why bytes are no IP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum IpError {
    /// Nothing at all.
    #[error("an empty packet")]
    Empty,
    /// Neither IPv4 nor IPv6.
    #[error("IP version {0} is not known")]
    Version(u8),
    /// The bytes end within the header.
    #[error("the IP header is cut off")]
    Truncated,
    /// The header's length field is too small for a header or larger than the packet.
    #[error("the IP header gives itself an impossible length")]
    HeaderLength,
    /// The packet says that it is longer than the bytes there are, or shorter than its header.
    #[error("the packet claims {claimed} bytes, there are {present}")]
    Length {
        /// Bytes by the header.
        claimed: u32,
        /// Bytes given.
        present: u32,
    },
}

/// What a valid header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpInfo {
    /// 4 or 6.
    pub version: u8,
    /// Length of the packet in bytes, header included. Bytes beyond it are padding of the link.
    pub bytes: u32,
    /// Differentiated-services code point, 0 to 63.
    pub dscp: u8,
    /// ECN field: 0 not capable, 1 and 2 capable, 3 Congestion Experienced.
    pub ecn: u8,
}

impl IpInfo {
    /// The access category that the code point stands for (RFC 8325 §4.3, figure 1; RFC 8622 for the lower-effort code point).
    ///
    /// CS6 and CS7 count as best effort, as do code points without a meaning: nobody beyond the wireless hop is a router that has control
    /// traffic of its own to send, and any sender could otherwise help itself to the highest priority (RFC 8325 §8.2).
    #[must_use]
    pub const fn category(&self) -> AccessCategory {
        match self.dscp {
            // LE and CS1.
            1 | 8 => AccessCategory::Background,
            // CS3, AF3x, CS4, AF4x, CS5.
            24 | 26 | 28 | 30 | 32 | 34 | 36 | 38 | 40 => AccessCategory::Video,
            // VOICE-ADMIT and EF.
            44 | 46 => AccessCategory::Voice,
            _ => AccessCategory::BestEffort,
        }
    }

    /// Reads and checks the header of the packet that `bytes` begins with.
    ///
    /// # Errors
    /// If the bytes are no whole IP packet. The checksum of IPv4 is left to the kernel.
    pub fn parse(bytes: &[u8]) -> Result<Self, IpError> {
        let first = *bytes.first().ok_or(IpError::Empty)?;
        let (class, claimed, header) = match first >> 4 {
            4 => ipv4_header(bytes)?,
            6 => ipv6_header(bytes)?,
            version => return Err(IpError::Version(version)),
        };
        let present = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        if claimed > present || claimed < header {
            return Err(IpError::Length { claimed, present });
        }
        Ok(Self {
            version: first >> 4,
            bytes: claimed,
            dscp: class >> 2,
            ecn: class & ECN,
        })
    }
}

/// Traffic class, claimed length of the packet and length of the header.
fn ipv4_header(bytes: &[u8]) -> Result<(u8, u32, u32), IpError> {
    let header = bytes
        .first_chunk::<IPV4_HEADER_BYTES>()
        .ok_or(IpError::Truncated)?;
    let header_bytes = ipv4_header_bytes(header[0]);
    if header_bytes < IPV4_HEADER_BYTES || header_bytes > bytes.len() {
        return Err(IpError::HeaderLength);
    }
    let claimed = u32::from(u16::from_be_bytes([header[2], header[3]]));
    // A header has at most 60 bytes.
    Ok((header[1], claimed, header_bytes as u32))
}

const fn ipv4_header_bytes(first: u8) -> usize {
    ((first & 0x0f) as usize) * 4
}

fn ipv6_header(bytes: &[u8]) -> Result<(u8, u32, u32), IpError> {
    let header = bytes
        .first_chunk::<IPV6_HEADER_BYTES>()
        .ok_or(IpError::Truncated)?;
    let class = (header[0] << 4) | (header[1] >> 4);
    let payload = u32::from(u16::from_be_bytes([header[4], header[5]]));
    let fixed = IPV6_HEADER_BYTES as u32;
    Ok((class, fixed + payload, fixed))
}

/// Feeds addresses, protocol and ports of an IP packet to `state`.
///
/// Fragments feed no ports, so that all fragments of a flow meet in one queue; so do protocols without ports. Bytes that are no IP
/// packet feed nothing: they are one flow.
pub fn hash_flow<H: Hasher>(bytes: &[u8], state: &mut H) {
    match bytes.first().map(|b| b >> 4) {
        Some(4) => hash_ipv4(bytes, state),
        Some(6) => hash_ipv6(bytes, state),
        _ => {}
    }
}

fn hash_ipv4<H: Hasher>(bytes: &[u8], state: &mut H) {
    let Some(header) = bytes.first_chunk::<IPV4_HEADER_BYTES>() else {
        return;
    };
    state.write(&header[12..20]);
    state.write_u8(header[9]);
    // More-fragments flag and fragment offset.
    let whole = u16::from_be_bytes([header[6], header[7]]) & 0x3fff == 0;
    if whole {
        hash_ports(header[9], bytes.get(ipv4_header_bytes(header[0])..), state);
    }
}

fn hash_ipv6<H: Hasher>(bytes: &[u8], state: &mut H) {
    let Some(header) = bytes.first_chunk::<IPV6_HEADER_BYTES>() else {
        return;
    };
    state.write(&header[8..40]);
    let (mut next, mut rest) = (header[6], &bytes[IPV6_HEADER_BYTES..]);
    for _ in 0..MAX_EXTENSIONS {
        if !matches!(
            next,
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION_OPTIONS
        ) {
            break;
        }
        let &[following, length, ..] = rest else {
            break;
        };
        let Some(after) = rest.get((usize::from(length) + 1) * 8..) else {
            break;
        };
        (next, rest) = (following, after);
    }
    if next == protocol::FRAGMENT
        && let Some(&following) = rest.first()
    {
        state.write_u8(following);
        return;
    }
    state.write_u8(next);
    hash_ports(next, Some(rest), state);
}

fn hash_ports<H: Hasher>(protocol: u8, transport: Option<&[u8]>, state: &mut H) {
    let has_ports = matches!(
        protocol,
        protocol::TCP | protocol::UDP | protocol::DCCP | protocol::SCTP | protocol::UDP_LITE
    );
    if has_ports && let Some(ports) = transport.and_then(|t| t.first_chunk::<4>()) {
        state.write(ports);
    }
}

/// TCP flags (RFC 9293 §3.1) that decide whether a segment does more than acknowledge: URG, ACK, RST, SYN, FIN.
const TCP_ACTING_FLAGS: u8 = 0x37;
const TCP_ACK: u8 = 0x10;
const TCP_HEADER_BYTES: usize = 20;

/// Whether a packet is a TCP segment that acknowledges and does nothing else: no payload, no SYN, FIN, RST or urgent data.
///
/// Fragments and packets with IPv6 extension headers are not looked into.
#[must_use]
pub fn is_pure_ack(bytes: &[u8]) -> bool {
    let Ok(info) = IpInfo::parse(bytes) else {
        return false;
    };
    let whole_tcp = if info.version == 4 {
        bytes[9] == protocol::TCP && u16::from_be_bytes([bytes[6], bytes[7]]) & 0x3fff == 0
    } else {
        bytes[6] == protocol::TCP
    };
    let header = if info.version == 4 {
        ipv4_header_bytes(bytes[0])
    } else {
        IPV6_HEADER_BYTES
    };
    let segment = bytes.get(header..info.bytes as usize).filter(|_| whole_tcp);
    segment.is_some_and(|tcp| {
        tcp.len() >= TCP_HEADER_BYTES
            && usize::from(tcp[12] >> 4) * 4 == tcp.len()
            && tcp[13] & TCP_ACTING_FLAGS == TCP_ACK
    })
}

/// Marks a packet Congestion Experienced if its ECN field says that the transport takes part; tells whether it is marked now.
///
/// The header checksum of IPv4 is brought up to date (RFC 1624).
pub fn mark_ce(packet: &mut [u8]) -> bool {
    match packet {
        [first, class, rest @ ..] if *first >> 4 == 4 && rest.len() >= IPV4_HEADER_BYTES - 2 => {
            let old = u16::from_be_bytes([*first, *class]);
            if *class & ECN == 0 {
                return false;
            }
            *class |= ECN;
            let new = u16::from_be_bytes([*first, *class]);
            // The checksum is the eleventh and twelfth byte of the header.
            let checksum = updated_checksum(u16::from_be_bytes([rest[8], rest[9]]), old, new);
            rest[8..10].copy_from_slice(&checksum.to_be_bytes());
            true
        }
        [first, second, rest @ ..] if *first >> 4 == 6 && rest.len() >= IPV6_HEADER_BYTES - 2 => {
            // The ECN field is the low half of the traffic class: bits 4 and 5 of the second byte.
            let capable = *second & (ECN << 4) != 0;
            if capable {
                *second |= ECN << 4;
            }
            capable
        }
        _ => false,
    }
}

/// The ones'-complement checksum after a 16-bit word changed (RFC 1624 eq. 3).
fn updated_checksum(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    // Three 16-bit numbers: two foldings bring any carry back.
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests;
