//! Frames, and the messages from which stations are learnt.
#![no_main]

use airpace_core::wire::ethernet::{Dhcp, Ethernet, arp_binding, neighbour_binding};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = arp_binding(bytes);
    let _ = neighbour_binding(bytes);
    let _ = Dhcp::parse(bytes);
    if let Ok(frame) = Ethernet::parse(bytes) {
        assert!(frame.payload.len() + 14 + 4 * usize::from(frame.tags) == bytes.len());
        let _ = arp_binding(frame.payload);
        let _ = neighbour_binding(frame.payload);
    }
});
