//! A data-frame header that is accepted keeps its fields when it is written and read again.
#![no_main]

use airpace_core::wire::ieee80211::{DataHeader, fcs, split_snap};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = fcs(bytes);
    let Ok((header, length)) = DataHeader::parse(bytes) else {
        return;
    };
    // The length was checked against the bytes, so slicing cannot panic.
    if let Some((_, payload)) = split_snap(&bytes[length..]) {
        assert!(payload.len() < bytes.len());
    }
    // HT control is not written, so only the fields come back, not the length.
    let mut written = Vec::new();
    header.write(&mut written);
    let (read_again, written_length) = DataHeader::parse(&written).expect("it was just written");
    assert_eq!((read_again, written_length), (header, written.len()));
});
