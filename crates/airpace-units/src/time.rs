use core::fmt;
use core::ops::{Add, AddAssign, Sub};
use core::time::Duration;

/// An instant, in nanoseconds since an origin that the driver chooses.
///
/// A simulation starts at [`Time::ZERO`]; a live driver maps its monotonic clock onto this. 64 bits
/// last 584 years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(u64);

impl Time {
    /// The origin.
    pub const ZERO: Self = Self(0);
    /// The last instant that can be represented. Not a sentinel: "never" is `Option::None`.
    pub const MAX: Self = Self(u64::MAX);

    /// An instant `ns` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// An instant `us` microseconds after the origin.
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// An instant `ms` milliseconds after the origin.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin, for models, estimators and output.
    #[must_use]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span from `earlier` to `self`.
    ///
    /// In debug builds a negative span is a bug and panics; in release builds it is zero.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        debug_assert!(self >= earlier, "{self} is before {earlier}");
        self.saturating_since(earlier)
    }

    /// The span from `earlier` to `self`, or `None` if it is negative.
    #[must_use]
    pub fn checked_since(self, earlier: Self) -> Option<Duration> {
        self.0.checked_sub(earlier.0).map(Duration::from_nanos)
    }

    /// The span from `earlier` to `self`, zero if it is negative.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The span from `earlier` to `self` in nanoseconds, zero if it is negative: without the
    /// division that a [`Duration`] takes.
    #[must_use]
    #[inline]
    pub const fn saturating_nanos_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// `self + span`, stopping at [`Time::MAX`].
    #[must_use]
    pub fn saturating_add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }
}

/// A span in whole nanoseconds; spans beyond 584 years stop at the largest.
fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0 + nanos(span))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Time {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0 - nanos(span))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_keep_their_sign() {
        let (a, b) = (Time::from_micros(3), Time::from_micros(5));
        assert_eq!(b.since(a), Duration::from_micros(2));
        assert_eq!(a.checked_since(b), None);
        assert_eq!(a.saturating_since(b), Duration::ZERO);
    }

    #[test]
    fn adding_stops_at_the_end_only_when_asked() {
        assert_eq!(Time::MAX.saturating_add(Duration::from_secs(1)), Time::MAX);
        assert_eq!(
            Time::ZERO + Duration::MAX.min(Duration::from_nanos(7)),
            Time::from_nanos(7)
        );
    }
}
