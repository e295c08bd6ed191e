//! The kernel bridge over the ports of an in-line box, and the way back.
//!
//! [`BridgeState::set_up`] makes the bridge, or takes an existing one, and puts the ports into it.
//! The value that it returns says how everything was before; [`BridgeState::undo`] restores that.
//! The fields are public so that a daemon can store them and another process can undo what a
//! crashed one has left.
//!
//! A bridge switches its ports to promiscuous mode by itself and back when it releases them. MTUs
//! and addresses are never changed.

mod forwarding;

pub use forwarding::{Forwarding, Obstacle, forwarding};

use crate::netlink::{LinkError, Netlink, PortLink};
use crate::sys;
use nix::ifaddrs::getifaddrs;
use std::ffi::CString;
use std::io;
use std::net::IpAddr;

/// Which bridge to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BridgeChoice<'a> {
    /// Make a bridge of this name.
    Make(&'a str),
    /// Take the bridge of this name, which exists.
    Take(&'a str),
    /// None: the ports leave their bridges, for a process that is the bridge itself
    /// ([`crate::inline::PacketPath`]).
    None,
}

/// How a bridge and its ports were before [`BridgeState::set_up`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BridgeState {
    /// Name of the bridge; `None` for [`BridgeChoice::None`].
    pub bridge: Option<String>,
    /// Whether it was made, so that undoing deletes it.
    pub is_ours: bool,
    /// Whether the bridge was up.
    pub was_up: bool,
    /// The ports, in the order given.
    pub ports: Vec<PortState>,
}

/// How a port was before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortState {
    /// Name of the interface.
    pub name: String,
    /// Whether it was up.
    pub was_up: bool,
    /// Name of the bridge that it belonged to.
    pub master: Option<String>,
    /// Whether the interface took VLAN tags out of the frames that it received
    /// (`rx-vlan-offload`). XDP programs do not see such a tag, and it is lost when they redirect
    /// the frame, so this is turned off.
    pub strips_tags: bool,
    /// Name of the other end of a veth pair, if that is in the same network namespace and kept the VLAN tags
    /// of what it sends beside the packets (`tx-vlan-offload`). They would be lost likewise, so this is
    /// turned off, too.
    pub hiding_peer: Option<String>,
}

/// Why the bridge could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// A bridge that should be made exists.
    #[error(
        "the interface {0} exists already; if an earlier run left it, undo that run; if it is your \
         bridge, name it as the existing bridge; else choose another name"
    )]
    Exists(String),
    /// An interface that should be taken as the bridge is not one.
    #[error("{0} is not a bridge; name an existing bridge, or none to have one made")]
    NotABridge(String),
    /// A port has an address, which would stop working.
    #[error(
        "{port} has the address {address}, which stops working when the port joins the bridge; \
         make a bridge with that address first and name it as the existing bridge: \
         ip link add br0 type bridge && ip link set {port} master br0 && \
         ip address flush dev {port} && ip address add {address}/PREFIX dev br0"
    )]
    HasAddress {
        /// Name of the port.
        port: String,
        /// Its address.
        address: IpAddr,
    },
    /// The same interface was given twice.
    #[error("{0} is given twice; each port must be an interface of its own")]
    Twice(String),
    /// A port that came back has been given to another bridge.
    #[error("{port} is a port of another bridge; take it out: ip link set {port} nomaster")]
    OtherBridge {
        /// Name of the port.
        port: String,
    },
    /// A port is in a bridge that not all of them are in.
    #[error(
        "{port} is a port of {bridge}, and not all of the others are; put them all into it \
         (ip link set … master {bridge}), or take {port} out: ip link set {port} nomaster"
    )]
    InBridge {
        /// Name of the port.
        port: String,
        /// Name of its bridge.
        bridge: String,
    },
    /// The addresses of the interfaces cannot be listed.
    #[error("cannot list the addresses of the interfaces: {0}")]
    Addresses(#[source] io::Error),
    /// The kernel refused an operation.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// The bridge that all of these ports are in, in the calling thread's namespace; `None` if none of them
/// is in a bridge.
///
/// # Errors
/// A port does not exist, or is in a bridge that not all of them are in.
pub fn common_bridge(ports: &[&str]) -> Result<Option<String>, BridgeError> {
    let mut link = Netlink::open()?;
    let mut masters = Vec::new();
    for &port in ports {
        masters.push(link.port(port)?.master);
    }
    let Some((&port, index)) = ports
        .iter()
        .zip(&masters)
        .find_map(|(port, master)| Some((port, (*master)?)))
    else {
        return Ok(None);
    };
    let bridge = link.name_of(index)?;
    if masters.iter().all(|master| *master == Some(index)) {
        return Ok(Some(bridge));
    }
    Err(BridgeError::InBridge {
        port: port.to_owned(),
        bridge,
    })
}

impl BridgeState {
    /// Puts `ports` into a bridge and brings all of them up, in the calling thread's namespace. On
    /// an error, everything is as before.
    ///
    /// # Errors
    /// [`BridgeError`], before anything has been changed where possible.
    pub fn set_up(choice: BridgeChoice<'_>, ports: &[&str]) -> Result<Self, BridgeError> {
        let mut link = Netlink::open()?;
        let state = Self::before(&mut link, choice, ports)?;
        match state.apply(&mut link) {
            Ok(()) => Ok(state),
            Err(error) => {
                // The first error is the one to report; undoing goes on after errors of its own.
                let _ = state.undo();
                Err(error.into())
            }
        }
    }

    /// Reads how everything is, and refuses what cannot work.
    fn before(
        link: &mut Netlink,
        choice: BridgeChoice<'_>,
        ports: &[&str],
    ) -> Result<Self, BridgeError> {
        let (bridge, existing) = match choice {
            BridgeChoice::Make(name) => match link.port(name) {
                Ok(_) => return Err(BridgeError::Exists(name.to_owned())),
                Err(error) if error.is_missing() => (Some(name), None),
                Err(error) => return Err(error.into()),
            },
            BridgeChoice::Take(name) => {
                let found = link.port(name)?;
                if !found.is_bridge {
                    return Err(BridgeError::NotABridge(name.to_owned()));
                }
                (Some(name), Some(found))
            }
            BridgeChoice::None => (None, None),
        };
        let mut states: Vec<PortState> = Vec::new();
        for &name in ports {
            if states.iter().any(|other| other.name == name) {
                return Err(BridgeError::Twice(name.to_owned()));
            }
            let port = link.port(name)?;
            let master = port.master.map(|index| link.name_of(index)).transpose()?;
            refuse_address(&port, name)?;
            states.push(PortState {
                name: name.to_owned(),
                was_up: port.is_up,
                master,
                strips_tags: tag_offload(name).unwrap_or(false),
                hiding_peer: hiding_peer(link, &port),
            });
        }
        Ok(Self {
            bridge: bridge.map(str::to_owned),
            is_ours: bridge.is_some() && existing.is_none(),
            was_up: existing.is_some_and(|found| found.is_up),
            ports: states,
        })
    }

    fn apply(&self, link: &mut Netlink) -> Result<(), LinkError> {
        if let Some(bridge) = &self.bridge
            && self.is_ours
        {
            make(link, bridge)?;
        }
        for port in &self.ports {
            if port.master != self.bridge {
                link.set_master(&port.name, self.bridge.as_deref())?;
            }
            prepare_port(link, port, port.was_up)?;
        }
        match &self.bridge {
            Some(bridge) if !self.was_up => link.set_up(bridge),
            _ => Ok(()),
        }
    }

    /// Returns whether everything is still as [`BridgeState::set_up`] left it: the bridge and its
    /// ports are up, and these ports are in it. Then another run can go on with this state, and
    /// traffic does not notice.
    ///
    /// # Errors
    /// Without a netlink socket.
    pub fn is_in_place(&self, ports: &[&str]) -> Result<bool, LinkError> {
        let mut link = Netlink::open()?;
        let Some(bridge) = &self.bridge else {
            return Ok(false);
        };
        let Ok(found) = link.port(bridge) else {
            return Ok(false);
        };
        let has_these_ports = ports.len() == self.ports.len()
            && self.ports.iter().all(|port| ports.contains(&&*port.name));
        if !(has_these_ports && found.is_bridge && found.is_up) {
            return Ok(false);
        }
        for port in ports {
            let is_member = link
                .port(port)
                .is_ok_and(|port| port.is_up && port.master == Some(found.index));
            if !is_member {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Puts ports that were removed and have come back into the bridge again, and makes the bridge
    /// again if it was made by [`BridgeState::set_up`] and has been deleted. `returned` are the
    /// names of these ports; all others stay as they are.
    ///
    /// # Errors
    /// As [`BridgeState::set_up`]. A port that has not come back yet is an error, too.
    pub fn repair(&mut self, returned: &[&str]) -> Result<(), BridgeError> {
        let mut link = Netlink::open()?;
        let mut was_remade = false;
        let mut index = None;
        if let Some(bridge) = &self.bridge {
            if self.is_ours && link.index(bridge).is_err() {
                make(&mut link, bridge)?;
                link.set_up(bridge)?;
                was_remade = true;
            }
            index = Some(link.index(bridge)?);
        }
        for port in &mut self.ports {
            let now = link.port(&port.name)?;
            if !was_remade && !returned.contains(&&*port.name) {
                continue;
            }
            if now.master.is_some() && now.master != index {
                let port = port.name.clone();
                return Err(BridgeError::OtherBridge { port });
            }
            // A network manager may have given the new interface an address.
            if now.master.is_none()
                && let Some(address) = address_of(&port.name)?
            {
                let port = port.name.clone();
                return Err(BridgeError::HasAddress { port, address });
            }
            port.strips_tags = tag_offload(&port.name).unwrap_or(false);
            port.hiding_peer = hiding_peer(&mut link, &now);
            if now.master != index {
                link.set_master(&port.name, self.bridge.as_deref())?;
            }
            prepare_port(&mut link, port, now.is_up)?;
        }
        Ok(())
    }

    /// Restores how everything was: the ports' bridges, which of the interfaces were up, and the
    /// bridge is deleted if it was made. What has disappeared or been given to another bridge in
    /// the meantime stays so; undoing twice does no harm.
    ///
    /// # Errors
    /// The first refusal of the kernel; everything else has been restored.
    pub fn undo(&self) -> Result<(), LinkError> {
        let mut link = Netlink::open()?;
        let mut first = Ok(());
        for port in &self.ports {
            first = first.and(self.restore_port(&mut link, port));
        }
        first.and(self.restore_bridge(&mut link))
    }

    fn restore_port(&self, link: &mut Netlink, port: &PortState) -> Result<(), LinkError> {
        let Ok(now) = link.port(&port.name) else {
            return Ok(());
        };
        let bridge = match &self.bridge {
            Some(name) => match link.index(name) {
                Ok(index) => Some(index),
                // Deleting the bridge has released the port.
                Err(_) => return Ok(()),
            },
            None => None,
        };
        if now.master != bridge {
            return Ok(());
        }
        if port.master != self.bridge {
            link.set_master(&port.name, port.master.as_deref())?;
        }
        if port.strips_tags {
            // It was not turned off where the driver cannot.
            let _ = set_tag_offload(&port.name, RECEIVE_TAGS, true);
        }
        if let Some(peer) = &port.hiding_peer {
            // It may have been removed.
            let _ = set_tag_offload(peer, SEND_TAGS, true);
        }
        if !port.was_up {
            link.set_down(&port.name)?;
        }
        Ok(())
    }

    fn restore_bridge(&self, link: &mut Netlink) -> Result<(), LinkError> {
        let Some(bridge) = &self.bridge else {
            return Ok(());
        };
        let is_there = link.port(bridge).is_ok_and(|found| found.is_bridge);
        if !is_there {
            return Ok(());
        }
        if self.is_ours {
            link.delete_link(bridge)
        } else if !self.was_up {
            link.set_down(bridge)
        } else {
            Ok(())
        }
    }
}

/// Makes a bridge without IPv6 of its own: it would send on the network, and an announcement by any station would
/// give this machine addresses and a default route.
fn make(link: &mut Netlink, bridge: &str) -> Result<(), LinkError> {
    link.add_bridge(bridge)?;
    let setting = format!("/proc/sys/net/ipv6/conf/{bridge}/disable_ipv6");
    match std::fs::write(&setting, "1") {
        // A kernel without IPv6 does not have the setting.
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(event = "bridge-has-addresses", bridge, %error, "the bridge takes part in IPv6: sysctl net.ipv6.conf.{bridge}.disable_ipv6=1");
        }
        _ => {}
    }
    Ok(())
}

/// Has a port of the bridge carry frames, with their VLAN tags in place.
fn prepare_port(link: &mut Netlink, port: &PortState, is_up: bool) -> Result<(), LinkError> {
    let stripping = port.strips_tags.then_some((&port.name, RECEIVE_TAGS));
    let hiding = port.hiding_peer.as_ref().map(|peer| (peer, SEND_TAGS));
    for (interface, tags) in stripping.into_iter().chain(hiding) {
        // Some drivers cannot turn it off; only tagged frames suffer.
        if let Err(error) = set_tag_offload(interface, tags, false) {
            tracing::warn!(event = "vlan-tags-at-risk", port = port.name, interface, %error, "VLAN tags may be lost");
        }
    }
    if is_up {
        Ok(())
    } else {
        link.set_up(&port.name)
    }
}

/// Returns which kinds of bridged packets pass the firewall's rules for routed ones (`br_netfilter`):
/// `ip`, `ip6`, `arp`. The rules, for example those of a container engine, may drop them, and the
/// kernel drops packets with invalid headers and cuts padding off.
#[must_use]
pub fn filtered_protocols() -> Vec<&'static str> {
    let mut filtered = Vec::new();
    for (protocol, setting) in [
        ("ip", "bridge-nf-call-iptables"),
        ("ip6", "bridge-nf-call-ip6tables"),
        ("arp", "bridge-nf-call-arptables"),
    ] {
        // Without br_netfilter, the setting does not exist.
        let value = std::fs::read_to_string(format!("/proc/sys/net/bridge/{setting}"));
        if value.is_ok_and(|text| text.trim() != "0") {
            filtered.push(protocol);
        }
    }
    filtered
}

/// The other end of a veth pair, if it keeps the VLAN tags of what it sends beside the packets.
fn hiding_peer(link: &mut Netlink, port: &PortLink) -> Option<String> {
    let peer = link.name_of(port.veth_peer?).ok()?;
    has_offload(&peer, SEND_TAGS).ok()?.then_some(peer)
}

/// `ETHTOOL_GFLAGS`, `ETHTOOL_SFLAGS`, `ETH_FLAG_RXVLAN` and `ETH_FLAG_TXVLAN` of `linux/ethtool.h`.
const GET_FLAGS: u32 = 0x25;
const SET_FLAGS: u32 = 0x26;
const RECEIVE_TAGS: u32 = 1 << 8;
const SEND_TAGS: u32 = 1 << 7;

/// Returns whether the interface takes VLAN tags out of the frames that it receives.
pub(crate) fn tag_offload(interface: &str) -> io::Result<bool> {
    has_offload(interface, RECEIVE_TAGS)
}

fn has_offload(interface: &str, tags: u32) -> io::Result<bool> {
    let flags = sys::ethtool::number(&CString::new(interface)?, GET_FLAGS, 0)?;
    Ok(flags & tags != 0)
}

fn set_tag_offload(interface: &str, tags: u32, is_on: bool) -> io::Result<()> {
    let name = CString::new(interface)?;
    let others = sys::ethtool::number(&name, GET_FLAGS, 0)? & !tags;
    let flags = others | if is_on { tags } else { 0 };
    sys::ethtool::number(&name, SET_FLAGS, flags).map(drop)
}

/// Refuses ports that could not join a bridge because they have addresses.
///
/// # Errors
/// One has an address, or does not exist, or the kernel does not tell.
pub fn refuse_addresses(ports: &[&str]) -> Result<(), BridgeError> {
    let mut link = Netlink::open()?;
    for &name in ports {
        refuse_address(&link.port(name)?, name)?;
    }
    Ok(())
}

fn refuse_address(port: &PortLink, name: &str) -> Result<(), BridgeError> {
    // The addresses of a port that is in a bridge already do not work now either.
    if port.master.is_none()
        && let Some(address) = address_of(name)?
    {
        return Err(BridgeError::HasAddress {
            port: name.to_owned(),
            address,
        });
    }
    Ok(())
}

/// Returns an address of the interface other than the link-local one, which every interface that is
/// up has for IPv6 and which comes back by itself.
fn address_of(interface: &str) -> Result<Option<IpAddr>, BridgeError> {
    let all = getifaddrs().map_err(|error| BridgeError::Addresses(error.into()))?;
    for entry in all.filter(|entry| entry.interface_name == interface) {
        let Some(storage) = entry.address else {
            continue;
        };
        if let Some(v4) = storage.as_sockaddr_in() {
            return Ok(Some(v4.ip().into()));
        }
        if let Some(v6) = storage.as_sockaddr_in6()
            && !v6.ip().is_unicast_link_local()
        {
            return Ok(Some(v6.ip().into()));
        }
    }
    Ok(None)
}
