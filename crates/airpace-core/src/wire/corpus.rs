//! Every parser against a corpus of messages, whole and damaged.

use super::data::{
    Inner, InnerKind, Message, SendTime, SessionIndex, inner_header, transport_header,
};
use super::ieee80211::{DataHeader, MacAddr, split_snap, write_frame};
use super::ip::{IpInfo, hash_flow, mark_ce};
use super::radiotap::{Ampdu, Flags, Radiotap};
use super::report;
use airpace_units::{StationId, Time};
use proptest::prelude::*;
use siphasher::sip::SipHasher13;

/// Radiotap as drivers write it; IPv4 with options, IPv6 with extension headers and as a fragment;
/// a report.
const CORPUS: [&[u8]; 8] = [
    // ath9k: a namespace of its own for each antenna.
    b"\x00\x00\x28\x00\x2b\x08\x08\xa0\x20\x08\x00\xa0\x20\x08\x00\x00\x15\xcd\x5b\x07\x00\x00\x00\x00\x10\x00\x3c\x14\x40\x01\xc8\x00\x07\x05\x0f\xc6\x00\xc4\x01\x00",
    // A vendor namespace between two others.
    b"\x00\x00\x20\x00\x02\x00\x00\xc0\x21\x00\x00\x80\x08\x00\x00\xa0\x20\x00\x00\x00\x10\x00\xaa\xbb\xcc\x01\x03\x00\x09\x09\x09\xba",
    // TSFT, flags, channel, signal, A-MPDU, VHT: the fields of an 802.11ac monitor.
    b"\x00\x00\x38\x00\x2b\x08\x30\x00\x15\xcd\x5b\x07\x00\x00\x00\x00\x10\x00\x3c\x14\x40\x01\xc8\x00\x4d\x00\x00\x00\x0c\x00\x00\x00\x44\x00\x00\x04\x91\x00\x00\x00\x00\x00\x00\x00\x88\x02\x00\x00\x02\x00\x00\x00\x00\x07\x02\x00",
    // A fifth presence word follows each of four, and the header ends.
    b"\x00\x00\x14\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    // IPv4 with 40 bytes of options, TCP.
    b"\x4f\x01\x00\x54\x00\x01\x40\x00\x40\x06\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x00\x13\x88\x00\x50\x00\x00\x00\x00\x00\x00\x00\x00\x50\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
    // IPv6: hop-by-hop, routing and destination options, then UDP.
    b"\x60\x20\x00\x00\x00\x20\x00\x40\xfd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\xfd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x2b\x00\x01\x04\x00\x00\x00\x00\x3c\x00\x04\x00\x00\x00\x00\x00\x11\x00\x01\x04\x00\x00\x00\x00\x13\x88\x00\x50\x00\x08\x00\x00",
    // IPv6: a fragment.
    b"\x60\x20\x00\x00\x00\x10\x2c\x40\xfd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\xfd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x11\x00\x00\x01\x00\x00\x00\x07\x13\x88\x00\x50\x00\x08\x00\x00",
    // A report of 120 frames.
    b"\x02\x04\x04\x00\x09\x00\x28\x00\x11\x00\x00\x00\x00\x00\x00\x00\xa0\x86\x01\x00\x78\x00\x00\x00\x00\x0f\x00\x00\x00\x0f\x00\x00\x00\x22\x56\x00\x00\x1e\x3b\xa1\x01\x00\x00\x00\x30\x1b\x0f\x00\x5f\x70\xa5\x34\xea\x5d\x30\x31\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
];

/// The corpus and messages that this version encodes.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = CORPUS.iter().map(|bytes| bytes.to_vec()).collect();
    let mut frame = Vec::new();
    Radiotap {
        flags: Some(Flags(Flags::FCS_AT_END)),
        ampdu: Some(Ampdu::new(1, true)),
        ..Radiotap::default()
    }
    .write(&mut frame);
    let header = DataHeader::downlink(MacAddr([2; 6]), MacAddr([4; 6]), 4095, true);
    write_frame(&header, CORPUS[4], true, &mut frame);
    let mut plain = Vec::new();
    write_frame(&header, CORPUS[5], false, &mut plain);
    let sealed = [&transport_header(SessionIndex(7), 9)[..], CORPUS[4]].concat();
    let inner = [
        &inner_header(InnerKind::Report, SendTime::of(Time::from_millis(1)))[..],
        CORPUS[7],
    ]
    .concat();
    seeds.extend([frame, plain, sealed, inner]);
    seeds
}

/// Runs every parser.
fn parse(bytes: &[u8]) {
    if let Ok((radiotap, length)) = Radiotap::parse(bytes) {
        let _ = radiotap.rate();
        // The length was checked against the bytes.
        let _ = DataHeader::parse(&bytes[length..]);
    }
    if let Ok((_, length)) = DataHeader::parse(bytes) {
        let _ = split_snap(&bytes[length..]);
    }
    if let Ok(Message::Transport { sealed, .. }) = Message::parse(bytes) {
        let _ = Inner::parse(sealed);
    }
    if let Ok(inner) = Inner::parse(bytes) {
        let _ = (
            report::decode(StationId(0), inner.body),
            IpInfo::parse(inner.body),
        );
    }
    let _ = report::decode(StationId(0), bytes);
    if let Ok(info) = IpInfo::parse(bytes) {
        assert!(info.bytes as usize <= bytes.len());
    }
    hash_flow(bytes, &mut SipHasher13::new());
    let mut copy = bytes.to_vec();
    if mark_ce(&mut copy) {
        assert_eq!(IpInfo::parse(&copy).map(|i| i.ecn).unwrap_or(3), 3);
    }
}

#[test]
fn the_corpus_is_parsed() {
    for headers in &CORPUS[..3] {
        assert_eq!(Radiotap::parse(headers).unwrap().1, headers.len());
    }
    assert!(Radiotap::parse(CORPUS[3]).is_err());
    for packet in &CORPUS[4..7] {
        assert_eq!(IpInfo::parse(packet).unwrap().bytes as usize, packet.len());
    }
    assert_eq!(
        report::decode(StationId(0), CORPUS[7]).unwrap().level(),
        Some(32.0)
    );
    seeds().iter().for_each(|bytes| parse(bytes));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn no_damaged_message_makes_a_parser_panic(seed in 0..12usize, changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..6),
                                     cut: usize, tail in prop::collection::vec(any::<u8>(), 0..20)) {
        let mut bytes = seeds().swap_remove(seed);
        for (at, to) in changes {
            let at = at % bytes.len();
            bytes[at] = to;
        }
        if cut % 4 == 0 {
            bytes.truncate(cut / 4 % bytes.len());
        }
        bytes.extend(tail);
        parse(&bytes);
    }
}
