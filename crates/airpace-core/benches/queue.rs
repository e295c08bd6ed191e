//! What a packet costs in the queues, and a message in the parsers. Run with `cargo bench -p airpace-core --bench queue`.

use airpace_core::packet::Packet;
use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
use airpace_core::queue::{Fifo, FqCoDel, FqCoDelConfig, Limits};
use airpace_core::report::{LevelSource, SenderView, SlotReport};
use airpace_core::wire::ieee80211::{DataHeader, MacAddr};
use airpace_core::wire::radiotap::{Ampdu, Channel, Flags, Radiotap};
use airpace_core::wire::replay::ReplayWindow;
use airpace_core::wire::{inner, report};
use airpace_units::{StationId, Time};
use core::hash::Hasher;
use core::hint::black_box;
use core::time::Duration;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// A packet as the simulator has it: small, with what identifies its flow.
struct Small {
    addresses: u64,
    ports: u32,
    bytes: u32,
}

impl Packet for Small {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.addresses);
        state.write_u32(self.ports);
        state.write_u8(6);
    }

    fn mark_ce(&mut self) -> bool {
        true
    }
}

fn packet(flow: u32) -> Small {
    Small { addresses: 0x0a00_0001_0a00_0002, ports: flow, bytes: 1_500 }
}

/// One packet in and one out of a queue with a standing backlog of two packets per flow.
fn queues(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("enqueue+dequeue");
    group.throughput(Throughput::Elements(1));
    for flows in [1, 100, 10_000] {
        let config = FqCoDelConfig { packet_limit: 100_000, byte_limit: u64::MAX, ..FqCoDelConfig::default() };
        let mut queue = FqCoDel::new(config, [7; 16]);
        let (mut now, mut flow) = (Time::ZERO, 0);
        for i in 0..2 * flows {
            queue.enqueue(now, packet(i % flows));
        }
        group.bench_function(BenchmarkId::new("fq_codel", flows), |b| {
            b.iter(|| {
                now += Duration::from_nanos(50);
                flow = (flow + 1) % flows;
                queue.enqueue(now, packet(flow));
                black_box(queue.dequeue(now))
            });
        });
    }
    let mut queue = Fifo::new(Limits::packets(1_000));
    queue.enqueue(Time::ZERO, packet(0));
    group.bench_function("fifo", |b| {
        b.iter(|| {
            queue.enqueue(Time::ZERO, packet(0));
            black_box(queue.dequeue(Time::ZERO))
        });
    });
    group.finish();
}

/// Packets dropped because there is no room: the search for the fattest flow, shared by the batch.
fn overload(criterion: &mut Criterion) {
    let mut queue = FqCoDel::new(FqCoDelConfig::default(), [7; 16]);
    let mut flow = 0;
    criterion.bench_function("fq_codel/overload", |b| {
        b.iter(|| {
            flow = (flow + 1) % 10_000;
            queue.enqueue(Time::ZERO, packet(flow));
        });
    });
}

fn slot_report() -> SlotReport {
    SlotReport {
        station: StationId(3),
        slot: 17,
        length: Duration::from_millis(100),
        frames: 120,
        mpdus: 3_840,
        packets: 3_840,
        bytes: 5_644_800,
        span: Some((Time::from_millis(7_000), Time::from_millis(7_099))),
        inverse_rate_sum: 120.0 / 390e6,
        lost: 4,
        late: 9,
        delay: None,
        source: LevelSource::AmpduReference,
        sender: SenderView::default(),
    }
}

fn messages(criterion: &mut Criterion) {
    let (slot, station) = (slot_report(), StationId(3));
    let encoded = report::encode(&slot);
    criterion.bench_function("report/encode", |b| b.iter(|| report::encode(black_box(&slot))));
    criterion.bench_function("report/decode", |b| b.iter(|| report::decode(station, black_box(&encoded))));
    let mut window = ReplayWindow::new();
    let mut counter = 0;
    criterion.bench_function("replay/accept", |b| {
        b.iter(|| {
            counter += 1;
            window.accept(black_box(counter))
        });
    });
    let mut ip = vec![0; 1_400];
    ip[..10].copy_from_slice(&[0x45, 1, 5, 120, 0, 0, 0x40, 0, 64, 6]);
    criterion.bench_function("inner/parse", |b| b.iter(|| inner::IpInfo::parse(black_box(&ip))));
}

fn monitor(criterion: &mut Criterion) {
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800).expect("a rate of the standard");
    let header = Radiotap {
        tsft_us: Some(123_456),
        flags: Some(Flags(0)),
        channel: Some(Channel { mhz: 5180, flags: Channel::OFDM_5GHZ }),
        signal_dbm: Some(-42),
        ampdu: Some(Ampdu::new(77, true)),
        ..Radiotap::default()
    }
    .with_rate(rate);
    let mut frame = Vec::new();
    criterion.bench_function("radiotap/write", |b| {
        b.iter(|| {
            frame.clear();
            black_box(header).write(&mut frame)
        });
    });
    DataHeader::downlink(MacAddr([2; 6]), MacAddr([4; 6]), 9, false).write(&mut frame);
    criterion.bench_function("radiotap/parse", |b| b.iter(|| Radiotap::parse(black_box(&frame))));
    criterion.bench_function("radiotap+802.11/parse", |b| {
        b.iter(|| {
            let (radiotap, length) = Radiotap::parse(black_box(&frame)).ok()?;
            let (header, _) = DataHeader::parse(&frame[length..]).ok()?;
            Some((radiotap.rate(), header.sequence))
        });
    });
}

criterion_group!(benches, queues, overload, messages, monitor);
criterion_main!(benches);
