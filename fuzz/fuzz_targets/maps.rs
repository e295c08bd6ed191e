//! What the programs in the kernel hand over: records of the ring and counters of the maps, as user
//! space reads them, and the frames in them as the sensors do.
#![no_main]

use airpace_live::fuzzing::{UplinkReader, observe};
use airpace_net::fuzzing::{is_for_queue, uplink_use};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else {
        return;
    };
    match choice % 3 {
        0 => {
            if let Some(captured) = observe(rest) {
                assert!(captured <= rest.len());
            }
        }
        1 => {
            let _ = is_for_queue(rest);
        }
        _ => {
            // Readings of the counters of two stations, which the kernel may forget in between.
            let mut reader = UplinkReader::default();
            for reading in rest.chunks_exact(1 + 7 * 8) {
                let mut words = [0; 7];
                for (word, bytes) in words.iter_mut().zip(reading[1..].as_chunks::<8>().0) {
                    *word = u64::from_ne_bytes(*bytes);
                }
                let station = [2, 0, 0, 0, 0, reading[0] & 1];
                if let Some((frames, bytes)) = reader.read(station, uplink_use(words)) {
                    assert!(frames > 0 && bytes <= words[1]);
                }
                if reading[0] & 0xf0 == 0xf0 {
                    reader.forget(station);
                }
            }
        }
    }
});
