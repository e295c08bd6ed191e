//! Creates the namespaces and devices of a cell.

use crate::address::{self, SERVER_MAC, station_address, station_mac};
use crate::config::{EmulatorConfig, EmulatorError, EthernetConfig, Layer, Monitor};
use crate::port::Device;
use airpace_core::wire::radiotap::INTERFACE_TYPE;
use airpace_net::clock::Clock;
use airpace_net::netlink::{LinkError, Netlink, Route};
use airpace_net::netns::{Namespace, NamespaceError};
use airpace_net::packet::PacketSocket;
use airpace_net::poll::Poller;
use airpace_net::tun::{Tun, TunConfig};
use airpace_units::Time;
use core::time::Duration;
use ipnet::Ipv4Net;
use std::io;
use std::net::Ipv4Addr;

/// The namespaces of a cell. The kernel removes them when this value is dropped and all programs
/// inside have ended.
#[derive(Debug)]
pub struct Network {
    server: Namespace,
    stations: Vec<Namespace>,
    /// Where the cell carries Ethernet frames.
    middle: Option<Middle>,
    /// The stations' monitors, and those of the third radios by access point.
    monitors: Vec<Option<Tun>>,
    air: Vec<Option<Tun>>,
}

/// What is between the server and the stations of a cell that carries Ethernet frames.
#[derive(Debug)]
struct Middle {
    /// The box, into which the cables from the server and from the access point lead.
    box_namespace: Namespace,
    config: EthernetConfig,
    /// Holds the access points' ends of their cables.
    _access_point: Namespace,
}

impl Network {
    /// Returns the namespace of the wired side, which has the interface `wired0` with the address
    /// [`crate::SERVER`] (and, where the cell carries Ethernet frames, [`crate::SERVER_MAC`]).
    #[must_use]
    pub fn server(&self) -> &Namespace {
        &self.server
    }

    /// Returns the namespace of station `index`, which has the interface `wlan0` with the address
    /// [`station_address`] (and, where the cell carries Ethernet frames, [`station_mac`]) and the
    /// monitor `mon0`.
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

    /// Returns the namespace of the box between server and access point; `None` where the cell
    /// carries IP packets.
    ///
    /// It has two ports, without addresses: [`EthernetConfig::lan_port`] towards the server and
    /// [`EthernetConfig::ap_port`] towards the access point. They are up; if
    /// [`EthernetConfig::bridged`], they belong to the bridge `br0`.
    #[must_use]
    pub fn box_namespace(&self) -> Option<&Namespace> {
        self.middle.as_ref().map(|middle| &middle.box_namespace)
    }

    /// Returns the names of the box's ports, and whether there is a bridge; `None` where the cell
    /// carries IP packets.
    #[must_use]
    pub fn ethernet(&self) -> Option<&EthernetConfig> {
        self.middle.as_ref().map(|middle| &middle.config)
    }

    /// Shows a frame on the monitor of station `index`, as if the station's radio had heard it from
    /// somebody who does not belong to the cell: radiotap header, then the 802.11 frame. It takes no
    /// airtime. Returns `false` if the interface had no room or there is no such monitor.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn show_on_monitor(&self, index: usize, frame: &[u8]) -> io::Result<bool> {
        show(&self.monitors, index, frame)
    }

    /// Shows a frame on the monitor of the third radio near access point `index`, as
    /// [`Network::show_on_monitor`] does.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn show_on_radio(&self, index: usize, frame: &[u8]) -> io::Result<bool> {
        show(&self.air, index, frame)
    }

    /// Returns how many packets the kernel has dropped because the emulator did not read them from
    /// the server's TUN device in time.
    pub(crate) fn overflowed(&self) -> Result<u64, NamespaceError> {
        match self.middle {
            None => Ok(self.server.netlink()?.transmit_drops(WIRED)?),
            // The sockets of the access points count for themselves.
            Some(_) => Ok(0),
        }
    }

    /// Returns how many packets the full queues of the stations' devices have not taken.
    pub(crate) fn held_back(&self) -> Result<u64, NamespaceError> {
        let mut packets = 0;
        for station in &self.stations {
            packets += station.netlink()?.transmit_drops(WLAN)?;
        }
        Ok(packets)
    }
}

/// Hands a frame to the kernel as received by one of the devices.
fn show(devices: &[Option<Tun>], index: usize, frame: &[u8]) -> io::Result<bool> {
    match devices.get(index) {
        Some(Some(device)) => device.write(frame),
        _ => Ok(false),
    }
}

/// Name of the server's interface.
const WIRED: &str = "wired0";

/// Name of a station's device.
const WLAN: &str = "wlan0";

/// Name of a station's monitor.
const MONITOR: &str = "mon0";

/// Name of the bridge in the box.
pub(crate) const BRIDGE: &str = "br0";

/// The devices of a cell.
#[derive(Debug)]
pub(crate) struct Devices {
    /// The wired side of each access point.
    pub(crate) wired: Vec<Device>,
    pub(crate) stations: Vec<Device>,
    /// The stations' monitors.
    pub(crate) monitors: Vec<Option<Tun>>,
    /// The monitor of the third radio on the channel of each access point.
    pub(crate) air: Vec<Option<Tun>>,
}

/// Length of the kernel's queue before the server's device, in packets. The emulator reads them as
/// soon as it runs; the queue has room for those that come while it does not.
const KERNEL_QUEUE: u32 = 4_000;

/// Length of the kernel's queue before a station's device, in packets and super-packets: what waits
/// there while the station's queue for the air is full. Super-packets of TCP have 20 to 30 kB at
/// 200 Mbit/s, so it is about as long as the 1000 packets of Linux's `txqueuelen`.
const STATION_QUEUE: u32 = 64;

/// Room for packets that wait at the access point's end of the cable, in bytes of kernel memory:
/// about [`KERNEL_QUEUE`] packets, each of which occupies up to 2.3 kB.
const CABLE_BUFFER_BYTES: usize = 10_000_000;

/// MTU of the access point's end of its cable: frames that are too long for the air reach the
/// access point, which drops and counts them.
const CABLE_MTU: u32 = 9_000;

/// Creates the namespaces and devices with their addresses and routes, and brings them up.
pub(crate) fn create(config: &EmulatorConfig) -> Result<(Network, Devices), EmulatorError> {
    let (server, wired, middle) = match &config.layer {
        Layer::Ip => {
            let server = prepared_namespace()?;
            let wired = Device::Ip(ip_device(&server, WIRED, address::SERVER, config)?);
            (server, vec![wired], None)
        }
        Layer::Ethernet(ethernet) => {
            let (server, wired, middle) = wired_side(ethernet, config)?;
            (server, wired, Some(middle))
        }
    };
    let mut air = Vec::new();
    for radio in config.air_radios() {
        air.push(match (&middle, radio) {
            (Some(middle), Some(radio)) => {
                Some(monitor_device(&middle.box_namespace, &radio.interface)?)
            }
            _ => None,
        });
    }
    let mut network = Network {
        server,
        stations: Vec::new(),
        middle,
        monitors: Vec::new(),
        air: handles(&air)?,
    };
    let mut devices = Devices {
        wired,
        stations: Vec::new(),
        monitors: Vec::new(),
        air,
    };
    for index in 0..config.cell.stations.len() {
        let (namespace, wlan) = match &config.layer {
            Layer::Ip => ip_station(index, config)?,
            Layer::Ethernet(_) => ethernet_station(index, config)?,
        };
        let monitor = (config.monitor != Monitor::Off)
            .then(|| monitor_device(&namespace, MONITOR))
            .transpose()?;
        network.stations.push(namespace);
        devices.stations.push(wlan);
        devices.monitors.push(monitor);
    }
    network.monitors = handles(&devices.monitors)?;
    Ok((network, devices))
}

/// Returns further handles of the devices.
fn handles(devices: &[Option<Tun>]) -> io::Result<Vec<Option<Tun>>> {
    let handle = |device: &Option<Tun>| device.as_ref().map(Tun::try_clone).transpose();
    devices.iter().map(handle).collect()
}

fn prepared_namespace() -> Result<Namespace, EmulatorError> {
    let namespace = Namespace::new()?;
    namespace.prepare()?;
    Ok(namespace)
}

/// Returns a new namespace whose loopback interface is up, with IPv6 as the kernel sets it up.
fn dual_stack_namespace() -> Result<Namespace, EmulatorError> {
    let namespace = Namespace::new()?;
    configure(&namespace, |link| link.set_up("lo"))?;
    Ok(namespace)
}

/// Configures the interfaces of a namespace.
fn configure(
    namespace: &Namespace,
    settings: impl FnOnce(&mut Netlink) -> Result<(), LinkError>,
) -> Result<(), NamespaceError> {
    settings(&mut namespace.netlink()?)?;
    Ok(())
}

/// Creates the namespace and the TUN device of a station.
fn ip_station(index: usize, config: &EmulatorConfig) -> Result<(Namespace, Device), EmulatorError> {
    let namespace = prepared_namespace()?;
    let wlan = ip_device(&namespace, WLAN, station_address(index), config)?;
    // The default network is 0.0.0.0/0.
    let default_route = Route::through(Ipv4Net::default().into(), WLAN);
    configure(&namespace, |link| {
        link.set_queue_length(WLAN, STATION_QUEUE)?;
        link.remove_queueing(WLAN)?;
        link.add_route(&default_route)
    })?;
    Ok((namespace, Device::Ip(wlan)))
}

/// Creates the namespace and the TAP device of a station.
fn ethernet_station(
    index: usize,
    config: &EmulatorConfig,
) -> Result<(Namespace, Device), EmulatorError> {
    let namespace = dual_stack_namespace()?;
    let wlan = namespace.run(|| Tun::open(&TunConfig::link(WLAN).with_offload()))??;
    configure(&namespace, |link| {
        link.set_hardware_address(WLAN, station_mac(index).0)?;
        link.set_mtu(WLAN, config.mtu)?;
        link.set_queue_length(WLAN, STATION_QUEUE)?;
        link.remove_queueing(WLAN)?;
        link.add_address(WLAN, in_subnet(station_address(index)).into())?;
        link.set_up(WLAN)
    })?;
    Ok((namespace, Device::Ethernet(wlan)))
}

/// Creates server, box and access points with the cables between them. Returns the server, the
/// access points' ends of their cables, and the rest.
fn wired_side(
    ethernet: &EthernetConfig,
    config: &EmulatorConfig,
) -> Result<(Namespace, Vec<Device>, Middle), EmulatorError> {
    let server = dual_stack_namespace()?;
    // IPv6 is off here: the access point sends nothing of its own.
    let access_point = prepared_namespace()?;
    let box_namespace = match &ethernet.box_namespace {
        Some(path) => Namespace::open(path)?,
        None => prepared_namespace()?,
    };
    let mtu = config.mtu;
    let mut ports = vec![ethernet.lan_port.as_str(), ethernet.ap_port.as_str()];
    for access_point in &config.further_access_points {
        ports.push(&access_point.port);
    }
    let (lan_port, ap_ports) = (ports[0], &ports[1..]);
    configure(&box_namespace, |link| {
        link.add_veth(lan_port, WIRED, Some(&server))?;
        for (index, port) in ap_ports.iter().enumerate() {
            link.add_veth(port, &cable_end(index), Some(&access_point))?;
        }
        for port in &ports {
            link.set_mtu(port, mtu)?;
        }
        Ok(())
    })?;
    configure(&server, |link| {
        link.set_hardware_address(WIRED, SERVER_MAC.0)?;
        link.set_mtu(WIRED, mtu)?;
        link.add_address(WIRED, in_subnet(address::SERVER).into())?;
        link.set_up(WIRED)
    })?;
    configure(&access_point, |link| {
        for index in 0..ap_ports.len() {
            link.set_mtu(&cable_end(index), CABLE_MTU)?;
            link.set_up(&cable_end(index))?;
        }
        Ok(())
    })?;
    configure(&box_namespace, |link| {
        if ethernet.bridged {
            link.add_bridge(BRIDGE)?;
            for port in &ports {
                link.set_master(port, Some(BRIDGE))?;
            }
            link.set_up(BRIDGE)?;
        }
        for port in &ports {
            link.set_up(port)?;
        }
        Ok(())
    })?;
    wait_for_carrier(&box_namespace, &ports)?;
    let mut wired = Vec::new();
    for index in 0..ap_ports.len() {
        let name = cable_end(index);
        let open = || PacketSocket::open_with_offload(&name, CABLE_BUFFER_BYTES);
        let socket = access_point.run(open)??;
        wired.push(Device::Pair { socket, name });
    }
    let middle = Middle {
        box_namespace,
        config: ethernet.clone(),
        _access_point: access_point,
    };
    Ok((server, wired, middle))
}

/// Longest wait for the kernel to notice that the cables are connected.
const CARRIER_TIMEOUT: Duration = Duration::from_secs(3);

/// Waits until the kernel has noticed that the interfaces have a carrier: a bridge forwards nothing
/// to a port before. Goes on without if that takes too long.
fn wait_for_carrier(namespace: &Namespace, interfaces: &[&str]) -> Result<(), EmulatorError> {
    let mut link = namespace.netlink()?;
    let (clock, mut poller) = (Clock::start(), Poller::new()?);
    for interface in interfaces {
        while !link.is_running(interface).map_err(NamespaceError::from)? {
            let now = clock.now();
            if now.since(Time::ZERO) > CARRIER_TIMEOUT {
                tracing::warn!(
                    event = "interface-without-carrier",
                    interface,
                    "the interface has no carrier"
                );
                return Ok(());
            }
            poller.wait(&clock, Some(now + Duration::from_millis(2)))?;
        }
    }
    Ok(())
}

/// Returns the name of an access point's end of its cable.
fn cable_end(access_point: usize) -> String {
    format!("eth{access_point}")
}

/// Returns an address with the prefix that server and stations share.
fn in_subnet(address: Ipv4Addr) -> Ipv4Net {
    Ipv4Net::new_assert(address, address::PREFIX_LENGTH)
}

fn ip_device(
    namespace: &Namespace,
    name: &str,
    address: Ipv4Addr,
    config: &EmulatorConfig,
) -> Result<Tun, EmulatorError> {
    let device = namespace.run(|| Tun::open(&TunConfig::ip(name).with_offload()))??;
    configure(namespace, |link| {
        link.add_address(name, in_subnet(address).into())?;
        link.set_mtu(name, config.mtu)?;
        link.set_queue_length(name, KERNEL_QUEUE)?;
        link.set_up(name)
    })?;
    Ok(device)
}

fn monitor_device(namespace: &Namespace, name: &str) -> Result<Tun, EmulatorError> {
    let config = TunConfig::link(name).with_link_type(INTERFACE_TYPE);
    let device = namespace.run(|| Tun::open(&config))??;
    configure(namespace, |link| link.set_up(name))?;
    Ok(device)
}
