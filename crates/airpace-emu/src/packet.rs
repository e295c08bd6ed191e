//! The kernel's packets as the MAC carries them.

use airpace_core::packet::{Ecn, Packet};
use airpace_core::phy::AccessCategory;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_core::wire::ip::{self, IpInfo};
use airpace_net::offload::ETHERNET_HEADER_BYTES;
use core::hash::Hasher;
use std::rc::Rc;

/// An IPv4 packet, or an Ethernet frame, in the cell. Clones share the bytes.
#[derive(Clone, Debug)]
pub(crate) struct EmulatedPacket {
    /// A mark is set in a copy of the bytes if a clone shares them.
    bytes: Rc<[u8]>,
    /// Length of the Ethernet header without VLAN tags; 0 for an IPv4 packet.
    link_bytes: u8,
    /// Where the IP header begins, behind VLAN tags; the length of the bytes if there is none.
    network: u32,
    category: AccessCategory,
    /// Whether a queue of the cell has set Congestion Experienced.
    marked: bool,
}

impl EmulatedPacket {
    /// Copies the packet at the beginning of `bytes`; `None` if it is not IPv4 or not whole.
    pub(crate) fn copy(bytes: &[u8]) -> Option<Self> {
        let info = IpInfo::parse(bytes).ok().filter(|info| info.version == 4)?;
        let bytes = bytes.get(..info.bytes as usize)?.into();
        Some(Self {
            bytes,
            link_bytes: 0,
            network: 0,
            category: info.category(),
            marked: false,
        })
    }

    /// Copies an Ethernet frame of any protocol; `None` if it ends within its header.
    pub(crate) fn copy_frame(frame: &[u8]) -> Option<Self> {
        if frame.len() < ETHERNET_HEADER_BYTES {
            return None;
        }
        let network = network_header(frame).unwrap_or(frame.len());
        let info = IpInfo::parse(&frame[network..]).ok();
        Some(Self {
            bytes: frame.into(),
            link_bytes: ETHERNET_HEADER_BYTES as u8,
            // A frame has at most 65,549 bytes.
            network: network as u32,
            category: info.map_or(AccessCategory::BestEffort, |info| info.category()),
            marked: false,
        })
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the destination of an Ethernet frame; `None` for an IP packet.
    pub(crate) fn destination(&self) -> Option<MacAddr> {
        self.address(0)
    }

    /// Returns the source of an Ethernet frame; `None` for an IP packet.
    pub(crate) fn source(&self) -> Option<MacAddr> {
        self.address(6)
    }

    fn address(&self, at: usize) -> Option<MacAddr> {
        if self.link_bytes == 0 {
            return None;
        }
        self.bytes.get(at..)?.first_chunk().map(|mac| MacAddr(*mac))
    }

    /// Returns the EtherType and what follows it; `None` for an IP packet.
    pub(crate) fn ethertype(&self) -> Option<(u16, &[u8])> {
        if self.link_bytes == 0 {
            return None;
        }
        let (ethertype, payload) = self.bytes.get(12..)?.split_first_chunk()?;
        Some((u16::from_be_bytes(*ethertype), payload))
    }

    pub(crate) const fn is_marked(&self) -> bool {
        self.marked
    }

    /// The packet from its IP header on; empty if it has none.
    fn network(&self) -> &[u8] {
        self.bytes.get(self.network as usize..).unwrap_or_default()
    }
}

/// Returns where the IP header of an Ethernet frame begins; `None` for other protocols.
fn network_header(frame: &[u8]) -> Option<usize> {
    let mut at = ETHERNET_HEADER_BYTES;
    // Two VLAN tags at most (IEEE 802.1ad).
    for _ in 0..3 {
        match u16::from_be_bytes([*frame.get(at - 2)?, *frame.get(at - 1)?]) {
            0x0800 | 0x86dd => return Some(at),
            0x8100 | 0x88a8 => at += 4,
            _ => return None,
        }
    }
    None
}

impl Packet for EmulatedPacket {
    fn bytes(&self) -> u32 {
        // A packet has at most 65,535 bytes. The addresses and the EtherType of an Ethernet frame
        // are not part of it: on the air, the 802.11 header and LLC/SNAP replace them.
        self.bytes.len() as u32 - u32::from(self.link_bytes)
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        let network = self.network();
        if network.is_empty() {
            // Frames of other protocols are one flow for each pair of addresses.
            state.write(self.bytes.get(..12).unwrap_or_default());
        } else {
            ip::hash_flow(network, state);
        }
    }

    fn ecn(&self) -> Ecn {
        ip::ecn(self.network())
    }

    fn mark_ce(&mut self) -> bool {
        let network = self.network as usize;
        let bytes = Rc::make_mut(&mut self.bytes);
        let marked = bytes.get_mut(network..).is_some_and(ip::mark_ce);
        self.marked |= marked;
        marked
    }

    fn category(&self) -> AccessCategory {
        self.category
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_ipv4_packets_are_accepted() {
        let mut bytes = vec![0; 40];
        (bytes[0], bytes[3]) = (0x45, 30);
        let packet = EmulatedPacket::copy(&bytes).unwrap();
        assert_eq!((packet.bytes(), packet.as_slice().len()), (30, 30));
        bytes[3] = 41;
        assert!(EmulatedPacket::copy(&bytes).is_none());
        bytes[0] = 0x60;
        assert!(EmulatedPacket::copy(&bytes).is_none());
        assert!(EmulatedPacket::copy(&[]).is_none());
    }

    #[test]
    fn a_packet_has_the_category_of_its_code_point_and_keeps_its_mark() {
        let mut bytes = [0; 40];
        // Expedited forwarding, ECT(0).
        (bytes[0], bytes[1], bytes[3]) = (0x45, 46 << 2 | 2, 40);
        let mut packet = EmulatedPacket::copy(&bytes).unwrap();
        let shown = packet.clone();
        assert!(packet.category() == AccessCategory::Voice && !packet.is_marked());
        assert!(packet.mark_ce() && packet.is_marked());
        assert_eq!(
            (packet.as_slice()[1] & 3, shown.as_slice()[1] & 3),
            (3, 2),
            "a clone made before the mark has no mark"
        );
        bytes[1] = 0;
        let mut not_ect = EmulatedPacket::copy(&bytes).unwrap();
        assert!(!not_ect.mark_ce() && !not_ect.is_marked());
    }

    /// An Ethernet frame with `tags` VLAN tags and an IPv4 packet for expedited forwarding.
    fn frame(tags: usize) -> Vec<u8> {
        let mut frame = vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        for _ in 0..tags {
            frame.extend([0x81, 0, 0, 7]);
        }
        frame.extend([0x08, 0, 0x45, 46 << 2 | 1, 0, 40]);
        frame.resize(14 + 4 * tags + 40, 0);
        frame
    }

    #[test]
    fn a_frame_is_counted_without_its_ethernet_header_and_marked_behind_its_tags() {
        for tags in 0..=2 {
            let mut packet = EmulatedPacket::copy_frame(&frame(tags)).unwrap();
            assert_eq!(packet.bytes() as usize, 40 + 4 * tags);
            assert_eq!(packet.category(), AccessCategory::Voice);
            assert_eq!(packet.destination(), Some(MacAddr([1, 2, 3, 4, 5, 6])));
            assert_eq!(packet.source(), Some(MacAddr([7, 8, 9, 10, 11, 12])));
            assert_eq!(packet.ecn(), Ecn::Ect1);
            assert!(packet.mark_ce());
            assert_eq!(packet.ecn(), Ecn::Ce);
        }
    }

    #[test]
    fn frames_of_any_protocol_are_accepted_and_stay_as_they_are() {
        let mut arp = frame(0);
        arp[13] = 6;
        let mut packet = EmulatedPacket::copy_frame(&arp).unwrap();
        assert_eq!(packet.ethertype().unwrap().0, 0x0806);
        assert!(!packet.mark_ce());
        assert_eq!(packet.as_slice(), arp);
        assert!(EmulatedPacket::copy_frame(&arp[..13]).is_none());
        assert!(EmulatedPacket::copy_frame(&arp[..14]).is_some());
        assert!(EmulatedPacket::copy(&frame(3)).is_none());
    }
}
