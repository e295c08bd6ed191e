//! The machine's monotonic clock as [`Time`].

use airpace_units::Time;
use core::time::Duration;
use nix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC, counted from an origin.
///
/// Copies are the same clock. [`Time`]s of clocks with different origins must not be mixed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock that reads zero now.
    #[must_use]
    pub fn start() -> Self {
        Self {
            origin_ns: read(ClockId::CLOCK_MONOTONIC),
        }
    }

    /// A clock that reads zero at boot, so that processes on one machine agree.
    #[must_use]
    pub const fn since_boot() -> Self {
        Self { origin_ns: 0 }
    }

    /// The present.
    #[must_use]
    pub fn now(&self) -> Time {
        Time::from_nanos(read(ClockId::CLOCK_MONOTONIC).saturating_sub(self.origin_ns))
    }

    /// Maps stamps of the wall clock, which the kernel puts on packets, onto this clock.
    ///
    /// The relation holds until the wall clock is stepped or slewed: take a new one every second or so.
    #[must_use]
    pub fn realtime_map(&self) -> RealtimeMap {
        let offset_ns = (0..5)
            .map(|_| sample())
            .min_by_key(|s| s.width_ns)
            .map_or(0, |s| s.realtime_minus_monotonic_ns);
        RealtimeMap {
            offset_ns: offset_ns + i128::from(self.origin_ns),
        }
    }
}

/// How wall-clock stamps map onto a [`Clock`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RealtimeMap {
    offset_ns: i128,
}

impl RealtimeMap {
    /// What the wall clock, as time since the Unix epoch, showed or would have shown at the clock's zero.
    #[must_use]
    pub fn epoch(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.offset_ns.max(0)).unwrap_or(u64::MAX))
    }

    /// The instant of a stamp given as time since the Unix epoch; stamps before the clock's origin become its zero.
    #[must_use]
    pub fn time(&self, since_epoch: Duration) -> Time {
        // A Duration has fewer than 2^94 ns, so the signed difference fits 128 bits.
        let ns = since_epoch.as_nanos() as i128 - self.offset_ns;
        Time::from_nanos(u64::try_from(ns.max(0)).unwrap_or(u64::MAX))
    }
}

struct Sample {
    realtime_minus_monotonic_ns: i128,
    width_ns: u64,
}

/// Reads the wall clock between two readings of the monotonic one; the narrower the pair, the better the sample.
fn sample() -> Sample {
    let before = read(ClockId::CLOCK_MONOTONIC);
    let wall = read(ClockId::CLOCK_REALTIME);
    let after = read(ClockId::CLOCK_MONOTONIC);
    let width_ns = after.saturating_sub(before);
    Sample {
        realtime_minus_monotonic_ns: i128::from(wall) - i128::from(before + width_ns / 2),
        width_ns,
    }
}

fn read(clock: ClockId) -> u64 {
    let t = clock_gettime(clock).expect("Linux has the monotonic and the wall clock");
    // Both clocks are positive; 2^64 ns are 584 years.
    (t.tv_sec() as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(t.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_forward_from_zero() {
        let clock = Clock::start();
        let first = clock.now();
        assert!(first < Time::from_millis(60_000));
        assert!(clock.now() >= first);
    }

    #[test]
    fn wall_clock_stamps_land_between_readings() {
        let clock = Clock::start();
        let before = clock.now();
        let stamp = Duration::from_nanos(read(ClockId::CLOCK_REALTIME));
        let mapped = clock.realtime_map().time(stamp);
        let after = clock.now();
        // The map is a few hundred nanoseconds wide.
        let slack = Duration::from_micros(100);
        assert!(
            mapped + slack >= before && mapped <= after + slack,
            "{before} {mapped} {after}"
        );
        assert_eq!(clock.realtime_map().time(Duration::ZERO), Time::ZERO);
        assert!(clock.realtime_map().epoch() <= stamp);
    }
}
