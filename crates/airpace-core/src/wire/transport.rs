//! Transport headers as a box on the path reads them: TCP with the options that sensors need (RFC
//! 9293, RFC 7323, RFC 2018) and QUIC's first byte (RFC 8999, RFC 9000 §17).
//!
//! ```
//! use airpace_core::wire::transport::Transport;
//!
//! // A QUIC packet with a short header and the spin bit, in IPv4 and UDP from port 443.
//! let packet = [
//!     0x45, 0, 0, 29, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 7, // IPv4
//!     0x01, 0xbb, 0x13, 0x89, 0, 9, 0, 0, 0x60, // UDP, first byte of QUIC
//! ];
//! let Some(Transport::Udp { quic: Some(quic), .. }) = Transport::parse(&packet) else { panic!() };
//! assert_eq!((quic.is_long, quic.spin), (false, true));
//! ```

use super::ip::{self, protocol};
use super::tcp::Timestamps;
use core::hash::{Hash as _, Hasher};

/// Length of a TCP header without options.
const TCP_FIXED: usize = 20;
/// The port of HTTP/3, to which nearly all QUIC goes.
const QUIC_PORT: u16 = 443;

/// Bits of the flags in the fourteenth byte of a TCP header.
mod flag {
    pub(super) const FIN: u8 = 0x01;
    pub(super) const SYN: u8 = 0x02;
    pub(super) const RST: u8 = 0x04;
    pub(super) const ACK: u8 = 0x10;
}

/// Kinds of TCP options (IANA "TCP Option Kind Numbers").
mod option {
    pub(super) const END: u8 = 0;
    pub(super) const NO_OPERATION: u8 = 1;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
}

/// The transport header of an IP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// TCP.
    Tcp(TcpHeader),
    /// UDP.
    Udp {
        /// Source and destination port.
        ports: (u16, u16),
        /// What the first byte says if this is QUIC, which it may be if one of the ports is 443.
        quic: Option<Quic>,
    },
}

/// The fields of a TCP header that sensors need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpHeader {
    /// Source and destination port.
    pub ports: (u16, u16),
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number, if the segment has one.
    pub acknowledgement: Option<u32>,
    /// Bytes of payload.
    pub payload: u32,
    /// Whether the segment opens, closes or resets the connection.
    pub is_control: bool,
    /// The timestamps option.
    pub timestamps: Option<Timestamps>,
    /// The highest of the selectively acknowledged blocks.
    pub highest_sack: Option<SackBlock>,
}

/// A block of bytes that have arrived beyond a gap (RFC 2018).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SackBlock {
    /// Sequence number of its first byte.
    pub start: u32,
    /// One past that of its last byte.
    pub end: u32,
}

/// What a QUIC packet says in the clear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quic {
    /// Whether the header is long, as in the handshake.
    pub is_long: bool,
    /// The spin bit; false in a long header.
    pub spin: bool,
    /// The fixed bit, which QUIC version 1 always sets unless both ends agreed to set it at random (RFC 9287).
    pub fixed: bool,
    /// IP bytes.
    pub bytes: u32,
}

impl Transport {
    /// Reads the IP packet at the start of `bytes`.
    ///
    /// Returns `None` for other protocols, fragments, packets with IPv6 extension headers, and
    /// headers that are cut off. Of the payload only the first byte of UDP is read, so a capture of
    /// the headers suffices; its length follows from the IP header.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (protocol, header_bytes, packet_bytes) = ip::unfragmented(bytes)?;
        let segment = bytes.get(header_bytes..)?;
        let length = packet_bytes.checked_sub(header_bytes)?;
        let segment = segment.get(..length).unwrap_or(segment);
        match protocol {
            protocol::TCP => TcpHeader::read(segment, length).map(Self::Tcp),
            protocol::UDP => Self::udp(segment, packet_bytes),
            _ => None,
        }
    }

    fn udp(datagram: &[u8], packet_bytes: usize) -> Option<Self> {
        let &[s0, s1, d0, d1, _, _, _, _, ref payload @ ..] = datagram else {
            return None;
        };
        let ports = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
        let is_quic = ports.0 == QUIC_PORT || ports.1 == QUIC_PORT;
        let quic = payload
            .first()
            .filter(|_| is_quic)
            .map(|&first| Quic::of(first, packet_bytes));
        Some(Self::Udp { ports, quic })
    }

    /// Source and destination port.
    #[must_use]
    pub const fn ports(&self) -> (u16, u16) {
        match self {
            Self::Tcp(header) => header.ports,
            Self::Udp { ports, .. } => *ports,
        }
    }
}

/// Feeds what identifies the connection of an IP packet to `state`, the same in both directions:
/// addresses and ports in the order of their values, and the protocol. Returns whether the packet
/// belongs to a connection, under the conditions of [`Transport::parse`].
pub fn hash_connection<H: Hasher>(bytes: &[u8], state: &mut H) -> bool {
    let Some((protocol, header_bytes, _)) = ip::unfragmented(bytes) else {
        return false;
    };
    let ports = bytes.get(header_bytes..).and_then(<[u8]>::first_chunk::<4>);
    let (Some(&[s0, s1, d0, d1]), Some(source), Some(destination)) =
        (ports, ip::source(bytes), ip::destination(bytes))
    else {
        return false;
    };
    if !matches!(protocol, protocol::TCP | protocol::UDP) {
        return false;
    }
    let mut ends = [
        (source, u16::from_be_bytes([s0, s1])),
        (destination, u16::from_be_bytes([d0, d1])),
    ];
    ends.sort_unstable();
    ends.hash(state);
    state.write_u8(protocol);
    true
}

impl TcpHeader {
    /// Reads the segment of `length` bytes of which `segment` is the beginning.
    fn read(segment: &[u8], length: usize) -> Option<Self> {
        let header = segment.first_chunk::<TCP_FIXED>()?;
        let header_bytes = usize::from(header[12] >> 4) * 4;
        let options = segment.get(TCP_FIXED..header_bytes)?;
        let payload = length.checked_sub(header_bytes)?;
        let word = |at: usize| {
            u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (timestamps, highest_sack) = read_options(options);
        let flags = header[13];
        Some(Self {
            ports: (
                u16::from_be_bytes([header[0], header[1]]),
                u16::from_be_bytes([header[2], header[3]]),
            ),
            sequence: word(4),
            acknowledgement: (flags & flag::ACK != 0).then(|| word(8)),
            // An IP packet has at most 65,575 bytes.
            payload: payload as u32,
            is_control: flags & (flag::SYN | flag::FIN | flag::RST) != 0,
            timestamps,
            highest_sack,
        })
    }
}

/// Timestamps and the highest of the selectively acknowledged blocks. A malformed option ends the
/// reading; what was read before it stays.
fn read_options(mut rest: &[u8]) -> (Option<Timestamps>, Option<SackBlock>) {
    let (mut timestamps, mut highest) = (None, None::<SackBlock>);
    while let Some((&kind, after)) = rest.split_first() {
        if kind == option::END {
            break;
        }
        if kind == option::NO_OPERATION {
            rest = after;
            continue;
        }
        let Some((&length, _)) = after.split_first() else {
            break;
        };
        let Some(body) = rest.get(2..usize::from(length)) else {
            break;
        };
        match kind {
            option::TIMESTAMPS => {
                if let &[v0, v1, v2, v3, e0, e1, e2, e3] = body {
                    timestamps = Some(Timestamps {
                        value: u32::from_be_bytes([v0, v1, v2, v3]),
                        echo: u32::from_be_bytes([e0, e1, e2, e3]),
                    });
                }
            }
            option::SACK => {
                for edges in body.as_chunks().0 {
                    let &[s0, s1, s2, s3, e0, e1, e2, e3] = edges;
                    let block = SackBlock {
                        start: u32::from_be_bytes([s0, s1, s2, s3]),
                        end: u32::from_be_bytes([e0, e1, e2, e3]),
                    };
                    let is_higher =
                        |than: SackBlock| block.end.wrapping_sub(than.end).cast_signed() > 0;
                    if highest.is_none_or(is_higher) {
                        highest = Some(block);
                    }
                }
            }
            _ => {}
        }
        rest = &rest[usize::from(length)..];
    }
    (timestamps, highest)
}

impl Quic {
    /// Reads the first byte of a packet of so many IP bytes, at most 65,575.
    const fn of(first: u8, packet_bytes: usize) -> Self {
        const LONG: u8 = 0x80;
        const FIXED: u8 = 0x40;
        const SPIN: u8 = 0x20;
        let is_long = first & LONG != 0;
        Self {
            is_long,
            spin: !is_long && first & SPIN != 0,
            fixed: first & FIXED != 0,
            bytes: packet_bytes as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tcp(options: &[u8], payload: usize) -> Vec<u8> {
        let header = 20 + options.len();
        let total = (20 + header + payload) as u16;
        let mut packet = vec![0x45, 0];
        packet.extend(total.to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 7]);
        packet.extend([0x01, 0xbb, 0x13, 0x89, 0, 0, 0, 5, 0, 0, 0, 9]);
        packet.extend([(header as u8 / 4) << 4, 0x10, 2, 0, 0, 0, 0, 0]);
        packet.extend(options);
        packet.extend(vec![0; payload]);
        packet
    }

    fn read(packet: &[u8]) -> TcpHeader {
        match Transport::parse(packet) {
            Some(Transport::Tcp(header)) => header,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_segment_is_read_from_its_headers_alone() {
        let stamps = [1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4];
        let packet = tcp(&stamps, 1_000);
        for captured in [packet.len(), 52] {
            let header = read(&packet[..captured]);
            assert_eq!((header.ports, header.payload), ((443, 5_001), 1_000));
            assert_eq!((header.sequence, header.acknowledgement), (5, Some(9)));
            assert_eq!(header.timestamps, Some(Timestamps { value: 3, echo: 4 }));
            assert_eq!((header.highest_sack, header.is_control), (None, false));
        }
        assert_eq!(Transport::parse(&packet[..51]), None);
    }

    #[test]
    fn the_highest_block_of_selective_acknowledgements_is_found_across_the_wrap() {
        let mut sack = vec![1, 1, 5, 18];
        for block in [[u32::MAX - 9, u32::MAX], [2, 30]] {
            for edge in block {
                sack.extend(edge.to_be_bytes());
            }
        }
        let highest = SackBlock { start: 2, end: 30 };
        assert_eq!(read(&tcp(&sack, 0)).highest_sack, Some(highest));
    }

    #[test]
    fn both_directions_of_a_connection_have_one_hash() {
        let hash = |packet: &[u8]| {
            let mut hasher = siphasher::sip::SipHasher13::new();
            assert!(hash_connection(packet, &mut hasher));
            hasher.finish()
        };
        let down = tcp(&[], 0);
        let mut up = down.clone();
        up[12..20].copy_from_slice(&[10, 0, 0, 7, 10, 0, 0, 1]);
        up[20..24].copy_from_slice(&[0x13, 0x89, 0x01, 0xbb]);
        assert_eq!(hash(&down), hash(&up));
        up[20] ^= 1;
        assert_ne!(hash(&down), hash(&up));
    }

    #[test]
    fn malformed_options_end_the_reading() {
        for options in [[8, 0, 0, 0], [8, 200, 0, 0], [5, 1, 0, 0], [1, 1, 1, 8]] {
            let header = read(&tcp(&options, 3));
            assert_eq!(
                (header.timestamps, header.highest_sack, header.payload),
                (None, None, 3)
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..120), options in prop::collection::vec(any::<u8>(), 0..10)) {
            let _ = Transport::parse(&bytes);
            let options: Vec<u8> = options.iter().flat_map(|&byte| [byte; 4]).collect();
            let _ = Transport::parse(&tcp(&options, 0));
        }
    }
}
