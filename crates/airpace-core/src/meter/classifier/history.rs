//! What the last gaps between arrivals looked like.

use super::GapFeatures;

/// Gaps are counted in bins of a quarter of an octave.
const BINS_PER_OCTAVE: f64 = 4.0;
/// Lower end of the second bin, microseconds. Shorter gaps count in the first.
const FIRST_US: f64 = 1.0;
/// Twelve octaves: 1 µs to 4 ms. Longer gaps count in the last bin.
const BINS: usize = 49;
/// The valley is sought between these, microseconds. MPDUs that are handed over one by one are up to
/// 2 ms apart (1500 bytes at 6.5 Mbit/s), and the next frame comes even later.
const VALLEY_US: (f64, f64) = (12.0, 2_500.0);
/// The next frame to the same station needs at least SIFS, block ack, AIFS and preamble.
const NEXT_FRAME_US: f64 = 131.0;
/// The valley until enough gaps have been seen: see [`FRAME_GAP`](crate::meter::FRAME_GAP).
const DEFAULT_US: f64 = 65.0;
/// Gaps that must have been seen before the valley is sought.
const ENOUGH: f64 = 64.0;
/// Old gaps are forgotten: at this weight all counts are halved.
const FULL: f64 = 2_048.0;
/// Gaps after which the valley is sought again.
const RENEWED: u32 = 64;
/// Bins that count as the surroundings of the valley, to each side.
const NEAR: usize = 1;
/// Weight of a frame, and of a gap, in the means.
const FRAME_GAIN: f64 = 1.0 / 16.0;
const GAP_GAIN: f64 = 1.0 / 64.0;
/// Longest PPDU, microseconds (IEEE 802.11-2020 table 19-25).
const LONGEST_PPDU_US: f64 = 5_484.0;

/// Statistics of the last gaps and frames.
#[derive(Clone, Debug)]
pub(super) struct History {
    counts: [f64; BINS],
    total: f64,
    /// Gaps since the valley was last sought.
    pending: u32,
    valley_us: f64,
    clarity: f64,
    /// Logarithm of the gap before.
    last_log: f64,
    /// Packets of the frame that runs, and the time since its first.
    packets: f64,
    extent_us: f64,
    /// Means: packets per frame, and logarithms of the gaps between and within frames.
    mean_packets: f64,
    between_log: f64,
    within_log: f64,
}

impl Default for History {
    fn default() -> Self {
        Self {
            counts: [0.0; BINS],
            total: 0.0,
            pending: 0,
            valley_us: DEFAULT_US,
            clarity: 1.0,
            last_log: 0.0,
            packets: 0.0,
            extent_us: 0.0,
            mean_packets: 4.0,
            between_log: log(4.0 * NEXT_FRAME_US),
            within_log: log(3.0),
        }
    }
}

impl History {
    /// Takes the first arrival.
    pub(super) const fn begin(&mut self) {
        self.packets = 1.0;
    }

    /// The features of a gap that has not been added yet.
    pub(super) fn features(&self, gap_us: f64) -> GapFeatures {
        let gap = log(gap_us);
        let against = |other: f64, most: f64| (gap - other).clamp(-most, most);
        [
            gap.min(log(10_000.0)),
            against(log(self.valley_us), 4.0),
            self.shorter(gap_us),
            self.clarity,
            against(self.last_log, 4.0),
            (self.packets / self.mean_packets).min(4.0),
            against(self.between_log, 4.0),
            against(self.within_log, 6.0),
            ((self.extent_us + gap_us) / LONGEST_PPDU_US).min(2.0),
            f64::from(gap_us < 0.5),
            log(self.valley_us),
            self.packets.min(256.0).ln(),
        ]
    }

    /// Adds a gap, and the arrival after it.
    pub(super) fn add(&mut self, gap_us: f64, starts_frame: bool) {
        self.count(gap_us);
        self.last_log = log(gap_us);
        // By the valley, and not by the decision: one wrong decision must not lead to the next.
        if gap_us >= self.valley_us {
            self.between_log += FRAME_GAIN * (self.last_log - self.between_log);
        } else {
            self.within_log += GAP_GAIN * (self.last_log - self.within_log);
        }
        if starts_frame {
            self.mean_packets += FRAME_GAIN * (self.packets - self.mean_packets);
            (self.packets, self.extent_us) = (1.0, 0.0);
        } else {
            self.packets += 1.0;
            self.extent_us += gap_us;
        }
    }

    /// The middle between gaps within frames and gaps between frames, microseconds.
    pub(super) const fn valley_us(&self) -> f64 {
        self.valley_us
    }

    /// How clearly both are apart, 0 to 1: the share of gaps that are not near the valley.
    pub(super) const fn clarity(&self) -> f64 {
        self.clarity
    }

    /// The share of the last gaps that were shorter.
    fn shorter(&self, gap_us: f64) -> f64 {
        let at = bin(gap_us);
        let below: f64 = self.counts[..at].iter().sum();
        (below + 0.5 * self.counts[at]) / self.total.max(1.0)
    }

    fn count(&mut self, gap_us: f64) {
        self.counts[bin(gap_us)] += 1.0;
        self.total += 1.0;
        if self.total > FULL {
            for count in &mut self.counts {
                *count /= 2.0;
            }
            self.total /= 2.0;
        }
        self.pending += 1;
        if self.pending >= RENEWED && self.total >= ENOUGH {
            self.pending = 0;
            self.seek_valley();
        }
    }

    /// Seeks the widest stretch of bins with the lowest smoothed count.
    fn seek_valley(&mut self) {
        let (first, last) = (bin(VALLEY_US.0), bin(VALLEY_US.1));
        // Smoothing over three bins keeps a single stray gap from dividing a valley.
        let smoothed = |i: usize| self.counts[i - 1..=i + 1].iter().sum::<f64>();
        // Beyond the longest gap that is common there is no valley but the end.
        let beyond: f64 = self.counts[last..].iter().sum();
        let mut end = last;
        let mut longer = beyond;
        while end > first && longer < 0.01 * self.total {
            end -= 1;
            longer += self.counts[end];
        }
        let lowest = (first..=end).map(smoothed).fold(f64::INFINITY, f64::min);
        let is_low = |i: usize| smoothed(i) <= lowest + self.total * 2e-3;
        let (mut best, mut best_width) = (bin(DEFAULT_US), 0);
        let mut start = first;
        for i in first..=end + 1 {
            if i <= end && is_low(i) {
                continue;
            }
            // A valley that ends at a shorter gap than there can be between frames lies within them.
            if i - start > best_width && i > bin(NEXT_FRAME_US) {
                (best, best_width) = (start, i - start);
            }
            start = i + 1;
        }
        let middle = best as f64 + best_width as f64 / 2.0;
        self.valley_us = FIRST_US * ((middle - 1.0) / BINS_PER_OCTAVE).exp2();
        let at = bin(self.valley_us);
        let near: f64 = self.counts[at - NEAR..=at + NEAR].iter().sum();
        self.clarity = 1.0 - (near / self.total.max(1.0)).min(1.0);
    }
}

/// Logarithm of a gap, finite for one of zero.
pub(super) fn log(us: f64) -> f64 {
    (1.0 + us).ln()
}

/// The bin of a gap.
fn bin(us: f64) -> usize {
    if us < FIRST_US {
        return 0;
    }
    let octaves = (us / FIRST_US).log2();
    // Not negative, and bounded by the number of bins.
    ((octaves * BINS_PER_OCTAVE) as usize + 1).min(BINS - 1)
}
