//! A simulated cell: a station downloads by TCP from a wired server and is pinged by it, first
//! through the access point's queue alone, then with airpace in front of the access point.
//!
//! ```text
//! $ cargo run -p airpace-examples --example cell
//! alone: TCP 288.6 Mbit/s, ping p95 77.1 ms
//! with airpace: TCP 263.1 Mbit/s, ping p95 13.7 ms
//! ```
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use airpace_core::control::{Goal, Law, LawConfig};
use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
use airpace_sim::mac::{CellConfig, StationConfig};
use airpace_sim::traffic::PingConfig;
use airpace_sim::transport::tcp::{Algorithm, ReceiverConfig, SenderConfig};
use airpace_sim::world::{
    ChannelConfig, Details, FlowConfig, NodeId, ProxyConfig, TcpConfig, Traffic, WireConfig, World,
    WorldConfig,
};
use airpace_units::BitRate;
use anyhow::{Context, Result};
use std::time::Duration;

const SERVER: NodeId = NodeId(0);
const ACCESS_POINT: NodeId = NodeId(1);
const STATION: NodeId = NodeId(2);

fn network(proxies: Vec<ProxyConfig>) -> Result<WorldConfig> {
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800)?;
    let cell = CellConfig::new(vec![StationConfig::new(rate)]);
    let channel = ChannelConfig {
        mac: cell.mac()?,
        nodes: vec![ACCESS_POINT, STATION],
    };
    let wire = WireConfig {
        ends: (SERVER, ACCESS_POINT),
        rate: Some(BitRate::from_mbps(1_000)),
        delay: Duration::from_millis(2),
        queue: 1_000,
    };
    let download = TcpConfig {
        sender: SenderConfig::new(Algorithm::Cubic),
        receiver: ReceiverConfig::default(),
        bytes: None,
        is_quic: false,
    };
    let ping = PingConfig {
        interval: Duration::from_millis(20),
        ..PingConfig::default()
    };
    let (warm_up, duration) = (Duration::from_secs(5), Duration::from_secs(5));
    Ok(WorldConfig {
        channels: vec![channel],
        wires: vec![wire],
        flows: vec![
            FlowConfig::new(SERVER, STATION, Traffic::Tcp(download)),
            FlowConfig::new(SERVER, STATION, Traffic::Ping(ping)),
        ],
        proxies,
        ..WorldConfig::new(3, warm_up, duration)
    })
}

fn main() -> Result<()> {
    let (level, delay) = (32.0, Some(Duration::from_millis(5)));
    let law = LawConfig::named(Law::Waterfill, Goal::papers(level, delay));
    let slot = Duration::from_millis(100);
    let airpace = ProxyConfig::new(ACCESS_POINT, vec![STATION], Some(law), slot);
    for (name, proxies) in [("alone", vec![]), ("with airpace", vec![airpace])] {
        let mut world = World::new(network(proxies)?)?;
        world.run();
        let outcome = world.outcome();
        let mbps = outcome.flows[0].payload_bytes as f64 * 8e-6 / outcome.window.as_secs_f64();
        let Details::Ping(ping) = &outcome.flows[1].details else {
            anyhow::bail!("the second flow is the ping");
        };
        let p95 = ping.round_trip.context("no reply came")?.p95;
        println!(
            "{name}: TCP {mbps:.1} Mbit/s, ping p95 {:.1} ms",
            p95.as_secs_f64() * 1e3
        );
    }
    Ok(())
}
