//! Packets per second of wall time through a whole simulated network: sources, MAC, statistics,
//! controllers.

use airpace_core::control::{Goal, Law, LawConfig};
use airpace_core::phy::{AccessCategory, GuardInterval, Standard, TxRate, Width};
use airpace_sim::mac::{CellConfig, StationConfig};
use airpace_sim::traffic::{Pattern, Rate, SourceConfig};
use airpace_sim::world::{
    ChannelConfig, Feedback, FlowConfig, NodeId, ProxyConfig, Record, Traffic, World, WorldConfig,
};
use airpace_units::{BitRate, Time};
use core::time::Duration;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// An access point, `stations` stations and what each is sent.
fn network(stations: u32, traffic: &Traffic) -> WorldConfig {
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 2, 9, GuardInterval::Ns800)
        .expect("VHT has this rate");
    let cell = CellConfig::new(vec![StationConfig::new(rate); stations as usize]);
    let flow = |to| FlowConfig {
        from: NodeId(0),
        to: NodeId(to),
        category: AccessCategory::BestEffort,
        traffic: traffic.clone(),
        start: Time::ZERO,
        stop: None,
    };
    WorldConfig {
        seed: 1,
        warm_up: Duration::from_millis(100),
        duration: Duration::from_secs(2),
        slot: None,
        nodes: stations + 1,
        keys: Vec::new(),
        channels: vec![ChannelConfig {
            mac: cell.mac().expect("the cell is valid"),
            nodes: (0..=stations).map(NodeId).collect(),
        }],
        wires: Vec::new(),
        routes: Vec::new(),
        flows: (1..=stations).map(flow).collect(),
        proxies: Vec::new(),
        changes: Vec::new(),
        record: Record::default(),
    }
}

/// Stations that share `mbps` of payload evenly.
fn offered(stations: u32, mbps: f64) -> WorldConfig {
    let rate = Rate::Bits(BitRate::from_bps_f64(mbps * 1e6 / f64::from(stations)));
    network(
        stations,
        &Traffic::Udp(SourceConfig::new(Pattern::Constant {
            payload_bytes: 1_470,
            rate,
        })),
    )
}

/// Stations paced by a controller.
fn paced(stations: u32) -> WorldConfig {
    let law = LawConfig::named(
        Law::Nonlinear,
        Goal::papers(48.0, Some(Duration::from_millis(10))),
    );
    let proxy = ProxyConfig {
        feedback: Feedback::Direct,
        ..ProxyConfig::new(
            NodeId(0),
            (1..=stations).map(NodeId).collect(),
            Some(law),
            Duration::from_millis(100),
        )
    };
    let saturating = Traffic::Saturating {
        payload: 1_470,
        window: 1,
    };
    WorldConfig {
        proxies: vec![proxy],
        ..network(stations, &saturating)
    }
}

/// Runs a network; returns the packets that it delivered. Never inlined, because instruction counts
/// are taken within it (see `docs/benchmarks.md`).
#[inline(never)]
fn run(config: &WorldConfig) -> u64 {
    let mut world = World::new(config.clone()).expect("the configuration is valid");
    world.run();
    world.totals().delivered
}

fn packets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("world");
    let cases = [
        ("offered-1", offered(1, 650.0)),
        ("offered-20", offered(20, 500.0)),
        ("offered-100", offered(100, 500.0)),
        ("paced-1", paced(1)),
        ("paced-20", paced(20)),
        ("paced-100", paced(100)),
    ];
    for (name, config) in cases {
        group
            .throughput(Throughput::Elements(run(&config)))
            .sample_size(10);
        group.bench_function(name, |bencher| bencher.iter(|| run(&config)));
    }
    group.finish();
}

criterion_group!(benches, packets);
criterion_main!(benches);
