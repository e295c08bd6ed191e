use super::*;
use proptest::prelude::*;

const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 7]);
const BSSID: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

/// Any header that can be encoded: without a TID there is no QoS control field, so the A-MSDU bit
/// is clear.
fn header() -> impl Strategy<Value = DataHeader> {
    let direction = prop_oneof![
        Just(Direction::Direct),
        Just(Direction::ToDs),
        Just(Direction::FromDs),
        Just(Direction::Bridge)
    ];
    let flags = any::<[bool; 5]>();
    (
        direction,
        any::<[[u8; 6]; 3]>(),
        0..4096u16,
        0..16u8,
        proptest::option::of(0..16u8),
        flags,
    )
        .prop_map(
            |(
                direction,
                [a, b, c],
                sequence,
                fragment,
                tid,
                [more_fragments, retry, protected, amsdu, null],
            )| DataHeader {
                direction,
                receiver: MacAddr(a),
                transmitter: MacAddr(b),
                third: MacAddr(c),
                sequence,
                fragment,
                more_fragments,
                retry,
                protected,
                tid,
                amsdu: amsdu && tid.is_some(),
                null,
            },
        )
}

proptest! {
    #[test]
    fn headers_round_trip(header in header(), body: Vec<u8>) {
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        let length = bytes.len();
        bytes.extend(body);
        prop_assert_eq!(DataHeader::parse(&bytes), Ok((header, length)));
        prop_assert_eq!(DataHeader::parse(&bytes[..length - 1]), Err(FrameError::Truncated));
    }

    #[test]
    fn no_bytes_make_a_parser_panic(bytes: Vec<u8>) {
        let _ = (DataHeader::parse(&bytes), split_snap(&bytes));
        let likely = [&[0x88][..], &bytes].concat();
        let _ = DataHeader::parse(&likely);
    }
}

#[test]
fn a_downlink_frame_has_the_layout_of_the_standard() {
    let mut frame = Vec::new();
    write_frame(
        &DataHeader::downlink(STATION, BSSID, 0x1abc, true),
        &[0x45, 1, 2],
        true,
        &mut frame,
    );
    assert_eq!(frame[..4], [0x88, 0x0a, 0, 0]);
    assert_eq!(
        (&frame[4..10], &frame[10..16]),
        (&STATION.0[..], &BSSID.0[..])
    );
    // Sequence 0xabc, fragment 0; TID 0.
    assert_eq!(frame[22..26], [0xc0, 0xab, 0, 0]);
    assert_eq!(frame[26..34], [0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
    assert_eq!(frame.len(), QOS_HEADER_BYTES + SNAP_BYTES + 3 + FCS_BYTES);
    let (header, length) = DataHeader::parse(&frame).unwrap();
    assert_eq!(
        (header.sequence, header.retry, length),
        (0xabc, true, QOS_HEADER_BYTES)
    );
    let body = &frame[length..frame.len() - FCS_BYTES];
    assert_eq!(split_snap(body), Some((ETHERTYPE_IPV4, &[0x45, 1, 2][..])));
}

#[test]
fn ht_control_is_skipped() {
    let mut frame = Vec::new();
    DataHeader::downlink(STATION, BSSID, 1, false).write(&mut frame);
    frame[1] |= 0x80;
    assert_eq!(DataHeader::parse(&frame), Err(FrameError::Truncated));
    frame.extend([0; 4]);
    assert_eq!(DataHeader::parse(&frame).unwrap().1, QOS_HEADER_BYTES + 4);
}

#[test]
fn the_check_sequence_is_crc_32() {
    // The check value of CRC-32/ISO-HDLC.
    assert_eq!(fcs(b"123456789"), 0xcbf4_3926);
}

#[test]
fn other_frames_are_refused() {
    // A beacon, an acknowledgement, and a frame of version 1.
    assert_eq!(
        DataHeader::parse(&[0x80, 0, 0, 0]),
        Err(FrameError::NotData(0))
    );
    assert_eq!(
        DataHeader::parse(&[0xd4, 0, 0, 0]),
        Err(FrameError::NotData(1))
    );
    assert_eq!(DataHeader::parse(&[0x89, 0]), Err(FrameError::Version(1)));
    assert_eq!(DataHeader::parse(&[0x88]), Err(FrameError::Truncated));
}
