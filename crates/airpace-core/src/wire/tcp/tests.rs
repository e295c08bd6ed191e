use super::*;
use proptest::prelude::*;

const ACK: u16 = 0x0010;

/// A segment with these flags and options, and `payload` bytes.
fn tcp(flags: u16, options: &[u8], payload: usize) -> Vec<u8> {
    let mut segment = vec![0; 20];
    segment[..4].copy_from_slice(&[0x13, 0x89, 0x01, 0xbb]);
    segment[8..12].copy_from_slice(&[0xff, 0xff, 0xff, 0xf0]);
    let words = u16::try_from((20 + options.len()) / 4).expect("at most 60 bytes");
    segment[12..14].copy_from_slice(&(words << 12 | flags).to_be_bytes());
    segment[14..16].copy_from_slice(&[0x02, 0x01]);
    segment.extend_from_slice(options);
    segment.resize(segment.len() + payload, 0);
    segment
}

fn ipv4(segment: &[u8]) -> Vec<u8> {
    let length = u16::try_from(20 + segment.len())
        .expect("short")
        .to_be_bytes();
    let mut packet = vec![0x45, 0, length[0], length[1], 0, 0, 0x40, 0, 64, 6, 0, 0];
    packet.extend_from_slice(&[10, 0, 0, 7, 192, 168, 7, 9]);
    packet.extend_from_slice(segment);
    packet
}

fn ipv6(segment: &[u8]) -> Vec<u8> {
    let length = u16::try_from(segment.len()).expect("short").to_be_bytes();
    let mut packet = vec![0x60, 0, 0, 0, length[0], length[1], 6, 64];
    packet.extend_from_slice(&[0xfd; 16]);
    packet.extend_from_slice(&[0xfe; 16]);
    packet.extend_from_slice(segment);
    packet
}

/// Two no-operations and the timestamps option, as hosts write it.
const TIMESTAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 1, 2, 0, 0, 3, 4];

#[test]
fn an_acknowledgement_is_read_over_both_versions_of_ip() {
    for packet in [
        ipv4(&tcp(ACK, &TIMESTAMPS, 0)),
        ipv6(&tcp(ACK, &TIMESTAMPS, 0)),
    ] {
        let ack = PureAck::parse(&packet).expect("a pure acknowledgement");
        let timestamps = Timestamps {
            value: 0x102,
            echo: 0x304,
        };
        assert_eq!((ack.number, ack.window, ack.ecn), (0xffff_fff0, 0x0201, 0));
        assert_eq!((ack.timestamps, ack.is_plain), (Some(timestamps), true));
    }
}

#[test]
fn only_acknowledgements_without_payload_are_pure() {
    assert!(PureAck::parse(&ipv4(&tcp(ACK, &[], 1))).is_none());
    // SYN-ACK, FIN-ACK, RST-ACK, ACK with URG, SYN, no flag.
    for flags in [0x12, 0x11, 0x14, 0x30, 0x02, 0x00] {
        assert!(
            PureAck::parse(&ipv4(&tcp(flags, &[], 0))).is_none(),
            "{flags:#x}"
        );
    }
    let mut datagram = ipv4(&tcp(ACK, &[], 0));
    datagram[9] = 17;
    assert!(PureAck::parse(&datagram).is_none());
    let mut fragment = ipv4(&tcp(ACK, &[], 0));
    fragment[6] = 0x20;
    assert!(PureAck::parse(&fragment).is_none());
}

#[test]
fn the_flags_of_ecn_are_one_number() {
    for (flags, ecn) in [(0x040, 1), (0x080, 2), (0x100, 4), (0x1c0, 7)] {
        let ack = PureAck::parse(&ipv4(&tcp(ACK | flags, &[], 0))).expect("pure");
        assert_eq!((ack.ecn, ack.is_plain), (ecn, true), "{flags:#x}");
    }
}

#[test]
fn an_acknowledgement_with_anything_else_is_not_plain() {
    let sack = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 9];
    let accurate_ecn = [172, 5, 0, 0, 1, 1, 1, 1];
    let cut_timestamps = [1, 1, 8, 10, 0, 0, 0, 0];
    let twice = [TIMESTAMPS, TIMESTAMPS].concat();
    let options: [&[u8]; 4] = [&sack, &accurate_ecn, &cut_timestamps, &twice];
    for options in options {
        let ack = PureAck::parse(&ipv4(&tcp(ACK, options, 0))).expect("pure");
        assert!(!ack.is_plain, "{options:?}");
    }
    // PSH means nothing without payload, and hosts do not set it; the reserved flags are for
    // protocols to come.
    for flags in [0x008, 0x200, 0x400, 0x800] {
        let ack = PureAck::parse(&ipv4(&tcp(ACK | flags, &[], 0))).expect("pure");
        assert!(!ack.is_plain, "{flags:#x}");
    }
}

#[test]
fn packets_of_a_flow_have_equal_addresses_and_ports() {
    let first = ipv4(&tcp(ACK, &[], 0));
    let later = ipv4(&tcp(ACK, &TIMESTAMPS, 700));
    assert!(is_same_flow(&first, &later));
    assert!(!is_same_flow(&first, &ipv6(&tcp(ACK, &[], 0))));
    for byte in [12, 19, 20, 23] {
        let mut other = first.clone();
        other[byte] ^= 1;
        assert!(!is_same_flow(&first, &other), "byte {byte}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_parser_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..80),
        options in proptest::collection::vec(any::<u8>(), 0..10),
    ) {
        let _ = PureAck::parse(&bytes);
        let _ = is_same_flow(&bytes, &bytes);
        let options: Vec<u8> = options.repeat(4);
        let _ = PureAck::parse(&ipv4(&tcp(ACK, &options, 0)));
    }
}
