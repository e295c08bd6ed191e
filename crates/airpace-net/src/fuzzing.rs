//! Parsers of what the kernel sends, for the fuzz targets, which are outside of this crate. It exists
//! only in builds with `--cfg fuzzing`, as `cargo fuzz` makes them.

use crate::inline::{self, Observation, UplinkUse};
use crate::netlink;

/// Reads the answer to request `sequence` in a datagram, as every request does.
pub fn netlink_answer(datagram: &[u8], sequence: u32) {
    netlink::fuzz_answer(datagram, sequence);
}

/// Reads a datagram of the list that answers request `sequence`. Returns the number of messages.
pub fn netlink_list(datagram: &[u8], sequence: u32) -> usize {
    netlink::fuzz_list(datagram, sequence)
}

/// Reads a record of the ring.
#[must_use]
pub fn observation(record: &[u8]) -> Option<Observation<'_>> {
    Observation::parse(record)
}

/// Reads the counters of a station, `struct uplink` of the programs.
#[must_use]
pub const fn uplink_use(words: [u64; 7]) -> UplinkUse {
    UplinkUse::from_words(words)
}

/// Whether a unicast frame for a station would be queued by the path without the kernel's programs.
#[must_use]
pub fn is_for_queue(frame: &[u8]) -> bool {
    inline::fuzz_is_for_queue(frame)
}
