//! The configurations of proxy, box and agents: the defaults, except for addresses, keys and files.

use super::inline::InlinePlan;
use super::plan::EdgeSensor;
use super::tunnel::{PORT, Tunnel, TunnelPlan, station_name};
use crate::cell::{AIR, BRIDGE};
use airpace_api::config::{
    AgentConfig, AgentMode, AgentsConfig, ApConfig, Cipher, ControlConfig, EdgeConfig,
    EdgeStationConfig, FallbackConfig, ProxyConfig, QueueConfig, StationConfig, TelemetryDetail,
    TunConfig, UdpLoadConfig,
};
use airpace_api::mac::MacAddress;
use airpace_config::quantity::{Size, Span};
use airpace_emu::{EthernetConfig, station_mac};
use airpace_live::keys::KeyPair;
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The tunnel's network, which differs from those of the emulated cell.
const TUNNEL: [u8; 3] = [10, 99, 0];
const TUNNEL_PREFIX: u8 = 24;

/// The address within the tunnel with host part `host`.
pub(super) fn tunnel_address(host: u8) -> IpAddr {
    let [a, b, c] = TUNNEL;
    Ipv4Addr::new(a, b, c, host).into()
}

fn tun(address: IpAddr) -> TunConfig {
    TunConfig {
        name: "airpace0".to_owned(),
        address: IpNet::new(address, TUNNEL_PREFIX).expect("24 bits fit an IPv4 address"),
        // The default of the configuration: 1500 bytes on the path less the headers of the tunnel.
        mtu: Size::from_bytes(1420),
        copy_dscp: true,
        ..TunConfig::default()
    }
}

/// The proxy's configuration.
pub(super) fn proxy(
    plan: &TunnelPlan<'_>,
    own: &KeyPair,
    agents: &[KeyPair],
    telemetry: PathBuf,
) -> ProxyConfig {
    let station = |(index, keys): (usize, &KeyPair)| StationConfig {
        name: station_name(index),
        public_key: keys.public,
        address: Tunnel::address(index),
        weight: 1.0,
        ..StationConfig::default()
    };
    ProxyConfig {
        listen: SocketAddr::new(plan.server_address, PORT),
        private_key: Some(own.private.clone()),
        private_key_file: None,
        telemetry: Some(telemetry),
        telemetry_detail: TelemetryDetail::Slots,
        realtime: true,
        tun: tun(tunnel_address(1)),
        control: control(plan.target_level, plan.slot),
        queue: QueueConfig::default(),
        l4s: true,
        fallback: FallbackConfig::default(),
        udp_load: plan.udp_load.then(UdpLoadConfig::default),
        interactive: None,
        interactive_budget: None,
        station: agents.iter().enumerate().map(station).collect(),
        ..ProxyConfig::default()
    }
}

/// The configuration of the agent of station `index`.
pub(super) fn agent(
    plan: &TunnelPlan<'_>,
    index: usize,
    own: &KeyPair,
    proxy: &KeyPair,
    telemetry: PathBuf,
) -> AgentConfig {
    AgentConfig {
        mode: AgentMode::Tunnel,
        proxy: SocketAddr::new(plan.server_address, PORT).into(),
        proxy_public_key: proxy.public,
        private_key: Some(own.private.clone()),
        private_key_file: None,
        cipher: Cipher::default(),
        monitor: Some(plan.sites[index].monitor.clone()),
        interface: None,
        slot: Span(plan.slot),
        telemetry: Some(telemetry),
        telemetry_detail: TelemetryDetail::Slots,
        realtime: true,
        routes: Vec::new(),
        tun: Some(tun(Tunnel::address(index))),
        ..AgentConfig::default()
    }
}

/// The in-line box's configuration.
pub(super) fn edge(
    plan: &InlinePlan<'_>,
    own: &KeyPair,
    agents: &[KeyPair],
    telemetry: PathBuf,
) -> EdgeConfig {
    let radio = (plan.sensor == EdgeSensor::Radio).then(|| AIR.to_owned());
    let access_point = |port| ApConfig {
        ports: vec![port],
        radio: radio.clone(),
        ..ApConfig::default()
    };
    let mut config = EdgeConfig {
        wan: EthernetConfig::default().lan_port,
        telemetry: Some(telemetry),
        telemetry_detail: TelemetryDetail::Slots,
        control: control(plan.target_level, plan.slot),
        ap: plan.ports().map(access_point).collect(),
        ..EdgeConfig::default()
    };
    if !agents.is_empty() {
        // Agents send their reports to the address of the bridge, which is there before the box.
        config.bridge = Some(BRIDGE.to_owned());
        config.agents = Some(AgentsConfig {
            listen: plan.listen(),
            private_key: Some(own.private.clone()),
            private_key_file: None,
        });
        for (index, keys) in agents.iter().enumerate() {
            config.station.push(EdgeStationConfig {
                mac: MacAddress(station_mac(index).0),
                name: Some(station_name(index)),
                public_key: Some(keys.public),
                ..EdgeStationConfig::default()
            });
        }
    }
    config
}

/// The configuration of an agent that reports to the in-line box.
pub(super) fn sensor_agent(
    plan: &InlinePlan<'_>,
    own: &KeyPair,
    edge: &KeyPair,
    telemetry: PathBuf,
) -> AgentConfig {
    AgentConfig {
        mode: AgentMode::Sensor,
        proxy: plan.listen().into(),
        proxy_public_key: edge.public,
        private_key: Some(own.private.clone()),
        private_key_file: None,
        monitor: Some("mon0".to_owned()),
        slot: Span(plan.slot),
        telemetry: Some(telemetry),
        telemetry_detail: TelemetryDetail::Slots,
        tun: None,
        ..AgentConfig::default()
    }
}

/// The rate control: the default aim, unless the level is held.
fn control(level_limit: Option<f64>, slot: Duration) -> ControlConfig {
    ControlConfig {
        slot: Span(slot),
        level_limit,
        ..ControlConfig::default()
    }
}
