//! The uplink counters of the kernel's programs.

use airpace_core::wire::ieee80211::MacAddr;
use airpace_net::inline::UplinkUse;
use std::collections::HashMap;

/// Bytes of the Ethernet header, which does not count as payload on the air.
const HEADER_BYTES: u64 = 14;

/// The counters at their last reading.
#[derive(Debug, Default)]
pub(super) struct UplinkCounters {
    before: HashMap<MacAddr, UplinkUse>,
}

/// What a station has sent since the last reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct UplinkDelta {
    /// Frames on the air: groups of packets that arrived together.
    pub(super) frames: u64,
    /// Bytes of the packets, without Ethernet headers.
    pub(super) bytes: u64,
}

impl UplinkCounters {
    /// Returns what a station has sent since the last reading of its counters, which are `now`. The
    /// first reading returns `None`: when its frames came is unknown.
    pub(super) fn read(&mut self, mac: MacAddr, now: UplinkUse) -> Option<UplinkDelta> {
        let before = self.before.insert(mac, now)?;
        // A source that the kernel had forgotten is counted from zero again.
        let before = if now.frames < before.frames {
            UplinkUse::default()
        } else {
            before
        };
        let packets = now.frames - before.frames;
        let bytes = now.bytes.saturating_sub(before.bytes);
        (packets > 0).then(|| UplinkDelta {
            // A reading may fall between the packets of one frame.
            frames: now.bursts.saturating_sub(before.bursts).max(1),
            // Counts that no program makes must not stop the box.
            bytes: bytes.saturating_sub(HEADER_BYTES.saturating_mul(packets)),
        })
    }

    /// Forgets a station that has left.
    pub(super) fn forget(&mut self, mac: MacAddr) {
        self.before.remove(&mac);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    const fn counted(frames: u64, bytes: u64, bursts: u64) -> UplinkUse {
        UplinkUse {
            frames,
            bytes,
            bursts,
            last_ns: 0,
        }
    }

    #[test]
    fn only_what_came_since_the_last_reading_counts() {
        let mut counters = UplinkCounters::default();
        assert_eq!(counters.read(MAC, counted(5, 500, 2)), None);
        assert_eq!(counters.read(MAC, counted(5, 500, 2)), None);
        let delta = counters.read(MAC, counted(15, 15_640, 4));
        let expected = UplinkDelta {
            frames: 2,
            bytes: 15_000,
        };
        assert_eq!(delta, Some(expected));
        // Forgotten by the kernel in between.
        let delta = counters.read(MAC, counted(1, 114, 1));
        let expected = UplinkDelta {
            frames: 1,
            bytes: 100,
        };
        assert_eq!(delta, Some(expected));
    }

    #[test]
    fn counts_that_no_program_makes_are_read_without_a_panic() {
        let mut counters = UplinkCounters::default();
        counters.read(MAC, counted(0, u64::MAX, u64::MAX));
        let delta = counters.read(MAC, counted(u64::MAX, 0, 0));
        let expected = UplinkDelta {
            frames: 1,
            bytes: 0,
        };
        assert_eq!(delta, Some(expected));
    }
}
