//! One station whose frames and bursts are known.

use super::*;
use proptest::prelude::*;

const STATION: StationId = StationId(0);
/// Time between two frames, and by how much an uplink frame between them makes it longer.
const ROUND: Duration = Duration::from_millis(2);
const UPLINK: Duration = Duration::from_micros(390);

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
            let segment = DownlinkSegment {
                flow: FlowKey(1),
                sequence: (frame * level + number) * 1_448,
                payload: 1_448,
            };
            let packet = DownlinkPacket {
                bytes: 1_500,
                tcp: Some(segment),
            };
            sensor.on_downlink(at, STATION, &packet);
        }
        acks.push(UplinkAck {
            flow: FlowKey(1),
            number: (frame + 1) * level * 1_448,
            timestamps: Some(Timestamps {
                // Milliseconds of a clock of its own; below 2^32.
                value: 77_000 + (at.as_nanos() / 1_000_000) as u32,
                echo: 0,
            }),
            sack_edge: None,
        });
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
            sack_edge: Some(ack.number),
            ..ack
        })
    });
    let level = report.level().unwrap();
    assert!((level / 12.0 - 1.0).abs() < 0.1, "{level}");
}

#[test]
fn a_station_without_tcp_is_unusable() {
    let mut sensor = AckBurst::new();
    for ms in 0..500 {
        let now = Time::from_millis(ms);
        let packet = DownlinkPacket {
            bytes: 1_200,
            tcp: None,
        };
        sensor.on_downlink(now, STATION, &packet);
        sensor.on_uplink_other(now, STATION, None);
    }
    let report = sensor.close_slot(Time::from_millis(500), STATION);
    assert_eq!((report.frames, report.confidence), (0, 0.0));
}

proptest! {
    #[test]
    fn any_traffic_is_survived(
        events in prop::collection::vec((any::<u64>(), 0..4u8, 0..3u64, any::<u32>(), any::<Option<u32>>()), 0..300),
    ) {
        let mut sensor = AckBurst::new();
        let mut now = 0_u64;
        for (step, kind, flow, number, other) in events {
            now = if kind == 3 { step } else { now.saturating_add(step % 3_000_000) };
            let (at, flow) = (Time::from_nanos(now), FlowKey(flow));
            match kind {
                0 => {
                    let segment = DownlinkSegment { flow, sequence: number, payload: number % 3_000 };
                    sensor.on_downlink(at, STATION, &DownlinkPacket { bytes: 1_500, tcp: Some(segment) });
                }
                1 => {
                    let timestamps = other.map(|value| Timestamps { value, echo: number });
                    sensor.on_ack(at, STATION, &UplinkAck { flow, number, timestamps, sack_edge: other });
                }
                2 => sensor.on_uplink_other(at, STATION, Some(number)),
                _ => {
                    let report = sensor.close_slot(at, STATION);
                    prop_assert!((0.0..=1.0).contains(&report.confidence));
                    prop_assert!(report.packets >= report.frames);
                }
            }
        }
    }
}
