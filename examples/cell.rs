//! A simulated cell: two stations download by TCP from a wired server and are pinged by it, first
//! through the access point's own queues, then with airpace in front of the access point.
//!
//! ```text
//! $ cargo run -p airpace-examples --example cell
//! ```
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use airpace_core::control::{Goal, Law, LawConfig};
use airpace_core::phy::{AccessCategory, GuardInterval, Standard, TxRate, Width};
use airpace_sim::mac::{CellConfig, StationConfig};
use airpace_sim::traffic::PingConfig;
use airpace_sim::transport::tcp::{Algorithm, ReceiverConfig, SenderConfig};
use airpace_sim::world::{
    ChannelConfig, Details, FlowConfig, NodeId, ProxyConfig, Record, TcpConfig, Traffic,
    WireConfig, World, WorldConfig,
};
use airpace_units::{BitRate, Time};
use anyhow::Result;
use std::time::Duration;

const SERVER: NodeId = NodeId(0);
const ACCESS_POINT: NodeId = NodeId(1);
const STATIONS: [NodeId; 2] = [NodeId(2), NodeId(3)];
const SLOT: Duration = Duration::from_millis(100);

fn flow(to: NodeId, traffic: Traffic) -> FlowConfig {
    let category = AccessCategory::BestEffort;
    FlowConfig {
        from: SERVER,
        to,
        category,
        traffic,
        start: Time::ZERO,
        stop: None,
    }
}

fn network(proxies: Vec<ProxyConfig>) -> Result<WorldConfig> {
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800)?;
    let cell = CellConfig::new(vec![StationConfig::new(rate); 2]);
    let download = TcpConfig {
        sender: SenderConfig::new(Algorithm::Cubic),
        receiver: ReceiverConfig::default(),
        bytes: None,
    };
    let ping = PingConfig {
        interval: Duration::from_millis(20),
        ..PingConfig::default()
    };
    let flows = STATIONS.iter().flat_map(|&to| {
        [
            flow(to, Traffic::Tcp(download)),
            flow(to, Traffic::Ping(ping)),
        ]
    });
    Ok(WorldConfig {
        seed: 1,
        warm_up: Duration::from_secs(2),
        duration: Duration::from_secs(4),
        slot: Some(SLOT),
        nodes: 4,
        keys: Vec::new(),
        channels: vec![ChannelConfig {
            mac: cell.mac()?,
            nodes: vec![ACCESS_POINT, STATIONS[0], STATIONS[1]],
        }],
        wires: vec![WireConfig {
            ends: (SERVER, ACCESS_POINT),
            rate: Some(BitRate::from_mbps(1_000)),
            delay: Duration::from_millis(2),
            queue: 1_000,
        }],
        routes: Vec::new(),
        flows: flows.collect(),
        proxies,
        changes: Vec::new(),
        record: Record::default(),
    })
}

fn main() -> Result<()> {
    let goal = Goal {
        level: 32.0,
        delay: Some(Duration::from_millis(5)),
    };
    let law = LawConfig::named(Law::Waterfill, goal);
    let airpace = ProxyConfig::new(ACCESS_POINT, STATIONS.to_vec(), Some(law), SLOT);
    for (name, proxies) in [
        ("access point alone", vec![]),
        ("with airpace", vec![airpace]),
    ] {
        let mut world = World::new(network(proxies)?)?;
        world.run();
        let outcome = world.outcome();
        println!("{name}");
        for flow in &outcome.flows {
            match &flow.details {
                Details::Ping(ping) => {
                    let p95 = ping.round_trip.map_or(Duration::ZERO, |times| times.p95);
                    println!(
                        "  node {}: ping p95 {:.1} ms",
                        flow.to.0,
                        p95.as_secs_f64() * 1e3
                    );
                }
                _ => {
                    let mbps = flow.payload_bytes as f64 * 8e-6 / outcome.window.as_secs_f64();
                    println!("  node {}: TCP {mbps:.1} Mbit/s", flow.to.0);
                }
            }
        }
    }
    Ok(())
}
