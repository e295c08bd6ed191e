//! Checksums that a local sender has left to the device.
//!
//! A sender on the same machine (a container behind a veth pair, a virtual machine) puts only the
//! sum of the pseudo-header into the checksum field, and a mark on the packet (`CHECKSUM_PARTIAL`)
//! that the device must complete it. XDP sees the bytes but not the mark.

use super::checksum::Sum;
use super::packet::{TCP, UDP};

/// Completes the TCP or UDP checksum of an Ethernet frame, behind up to two VLAN tags, if the field
/// holds the sum of the pseudo-header. Returns whether it did.
///
/// One in 65,536 complete checksums equals that sum by chance. Computing it again yields the same
/// bytes, unless the packet was damaged on its way.
pub fn complete_checksum(frame: &mut [u8]) -> bool {
    let Some(start) = network_header(frame) else {
        return false;
    };
    let packet = &mut frame[start..];
    let Some(transport) = Transport::of(packet) else {
        return false;
    };
    let field = transport.start + transport.checksum_offset();
    let Some(&[high, low]) = packet.get(field..field + 2) else {
        return false;
    };
    // At most 65,535 bytes follow an IP header.
    let length = (transport.end - transport.start) as u16;
    let pseudo = Sum::pseudo_header(&packet[transport.addresses()], transport.protocol, length);
    if pseudo.partial() != [high, low] {
        return false;
    }
    // The field itself has the sum of the pseudo-header, so the sum of the bytes includes it.
    let sum = Sum::default()
        .bytes(&packet[transport.start..transport.end])
        .finish();
    // RFC 768: a zero would mean that there is no checksum.
    let sum = if sum == [0, 0] { [0xff, 0xff] } else { sum };
    packet[field..field + 2].copy_from_slice(&sum);
    true
}

/// Returns where the IP header of an Ethernet frame begins; `None` for a frame of another protocol.
fn network_header(frame: &[u8]) -> Option<usize> {
    let mut at = 12;
    loop {
        match u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]) {
            0x0800 | 0x86dd => return Some(at + 2),
            // VLAN tags (IEEE 802.1Q, 802.1ad): two at most.
            0x8100 | 0x88a8 if at < 20 => at += 4,
            _ => return None,
        }
    }
}

/// Where a TCP or UDP header is in an IP packet.
struct Transport {
    v4: bool,
    protocol: u8,
    start: usize,
    /// Where the packet ends: a short frame is padded behind it.
    end: usize,
}

impl Transport {
    /// Finds the transport header of an unfragmented packet. A sender completes the checksum before
    /// it cuts a packet into fragments, and does not leave it to the device behind extension
    /// headers that it has not written itself, so those packets need nothing.
    fn of(packet: &[u8]) -> Option<Self> {
        let (v4, protocol, start, end) = match packet.first()? >> 4 {
            4 if packet.len() >= 20 => {
                let fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff;
                if fragment != 0 {
                    return None;
                }
                let total = u16::from_be_bytes([packet[2], packet[3]]);
                let header = usize::from(packet[0] & 15) * 4;
                (true, packet[9], header, usize::from(total))
            }
            6 if packet.len() >= 40 => {
                let payload = u16::from_be_bytes([packet[4], packet[5]]);
                (false, packet[6], 40, 40 + usize::from(payload))
            }
            _ => return None,
        };
        let header_bytes = match protocol {
            TCP => 20,
            UDP => 8,
            _ => return None,
        };
        let fits = start >= 20 && start + header_bytes <= end && end <= packet.len();
        fits.then_some(Self {
            v4,
            protocol,
            start,
            end,
        })
    }

    const fn addresses(&self) -> core::ops::Range<usize> {
        if self.v4 { 12..20 } else { 8..40 }
    }

    const fn checksum_offset(&self) -> usize {
        if self.protocol == TCP { 16 } else { 6 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            start in 0_usize..3,
            mut bytes in proptest::collection::vec(any::<u8>(), 0..120),
        ) {
            // A frame with tags, then anything: its lengths mostly contradict the bytes.
            for (to, from) in bytes.iter_mut().zip(frame(start, &[])).take(24) {
                *to = from;
            }
            let length = bytes.len();
            complete_checksum(&mut bytes);
            prop_assert_eq!(bytes.len(), length);
        }
    }

    /// A UDP datagram over IPv4 in an Ethernet frame with `tags` VLAN tags, its checksum left to
    /// the device.
    fn frame(tags: usize, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        for _ in 0..tags {
            frame.extend([0x81, 0, 0, 7]);
        }
        let total = 28 + payload.len() as u16;
        frame.extend([8, 0, 0x45, 0]);
        frame.extend(total.to_be_bytes());
        frame.extend([0, 1, 0x40, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x13, 0x88, 0x13, 0x89]);
        frame.extend((total - 20).to_be_bytes());
        let pseudo = Sum::pseudo_header(&[10, 0, 0, 1, 10, 0, 0, 2], UDP, total - 20);
        frame.extend(pseudo.partial());
        frame.extend(payload);
        frame
    }

    /// Returns whether the UDP checksum of the frame is correct.
    fn is_correct(frame: &[u8], tags: usize) -> bool {
        let ip = 14 + 4 * tags;
        let length = u16::from_be_bytes([frame[ip + 24], frame[ip + 25]]);
        Sum::pseudo_header(&frame[ip + 12..ip + 20], UDP, length)
            .bytes(&frame[ip + 20..ip + 20 + usize::from(length)])
            .is_valid()
    }

    #[test]
    fn a_checksum_left_to_the_device_is_completed_behind_tags_and_before_padding() {
        for tags in 0..=2 {
            let mut frame = frame(tags, b"abc");
            frame.resize(64, 0x55);
            assert!(!is_correct(&frame, tags));
            assert!(complete_checksum(&mut frame));
            assert!(is_correct(&frame, tags), "{tags} tags");
        }
    }

    #[test]
    fn complete_and_absent_and_unknown_checksums_stay() {
        let mut complete = frame(0, b"abcd");
        complete_checksum(&mut complete);
        let mut absent = frame(0, b"abcd");
        absent[40..42].fill(0);
        let mut fragment = frame(0, b"abcd");
        fragment[20] = 0x20;
        let mut arp = frame(0, b"abcd");
        arp[13] = 6;
        let mut cut = frame(0, b"abcd");
        cut.truncate(41);
        for mut bytes in [complete, absent, fragment, arp, cut, vec![0; 13]] {
            let before = bytes.clone();
            assert!(!complete_checksum(&mut bytes));
            assert_eq!(bytes, before);
        }
    }

    #[test]
    fn a_sum_of_zero_is_written_as_its_other_form() {
        // The payload is chosen so that the complete checksum is zero.
        let mut zero = frame(0, &[0, 0]);
        complete_checksum(&mut zero);
        let payload = [zero[40], zero[41]];
        let mut zero = frame(0, &payload);
        assert!(complete_checksum(&mut zero));
        assert_eq!(zero[40..42], [0xff, 0xff]);
        assert!(is_correct(&zero, 0));
    }
}
