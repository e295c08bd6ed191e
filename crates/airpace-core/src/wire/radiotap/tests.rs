use super::*;
use proptest::prelude::*;

/// A header with every field that is written.
fn full() -> Radiotap {
    Radiotap {
        tsft_us: Some(0x0102_0304_0506_0708),
        flags: Some(Flags(Flags::FCS_AT_END)),
        legacy_rate: Some(12),
        channel: Some(Channel { mhz: 5180, flags: Channel::OFDM_5GHZ }),
        signal_dbm: Some(-42),
        antenna: Some(1),
        ht: Some(HtMcs { known: 7, flags: 5, mcs: 15 }),
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
        he: Some(HeUser { data: [1, 2, 3, 4, 5, 6] }),
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
fn fields_stand_at_their_alignment() {
    let header = Radiotap { flags: Some(Flags(0)), channel: full().channel, ampdu: full().ampdu, ..Default::default() };
    let bytes = written(&header);
    // Flags at 8, channel aligned to 2 at 10, A-MPDU aligned to 4 at 16.
    assert_eq!(bytes[10..12], 5180u16.to_le_bytes());
    assert_eq!(bytes[16..20], 77u32.to_le_bytes());
    assert_eq!(bytes[4..8], ((1u32 << 1) | (1 << 3) | (1 << 20)).to_le_bytes());
    assert_eq!(bytes.len(), 24);
}

/// Headers as drivers make them, with what they hold.
#[test]
fn headers_of_drivers_are_read() {
    // ath9k (two antennas, each in a radiotap namespace of its own): TSFT, flags, channel, signal, antenna, MCS, then signal and
    // antenna per chain.
    let ath9k = [
        0x00, 0x00, 0x28, 0x00, 0x2b, 0x08, 0x08, 0xa0, 0x20, 0x08, 0x00, 0xa0, 0x20, 0x08, 0x00, 0x00, //
        0x15, 0xcd, 0x5b, 0x07, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x3c, 0x14, 0x40, 0x01, 0xc8, 0x00, //
        0x07, 0x05, 0x0f, 0xc6, 0x00, 0xc4, 0x01, 0x00,
    ];
    let (header, length) = Radiotap::parse(&ath9k).unwrap();
    assert_eq!(length, 40);
    assert_eq!(header.tsft_us, Some(123_456_789));
    assert_eq!(header.channel, Some(Channel { mhz: 5180, flags: 0x0140 }));
    assert_eq!((header.signal_dbm, header.antenna), (Some(-56), Some(0)));
    assert_eq!(header.ht, Some(HtMcs { known: 7, flags: 5, mcs: 15 }));
}

#[test]
fn vendor_namespaces_are_skipped() {
    let present = |bits: &[u32]| bits.iter().fold(0u32, |word, bit| word | 1 << bit).to_le_bytes();
    let mut bytes = vec![0, 0, 0, 0];
    bytes.extend(present(&[1, 30, 31]));
    bytes.extend(present(&[0, 5, 31]));
    bytes.extend(present(&[3, 29, 31]));
    bytes.extend(present(&[5]));
    // Flags; padding to 2; vendor header with three bytes of data, then padding to the signal at any offset.
    bytes.extend([0x10, 0, 0xaa, 0xbb, 0xcc, 1, 3, 0, 9, 9, 9, (-70i8).to_le_bytes()[0]]);
    bytes[2] = u8::try_from(bytes.len()).unwrap();
    let (header, _) = Radiotap::parse(&bytes).unwrap();
    let expected = Radiotap { flags: Some(Flags(0x10)), signal_dbm: Some(-70), ..Default::default() };
    assert_eq!(header, expected);
}

#[test]
fn undefined_fields_end_the_reading() {
    let mut bytes = vec![0, 0, 0, 0];
    bytes.extend(((1u32 << 1) | (1 << 28)).to_le_bytes());
    bytes.extend([0x40, 1, 2, 3]);
    bytes[2] = 12;
    assert_eq!(Radiotap::parse(&bytes).unwrap().0.flags, Some(Flags(Flags::BAD_FCS)));
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
        assert_eq!(Radiotap::parse(&short), Err(RadiotapError::Inconsistent), "length {length}");
    }
    let endless: Vec<u8> = [0, 0, 40, 0].into_iter().chain([0xff; 36]).collect();
    assert_eq!(Radiotap::parse(&endless), Err(RadiotapError::Inconsistent));
    assert_eq!(Radiotap::parse(&[1, 0, 8, 0, 0, 0, 0, 0]), Err(RadiotapError::Version(1)));
}

proptest! {
    #[test]
    fn any_bytes_are_survived(mut bytes in prop::collection::vec(any::<u8>(), 0..200), words in prop::collection::vec(any::<u32>(), 0..6)) {
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
