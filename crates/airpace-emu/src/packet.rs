//! The kernel's packets as the MAC carries them.

use airpace_core::packet::{Ecn, Packet};
use airpace_core::phy::AccessCategory;
use airpace_core::wire::ip::{self, IpInfo};
use core::hash::Hasher;
use std::rc::Rc;

/// An IPv4 packet in the cell. Clones share the bytes.
#[derive(Clone, Debug)]
pub(crate) struct EmulatedPacket {
    /// A mark is set in a copy of the bytes if a clone shares them.
    bytes: Rc<[u8]>,
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
            category: info.category(),
            marked: false,
        })
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) const fn is_marked(&self) -> bool {
        self.marked
    }
}

impl Packet for EmulatedPacket {
    fn bytes(&self) -> u32 {
        // An IPv4 packet has at most 65,535 bytes.
        self.bytes.len() as u32
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        ip::hash_flow(&self.bytes, state);
    }

    fn ecn(&self) -> Ecn {
        ip::ecn(&self.bytes)
    }

    fn mark_ce(&mut self) -> bool {
        let marked = ip::mark_ce(Rc::make_mut(&mut self.bytes));
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
}
