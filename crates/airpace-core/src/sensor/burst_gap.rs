//! Learns the gap that separates two bursts.

use core::time::Duration;

/// Gaps are counted in bins of a quarter of an octave.
const BINS_PER_OCTAVE: f64 = 4.0;
/// Lower end of the first bin, microseconds.
const FIRST_US: f64 = 4.0;
/// Ten octaves: 4 µs to 4 ms. Shorter and longer gaps count in the first and the last bin.
const BINS: usize = 40;
/// The threshold is sought between these, microseconds. Packets of one uplink frame reach the box a
/// few microseconds apart, at the speed of the wire and of the access point's processor.
const LEAST_US: f64 = 20.0;
const MOST_US: f64 = 400.0;
/// The next uplink frame of the same station needs at least SIFS, block ack, AIFS and preamble.
const NEXT_FRAME_US: f64 = 131.0;
/// The threshold until enough gaps have been seen.
const DEFAULT: Duration = Duration::from_micros(100);
/// Gaps that must have been seen before the threshold is learnt.
const ENOUGH: f64 = 64.0;
/// Old gaps are forgotten: at this weight all counts are halved.
const FULL: f64 = 8_192.0;

/// The smallest gap between two bursts of one station, learnt from the distribution of gaps.
///
/// Gaps within a burst and gaps between bursts differ by orders of magnitude, so their distribution
/// on a logarithmic scale has a valley. The threshold lies in the middle of the widest stretch of
/// bins with the lowest count.
#[derive(Clone, Debug)]
pub(super) struct BurstGap {
    counts: [f64; BINS],
    total: f64,
    threshold: Duration,
    /// Gaps since the threshold was last computed.
    pending: u32,
}

impl Default for BurstGap {
    fn default() -> Self {
        Self {
            counts: [0.0; BINS],
            total: 0.0,
            threshold: DEFAULT,
            pending: 0,
        }
    }
}

impl BurstGap {
    /// Whether packets this far apart belong to different bursts. Learns from the gap too.
    pub(super) fn separates(&mut self, gap: Duration) -> bool {
        self.learn(gap);
        gap > self.threshold
    }

    /// How clearly bursts are apart, 0 to 1: the share of gaps that are not near the threshold.
    pub(super) fn clarity(&self) -> f64 {
        let middle = bin(self.threshold.as_secs_f64() * 1e6);
        let near: f64 = self.counts[middle.saturating_sub(1)..(middle + 2).min(BINS)]
            .iter()
            .sum();
        1.0 - near / self.total.max(1.0)
    }

    /// The threshold so far.
    #[cfg(test)]
    pub(super) const fn threshold(&self) -> Duration {
        self.threshold
    }

    fn learn(&mut self, gap: Duration) {
        self.counts[bin(gap.as_secs_f64() * 1e6)] += 1.0;
        self.total += 1.0;
        if self.total > FULL {
            for count in &mut self.counts {
                *count /= 2.0;
            }
            self.total /= 2.0;
        }
        self.pending += 1;
        if self.pending >= 64 && self.total >= ENOUGH {
            self.pending = 0;
            self.threshold = self.valley();
        }
    }

    /// The middle of the widest stretch with the lowest smoothed count.
    fn valley(&self) -> Duration {
        let (first, last) = (bin(LEAST_US), bin(MOST_US));
        // Smoothing over three bins keeps a single stray gap from dividing a valley.
        let smoothed = |i: usize| self.counts[i - 1..=i + 1].iter().sum::<f64>();
        let lowest = (first..=last).map(smoothed).fold(f64::INFINITY, f64::min);
        // Counts within a thousandth of all gaps of the lowest belong to the valley.
        let is_low = |i: usize| smoothed(i) <= lowest + self.total * 1e-3;
        let (mut best, mut best_width) = (bin(100.0), 0);
        let mut start = first;
        for i in first..=last + 1 {
            if i <= last && is_low(i) {
                continue;
            }
            // A valley that ends at a shorter gap than there can be between bursts lies within bursts.
            if i - start > best_width && i > bin(NEXT_FRAME_US) {
                (best, best_width) = (start, i - start);
            }
            start = i + 1;
        }
        let middle = best as f64 + best_width as f64 / 2.0;
        Duration::from_secs_f64(FIRST_US * 1e-6 * (middle / BINS_PER_OCTAVE).exp2())
    }
}

/// The bin of a gap.
fn bin(us: f64) -> usize {
    let octaves = (us.max(FIRST_US) / FIRST_US).log2();
    // Not negative, and bounded by the number of bins.
    ((octaves * BINS_PER_OCTAVE) as usize).min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(within_us: &[u64], between_us: &[u64]) -> u64 {
        let mut gap = BurstGap::default();
        for _ in 0..200 {
            for &us in within_us.iter().chain(between_us) {
                gap.separates(Duration::from_micros(us));
            }
        }
        u64::try_from(gap.threshold().as_micros()).unwrap()
    }

    #[test]
    fn the_threshold_lies_between_gaps_within_and_between_bursts() {
        let cases: [(&[u64], &[u64]); 4] = [
            (&[1, 2, 5], &[250, 400, 900]),
            (&[5, 30, 50], &[300, 2_000]),
            (&[20, 80, 110], &[390, 700, 5_000]),
            (&[], &[200, 300, 1_000]),
        ];
        for (within, between) in cases {
            let us = learnt(within, between);
            let most = within.iter().max().copied().unwrap_or(0);
            let least = *between.iter().min().unwrap();
            assert!(most < us && us < least, "{most} < {us} < {least}");
        }
    }

    #[test]
    fn few_gaps_leave_the_default() {
        let mut gap = BurstGap::default();
        assert!(!gap.separates(Duration::from_micros(90)));
        assert!(gap.separates(Duration::from_micros(110)));
        assert_eq!(gap.threshold(), DEFAULT);
    }
}
