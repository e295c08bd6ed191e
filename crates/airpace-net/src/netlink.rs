//! Addresses, routes and interfaces through rtnetlink.

mod message;

use message::{Message, attribute};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto,
    socket,
};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

/// An address with the length of its network prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefix {
    /// The address; as the destination of a route, its bits past the prefix must be zero.
    pub address: IpAddr,
    /// Length of the prefix in bits: 0 to 32, or to 128 for IPv6.
    pub length: u8,
}

impl Prefix {
    /// `address`/`length`.
    #[must_use]
    pub fn new(address: impl Into<IpAddr>, length: u8) -> Self {
        Self {
            address: address.into(),
            length,
        }
    }

    /// A single host.
    #[must_use]
    pub fn host(address: impl Into<IpAddr>) -> Self {
        let address = address.into();
        Self {
            address,
            length: if address.is_ipv4() { 32 } else { 128 },
        }
    }

    /// All of IPv4.
    #[must_use]
    pub fn default_v4() -> Self {
        Self::new(std::net::Ipv4Addr::UNSPECIFIED, 0)
    }
}

impl core::fmt::Display for Prefix {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// A route to add or remove.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// Where it leads.
    pub to: Prefix,
    /// The router, if it is not on the link.
    pub via: Option<IpAddr>,
    /// The interface.
    pub interface: Option<String>,
    /// Preference; the lowest wins.
    pub metric: Option<u32>,
}

impl Route {
    /// A route to `to` through `interface`, on the link.
    #[must_use]
    pub fn through(to: Prefix, interface: &str) -> Self {
        Self {
            to,
            via: None,
            interface: Some(interface.to_owned()),
            metric: None,
        }
    }
}

/// The kernel refused an operation.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {source}")]
#[non_exhaustive]
pub struct LinkError {
    /// What was asked for.
    pub what: String,
    /// The kernel's answer.
    pub source: io::Error,
}

/// A connection to the kernel's tables of one network namespace: that of the thread that opened it, whichever thread uses it.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// Opens the tables of the calling thread's namespace.
    ///
    /// # Errors
    /// When no socket is left.
    pub fn open() -> Result<Self, LinkError> {
        let open = || -> nix::Result<OwnedFd> {
            let flags = SockFlag::SOCK_CLOEXEC;
            let socket = socket(
                AddressFamily::Netlink,
                SockType::Raw,
                flags,
                SockProtocol::NetlinkRoute,
            )?;
            bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
            Ok(socket)
        };
        let socket = open().map_err(|e| refused("open a netlink socket", e.into()))?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// Number of the interface `name`.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn index(&mut self, name: &str) -> Result<u32, LinkError> {
        self.link_field(name, 4).map(u32::from_ne_bytes)
    }

    /// Link type of the interface `name`, as in `if_arp.h`.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn link_type(&mut self, name: &str) -> Result<u16, LinkError> {
        self.link_field(name, 2).map(u16::from_ne_bytes)
    }

    /// Packets that the kernel dropped instead of sending them out of the interface `name` (`tx_dropped`). For a TUN device:
    /// those that came while its queue was full of what had not been read.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn transmit_drops(&mut self, name: &str) -> Result<u64, LinkError> {
        /// Position of `tx_dropped` in `struct rtnl_link_stats64`, in words of 64 bits.
        const TX_DROPPED: usize = 7;
        let answer = self.link(name)?;
        let attributes = answer
            .get(message::HEADER_BYTES + message::LINK_HEADER_BYTES..)
            .unwrap_or_default();
        let statistics = attribute::find(attributes, libc::IFLA_STATS64);
        let bytes =
            statistics.and_then(|words| words.get(8 * TX_DROPPED..)?.first_chunk().copied());
        bytes
            .map(u64::from_ne_bytes)
            .ok_or_else(|| unintelligible(name))
    }

    /// The bytes at offset `at` of an interface's `struct ifinfomsg`.
    fn link_field<const N: usize>(&mut self, name: &str, at: usize) -> Result<[u8; N], LinkError> {
        let answer = self.link(name)?;
        let bytes = answer
            .get(message::HEADER_BYTES + at..)
            .and_then(|b| b.first_chunk().copied());
        bytes.ok_or_else(|| unintelligible(name))
    }

    /// All that the kernel tells about an interface.
    fn link(&mut self, name: &str) -> Result<Vec<u8>, LinkError> {
        let message = Message::link(libc::RTM_GETLINK, 0, (0, 0))
            .with(libc::IFLA_IFNAME, &attribute::text(name));
        self.ask(message, 0)
            .map_err(|e| refused(format!("find the interface {name}"), e))
    }

    /// Brings an interface up.
    ///
    /// # Errors
    /// When it does not exist or rights are missing.
    pub fn set_up(&mut self, name: &str) -> Result<(), LinkError> {
        let up = libc::IFF_UP as u32;
        self.change(name, "bring up", |m| m, (up, up))
    }

    /// Takes an interface down.
    ///
    /// # Errors
    /// When it does not exist or rights are missing.
    pub fn set_down(&mut self, name: &str) -> Result<(), LinkError> {
        self.change(name, "take down", |m| m, (0, libc::IFF_UP as u32))
    }

    /// Sets the MTU in bytes.
    ///
    /// # Errors
    /// When the interface does not exist or does not accept it.
    pub fn set_mtu(&mut self, name: &str, mtu: u32) -> Result<(), LinkError> {
        self.change(
            name,
            "set the MTU of",
            |m| m.with(libc::IFLA_MTU, &mtu.to_ne_bytes()),
            (0, 0),
        )
    }

    /// Sets the length of the transmit queue in packets (for a TUN device: what waits to be read).
    ///
    /// # Errors
    /// When the interface does not exist.
    pub fn set_queue_length(&mut self, name: &str, packets: u32) -> Result<(), LinkError> {
        self.change(
            name,
            "set the queue length of",
            |m| m.with(libc::IFLA_TXQLEN, &packets.to_ne_bytes()),
            (0, 0),
        )
    }

    /// Gives an interface an address; the kernel adds the route to its prefix.
    ///
    /// # Errors
    /// When the interface does not exist or has the address already.
    pub fn add_address(&mut self, name: &str, address: Prefix) -> Result<(), LinkError> {
        let index = self.index(name)?;
        let what = || format!("add the address {address} to {name}");
        let bytes = attribute::address(address.address);
        let family = attribute::family(address.address);
        let message = Message::address(libc::RTM_NEWADDR, family, address.length, index)
            .with(libc::IFA_LOCAL, &bytes)
            .with(libc::IFA_ADDRESS, &bytes);
        self.command(message, libc::NLM_F_CREATE | libc::NLM_F_EXCL)
            .map_err(|e| refused(what(), e))
    }

    /// Adds a route.
    ///
    /// # Errors
    /// When it is there already, or its router cannot be reached.
    pub fn add_route(&mut self, route: &Route) -> Result<(), LinkError> {
        let message = self.route_message(libc::RTM_NEWROUTE, route)?;
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        self.command(message, flags)
            .map_err(|e| refused(format!("add the route to {}", route.to), e))
    }

    /// Removes a route.
    ///
    /// # Errors
    /// When it is not there.
    pub fn delete_route(&mut self, route: &Route) -> Result<(), LinkError> {
        let message = self.route_message(libc::RTM_DELROUTE, route)?;
        self.command(message, 0)
            .map_err(|e| refused(format!("remove the route to {}", route.to), e))
    }

    fn route_message(&mut self, kind: u16, route: &Route) -> Result<Message, LinkError> {
        let family = attribute::family(route.to.address);
        let scope = if route.via.is_some() {
            libc::RT_SCOPE_UNIVERSE
        } else {
            libc::RT_SCOPE_LINK
        };
        let mut message = Message::route(kind, family, route.to.length, scope)
            .with(libc::RTA_DST, &attribute::address(route.to.address));
        if let Some(via) = route.via {
            message = message.with(libc::RTA_GATEWAY, &attribute::address(via));
        }
        if let Some(interface) = &route.interface {
            message = message.with(libc::RTA_OIF, &self.index(interface)?.to_ne_bytes());
        }
        if let Some(metric) = route.metric {
            message = message.with(libc::RTA_PRIORITY, &metric.to_ne_bytes());
        }
        Ok(message)
    }

    /// Creates a pair of virtual Ethernet interfaces: `name` here and `peer` in the namespace `peer_namespace` (or here).
    ///
    /// # Errors
    /// When a name is taken or rights are missing.
    pub fn add_veth(
        &mut self,
        name: &str,
        peer: &str,
        peer_namespace: Option<&crate::netns::Namespace>,
    ) -> Result<(), LinkError> {
        let mut peer_info = message::link_header(0, (0, 0));
        attribute::push(&mut peer_info, libc::IFLA_IFNAME, &attribute::text(peer));
        if let Some(namespace) = peer_namespace {
            attribute::push(
                &mut peer_info,
                libc::IFLA_NET_NS_FD,
                &namespace.raw_fd().to_ne_bytes(),
            );
        }
        let mut data = Vec::new();
        attribute::push(&mut data, VETH_INFO_PEER, &peer_info);
        let mut info = Vec::new();
        attribute::push(&mut info, libc::IFLA_INFO_KIND, b"veth");
        attribute::push(&mut info, libc::IFLA_INFO_DATA, &data);
        let message = Message::link(libc::RTM_NEWLINK, 0, (0, 0))
            .with(libc::IFLA_IFNAME, &attribute::text(name))
            .with(libc::IFLA_LINKINFO, &info);
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        self.command(message, flags)
            .map_err(|e| refused(format!("create the pair {name}, {peer}"), e))
    }

    /// Removes an interface (and its peer).
    ///
    /// # Errors
    /// When it does not exist or cannot be removed.
    pub fn delete_interface(&mut self, name: &str) -> Result<(), LinkError> {
        let index = self.index(name)?;
        let message = Message::link(libc::RTM_DELLINK, index, (0, 0));
        self.command(message, 0)
            .map_err(|e| refused(format!("remove the interface {name}"), e))
    }

    /// Changes flags (`flags`: values and mask) and attributes of an interface.
    fn change(
        &mut self,
        name: &str,
        verb: &str,
        add: impl FnOnce(Message) -> Message,
        flags: (u32, u32),
    ) -> Result<(), LinkError> {
        let index = self.index(name)?;
        let message = add(Message::link(libc::RTM_NEWLINK, index, flags));
        self.command(message, 0)
            .map_err(|e| refused(format!("{verb} the interface {name}"), e))
    }

    /// Sends a command and waits for its acknowledgement.
    fn command(&mut self, message: Message, flags: libc::c_int) -> io::Result<()> {
        self.ask(message, flags | libc::NLM_F_ACK).map(drop)
    }

    /// Sends a request and returns the one message that answers it; a refusal is an error.
    fn ask(&mut self, message: Message, flags: libc::c_int) -> io::Result<Vec<u8>> {
        self.sequence = self.sequence.wrapping_add(1);
        let bytes = message.finish(libc::NLM_F_REQUEST | flags, self.sequence);
        sendto(
            self.socket.as_raw_fd(),
            &bytes,
            &NetlinkAddr::new(0, 0),
            MsgFlags::empty(),
        )?;
        let mut buffer = vec![0; 32 * 1024];
        loop {
            let n = recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            if let Some(answer) = message::answer(&buffer[..n], self.sequence) {
                return answer.map(<[u8]>::to_vec);
            }
        }
    }
}

/// `VETH_INFO_PEER` of `linux/veth.h`.
const VETH_INFO_PEER: u16 = 1;

fn unintelligible(name: &str) -> LinkError {
    refused(
        format!("find the interface {name}"),
        io::ErrorKind::InvalidData.into(),
    )
}

fn refused(what: impl Into<String>, source: io::Error) -> LinkError {
    LinkError {
        what: what.into(),
        source,
    }
}
