//! Time of one allocation: the closed form on 10,000 stations (bar: 5 ms), the conic solver on 100.

use airpace_core::alloc::{DelayTerms, Problem, Station, Utility, Waterfill, conic, waterfill};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

/// Stations from 6.5 to 1300 Mbit/s, in an order that sorting must work on.
fn stations(n: u32) -> Vec<Station> {
    let spread = |i: u32| f64::from(i.wrapping_mul(2_654_435_761)) / f64::from(u32::MAX);
    (0..n)
        .map(|i| Station::new(12_000.0 / (6.5e6 * 200f64.powf(spread(i))), 214e-6, 32.0))
        .collect()
}

fn allocate(criterion: &mut Criterion) {
    let many = stations(10_000);
    let overhead_s = 10_000.0 * 214e-6;
    let problem = Problem::new(many.clone(), Some(10.0)).expect("the numbers are in range");
    criterion.bench_function("waterfill/10000", |b| {
        b.iter(|| waterfill(black_box(&problem)))
    });
    let mut filler = Waterfill::new();
    criterion.bench_function("waterfill-reused/10000", |b| {
        b.iter(|| {
            filler
                .solve(black_box(&many), overhead_s, DelayTerms::limit(Some(10.0)))
                .map(|filled| filled.round_s)
        });
    });
    let few = Problem::new(stations(100), Some(0.1)).expect("the numbers are in range");
    for alpha in [1.0, 2.0] {
        criterion.bench_function(&format!("conic-alpha-{alpha}/100"), |b| {
            b.iter(|| conic(black_box(&few), &Utility::AlphaFair(alpha)));
        });
    }
}

criterion_group!(benches, allocate);
criterion_main!(benches);
