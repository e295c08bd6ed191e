//! What a packet costs in the queues, and a message in the parsers. Run with `cargo bench -p
//! airpace-core --bench queue`.

use airpace_core::packet::{Ecn, Packet};
use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
use airpace_core::queue::{
    DualQueue, Fifo, FqCoDel, FqCoDelConfig, FqMac, FqMacConfig, L4sConfig, Limits, TidId,
};
use airpace_core::report::{Answers, LevelSource, OtherNetworks, SenderView, SlotReport};
use airpace_core::wire::ieee80211::{DataHeader, MacAddr};
use airpace_core::wire::radiotap::{Ampdu, Channel, Flags, Radiotap};
use airpace_core::wire::replay::ReplayWindow;
use airpace_core::wire::{ip, report};
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
    ecn: Ecn,
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
        self.ecn = Ecn::Ce;
        true
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }
}

fn packet(flow: u32) -> Small {
    Small {
        addresses: 0x0a00_0001_0a00_0002,
        ports: flow,
        bytes: 1_500,
        ecn: Ecn::Ect0,
    }
}

/// One packet in and one out of a queue with a standing backlog of two packets per flow.
fn queues(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("enqueue+dequeue");
    group.throughput(Throughput::Elements(1));
    for flows in [1, 100, 10_000] {
        let config = FqCoDelConfig {
            packet_limit: 100_000,
            byte_limit: u64::MAX,
            ..FqCoDelConfig::default()
        };
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
    // The dual queue: no flow scalable, every second one, all.
    for (name, scalable_every) in [("classic", 0), ("mixed", 2), ("scalable", 1)] {
        let flows = 100;
        let ecn = |flow: u32| match scalable_every {
            0 => Ecn::Ect0,
            every if flow.is_multiple_of(every) => Ecn::Ect1,
            _ => Ecn::Ect0,
        };
        let packet = |flow| Small {
            ecn: ecn(flow),
            ..packet(flow)
        };
        let l4s = Some(L4sConfig::default());
        let mut queue = DualQueue::new(FqCoDelConfig::default(), l4s, [7; 16]);
        let (mut now, mut flow) = (Time::ZERO, 0);
        for i in 0..2 * flows {
            queue.enqueue(now, packet(i % flows));
        }
        group.bench_function(BenchmarkId::new(format!("dual/{name}"), flows), |b| {
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

/// The queues of an access point with room for all packets, and this many TIDs.
fn access_point(queues: u32, tids: u32) -> (FqMac<Small>, Vec<TidId>) {
    let config = FqMacConfig {
        queues,
        packet_limit: 100_000,
        memory_limit: u64::MAX,
        ..FqMacConfig::default()
    };
    let mut queue = FqMac::new(config, [7; 16]);
    let tids = (0..tids).map(|station| queue.add_tid(station)).collect();
    (queue, tids)
}

/// One packet in and one out of the queues of an access point with a standing backlog of two
/// packets per flow. The flows are spread over the TIDs, and each TID whose packet comes in may
/// send one. 10,000 flows share 4096 queues, or have 16,384.
fn flow_queues(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("enqueue+dequeue");
    group.throughput(Throughput::Elements(1));
    let cases = [
        (1, 1, 4096),
        (100, 1, 4096),
        (10_000, 1, 4096),
        (10_000, 1, 16_384),
    ];
    let cases = cases.into_iter().chain([
        (100, 20, 4096),
        (10_000, 20, 4096),
        (10_000, 1_000, 4096),
        (10_000, 20, 16_384),
    ]);
    for (flows, tids, queues) in cases {
        let (mut queue, ids) = access_point(queues, tids);
        let (mut now, mut flow) = (Time::ZERO, 0);
        for i in 0..2 * flows {
            queue.enqueue(now, ids[(i % flows % tids) as usize], packet(i % flows));
        }
        let name = format!("fq_mac/{flows} flows, {tids} tids, {queues} queues");
        group.bench_function(name, |b| {
            b.iter(|| {
                now += Duration::from_nanos(50);
                flow = (flow + 1) % flows;
                let tid = ids[(flow % tids) as usize];
                queue.enqueue(now, tid, packet(flow));
                black_box(queue.dequeue(now, tid))
            });
        });
    }
    group.finish();
}

/// Packets dropped because there is no room, by the search for the longest queue. FQ-CoDel shares
/// the search among a batch, the queues of the access point drop one packet for each that comes.
/// The sizes are alike, or any mixture from 0 to 64 KiB.
fn overload(criterion: &mut Criterion) {
    let sizes: [fn(u32) -> u32; 2] = [|_| 1_500, |i| i.wrapping_mul(0x9e37_79b9) >> 16];
    let mut group = criterion.benchmark_group("overload");
    for (name, size) in ["alike", "mixed"].into_iter().zip(sizes) {
        let mut queue = FqCoDel::new(FqCoDelConfig::default(), [7; 16]);
        let mut i = 0u32;
        let mut next = || {
            i = i.wrapping_add(1);
            Small {
                bytes: size(i),
                ..packet(i % 10_000)
            }
        };
        (0..30_000).for_each(|_| queue.enqueue(Time::ZERO, next()));
        group.bench_function(format!("fq_codel/{name}"), |b| {
            b.iter(|| queue.enqueue(Time::ZERO, next()))
        });
        let mut queue = FqMac::new(
            FqMacConfig {
                memory_limit: u64::MAX,
                ..FqMacConfig::default()
            },
            [7; 16],
        );
        let tids: Vec<_> = (0..20).map(|station| queue.add_tid(station)).collect();
        let mut enqueue = || {
            let packet = next();
            queue.enqueue(Time::ZERO, tids[packet.ports as usize % 20], packet);
        };
        (0..30_000).for_each(|_| enqueue());
        group.bench_function(format!("fq_mac/{name}"), |b| b.iter(&mut enqueue));
    }
    group.finish();
}

fn slot_report() -> SlotReport {
    SlotReport {
        station: StationId(3),
        slot: 17,
        length: Duration::from_millis(100),
        frames: 120,
        mpdus: 3_840,
        packets: 3_840,
        longest_frame: 64,
        bytes: 5_644_800,
        span: Some((Time::from_millis(7_000), Time::from_millis(7_099))),
        inverse_rate_sum: 120.0 / 390e6,
        recent_inverse_rate: 0.0,
        lost: 4,
        late: 9,
        wait: None,
        transit: None,
        others: OtherNetworks::Unknown,
        airtime_bps: None,
        answers: Answers::Tell,
        upload_bps: None,
        source: LevelSource::AmpduReference,
        sensor: airpace_core::report::Sensor::Agent,
        confidence: 1.0,
        sender: SenderView::default(),
    }
}

fn messages(criterion: &mut Criterion) {
    let (slot, station) = (slot_report(), StationId(3));
    let encoded = report::encode(&slot);
    criterion.bench_function("report/encode", |b| {
        b.iter(|| report::encode(black_box(&slot)))
    });
    criterion.bench_function("report/decode", |b| {
        b.iter(|| report::decode(station, black_box(&encoded)))
    });
    let mut window = ReplayWindow::new();
    let mut counter = 0;
    criterion.bench_function("replay/accept", |b| {
        b.iter(|| {
            counter += 1;
            window.accept(black_box(counter))
        });
    });
    let mut packet = vec![0; 1_400];
    packet[..10].copy_from_slice(&[0x45, 1, 5, 120, 0, 0, 0x40, 0, 64, 6]);
    criterion.bench_function("ip/parse", |b| {
        b.iter(|| ip::IpInfo::parse(black_box(&packet)))
    });
}

fn monitor(criterion: &mut Criterion) {
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800)
        .expect("a rate of the standard");
    let header = Radiotap {
        tsft_us: Some(123_456),
        flags: Some(Flags(0)),
        channel: Some(Channel {
            mhz: 5180,
            flags: Channel::OFDM_5GHZ,
        }),
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
    criterion.bench_function("radiotap/parse", |b| {
        b.iter(|| Radiotap::parse(black_box(&frame)))
    });
    criterion.bench_function("radiotap+802.11/parse", |b| {
        b.iter(|| {
            let (radiotap, length) = Radiotap::parse(black_box(&frame)).ok()?;
            let (header, _) = DataHeader::parse(&frame[length..]).ok()?;
            Some((radiotap.rate(), header.sequence))
        });
    });
}

criterion_group!(benches, queues, flow_queues, overload, messages, monitor);
criterion_main!(benches);
