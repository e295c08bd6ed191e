//! The machine's clocks as [`Time`].

use airpace_units::Time;
use core::time::Duration;
use nix::time::{ClockId, clock_gettime};

/// A clock of the machine that never goes back, counted from an origin.
///
/// A copy reads the same time. Do not mix [`Time`]s of clocks with different origins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    source: ClockId,
    origin_ns: u64,
}

impl Clock {
    /// A clock that reads zero now and stands still while the machine is suspended.
    #[must_use]
    pub fn start() -> Self {
        Self::start_from(ClockId::CLOCK_MONOTONIC)
    }

    /// A clock that reads zero now and goes on while the machine is suspended, by which the age of
    /// keys and the silence of a peer are measured.
    #[must_use]
    pub fn start_counting_suspends() -> Self {
        Self::start_from(ClockId::CLOCK_BOOTTIME)
    }

    fn start_from(source: ClockId) -> Self {
        Self {
            source,
            origin_ns: read(source),
        }
    }

    /// A clock that reads zero at boot, so that all processes of a machine read the same time. It
    /// stands still while the machine is suspended.
    #[must_use]
    pub const fn since_boot() -> Self {
        Self {
            source: ClockId::CLOCK_MONOTONIC,
            origin_ns: 0,
        }
    }

    /// Returns the time since the clock's origin.
    #[must_use]
    pub fn now(&self) -> Time {
        Time::from_nanos(read(self.source).saturating_sub(self.origin_ns))
    }

    /// Returns the map from wall-clock timestamps, which the kernel puts on packets, to this clock.
    ///
    /// The map is valid until the wall clock is stepped or slewed, so take a new one about every
    /// second.
    #[must_use]
    pub fn realtime_map(&self) -> RealtimeMap {
        // Preemption between two readings only widens a sample, so the narrowest is the most exact.
        let mut best = OffsetSample::take(self.source);
        for _ in 1..5 {
            let sample = OffsetSample::take(self.source);
            if sample.width_ns < best.width_ns {
                best = sample;
            }
        }
        RealtimeMap {
            offset_ns: best.realtime_minus_source_ns + i128::from(self.origin_ns),
        }
    }
}

/// The map from wall-clock timestamps to a [`Clock`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RealtimeMap {
    offset_ns: i128,
}

impl RealtimeMap {
    /// Returns what the wall clock showed when the clock read zero, as time since the Unix epoch.
    #[must_use]
    pub fn epoch(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.offset_ns.max(0)).unwrap_or(u64::MAX))
    }

    /// When the kernel received something, given as time since the Unix epoch: not later than `now`,
    /// which stands in where there is no timestamp.
    #[must_use]
    pub fn arrival(&self, now: Time, stamp: Option<Duration>) -> Time {
        stamp.map_or(now, |stamp| self.time(stamp).min(now))
    }

    /// Converts a timestamp, given as time since the Unix epoch. Timestamps from before the clock's
    /// origin become zero.
    #[must_use]
    pub fn time(&self, since_epoch: Duration) -> Time {
        // A Duration has fewer than 2^94 ns, so the signed difference fits 128 bits.
        let ns = since_epoch.as_nanos() as i128 - self.offset_ns;
        Time::from_nanos(u64::try_from(ns.max(0)).unwrap_or(u64::MAX))
    }
}

/// One measurement of the offset between the wall clock and the source of a [`Clock`].
struct OffsetSample {
    realtime_minus_source_ns: i128,
    /// Time between the two readings of the source.
    width_ns: u64,
}

impl OffsetSample {
    /// Reads the wall clock between two readings of the source and takes their middle.
    fn take(source: ClockId) -> Self {
        let before = read(source);
        let wall = read(ClockId::CLOCK_REALTIME);
        let after = read(source);
        let width_ns = after.saturating_sub(before);
        Self {
            realtime_minus_source_ns: i128::from(wall) - i128::from(before + width_ns / 2),
            width_ns,
        }
    }
}

fn read(clock: ClockId) -> u64 {
    let t = clock_gettime(clock).expect("Linux has these clocks");
    // They are positive, and 2^64 ns are 584 years.
    (t.tv_sec() as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(t.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_starts_at_zero_and_never_goes_back() {
        for clock in [Clock::start(), Clock::start_counting_suspends()] {
            let first = clock.now();
            assert!(first < Time::from_millis(60_000));
            assert!(clock.now() >= first);
        }
    }

    #[test]
    fn the_clock_that_counts_suspends_is_that_of_the_time_since_boot() {
        let clock = Clock::start_counting_suspends();
        let before = read(ClockId::CLOCK_BOOTTIME);
        let read_ns = clock.origin_ns + clock.now().as_nanos();
        let after = read(ClockId::CLOCK_BOOTTIME);
        assert!((before..=after).contains(&read_ns));
    }

    #[test]
    fn a_wall_clock_timestamp_maps_between_the_readings_around_it() {
        for clock in [Clock::start(), Clock::start_counting_suspends()] {
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
}
