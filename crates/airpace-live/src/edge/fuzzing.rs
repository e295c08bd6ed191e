//! See [`crate::fuzzing`].

use super::frame::FrameBuf;
use super::headers::{FlowKeys, binding, dhcp_name, uplink};
use super::socket;
use super::uplink::UplinkCounters;
use airpace_api::config::ControlConfig;
use airpace_api::mac::MacAddress;
use airpace_api::operator::{EdgeReply, EdgeRequest};
use airpace_core::packet::Packet as _;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_net::inline::UplinkUse;

/// Reads a record of the ring as the box does. Returns how many bytes of the frame it has.
#[must_use]
pub fn observe(record: &[u8]) -> Option<usize> {
    let observation = airpace_net::fuzzing::observation(record)?;
    let keys = FlowKeys::default();
    let _ = uplink(&observation, &keys);
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

/// Sends bytes to the control socket of a box and returns the number of its answers.
///
/// # Panics
/// An answer is no answer, or there is no socket.
#[must_use]
pub fn operator(bytes: &[u8]) -> usize {
    let answers = socket::answers_to(bytes, |request| {
        let refused = match request {
            EdgeRequest::Status | EdgeRequest::Reload => None,
            EdgeRequest::Exempt { station, .. } => station.parse::<MacAddress>().err(),
            EdgeRequest::Aim { aim } => {
                let mut control = ControlConfig::default();
                // What is taken can be told in words.
                match control.set_aim(aim) {
                    Ok(()) => assert!(!control.aim_in_words().is_empty()),
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
                None
            }
        };
        EdgeReply {
            error: refused.map(|error| error.to_string()),
            ..EdgeReply::default()
        }
    });
    let mut count = 0;
    for line in answers.split_inclusive(|&byte| byte == b'\n') {
        let reply: Result<EdgeReply, _> = serde_json::from_slice(line);
        assert!(reply.is_ok(), "an answer that its client cannot read");
        count += 1;
    }
    count
}
