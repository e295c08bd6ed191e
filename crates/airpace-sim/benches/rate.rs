//! Cost of rate adaptation per frame: the choice of a rate and the count of its result, updates
//! included.

use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
use airpace_sim::rate::{FrameResult, MinstrelHt, MinstrelHtConfig, RateAdaptation, rates_up_to};
use airpace_units::Time;
use core::time::Duration;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

/// Frames per sample.
const FRAMES: u64 = 100_000;

/// Sends [`FRAMES`] frames of 32 MPDUs, 1 ms each, over a channel that carries MCS 0 to 7.
fn send(adaptation: &mut RateAdaptation) -> TxRate {
    let mut now = Time::ZERO;
    for _ in 0..FRAMES {
        let rate = adaptation.choose(now, 0);
        now += Duration::from_millis(1);
        let acked = if rate.mcs() <= 7 { 32 } else { 0 };
        adaptation.on_result(
            now,
            &FrameResult {
                rate,
                mpdus: 32,
                acked,
                mpdu_bytes: 1_536,
            },
        );
    }
    adaptation.best()
}

fn per_frame(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rate");
    group
        .throughput(Throughput::Elements(FRAMES))
        .sample_size(20);
    for streams in [1, 4] {
        let rates = rates_up_to(Standard::Vht, Width::Mhz80, streams, GuardInterval::Ns400);
        let minstrel =
            MinstrelHt::new(MinstrelHtConfig::new(rates.clone(), 1, 0)).expect("there are rates");
        let name = format!("minstrel-ht-{}-rates", rates.len());
        group.bench_function(name, |bencher| {
            bencher.iter(|| send(black_box(&mut RateAdaptation::from(minstrel.clone()))));
        });
    }
    group.finish();
}

criterion_group!(benches, per_frame);
criterion_main!(benches);
