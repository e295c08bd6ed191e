//! Interfaces: ports of the box, monitors, Wi-Fi radios.

use super::Check;
use airpace_net::inline::HEARTBEAT_NS;
use airpace_net::interfaces;
use airpace_net::netlink::{InterfaceFacts, Netlink};
use airpace_net::probe::{self, Radio};
use airpace_net::xsk::MAX_RECEIVED_BYTES;
use std::net::IpAddr;

/// `ARPHRD_IEEE80211_RADIOTAP` of `linux/if_arp.h`.
const RADIOTAP: u16 = 803;
/// Bytes of an Ethernet header with one VLAN tag.
const HEADER_BYTES: u32 = 18;

/// Every interface of the namespace; none if the kernel does not answer.
pub(super) fn all() -> Vec<InterfaceFacts> {
    let listed = Netlink::open().and_then(|mut link| link.interfaces());
    listed.unwrap_or_default()
}

/// What stands on a port of the box.
pub(super) struct Port<'a> {
    pub(super) facts: &'a InterfaceFacts,
    pub(super) radios: &'a [Radio],
    /// Whether a box runs on these ports now: its programs and bridge are no obstacles.
    pub(super) is_in_use: bool,
}

impl Port<'_> {
    pub(super) fn checks(&self) -> Vec<Check> {
        vec![
            self.carrier(),
            self.driver(),
            self.program(),
            self.membership(),
            self.mtu(),
            self.offloads(),
        ]
    }

    fn name(&self, what: &str) -> String {
        format!("{}: {what}", self.facts.name)
    }

    fn carrier(&self) -> Check {
        let name = self.name("carrier");
        if self.facts.is_running {
            Check::good(name, "up, with a carrier")
        } else if self.facts.is_up {
            Check::bad(
                name,
                "up, but without a carrier",
                "plug the cable in at both ends",
            )
        } else {
            Check::good(name, "down").with_advice("airpace edge switches it on")
        }
    }

    /// The driver, and where it runs XDP programs.
    fn driver(&self) -> Check {
        let driver = probe::driver(&self.facts.name).unwrap_or_else(|_| "unknown".to_owned());
        let name = self.name("driver");
        match probe::runs_native_xdp(self.facts.index) {
            Ok(true) => Check::good(name, format!("{driver}, runs XDP programs itself (native)")),
            Ok(false) => Check::good(
                name,
                format!("{driver}, XDP in the network stack (generic)"),
            )
            .with_advice("a driver with native XDP takes less CPU; everything else is the same"),
            Err(_) => Check::good(
                name,
                format!(
                    "{driver}; the kernel does not tell whether it runs XDP programs (Linux 6.3 does)"
                ),
            ),
        }
    }

    fn program(&self) -> Check {
        let name = self.name("XDP");
        match self.facts.xdp_program {
            None => Check::good(name, "no program is attached"),
            Some(id) if self.is_in_use => {
                Check::good(name, format!("program {id}, of the box that runs"))
            }
            Some(id) => Check::bad(
                name,
                format!("program {id} of somebody else is attached"),
                format!(
                    "stop the program that uses it, or detach it: ip link set dev {} xdp off",
                    self.facts.name
                ),
            ),
        }
    }

    /// Whether the interface can be in a bridge.
    fn membership(&self) -> Check {
        let name = self.name("bridging");
        let port = &self.facts.name;
        if !self.facts.is_ethernet {
            return Check::bad(
                name,
                "it is not an Ethernet interface",
                "use an Ethernet port",
            );
        }
        let mut wifi = self.radios.iter().flat_map(|radio| &radio.interfaces);
        if wifi.any(|interface| interface.name == *port && interface.is_station) {
            return Check::bad(
                name,
                "a Wi-Fi interface that is a station of somebody's network cannot be bridged",
                "connect the access point by cable",
            );
        }
        if self.facts.bridge.is_some() {
            return Check::good(name, "it is in a bridge");
        }
        match address_of(port) {
            None => Check::good(name, "it has no address and can join a bridge"),
            Some(address) => Check::bad(
                name,
                format!("it has the address {address}, which stops working in a bridge"),
                format!(
                    "make a bridge with that address first, and name it with --bridge br0: ip link add br0 \
                     type bridge && ip link set {port} master br0 && ip address flush dev {port} && ip \
                     address add {address}/PREFIX dev br0 && ip link set br0 up"
                ),
            ),
        }
    }

    fn mtu(&self) -> Check {
        let mtu = self.facts.mtu;
        let check = Check::good(self.name("MTU"), format!("{mtu} B"));
        if mtu.saturating_add(HEADER_BYTES) as usize > MAX_RECEIVED_BYTES {
            return check.with_advice(format!(
                "frames of more than {MAX_RECEIVED_BYTES} B pass unpaced"
            ));
        }
        check
    }

    fn offloads(&self) -> Check {
        let name = self.name("offloads");
        match probe::strips_tags(&self.facts.name) {
            Ok(true) => Check::good(
                name,
                "takes VLAN tags out of frames, which airpace edge turns off while it runs",
            ),
            Ok(false) => Check::good(name, "leaves VLAN tags in frames"),
            Err(_) => Check::good(name, "the driver does not tell"),
        }
    }
}

/// An address of the interface that is not link-local.
fn address_of(interface: &str) -> Option<IpAddr> {
    let networks = interfaces::networks().unwrap_or_default();
    let own = networks.into_iter().filter(|(name, _)| name == interface);
    own.map(|(_, network)| network.addr())
        .find(|address| match address {
            IpAddr::V4(_) => true,
            IpAddr::V6(v6) => !v6.is_unicast_link_local(),
        })
}

/// A monitor interface that a configuration names.
pub(super) fn monitor(interface: &str) -> Check {
    let name = format!("{interface}: monitor");
    let kind = Netlink::open().and_then(|mut link| link.link_type(interface));
    let make = format!(
        "iw phy phy0 interface add {interface} type monitor && ip link set {interface} up && iw dev \
         {interface} set channel 36"
    );
    match kind {
        Ok(RADIOTAP) => Check::good(name, "shows frames with radiotap headers"),
        Ok(_) => Check::bad(name, "it is not a monitor interface", make),
        Err(error) => Check::bad(name, error.to_string(), make),
    }
}

/// The Wi-Fi radios, which are of use but not needed.
pub(super) fn radios() -> Check {
    let radios = probe::radios().unwrap_or_default();
    if radios.is_empty() {
        return Check::good("Wi-Fi", "no radio").with_advice(
            "a radio on the access point's channel tells more of each station, see --radio",
        );
    }
    let describe = |radio: &Radio| {
        let interfaces: Vec<String> = radio
            .interfaces
            .iter()
            .map(|interface| {
                let kind = if interface.is_monitor {
                    " (monitor)"
                } else if interface.is_station {
                    " (station)"
                } else {
                    ""
                };
                format!("{}{kind}", interface.name)
            })
            .collect();
        let monitor = if radio.can_monitor { "offers" } else { "lacks" };
        format!(
            "{} [{}] {monitor} monitor mode",
            radio.name,
            interfaces.join(", ")
        )
    };
    let found: Vec<String> = radios.iter().map(describe).collect();
    Check::good("Wi-Fi", found.join("; "))
}

/// How long frames may wait for a process that has stopped, in milliseconds.
pub(super) const STOPPED_MS: u64 = HEARTBEAT_NS / 1_000_000;
