//! Addresses, routes and interfaces of a network namespace, through rtnetlink (`rtnetlink(7)`).
//!
//! The messages are those of `netlink-packet-route`; requests are synchronous, so no asynchronous
//! runtime is needed.

mod bridge;
mod events;
mod facts;
mod queueing;
mod rules;

pub(crate) use bridge::{PortLink, PortVlan};
pub use events::RouteEvents;
pub use facts::InterfaceFacts;
pub use rules::Rule;

use crate::netns::Namespace;
use ipnet::IpNet;
use netlink_packet_core::{
    DecodeError, ErrorMessage, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST,
    NLMSG_ALIGNTO, NetlinkBuffer, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage as Request;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;

/// A route to the hosts of a network that an interface reaches without a router.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// The network; its host bits are zero.
    to: IpNet,
    /// Name of the interface.
    interface: String,
    /// Number of the routing table.
    table: u32,
}

impl Route {
    /// A route through `interface` to the network that `to` lies in.
    #[must_use]
    pub fn through(to: IpNet, interface: &str) -> Self {
        Self {
            // The kernel refuses destinations with host bits (EINVAL).
            to: to.trunc(),
            interface: interface.to_owned(),
            table: RouteHeader::RT_TABLE_MAIN.into(),
        }
    }

    /// The same route in another table, to which a [`Rule`] leads.
    #[must_use]
    pub const fn in_table(mut self, table: u32) -> Self {
        self.table = table;
        self
    }
}

/// The kernel refused an operation.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation}: {source}")]
#[non_exhaustive]
pub struct LinkError {
    /// What the caller asked for, for example `bring up the interface eth0`.
    pub operation: String,
    /// The kernel's answer.
    pub source: io::Error,
}

impl LinkError {
    /// Returns whether the interface does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.source.raw_os_error() == Some(libc::ENODEV)
    }
}

/// A connection to the kernel's tables of one network namespace: that of the thread that opened
/// it, whichever thread uses it.
#[derive(Debug)]
pub struct Netlink {
    socket: Socket,
    /// Sequence number of the last request.
    sequence: u32,
}

impl Netlink {
    /// Opens the tables of the calling thread's namespace.
    ///
    /// # Errors
    /// When the process cannot open another socket.
    pub fn open() -> Result<Self, LinkError> {
        let open = || -> io::Result<Socket> {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.bind_auto()?;
            // Port 0 is the kernel; a connected socket hears nobody else.
            socket.connect(&SocketAddr::new(0, 0))?;
            Ok(socket)
        };
        let socket = open().map_err(|source| refused("open a netlink socket", source))?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// Returns the index of the interface `name`.
    ///
    /// # Errors
    /// When no interface has that name.
    pub fn index(&mut self, name: &str) -> Result<u32, LinkError> {
        Ok(self.link(name)?.header.index)
    }

    /// Returns the link type of the interface `name`, one of the constants `ARPHRD_*` of
    /// `linux/if_arp.h`.
    ///
    /// # Errors
    /// When no interface has that name.
    pub fn link_type(&mut self, name: &str) -> Result<u16, LinkError> {
        Ok(self.link(name)?.header.link_layer_type.into())
    }

    /// Returns how many packets the kernel has dropped instead of sending them out of the interface
    /// `name` (`tx_dropped`). A TUN device drops packets while its queue is full of packets that
    /// the process has not read.
    ///
    /// # Errors
    /// When no interface has that name.
    pub fn transmit_drops(&mut self, name: &str) -> Result<u64, LinkError> {
        for attribute in self.link(name)?.attributes {
            if let LinkAttribute::Stats64(statistics) = attribute {
                return Ok(statistics.tx_dropped);
            }
        }
        // Every Linux since 2.6.35 reports them.
        Err(unexpected_answer(name))
    }

    /// Returns the MTU of the interface `name` in bytes.
    ///
    /// # Errors
    /// When no interface has that name.
    pub fn mtu(&mut self, name: &str) -> Result<u32, LinkError> {
        for attribute in self.link(name)?.attributes {
            if let LinkAttribute::Mtu(mtu) = attribute {
                return Ok(mtu);
            }
        }
        Err(unexpected_answer(name))
    }

    /// Returns whether the interface `name` can carry packets: it is up, has a carrier (both ends of
    /// a veth pair are up), and the kernel has noticed, which may take a second.
    ///
    /// # Errors
    /// When no interface has that name.
    pub fn is_running(&mut self, name: &str) -> Result<bool, LinkError> {
        Ok(self.link(name)?.header.flags.contains(LinkFlags::Running))
    }

    /// Returns the number (id) of the XDP program that is attached to the interface `name`; `None`
    /// if there is none.
    ///
    /// # Errors
    /// When no interface has that name.
    pub fn xdp_program(&mut self, name: &str) -> Result<Option<u32>, LinkError> {
        for attribute in self.link(name)?.attributes {
            let LinkAttribute::Xdp(parts) = attribute else {
                continue;
            };
            if let Some(id) = facts::program_of(&parts) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Asks for everything that the kernel tells about an interface.
    fn link(&mut self, name: &str) -> Result<LinkMessage, LinkError> {
        let mut message = LinkMessage::default();
        message
            .attributes
            .push(LinkAttribute::IfName(name.to_owned()));
        match self.request(Request::GetLink(message), 0) {
            Ok(Some(Request::NewLink(link))) => Ok(link),
            Ok(_) => Err(unexpected_answer(name)),
            Err(source) => Err(refused(format!("find the interface {name}"), source)),
        }
    }

    /// Brings an interface up.
    ///
    /// # Errors
    /// When it does not exist, or without CAP_NET_ADMIN.
    pub fn set_up(&mut self, name: &str) -> Result<(), LinkError> {
        self.change(name, "bring up", |link| {
            link.header.flags = LinkFlags::Up;
            link.header.change_mask = LinkFlags::Up;
        })
    }

    /// Takes an interface down.
    ///
    /// # Errors
    /// When it does not exist, or without CAP_NET_ADMIN.
    pub fn set_down(&mut self, name: &str) -> Result<(), LinkError> {
        self.change(name, "take down", |link| {
            link.header.change_mask = LinkFlags::Up;
        })
    }

    /// Sets the MTU in bytes.
    ///
    /// # Errors
    /// When the interface does not exist or does not accept it.
    pub fn set_mtu(&mut self, name: &str, mtu: u32) -> Result<(), LinkError> {
        self.change(name, "set the MTU of", |link| {
            link.attributes.push(LinkAttribute::Mtu(mtu));
        })
    }

    /// Sets the length of the transmit queue in packets. In a TUN device, that queue holds the
    /// packets that the process has not read yet.
    ///
    /// # Errors
    /// When the interface does not exist.
    pub fn set_queue_length(&mut self, name: &str, packets: u32) -> Result<(), LinkError> {
        self.change(name, "set the queue length of", |link| {
            link.attributes.push(LinkAttribute::TxQueueLen(packets));
        })
    }

    /// Sets the MAC address.
    ///
    /// # Errors
    /// When the interface does not exist or does not accept it.
    pub fn set_hardware_address(&mut self, name: &str, mac: [u8; 6]) -> Result<(), LinkError> {
        self.change(name, "set the MAC address of", |link| {
            link.attributes.push(LinkAttribute::Address(mac.to_vec()));
        })
    }

    /// Changes an interface by the flags and attributes that `edit` puts into the message.
    fn change(
        &mut self,
        name: &str,
        verb: &str,
        edit: impl FnOnce(&mut LinkMessage),
    ) -> Result<(), LinkError> {
        let mut message = LinkMessage::default();
        message.header.index = self.index(name)?;
        edit(&mut message);
        self.command(Request::SetLink(message), 0)
            .map_err(|source| refused(format!("{verb} the interface {name}"), source))
    }

    /// Gives an interface an address; the kernel adds the route to its network.
    ///
    /// # Errors
    /// When the interface does not exist or has the address already.
    pub fn add_address(&mut self, name: &str, address: IpNet) -> Result<(), LinkError> {
        let mut message = AddressMessage::default();
        message.header.family = address.addr().into();
        message.header.prefix_len = address.prefix_len();
        message.header.index = self.index(name)?;
        // IPv4 wants the interface's own address as "local"; "address" would be that of the peer
        // of a point-to-point link. IPv6 reads either.
        message.attributes = vec![
            AddressAttribute::Local(address.addr()),
            AddressAttribute::Address(address.addr()),
        ];
        self.command(Request::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
            .map_err(|source| refused(format!("add the address {address} to {name}"), source))
    }

    /// Adds a route.
    ///
    /// # Errors
    /// When it exists already, or its interface does not exist or is down.
    pub fn add_route(&mut self, route: &Route) -> Result<(), LinkError> {
        let message = self.route_message(route)?;
        self.command(Request::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
            .map_err(|source| refused(format!("add the route to {}", route.to), source))
    }

    /// Removes a route.
    ///
    /// # Errors
    /// When it does not exist.
    pub fn delete_route(&mut self, route: &Route) -> Result<(), LinkError> {
        let message = self.route_message(route)?;
        self.command(Request::DelRoute(message), 0)
            .map_err(|source| refused(format!("remove the route to {}", route.to), source))
    }

    fn route_message(&mut self, route: &Route) -> Result<RouteMessage, LinkError> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: route.to.addr().into(),
            destination_prefix_length: route.to.prefix_len(),
            // Numbers that do not fit are in the attribute alone.
            table: u8::try_from(route.table).unwrap_or(RouteHeader::RT_TABLE_UNSPEC),
            protocol: RouteProtocol::Static,
            scope: RouteScope::Link,
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes = vec![
            RouteAttribute::Destination(RouteAddress::from(route.to.addr())),
            RouteAttribute::Oif(self.index(&route.interface)?),
            RouteAttribute::Table(route.table),
        ];
        Ok(message)
    }

    /// Creates a pair of virtual Ethernet interfaces: `name` in this namespace and `peer` in
    /// `peer_namespace`, or in this one if none is given.
    ///
    /// # Errors
    /// When a name is taken, or without CAP_NET_ADMIN.
    pub fn add_veth(
        &mut self,
        name: &str,
        peer: &str,
        peer_namespace: Option<&Namespace>,
    ) -> Result<(), LinkError> {
        let mut peer_link = LinkMessage::default();
        peer_link
            .attributes
            .push(LinkAttribute::IfName(peer.to_owned()));
        if let Some(namespace) = peer_namespace {
            peer_link
                .attributes
                .push(LinkAttribute::NetNsFd(namespace.raw_fd()));
        }
        let mut link = LinkMessage::default();
        link.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Veth),
                LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer_link))),
            ]),
        ];
        self.command(Request::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)
            .map_err(|source| refused(format!("create the pair {name}, {peer}"), source))
    }

    /// Sends a request that changes something and waits for its acknowledgement.
    fn command(&mut self, request: Request, flags: u16) -> io::Result<()> {
        self.request(request, flags | NLM_F_ACK).map(drop)
    }

    /// Sends a request and waits for the message that answers it; `None` is an acknowledgement.
    fn request(&mut self, request: Request, flags: u16) -> io::Result<Option<Request>> {
        self.send(request, flags)?;
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            // Answers to earlier requests, whose callers gave up on an error, are skipped.
            if let Some(answer) = answer_in(&datagram, self.sequence) {
                return answer;
            }
        }
    }

    /// Sends a request for a list and passes each of its messages to `on_message`.
    fn list(&mut self, request: Request, mut on_message: impl FnMut(Request)) -> io::Result<()> {
        self.send(request, NLM_F_DUMP)?;
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            if parts_in(&datagram, self.sequence, &mut on_message)? {
                return Ok(());
            }
        }
    }

    fn send(&mut self, request: Request, flags: u16) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = NetlinkMessage::from(request);
        message.header.flags = NLM_F_REQUEST | flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        Ok(())
    }
}

/// Finds the answer to request `sequence` among the messages of a datagram.
fn answer_in(mut datagram: &[u8], sequence: u32) -> Option<io::Result<Option<Request>>> {
    // The check ensures that the length in the header is that of a message within the datagram.
    while let Ok(message) = NetlinkBuffer::new_checked(datagram) {
        if message.sequence_number() == sequence {
            return Some(read_answer(datagram));
        }
        let length = message.length() as usize;
        datagram = datagram
            .get(length.next_multiple_of(usize::from(NLMSG_ALIGNTO))..)
            .unwrap_or_default();
    }
    None
}

/// Passes the messages of a datagram that belong to the list which answers request `sequence` to
/// `on_message`. Returns whether the list ends there.
fn parts_in(
    mut datagram: &[u8],
    sequence: u32,
    on_message: &mut impl FnMut(Request),
) -> io::Result<bool> {
    // The check ensures that the length in the header is that of a message within the datagram.
    while let Ok(message) = NetlinkBuffer::new_checked(datagram) {
        let length = message.length() as usize;
        if message.sequence_number() == sequence {
            match read_part(datagram)? {
                Some(part) => on_message(part),
                None => return Ok(true),
            }
        }
        datagram = datagram
            .get(length.next_multiple_of(usize::from(NLMSG_ALIGNTO))..)
            .unwrap_or_default();
    }
    Ok(false)
}

/// Reads the first message of `bytes`: an answer, an acknowledgement or a refusal.
fn read_answer(bytes: &[u8]) -> io::Result<Option<Request>> {
    let invalid = |error: DecodeError| io::Error::new(io::ErrorKind::InvalidData, error);
    match NetlinkMessage::deserialize(bytes).map_err(invalid)?.payload {
        NetlinkPayload::InnerMessage(answer) => Ok(Some(answer)),
        // An "error" without a code is an acknowledgement.
        NetlinkPayload::Error(error) if error.code.is_none() => Ok(None),
        NetlinkPayload::Error(error) => Err(refusal(&error)),
        // Lists end with it; single requests are not answered so.
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Reads a message of a list; `None` is its end.
fn read_part(bytes: &[u8]) -> io::Result<Option<Request>> {
    let invalid = |error: DecodeError| io::Error::new(io::ErrorKind::InvalidData, error);
    match NetlinkMessage::deserialize(bytes).map_err(invalid)?.payload {
        NetlinkPayload::InnerMessage(part) => Ok(Some(part)),
        NetlinkPayload::Done(_) => Ok(None),
        NetlinkPayload::Error(error) => Err(refusal(&error)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// What a refusal of the kernel says.
fn refusal(error: &ErrorMessage) -> io::Error {
    // `ErrorMessage::to_io` overflows with the least number, which is no error of the kernel's.
    io::Error::from_raw_os_error(error.raw_code().saturating_abs())
}

fn unexpected_answer(name: &str) -> LinkError {
    refused(
        format!("find the interface {name}"),
        io::ErrorKind::InvalidData.into(),
    )
}

fn refused(operation: impl Into<String>, source: io::Error) -> LinkError {
    LinkError {
        operation: operation.into(),
        source,
    }
}

/// See [`crate::fuzzing`].
#[cfg(fuzzing)]
pub(crate) fn fuzz_answer(datagram: &[u8], sequence: u32) {
    if let Some(Ok(Some(Request::NewLink(link)))) = answer_in(datagram, sequence) {
        bridge::PortLink::of(&link);
    }
}

/// See [`crate::fuzzing`].
#[cfg(fuzzing)]
pub(crate) fn fuzz_list(datagram: &[u8], sequence: u32) -> usize {
    let mut messages = 0;
    let _ = parts_in(datagram, sequence, &mut |part| {
        messages += 1;
        if let Request::NewLink(link) = part {
            bridge::PortVlan::of_port(link, 1);
        }
    });
    messages
}

#[cfg(test)]
mod tests;
