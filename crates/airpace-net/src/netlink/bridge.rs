//! Bridges and their ports.

use super::{LinkError, Netlink, Request, refused};
use core::net::Ipv4Addr;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::link::{
    AfSpecBridge, BridgePortState, BridgeStpState, BridgeVlanInfo, BridgeVlanInfoFlags, InfoBridge,
    InfoBridgePort, InfoData, InfoKind, InfoPortData, LinkAttribute, LinkExtentMask, LinkFlags,
    LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};

/// What the kernel tells about an interface that may be a port of a bridge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PortLink {
    pub(crate) index: u32,
    pub(crate) is_up: bool,
    /// Whether it is up and has a carrier.
    pub(crate) is_running: bool,
    pub(crate) is_bridge: bool,
    /// Index of the other end of a veth pair, if that is in the same network namespace.
    pub(crate) veth_peer: Option<u32>,
    /// Of a bridge: whether it filters VLANs.
    pub(crate) filters_vlans: bool,
    /// Index of the bridge (or other controller) that it belongs to.
    pub(crate) master: Option<u32>,
    /// Of a port: whether the spanning tree lets it forward. A bridge without the protocol lets
    /// every port with a carrier forward.
    pub(crate) is_forwarding: bool,
    /// Of a port: whether it exchanges no frames with other isolated ports.
    pub(crate) is_isolated: bool,
    /// Of a port: whether the bridge drops frames from unauthorised addresses.
    pub(crate) is_locked: bool,
}

/// A VLAN that a port of a filtering bridge belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PortVlan {
    pub(crate) vid: u16,
    /// Whether untagged frames that arrive belong to this VLAN.
    pub(crate) is_pvid: bool,
    /// Whether frames of this VLAN leave without a tag.
    pub(crate) leaves_untagged: bool,
}

impl PortLink {
    /// What an answer of the kernel says.
    pub(super) fn of(link: &LinkMessage) -> Self {
        let mut port = Self {
            index: link.header.index,
            is_up: link.header.flags.contains(LinkFlags::Up),
            is_running: link.header.flags.contains(LinkFlags::Running),
            is_bridge: false,
            veth_peer: None,
            filters_vlans: false,
            master: None,
            is_forwarding: false,
            is_isolated: false,
            is_locked: false,
        };
        let (mut linked, mut is_linked_here, mut is_veth) = (None, true, false);
        for attribute in &link.attributes {
            match attribute {
                LinkAttribute::Controller(index) if *index != 0 => port.master = Some(*index),
                LinkAttribute::Link(index) => linked = Some(*index),
                LinkAttribute::LinkNetNsId(_) => is_linked_here = false,
                LinkAttribute::LinkInfo(parts) => {
                    is_veth |= parts.contains(&LinkInfo::Kind(InfoKind::Veth));
                    for part in parts {
                        port.read(part);
                    }
                }
                _ => {}
            }
        }
        port.veth_peer = linked.filter(|_| is_veth && is_linked_here);
        port
    }

    /// Takes over what a part of the link's information says.
    fn read(&mut self, part: &LinkInfo) {
        match part {
            LinkInfo::Kind(InfoKind::Bridge) => self.is_bridge = true,
            LinkInfo::Data(InfoData::Bridge(settings)) => {
                self.filters_vlans = settings.contains(&InfoBridge::VlanFiltering(true));
            }
            LinkInfo::PortData(InfoPortData::BridgePort(settings)) => {
                let forwarding = InfoBridgePort::State(BridgePortState::Forwarding);
                self.is_forwarding = settings.contains(&forwarding);
                self.is_isolated = settings.contains(&InfoBridgePort::Isolated(true));
                self.is_locked = settings.contains(&InfoBridgePort::Locked(true));
            }
            _ => {}
        }
    }
}

impl PortVlan {
    /// The VLANs of the port with the index `port` that a message of the list tells.
    pub(super) fn of_port(link: LinkMessage, port: u32) -> Vec<Self> {
        let mut vlans = Vec::new();
        if link.header.index != port {
            return vlans;
        }
        for attribute in link.attributes {
            if let LinkAttribute::AfSpecBridge(parts) = attribute {
                vlans.extend(parts.iter().filter_map(Self::of));
            }
        }
        vlans
    }

    fn of(part: &AfSpecBridge) -> Option<Self> {
        let AfSpecBridge::VlanInfo(BridgeVlanInfo { flags, vid, .. }) = part else {
            return None;
        };
        Some(Self {
            vid: *vid,
            is_pvid: flags.contains(BridgeVlanInfoFlags::Pvid),
            leaves_untagged: flags.contains(BridgeVlanInfoFlags::Untagged),
        })
    }
}

impl Netlink {
    /// Describes the interface `name`.
    pub(crate) fn port(&mut self, name: &str) -> Result<PortLink, LinkError> {
        Ok(PortLink::of(&self.link(name)?))
    }

    /// Returns the VLANs of the bridge port with the index `port`.
    pub(crate) fn vlans(&mut self, port: u32) -> Result<Vec<PortVlan>, LinkError> {
        let mut message = LinkMessage::default();
        message.header.interface_family = AddressFamily::Bridge;
        message
            .attributes
            .push(LinkAttribute::ExtMask(vec![LinkExtentMask::Brvlan]));
        let mut vlans = Vec::new();
        let listed = self.list(Request::GetLink(message), |part| {
            if let Request::NewLink(link) = part {
                vlans.extend(PortVlan::of_port(link, port));
            }
        });
        listed.map_err(|source| refused(format!("list the VLANs of port {port}"), source))?;
        Ok(vlans)
    }

    /// Returns the name of the interface with `index`.
    pub(crate) fn name_of(&mut self, index: u32) -> Result<String, LinkError> {
        let operation = || format!("find the interface with index {index}");
        let mut message = LinkMessage::default();
        message.header.index = index;
        match self.request(Request::GetLink(message), 0) {
            Ok(Some(Request::NewLink(link))) => {
                for attribute in link.attributes {
                    if let LinkAttribute::IfName(name) = attribute {
                        return Ok(name);
                    }
                }
                Err(refused(operation(), std::io::ErrorKind::InvalidData.into()))
            }
            Ok(_) => Err(refused(operation(), std::io::ErrorKind::InvalidData.into())),
            Err(source) => Err(refused(operation(), source)),
        }
    }

    /// Creates a bridge that forwards at once: without the spanning tree protocol, whose ports
    /// first listen for 30 s, and without multicast snooping, which drops groups that no host has
    /// reported.
    ///
    /// # Errors
    /// When the name is taken, or without CAP_NET_ADMIN.
    pub fn add_bridge(&mut self, name: &str) -> Result<(), LinkError> {
        let mut link = LinkMessage::default();
        link.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Bridge),
                LinkInfo::Data(InfoData::Bridge(vec![
                    InfoBridge::StpState(BridgeStpState::Disabled),
                    InfoBridge::ForwardDelay(0),
                    InfoBridge::MulticastSnooping(false),
                ])),
            ]),
        ];
        self.command(Request::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)
            .map_err(|source| refused(format!("create the bridge {name}"), source))
    }

    /// Deletes a virtual interface, for example a bridge, which releases its ports.
    ///
    /// # Errors
    /// When it does not exist or is not virtual.
    pub fn delete_link(&mut self, name: &str) -> Result<(), LinkError> {
        let mut message = LinkMessage::default();
        message.header.index = self.index(name)?;
        self.command(Request::DelLink(message), 0)
            .map_err(|source| refused(format!("delete the interface {name}"), source))
    }

    /// Makes the interface `name` a port of the bridge `bridge`, or of none.
    ///
    /// # Errors
    /// When either does not exist or the interface cannot be bridged, for example a loopback
    /// interface or a wireless one in station mode.
    pub fn set_master(&mut self, name: &str, bridge: Option<&str>) -> Result<(), LinkError> {
        let master = match bridge {
            Some(bridge) => self.index(bridge)?,
            None => 0,
        };
        self.change(name, "change the bridge of", |link| {
            link.attributes.push(LinkAttribute::Controller(master));
        })
    }

    /// Tells the bridge of the port `port` that `mac` is behind that port, as if a frame from there
    /// had just arrived. Frames that an XDP program takes away teach the bridge nothing, and it
    /// floods what it sends to addresses that it has forgotten.
    ///
    /// # Errors
    /// When the interface is not a port of a bridge.
    pub fn learn_address(&mut self, port: u32, mac: [u8; 6]) -> Result<(), LinkError> {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Bridge;
        message.header.ifindex = port;
        // Not permanent: it is forgotten like any learnt address.
        message.header.state = NeighbourState::Reachable;
        message.header.flags = NeighbourFlags::Controller;
        message
            .attributes
            .push(NeighbourAttribute::LinkLayerAddress(mac.to_vec()));
        self.command(Request::NewNeighbour(message), NLM_F_CREATE | NLM_F_REPLACE)
            .map_err(|source| refused(format!("tell the bridge of port {port} an address"), source))
    }

    /// Tells the kernel for ever that `host` has the hardware address `mac` behind the interface
    /// `name`, so that it never asks by ARP. Entries that it has asked for are limited for all
    /// namespaces of the machine together (`net.ipv4.neigh.default.gc_thresh3`, 1024); these are not.
    ///
    /// # Errors
    /// When the interface does not exist, or without CAP_NET_ADMIN.
    pub fn add_neighbour(
        &mut self,
        name: &str,
        host: Ipv4Addr,
        mac: [u8; 6],
    ) -> Result<(), LinkError> {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.ifindex = self.index(name)?;
        message.header.state = NeighbourState::Permanent;
        message.attributes = vec![
            NeighbourAttribute::Destination(NeighbourAddress::Inet(host)),
            NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
        ];
        self.command(Request::NewNeighbour(message), NLM_F_CREATE | NLM_F_REPLACE)
            .map_err(|source| refused(format!("tell where {host} is behind {name}"), source))
    }
}
