//! IPv4 and IPv6 packets (RFC 791, RFC 8200): length, addresses, flow, differentiated services, ECN
//! (RFC 3168).
//!
//! A live buffer implements [`Packet`](crate::packet::Packet) with [`IpInfo::parse`] on arrival,
//! [`IpInfo::category`], [`hash_flow`], [`ecn`] and [`mark_ce`]. Routing uses [`source`] and
//! [`destination`].
//!
//! ```
//! use airpace_core::phy::AccessCategory;
//! use airpace_core::wire::ip;
//! use core::net::{IpAddr, Ipv4Addr};
//!
//! // UDP without payload, expedited forwarding, from 10.0.0.1 to 10.0.0.7.
//! let packet = [
//!     0x45, 46 << 2, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 7, // IPv4
//!     0x13, 0x88, 0, 9, 0, 8, 0, 0, // UDP
//! ];
//! let info = ip::IpInfo::parse(&packet)?;
//! assert_eq!((info.bytes, info.category()), (ip::IPV4_UDP_HEADER_BYTES, AccessCategory::Voice));
//! assert_eq!(ip::destination(&packet), Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7))));
//! # Ok::<(), ip::IpError>(())
//! ```

use crate::packet::Ecn;
use crate::phy::AccessCategory;
use core::hash::Hasher;
use core::net::IpAddr;
use thiserror::Error;

/// Length of an IPv4 header without options (RFC 791 §3.1).
pub const IPV4_HEADER_BYTES: u32 = 20;
/// Length of the fixed IPv6 header (RFC 8200 §3).
pub const IPV6_HEADER_BYTES: u32 = 40;
/// Length of a UDP header (RFC 768).
pub const UDP_HEADER_BYTES: u32 = 8;
/// Bytes that IPv4 and UDP add to a payload: a packet of 1470 bytes of payload has 1498.
pub const IPV4_UDP_HEADER_BYTES: u32 = IPV4_HEADER_BYTES + UDP_HEADER_BYTES;

// The same as lengths of slices.
const IPV4_FIXED: usize = IPV4_HEADER_BYTES as usize;
const IPV6_FIXED: usize = IPV6_HEADER_BYTES as usize;
/// IPv6 extension headers that [`hash_flow`] skips before it gives up looking for ports.
const MAX_EXTENSIONS: usize = 8;
/// Mask of the ECN field in the traffic class: 00 not ECN-capable, 11 Congestion Experienced (RFC
/// 3168 §5).
const ECN: u8 = 0x03;
/// Mask of the more-fragments flag and the fragment offset in bytes 6 and 7 of an IPv4 header: zero
/// in a whole packet.
const IPV4_FRAGMENT: u16 = 0x3fff;

/// IP protocol numbers (IANA "Assigned Internet Protocol Numbers").
pub(super) mod protocol {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(in crate::wire) const TCP: u8 = 6;
    pub(in crate::wire) const UDP: u8 = 17;
    pub(super) const DCCP: u8 = 33;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const DESTINATION_OPTIONS: u8 = 60;
    pub(super) const SCTP: u8 = 132;
    pub(super) const UDP_LITE: u8 = 136;
}

/// Why bytes are not a valid IP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum IpError {
    /// No bytes at all.
    #[error("the packet is empty")]
    Empty,
    /// Neither IPv4 nor IPv6.
    #[error("the IP version is {0}, which is neither 4 nor 6")]
    Version(u8),
    /// The bytes end within the header.
    #[error("the IP header is cut off")]
    Truncated,
    /// The header-length field is smaller than a header or larger than the packet.
    #[error("the IP header claims an impossible header length")]
    HeaderLength,
    /// The total-length field is larger than the number of bytes present, or smaller than the
    /// header.
    #[error("the IP header claims {claimed} bytes, but {present} are present")]
    Length {
        /// Length in the header.
        claimed: u32,
        /// Length of the slice.
        present: u32,
    },
}

/// The fields of a valid IP header that queues and the MAC use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpInfo {
    /// 4 or 6.
    pub version: u8,
    /// Length of the packet in bytes, header included. Bytes beyond it are padding of the link
    /// layer.
    pub bytes: u32,
    /// Differentiated-services code point, 0 to 63.
    pub dscp: u8,
    /// ECN field: 0 not ECN-capable, 1 and 2 capable, 3 Congestion Experienced.
    pub ecn: u8,
}

impl IpInfo {
    /// The access category for the code point: see [`category`].
    #[must_use]
    pub const fn category(&self) -> AccessCategory {
        category(self.dscp)
    }

    /// Reads and checks the header of the packet at the start of `bytes`.
    ///
    /// # Errors
    /// If the bytes do not hold a whole IP packet. The IPv4 checksum is not verified: the kernel
    /// does that.
    pub fn parse(bytes: &[u8]) -> Result<Self, IpError> {
        let first = *bytes.first().ok_or(IpError::Empty)?;
        let header = match first >> 4 {
            4 => ipv4_header(bytes)?,
            6 => ipv6_header(bytes)?,
            version => return Err(IpError::Version(version)),
        };
        let claimed = header.packet_bytes;
        let present = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        if claimed > present || claimed < header.header_bytes {
            return Err(IpError::Length { claimed, present });
        }
        Ok(Self {
            version: first >> 4,
            bytes: claimed,
            dscp: header.class >> 2,
            ecn: header.class & ECN,
        })
    }
}

/// The access category for a code point (RFC 8325 §4.3, figure 1; RFC 8622 for the lower-effort
/// code point).
///
/// CS6 and CS7 map to best effort, as do unassigned code points. They are for routers' control
/// traffic, which no station sends; honouring them would let any sender claim the highest priority
/// (RFC 8325 §8.2).
#[must_use]
pub const fn category(dscp: u8) -> AccessCategory {
    match dscp {
        // LE and CS1.
        1 | 8 => AccessCategory::Background,
        // CS3, AF3x, CS4, AF4x, CS5.
        24 | 26 | 28 | 30 | 32 | 34 | 36 | 38 | 40 => AccessCategory::Video,
        // VOICE-ADMIT and EF.
        44 | 46 => AccessCategory::Voice,
        _ => AccessCategory::BestEffort,
    }
}

/// What both versions' headers say, before the lengths are checked against the bytes.
struct ClaimedHeader {
    /// Traffic class: code point and ECN field.
    class: u8,
    /// Length of the whole packet.
    packet_bytes: u32,
    /// Length of the header, IPv4 options included.
    header_bytes: u32,
}

fn ipv4_header(bytes: &[u8]) -> Result<ClaimedHeader, IpError> {
    let header = bytes
        .first_chunk::<IPV4_FIXED>()
        .ok_or(IpError::Truncated)?;
    let header_bytes = ipv4_header_bytes(header[0]);
    if header_bytes < IPV4_FIXED || header_bytes > bytes.len() {
        return Err(IpError::HeaderLength);
    }
    Ok(ClaimedHeader {
        class: header[1],
        packet_bytes: u32::from(u16::from_be_bytes([header[2], header[3]])),
        // The field has four bits and counts words, so a header has at most 60 bytes.
        header_bytes: header_bytes as u32,
    })
}

/// Length of an IPv4 header that begins with the byte `first`, options included.
const fn ipv4_header_bytes(first: u8) -> usize {
    ((first & 0x0f) as usize) * 4
}

fn ipv6_header(bytes: &[u8]) -> Result<ClaimedHeader, IpError> {
    let header = bytes
        .first_chunk::<IPV6_FIXED>()
        .ok_or(IpError::Truncated)?;
    let payload_bytes = u32::from(u16::from_be_bytes([header[4], header[5]]));
    Ok(ClaimedHeader {
        class: (header[0] << 4) | (header[1] >> 4),
        packet_bytes: IPV6_HEADER_BYTES + payload_bytes,
        header_bytes: IPV6_HEADER_BYTES,
    })
}

/// The source address of the packet at the start of `bytes`.
///
/// Returns `None` if the version is neither 4 nor 6 or the bytes end before the address. Nothing
/// else is checked.
#[must_use]
pub fn source(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.first()? >> 4 {
        4 => address::<4>(bytes, 12),
        6 => address::<16>(bytes, 8),
        _ => None,
    }
}

/// The destination address of the packet at the start of `bytes`, under the conditions of
/// [`source`].
#[must_use]
pub fn destination(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.first()? >> 4 {
        4 => address::<4>(bytes, 16),
        6 => address::<16>(bytes, 24),
        _ => None,
    }
}

fn address<const LENGTH: usize>(bytes: &[u8], offset: usize) -> Option<IpAddr>
where
    IpAddr: From<[u8; LENGTH]>,
{
    let octets: &[u8; LENGTH] = bytes.get(offset..)?.first_chunk()?;
    Some(IpAddr::from(*octets))
}

/// The bytes of the source and the destination address, under the conditions of [`source`].
pub(super) fn addresses(bytes: &[u8]) -> Option<&[u8]> {
    match bytes.first()? >> 4 {
        4 => bytes.get(12..IPV4_FIXED),
        6 => bytes.get(8..IPV6_FIXED),
        _ => None,
    }
}

/// Feeds the addresses, protocol and ports of an IP packet to `state`.
///
/// The ports of fragments are left out, so that all fragments of a flow meet in one queue. Bytes
/// that are not an IP packet feed nothing: all of them count as one flow.
pub fn hash_flow<H: Hasher>(bytes: &[u8], state: &mut H) {
    match bytes.first().map(|b| b >> 4) {
        Some(4) => hash_ipv4(bytes, state),
        Some(6) => hash_ipv6(bytes, state),
        _ => {}
    }
}

fn hash_ipv4<H: Hasher>(bytes: &[u8], state: &mut H) {
    let Some(header) = bytes.first_chunk::<IPV4_FIXED>() else {
        return;
    };
    state.write(&header[12..20]);
    state.write_u8(header[9]);
    let header_bytes = ipv4_header_bytes(header[0]);
    // Only the first fragment carries ports, so a fragment's ports would split its flow. A header
    // that claims to be shorter than a header would make "ports" of its own first bytes, which an
    // ECN mark changes.
    if is_whole_ipv4(header) && header_bytes >= IPV4_FIXED {
        hash_ports(header[9], bytes.get(header_bytes..), state);
    }
}

fn is_whole_ipv4(header: &[u8; IPV4_FIXED]) -> bool {
    u16::from_be_bytes([header[6], header[7]]) & IPV4_FRAGMENT == 0
}

fn hash_ipv6<H: Hasher>(bytes: &[u8], state: &mut H) {
    let Some(header) = bytes.first_chunk::<IPV6_FIXED>() else {
        return;
    };
    state.write(&header[8..40]);
    let (mut next, mut rest) = (header[6], &bytes[IPV6_FIXED..]);
    for _ in 0..MAX_EXTENSIONS {
        if !matches!(
            next,
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION_OPTIONS
        ) {
            break;
        }
        // The length field counts units of eight bytes beyond the first eight (RFC 8200 §4.3).
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

/// The TCP segment in an unfragmented packet without IPv6 extension headers.
pub(super) fn tcp_segment(bytes: &[u8]) -> Option<&[u8]> {
    let info = IpInfo::parse(bytes).ok()?;
    let (protocol, header_bytes) = if info.version == 4 {
        let header = bytes.first_chunk().filter(|header| is_whole_ipv4(header))?;
        (header[9], ipv4_header_bytes(header[0]))
    } else {
        (bytes[6], IPV6_FIXED)
    };
    if protocol != protocol::TCP {
        return None;
    }
    bytes.get(header_bytes..info.bytes as usize)
}

/// Protocol, length of the IP header and length of the packet as claimed, of an unfragmented packet
/// without IPv6 extension headers. The packet may be cut off after its headers.
pub(super) fn unfragmented(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    match bytes.first()? >> 4 {
        4 => {
            let header = bytes.first_chunk().filter(|header| is_whole_ipv4(header))?;
            let claimed = ipv4_header(bytes).ok()?;
            Some((
                header[9],
                claimed.header_bytes as usize,
                claimed.packet_bytes as usize,
            ))
        }
        6 => {
            let claimed = ipv6_header(bytes).ok()?;
            Some((bytes[6], IPV6_FIXED, claimed.packet_bytes as usize))
        }
        _ => None,
    }
}

/// The traffic class of the packet at the start of `bytes`: six bits of differentiated services and
/// two of ECN, under the conditions of [`source`].
#[must_use]
pub fn traffic_class(bytes: &[u8]) -> Option<u8> {
    let &[first, second, ..] = bytes else {
        return None;
    };
    match first >> 4 {
        4 if bytes.len() >= IPV4_FIXED => Some(second),
        6 if bytes.len() >= IPV6_FIXED => Some((first << 4) | (second >> 4)),
        _ => None,
    }
}

/// The ECN codepoint of the packet at the start of `bytes`; that of a packet without ECN where
/// [`traffic_class`] returns `None`.
#[must_use]
pub fn ecn(bytes: &[u8]) -> Ecn {
    traffic_class(bytes).map_or(Ecn::NotEct, Ecn::from_field)
}

/// Sets Congestion Experienced if the packet's transport is ECN-capable, and returns whether the
/// packet is marked now.
///
/// Updates the IPv4 header checksum (RFC 1624).
pub fn mark_ce(packet: &mut [u8]) -> bool {
    let capable = traffic_class(packet).is_some_and(|class| class & ECN != 0);
    if capable {
        set_ecn(packet, ECN);
    }
    capable
}

/// Sets the ECN field, and updates the IPv4 header checksum (RFC 1624). Does nothing if
/// [`traffic_class`] is `None`.
pub(super) fn set_ecn(packet: &mut [u8], ecn: u8) {
    match packet {
        [first, class, rest @ ..] if *first >> 4 == 4 && rest.len() >= IPV4_FIXED - 2 => {
            let old = u16::from_be_bytes([*first, *class]);
            *class = *class & !ECN | ecn & ECN;
            let new = u16::from_be_bytes([*first, *class]);
            // The checksum is the eleventh and twelfth byte of the header.
            let checksum = updated_checksum(u16::from_be_bytes([rest[8], rest[9]]), old, new);
            rest[8..10].copy_from_slice(&checksum.to_be_bytes());
        }
        [first, second, rest @ ..] if *first >> 4 == 6 && rest.len() >= IPV6_FIXED - 2 => {
            // The ECN field is the low half of the traffic class: bits 4 and 5 of the second byte.
            *second = *second & !(ECN << 4) | (ecn & ECN) << 4;
        }
        _ => {}
    }
}

/// The ones'-complement checksum after one 16-bit word has changed from `old` to `new` (RFC 1624
/// eq. 3).
pub(super) fn updated_checksum(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    // The sum of three 16-bit numbers needs two folds to bring every carry back.
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests;
