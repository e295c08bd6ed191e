//! The largest segment that a host announces, lowered on the way to what the path takes.

use super::{FIXED, flag, option};
use crate::wire::ip;

/// Length of the option that announces the largest segment (RFC 9293 §3.7.1).
const OPTION_BYTES: u8 = 4;
/// IP and TCP headers without options, which a segment's size leaves out.
const IPV4_HEADERS: u16 = 20 + 20;
const IPV6_HEADERS: u16 = 40 + 20;
/// Least size that is announced, whatever the path: that of the least MTU of IPv4, 68 bytes, has no
/// use, and Linux refuses less than 48.
const LEAST: u16 = 48;

/// Lowers the largest segment that a SYN announces to what fits IP packets of `packet_bytes`, and
/// updates the TCP checksum (RFC 1624). Returns whether it did.
///
/// Anything but a SYN is left alone, as are fragments, packets with IPv6 extension headers, and SYNs
/// without the option.
pub fn clamp_mss(packet: &mut [u8], packet_bytes: u16) -> bool {
    let Some(segment) = ip::tcp_segment(packet) else {
        return false;
    };
    let Some(place) = mss_option(segment) else {
        return false;
    };
    let segment_at = segment.as_ptr() as usize - packet.as_ptr() as usize;
    let headers = if packet[0] >> 4 == 4 {
        IPV4_HEADERS
    } else {
        IPV6_HEADERS
    };
    let limit = packet_bytes.saturating_sub(headers).max(LEAST);
    let segment = &mut packet[segment_at..];
    let announced = u16::from_be_bytes([segment[place], segment[place + 1]]);
    if announced <= limit {
        return false;
    }
    segment[place..place + 2].copy_from_slice(&limit.to_be_bytes());
    let (mut old, mut new) = (announced, limit);
    if place % 2 == 1 {
        // The checksum's words are not aligned with the number. Swapped bytes add up to a swapped
        // sum (RFC 1071, section 2).
        (old, new) = (old.swap_bytes(), new.swap_bytes());
    }
    let checksum = u16::from_be_bytes([segment[16], segment[17]]);
    let checksum = ip::updated_checksum(checksum, old, new);
    segment[16..18].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// Where a SYN announces the largest segment, from the beginning of the TCP header.
fn mss_option(segment: &[u8]) -> Option<usize> {
    let header = segment.first_chunk::<FIXED>()?;
    let flags = u16::from_be_bytes([header[12], header[13]]);
    if flags & flag::SYN == 0 {
        return None;
    }
    let end = usize::from(header[12] >> 4) * 4;
    let options = segment.get(..end)?;
    let mut at = FIXED;
    while at < end {
        match options[at] {
            option::END => return None,
            option::NO_OPERATION => at += 1,
            kind => {
                let length = *options.get(at + 1)?;
                if kind == option::LARGEST_SEGMENT {
                    let is_whole = length == OPTION_BYTES && at + usize::from(length) <= end;
                    return is_whole.then_some(at + 2);
                }
                // An option has at least its kind and length; less would end nowhere.
                at += usize::from(length.max(2));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The ones'-complement sum of a TCP segment and its pseudo-header: 0xffff if the checksum is
    /// right.
    fn sum(packet: &[u8]) -> u16 {
        let (addresses, segment) = if packet[0] >> 4 == 4 {
            (&packet[12..20], &packet[20..])
        } else {
            (&packet[8..40], &packet[40..])
        };
        let mut sum = 6 + segment.len() as u32;
        for bytes in [addresses, segment] {
            for word in bytes.chunks(2) {
                let low = word.get(1).copied().unwrap_or(0);
                sum += u32::from(u16::from_be_bytes([word[0], low]));
            }
        }
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// A SYN with these options and a right checksum.
    fn syn(is_ipv4: bool, flags: u8, options: &[u8]) -> Vec<u8> {
        assert_eq!(options.len() % 4, 0);
        let segment_bytes = (FIXED + options.len()) as u16;
        let mut packet = if is_ipv4 {
            let total = (20 + segment_bytes).to_be_bytes();
            let mut header = vec![0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, 6, 0, 0];
            header.extend_from_slice(&[10, 0, 0, 1, 10, 0, 0, 7]);
            header
        } else {
            let length = segment_bytes.to_be_bytes();
            let mut header = vec![0x60, 0, 0, 0, length[0], length[1], 6, 64];
            header.extend_from_slice(&[0xfd; 32]);
            header
        };
        let at = packet.len();
        let offset = (segment_bytes / 4) as u8;
        packet.extend_from_slice(&[1, 2, 3, 4, 0, 0, 0, 9, 0, 0, 0, 0, offset << 4, flags, 5, 6]);
        packet.extend_from_slice(&[0; 4]);
        packet.extend_from_slice(options);
        let checksum = !sum(&packet);
        packet[at + 16..at + 18].copy_from_slice(&checksum.to_be_bytes());
        packet
    }

    #[test]
    fn a_syn_announces_no_more_than_the_path_takes() {
        // MSS 1380 alone, and behind padding at an odd place.
        for options in [&[2, 4, 5, 100][..], &[1, 2, 4, 5, 100, 1, 1, 0]] {
            for (is_ipv4, expected) in [(true, 1_192_u16), (false, 1_172)] {
                for flags in [2, 0x12] {
                    let mut packet = syn(is_ipv4, flags, options);
                    assert_eq!(sum(&packet), 0xffff);
                    assert!(clamp_mss(&mut packet, 1_232));
                    assert_eq!(sum(&packet), 0xffff, "{options:?}");
                    let found = packet
                        .windows(4)
                        .any(|bytes| bytes[..2] == [2, 4] && bytes[2..] == expected.to_be_bytes());
                    assert!(found, "{packet:?}");
                    assert!(!clamp_mss(&mut packet, 1_232), "it is low enough now");
                }
            }
        }
    }

    #[test]
    fn other_packets_are_left_alone() {
        let options = [2, 4, 5, 100];
        let mut data = syn(true, 0x10, &options);
        let mut fragment = syn(true, 2, &options);
        fragment[6] = 0x20;
        let mut small = syn(true, 2, &[2, 4, 1, 0]);
        let mut without = syn(true, 2, &[1, 1, 1, 0]);
        let mut cut = syn(true, 2, &[1, 1, 2, 4]);
        for packet in [&mut data, &mut fragment, &mut small, &mut without, &mut cut] {
            let before = packet.clone();
            assert!(!clamp_mss(packet, 1_232));
            assert_eq!(*packet, before);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_and_options_are_survived(
            mut bytes: Vec<u8>,
            options in proptest::collection::vec(any::<u8>(), 0..10),
            limit: u16,
        ) {
            clamp_mss(&mut bytes, limit);
            let options: Vec<u8> = options.into_iter().flat_map(|byte| [byte, byte, 4, 2]).collect();
            let mut packet = syn(true, 2, &options);
            clamp_mss(&mut packet, limit);
            prop_assert_eq!(sum(&packet), 0xffff);
        }
    }
}
