//! Ethernet II frames with up to two VLAN tags (IEEE 802.3, IEEE 802.1Q-2018), ARP (RFC 826), IPv6
//! neighbour discovery (RFC 4861) and DHCPv4 (RFC 2131, RFC 2132): what a box in front of an access
//! point learns stations from.

use super::ieee80211::MacAddr;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use thiserror::Error;

/// EtherTypes (IANA "IEEE 802 Numbers").
pub mod ethertype {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
    /// Customer VLAN tag.
    pub const VLAN: u16 = 0x8100;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
    /// EAP over LAN.
    pub const EAPOL: u16 = 0x888e;
    /// Service VLAN tag.
    pub const SERVICE_VLAN: u16 = 0x88a8;
}

/// Most VLAN tags that are read.
const MAX_TAGS: usize = 2;
/// The identifier in a VLAN tag; the rest is priority and drop eligibility.
const VLAN_ID: u16 = 0x0fff;

/// Why bytes are not what they were taken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum EthernetError {
    /// The bytes end too early.
    #[error("the frame is cut off")]
    Truncated,
    /// More VLAN tags than are read.
    #[error("the frame has more than {MAX_TAGS} VLAN tags")]
    Tags,
    /// A message of another protocol, hardware or kind.
    #[error("the message is of a kind that is not read")]
    Kind,
    /// Lengths within the message contradict each other.
    #[error("lengths in the message contradict each other")]
    Length,
}

/// An Ethernet II frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ethernet<'a> {
    /// Receiver.
    pub destination: MacAddr,
    /// Sender.
    pub source: MacAddr,
    /// VLAN identifiers, outermost first; 0 where there is no tag.
    pub vlans: [u16; MAX_TAGS],
    /// Number of VLAN tags.
    pub tags: u8,
    /// What the payload is. Values below 1536 are lengths (IEEE 802.3 §3.2.6).
    pub ethertype: u16,
    /// What follows. It may end with padding.
    pub payload: &'a [u8],
}

impl<'a> Ethernet<'a> {
    /// Reads the frame in `bytes`, without frame check sequence.
    ///
    /// # Errors
    /// If the headers are cut off or there are more than two VLAN tags.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, EthernetError> {
        let (destination, rest) = address(bytes)?;
        let (source, rest) = address(rest)?;
        let (mut ethertype, mut payload) = number(rest)?;
        let (mut vlans, mut tags) = ([0; MAX_TAGS], 0);
        while matches!(ethertype, ethertype::VLAN | ethertype::SERVICE_VLAN) {
            let slot = vlans.get_mut(tags).ok_or(EthernetError::Tags)?;
            let (tag, rest) = number(payload)?;
            *slot = tag & VLAN_ID;
            tags += 1;
            (ethertype, payload) = number(rest)?;
        }
        Ok(Self {
            destination,
            source,
            vlans,
            // At most two.
            tags: tags as u8,
            ethertype,
            payload,
        })
    }

    /// Whether the frame is for more than one receiver.
    #[must_use]
    pub const fn is_group(&self) -> bool {
        self.destination.0[0] & 1 == 1
    }
}

/// A binding of an IP address to a MAC address that was seen in passing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Binding {
    /// Who has the address.
    pub mac: MacAddr,
    /// The address.
    pub address: IpAddr,
}

/// The sender's binding in an ARP request or reply; `None` in a probe, whose sender has no address
/// yet (RFC 5227).
///
/// # Errors
/// If the payload of the Ethernet frame is not ARP for IPv4 over Ethernet.
pub fn arp_binding(payload: &[u8]) -> Result<Option<Binding>, EthernetError> {
    // Hardware Ethernet, protocol IPv4, lengths 6 and 4.
    const PREFIX: [u8; 6] = [0, 1, 8, 0, 6, 4];
    let message = payload
        .first_chunk::<28>()
        .ok_or(EthernetError::Truncated)?;
    let operation = u16::from_be_bytes([message[6], message[7]]);
    if message[..6] != PREFIX || !matches!(operation, 1 | 2) {
        return Err(EthernetError::Kind);
    }
    let (mac, rest) = address(&message[8..])?;
    let &octets: &[u8; 4] = rest.first_chunk().ok_or(EthernetError::Truncated)?;
    let address = Ipv4Addr::from(octets);
    Ok((!address.is_unspecified()).then_some(Binding {
        mac,
        address: address.into(),
    }))
}

/// The binding in an IPv6 neighbour solicitation (of its sender) or advertisement (of its target);
/// `None` if it has no link-layer address or no source address, as in duplicate address detection.
///
/// # Errors
/// If the IPv6 packet is not one of them.
pub fn neighbour_binding(packet: &[u8]) -> Result<Option<Binding>, EthernetError> {
    const ICMPV6: u8 = 58;
    const SOLICITATION: u8 = 135;
    const ADVERTISEMENT: u8 = 136;
    const SOURCE_OPTION: u8 = 1;
    const TARGET_OPTION: u8 = 2;
    let header = packet.first_chunk::<40>().ok_or(EthernetError::Truncated)?;
    if header[0] >> 4 != 6 || header[6] != ICMPV6 {
        return Err(EthernetError::Kind);
    }
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let message = packet
        .get(40..40 + length)
        .ok_or(EthernetError::Truncated)?;
    let fixed = message
        .first_chunk::<24>()
        .ok_or(EthernetError::Truncated)?;
    let (address, wanted) = match fixed[0] {
        SOLICITATION => (ipv6(&header[8..24])?, SOURCE_OPTION),
        ADVERTISEMENT => (ipv6(&fixed[8..24])?, TARGET_OPTION),
        _ => return Err(EthernetError::Kind),
    };
    let mut options = &message[24..];
    while let &[kind, units, ..] = options {
        let bytes = usize::from(units) * 8;
        // An option of length zero would never end.
        if bytes == 0 || bytes > options.len() {
            return Err(EthernetError::Length);
        }
        if kind == wanted && units == 1 && !address.is_unspecified() {
            let (mac, _) = self::address(&options[2..])?;
            return Ok(Some(Binding {
                mac,
                address: address.into(),
            }));
        }
        options = &options[bytes..];
    }
    Ok(None)
}

fn ipv6(bytes: &[u8]) -> Result<Ipv6Addr, EthernetError> {
    let octets: &[u8; 16] = bytes.first_chunk().ok_or(EthernetError::Truncated)?;
    Ok(Ipv6Addr::from(*octets))
}

fn address(bytes: &[u8]) -> Result<(MacAddr, &[u8]), EthernetError> {
    let (octets, rest) = bytes
        .split_first_chunk::<6>()
        .ok_or(EthernetError::Truncated)?;
    Ok((MacAddr(*octets), rest))
}

fn number(bytes: &[u8]) -> Result<(u16, &[u8]), EthernetError> {
    let (octets, rest) = bytes
        .split_first_chunk::<2>()
        .ok_or(EthernetError::Truncated)?;
    Ok((u16::from_be_bytes(*octets), rest))
}

/// What a DHCPv4 message says about a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dhcp<'a> {
    /// The client's MAC address.
    pub client: MacAddr,
    /// The kind of message (RFC 2132 §9.6): 3 is a request, 5 an acknowledgement.
    pub kind: u8,
    /// The address that the client asks for.
    pub requested: Option<Ipv4Addr>,
    /// The address that the server assigns.
    pub assigned: Option<Ipv4Addr>,
    /// The name that the client gives itself, as it stands in the message.
    pub host_name: Option<&'a [u8]>,
}

impl<'a> Dhcp<'a> {
    /// The kind of a request.
    pub const REQUEST: u8 = 3;
    /// The kind of an acknowledgement, which assigns an address.
    pub const ACK: u8 = 5;

    /// Reads the payload of a UDP datagram from or to port 67.
    ///
    /// # Errors
    /// If it is not a DHCP message of an Ethernet client.
    pub fn parse(payload: &'a [u8]) -> Result<Self, EthernetError> {
        const COOKIE: [u8; 4] = [0x63, 0x82, 0x53, 0x63];
        const PAD: u8 = 0;
        const HOST_NAME: u8 = 12;
        const REQUESTED: u8 = 50;
        const KIND: u8 = 53;
        const END: u8 = 255;
        let fixed = payload
            .first_chunk::<240>()
            .ok_or(EthernetError::Truncated)?;
        // Hardware Ethernet, six bytes of address.
        if !matches!(fixed[0], 1 | 2) || fixed[1..3] != [1, 6] || fixed[236..] != COOKIE {
            return Err(EthernetError::Kind);
        }
        let (client, _) = address(&fixed[28..])?;
        let mut dhcp = Self {
            client,
            kind: 0,
            requested: None,
            assigned: ipv4(&fixed[16..20]).filter(|address| !address.is_unspecified()),
            host_name: None,
        };
        let mut options = &payload[240..];
        while let Some((&code, rest)) = options.split_first() {
            match code {
                PAD => {
                    options = rest;
                    continue;
                }
                END => break,
                _ => {}
            }
            let (&length, rest) = rest.split_first().ok_or(EthernetError::Truncated)?;
            let value = rest
                .get(..usize::from(length))
                .ok_or(EthernetError::Truncated)?;
            match code {
                KIND => dhcp.kind = value.first().copied().unwrap_or(0),
                REQUESTED => dhcp.requested = ipv4(value),
                HOST_NAME => dhcp.host_name = Some(value),
                _ => {}
            }
            options = &rest[value.len()..];
        }
        if dhcp.kind == 0 {
            return Err(EthernetError::Kind);
        }
        Ok(dhcp)
    }
}

fn ipv4(bytes: &[u8]) -> Option<Ipv4Addr> {
    let octets: &[u8; 4] = bytes.first_chunk()?;
    Some(Ipv4Addr::from(*octets))
}

#[cfg(test)]
mod tests;
