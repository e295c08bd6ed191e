//! Where the headers of a TCP or UDP packet are.

use super::checksum::Sum;

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

/// Offsets of a packet's parts, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Whether the packet is IPv4; else it is IPv6.
    pub(super) v4: bool,
    pub(super) protocol: u8,
    /// Where the transport header begins.
    pub(super) transport: usize,
    /// Where the payload begins.
    pub(super) payload: usize,
}

impl Layout {
    /// Finds the headers of an unfragmented TCP or UDP packet without IP options or extension
    /// headers; `None` for any other packet.
    pub(super) fn of(packet: &[u8]) -> Option<Self> {
        let (v4, transport, protocol) = match packet.first()? >> 4 {
            // A header of five words has no options.
            4 if packet[0] == 0x45 && packet.len() >= 20 => {
                // "More fragments" and the offset; "don't fragment" may be set.
                let fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff;
                if fragment != 0 {
                    return None;
                }
                (true, 20, packet[9])
            }
            6 if packet.len() >= 40 => (false, 40, packet[6]),
            _ => return None,
        };
        let payload = match protocol {
            TCP => transport + usize::from(packet.get(transport + 12)? >> 4) * 4,
            UDP => transport + 8,
            _ => return None,
        };
        let least = transport + if protocol == TCP { 20 } else { 8 };
        (payload >= least && payload <= packet.len()).then_some(Self {
            v4,
            protocol,
            transport,
            payload,
        })
    }

    /// Where the two addresses are.
    pub(super) const fn addresses(&self) -> core::ops::Range<usize> {
        if self.v4 { 12..20 } else { 8..40 }
    }

    /// Where the checksum is within the transport header.
    pub(super) const fn checksum_offset(&self) -> usize {
        if self.protocol == TCP { 16 } else { 6 }
    }

    /// Returns the sum of the pseudo-header for a packet of `total` bytes.
    pub(super) fn pseudo_header(&self, packet: &[u8], total: usize) -> Sum {
        // At most 65,535 bytes follow an IP header.
        Sum::pseudo_header(
            &packet[self.addresses()],
            self.protocol,
            (total - self.transport) as u16,
        )
    }

    /// Returns whether the length in the IP header is that of the packet.
    pub(super) fn length_fits(&self, packet: &[u8]) -> bool {
        // IPv4 counts its own header, IPv6 only what follows the header.
        let (at, base) = if self.v4 { (2, 0) } else { (4, 40) };
        usize::from(u16::from_be_bytes([packet[at], packet[at + 1]])) + base == packet.len()
    }

    /// Writes the length into the IP header and that of UDP, and the checksum of an IPv4 header.
    pub(super) fn set_length(&self, packet: &mut [u8], total: usize) {
        let at = if self.v4 { 2 } else { 4 };
        let length = if self.v4 { total } else { total - 40 };
        packet[at..at + 2].copy_from_slice(&(length as u16).to_be_bytes());
        if self.v4 {
            packet[10..12].fill(0);
            let sum = Sum::default().bytes(&packet[..20]).finish();
            packet[10..12].copy_from_slice(&sum);
        }
        if self.protocol == UDP {
            let length = (total - self.transport) as u16;
            packet[self.transport + 4..self.transport + 6].copy_from_slice(&length.to_be_bytes());
        }
    }
}

/// Returns the big-endian number of 32 bits at `at`.
pub(super) fn word32(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
}
