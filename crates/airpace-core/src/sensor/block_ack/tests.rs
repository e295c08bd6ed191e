//! A cell of one or two stations, whose block acks are partly missed.

use super::*;
use crate::wire::control::BlockAck;

const BSSID: MacAddr = MacAddr([2; 6]);
const STATION: MacAddr = MacAddr([4; 6]);

/// Lets the radio hear a block ack of the station, up to `highest`, that begins at `start`.
fn acknowledge(radio: &mut BlockAckRadio, start: Time, highest: u16) {
    let block_ack = ControlFrame::BlockAck(BlockAck {
        receiver: BSSID,
        transmitter: STATION,
        tid: 0,
        start: (highest + 4_096 - 63) % 4_096,
        bitmap: &[0xff; 8],
    });
    let end = start + Duration::from_micros(32);
    radio.on_control(OnAir { start, end }, &block_ack);
}

/// Hears `frames` frames of `level` MPDUs, one per millisecond; `is_missed` and `has_header` say
/// whether the block ack, and the header of the data frame, of a frame are heard. Returns the report
/// of the last slot, and why it is not usable.
fn heard(
    frames: u64,
    level: u16,
    is_missed: impl Fn(u64) -> bool,
    has_header: impl Fn(u64) -> bool,
) -> (SlotReport, Option<Unusable>) {
    let mut radio = BlockAckRadio::new(BSSID);
    let mut report = SlotReport::silent(StationId(0), Duration::ZERO);
    let mut highest = 4_000;
    for frame in 0..frames {
        let data_start = Time::from_micros(1_000 * (frame + 1));
        let data_end = data_start + Duration::from_micros(600);
        for _ in 0..level {
            radio.on_downlink(data_start, STATION, 1_500);
        }
        if has_header(frame) {
            let header = DataHeader::downlink(STATION, BSSID, highest, false);
            let heard = OnAir {
                start: data_start,
                end: data_end,
            };
            radio.on_data(heard, &header, Some(BitRate::from_mbps(390)));
        }
        highest = (highest + level) % 4_096;
        if !is_missed(frame) {
            acknowledge(&mut radio, data_end + SIFS, highest);
        }
        if frame % 100 == 99 {
            let now = Time::from_micros(1_000 * (frame + 2));
            report = radio.close_slot(now, STATION, StationId(0));
            radio.close_cell();
        }
    }
    (report, radio.unusable(STATION))
}

/// The report of the last slot, which is usable.
fn hear(
    frames: u64,
    level: u16,
    is_missed: impl Fn(u64) -> bool,
    has_header: impl Fn(u64) -> bool,
) -> SlotReport {
    let (report, unusable) = heard(frames, level, is_missed, has_header);
    assert_eq!(unusable, None);
    report
}

#[test]
fn every_block_ack_heard_gives_the_exact_level_round_and_rate() {
    let report = hear(1_000, 20, |_| false, |_| true);
    assert_eq!(
        (report.frames, report.mpdus, report.packets),
        (100, 2_000, 2_000)
    );
    assert!((report.round_s().unwrap() - 1e-3).abs() < 1e-6);
    assert!((report.phy_rate_bps().unwrap() / 390e6 - 1.0).abs() < 1e-6);
    assert_eq!((report.sensor, report.late), (Sensor::BlockAck, 0));
    assert!(report.confidence > 0.9);
}

#[test]
fn missed_block_acks_leave_level_and_round() {
    // Every fifth is missed, and every third header heard: the two do not depend on each other.
    let report = hear(4_000, 20, |frame| frame % 5 == 0, |frame| frame % 3 == 0);
    let level = report.level().unwrap();
    assert!((level / 20.0 - 1.0).abs() < 0.05, "{level}");
    assert!((report.round_s().unwrap() / 1e-3 - 1.0).abs() < 0.05);
}

#[test]
fn without_any_header_the_missed_ones_are_found_in_the_advances() {
    let report = hear(4_000, 20, |frame| frame * 7 % 10 < 2, |_| false);
    let level = report.level().unwrap();
    assert!((level / 20.0 - 1.0).abs() < 0.1, "{level}");
}

#[test]
fn a_radio_that_hears_little_says_that_it_is_unusable() {
    let (report, unusable) = heard(4_000, 20, |frame| frame % 5 != 0, |_| true);
    assert_eq!((report.frames, report.confidence), (0, 0.0));
    assert_eq!(unusable, Some(Unusable::MostMissed));
    let (_, unusable) = heard(4_000, 20, |_| true, |_| false);
    assert_eq!(unusable, Some(Unusable::Unheard));
    // Too few advances for an estimate of how many are missed.
    let (_, unusable) = heard(200, 20, |frame| frame % 5 == 0, |_| false);
    assert_eq!(unusable, Some(Unusable::MissedUnknown));
    assert_eq!(
        heard(4_000, 0, |_| true, |_| false).1,
        None,
        "nothing was sent"
    );
}

#[test]
fn exchanges_of_others_are_time_used_by_others() {
    let mut radio = BlockAckRadio::new(BSSID);
    let rts = ControlFrame::Rts {
        duration_us: 900,
        receiver: MacAddr([6; 6]),
        transmitter: MacAddr([8; 6]),
    };
    let heard = OnAir {
        start: Time::from_micros(100),
        end: Time::from_micros(150),
    };
    radio.on_control(heard, &rts);
    let cts = ControlFrame::Cts {
        duration_us: 800,
        receiver: MacAddr([8; 6]),
    };
    let heard = OnAir {
        start: Time::from_micros(166),
        end: Time::from_micros(210),
    };
    // Its reservation lies within that of the RTS.
    radio.on_control(heard, &cts);
    assert_eq!(radio.close_cell().others, Duration::from_micros(950));
}

/// Hears 1,000 frames of 20 MPDUs and, after each, `forged` block acks in the station's name that
/// acknowledge 15 packets each. Returns the report of the last slot and the slots that were doubted.
fn hear_forged(forged: u16) -> (SlotReport, BlockAckRadio) {
    let mut radio = BlockAckRadio::new(BSSID);
    let mut report = SlotReport::silent(StationId(0), Duration::ZERO);
    let mut highest = 0;
    for frame in 0..1_000 {
        let at = Time::from_micros(1_000 * (frame + 1));
        for _ in 0..20 {
            radio.on_downlink(at, STATION, 1_500);
        }
        for number in 0..=forged {
            highest = (highest + if number == 0 { 20 } else { 15 }) % 4_096;
            let start = at + Duration::from_micros(600) + 100 * SIFS / 16 * u32::from(number);
            acknowledge(&mut radio, start, highest);
        }
        if frame % 100 == 99 {
            let now = Time::from_micros(1_000 * (frame + 2));
            report = radio.close_slot(now, STATION, StationId(0));
            radio.close_cell();
        }
    }
    (report, radio)
}

#[test]
fn block_acks_for_more_than_was_sent_are_not_believed() {
    let (report, radio) = hear_forged(0);
    assert_eq!(radio.doubted_slots(), 0, "{report:?}");
    let (report, radio) = hear_forged(1);
    assert_eq!((report.frames, report.confidence), (0, 0.0));
    assert_eq!(radio.unusable(STATION), Some(Unusable::Doubted));
    let doubted = radio.doubted_slots();
    // What the access point may have held explains the first 3,000 of 15,000 a second.
    assert!(doubted >= 7, "{doubted}");
}

/// Lets the radio hear a single frame of the station, and its acknowledgement.
fn acknowledge_single(radio: &mut BlockAckRadio, start: Time, number: u16) {
    let end = start + Duration::from_micros(80);
    let header = DataHeader::downlink(STATION, BSSID, number % 4_096, false);
    radio.on_data(OnAir { start, end }, &header, None);
    let heard = OnAir {
        start: end + SIFS,
        end: end + SIFS + Duration::from_micros(28),
    };
    radio.on_control(heard, &ControlFrame::Ack { receiver: BSSID });
}

#[test]
fn a_flow_of_single_frames_and_few_longer_ones_is_believed() {
    let mut radio = BlockAckRadio::new(BSSID);
    let mut number = 0;
    for slot in 0..100 {
        for packet in 0..40 {
            let at = Time::from_micros(100_000 * slot + 2_000 * packet + 1);
            radio.on_downlink(at, STATION, 1_500);
            number += 1;
            acknowledge_single(&mut radio, at, number);
        }
        // Every two seconds the access point joins ten packets.
        if slot % 20 == 19 {
            let at = Time::from_micros(100_000 * slot + 90_000);
            for _ in 0..10 {
                radio.on_downlink(at, STATION, 1_500);
            }
            number += 10;
            acknowledge(&mut radio, at, number % 4_096);
        }
        let now = Time::from_micros(100_000 * (slot + 1));
        let report = radio.close_slot(now, STATION, StationId(0));
        radio.close_cell();
        if slot > 50 {
            let level = report.level().unwrap();
            let expected = if slot % 20 == 19 { 50.0 / 41.0 } else { 1.0 };
            assert!((level / expected - 1.0).abs() < 0.1, "slot {slot}: {level}");
        }
    }
    assert_eq!(radio.doubted_slots(), 0);
}

#[test]
fn a_queue_of_the_access_point_that_drains_is_believed() {
    let mut radio = BlockAckRadio::new(BSSID);
    let mut highest = 0;
    // 2,500 packets wait from the beginning; after four seconds no more come, and the queue drains.
    for frame in 0..7_000 {
        let at = Time::from_micros(1_000 * (frame + 1));
        if frame < 4_000 {
            radio.on_downlink(at, STATION, 1_500);
        }
        highest = (highest + 1) % 4_096;
        if frame < 6_500 {
            acknowledge(&mut radio, at + Duration::from_micros(600), highest);
        }
        if frame % 100 == 99 {
            let now = Time::from_micros(1_000 * (frame + 2));
            radio.close_slot(now, STATION, StationId(0));
            radio.close_cell();
        }
    }
    assert_eq!(radio.doubted_slots(), 0);
}
