//! Pure TCP acknowledgements in IP packets (RFC 9293): what an acknowledgement says, and whether two
//! belong to the same connection. Also the size of segments, which is lowered to what a path takes.
//!
//! ```
//! use airpace_core::wire::tcp::PureAck;
//!
//! // 10.0.0.7:5001 acknowledges byte 1000 to 10.0.0.1:443 and offers a window of 512 units.
//! let packet = [
//!     0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 7, 10, 0, 0, 1, // IPv4
//!     0x13, 0x89, 0x01, 0xbb, 0, 0, 0, 0, 0, 0, 0x03, 0xe8, // ports, sequence, acknowledgement
//!     0x50, 0x10, 0x02, 0, 0, 0, 0, 0, // offset and flags, window, checksum, urgent pointer
//! ];
//! let ack = PureAck::parse(&packet).expect("no payload, no flag but ACK");
//! assert_eq!((ack.number, ack.window, ack.is_plain), (1000, 512, true));
//! ```

mod mss;

pub use mss::clamp_mss;

use super::ip;

/// Length of a TCP header without options (RFC 9293 §3.1).
const FIXED: usize = 20;

/// Bits of bytes 12 and 13 of the header, read as one big-endian number (RFC 9293 §3.1, RFC 9768
/// §3.1 for AE).
mod flag {
    pub(super) const RESERVED: u16 = 0x0e00;
    pub(super) const AE: u16 = 0x0100;
    pub(super) const CWR: u16 = 0x0080;
    pub(super) const ECE: u16 = 0x0040;
    pub(super) const URG: u16 = 0x0020;
    pub(super) const ACK: u16 = 0x0010;
    pub(super) const PSH: u16 = 0x0008;
    pub(super) const RST: u16 = 0x0004;
    pub(super) const SYN: u16 = 0x0002;
    pub(super) const FIN: u16 = 0x0001;
    /// Flags that make a segment do more than acknowledge.
    pub(super) const ACTING: u16 = URG | RST | SYN | FIN;
    /// Feedback of ECN: AE, CWR and ECE, which with accurate ECN are one counter.
    pub(super) const ECN: u16 = AE | CWR | ECE;
}

/// Kinds of TCP options (IANA "TCP Option Kind Numbers").
mod option {
    pub(super) const END: u8 = 0;
    pub(super) const NO_OPERATION: u8 = 1;
    pub(super) const LARGEST_SEGMENT: u8 = 2;
    pub(super) const TIMESTAMPS: u8 = 8;
}

/// A TCP segment that only acknowledges: no payload, SYN, FIN, RST or urgent data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PureAck {
    /// The acknowledgement number: every byte before it has arrived.
    pub number: u32,
    /// The window field, unscaled.
    pub window: u32,
    /// The flags AE, CWR and ECE, from the highest bit to the lowest of 0 to 7: the echo of
    /// congestion (RFC 3168) or the counter of accurate ECN (RFC 9768).
    pub ecn: u8,
    /// The timestamps option, if present.
    pub timestamps: Option<Timestamps>,
    /// Whether that is all it says: no selective acknowledgements, no other option, and neither PSH
    /// nor a reserved flag.
    pub is_plain: bool,
}

/// The timestamps option (RFC 7323 §3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timestamps {
    /// The clock of the host that acknowledges (`TSval`).
    pub value: u32,
    /// The timestamp that it returns (`TSecr`).
    pub echo: u32,
}

impl PureAck {
    /// Reads the acknowledgement in the IP packet at the start of `bytes`.
    ///
    /// Returns `None` for anything else, for fragments, and for packets with IPv6 extension headers.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let segment = ip::tcp_segment(bytes)?;
        let header = segment.first_chunk::<FIXED>()?;
        // The data offset counts words of four bytes; nothing may follow the header.
        if usize::from(header[12] >> 4) * 4 != segment.len() {
            return None;
        }
        let flags = u16::from_be_bytes([header[12], header[13]]);
        if flags & (flag::ACTING | flag::ACK) != flag::ACK {
            return None;
        }
        let options = read_options(&segment[FIXED..]);
        Some(Self {
            number: u32::from_be_bytes([header[8], header[9], header[10], header[11]]),
            window: u32::from(u16::from_be_bytes([header[14], header[15]])),
            // Three bits remain.
            ecn: ((flags & flag::ECN) >> 6) as u8,
            timestamps: options.timestamps,
            is_plain: !options.has_others && flags & (flag::PSH | flag::RESERVED) == 0,
        })
    }
}

/// What the options of an acknowledgement hold.
#[derive(Default)]
struct Options {
    timestamps: Option<Timestamps>,
    /// Whether there are options other than timestamps, or malformed ones.
    has_others: bool,
}

fn read_options(mut rest: &[u8]) -> Options {
    let mut options = Options::default();
    while let Some((&kind, after)) = rest.split_first() {
        match kind {
            option::END => break,
            option::NO_OPERATION => rest = after,
            option::TIMESTAMPS if options.timestamps.is_none() => {
                let Some((&[10, v0, v1, v2, v3, e0, e1, e2, e3], after)) =
                    after.split_first_chunk()
                else {
                    options.has_others = true;
                    break;
                };
                options.timestamps = Some(Timestamps {
                    value: u32::from_be_bytes([v0, v1, v2, v3]),
                    echo: u32::from_be_bytes([e0, e1, e2, e3]),
                });
                rest = after;
            }
            // What the others say is not read, so their lengths do not matter.
            _ => {
                options.has_others = true;
                break;
            }
        }
    }
    options
}

/// Whether two IP packets are TCP segments in the same direction of the same connection: equal
/// addresses and ports.
///
/// Returns false for fragments and for packets with IPv6 extension headers.
#[must_use]
pub fn is_same_flow(one: &[u8], other: &[u8]) -> bool {
    match (endpoints(one), endpoints(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// The bytes of both addresses, and those of both ports. Addresses of the two IP versions differ in
/// length, so they are never equal.
fn endpoints(bytes: &[u8]) -> Option<(&[u8], &[u8; 4])> {
    let ports = ip::tcp_segment(bytes)?.first_chunk()?;
    Some((ip::addresses(bytes)?, ports))
}

#[cfg(test)]
mod tests;
