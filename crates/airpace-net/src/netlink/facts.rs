//! Everything about the interfaces that a diagnosis shows.

use super::{LinkError, Netlink, PortLink, Request, refused};
use netlink_packet_route::link::{LinkAttribute, LinkInfo, LinkLayerType, LinkMessage, LinkXdp};

/// What the kernel tells about an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterfaceFacts {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Whether its frames are those of Ethernet; Wi-Fi interfaces in use by the system have them, too.
    pub is_ethernet: bool,
    /// What it is if it is virtual: `bridge`, `veth`, `tun`; `None` of hardware.
    pub kind: Option<String>,
    /// Whether it is switched on.
    pub is_up: bool,
    /// Whether it is on and has a carrier.
    pub is_running: bool,
    /// Largest packet in bytes.
    pub mtu: u32,
    /// Number of the bridge that it is in.
    pub bridge: Option<u32>,
    /// Number of the XDP program on it.
    pub xdp_program: Option<u32>,
}

impl InterfaceFacts {
    fn of(link: &LinkMessage) -> Self {
        let port = PortLink::of(link);
        let mut facts = Self {
            name: String::new(),
            index: port.index,
            is_ethernet: link.header.link_layer_type == LinkLayerType::Ether,
            kind: None,
            is_up: port.is_up,
            is_running: port.is_running,
            mtu: 0,
            bridge: port.master,
            xdp_program: None,
        };
        for attribute in &link.attributes {
            match attribute {
                LinkAttribute::IfName(name) => facts.name.clone_from(name),
                LinkAttribute::Mtu(mtu) => facts.mtu = *mtu,
                LinkAttribute::LinkInfo(parts) => {
                    let kind = parts.iter().find_map(|part| match part {
                        LinkInfo::Kind(kind) => Some(kind.to_string()),
                        _ => None,
                    });
                    facts.kind = kind;
                }
                LinkAttribute::Xdp(parts) => facts.xdp_program = program_of(parts),
                _ => {}
            }
        }
        facts
    }
}

/// The number of the XDP program that a link's attribute names, wherever it runs.
pub(super) fn program_of(parts: &[LinkXdp]) -> Option<u32> {
    parts.iter().find_map(|part| match part {
        LinkXdp::ProgId(id)
        | LinkXdp::DrvProgId(id)
        | LinkXdp::SkbProgId(id)
        | LinkXdp::HwProgId(id) => Some(*id),
        _ => None,
    })
}

impl Netlink {
    /// Lists all interfaces, in the order of their numbers.
    ///
    /// # Errors
    /// When the kernel refuses the list.
    pub fn interfaces(&mut self) -> Result<Vec<InterfaceFacts>, LinkError> {
        let mut interfaces = Vec::new();
        let listed = self.list(Request::GetLink(LinkMessage::default()), |part| {
            if let Request::NewLink(link) = part {
                interfaces.push(InterfaceFacts::of(&link));
            }
        });
        listed.map_err(|source| refused("list the interfaces", source))?;
        interfaces.sort_by_key(|facts| facts.index);
        Ok(interfaces)
    }
}
