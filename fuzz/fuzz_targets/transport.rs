//! Transport headers of packets that pass.
#![no_main]

use airpace_core::wire::transport::{Transport, hash_connection};
use libfuzzer_sys::fuzz_target;
use std::hash::DefaultHasher;

fuzz_target!(|bytes: &[u8]| {
    let read = Transport::parse(bytes);
    let has_connection = hash_connection(bytes, &mut DefaultHasher::new());
    assert!(read.is_none() || has_connection);
});
