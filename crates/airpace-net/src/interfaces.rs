//! Finds the interface that has an address, and what interfaces have received.

use ipnet::IpNet;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::sys::socket::SockaddrStorage;
use std::io;
use std::net::IpAddr;

/// An interface of the calling thread's network namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Name of the interface.
    pub name: String,
    /// Its MAC address; `None` if it has none, as loopback and TUN interfaces.
    pub hardware: Option<[u8; 6]>,
}

/// Returns the interface that has `address`; `None` if no interface has it.
///
/// # Errors
/// When the kernel refuses to list the interfaces.
pub fn interface_of(address: IpAddr) -> io::Result<Option<Interface>> {
    let owner = getifaddrs()?.find(|entry| ip_address(entry) == Some(address));
    let Some(owner) = owner else { return Ok(None) };
    let name = owner.interface_name;
    // An interface is listed once for each of its addresses; that of the link is among them.
    for entry in getifaddrs()?.filter(|entry| entry.interface_name == name) {
        let link = entry.address.as_ref().and_then(|a| a.as_link_addr());
        if let Some(hardware) = link.and_then(|link| link.addr()) {
            // Interfaces without a MAC address are listed with zeroes.
            let hardware = Some(hardware).filter(|bytes| *bytes != [0; 6]);
            return Ok(Some(Interface { name, hardware }));
        }
    }
    Ok(Some(Interface {
        name,
        hardware: None,
    }))
}

/// Returns whether there is an interface of this name.
///
/// # Errors
/// When the kernel refuses to list the interfaces.
pub fn exists(name: &str) -> io::Result<bool> {
    // Every interface is listed at least once, with the address of its link.
    Ok(getifaddrs()?.any(|entry| entry.interface_name == name))
}

/// Returns the hardware address of the interface `name`; `None` if there is no such interface, or it
/// has no address.
///
/// # Errors
/// When the kernel refuses to list the interfaces.
pub fn hardware_address(name: &str) -> io::Result<Option<[u8; 6]>> {
    let mut entries = getifaddrs()?.filter(|entry| entry.interface_name == name);
    let hardware = entries.find_map(|entry| entry.address?.as_link_addr()?.addr());
    Ok(hardware.filter(|bytes| *bytes != [0; 6]))
}

/// Returns the IP addresses of all interfaces, each with the name of its interface and the prefix of
/// its network.
///
/// # Errors
/// When the kernel refuses to list the interfaces.
pub fn networks() -> io::Result<Vec<(String, IpNet)>> {
    let mut networks = Vec::new();
    for entry in getifaddrs()? {
        let (Some(address), Some(mask)) = (ip_address(&entry), entry.netmask) else {
            continue;
        };
        if let Some(mask) = ip_of(&mask)
            && let Ok(network) = IpNet::with_netmask(address, mask)
        {
            networks.push((entry.interface_name, network));
        }
    }
    Ok(networks)
}

/// Returns the bytes that the interface `name` has received since it was made; `None` if there is no
/// such interface.
///
/// # Errors
/// When the kernel's list of interfaces cannot be read.
pub fn received_bytes(name: &str) -> io::Result<Option<u64>> {
    // Unlike /sys, this shows the interfaces of the thread's namespace.
    let devices = std::fs::read_to_string("/proc/thread-self/net/dev")?;
    Ok(received_bytes_in(&devices, name))
}

/// The first number after the name in a list of the kernel's form: `  eth0: 1234 …`.
fn received_bytes_in(devices: &str, name: &str) -> Option<u64> {
    let mut lines = devices.lines().filter_map(|line| line.split_once(':'));
    let (_, numbers) = lines.find(|(device, _)| device.trim() == name)?;
    numbers.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns the IP address of a list entry; `None` if it has an address of another family.
fn ip_address(entry: &InterfaceAddress) -> Option<IpAddr> {
    ip_of(entry.address.as_ref()?)
}

fn ip_of(storage: &SockaddrStorage) -> Option<IpAddr> {
    if let Some(v4) = storage.as_sockaddr_in() {
        return Some(v4.ip().into());
    }
    storage.as_sockaddr_in6().map(|v6| v6.ip().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn only_interfaces_that_there_are_exist() {
        assert!(!exists("no-such-iface").unwrap());
        for (name, _) in networks().unwrap() {
            assert!(exists(&name).unwrap(), "{name}");
        }
    }

    #[test]
    fn the_loopback_network_is_listed() {
        let listed = networks().unwrap();
        if interface_of(Ipv4Addr::LOCALHOST.into()).unwrap().is_some() {
            let loopback = ("lo".to_owned(), "127.0.0.1/8".parse().unwrap());
            assert!(listed.contains(&loopback), "{listed:?}");
        }
    }

    #[test]
    fn received_bytes_are_found_by_name() {
        let devices =
            "Inter-|   Receive\n face |bytes    packets\n    lo:  88 1\n  eth0:1234 5 0\n";
        assert_eq!(received_bytes_in(devices, "eth0"), Some(1234));
        assert_eq!(received_bytes_in(devices, "lo"), Some(88));
        assert_eq!(received_bytes_in(devices, "eth"), None);
        assert!(received_bytes("lo").unwrap().is_some());
    }

    #[test]
    fn the_loopback_address_belongs_to_lo_which_has_no_mac_address() {
        if let Some(found) = interface_of(Ipv4Addr::LOCALHOST.into()).unwrap() {
            assert_eq!((found.name.as_str(), found.hardware), ("lo", None));
        }
        assert_eq!(
            interface_of(Ipv4Addr::new(192, 0, 2, 7).into()).unwrap(),
            None
        );
    }
}
