//! Reads and builds control messages (`cmsg(3)`) as plain bytes.

use crate::packet::VlanTag;
use core::time::Duration;

/// Room for the control messages of one datagram; timestamp, traffic class and segment size need
/// less than 100 bytes.
pub(crate) const CONTROL_BYTES: usize = 256;

/// A buffer for control messages, aligned as `struct cmsghdr` must be.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(crate) struct Control(pub(crate) [u8; CONTROL_BYTES]);

impl Control {
    pub(crate) const fn new() -> Self {
        Self([0; CONTROL_BYTES])
    }
}

/// Size of `struct cmsghdr`: length (`size_t`), level and type (`int`).
const HEADER: usize = size_of::<usize>() + 8;
/// Alignment of control messages.
const ALIGN: usize = size_of::<usize>();

/// What a control message is about: `cmsg_level` and `cmsg_type`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kind {
    pub(crate) level: libc::c_int,
    pub(crate) kind: libc::c_int,
}

impl Kind {
    /// Size of the segments that a UDP message is to be cut into.
    pub(crate) const UDP_SEGMENT: Self = Self::new(libc::SOL_UDP, libc::UDP_SEGMENT);
    /// Size of the datagrams that the kernel has joined into one message.
    const UDP_GRO: Self = Self::new(libc::SOL_UDP, libc::UDP_GRO);
    /// Traffic class of IPv4.
    pub(crate) const IPV4_CLASS: Self = Self::new(libc::IPPROTO_IP, libc::IP_TOS);
    /// Traffic class of IPv6.
    pub(crate) const IPV6_CLASS: Self = Self::new(libc::IPPROTO_IPV6, libc::IPV6_TCLASS);
    /// What a packet socket says about a frame (`struct tpacket_auxdata`).
    const PACKET: Self = Self::new(libc::SOL_PACKET, PACKET_AUXDATA);
    /// Arrival by the wall clock.
    const TIMESTAMP: Self = Self::new(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS);

    const fn new(level: libc::c_int, kind: libc::c_int) -> Self {
        Self { level, kind }
    }
}

/// What the control messages of a datagram say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Metadata {
    /// Arrival by the wall clock, as time since the Unix epoch.
    pub(crate) stamp: Option<Duration>,
    pub(crate) traffic_class: u8,
    /// Size in bytes of the datagrams that the kernel has joined.
    pub(crate) segment: Option<u16>,
    /// The VLAN tag that the kernel has taken out of a frame.
    pub(crate) vlan: Option<VlanTag>,
}

/// `PACKET_AUXDATA` of `linux/if_packet.h`.
pub(crate) const PACKET_AUXDATA: libc::c_int = 8;
/// `TP_STATUS_VLAN_VALID` of `linux/if_packet.h`.
const VLAN_VALID: u32 = 1 << 4;

/// Reads the control messages in `bytes`; unknown and malformed ones are skipped.
pub(crate) fn parse(mut bytes: &[u8]) -> Metadata {
    let mut metadata = Metadata::default();
    while bytes.len() >= HEADER {
        let length = usize::from_ne_bytes(array(bytes, 0));
        let kind = Kind {
            level: i32::from_ne_bytes(array(bytes, ALIGN)),
            kind: i32::from_ne_bytes(array(bytes, ALIGN + 4)),
        };
        // A length below the header's or past the end leaves no way to find the next message.
        let Some(value) = bytes.get(HEADER..length) else {
            break;
        };
        apply(&mut metadata, kind, value);
        bytes = bytes
            .get(length.next_multiple_of(ALIGN)..)
            .unwrap_or_default();
    }
    metadata
}

fn apply(metadata: &mut Metadata, kind: Kind, value: &[u8]) {
    match kind {
        // A `struct timespec`.
        Kind::TIMESTAMP if value.len() >= 16 => {
            let seconds = i64::from_ne_bytes(array(value, 0));
            let nanoseconds = i64::from_ne_bytes(array(value, 8));
            // The wall clock is past 1970, and its nanoseconds are below 10^9.
            let stamp = Duration::from_secs(seconds.max(0) as u64)
                + Duration::from_nanos(nanoseconds.max(0) as u64);
            metadata.stamp = Some(stamp);
        }
        // The kernel passes one byte for IPv4, but an int for IPv6.
        Kind::IPV4_CLASS if !value.is_empty() => metadata.traffic_class = value[0],
        Kind::IPV6_CLASS if value.len() >= 4 => {
            // The class is the low byte.
            metadata.traffic_class = i32::from_ne_bytes(array(value, 0)) as u8;
        }
        Kind::UDP_GRO if value.len() >= 4 => {
            metadata.segment = u16::try_from(i32::from_ne_bytes(array(value, 0))).ok();
        }
        Kind::PACKET if value.len() >= 20 => {
            let status = u32::from_ne_bytes(array(value, 0));
            if status & VLAN_VALID != 0 {
                metadata.vlan = Some(VlanTag {
                    control: u16::from_ne_bytes(array(value, 16)),
                    protocol: u16::from_ne_bytes(array(value, 18)),
                });
            }
        }
        _ => {}
    }
}

/// Returns the `N` bytes at `at`; the caller has checked that `bytes` is long enough.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

/// Appends a control message at `at` and returns the new length. The few messages that are sent
/// always fit.
pub(crate) fn push(control: &mut Control, at: usize, kind: Kind, value: &[u8]) -> usize {
    let length = HEADER + value.len();
    control.0[at..at + ALIGN].copy_from_slice(&length.to_ne_bytes());
    control.0[at + ALIGN..at + ALIGN + 4].copy_from_slice(&kind.level.to_ne_bytes());
    control.0[at + ALIGN + 4..at + HEADER].copy_from_slice(&kind.kind.to_ne_bytes());
    control.0[at + HEADER..at + length].copy_from_slice(value);
    at + length.next_multiple_of(ALIGN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_messages_that_were_built_can_be_read() {
        let mut control = Control::new();
        let n = push(&mut control, 0, Kind::UDP_GRO, &1200_i32.to_ne_bytes());
        let n = push(&mut control, n, Kind::IPV4_CLASS, &[3]);
        assert_eq!(
            parse(&control.0[..n]),
            Metadata {
                stamp: None,
                traffic_class: 3,
                segment: Some(1200),
                vlan: None,
            }
        );
    }

    #[test]
    fn malformed_control_messages_are_skipped() {
        for fill in [0, 1, 15, 16, 17, 0xff] {
            let _ = parse(&[fill; 64]);
        }
        let mut control = Control::new();
        let n = push(&mut control, 0, Kind::TIMESTAMP, &[1; 3]);
        assert_eq!(parse(&control.0[..n]), Metadata::default());
    }
}
