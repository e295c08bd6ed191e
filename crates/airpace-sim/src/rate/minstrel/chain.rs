//! The retry chain: which rates a frame is tried at, and how often each.

use super::table::Table;
use core::time::Duration;

/// Most time that the tries at one rate may take together (rc80211_minstrel: segment_size = 6000
/// µs).
const SEGMENT: Duration = Duration::from_micros(6_000);
/// Most tries at one rate if the driver sets no other limit (rc80211_minstrel: max_retry = 7).
const MAX_TRIES: u8 = 7;
/// A rate with a lower success probability is tried only twice (rc80211_minstrel_ht).
const DOUBTFUL: f64 = 0.20;
/// The contention that the kernel assumes: windows of 15 to 1023 slots (rc80211_minstrel: cw_min,
/// cw_max) of 9 µs.
const CW_MIN: u32 = 15;
const CW_MAX: u32 = 1_023;
const SLOT_NS: u32 = 9_000;

/// The rates at which a frame is tried in turn, as indices in the table: highest throughput, second
/// highest, most robust.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    rates: [u16; 3],
    /// Number of tries at each rate.
    tries: [u8; 3],
}

impl Chain {
    /// The chain of the current best rates, with at most `limit` tries in total, but at least one
    /// per rate.
    pub(super) fn new(table: &Table, limit: u8) -> Self {
        let rates = [table.best(), table.second(), table.robust()];
        let mut tries = rates.map(|index| tries_within_segment(table, index));
        // The first of the rates with most tries gives one up, so that the robust rate keeps its
        // tries.
        while tries.iter().sum::<u8>() > limit.max(3) {
            let longest = (0..3).rev().max_by_key(|&i| tries[i]).unwrap_or(0);
            tries[longest] -= 1;
        }
        Self { rates, tries }
    }

    pub(super) const fn first(&self) -> u16 {
        self.rates[0]
    }

    /// The rate of the try after `unanswered` ones (at least 1). A sample replaces all tries at the
    /// first rate.
    pub(super) fn retry(&self, unanswered: u8, sampled: bool) -> u16 {
        let first = if sampled { 1 } else { self.tries[0] };
        if unanswered < first {
            self.rates[0]
        } else if unanswered < first + self.tries[1] {
            self.rates[1]
        } else {
            self.rates[2]
        }
    }

    pub(super) fn entries(&self) -> [(u16, u8); 3] {
        [0, 1, 2].map(|i| (self.rates[i], self.tries[i]))
    }
}

/// Number of tries at a rate: two, and as many more as fit into the segment, each with its mean
/// back-off.
fn tries_within_segment(table: &Table, index: u16) -> u8 {
    if table.probability(index) < DOUBTFUL {
        return 2;
    }
    let frame_ns = table.frame_ns(index);
    let segment_ns = SEGMENT.as_nanos() as f64;
    let (mut tries, mut window, mut spent_ns) = (0, CW_MIN, 0.0);
    while tries < MAX_TRIES {
        spent_ns += f64::from(window * SLOT_NS / 2) + frame_ns;
        if tries >= 2 && spent_ns >= segment_ns {
            break;
        }
        tries += 1;
        // The contention window doubles with each failure (10.3.3).
        window = (2 * window + 1).min(CW_MAX);
    }
    tries
}
