use super::*;
use proptest::prelude::*;
use siphasher::sip::SipHasher13;

/// An IPv4 packet of 20 + `payload` bytes with a correct checksum.
fn ipv4(class: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(20 + payload.len()).unwrap().to_be_bytes();
    let mut packet = vec![
        0x45, class, length[0], length[1], 0x12, 0x34, 0x40, 0, 64, protocol, 0, 0,
    ];
    packet.extend_from_slice(&[10, 0, 0, 1, 192, 168, 7, 9]);
    let checksum = !ones_complement_sum(&packet);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend_from_slice(payload);
    packet
}

fn ipv6(class: u8, next: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    let mut packet = vec![
        0x60 | class >> 4,
        class << 4,
        0,
        0,
        length[0],
        length[1],
        next,
        64,
    ];
    packet.extend_from_slice(&[0xfd; 16]);
    packet.extend_from_slice(&[0xfe; 16]);
    packet.extend_from_slice(payload);
    packet
}

/// The sum of RFC 1071 over an even number of bytes.
fn ones_complement_sum(bytes: &[u8]) -> u16 {
    bytes.chunks(2).fold(0u16, |sum, pair| {
        let (sum, carry) = sum.overflowing_add(u16::from_be_bytes([pair[0], pair[1]]));
        sum + u16::from(carry)
    })
}

fn flow_of(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hash_flow(bytes, &mut hasher);
    hasher.finish()
}

#[test]
fn headers_are_read() {
    let info = IpInfo::parse(&ipv4(0xb9, 17, &[0; 30])).unwrap();
    assert_eq!(
        info,
        IpInfo {
            version: 4,
            bytes: 50,
            dscp: 46,
            ecn: 1
        }
    );
    let info = IpInfo::parse(&ipv6(0xba, 6, &[0; 30])).unwrap();
    assert_eq!(
        info,
        IpInfo {
            version: 6,
            bytes: 70,
            dscp: 46,
            ecn: 2
        }
    );
    let padded = [ipv4(0, 17, &[0; 8]), vec![0; 18]].concat();
    assert_eq!(IpInfo::parse(&padded).unwrap().bytes, 28);
}

#[test]
fn addresses_are_read_as_soon_as_their_bytes_are_there() {
    let v4 = ipv4(0, 17, &[0; 8]);
    let (from, to) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([192, 168, 7, 9]));
    assert_eq!((source(&v4), destination(&v4)), (Some(from), Some(to)));
    assert_eq!(
        (source(&v4[..16]), destination(&v4[..16])),
        (Some(from), None)
    );
    let v6 = ipv6(0, 17, &[0; 8]);
    let (from, to) = (IpAddr::from([0xfd; 16]), IpAddr::from([0xfe; 16]));
    assert_eq!((source(&v6), destination(&v6)), (Some(from), Some(to)));
    assert_eq!(
        (source(&v6[..39]), destination(&v6[..39])),
        (Some(from), None)
    );
    let neither = [0x50; 40];
    assert_eq!((source(&neither), destination(&neither)), (None, None));
    assert_eq!((source(&[]), destination(&[])), (None, None));
}

#[test]
fn code_points_choose_the_access_category() {
    use AccessCategory::{Background, BestEffort, Video, Voice};
    let category = |dscp: u8| {
        IpInfo::parse(&ipv4(dscp << 2, 17, &[0; 8]))
            .unwrap()
            .category()
    };
    for (dscp, expected) in [
        (0, BestEffort),
        (10, BestEffort),
        (22, BestEffort),
        (34, Video),
        (40, Video),
        (46, Voice),
    ] {
        assert_eq!(category(dscp), expected, "code point {dscp}");
    }
    assert_eq!((category(8), category(1)), (Background, Background));
    assert_eq!(
        (category(48), category(56), category(63)),
        (BestEffort, BestEffort, BestEffort),
        "no sender can claim a higher priority"
    );
}

#[test]
fn impossible_headers_are_refused() {
    assert_eq!(IpInfo::parse(&[]), Err(IpError::Empty));
    assert_eq!(IpInfo::parse(&[0x50]), Err(IpError::Version(5)));
    assert_eq!(IpInfo::parse(&[0x45; 19]), Err(IpError::Truncated));
    assert_eq!(IpInfo::parse(&[0x60; 39]), Err(IpError::Truncated));
    let mut short_header = ipv4(0, 17, &[0; 8]);
    short_header[0] = 0x44;
    assert_eq!(IpInfo::parse(&short_header), Err(IpError::HeaderLength));
    short_header[0] = 0x4f;
    assert_eq!(IpInfo::parse(&short_header), Err(IpError::HeaderLength));
    let cut = &ipv4(0, 17, &[0; 8])[..25];
    assert_eq!(
        IpInfo::parse(cut),
        Err(IpError::Length {
            claimed: 28,
            present: 25
        })
    );
}

#[test]
fn ports_distinguish_flows_except_in_fragments() {
    let (a, b) = (
        [0x13, 0x88, 0, 80, 0, 0, 0, 0],
        [0x13, 0x89, 0, 80, 0, 0, 0, 0],
    );
    assert_ne!(flow_of(&ipv4(0, 6, &a)), flow_of(&ipv4(0, 6, &b)));
    assert_eq!(flow_of(&ipv4(0, 6, &a)), flow_of(&ipv4(3, 6, &a)));
    assert_ne!(flow_of(&ipv4(0, 6, &a)), flow_of(&ipv4(0, 17, &a)));
    assert_eq!(flow_of(&ipv4(0, 1, &a)), flow_of(&ipv4(0, 1, &b)));
    let fragment = |payload: &[u8]| {
        let mut packet = ipv4(0, 17, payload);
        packet[6..8].copy_from_slice(&[0x20, 0]);
        packet
    };
    assert_eq!(flow_of(&fragment(&a)), flow_of(&fragment(&b)));
}

#[test]
fn a_mark_leaves_the_flow_of_an_invalid_header_alone() {
    let mut packet = ipv4(2, 6, &[0; 20]);
    packet[0] = 0x40;
    let before = flow_of(&packet);
    assert!(mark_ce(&mut packet));
    assert_eq!(flow_of(&packet), before);
}

#[test]
fn ipv6_extension_headers_are_skipped() {
    let ports = [0x13, 0x88, 0, 80, 0, 0, 0, 0];
    let options = [&[17, 0, 0, 0, 0, 0, 0, 0][..], &ports].concat();
    assert_eq!(
        flow_of(&ipv6(0, 17, &ports)),
        flow_of(&ipv6(0, 0, &options))
    );
    assert_eq!(
        flow_of(&ipv6(0, 17, &ports)),
        flow_of(&ipv6(0, 60, &options))
    );
    let fragments = [1, 2].map(|id| ipv6(0, 44, &[17, 0, 0, 1, 0, 0, 0, id, id, id, id, id]));
    assert_eq!(flow_of(&fragments[0]), flow_of(&fragments[1]));
    assert_ne!(flow_of(&fragments[0]), flow_of(&ipv6(0, 17, &ports)));
}

#[test]
fn ecn_capable_packets_are_marked_and_their_checksum_stays_valid() {
    for class in 0..=255u8 {
        let mut v4 = ipv4(class, 6, &[0; 20]);
        let capable = class & ECN != 0;
        assert_eq!(ecn(&v4), Ecn::from_field(class));
        assert_eq!(mark_ce(&mut v4), capable);
        assert_eq!(ones_complement_sum(&v4[..20]), 0xffff);
        assert_eq!(
            IpInfo::parse(&v4).unwrap().ecn,
            if capable { ECN } else { 0 }
        );
        let mut v6 = ipv6(class, 6, &[0; 20]);
        assert_eq!(ecn(&v6), Ecn::from_field(class));
        assert_eq!(mark_ce(&mut v6), capable);
        let info = IpInfo::parse(&v6).unwrap();
        assert_eq!(
            (info.dscp, info.ecn),
            (class >> 2, if capable { ECN } else { 0 })
        );
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_parser_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..120), first in prop_oneof![Just(0x45u8), Just(0x4f), Just(0x60), any::<u8>()]) {
        if let Some(b) = bytes.first_mut() {
            *b = first;
        }
        let _ = (IpInfo::parse(&bytes), ecn(&bytes));
        let _ = flow_of(&bytes);
        let before = bytes.len();
        let _ = mark_ce(&mut bytes);
        prop_assert_eq!(bytes.len(), before);
    }
}
