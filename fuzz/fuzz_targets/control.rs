//! A control frame that is accepted keeps its promises: a block ack has its highest number.
#![no_main]

use airpace_core::wire::control::ControlFrame;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match ControlFrame::parse(bytes) {
        Ok(ControlFrame::BlockAck(block_ack)) => {
            if let Some(highest) = block_ack.highest() {
                assert_eq!(block_ack.has(highest), Some(true));
            }
            // What is written again is read as the same.
            let mut written = Vec::new();
            block_ack.write(&mut written);
            assert_eq!(
                ControlFrame::parse(&written),
                Ok(ControlFrame::BlockAck(block_ack))
            );
        }
        Ok(ControlFrame::MultiStation(multi)) => assert!(multi.stations().count() <= bytes.len()),
        _ => {}
    }
});
