//! Delays as a log-linear histogram with exact count, mean and extremes.

use airpace_units::Time;
use core::time::Duration;

/// Bins per octave: the width of a bin is at most 1/64 of its smallest value, so its middle is
/// within 1/128 (0.8 %) of all its values.
const BINS_LOG2: u32 = 6;
const BINS_PER_OCTAVE: u64 = 1 << BINS_LOG2;
/// Values are counted in units of 16 ns, so that the linear bins end at 1 µs, above which the
/// relative error holds.
const UNIT_LOG2: u32 = 4;
/// Longest delay that is resolved: 2^36 units, about 1100 s. Longer delays are counted in the last
/// bin.
const LONGEST_LOG2: u32 = 36;
const BINS: usize = (LONGEST_LOG2 - BINS_LOG2 + 1) as usize * BINS_PER_OCTAVE as usize;

/// Delays of a flow: exact count, mean, minimum and maximum, and quantiles within 1 % from 1 µs to
/// 1000 s. It takes 8 kB, whatever is recorded.
#[derive(Clone)]
pub struct DelayStatistic {
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    // 32 bits hold 4·10⁹ delays per bin; a full bin stays full.
    bins: Box<[u32; BINS]>,
}

/// Summary of the delays of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelaySummary {
    /// Number of delays.
    pub count: u64,
    /// Mean.
    pub mean: Duration,
    /// Minimum.
    pub min: Duration,
    /// Median.
    pub p50: Duration,
    /// 95th percentile.
    pub p95: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// Maximum.
    pub max: Duration,
}

impl Default for DelayStatistic {
    fn default() -> Self {
        Self {
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            bins: Box::new([0; BINS]),
        }
    }
}

impl core::fmt::Debug for DelayStatistic {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("DelayStatistic")
            .field(&self.summary())
            .finish()
    }
}

impl DelayStatistic {
    /// Records a delay.
    #[inline]
    pub fn record(&mut self, delay: Duration) {
        // Differences of `Time` fit u64 nanoseconds (584 years); anything longer saturates.
        let ns = delay
            .as_secs()
            .saturating_mul(1_000_000_000)
            .saturating_add(u64::from(delay.subsec_nanos()));
        self.record_ns(ns);
    }

    /// Records the time from `earlier` to `now`, zero if `earlier` is the later: the same as
    /// [`DelayStatistic::record`] without the divisions that a [`Duration`] takes.
    #[inline]
    pub fn record_since(&mut self, earlier: Time, now: Time) {
        self.record_ns(now.as_nanos().saturating_sub(earlier.as_nanos()));
    }

    #[inline]
    fn record_ns(&mut self, ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        let bin = &mut self.bins[bin(ns)];
        *bin = bin.saturating_add(1);
    }

    /// Number of delays recorded.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The mean, rounded down to nanoseconds; `None` if nothing was recorded.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum_ns.checked_div(u128::from(self.count))?;
        Some(Duration::from_nanos(
            u64::try_from(mean).unwrap_or(u64::MAX),
        ))
    }

    /// The quantile `quantile` (0 to 1) of the delays, within 1 %; `None` if nothing was recorded.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        // The sum of the bins and not `count`, because bins may be full. A float-to-integer `as`
        // maps NaN to zero.
        let total: u64 = self.bins.iter().map(|&bin| u64::from(bin)).sum();
        let rank = ((quantile * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut up_to_here = 0;
        for (bin, &count) in self.bins.iter().enumerate() {
            up_to_here += u64::from(count);
            if up_to_here >= rank {
                let ns = middle_ns(bin).clamp(self.min_ns, self.max_ns);
                return Some(Duration::from_nanos(ns));
            }
        }
        None
    }

    /// Count, mean, extremes and quantiles; `None` if nothing was recorded.
    #[must_use]
    pub fn summary(&self) -> Option<DelaySummary> {
        Some(DelaySummary {
            count: self.count,
            mean: self.mean()?,
            min: Duration::from_nanos(self.min_ns),
            p50: self.quantile(0.5)?,
            p95: self.quantile(0.95)?,
            p99: self.quantile(0.99)?,
            max: Duration::from_nanos(self.max_ns),
        })
    }

    /// Adds the delays of `other` as if they had been recorded here.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        for (bin, &more) in self.bins.iter_mut().zip(other.bins.iter()) {
            *bin = bin.saturating_add(more);
        }
    }
}

/// The bin of a delay: one per unit below 64 units, then 64 bins per octave.
#[inline]
fn bin(ns: u64) -> usize {
    let units = (ns >> UNIT_LOG2).min((1 << LONGEST_LOG2) - 1);
    // The octave is 0 for the linear bins and for the first octave above them, whose bins are as
    // wide.
    let octave = (units | (BINS_PER_OCTAVE - 1)).ilog2() - (BINS_LOG2 - 1);
    let octave = octave.saturating_sub(1);
    // Below 2^36 units the bin is below BINS.
    (u64::from(octave) * BINS_PER_OCTAVE + (units >> octave)) as usize
}

/// The middle of a bin.
fn middle_ns(bin: usize) -> u64 {
    let bin = bin as u64;
    let octave = (bin / BINS_PER_OCTAVE).saturating_sub(1);
    let smallest = (bin - octave * BINS_PER_OCTAVE) << octave;
    // Half of a bin's width, in nanoseconds.
    (smallest << UNIT_LOG2) + (1 << (octave + u64::from(UNIT_LOG2) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recorded(delays: &[u64]) -> DelayStatistic {
        let mut statistic = DelayStatistic::default();
        for &ns in delays {
            statistic.record(Duration::from_nanos(ns));
        }
        statistic
    }

    /// Delays of every order of magnitude from 1 µs to 1000 s.
    fn delays() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(
            (0..9u32, 1_000..10_000u64, 0..1_000u64)
                .prop_map(|(e, m, l)| (m * 1_000 + l) * 10u64.pow(e) / 1_000),
            1..300,
        )
    }

    fn state(statistic: &DelayStatistic) -> (u64, u128, u64, u64, Vec<u32>) {
        let DelayStatistic {
            count,
            sum_ns,
            min_ns,
            max_ns,
            bins,
        } = statistic;
        (*count, *sum_ns, *min_ns, *max_ns, bins.to_vec())
    }

    proptest! {
        #[test]
        fn quantiles_are_within_one_percent_of_the_exact_ones(mut delays in delays(), quantile in 0.0..=1.0f64) {
            let statistic = recorded(&delays);
            delays.sort_unstable();
            let rank = ((quantile * delays.len() as f64).ceil() as usize).clamp(1, delays.len());
            let exact = delays[rank - 1] as f64;
            let found = statistic.quantile(quantile).unwrap().as_nanos() as f64;
            prop_assert!((found / exact - 1.0).abs() <= 0.01, "{found} for {exact}");
            prop_assert_eq!(statistic.mean().unwrap().as_nanos(), delays.iter().map(|&ns| u128::from(ns)).sum::<u128>() / delays.len() as u128);
        }

        #[test]
        fn merging_parts_is_recording_the_whole(left in delays(), right in delays()) {
            let mut merged = recorded(&left);
            merged.merge(&recorded(&right));
            prop_assert_eq!(state(&merged), state(&recorded(&[left, right].concat())));
        }

        #[test]
        fn the_middle_of_a_bin_is_near_every_delay_in_it(ns: u64) {
            let middle = middle_ns(bin(ns));
            let ns = ns.min((1 << (LONGEST_LOG2 + UNIT_LOG2)) - 1);
            prop_assert!(middle.abs_diff(ns) <= 8.max(ns / 128), "{} for {}", middle, ns);
        }
    }

    #[test]
    fn bins_are_contiguous_and_fill_the_table() {
        assert_eq!(bin(0), 0);
        assert_eq!(bin(u64::MAX), BINS - 1);
        for index in 0..BINS {
            assert_eq!(bin(middle_ns(index)), index);
        }
        assert!(size_of::<[u32; BINS]>() <= 8_192);
    }

    #[test]
    fn an_empty_statistic_has_no_quantiles_and_any_quantile_is_accepted() {
        let empty = DelayStatistic::default();
        assert_eq!(
            (empty.summary(), empty.mean(), empty.quantile(0.5)),
            (None, None, None)
        );
        let single = recorded(&[1_234_567]);
        assert_eq!(
            single.quantile(f64::NAN),
            Some(Duration::from_nanos(1_234_567))
        );
        assert_eq!(single.quantile(9.0), Some(Duration::from_nanos(1_234_567)));
    }
}
