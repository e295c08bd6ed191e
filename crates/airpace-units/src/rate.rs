use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Mul, Sub};
use core::time::Duration;

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bytes(pub u64);

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct BitRate(u64);

impl Bytes {
    /// The number of bits. Saturates above 2 EiB.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0.saturating_mul(8)
    }

    /// The time these bytes take at `rate`, rounded down to a nanosecond; `None` at rate zero.
    #[must_use]
    pub fn checked_div(self, rate: BitRate) -> Option<Duration> {
        // 2^64 bits · 10^9 < 2^94, so 128 bits cannot overflow.
        let ns = (u128::from(self.bits()) * 1_000_000_000).checked_div(u128::from(rate.0))?;
        Some(Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
    }
}

impl BitRate {
    /// No traffic at all.
    pub const ZERO: Self = Self(0);

    /// A rate of `bps` bits per second.
    #[must_use]
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// A rate of `kbps` · 1000 bits per second.
    #[must_use]
    pub const fn from_kbps(kbps: u64) -> Self {
        Self(kbps * 1_000)
    }

    /// A rate of `mbps` · 10⁶ bits per second.
    #[must_use]
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }

    /// The nearest whole rate to `bps` bits per second; negative values and NaN become zero.
    #[must_use]
    pub fn from_bps_f64(bps: f64) -> Self {
        // A float-to-integer `as` saturates and maps NaN to zero.
        Self(bps.round() as u64)
    }

    /// Bits per second.
    #[must_use]
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// Bits per second, for models and output.
    #[must_use]
    pub const fn as_bps_f64(self) -> f64 {
        self.0 as f64
    }

    /// Mbit/s, for models and output.
    #[must_use]
    pub const fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Mul<Duration> for BitRate {
    type Output = Bytes;
    #[expect(clippy::suspicious_arithmetic_impl, reason = "bits become bytes")]
    /// Whole bytes sent in `span`, rounded down; saturates.
    fn mul(self, span: Duration) -> Bytes {
        // 2^64 bit/s · 2^94 ns exceeds 128 bits only for spans over 500 years: saturate there.
        let bits = u128::from(self.0).saturating_mul(span.as_nanos()) / 8_000_000_000;
        Bytes(u64::try_from(bits).unwrap_or(u64::MAX))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self(0), Add::add)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Display for BitRate {
    /// Prints with the largest decimal unit of at least one: `390 Mbit/s`, `58.5 Mbit/s`, `0
    /// bit/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0..1_000 => (1.0, "bit/s"),
            1_000..1_000_000 => (1e3, "kbit/s"),
            1_000_000..1_000_000_000 => (1e6, "Mbit/s"),
            _ => (1e9, "Gbit/s"),
        };
        write!(f, "{} {unit}", self.0 as f64 / scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_times_span_and_back() {
        let rate = BitRate::from_mbps(8);
        assert_eq!(rate * Duration::from_millis(1), Bytes(1_000));
        assert_eq!(
            Bytes(1_000).checked_div(rate),
            Some(Duration::from_millis(1))
        );
        assert_eq!(Bytes(1).checked_div(BitRate::ZERO), None);
    }

    #[test]
    fn rates_print_with_their_unit() {
        assert_eq!(BitRate::from_kbps(58_500).to_string(), "58.5 Mbit/s");
        assert_eq!(BitRate::ZERO.to_string(), "0 bit/s");
        assert_eq!(BitRate::from_mbps(1_200).to_string(), "1.2 Gbit/s");
    }

    #[test]
    fn negative_rates_and_nan_become_zero() {
        assert_eq!(BitRate::from_bps_f64(f64::NAN), BitRate::ZERO);
        assert_eq!(BitRate::from_bps_f64(-3.0), BitRate::ZERO);
    }
}
