//! Bridges and their ports.

use super::{LinkError, Netlink, Request, refused};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::link::{
    BridgeStpState, InfoBridge, InfoData, InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};

/// What the kernel tells about an interface that may be a port of a bridge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PortLink {
    pub(crate) index: u32,
    pub(crate) is_up: bool,
    pub(crate) is_bridge: bool,
    /// Index of the bridge (or other controller) that it belongs to.
    pub(crate) master: Option<u32>,
}

impl Netlink {
    /// Describes the interface `name`.
    pub(crate) fn port(&mut self, name: &str) -> Result<PortLink, LinkError> {
        let link = self.link(name)?;
        let mut port = PortLink {
            index: link.header.index,
            is_up: link.header.flags.contains(LinkFlags::Up),
            is_bridge: false,
            master: None,
        };
        for attribute in &link.attributes {
            match attribute {
                LinkAttribute::Controller(index) if *index != 0 => port.master = Some(*index),
                LinkAttribute::LinkInfo(parts) => {
                    port.is_bridge = parts.contains(&LinkInfo::Kind(InfoKind::Bridge));
                }
                _ => {}
            }
        }
        Ok(port)
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
    /// first listen for 30 s, and without multicast snooping, which drops groups that nobody has
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
}
