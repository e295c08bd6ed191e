//! Cost of the error model: what a MAC pays when a link's ratio or rate changes, and what it pays
//! per MPDU.

use airpace_core::phy::error::{Coding, ErrorModel};
use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

fn errors(c: &mut Criterion) {
    let he = |mcs| {
        TxRate::new(Standard::He, Width::Mhz80, 1, mcs, GuardInterval::Ns800)
            .expect("HE has this rate")
    };
    for (name, coding, mcs) in [
        ("BPSK 1/2", Coding::Convolutional, 0),
        ("256-QAM 5/6", Coding::Convolutional, 9),
        ("1024-QAM 5/6, hard decisions", Coding::Convolutional, 11),
        ("1024-QAM 5/6, LDPC", Coding::Ldpc, 11),
    ] {
        let (model, rate) = (ErrorModel::new(coding), he(mcs));
        c.bench_function(&format!("bit hazard, {name}"), |b| {
            b.iter(|| model.bit_hazard(black_box(rate), black_box(25.0)));
        });
    }
    let hazard = ErrorModel::default().bit_hazard(he(9), 25.0);
    c.bench_function("MPDU error of a bit hazard", |b| {
        b.iter(|| black_box(hazard).mpdu_error(black_box(1_536)))
    });
}

criterion_group!(benches, errors);
criterion_main!(benches);
