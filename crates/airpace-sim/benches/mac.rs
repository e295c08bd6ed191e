//! Packets per second of wall time through the saturated MAC in virtual time, for one, ten and a
//! hundred stations.

use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
use airpace_sim::mac::{CellConfig, Datagram, Input, Mac, Output, PathConfig, StationConfig};
use airpace_units::{StationId, Time};
use core::time::Duration;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Packets per sample.
const PACKETS: u64 = 100_000;
/// IP bytes of each, as in ns-3's reference results.
const IP_BYTES: u32 = 1_498;

/// Offers packets faster than the channel can carry them until [`PACKETS`] are delivered. Returns
/// the time simulated.
///
/// Never inlined, because instruction counts are taken within it (see `docs/benchmarks.md`).
#[inline(never)]
fn saturate(stations: u32) -> Time {
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800)
        .expect("VHT has this rate");
    let config = CellConfig {
        access_point: PathConfig::per_station(200),
        ..CellConfig::new(vec![StationConfig::new(rate); stations as usize])
    };
    let mut mac = Mac::cell(&config, 1).expect("the cell is valid");
    let (mut now, mut id, mut delivered) = (Time::ZERO, 0, 0);
    while delivered < PACKETS {
        // 400 Mbit/s in all, at a PHY rate of 390.
        now += Duration::from_nanos(30_000);
        id += 1;
        let station = StationId((id % u64::from(stations)) as u32);
        mac.handle(now, Input::down(station, Datagram::new(id, IP_BYTES)));
        while let Some(output) = mac.poll() {
            delivered += u64::from(matches!(output, Output::Delivered { .. }));
        }
    }
    now
}

fn saturated(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("mac-saturated");
    group
        .throughput(Throughput::Elements(PACKETS))
        .sample_size(20);
    for stations in [1, 10, 100] {
        group.bench_function(format!("{stations}-stations"), |bencher| {
            bencher.iter(|| saturate(stations))
        });
    }
    group.finish();
}

criterion_group!(benches, saturated);
criterion_main!(benches);
