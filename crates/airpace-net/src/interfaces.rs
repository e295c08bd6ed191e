//! Which interface an address belongs to.

use nix::ifaddrs::getifaddrs;
use std::io;
use std::net::IpAddr;

/// An interface of the calling thread's network namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its hardware address, if it has one of six bytes.
    pub hardware: Option<[u8; 6]>,
}

/// The interface that has `address`, if one has.
///
/// # Errors
/// When the kernel refuses to list them.
pub fn interface_of(address: IpAddr) -> io::Result<Option<Interface>> {
    let owner = getifaddrs()?.find(|entry| {
        let storage = entry.address.as_ref();
        let v4 = storage
            .and_then(|s| s.as_sockaddr_in())
            .map(|a| IpAddr::from(a.ip()));
        let v6 = storage
            .and_then(|s| s.as_sockaddr_in6())
            .map(|a| IpAddr::from(a.ip()));
        v4.or(v6) == Some(address)
    });
    let Some(owner) = owner else { return Ok(None) };
    let name = owner.interface_name;
    let hardware = getifaddrs()?.find_map(|entry| {
        let link = entry.address.as_ref()?.as_link_addr()?;
        (entry.interface_name == name).then(|| link.addr())?
    });
    Ok(Some(Interface {
        name,
        hardware: hardware.filter(|bytes| *bytes != [0; 6]),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn loopback_owns_its_address_and_has_no_hardware() {
        if let Some(found) = interface_of(Ipv4Addr::LOCALHOST.into()).unwrap() {
            assert_eq!((found.name.as_str(), found.hardware), ("lo", None));
        }
        assert_eq!(
            interface_of(Ipv4Addr::new(192, 0, 2, 7).into()).unwrap(),
            None
        );
    }
}
