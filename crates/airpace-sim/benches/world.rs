//! Packets per second of wall time through a whole simulated network: sources, MAC, statistics,
//! controllers.

use airpace_core::control::{Goal, Law, LawConfig};
use airpace_core::phy::error::ErrorModel;
use airpace_core::phy::{AccessCategory, GuardInterval, Standard, TxRate, Width};
use airpace_sim::channel::{Channel, Position, Radio, uniform_in_square};
use airpace_sim::mac::{
    CellConfig, Hearing, LinkConfig, MacConfig, Quality, RadioConfig, RadioId, Signal,
    StationConfig,
};
use airpace_sim::rate::{Ideal, RateAdaptation};
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
        roaming: Vec::new(),
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

/// Saturated stations, placed at random in a square of `side_m` metres around the access point, at
/// the fastest rates that their signals carry.
fn spread(stations: u32, side_m: f64, hearing: fn(&Channel) -> Hearing) -> WorldConfig {
    let centre = Position::default();
    let places = uniform_in_square(1, "station", stations as usize, side_m, centre);
    let radios: Vec<Radio> = core::iter::once(centre)
        .chain(places)
        .map(Radio::at)
        .collect();
    let config = airpace_sim::channel::ChannelConfig::new(radios);
    let propagation = Channel::new(config).expect("the channel is valid");
    let link = |from, to| LinkConfig {
        quality: Quality::of(Signal::Channel(propagation.link(from, to))),
        ..LinkConfig::new(from, to, ideal())
    };
    let access_point = RadioId(0);
    let links = (1..=stations).flat_map(|station| {
        let station = RadioId(station);
        [link(access_point, station), link(station, access_point)]
    });
    let mut radios = vec![RadioConfig::new(); stations as usize + 1];
    radios[0] = RadioConfig::access_point();
    let mac = MacConfig {
        hearing: hearing(&propagation),
        ..MacConfig::new(radios, links.collect())
    };
    let saturating = Traffic::Saturating {
        payload: 1_470,
        window: 64,
    };
    let mut network = network(stations, &saturating);
    network.channels[0].mac = mac;
    network
}

/// The fastest rate of one stream at 80 MHz that the signal carries.
fn ideal() -> RateAdaptation {
    let rates: Vec<TxRate> = (0..=9)
        .filter_map(|mcs| {
            TxRate::new(Standard::Vht, Width::Mhz80, 1, mcs, GuardInterval::Ns800).ok()
        })
        .collect();
    let model = ErrorModel::default();
    Ideal::by_model(&rates, Width::Mhz80, &model, 1_500, Ideal::TARGET_LOSS)
        .expect("there are rates")
        .into()
}

/// By received powers.
fn powers(propagation: &Channel) -> Hearing {
    propagation.powers(None)
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
        ("heard-one", spread(1, 0.0, |_| Hearing::All)),
        ("heard-ten", spread(10, 10.0, |_| Hearing::All)),
        ("heard-100", spread(100, 10.0, |_| Hearing::All)),
        ("spread-one", spread(1, 40.0, powers)),
        ("spread-100-50m", spread(100, 50.0, powers)),
        ("spread-100-70m", spread(100, 70.0, powers)),
        ("collide-100-50m", spread(100, 50.0, Channel::hearing)),
        ("collide-100-70m", spread(100, 70.0, Channel::hearing)),
    ];
    for (name, config) in cases {
        if !is_wanted(name) {
            continue;
        }
        group
            .throughput(Throughput::Elements(run(&config)))
            .sample_size(10);
        group.bench_function(name, |bencher| bencher.iter(|| run(&config)));
    }
    group.finish();
}

/// Whether no filter on the command line excludes a case, so that it need not be run to count its
/// packets.
fn is_wanted(name: &str) -> bool {
    let filter = std::env::args()
        .skip(1)
        .last()
        .filter(|argument| !argument.starts_with('-'));
    filter.is_none_or(|filter| format!("world/{name}").contains(&filter))
}

criterion_group!(benches, packets);
criterion_main!(benches);
