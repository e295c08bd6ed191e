//! What proxy and agent need.

use super::{Check, interfaces, system};
use crate::keys::{self, KeyPair};
use airpace_api::config::{AgentConfig, AgentMode, KeySource, ProxyConfig};
use airpace_net::probe::{self, Capability};
use core::net::SocketAddr;
use std::fs::File;
use std::net::UdpSocket;
use std::path::Path;

pub(super) fn proxy(config: &ProxyConfig) -> Vec<Check> {
    let mut checks = vec![rights(&[(Capability::NetAdmin, "CAP_NET_ADMIN")]), tun()];
    checks.extend(config.key_source().ok().map(|source| key(&source)));
    for station in &config.station {
        let file = station.preshared_key_file.as_deref();
        checks.extend(file.map(|file| preshared(&station.name, file, station.public_key)));
    }
    checks.push(listener(config.listen));
    checks
}

pub(super) fn agent(config: &AgentConfig) -> Vec<Check> {
    let mut checks = Vec::new();
    if config.mode == AgentMode::Tunnel {
        checks.push(rights(&[(Capability::NetAdmin, "CAP_NET_ADMIN")]));
        checks.push(tun());
    } else if config.monitor.is_none() {
        checks.push(rights(&[(Capability::NetRaw, "CAP_NET_RAW")]));
    }
    checks.extend(config.key_source().ok().map(|source| key(&source)));
    if let Some(file) = config.preshared_key_file.as_deref() {
        checks.push(preshared("the proxy", file, config.proxy_public_key));
    }
    if let Some(monitor) = &config.monitor {
        checks.push(rights(&[(Capability::NetRaw, "CAP_NET_RAW")]));
        checks.push(interfaces::monitor(monitor));
    }
    checks.extend(interfaces::radios_of_station(config.monitor.is_some()));
    checks
}

fn rights(wanted: &[(Capability, &str)]) -> Check {
    let missing = wanted
        .iter()
        .filter(|(capability, _)| !probe::has(*capability));
    let missing: Vec<&str> = missing.map(|(_, name)| *name).collect();
    let names: Vec<&str> = wanted.iter().map(|(_, name)| *name).collect();
    system::lacking(&names.join(", "), &missing)
}

fn tun() -> Check {
    // Opening the device makes no interface yet.
    match File::options().read(true).write(true).open("/dev/net/tun") {
        Ok(_) => Check::good("TUN", "/dev/net/tun can be opened"),
        Err(error) => Check::bad(
            "TUN",
            format!("/dev/net/tun: {error}"),
            "as root: modprobe tun; or use a kernel with CONFIG_TUN",
        ),
    }
}

pub(super) fn key(source: &KeySource<'_>) -> Check {
    match KeyPair::load(source) {
        Ok(pair) => Check::good("key", format!("public key {}", pair.public.to_base64())),
        Err(error) => Check::bad(
            "key",
            error.to_string(),
            "make one where there is none: airpace keygen --out FILE; it must belong to the user that \
             the service runs as",
        ),
    }
}

fn preshared(of: &str, file: &Path, public: airpace_api::keys::PublicKey) -> Check {
    let name = format!("preshared key of {of}");
    match keys::peer(public, Some(file)) {
        Ok(_) => Check::good(name, format!("{} can be read", file.display())),
        Err(error) => Check::bad(
            name,
            error.to_string(),
            "airpace keygen --preshared --out FILE, the same at both ends",
        ),
    }
}

/// Whether the address on which datagrams are awaited is one of this machine, and free.
pub(super) fn listener(address: SocketAddr) -> Check {
    match UdpSocket::bind(address) {
        Ok(_) => Check::good("listen", format!("{address} is free")),
        Err(error) => Check::bad(
            "listen",
            format!("{address}: {error}"),
            "use an address of this machine and a port that no other program has (ss -ulnp)",
        ),
    }
}
