//! Creates the namespaces and devices of a cell.

use crate::address::{self, station_address};
use crate::config::{EmulatorConfig, EmulatorError, Monitor};
use airpace_core::wire::radiotap::INTERFACE_TYPE;
use airpace_net::netlink::Route;
use airpace_net::netns::{Namespace, NamespaceError};
use airpace_net::tun::{Tun, TunConfig};
use ipnet::Ipv4Net;
use std::net::Ipv4Addr;

/// The namespaces of a cell. The kernel removes them when this value is dropped and all programs
/// inside have ended.
#[derive(Debug)]
pub struct Network {
    server: Namespace,
    stations: Vec<Namespace>,
}

impl Network {
    /// Returns the namespace of the wired side, which has the interface `wired0` with the address
    /// [`crate::SERVER`].
    #[must_use]
    pub fn server(&self) -> &Namespace {
        &self.server
    }

    /// Returns the namespace of station `index`, which has the interface `wlan0` with the address
    /// [`station_address`] and the monitor `mon0`.
    ///
    /// # Panics
    /// If there is no such station.
    #[must_use]
    pub fn station(&self, index: usize) -> &Namespace {
        &self.stations[index]
    }

    /// Returns the namespaces of all stations, in order.
    #[must_use]
    pub fn stations(&self) -> &[Namespace] {
        &self.stations
    }

    /// Returns how many packets the kernel has dropped because the emulator did not read them in
    /// time.
    pub(crate) fn overflowed(&self) -> Result<u64, NamespaceError> {
        let mut packets = self.server.netlink()?.transmit_drops(WIRED)?;
        for station in &self.stations {
            packets += station.netlink()?.transmit_drops(WLAN)?;
        }
        Ok(packets)
    }
}

/// Name of the device on the wired side.
const WIRED: &str = "wired0";

/// Name of a station's device.
const WLAN: &str = "wlan0";

/// Name of a station's monitor.
const MONITOR: &str = "mon0";

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

/// Length of the kernel's queue before each device, in packets. The emulator reads them as soon as
/// it runs; the queue has room for those that come while it does not.
const KERNEL_QUEUE: u32 = 4_000;

/// Creates the namespaces and devices with their addresses and routes, and brings them up.
pub(crate) fn create(config: &EmulatorConfig) -> Result<(Network, Devices), EmulatorError> {
    let server = prepared_namespace()?;
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
        let namespace = prepared_namespace()?;
        let wlan = ip_device(&namespace, WLAN, station_address(index), config)?;
        // The default network is 0.0.0.0/0.
        let default_route = Route::through(Ipv4Net::default().into(), WLAN);
        namespace
            .netlink()?
            .add_route(&default_route)
            .map_err(NamespaceError::from)?;
        let monitor = (config.monitor != Monitor::Off)
            .then(|| monitor_device(&namespace))
            .transpose()?;
        network.stations.push(namespace);
        devices.stations.push(StationDevices { wlan, monitor });
    }
    Ok((network, devices))
}

fn prepared_namespace() -> Result<Namespace, EmulatorError> {
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
        link.add_address(
            name,
            Ipv4Net::new_assert(address, address::PREFIX_LENGTH).into(),
        )?;
        link.set_mtu(name, config.mtu)?;
        link.set_queue_length(name, KERNEL_QUEUE)?;
        link.set_up(name)
    };
    settings().map_err(NamespaceError::from)?;
    Ok(device)
}

fn monitor_device(namespace: &Namespace) -> Result<Tun, EmulatorError> {
    let config = TunConfig::link(MONITOR).with_link_type(INTERFACE_TYPE);
    let device = namespace.run(|| Tun::open(&config))??;
    namespace
        .netlink()?
        .set_up(MONITOR)
        .map_err(NamespaceError::from)?;
    Ok(device)
}
