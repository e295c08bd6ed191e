//! Namespaces and devices.

use crate::address::{self, station_address};
use crate::config::{EmulatorConfig, EmulatorError, Monitor};
use airpace_core::wire::radiotap::INTERFACE_TYPE;
use airpace_net::netlink::Route;
use airpace_net::netns::{Namespace, NamespaceError};
use airpace_net::tun::{Tun, TunConfig};
use ipnet::Ipv4Net;
use std::net::Ipv4Addr;

/// The namespaces of a cell. They are gone when this value and every program inside are.
#[derive(Debug)]
pub struct Network {
    server: Namespace,
    stations: Vec<Namespace>,
}

impl Network {
    /// The wired side: a namespace with the interface `wired0`, [`crate::SERVER`].
    #[must_use]
    pub fn server(&self) -> &Namespace {
        &self.server
    }

    /// Station `index`: a namespace with the interfaces `wlan0`, [`station_address`], and `mon0`.
    ///
    /// # Panics
    /// If there is no such station.
    #[must_use]
    pub fn station(&self, index: usize) -> &Namespace {
        &self.stations[index]
    }

    /// All stations, in order.
    #[must_use]
    pub fn stations(&self) -> &[Namespace] {
        &self.stations
    }

    /// Packets that the system dropped because the emulator did not read them in time.
    pub(crate) fn overflowed(&self) -> Result<u64, NamespaceError> {
        let wired = self.server.netlink()?.transmit_drops(WIRED)?;
        self.stations.iter().try_fold(wired, |sum, station| {
            Ok(sum + station.netlink()?.transmit_drops(WLAN)?)
        })
    }

    /// Another handle of the namespace called `name`: `server`, `sta0`, `sta1`, …
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&Namespace> {
        match name.strip_prefix("sta") {
            Some(index) => self.stations.get(index.parse::<usize>().ok()?),
            None => (name == "server").then_some(&self.server),
        }
    }
}

/// Name of the device on the wired side.
const WIRED: &str = "wired0";

/// Name of the device of a station.
const WLAN: &str = "wlan0";

/// The devices of a cell.
#[derive(Debug)]
pub(crate) struct Devices {
    pub(crate) wired: Tun,
    pub(crate) stations: Vec<StationDevices>,
}

#[derive(Debug)]
pub(crate) struct StationDevices {
    pub(crate) wlan: Tun,
    pub(crate) monitor: Option<Tun>,
}

/// Packets that wait between the kernel and the emulator. The emulator reads at once; this holds what comes while it sleeps.
const KERNEL_QUEUE: u32 = 4_000;

/// Creates namespaces and devices, with addresses and routes, and brings them up.
pub(crate) fn create(config: &EmulatorConfig) -> Result<(Network, Devices), EmulatorError> {
    let server = prepared()?;
    let wired = ip_device(&server, WIRED, address::SERVER, config)?;
    let mut network = Network {
        server,
        stations: Vec::new(),
    };
    let mut devices = Devices {
        wired,
        stations: Vec::new(),
    };
    for index in 0..config.cell.stations.len() {
        let namespace = prepared()?;
        let wlan = ip_device(&namespace, WLAN, station_address(index), config)?;
        // 0.0.0.0/0.
        let everything = Route::through(Ipv4Net::default().into(), WLAN);
        namespace
            .netlink()?
            .add_route(&everything)
            .map_err(NamespaceError::from)?;
        let monitor = (config.monitor != Monitor::Off)
            .then(|| monitor_device(&namespace))
            .transpose()?;
        network.stations.push(namespace);
        devices.stations.push(StationDevices { wlan, monitor });
    }
    Ok((network, devices))
}

fn prepared() -> Result<Namespace, EmulatorError> {
    let namespace = Namespace::new()?;
    namespace.prepare()?;
    Ok(namespace)
}

fn ip_device(
    namespace: &Namespace,
    name: &str,
    address: Ipv4Addr,
    config: &EmulatorConfig,
) -> Result<Tun, EmulatorError> {
    let device = namespace.run(|| Tun::open(&TunConfig::ip(name).with_offload()))??;
    let mut link = namespace.netlink()?;
    let mut settings = || {
        link.add_address(name, Ipv4Net::new_assert(address, address::PREFIX).into())?;
        link.set_mtu(name, config.mtu)?;
        link.set_queue_length(name, KERNEL_QUEUE)?;
        link.set_up(name)
    };
    settings().map_err(NamespaceError::from)?;
    Ok(device)
}

fn monitor_device(namespace: &Namespace) -> Result<Tun, EmulatorError> {
    let config = TunConfig::link("mon0").with_link_type(INTERFACE_TYPE);
    let device = namespace.run(|| Tun::open(&config))??;
    namespace
        .netlink()?
        .set_up("mon0")
        .map_err(NamespaceError::from)?;
    Ok(device)
}
