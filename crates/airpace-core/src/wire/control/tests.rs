use super::*;
use proptest::prelude::*;

const STATION: MacAddr = MacAddr([4; 6]);
const ACCESS_POINT: MacAddr = MacAddr([2; 6]);

fn written(start: u16, bitmap: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    BlockAck {
        receiver: ACCESS_POINT,
        transmitter: STATION,
        tid: 5,
        start,
        bitmap,
    }
    .write(&mut out);
    out
}

#[test]
fn block_acks_of_every_length_are_read_as_written() {
    for bytes in [8, 32, 64, 128] {
        let mut bitmap = vec![0xff; bytes];
        bitmap[bytes - 1] = 0x01;
        let frame = written(4_090, &bitmap);
        let Ok(ControlFrame::BlockAck(read)) = ControlFrame::parse(&frame) else {
            panic!("{frame:?}");
        };
        assert_eq!((read.start, read.tid, read.bitmap), (4_090, 5, &bitmap[..]));
        assert_eq!((read.receiver, read.transmitter), (ACCESS_POINT, STATION));
        // Numbers wrap around.
        let highest = (4_090 + 8 * (bytes as u16 - 1)) % 4_096;
        assert_eq!(read.highest(), Some(highest));
        assert_eq!(read.has(highest), Some(true));
        assert_eq!(read.has(highest + 1), Some(false));
        assert_eq!(read.has(4_089), None);
        for cut in 0..frame.len() {
            assert_eq!(
                ControlFrame::parse(&frame[..cut]),
                Err(ControlError::Truncated)
            );
        }
    }
}

#[test]
fn an_empty_bitmap_has_no_highest_number() {
    let frame = written(7, &[0; 8]);
    assert!(
        matches!(ControlFrame::parse(&frame), Ok(ControlFrame::BlockAck(b)) if b.highest().is_none())
    );
}

#[test]
fn rts_cts_ack_and_requests_are_read() {
    let rts = [0xb4, 0, 0x2c, 1, 4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2];
    assert_eq!(
        ControlFrame::parse(&rts),
        Ok(ControlFrame::Rts {
            duration_us: 300,
            receiver: STATION,
            transmitter: ACCESS_POINT,
        })
    );
    let cts = [0xc4, 0, 0xff, 0xff, 2, 2, 2, 2, 2, 2];
    assert_eq!(
        ControlFrame::parse(&cts),
        Ok(ControlFrame::Cts {
            duration_us: 0,
            receiver: ACCESS_POINT,
        })
    );
    let ack = [0xd4, 0, 0, 0, 2, 2, 2, 2, 2, 2];
    assert_eq!(
        ControlFrame::parse(&ack),
        Ok(ControlFrame::Ack {
            receiver: ACCESS_POINT
        })
    );
    let request = [
        0x84, 0, 0, 0, 4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 0x05, 0x60, 0x30, 0x12,
    ];
    assert_eq!(
        ControlFrame::parse(&request),
        Ok(ControlFrame::BlockAckRequest {
            receiver: STATION,
            transmitter: ACCESS_POINT,
            tid: 6,
            start: 0x123,
        })
    );
}

#[test]
fn a_multi_station_block_ack_has_a_part_per_station() {
    let mut frame = vec![0x94, 0, 0, 0];
    frame.extend([0xff; 6]);
    frame.extend(ACCESS_POINT.0);
    // Variant 11.
    frame.extend([0x16, 0]);
    // AID 1, TID 0, with 64 bits from 16; AID 2, everything; AID 3, TID 2, 32 bits from 32.
    frame.extend([0x01, 0x00, 0x00, 0x01, 0xff, 0, 0, 0, 0, 0, 0, 0]);
    frame.extend([0x02, 0xe8]);
    frame.extend([0x03, 0x20, 0x06, 0x02, 1, 0, 0, 0]);
    let Ok(ControlFrame::MultiStation(multi)) = ControlFrame::parse(&frame) else {
        panic!("a multi-STA block ack");
    };
    let parts: Vec<_> = multi.stations().collect();
    let bitmap: &[u8] = &[0xff, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(parts.len(), 3);
    assert_eq!((parts[0].aid, parts[0].bitmap), (1, Some((16, bitmap))));
    assert_eq!((parts[1].aid, parts[1].tid, parts[1].bitmap), (2, 14, None));
    assert_eq!((parts[2].aid, parts[2].tid), (3, 2));
    assert_eq!(
        parts[2].bitmap.map(|(start, bits)| (start, bits.len())),
        Some((32, 4))
    );
}

#[test]
fn other_frames_are_refused() {
    assert_eq!(ControlFrame::parse(&[]), Err(ControlError::Truncated));
    assert_eq!(
        ControlFrame::parse(&[0x88, 0]),
        Err(ControlError::NotControl)
    );
    assert_eq!(
        ControlFrame::parse(&[0xa4, 0]),
        Err(ControlError::Subtype(10))
    );
}

proptest! {
    #[test]
    fn any_bytes_are_survived(mut bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 8..14u8) {
        if let Some(first) = bytes.first_mut() {
            *first = kind << 4 | 4;
        }
        match ControlFrame::parse(&bytes) {
            Ok(ControlFrame::BlockAck(block_ack)) => {
                if let Some(highest) = block_ack.highest() {
                    prop_assert_eq!(block_ack.has(highest), Some(true));
                }
            }
            Ok(ControlFrame::MultiStation(multi)) => prop_assert!(multi.stations().count() <= 100),
            _ => {}
        }
    }
}

#[test]
fn a_block_ack_request_is_read_as_it_was_written() {
    let (receiver, transmitter) = (MacAddr([2; 6]), MacAddr([4; 6]));
    let mut bytes = Vec::new();
    write_block_ack_request(receiver, transmitter, 5, 4_000, &mut bytes);
    assert_eq!(
        ControlFrame::parse(&bytes),
        Ok(ControlFrame::BlockAckRequest {
            receiver,
            transmitter,
            tid: 5,
            start: 4_000,
        })
    );
}
