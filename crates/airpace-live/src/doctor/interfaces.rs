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
            Check::bad(
                name,
                "down, so nobody can tell whether a cable is plugged in",
                format!("ip link set {} up", self.facts.name),
            )
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
    let kind = Netlink::open().and_then(|mut link| link.link_type(interface));
    let all = all();
    let facts = all.iter().find(|facts| facts.name == interface);
    let has_wifi = !probe::radios().unwrap_or_default().is_empty();
    let kind = kind.map_err(|error| error.to_string());
    judge_monitor(interface, kind, facts, has_wifi)
}

/// What stands on a monitor interface of the link type `kind`. `has_wifi` says whether the machine has
/// a radio to which one can be added.
fn judge_monitor(
    interface: &str,
    kind: Result<u16, String>,
    facts: Option<&InterfaceFacts>,
    has_wifi: bool,
) -> Check {
    let name = format!("{interface}: monitor");
    let found = match kind {
        Ok(RADIOTAP) if facts.is_some_and(|facts| facts.is_up) => {
            return Check::good(name, "up, shows frames with radiotap headers");
        }
        Ok(RADIOTAP) => {
            return Check::bad(
                name,
                "down, so it shows no frames",
                format!("ip link set {interface} up"),
            );
        }
        Ok(_) => "it is not a monitor interface".to_owned(),
        Err(error) => error,
    };
    if !has_wifi {
        return Check::bad(
            name,
            format!("{found}, and this machine has no Wi-Fi radio that could offer one"),
            "plug in a Wi-Fi adapter with monitor mode, or leave this interface out of the configuration",
        );
    }
    Check::bad(
        name,
        found,
        format!(
            "iw phy phy0 interface add {interface} type monitor && ip link set {interface} up && iw dev \
             {interface} set channel 36"
        ),
    )
}

/// The Wi-Fi radios of the machine that is to be the box, which are of use but not needed. `is_named`
/// says whether the configuration names monitor interfaces, about which there are checks of their own.
pub(super) fn radios_of_box(is_named: bool) -> Option<Check> {
    let radios = probe::radios().unwrap_or_default();
    if !radios.is_empty() {
        return Some(describe(&radios));
    }
    (!is_named).then(|| {
        Check::good("Wi-Fi", "no radio, and none is needed").with_advice(
            "a Wi-Fi adapter in monitor mode, on the access point's channel, would tell more of each \
             station: airpace edge --radio",
        )
    })
}

/// The Wi-Fi radios of a station, and what its agent sees if it names no monitor interface.
pub(super) fn radios_of_station(is_named: bool) -> Option<Check> {
    station_radios(&probe::radios().unwrap_or_default(), is_named)
}

fn station_radios(radios: &[Radio], is_named: bool) -> Option<Check> {
    let by_arrival = "frames are told apart by arrival times";
    match (radios.is_empty(), is_named) {
        (true, true) => None,
        (true, false) => Some(Check::good(
            "Wi-Fi",
            format!("no radio in this machine: {by_arrival}"),
        )),
        (false, true) => Some(describe(radios)),
        (false, false) => {
            let check = describe(radios);
            let found = format!("{}; no monitor is configured: {by_arrival}", check.found);
            let able = radios.iter().find(|radio| radio.can_monitor);
            let check = Check::good("Wi-Fi", found);
            Some(match able {
                None => check,
                Some(radio) => check.with_advice(format!(
                    "a monitor interface tells more: iw phy {} interface add mon0 type monitor && ip \
                     link set mon0 up, then monitor = \"mon0\"",
                    radio.name
                )),
            })
        }
    }
}

fn describe(radios: &[Radio]) -> Check {
    let one = |radio: &Radio| {
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
    let found: Vec<String> = radios.iter().map(one).collect();
    Check::good("Wi-Fi", found.join("; "))
}

/// How long frames may wait for a process that has stopped, in milliseconds.
pub(super) const STOPPED_MS: u64 = HEARTBEAT_NS / 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(is_up: bool) -> InterfaceFacts {
        InterfaceFacts {
            name: "air0".to_owned(),
            index: 3,
            is_ethernet: true,
            kind: None,
            is_up,
            is_running: is_up,
            mtu: 1500,
            bridge: None,
            xdp_program: None,
        }
    }

    #[test]
    fn a_port_that_is_down_is_not_ok_and_the_remedy_switches_it_on() {
        let carrier = |facts: &InterfaceFacts| {
            let port = Port {
                facts,
                radios: &[],
                is_in_use: false,
            };
            port.carrier()
        };
        let down = carrier(&facts(false));
        assert!(!down.ok);
        assert_eq!(down.remedy.as_deref(), Some("ip link set air0 up"));
        assert!(carrier(&facts(true)).ok);
    }

    #[test]
    fn a_monitor_that_is_down_is_not_ok_and_without_a_radio_none_can_be_added() {
        let up = judge_monitor("air0", Ok(RADIOTAP), Some(&facts(true)), true);
        assert!(up.ok, "{up:?}");
        let down = judge_monitor("air0", Ok(RADIOTAP), Some(&facts(false)), true);
        assert!(!down.ok);
        assert_eq!(down.remedy.as_deref(), Some("ip link set air0 up"));
        let remedy = |has_wifi| {
            let check = judge_monitor("air0", Err("no such interface".to_owned()), None, has_wifi);
            assert!(!check.ok);
            check.remedy.unwrap_or_default()
        };
        assert!(remedy(true).contains("iw phy phy0 interface add air0"));
        assert!(!remedy(false).contains("iw phy") && remedy(false).contains("plug in"));
    }

    #[test]
    fn a_station_without_wifi_gets_one_line_that_names_no_wifi_interface() {
        let check = station_radios(&[], false).expect("one line");
        assert!(check.ok && check.remedy.is_none(), "{check:?}");
        assert_eq!(station_radios(&[], true), None);
        let radio = Radio {
            name: "phy7".to_owned(),
            can_monitor: true,
            interfaces: Vec::new(),
        };
        let check = station_radios(&[radio], false).expect("one line");
        assert!(
            check
                .remedy
                .is_some_and(|advice| advice.contains("iw phy phy7 "))
        );
    }
}
