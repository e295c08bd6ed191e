//! IP headers: lengths stay within the bytes, and an ECN mark changes neither the flow nor any
//! other field.
#![no_main]

use airpace_core::wire::ip::{self, IpInfo};
use airpace_core::wire::tcp::{self, PureAck};
use libfuzzer_sys::fuzz_target;
use std::hash::{DefaultHasher, Hasher};

fn flow(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    ip::hash_flow(bytes, &mut hasher);
    hasher.finish()
}

fuzz_target!(|bytes: &[u8]| {
    let info = IpInfo::parse(bytes);
    if let Ok(info) = info {
        assert!(info.bytes as usize <= bytes.len());
        assert!(ip::source(bytes).is_some() && ip::destination(bytes).is_some());
        let _ = info.category();
    }
    let ack = PureAck::parse(bytes);
    assert!(info.is_ok() || ack.is_none());

    let mut clamped = bytes.to_vec();
    if tcp::clamp_mss(&mut clamped, 1232) {
        assert_eq!(flow(&clamped), flow(bytes));
        assert!(!tcp::clamp_mss(&mut clamped, 1232));
    }

    let mut marked = bytes.to_vec();
    if ip::mark_ce(&mut marked) {
        assert_eq!(flow(&marked), flow(bytes));
        assert_eq!(PureAck::parse(&marked), ack);
        assert_eq!(
            IpInfo::parse(&marked),
            info.map(|info| IpInfo { ecn: 3, ..info })
        );
    } else {
        assert_eq!(marked, bytes);
    }
});
