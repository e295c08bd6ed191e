//! One station whose frames and bursts are known.

use super::estimate::{Observed, UNDIVIDED, expected_frames_per_burst};
use super::*;
use crate::sensor::USABLE;
use proptest::prelude::*;

const STATION: StationId = StationId(0);
/// Time between two frames, and by how much an uplink frame between them makes it longer.
const ROUND: Duration = Duration::from_millis(2);
const UPLINK: Duration = Duration::from_micros(390);

/// A full segment from this sequence number on.
fn packet(sequence: u32) -> DownlinkPacket {
    DownlinkPacket {
        bytes: 1_500,
        tcp: Some(DownlinkSegment {
            flow: FlowKey(1),
            sequence,
            payload: 1_448,
            timestamp: None,
        }),
        quic: None,
    }
}

/// An acknowledgement up to `number`, written `at`.
fn ack(at: Time, number: u32) -> UplinkAck {
    UplinkAck {
        flow: FlowKey(1),
        number,
        timestamps: Some(Timestamps {
            // Milliseconds of a clock of its own; below 2^32.
            value: 77_000 + (at.as_nanos() / 1_000_000) as u32,
            echo: 0,
        }),
        highest_sack: None,
        before_bytes: None,
    }
}

fn assert_segment_takes(transit: SegmentTransit, expected_us: u64) {
    let found_us = (transit.of_frame(1.0) - TRANSIT_COMMON).as_secs_f64() * 1e6;
    assert!(
        (found_us / expected_us as f64 - 1.0).abs() < 0.05,
        "{found_us}"
    );
}

/// Hears a station for three seconds that receives a frame of `level` segments every two
/// milliseconds, and sends one burst for every `frames_per_burst` of them. `change` may alter or
/// drop what the box sees of each acknowledgement. Returns the report of the last slot.
fn hear(
    level: u32,
    frames_per_burst: u32,
    change: impl Fn(UplinkAck) -> Option<UplinkAck>,
) -> SlotReport {
    let mut sensor = AckBurst::new();
    let mut report = SlotReport::silent(STATION, Duration::ZERO);
    let mut acks = Vec::new();
    let mut at = Time::ZERO;
    for frame in 0..1_500_u32 {
        let follows_uplink = frame % frames_per_burst == 0;
        at += ROUND
            + if follows_uplink {
                UPLINK
            } else {
                Duration::ZERO
            };
        for number in 0..level {
            sensor.on_downlink(at, STATION, &packet((frame * level + number) * 1_448));
        }
        acks.push(ack(at, (frame + 1) * level * 1_448));
        if (frame + 1) % frames_per_burst == 0 {
            for (place, ack) in acks.drain(..).enumerate() {
                let passes = at + Duration::from_micros(300 + 5 * place as u64);
                if let Some(ack) = change(ack) {
                    sensor.on_ack(passes, STATION, &ack);
                }
            }
        }
        if frame % 50 == 49 {
            report = sensor.close_slot(at + Duration::from_millis(1), STATION);
        }
    }
    report
}

#[test]
fn frames_that_share_a_burst_are_told_apart_by_the_clock() {
    for frames_per_burst in [2, 3] {
        let report = hear(12, frames_per_burst, Some);
        let level = report.level().unwrap();
        assert!(
            (level / 12.0 - 1.0).abs() < 0.1,
            "{frames_per_burst}: {level}"
        );
        let round_s = 2e-3 + 390e-6 / f64::from(frames_per_burst);
        assert!((report.round_s().unwrap() / round_s - 1.0).abs() < 0.15);
        assert!(report.confidence > 0.7 && report.sensor == Sensor::AckBurst);
    }
}

#[test]
fn a_station_that_drops_older_acknowledgements_is_unusable() {
    // Of each burst of two, only the second is sent.
    let report = hear(12, 2, |ack| {
        (ack.number / (12 * 1_448) % 2 == 0).then_some(ack)
    });
    assert_eq!((report.frames, report.confidence), (0, 0.0));
}

#[test]
fn selective_acknowledgements_count_as_acknowledged() {
    let report = hear(12, 2, |ack| {
        Some(UplinkAck {
            number: 1_448,
            highest_sack: Some(SackBlock {
                start: 2_896,
                end: ack.number,
            }),
            ..ack
        })
    });
    let level = report.level().unwrap();
    assert!((level / 12.0 - 1.0).abs() < 0.1, "{level}");
}

#[test]
fn segments_that_are_missing_do_not_shorten_the_time_per_segment() {
    // The access point's queue is full and has dropped every second segment, so that frames hold half of what
    // selective acknowledgements advance by.
    const HELD: u32 = 6;
    const SEGMENT_US: u64 = 200;
    let mut sensor = AckBurst::new();
    let mut transit = None;
    let mut at = Time::ZERO;
    let mut sequence = 1_448;
    for frame in 0..500 {
        let mut acks = Vec::new();
        for number in 0..2 * HELD {
            sensor.on_downlink(at, STATION, &packet(sequence));
            let end = sequence + 1_448;
            if number % 2 == 1 {
                acks.push(SackBlock {
                    start: sequence,
                    end,
                });
            }
            sequence = end;
        }
        at += TRANSIT_COMMON + Duration::from_micros(SEGMENT_US * u64::from(HELD));
        for block in acks {
            let ack = UplinkAck {
                highest_sack: Some(block),
                ..ack(at, 1_448)
            };
            sensor.on_ack(at, STATION, &ack);
        }
        if frame % 50 == 49 {
            transit = SegmentTransit::of(&sensor.close_slot(at, STATION));
        }
        at += Duration::from_micros(200);
    }
    assert_segment_takes(transit.unwrap(), SEGMENT_US);
}

#[test]
fn a_station_that_answers_every_second_frame_of_one_segment_does_not_seem_twice_as_fast() {
    const SEGMENT_US: u64 = 400;
    let mut sensor = AckBurst::new();
    let mut transit = None;
    for number in 0..2_000_u32 {
        // One segment at a time, because the box sends slowly.
        let sent = Time::from_micros(1_750 * u64::from(number));
        sensor.on_downlink(sent, STATION, &packet(number * 1_448));
        if number % 2 == 1 {
            let at = sent + TRANSIT_COMMON + Duration::from_micros(SEGMENT_US);
            sensor.on_ack(at, STATION, &ack(at, (number + 1) * 1_448));
        }
        if number % 60 == 59 {
            transit = SegmentTransit::of(&sensor.close_slot(sent + TRANSIT_COMMON, STATION));
        }
    }
    assert_segment_takes(transit.unwrap(), SEGMENT_US);
}

#[test]
fn a_station_without_tcp_is_unusable() {
    let mut sensor = AckBurst::new();
    for ms in 0..500 {
        let now = Time::from_millis(ms);
        let packet = DownlinkPacket {
            bytes: 1_200,
            tcp: None,
            quic: None,
        };
        sensor.on_downlink(now, STATION, &packet);
        sensor.on_uplink_other(now, STATION, None);
    }
    let report = sensor.close_slot(Time::from_millis(500), STATION);
    assert_eq!((report.frames, report.confidence), (0, 0.0));
}

/// A short QUIC packet of a station.
fn answer(flow: FlowKey) -> UplinkQuic {
    UplinkQuic {
        spin: SpinBit::new(flow, false),
        bytes: 80,
        before_bytes: None,
    }
}

/// Hears two stations that receive frames of `level` packets of QUIC in turn, at `packet_us` a packet, and answer
/// every `every` packets, with so many `requests` after each frame, for three seconds. Returns the last report of
/// one.
fn hear_quic(level: u32, packet_us: u64, every: u32, requests: u32) -> SlotReport {
    let mut sensor = AckBurst::new();
    let mut report = SlotReport::silent(STATION, Duration::ZERO);
    let took = TRANSIT_COMMON + Duration::from_micros(packet_us * u64::from(level));
    let (mut at, mut counts) = (Time::ZERO, [0; 2]);
    for frame in 0..(3_000_000 / took.as_micros()) {
        let (own, other) = (frame % 2, (frame + 1) % 2);
        let station = |index: u128| StationId::from_index(index as usize);
        let flow = |index: u128| FlowKey(index as u64);
        // The packets of the other's next frame come while this one is on the air.
        for number in 0..level {
            let packet = DownlinkPacket {
                bytes: 1_250,
                tcp: None,
                quic: Some(SpinBit {
                    is_fixed: number % 2 == 1,
                    ..SpinBit::new(flow(other), false)
                }),
            };
            sensor.on_downlink(at + took * number / level, station(other), &packet);
        }
        at += took;
        let count = &mut counts[own as usize];
        let answers = (*count + level) / every - *count / every;
        *count += level;
        for number in 0..answers {
            let passes = at + Duration::from_micros(u64::from(5 * number));
            sensor.on_quic(passes, station(own), &answer(flow(own)));
        }
        for _ in 0..requests {
            let request = UplinkQuic {
                bytes: 1_000,
                ..answer(flow(own))
            };
            sensor.on_quic(at + Duration::from_micros(40), station(own), &request);
        }
        if frame % 100 == 99 {
            report = sensor.close_slot(at, STATION);
            sensor.close_slot(at, StationId(1));
        }
    }
    report
}

#[test]
fn frames_of_quic_are_told_by_the_answers_to_them_and_what_was_sent_meanwhile() {
    for (level, every) in [(8, 2), (20, 2), (20, 10)] {
        let report = hear_quic(level, 40, every, 0);
        // One answer in three is expected to follow two frames.
        let found = report.level().unwrap() * UNDIVIDED * expected_frames_per_burst(2);
        assert!(
            (found / f64::from(level) - 1.0).abs() < 0.05,
            "{level} {every}: {found}"
        );
    }
}

#[test]
fn a_quic_client_that_may_leave_frames_unanswered_is_unusable() {
    for (level, every, requests) in [(5, 10, 0), (8, 8, 0), (8, 8, 3), (9, 10, 0), (20, 20, 0)] {
        let report = hear_quic(level, 40, every, requests);
        assert!(report.confidence < USABLE, "{level} {every} {requests}");
        // What is known if most frames are answered is how long packets of 1,250 bytes take.
        if level >= 8 {
            let packet_us = 8e6 * 1_250.0 / report.airtime_bps.unwrap();
            assert!(
                (30.0..45.0).contains(&packet_us),
                "{level} {every}: {packet_us}"
            );
        }
    }
}

#[test]
fn packets_of_quic_that_nothing_answers_do_not_count_when_the_connection_goes_on() {
    let mut flow = quic::Unanswered::default();
    assert!(
        !flow.on_packet(Time::ZERO, 1_250, false),
        "not known to be QUIC"
    );
    assert!(flow.on_packet(Time::from_millis(1), 1_250, true));
    assert!(flow.on_packet(Time::from_millis(4_000), 1_250, false));
    let arrived = flow.answer_until(Time::from_millis(4_001), |_| {});
    assert_eq!((arrived.segments, arrived.bytes), (1, 1_250));
}

#[test]
fn an_airtime_that_was_told_is_told_on_while_bursts_are_a_little_fewer() {
    let observed = |bursts| Observed {
        bursts,
        eliciting: 100.0,
        hidden: 100.0,
        hidden_bytes: 125_000.0,
        ..Observed::default()
    };
    for (bursts, was_told, is_told) in [
        (45.0, false, true),
        (30.0, false, false),
        (30.0, true, true),
        (20.0, true, false),
    ] {
        let told_bps = observed(bursts).airtime_bps(40e-6, was_told);
        assert_eq!(told_bps.is_some(), is_told, "{bursts} {was_told}");
    }
}

#[test]
fn a_burst_that_answers_quic_takes_its_turn_although_it_begins_with_tcp() {
    let mut sensor = AckBurst::new();
    let at = Time::from_millis;
    let flow = FlowKey(2);
    let packet = DownlinkPacket {
        bytes: 1_250,
        tcp: None,
        quic: Some(SpinBit::new(flow, false)),
    };
    sensor.on_downlink(at(1), STATION, &packet);
    // It acknowledges nothing that the sensor has seen.
    sensor.on_ack(at(2), STATION, &ack(at(2), 1));
    assert_eq!(sensor.turns.latest(), None);
    sensor.on_quic(at(2), STATION, &answer(flow));
    assert_eq!(sensor.turns.latest(), Some(at(2)));
}

#[test]
fn small_packets_of_quic_ask_for_no_answer() {
    let mut sensor = AckBurst::new();
    for ms in 0..500 {
        let now = Time::from_millis(ms);
        let packet = DownlinkPacket {
            bytes: 70,
            tcp: None,
            quic: Some(SpinBit::new(FlowKey(1), false)),
        };
        sensor.on_downlink(now, STATION, &packet);
        sensor.on_quic(
            now + Duration::from_micros(500),
            STATION,
            &answer(FlowKey(1)),
        );
    }
    let report = sensor.close_slot(Time::from_millis(500), STATION);
    assert_eq!(
        (report.frames, report.bytes, report.confidence),
        (0, 0, 0.0)
    );
}

/// A station that downloads `LEVEL` segments per frame of the access point and answers each frame together
/// with `uploaded` segments of its own, at 390 Mbit/s both ways. As many acknowledgements for the upload come
/// between the segments to it. Every `lone` frames it also uploads in a frame that answers nothing, unless
/// `lone` is 0. Returns the report of the last slot.
fn both_ways(uploaded: u32, lone: u32) -> SlotReport {
    const LEVEL: u32 = 20;
    let upload = |sensor: &mut AckBurst, at_us: u64, bytes: &mut u32| {
        sensor.on_uplink_other(Time::from_micros(at_us), STATION, Some(*bytes));
        *bytes = bytes.wrapping_add(1_500 * uploaded);
    };
    let mut sensor = AckBurst::new();
    // The count of bytes wraps around.
    let (mut now_us, mut bytes, mut report) = (1_000_u64, u32::MAX - 500_000, None);
    for frame in 0..2_000_u32 {
        let handed_over = Time::from_micros(now_us);
        for number in 0..LEVEL {
            let tcp = |flow, sequence, payload| DownlinkPacket {
                bytes: payload + 52,
                tcp: Some(DownlinkSegment {
                    flow: FlowKey(flow),
                    sequence,
                    payload,
                    timestamp: None,
                }),
                quic: None,
            };
            let sequence = (frame * LEVEL + number) * 1_448;
            sensor.on_downlink(handed_over, STATION, &tcp(1, sequence, 1_448));
            sensor.on_downlink(handed_over, STATION, &tcp(2, 1, 0));
        }
        now_us += 310 + 32 * u64::from(LEVEL + uploaded);
        if uploaded > 0 {
            upload(&mut sensor, now_us, &mut bytes);
        }
        for pair in 1..=LEVEL / 2 {
            let ack = UplinkAck {
                flow: FlowKey(1),
                number: (frame * LEVEL + 2 * pair) * 1_448,
                timestamps: Some(Timestamps {
                    value: 77_000 + (now_us / 1_000) as u32,
                    echo: 0,
                }),
                highest_sack: None,
                before_bytes: Some(bytes),
            };
            let passes = Time::from_micros(now_us + u64::from(pair));
            sensor.on_ack(passes, STATION, &ack);
            bytes = bytes.wrapping_add(52);
        }
        if uploaded > 0 && lone > 0 && frame % lone == 0 {
            now_us += 200 + 32 * u64::from(uploaded);
            upload(&mut sensor, now_us, &mut bytes);
        }
        if frame % 60 == 59 {
            report = Some(sensor.close_slot(Time::from_micros(now_us), STATION));
        }
    }
    report.unwrap()
}

#[test]
fn what_a_station_uploads_with_its_answers_does_not_make_its_download_look_slow() {
    // Half of the packets to it are acknowledgements without payload, which are in the frames of the segments.
    let packet_s = |report: &SlotReport| {
        let beyond_s = (report.transit.unwrap() - TRANSIT_COMMON).as_secs_f64();
        beyond_s / report.level().unwrap()
    };
    for (uploaded, lone) in [(0, 0), (10, 0), (30, 0), (10, 4), (30, 4)] {
        let report = both_ways(uploaded, lone);
        assert!(report.confidence > 0.0, "{uploaded} {lone}: unusable");
        let error = packet_s(&report) / 16e-6 - 1.0;
        assert!(error.abs() < 0.1, "{uploaded} {lone}: {error}");
    }
}

proptest! {
    #[test]
    fn any_traffic_is_survived(
        events in prop::collection::vec((any::<u64>(), 0..6u8, 0..3u64, any::<u32>(), any::<Option<u32>>()), 0..300),
    ) {
        let mut sensor = AckBurst::new();
        let mut now = 0_u64;
        for (step, kind, flow, number, other) in events {
            now = if kind == 3 { step } else { now.saturating_add(step % 3_000_000) };
            let (at, flow) = (Time::from_nanos(now), FlowKey(flow));
            match kind {
                0 => {
                    let segment = DownlinkSegment { flow, sequence: number, payload: number % 3_000, timestamp: None };
                    sensor.on_downlink(at, STATION, &DownlinkPacket { bytes: 1_500, tcp: Some(segment), quic: None });
                }
                1 => {
                    let timestamps = other.map(|value| Timestamps { value, echo: number });
                    let highest_sack = other.map(|end| SackBlock { start: end ^ number, end });
                    sensor.on_ack(at, STATION, &UplinkAck { flow, number, timestamps, highest_sack, before_bytes: other });
                }
                2 => sensor.on_uplink_other(at, STATION, Some(number)),
                4 => {
                    let spin = SpinBit::new(flow, number % 2 == 0);
                    sensor.on_quic(at, STATION, &UplinkQuic { spin, bytes: number, before_bytes: other });
                }
                5 => {
                    let quic = Some(SpinBit { flow, is_set: number % 2 == 0, is_fixed: number % 3 == 0 });
                    sensor.on_downlink(at, STATION, &DownlinkPacket { bytes: number, tcp: None, quic });
                }
                _ => {
                    let report = sensor.close_slot(at, STATION);
                    prop_assert!((0.0..=1.0).contains(&report.confidence));
                    prop_assert!(report.packets >= report.frames);
                }
            }
        }
    }
}

/// The airtime of a segment, µs, that frames of 4, 8 or 16 segments to one station tell, if a segment takes
/// `segment_us` and the access point is `way_us` away, there and back. Before each frame
/// others use the air for 1.5 ms.
fn told_segment_us(segment_us: u64, way_us: u64) -> f64 {
    let mut sensor = AckBurst::new();
    let (mut now_us, mut sequence, mut told_us) = (10_000_u64, 0, 0.0);
    for frame in 0..3_000_u32 {
        let level = [4_u32, 8, 16][frame as usize % 3];
        now_us += 1_500;
        for number in 0..level {
            // The last comes up to one gap before the frame is composed, 45 µs on average.
            let before_us = u64::from(level - number) * 90 - u64::from(frame * 7 % 90);
            let at = Time::from_micros(now_us - before_us);
            sensor.on_downlink(at, STATION, &packet(sequence));
            sequence += 1_448;
        }
        // Back-off takes up to 130 µs.
        let common_us = 200 + u64::from(frame * 11 % 130);
        now_us += common_us + segment_us * u64::from(level);
        for pair in 1..=level / 2 {
            let passes = Time::from_micros(now_us + way_us + u64::from(pair));
            let number = sequence - (level - 2 * pair) * 1_448;
            sensor.on_ack(passes, STATION, &ack(passes, number));
        }
        if frame % 40 == 39 {
            let report = sensor.close_slot(Time::from_micros(now_us + way_us + 50), STATION);
            if let Some(transit) = SegmentTransit::of(&report) {
                let beyond = transit.of_frame(1.0).saturating_sub(TRANSIT_COMMON);
                told_us = beyond.as_secs_f64() * 1e6;
            }
        }
    }
    told_us
}

#[test]
fn the_way_to_the_access_point_is_not_taken_for_airtime() {
    for segment_us in [31, 70, 280] {
        for way_us in [0, 300, 2_000] {
            let told_us = told_segment_us(segment_us, way_us);
            let error = told_us / segment_us as f64 - 1.0;
            assert!(error.abs() < 0.1, "{segment_us} {way_us}: {told_us}");
        }
    }
}
