//! Where the headers of a TCP or UDP packet lie.

use super::checksum::Sum;

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

/// Offsets of a packet's parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub(super) v4: bool,
    pub(super) protocol: u8,
    /// Where the transport header begins.
    pub(super) transport: usize,
    /// Where the payload begins.
    pub(super) payload: usize,
}

impl Layout {
    /// Finds the headers of an unfragmented TCP or UDP packet without IP options or extension headers.
    pub(super) fn of(packet: &[u8]) -> Option<Self> {
        let (v4, transport, protocol) = match packet.first()? >> 4 {
            4 if packet[0] == 0x45 && packet.len() >= 20 => {
                let fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff;
                (fragment == 0).then_some((true, 20, packet[9]))?
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

    /// Bytes of the addresses in the packet.
    pub(super) const fn addresses(&self) -> core::ops::Range<usize> {
        if self.v4 { 12..20 } else { 8..40 }
    }

    /// Where the transport's checksum lies within its header.
    pub(super) const fn checksum_offset(&self) -> usize {
        if self.protocol == TCP { 16 } else { 6 }
    }

    /// Sum of the pseudo-header for a packet of `total` bytes.
    pub(super) fn pseudo_header(&self, packet: &[u8], total: usize) -> Sum {
        // IP packets are at most 65,575 bytes and the difference is the length of the transport segment.
        Sum::pseudo_header(
            &packet[self.addresses()],
            self.protocol,
            (total - self.transport) as u16,
        )
    }

    /// Whether the length in the IP header is that of the packet.
    pub(super) fn length_fits(&self, packet: &[u8]) -> bool {
        let (at, base) = if self.v4 { (2, 0) } else { (4, 40) };
        usize::from(u16::from_be_bytes([packet[at], packet[at + 1]])) + base == packet.len()
    }

    /// Writes the lengths in the IP header (and in that of UDP) and the IPv4 checksum.
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

/// The big-endian number of 32 bits at `at`.
pub(super) fn word32(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
}
