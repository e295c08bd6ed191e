//! Answers and lists of netlink, as the kernel sends them: any bytes are read or refused, a message is
//! read only within its length, and a list ends.
#![no_main]

use airpace_net::fuzzing::{netlink_answer, netlink_list};
use libfuzzer_sys::fuzz_target;

/// The request that the bytes answer.
const SEQUENCE: u32 = 5;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else {
        return;
    };
    // Unless the input chooses otherwise, the first header is that of an answer to the request, with
    // a length that is right.
    let mut bytes = rest.to_vec();
    if choice & 1 == 0 && bytes.len() >= 16 {
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes[8..12].copy_from_slice(&SEQUENCE.to_ne_bytes());
    }
    if choice & 2 == 0 {
        netlink_answer(&bytes, SEQUENCE);
    } else {
        let messages = netlink_list(&bytes, SEQUENCE);
        // A message has a header of 16 bytes.
        assert!(messages <= bytes.len() / 16);
    }
});
