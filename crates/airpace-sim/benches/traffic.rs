//! Cost of a packet at its ends: drawing it from a source and counting it at the sink.

use airpace_sim::rng::Stream;
use airpace_sim::traffic::{
    Activity, DelayStatistic, FlowStatistic, FrameSize, Frames, Pattern, Period, Rate,
    SequenceStatistic, Source, SourceConfig, Spread, VoipSink, VoipSinkConfig,
};
use airpace_units::{BitRate, Time};
use core::hint::black_box;
use core::time::Duration;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Packets per iteration.
const PACKETS: u64 = 10_000;

fn patterns() -> [(&'static str, Pattern); 3] {
    let (payload_bytes, rate) = (1_470, Rate::Bits(BitRate::from_mbps(100)));
    let frames = Frames {
        rate: Rate::packets_per_second(90.0),
        mean_bytes: 70_000,
        size: FrameSize::LogNormal { deviation: 0.2 },
        packet_bytes: 1_400,
        spread: Spread::BackToBack,
    };
    [
        (
            "constant",
            Pattern::Constant {
                payload_bytes,
                rate,
            },
        ),
        (
            "poisson",
            Pattern::Poisson {
                payload_bytes,
                rate,
            },
        ),
        ("frames", Pattern::Frames(frames)),
    ]
}

fn sources(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("source");
    group.throughput(Throughput::Elements(PACKETS));
    let period = Period::Exponential(Duration::from_millis(100));
    for (name, pattern) in patterns() {
        for (gate, activity) in [
            ("", Activity::Always),
            (
                "-on-off",
                Activity::OnOff {
                    on: period,
                    off: period,
                },
            ),
        ] {
            let config = SourceConfig {
                activity,
                ..SourceConfig::new(pattern)
            };
            let mut source =
                Source::new(config, Stream::new(1, "bench", 0)).expect("the source is valid");
            group.bench_function(format!("{name}{gate}"), |bencher| {
                bencher.iter(|| {
                    for _ in 0..PACKETS {
                        black_box(source.next());
                    }
                });
            });
        }
    }
    group.finish();
}

/// Delays from 1 to 30 ms in random order.
fn delays() -> Vec<Duration> {
    let mut stream = Stream::new(1, "delays", 0);
    (0..PACKETS)
        .map(|_| Duration::from_nanos(1_000_000 + u64::from(stream.up_to(29_000_000))))
        .collect()
}

fn sinks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sink");
    group.throughput(Throughput::Elements(PACKETS));
    let delays = delays();
    let mut delay_statistic = DelayStatistic::default();
    group.bench_function("delay", |bencher| {
        bencher.iter(|| {
            delays
                .iter()
                .for_each(|&delay| delay_statistic.record(black_box(delay)))
        });
    });
    let (mut sequence_statistic, mut sequence) = (SequenceStatistic::default(), 0);
    group.bench_function("sequence", |bencher| {
        bencher.iter(|| {
            for _ in 0..PACKETS {
                sequence += 1;
                black_box(sequence_statistic.record(black_box(sequence)));
            }
        });
    });
    let (mut flow, mut sequence) = (FlowStatistic::default(), 0);
    group.bench_function("flow", |bencher| {
        bencher.iter(|| {
            for &delay in &delays {
                sequence += 1;
                flow.record(
                    Time::from_micros(sequence) + delay,
                    Time::from_micros(sequence),
                    sequence,
                    1_470,
                );
            }
        });
    });
    let (mut call, mut sequence) = (VoipSink::new(VoipSinkConfig::default()), 0);
    group.bench_function("voip", |bencher| {
        bencher.iter(|| {
            for &delay in &delays {
                sequence += 1;
                black_box(call.on_packet(
                    Time::from_millis(sequence * 20) + delay,
                    sequence,
                    Time::from_millis(sequence * 20),
                ));
            }
        });
    });
    group.finish();
    let (quantiles, report) = (black_box(delay_statistic), black_box(call));
    criterion.bench_function("summary/delay", |bencher| {
        bencher.iter(|| quantiles.summary())
    });
    criterion.bench_function("summary/voip", |bencher| {
        bencher.iter(|| report.report(black_box(sequence)))
    });
}

criterion_group!(benches, sources, sinks);
criterion_main!(benches);
