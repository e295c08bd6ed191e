//! The configurations of proxy and agents: the defaults, except for addresses, keys and files.

use super::tunnel::{PORT, Tunnel, TunnelPlan, station_name};
use airpace_api::config::{
    AgentConfig, AgentMode, Cipher, ControlConfig, FallbackConfig, ProxyConfig, QueueConfig,
    StationConfig, TunConfig, UdpLoadConfig, UplinkConfig,
};
use airpace_config::quantity::{Size, Span};
use airpace_live::keys::KeyPair;
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

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
    }
}

/// The proxy's configuration.
pub(super) fn proxy(
    plan: &TunnelPlan<'_>,
    own: &KeyPair,
    agents: &[KeyPair],
    folder: &Path,
) -> ProxyConfig {
    let station = |(index, keys): (usize, &KeyPair)| StationConfig {
        name: station_name(index),
        public_key: keys.public,
        address: Tunnel::address(index),
        weight: 1.0,
    };
    ProxyConfig {
        listen: SocketAddr::new(plan.server_address, PORT),
        private_key: Some(own.private.clone()),
        private_key_file: None,
        telemetry: Some(folder.join("proxy.jsonl")),
        realtime: true,
        tun: tun(tunnel_address(1)),
        control: ControlConfig {
            slot: Span(plan.slot),
            level_limit: plan.target_level,
            ..ControlConfig::default()
        },
        queue: QueueConfig::default(),
        l4s: true,
        fallback: FallbackConfig::default(),
        udp_load: plan.udp_load.then(UdpLoadConfig::default),
        interactive: None,
        interactive_budget: None,
        station: agents.iter().enumerate().map(station).collect(),
    }
}

/// The configuration of the agent of station `index`.
pub(super) fn agent(
    plan: &TunnelPlan<'_>,
    index: usize,
    own: &KeyPair,
    proxy: &KeyPair,
    folder: &Path,
) -> AgentConfig {
    AgentConfig {
        mode: AgentMode::Tunnel,
        proxy: SocketAddr::new(plan.server_address, PORT),
        proxy_public_key: proxy.public,
        private_key: Some(own.private.clone()),
        private_key_file: None,
        cipher: Cipher::default(),
        monitor: Some(plan.sites[index].monitor.clone()),
        interface: None,
        slot: Span(plan.slot),
        telemetry: Some(folder.join(format!("{}.jsonl", station_name(index)))),
        realtime: true,
        routes: Vec::new(),
        tun: Some(tun(Tunnel::address(index))),
        uplink: UplinkConfig::default(),
        queue: QueueConfig::default(),
    }
}
