use airpace_core::packet::Packet;
use airpace_core::wire::inner::{self, IpInfo};
use core::hash::Hasher;
use std::rc::Rc;

/// An IPv4 packet in the cell. Copies share the bytes.
#[derive(Clone, Debug)]
pub(crate) struct EmulatedPacket(Rc<[u8]>);

impl EmulatedPacket {
    /// Copies the packet out of `bytes`; `None` if it is not IPv4 or cut off.
    pub(crate) fn copy(bytes: &[u8]) -> Option<Self> {
        let info = IpInfo::parse(bytes).ok().filter(|info| info.version == 4)?;
        bytes.get(..info.bytes as usize).map(|packet| Self(packet.into()))
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl Packet for EmulatedPacket {
    fn bytes(&self) -> u32 {
        // An IPv4 packet has at most 65,535 bytes.
        self.0.len() as u32
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        inner::hash_flow(&self.0, state);
    }

    fn mark_ce(&mut self) -> bool {
        inner::mark_ce(Rc::make_mut(&mut self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_ipv4_packets_are_taken() {
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
}
