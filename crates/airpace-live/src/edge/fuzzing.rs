//! See [`crate::fuzzing`].

use super::frame::FrameBuf;
use super::headers::{FlowKeys, binding, dhcp_name, uplink};
use super::uplink::UplinkCounters;
use airpace_core::packet::Packet as _;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_net::inline::UplinkUse;

/// Reads a record of the ring as the box does. Returns how many bytes of the frame it has.
#[must_use]
pub fn observe(record: &[u8]) -> Option<usize> {
    let observation = airpace_net::fuzzing::observation(record)?;
    let keys = FlowKeys::default();
    let _ = uplink(observation.kind, observation.bytes, &keys);
    let _ = binding(observation.kind, observation.bytes);
    if let Some((_, name)) = dhcp_name(observation.bytes) {
        // Names reach logs and tables.
        assert!(name.chars().count() <= 63 && !name.contains(char::is_control));
    }
    if let Some((_, mut frame)) = FrameBuf::copy(observation.bytes, Vec::new(), &keys) {
        assert!(frame.bytes() as usize <= observation.bytes.len());
        frame.mark_ce();
        let _ = (frame.category(), frame.ecn());
    }
    Some(observation.bytes.len())
}

/// Readings of the counters of stations.
#[derive(Debug, Default)]
pub struct UplinkReader(UplinkCounters);

impl UplinkReader {
    /// Takes a reading. Returns the frames and bytes since the one before.
    pub fn read(&mut self, station: [u8; 6], reading: UplinkUse) -> Option<(u64, u64)> {
        let delta = self.0.read(MacAddr(station), reading)?;
        Some((delta.frames, delta.bytes))
    }

    /// Forgets a station.
    pub fn forget(&mut self, station: [u8; 6]) {
        self.0.forget(MacAddr(station));
    }
}
