//! What a frame costs in the airtime schedule. Run with `cargo bench -p airpace-core --bench
//! airtime`.

use airpace_core::queue::{
    AirtimeConfig, AirtimeFairness, AirtimeLimit, AirtimeLimitConfig, DEFAULT_WEIGHT,
};
use core::hint::black_box;
use core::time::Duration;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const STATIONS: [u32; 3] = [1, 100, 10_000];

fn schedule(stations: u32) -> AirtimeFairness {
    let mut fairness = AirtimeFairness::new(AirtimeConfig::default());
    for _ in 0..stations {
        let station = fairness.add(DEFAULT_WEIGHT);
        fairness.wake(station);
    }
    fairness
}

/// All stations always have something to send: one choice and its charge. A frame of 300 µs takes
/// one quantum, one of 4 ms 13.
fn backlogged(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("airtime/next+charge");
    group.throughput(Throughput::Elements(1));
    for (frame, us) in [("short", 300), ("long", 4_000)] {
        for stations in STATIONS {
            let mut fairness = schedule(stations);
            group.bench_function(BenchmarkId::new(frame, stations), |b| {
                b.iter(|| {
                    let station = fairness.next();
                    if let Some(station) = station {
                        fairness.charge(station, Duration::from_micros(us));
                    }
                    black_box(station)
                });
            });
        }
    }
    group.finish();
}

/// One station has something to send, all others are deep in debt, as after an upload: the worst
/// case of one choice.
fn debtors(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("airtime/one among debtors");
    for stations in STATIONS {
        let mut fairness = schedule(stations);
        for station in 1..stations {
            fairness.charge(station, Duration::from_secs(36_000));
        }
        group.bench_function(BenchmarkId::from_parameter(stations), |b| {
            b.iter(|| {
                let station = fairness.next();
                if let Some(station) = station {
                    fairness.charge(station, Duration::from_micros(4_000));
                }
                black_box(station)
            });
        });
    }
    group.finish();
}

/// A sparse station beside backlogged ones: wakes, is served, is found empty twice.
fn sparse(criterion: &mut Criterion) {
    let mut fairness = schedule(100);
    let sparse = fairness.add(DEFAULT_WEIGHT);
    criterion.bench_function("airtime/sparse", |b| {
        b.iter(|| {
            fairness.wake(sparse);
            let mut served = 0;
            while let Some(station) = fairness.next() {
                fairness.charge(station, Duration::from_micros(250));
                served += 1;
                if station == sparse {
                    fairness.found_empty(sparse);
                    break;
                }
            }
            black_box(served)
        });
    });
}

fn limit(criterion: &mut Criterion) {
    let mut limit = AirtimeLimit::new(AirtimeLimitConfig::default());
    (0..100).for_each(|_| _ = limit.add());
    let (mut station, frame) = (0, Duration::from_micros(1_500));
    criterion.bench_function("airtime limit/check+sent+completed", |b| {
        b.iter(|| {
            station = (station + 1) % 100;
            if black_box(limit.may_send(station)) {
                limit.sent(station, frame);
            }
            limit.completed(station, frame);
        });
    });
}

criterion_group!(benches, backlogged, debtors, sparse, limit);
criterion_main!(benches);
