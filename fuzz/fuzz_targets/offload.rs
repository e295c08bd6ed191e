//! Super-packets of a TUN device with offload: whatever the kernel hands over is refused or split into packets that fit
//! their buffers.
#![no_main]

use airpace_net::offload::SuperPacket;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|frame: &[u8]| {
    let mut frame = frame.to_vec();
    let Ok(packets) = SuperPacket::parse(&mut frame) else {
        return;
    };
    // A frame is at most 64 kB, so that it is at most as many packets.
    let mut buffer = vec![0; packets.max_bytes()];
    for idx in 0..packets.count().min(65_536) {
        if let Some(len) = packets.write(idx, &mut buffer) {
            assert!(len <= buffer.len());
        }
    }
});
