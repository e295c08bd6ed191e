//! One step of a controller with 1,000 stations (the bar is 1 ms), and a division between slots.

use airpace_core::control::{BacklogChange, Goal, Law, LawConfig};
use airpace_core::report::{Answers, LevelSource, OtherNetworks, SenderView, SlotReport};
use airpace_units::{StationId, Time};
use core::time::Duration;
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

const STATIONS: u32 = 1_000;
/// Mbit/s at VHT80, one stream.
const RATES: [f64; 8] = [
    29.3e6, 58.5e6, 87.8e6, 117e6, 175.5e6, 234e6, 292.5e6, 390e6,
];

/// Every station saw four frames of some packets in its half second.
fn reports(slot: u64) -> Vec<SlotReport> {
    let report = |idx: u32| {
        let packets = 4 + (idx * 7 + slot as u32) % 24;
        let start = Time::from_millis(500 * slot + u64::from(idx % 100));
        SlotReport {
            station: StationId(idx),
            slot,
            length: Duration::from_millis(500),
            frames: 4,
            mpdus: packets,
            packets,
            longest_frame: 0,
            bytes: u64::from(packets) * 1_498,
            span: Some((start, start + Duration::from_millis(390))),
            inverse_rate_sum: 4.0 / RATES[idx as usize % RATES.len()],
            recent_inverse_rate: 0.0,
            lost: 0,
            late: 0,
            wait: None,
            transit: None,
            others: OtherNetworks::Unknown,
            airtime_bps: None,
            answers: Answers::Tell,
            upload_bps: None,
            source: LevelSource::AmpduReference,
            sensor: airpace_core::report::Sensor::Agent,
            confidence: 1.0,
            sender: SenderView {
                backlogged: !idx.is_multiple_of(10),
                ..SenderView::default()
            },
        }
    };
    (0..STATIONS).map(report).collect()
}

fn step(c: &mut Criterion) {
    let mut group = c.benchmark_group("controller step, 1000 stations");
    let slots = [reports(0), reports(1), reports(2), reports(3)];
    for law in Law::COMPARED {
        let goal = Goal::papers(32.0, Some(Duration::from_millis(250)));
        let mut controller = LawConfig::named(law, goal)
            .build()
            .expect("its defaults are valid");
        let mut slot = 0;
        group.bench_function(law.name(), |b| {
            b.iter(|| {
                slot += 1;
                black_box(
                    controller
                        .on_slot(
                            Time::from_millis(500 * slot as u64),
                            black_box(&slots[slot % 4]),
                        )
                        .len(),
                )
            });
        });
    }
    group.finish();
}

/// The default law divides the air again because packets begin or cease to wait for one station.
fn divide(c: &mut Criterion) {
    let mut controller = LawConfig::default()
        .build()
        .expect("its defaults are valid");
    for slot in 0..10 {
        let mut reports = reports(slot);
        if slot > 0 {
            // Station 0 has become idle.
            reports[0] = SlotReport {
                slot,
                sender: SenderView {
                    backlogged: false,
                    ..SenderView::default()
                },
                ..SlotReport::silent(StationId(0), Duration::from_millis(500))
            };
        }
        controller.on_slot(Time::from_millis(500 * slot), &reports);
    }
    let mut waits = false;
    c.bench_function("division between slots, 1000 stations", |b| {
        b.iter(|| {
            waits = !waits;
            let change = BacklogChange {
                station: StationId(0),
                waits,
            };
            let rates = controller.on_backlog(Time::from_millis(5_000), black_box(&[change]));
            black_box(rates.map(<[_]>::len))
        });
    });
}

criterion_group!(benches, step, divide);
criterion_main!(benches);
