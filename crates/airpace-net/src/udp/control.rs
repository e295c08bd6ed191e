//! Control messages (`cmsg(3)`), read and built as plain bytes.

use core::time::Duration;

/// Room for the control messages of one datagram; stamps, class and segment size need under 100 bytes.
pub(crate) const CONTROL_BYTES: usize = 256;

/// A buffer aligned as the kernel wants it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(crate) struct Control(pub(crate) [u8; CONTROL_BYTES]);

impl Control {
    pub(crate) const fn new() -> Self {
        Self([0; CONTROL_BYTES])
    }
}

/// Size of `struct cmsghdr`: length (size_t), level, type.
const HEADER: usize = size_of::<usize>() + 8;
const ALIGN: usize = size_of::<usize>();

/// What the kernel said of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) stamp: Option<Duration>,
    pub(crate) traffic_class: u8,
    pub(crate) segment: Option<u16>,
}

/// Reads the control messages in `bytes`.
pub(crate) fn parse(mut bytes: &[u8]) -> Facts {
    let mut facts = Facts::default();
    while bytes.len() >= HEADER {
        let length = usize::from_ne_bytes(array(bytes, 0));
        let (level, kind) = (
            i32::from_ne_bytes(array(bytes, ALIGN)),
            i32::from_ne_bytes(array(bytes, ALIGN + 4)),
        );
        let Some(value) = bytes.get(HEADER..length) else {
            break;
        };
        apply(&mut facts, (level, kind), value);
        bytes = bytes
            .get(length.next_multiple_of(ALIGN)..)
            .unwrap_or_default();
    }
    facts
}

fn apply(facts: &mut Facts, kind: (i32, i32), value: &[u8]) {
    match kind {
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if value.len() >= 16 => {
            let (s, ns) = (
                i64::from_ne_bytes(array(value, 0)),
                i64::from_ne_bytes(array(value, 8)),
            );
            // The wall clock is past 1970 and its nanoseconds are below 10^9.
            facts.stamp =
                Some(Duration::from_secs(s.max(0) as u64) + Duration::from_nanos(ns.max(0) as u64));
        }
        (libc::IPPROTO_IP, libc::IP_TOS) if !value.is_empty() => facts.traffic_class = value[0],
        (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) if value.len() >= 4 => {
            // The class is the low byte of an int.
            facts.traffic_class = i32::from_ne_bytes(array(value, 0)) as u8;
        }
        (libc::SOL_UDP, libc::UDP_GRO) if value.len() >= 4 => {
            facts.segment = u16::try_from(i32::from_ne_bytes(array(value, 0))).ok();
        }
        _ => {}
    }
}

/// The `N` bytes at `at`, which the caller has checked to be there.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

/// Appends a control message; returns the new length. The few that are sent fit by construction.
pub(crate) fn push(control: &mut Control, at: usize, kind: (i32, i32), value: &[u8]) -> usize {
    let length = HEADER + value.len();
    control.0[at..at + ALIGN].copy_from_slice(&length.to_ne_bytes());
    control.0[at + ALIGN..at + ALIGN + 4].copy_from_slice(&kind.0.to_ne_bytes());
    control.0[at + ALIGN + 4..at + HEADER].copy_from_slice(&kind.1.to_ne_bytes());
    control.0[at + HEADER..at + length].copy_from_slice(value);
    at + length.next_multiple_of(ALIGN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_messages_read_back() {
        let mut control = Control::new();
        let mut n = push(
            &mut control,
            0,
            (libc::SOL_UDP, libc::UDP_GRO),
            &1200_i32.to_ne_bytes(),
        );
        n = push(&mut control, n, (libc::IPPROTO_IP, libc::IP_TOS), &[3]);
        let facts = parse(&control.0[..n]);
        assert_eq!(
            facts,
            Facts {
                stamp: None,
                traffic_class: 3,
                segment: Some(1200)
            }
        );
    }

    #[test]
    fn malformed_control_messages_are_skipped() {
        for fill in [0, 1, 15, 16, 17, 0xff] {
            let _ = parse(&[fill; 64]);
        }
        let mut control = Control::new();
        let n = push(
            &mut control,
            0,
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS),
            &[1; 3],
        );
        assert_eq!(parse(&control.0[..n]), Facts::default());
    }
}
