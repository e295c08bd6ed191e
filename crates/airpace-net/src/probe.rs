//! Finds out what this machine can do, for a diagnosis. Nothing is changed: what must be tried is tried
//! in a network namespace of its own, which is gone afterwards.

mod generic;

use crate::inline::{self, InlineError};
use crate::netns::{Namespace, NamespaceError};
use crate::{bridge, sys};
use generic::{Attributes, Family};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use std::ffi::CString;
use std::io;

/// Capabilities by their numbers in `linux/capability.h`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capability {
    /// Interfaces, bridges, XDP programs.
    NetAdmin = 12,
    /// Packet sockets and AF_XDP.
    NetRaw = 13,
    /// Any amount of locked memory.
    IpcLock = 14,
    /// Everything, before the kernel knew the finer ones.
    SysAdmin = 21,
    /// Real-time scheduling.
    SysNice = 23,
    /// Raising limits of resources.
    SysResource = 24,
    /// BPF maps and programs.
    Bpf = 39,
}

/// Returns whether the calling thread has a capability.
#[must_use]
pub fn has(capability: Capability) -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    effective_in(&status) & (1 << capability as u32) != 0
}

/// The effective capabilities that `/proc/PID/status` tells.
fn effective_in(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0)
}

/// Returns how many bytes of memory this process may lock at most (`RLIMIT_MEMLOCK`, the hard limit, to
/// which the datapath raises its own); `None` without a limit.
#[must_use]
pub fn locked_memory_limit() -> Option<u64> {
    let (_, hard) = getrlimit(Resource::RLIMIT_MEMLOCK).ok()?;
    (hard != RLIM_INFINITY).then_some(hard)
}

/// Returns the kernel's release, as `uname -r` prints it.
#[must_use]
pub fn kernel_release() -> String {
    let name = nix::sys::utsname::uname();
    name.map(|name| name.release().to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Returns major and minor number of a kernel's release; `None` if it does not begin with them.
#[must_use]
pub fn version_of(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Loads the XDP programs into the kernel and unloads them again.
///
/// # Errors
/// [`InlineError::Load`] on an old kernel or without the rights.
pub fn load_programs() -> Result<(), InlineError> {
    inline::try_load()
}

/// Opens an AF_XDP socket and closes it.
///
/// # Errors
/// The kernel lacks them, or the process CAP_NET_RAW.
pub fn open_xdp_socket() -> io::Result<()> {
    sys::xsk::socket().map(drop)
}

/// Makes a bridge in a network namespace of its own, which is gone afterwards.
///
/// # Errors
/// The kernel lacks bridges, or the process the rights.
pub fn make_bridge() -> Result<(), NamespaceError> {
    let namespace = Namespace::new()?;
    Ok(namespace.netlink()?.add_bridge("probe")?)
}

/// Returns the name of the driver of the interface.
///
/// # Errors
/// There is no such interface, or its driver does not tell.
pub fn driver(interface: &str) -> io::Result<String> {
    sys::ethtool::driver(&CString::new(interface)?)
}

/// Returns whether the interface takes VLAN tags out of the frames that it receives
/// (`rx-vlan-offload`).
///
/// # Errors
/// There is no such interface, or its driver does not tell.
pub fn strips_tags(interface: &str) -> io::Result<bool> {
    bridge::tag_offload(interface)
}

/// `NETDEV_CMD_DEV_GET`, `NETDEV_A_DEV_IFINDEX` and `NETDEV_A_DEV_XDP_FEATURES` of `linux/netdev.h`.
const DEVICE_GET: u8 = 1;
const DEVICE_INDEX: u16 = 1;
const DEVICE_XDP_FEATURES: u16 = 3;
/// `NETDEV_XDP_ACT_BASIC` and `NETDEV_XDP_ACT_REDIRECT`: what the programs use.
const XDP_NEEDED: u64 = 0b11;

/// Returns whether the driver of the interface number `index` runs XDP programs that redirect.
///
/// # Errors
/// The kernel does not tell (Linux before 6.3), or there is no such interface.
pub fn runs_native_xdp(index: u32) -> io::Result<bool> {
    let mut family = Family::open("netdev")?;
    let request = generic::attribute(DEVICE_INDEX, &index.to_ne_bytes());
    for answer in family.request(DEVICE_GET, &request, false)? {
        for (kind, value) in Attributes(&answer) {
            if kind == DEVICE_XDP_FEATURES {
                let features = number(value);
                return Ok(features & XDP_NEEDED == XDP_NEEDED);
            }
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// A Wi-Fi radio.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Radio {
    /// Name of the radio: `phy0`.
    pub name: String,
    /// Whether its driver offers monitor mode.
    pub can_monitor: bool,
    /// Its interfaces.
    pub interfaces: Vec<RadioInterface>,
}

/// An interface of a Wi-Fi radio.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RadioInterface {
    /// Name of the interface.
    pub name: String,
    /// Whether it is a station of somebody's network. Such an interface cannot be in a bridge.
    pub is_station: bool,
    /// Whether it is a monitor.
    pub is_monitor: bool,
}

/// `NL80211_CMD_GET_WIPHY` and `NL80211_CMD_GET_INTERFACE` of `linux/nl80211.h`.
const GET_RADIO: u8 = 1;
const GET_INTERFACE: u8 = 5;
/// `NL80211_ATTR_WIPHY`, `_WIPHY_NAME`, `_IFNAME`, `_IFTYPE`, `_SUPPORTED_IFTYPES`,
/// `_SPLIT_WIPHY_DUMP`.
const RADIO: u16 = 1;
const RADIO_NAME: u16 = 2;
const INTERFACE_NAME: u16 = 4;
const INTERFACE_TYPE: u16 = 5;
const SUPPORTED_TYPES: u16 = 32;
const SPLIT_DUMP: u16 = 174;
/// `NL80211_IFTYPE_STATION` and `NL80211_IFTYPE_MONITOR`.
const STATION: u64 = 2;
const MONITOR: u16 = 6;

/// Returns the Wi-Fi radios of this network namespace.
///
/// # Errors
/// The kernel does not answer. Without Wi-Fi in the kernel the list is empty.
pub fn radios() -> io::Result<Vec<Radio>> {
    let mut family = match Family::open("nl80211") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let split = generic::attribute(SPLIT_DUMP, &[]);
    let radios = family.request(GET_RADIO, &split, true)?;
    let interfaces = family.request(GET_INTERFACE, &[], true)?;
    Ok(radios_in(&radios, &interfaces))
}

/// Joins the parts in which the kernel describes each radio, and adds the interfaces.
fn radios_in(radios: &[Vec<u8>], interfaces: &[Vec<u8>]) -> Vec<Radio> {
    let mut found: Vec<(u64, Radio)> = Vec::new();
    for part in radios {
        let Some(id) = Attributes(part).find(|(kind, _)| *kind == RADIO) else {
            continue;
        };
        let id = number(id.1);
        if !found.iter().any(|(known, _)| *known == id) {
            found.push((id, Radio::default()));
        }
        let Some((_, radio)) = found.iter_mut().find(|(known, _)| *known == id) else {
            continue;
        };
        for (kind, value) in Attributes(part) {
            match kind {
                RADIO_NAME => radio.name = text(value),
                SUPPORTED_TYPES => {
                    radio.can_monitor |= Attributes(value).any(|(kind, _)| kind == MONITOR);
                }
                _ => {}
            }
        }
    }
    for part in interfaces {
        let mut interface = RadioInterface::default();
        let mut of = None;
        for (kind, value) in Attributes(part) {
            match kind {
                RADIO => of = Some(number(value)),
                INTERFACE_NAME => interface.name = text(value),
                INTERFACE_TYPE => {
                    interface.is_station = number(value) == STATION;
                    interface.is_monitor = number(value) == u64::from(MONITOR);
                }
                _ => {}
            }
        }
        if let Some((_, radio)) = found.iter_mut().find(|(id, _)| Some(*id) == of) {
            radio.interfaces.push(interface);
        }
    }
    found.into_iter().map(|(_, radio)| radio).collect()
}

/// A number of up to eight bytes in the machine's order.
fn number(value: &[u8]) -> u64 {
    match *value {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_ne_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
        _ => value
            .first_chunk()
            .map_or(0, |bytes| u64::from_ne_bytes(*bytes)),
    }
}

/// Text that a zero byte ends.
fn text(value: &[u8]) -> String {
    let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_kernels_are_read() {
        assert_eq!(version_of("6.18.44-fc-v669"), Some((6, 18)));
        assert_eq!(version_of("5.4"), Some((5, 4)));
        assert_eq!(version_of("unknown"), None);
        assert!(version_of(&kernel_release()).is_some());
    }

    #[test]
    fn effective_capabilities_are_read() {
        let status = "Name:\tx\nCapPrm:\tffffffffffffffff\nCapEff:\t0000000000003000\n";
        assert_eq!(effective_in(status), 1 << 12 | 1 << 13);
        assert_eq!(effective_in(""), 0);
    }

    #[test]
    fn radios_are_joined_from_parts_with_their_interfaces() {
        let attribute = generic::attribute;
        let types = [attribute(2, &[]), attribute(MONITOR, &[])].concat();
        let radios = [
            [
                attribute(RADIO, &0_u32.to_ne_bytes()),
                attribute(RADIO_NAME, b"phy0\0"),
            ]
            .concat(),
            [
                attribute(RADIO, &0_u32.to_ne_bytes()),
                attribute(SUPPORTED_TYPES, &types),
            ]
            .concat(),
            attribute(RADIO_NAME, b"nobody's"),
        ];
        let interface = [
            attribute(RADIO, &0_u32.to_ne_bytes()),
            attribute(INTERFACE_NAME, b"wlan0\0"),
            attribute(INTERFACE_TYPE, &2_u32.to_ne_bytes()),
        ];
        let found = radios_in(&radios, &[interface.concat()]);
        let expected = Radio {
            name: "phy0".to_owned(),
            can_monitor: true,
            interfaces: vec![RadioInterface {
                name: "wlan0".to_owned(),
                is_station: true,
                is_monitor: false,
            }],
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_kernel_without_wifi_has_no_radios() {
        // Whatever this kernel has, the question is answered.
        let _ = radios().unwrap();
    }

    #[test]
    fn loopback_runs_no_native_xdp() {
        match runs_native_xdp(1) {
            Ok(native) => assert!(!native),
            Err(error) => eprintln!("SKIPPED, NOTHING WAS TESTED: {error}"),
        }
    }
}
