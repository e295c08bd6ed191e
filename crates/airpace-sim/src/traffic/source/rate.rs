//! Rates as exact fractions, so that the times of packets do not drift.

use airpace_units::BitRate;
use core::time::Duration;

/// How often a source sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rate {
    /// Payload bits per second.
    Bits(BitRate),
    /// `count` packets (frames, of a source of frames) in each `period`, evenly spaced.
    Packets {
        /// Number of packets; 0 means silence.
        count: u64,
        /// The time in which they are sent; zero means silence.
        period: Duration,
    },
}

/// Millionths of a packet: the resolution of [`Rate::packets_per_second`].
const RESOLUTION: f64 = 1e6;

impl Rate {
    /// `rate` packets per second, to the nearest millionth of a packet. A rate that is negative or
    /// not a number means silence.
    #[must_use]
    pub fn packets_per_second(rate: f64) -> Self {
        // A float-to-integer `as` saturates and maps NaN to zero.
        Self::Packets {
            count: (rate * RESOLUTION).round() as u64,
            period: Duration::from_secs(RESOLUTION as u64),
        }
    }

    /// The gap between units of `bytes`; `None` at rate zero.
    pub(super) fn gap(self, bytes: u32) -> Option<Gap> {
        match self {
            Self::Bits(rate) => Gap::new(u128::from(bytes) * 8_000_000_000, rate.bps()),
            Self::Packets { count, period } => Gap::new(period.as_nanos(), count),
        }
    }
}

/// A gap of `whole + rest / per` nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gap {
    whole: u64,
    rest: u64,
    per: u64,
}

/// Rates above a packet per 10⁻⁹ ns are all the same; the bound keeps the sum of two remainders
/// within 64 bits.
const MAX_PER: u64 = 1 << 62;

impl Gap {
    fn new(ns: u128, per: u64) -> Option<Self> {
        if ns == 0 {
            return None;
        }
        let per = per.min(MAX_PER);
        let whole = ns.checked_div(u128::from(per))?;
        // The remainder is below `per`, which fits.
        let rest = (ns % u128::from(per)) as u64;
        Some(Self {
            whole: u64::try_from(whole).unwrap_or(u64::MAX),
            rest,
            per,
        })
    }

    /// The gap in nanoseconds, for random draws.
    pub(super) fn as_nanos_f64(self) -> f64 {
        self.whole as f64 + self.rest as f64 / self.per as f64
    }
}

/// A clock that ticks after each gap. Its times are the exact ones rounded down to whole
/// nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticker {
    at_ns: u64,
    /// Fraction of a nanosecond carried over, in units of 1 / `per` of the current gap.
    carried: u64,
    gap: Option<Gap>,
}

impl Ticker {
    pub(super) fn new(at_ns: u64, gap: Option<Gap>) -> Self {
        Self {
            at_ns,
            carried: 0,
            gap,
        }
    }

    /// Returns the current tick and moves on to the next; `None` while the rate is zero.
    #[inline]
    pub(super) fn tick(&mut self) -> Option<u64> {
        let gap = self.gap?;
        let now = self.at_ns;
        self.carried += gap.rest;
        let carry = self.carried >= gap.per;
        if carry {
            self.carried -= gap.per;
        }
        self.at_ns = now
            .saturating_add(gap.whole)
            .saturating_add(u64::from(carry));
        Some(now)
    }

    /// Changes the gap from `now_ns` on. The pending tick keeps its time unless it is further away
    /// than one new gap.
    pub(super) fn set_gap(&mut self, now_ns: u64, gap: Option<Gap>) {
        if let Some(gap) = gap {
            // A tick that was far away at a lower rate, or never due, now comes within one new gap.
            let soon = now_ns.saturating_add(gap.whole);
            self.at_ns = if self.gap.is_none() {
                soon
            } else {
                self.at_ns.min(soon).max(now_ns)
            };
        }
        // The carried fraction has the denominator of the old gap.
        (self.carried, self.gap) = (0, gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ticks_are_the_exact_times_rounded_down(bytes in 1..100_000u32, bps in 1_000..10_000_000_000u64, ticks in 1..5_000u64) {
            let mut ticker = Ticker::new(0, Rate::Bits(BitRate::from_bps(bps)).gap(bytes));
            let last = (0..=ticks).map(|_| ticker.tick().unwrap()).last().unwrap();
            let exact = u128::from(bytes) * 8_000_000_000 * u128::from(ticks) / u128::from(bps);
            prop_assert_eq!(u128::from(last), exact);
        }

        #[test]
        fn any_change_of_rate_leaves_ticks_in_order(bytes: u32, rates in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 1..20)) {
            let mut ticker = Ticker::new(0, None);
            let mut last = 0;
            for (now, bps, period) in rates {
                let now = now.max(last);
                let rate = if bps % 2 == 0 { Rate::Bits(BitRate::from_bps(bps)) } else { Rate::Packets { count: bps, period: Duration::from_nanos(period) } };
                ticker.set_gap(now, rate.gap(bytes));
                for _ in 0..3 {
                    if let Some(at) = ticker.tick() {
                        prop_assert!(at >= last);
                        last = at;
                    }
                }
            }
        }
    }

    #[test]
    fn a_period_of_zero_means_silence() {
        assert_eq!(
            Rate::Packets {
                count: 1,
                period: Duration::ZERO
            }
            .gap(1),
            None
        );
    }

    #[test]
    fn packets_per_second_are_rounded_to_millionths_and_nonsense_is_silence() {
        assert_eq!(
            Rate::packets_per_second(30.0).gap(1),
            Rate::Packets {
                count: 30_000_000,
                period: Duration::from_secs(1_000_000)
            }
            .gap(1)
        );
        assert_eq!(Rate::packets_per_second(f64::NAN).gap(1), None);
        assert_eq!(Rate::packets_per_second(-1.0).gap(1), None);
        assert_eq!(Rate::Bits(BitRate::ZERO).gap(1), None);
    }
}
