use super::*;
use crate::phy::{GuardInterval, LegacyRate, Standard, TxRate, Width};
use crate::wire::ieee80211::{DataHeader, MacAddr, write_frame};
use proptest::prelude::*;
use std::io::Write;
use std::process::{Command, Stdio};

/// A header with every field that is written.
fn full() -> Radiotap {
    Radiotap {
        tsft_us: Some(0x0102_0304_0506_0708),
        flags: Some(Flags(Flags::FCS_AT_END)),
        legacy_rate: Some(12),
        channel: Some(Channel {
            mhz: 5180,
            flags: Channel::OFDM_5GHZ,
        }),
        signal_dbm: Some(-42),
        antenna: Some(1),
        ht: Some(HtMcs {
            known: 7,
            flags: 5,
            mcs: 15,
        }),
        ampdu: Some(Ampdu::new(77, true)),
        vht: Some(VhtUser {
            known: 0x44,
            flags: 4,
            bandwidth: 4,
            mcs_nss: 0x91,
            coding: 1,
            group_id: 63,
            partial_aid: 300,
        }),
        he: Some(HeUser {
            data: [1, 2, 3, 4, 5, 6],
        }),
    }
}

fn written(header: &Radiotap) -> Vec<u8> {
    let mut out = Vec::new();
    assert_eq!(header.write(&mut out), out.len());
    assert!(out.len() <= MAX_LENGTH);
    out
}

#[test]
fn headers_round_trip() {
    for header in [full(), Radiotap::default()] {
        let bytes = written(&header);
        assert_eq!(Radiotap::parse(&bytes), Ok((header, bytes.len())));
    }
}

#[test]
fn fields_are_written_at_their_alignment() {
    let header = Radiotap {
        flags: Some(Flags(0)),
        channel: full().channel,
        ampdu: full().ampdu,
        ..Default::default()
    };
    let bytes = written(&header);
    // Flags at 8, channel aligned to 2 at 10, A-MPDU aligned to 4 at 16.
    assert_eq!(bytes[10..12], 5180u16.to_le_bytes());
    assert_eq!(bytes[16..20], 77u32.to_le_bytes());
    assert_eq!(
        bytes[4..8],
        ((1u32 << 1) | (1 << 3) | (1 << 20)).to_le_bytes()
    );
    assert_eq!(bytes.len(), 24);
}

/// Headers as drivers make them, with what they hold.
#[test]
fn headers_of_drivers_are_read() {
    // ath9k (two antennas, each in a radiotap namespace of its own): TSFT, flags, channel, signal,
    // antenna, MCS, then signal and antenna per chain.
    let ath9k = [
        0x00, 0x00, 0x28, 0x00, 0x2b, 0x08, 0x08, 0xa0, 0x20, 0x08, 0x00, 0xa0, 0x20, 0x08, 0x00,
        0x00, //
        0x15, 0xcd, 0x5b, 0x07, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x3c, 0x14, 0x40, 0x01, 0xc8,
        0x00, //
        0x07, 0x05, 0x0f, 0xc6, 0x00, 0xc4, 0x01, 0x00,
    ];
    let (header, length) = Radiotap::parse(&ath9k).unwrap();
    assert_eq!(length, 40);
    assert_eq!(header.tsft_us, Some(123_456_789));
    assert_eq!(
        header.channel,
        Some(Channel {
            mhz: 5180,
            flags: 0x0140
        })
    );
    assert_eq!((header.signal_dbm, header.antenna), (Some(-56), Some(0)));
    assert_eq!(
        header.ht,
        Some(HtMcs {
            known: 7,
            flags: 5,
            mcs: 15
        })
    );
}

#[test]
fn vendor_namespaces_are_skipped() {
    let present = |bits: &[u32]| {
        bits.iter()
            .fold(0u32, |word, bit| word | 1 << bit)
            .to_le_bytes()
    };
    let mut bytes = vec![0, 0, 0, 0];
    bytes.extend(present(&[1, 30, 31]));
    bytes.extend(present(&[0, 5, 31]));
    bytes.extend(present(&[3, 29, 31]));
    bytes.extend(present(&[5]));
    // Flags; padding to 2; vendor header with three bytes of data, then padding to the signal at
    // any offset.
    bytes.extend([
        0x10,
        0,
        0xaa,
        0xbb,
        0xcc,
        1,
        3,
        0,
        9,
        9,
        9,
        (-70i8).to_le_bytes()[0],
    ]);
    bytes[2] = u8::try_from(bytes.len()).unwrap();
    let (header, _) = Radiotap::parse(&bytes).unwrap();
    let expected = Radiotap {
        flags: Some(Flags(0x10)),
        signal_dbm: Some(-70),
        ..Default::default()
    };
    assert_eq!(header, expected);
}

#[test]
fn undefined_fields_end_the_parsing() {
    let mut bytes = vec![0, 0, 0, 0];
    bytes.extend(((1u32 << 1) | (1 << 28)).to_le_bytes());
    bytes.extend([0x40, 1, 2, 3]);
    bytes[2] = 12;
    assert_eq!(
        Radiotap::parse(&bytes).unwrap().0.flags,
        Some(Flags(Flags::BAD_FCS))
    );
    // A second word without a namespace change numbers its bits from 32: none of these is defined.
    let mut bytes = vec![0, 0, 16, 0];
    bytes.extend(((1u32 << 1) | (1 << 31)).to_le_bytes());
    bytes.extend(2u32.to_le_bytes());
    bytes.extend([0x10, 0x20, 0, 0]);
    assert_eq!(Radiotap::parse(&bytes).unwrap().0.flags, Some(Flags(0x10)));
}

#[test]
fn cut_and_contradictory_headers_are_refused() {
    let bytes = written(&full());
    for n in 0..bytes.len() {
        assert_eq!(Radiotap::parse(&bytes[..n]), Err(RadiotapError::Truncated));
    }
    for length in 0..bytes.len() {
        let mut short = bytes.clone();
        short[2] = u8::try_from(length).unwrap();
        assert_eq!(
            Radiotap::parse(&short),
            Err(RadiotapError::Inconsistent),
            "length {length}"
        );
    }
    let endless: Vec<u8> = [0, 0, 40, 0].into_iter().chain([0xff; 36]).collect();
    assert_eq!(Radiotap::parse(&endless), Err(RadiotapError::Inconsistent));
    assert_eq!(
        Radiotap::parse(&[1, 0, 8, 0, 0, 0, 0, 0]),
        Err(RadiotapError::Version(1))
    );
}

proptest! {
    #[test]
    fn no_bytes_make_the_parser_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200), words in prop::collection::vec(any::<u32>(), 0..6)) {
        let _ = Radiotap::parse(&bytes);
        // Bytes that look like a header get further.
        let mut likely = vec![0, 0, 0, 0];
        likely.extend(words.iter().flat_map(|w| (w | 1 << 31).to_le_bytes()));
        likely.extend((words.len() as u32 * 7).to_le_bytes());
        likely.append(&mut bytes);
        likely[2] = likely.len().min(255) as u8;
        let _ = Radiotap::parse(&likely);
    }
}

/// Every rate that the standard allows.
fn rates() -> Vec<TxRate> {
    let mut rates = Vec::new();
    for standard in [Standard::Ht, Standard::Vht, Standard::He] {
        for width in [Width::Mhz20, Width::Mhz40, Width::Mhz80, Width::Mhz160] {
            for gi in [
                GuardInterval::Ns400,
                GuardInterval::Ns800,
                GuardInterval::Ns1600,
                GuardInterval::Ns3200,
            ] {
                let combinations = (1..=8).flat_map(|nss| (0..32).map(move |mcs| (nss, mcs)));
                rates.extend(
                    combinations
                        .filter_map(|(nss, mcs)| TxRate::new(standard, width, nss, mcs, gi).ok()),
                );
            }
        }
    }
    let legacy = LegacyRate::DSSS
        .into_iter()
        .chain(LegacyRate::OFDM)
        .map(TxRate::legacy);
    rates.extend(legacy.clone());
    rates.extend(legacy.filter_map(|rate| rate.with_short_preamble().ok()));
    rates
}

#[test]
fn a_legacy_rate_beside_an_undetermined_field_is_ignored() {
    let header = Radiotap {
        legacy_rate: Some(12),
        ..Radiotap::default()
    };
    assert_eq!(header.rate(), Some(TxRate::legacy(LegacyRate::Mbps6)));
    assert_eq!(
        Radiotap {
            he: Some(HeUser::default()),
            ..header
        }
        .rate(),
        None
    );
    assert_eq!(
        Radiotap {
            legacy_rate: Some(13),
            ..header
        }
        .rate(),
        None
    );
}

#[test]
fn every_rate_round_trips() {
    let rates = rates();
    assert!(rates.len() > 1_000);
    for rate in rates {
        let header = full().with_rate(rate);
        let (parsed, _) = Radiotap::parse(&written(&header)).unwrap();
        assert_eq!(parsed.rate(), Some(rate));
    }
    assert_eq!(Radiotap::default().rate(), None);
}

#[test]
fn rates_of_no_standard_are_not_returned() {
    for mcs_nss in 0..=255 {
        for bandwidth in 0..=255 {
            let vht = VhtUser {
                known: 0x44,
                mcs_nss,
                bandwidth,
                ..VhtUser::default()
            };
            let rate = Radiotap {
                vht: Some(vht),
                ..Radiotap::default()
            }
            .rate();
            assert!(rate.is_none_or(|r| r.nss() == mcs_nss & 15 && r.mcs() == mcs_nss >> 4));
        }
    }
}

/// A capture file in the classic format of libpcap, with link type 127 and one frame per header.
fn capture(headers: &[Radiotap]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, LINK_TYPE] {
        file.extend_from_slice(&u32::to_le_bytes(word));
    }
    let (station, bssid) = (MacAddr([2, 0, 0, 0, 0, 7]), MacAddr([2, 0, 0, 0, 0, 1]));
    for header in headers {
        let mut frame = written(header);
        let fcs = header.flags.is_some_and(Flags::fcs_at_end);
        write_frame(
            &DataHeader::downlink(station, bssid, 0xabc, true),
            &IP_PACKET,
            fcs,
            &mut frame,
        );
        let length = u32::try_from(frame.len()).unwrap();
        for word in [1, 2, length, length] {
            file.extend_from_slice(&u32::to_le_bytes(word));
        }
        file.append(&mut frame);
    }
    file
}

/// UDP from 10.0.0.1:5000 to 10.0.0.7:9 without a body.
const IP_PACKET: [u8; 28] = [
    0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0x26, 0xc8, 10, 0, 0, 1, 10, 0, 0, 7, 0x13, 0x88, 0, 9,
    0, 8, 0, 0,
];

/// What tcpdump prints of a capture file; `None`, loudly, where there is no tcpdump.
fn tcpdump(file: &[u8]) -> Option<String> {
    let spawned = Command::new("tcpdump")
        .args(["-n", "-e", "-t", "-r", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = spawned else {
        eprintln!(
            "SKIPPED: tcpdump is not installed, so that what it makes of radiotap headers was not checked"
        );
        return None;
    };
    child.stdin.take().unwrap().write_all(file).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn tcpdump_reads_what_is_written() {
    let base = Radiotap {
        tsft_us: Some(123_456),
        flags: Some(Flags(Flags::FCS_AT_END)),
        channel: Some(Channel {
            mhz: 5180,
            flags: Channel::OFDM_5GHZ,
        }),
        signal_dbm: Some(-42),
        ampdu: Some(Ampdu::new(77, true)),
        ..Radiotap::default()
    };
    let vht = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800).unwrap();
    let ht = TxRate::new(Standard::Ht, Width::Mhz40, 2, 15, GuardInterval::Ns400).unwrap();
    let he = TxRate::new(Standard::He, Width::Mhz80, 2, 11, GuardInterval::Ns1600).unwrap();
    let bare = Radiotap {
        flags: None,
        ..base
    };
    let Some(text) = tcpdump(&capture(&[
        base.with_rate(vht),
        bare.with_rate(ht),
        base.with_rate(he),
    ])) else {
        return;
    };
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    for line in &lines {
        for part in [
            "123456us tsft",
            "5180 MHz",
            "-42dBm signal",
            "10.0.0.1.5000 > 10.0.0.7.9: UDP, length 0",
        ] {
            assert!(line.contains(part), "{part} is missing in {line}");
        }
    }
    assert!(
        lines[0].contains("User 0 MCS 9 BCC FEC 80 MHz long GI"),
        "{text}"
    );
    assert!(
        lines[1].contains("300.0 Mb/s MCS 15 40 MHz short GI"),
        "{text}"
    );
}
