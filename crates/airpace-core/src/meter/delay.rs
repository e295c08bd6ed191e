//! One-way delay relative to the smallest delay seen: mean and quantiles per slot.

use crate::report::{WaitSource, WaitingTime};
use airpace_units::Time;
use core::time::Duration;

/// The smallest delay is taken over this many periods, so that drifting clocks (50 µs per second at
/// worst) do not distort it for long.
const PERIODS: usize = 6;
const PERIOD_NS: u64 = 10_000_000_000;

/// Sixteen bins per octave: the width of a bin is at most 1/16 of its value.
const BINS_PER_OCTAVE_LOG2: u32 = 4;
const BINS_PER_OCTAVE: usize = 1 << BINS_PER_OCTAVE_LOG2;
/// Values are 32 bits of microseconds: 71 minutes.
const BINS: usize = (32 - BINS_PER_OCTAVE_LOG2 as usize + 1) * BINS_PER_OCTAVE;

#[derive(Clone, Debug)]
pub(crate) struct DelayMeter {
    /// The smallest delay of each period, the current period first.
    least: [Option<i64>; PERIODS],
    /// The smallest delay of the periods before the current one; `i64::MAX` if there was none.
    least_before: i64,
    period_start: Time,
    bins: [u32; BINS],
    samples: u32,
    sum_us: u64,
    /// Exponential mean over the last packets, microseconds.
    recent_us: f64,
    /// 95th percentile of the last slot with samples, microseconds.
    last_p95_us: f64,
}

/// Weight of a packet in the mean over the last ones: about a frame.
const RECENT_GAIN: f64 = 1.0 / 32.0;
/// The last packets have waited far longer than those of the last slot if their mean is this many
/// times the 95th percentile of that slot ...
const GROWTH: f64 = 2.0;
/// ... and above this, which one collision or a neighbour's frame does not cause, microseconds.
const GROWTH_LEAST_US: f64 = 15_000.0;

impl DelayMeter {
    pub(crate) const fn new() -> Self {
        Self {
            least: [None; PERIODS],
            least_before: i64::MAX,
            period_start: Time::ZERO,
            bins: [0; BINS],
            samples: 0,
            sum_us: 0,
            recent_us: 0.0,
            last_p95_us: 0.0,
        }
    }

    /// Whether a queue has grown since the last slot.
    #[inline]
    pub(super) fn has_grown(&self) -> bool {
        self.recent_us > (GROWTH * self.last_p95_us).max(GROWTH_LEAST_US)
    }

    /// Whether packets wait about as long as in the last slot, or less.
    pub(super) fn is_steady(&self) -> bool {
        self.recent_us <= self.last_p95_us
    }

    /// Mean waiting time of the last packets.
    pub(super) fn recent(&self) -> Duration {
        Duration::from_micros(self.recent_us as u64)
    }

    #[inline]
    pub(crate) fn on_sample(&mut self, at: Time, delay_ns: i64) {
        if at.saturating_nanos_since(self.period_start) >= PERIOD_NS {
            self.begin_period(at);
        }
        let least = self.least[0].map_or(delay_ns, |least| least.min(delay_ns));
        self.least[0] = Some(least);
        let least = least.min(self.least_before);
        // The difference is not negative because `least` was just updated, and that of two i64 fits
        // a u64.
        let us = u32::try_from(delay_ns.abs_diff(least) / 1_000).unwrap_or(u32::MAX);
        let bin = &mut self.bins[bin(us)];
        *bin = bin.saturating_add(1);
        self.samples = self.samples.saturating_add(1);
        self.sum_us = self.sum_us.saturating_add(u64::from(us));
        self.recent_us += RECENT_GAIN * (f64::from(us) - self.recent_us);
    }

    #[inline(never)]
    fn begin_period(&mut self, at: Time) {
        self.period_start = at;
        self.least.rotate_right(1);
        self.least[0] = None;
        let before = self.least.iter().flatten().min();
        self.least_before = before.copied().unwrap_or(i64::MAX);
    }

    /// Mean and quantiles since the last call, if there were samples.
    pub(crate) fn close(&mut self) -> Option<WaitingTime> {
        if self.samples == 0 {
            return None;
        }
        let [p50, p95, p99] = [50, 95, 99].map(|percent| self.quantile(percent));
        let mean = Duration::from_micros(self.sum_us / u64::from(self.samples));
        // The queue at the end of the slot is known as well.
        self.last_p95_us = p95.as_secs_f64() * 1e6;
        self.bins.fill(0);
        self.samples = 0;
        self.sum_us = 0;
        Some(WaitingTime {
            mean,
            p50,
            p95,
            p99,
            source: WaitSource::SendStamps,
        })
    }

    fn quantile(&self, percent: u64) -> Duration {
        let rank = (u64::from(self.samples) * percent).div_ceil(100);
        let mut below = 0u64;
        let found = self.bins.iter().position(|&count| {
            below += u64::from(count);
            below >= rank
        });
        Duration::from_micros(u64::from(middle(found.unwrap_or(BINS - 1))))
    }
}

/// The bin of a value: linear below sixteen, then sixteen bins per octave.
#[inline]
fn bin(us: u32) -> usize {
    let Some(octave) = us
        .checked_ilog2()
        .and_then(|log2| log2.checked_sub(BINS_PER_OCTAVE_LOG2))
    else {
        return us as usize;
    };
    // The five highest bits, of which the first is set: below 32.
    let mantissa = (us >> octave) as usize;
    octave as usize * BINS_PER_OCTAVE + mantissa
}

/// The middle of a bin.
fn middle(bin: usize) -> u32 {
    let octave = (bin / BINS_PER_OCTAVE).saturating_sub(1);
    let mantissa = bin - octave * BINS_PER_OCTAVE;
    // Below 32 · 2^27, so it fits.
    ((mantissa as u32) << octave) + ((1 << octave) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bin_is_near_its_values(us: u32) {
            let middle = middle(bin(us));
            prop_assert!(u64::from(middle.abs_diff(us)) * 16 <= u64::from(us));
        }
    }

    #[test]
    fn quantiles_are_relative_to_the_least_delay() {
        let mut meter = DelayMeter::new();
        for i in (0..1_000).rev() {
            // The clock of the sender is an hour ahead.
            meter.on_sample(Time::from_millis(i), -3_600_000_000_000);
            meter.on_sample(
                Time::from_millis(i),
                -3_600_000_000_000 + 10_000 * i64::try_from(i).unwrap(),
            );
        }
        let quantiles = meter.close().unwrap();
        let near = |q: Duration, us: f64| (q.as_secs_f64() * 1e6 / us - 1.0).abs() < 0.07;
        assert!(quantiles.p50 <= Duration::from_micros(10));
        assert!(
            near(quantiles.p95, 9_000.0) && near(quantiles.p99, 9_800.0),
            "{quantiles:?}"
        );
        assert_eq!(meter.close(), None);
    }

    #[test]
    fn an_old_least_delay_is_forgotten() {
        let mut meter = DelayMeter::new();
        for second in 0..200 {
            meter.on_sample(
                Time::from_millis(second * 1_000),
                i64::try_from(second).unwrap() * 50_000,
            );
        }
        // The clocks drift by 50 µs a second; only the last minute counts.
        assert!(meter.close().unwrap().p99 <= Duration::from_micros(3_300));
    }

    #[test]
    fn any_sample_is_survived() {
        let mut meter = DelayMeter::new();
        for (at, delay) in [
            (0, i64::MAX),
            (u64::MAX, i64::MIN),
            (5, 0),
            (u64::MAX, i64::MAX),
        ] {
            meter.on_sample(Time::from_nanos(at), delay);
        }
        assert!(meter.close().is_some());
    }
}
