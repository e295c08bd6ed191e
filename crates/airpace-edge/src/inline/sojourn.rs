//! How long packets waited in the box lately.

use airpace_units::Time;
use core::time::Duration;

/// Bounds of the buckets: four per octave from 50 µs up to 3 s, which is finer than a reader needs.
const FIRST_US: f64 = 50.0;
const PER_OCTAVE: f64 = 4.0;
const BUCKETS: usize = 64;
/// Quantiles are those of this long, up to twice as long.
const WINDOW: Duration = Duration::from_secs(1);

/// Counts of waiting times of the last one to two seconds.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct RecentSojourns {
    /// The second that runs, and the one before.
    windows: [Box<[u32; BUCKETS]>; 2],
    began: Time,
}

impl RecentSojourns {
    pub(super) fn new(now: Time) -> Self {
        Self {
            windows: core::array::from_fn(|_| Box::new([0; BUCKETS])),
            began: now,
        }
    }

    /// Counts a packet that leaves now.
    pub(super) fn add(&mut self, waited: Duration) {
        let ratio = waited.as_secs_f64() * 1e6 / FIRST_US;
        let bucket = if ratio < 1.0 {
            0
        } else {
            // A ratio of up to 2^15 is far below what the cast takes.
            1 + (PER_OCTAVE * ratio.log2()) as usize
        };
        let count = &mut self.windows[0][bucket.min(BUCKETS - 1)];
        *count = count.saturating_add(1);
    }

    /// Moves to the next window if it is time.
    pub(super) fn advance(&mut self, now: Time) {
        let age = now.saturating_since(self.began);
        if age < WINDOW {
            return;
        }
        self.windows.swap(0, 1);
        self.windows[0].fill(0);
        if age >= 2 * WINDOW {
            self.windows[1].fill(0);
        }
        self.began = now;
    }

    /// Returns the quantile `share`, 0 to 1, within 10 %; zero stands for less than 50 µs, `None` for
    /// no packets.
    pub(super) fn quantile(&self, share: f64) -> Option<Duration> {
        let [now, before] = &self.windows;
        let count = |bucket: usize| u64::from(now[bucket]) + u64::from(before[bucket]);
        let total: u64 = (0..BUCKETS).map(count).sum();
        if total == 0 {
            return None;
        }
        let wanted = share * total as f64;
        let mut seen = 0;
        for bucket in 0..BUCKETS {
            seen += count(bucket);
            if seen as f64 >= wanted {
                return Some(middle(bucket));
            }
        }
        Some(middle(BUCKETS - 1))
    }
}

/// The middle of a bucket.
fn middle(bucket: usize) -> Duration {
    if bucket == 0 {
        return Duration::ZERO;
    }
    let octaves = (bucket as f64 - 0.5) / PER_OCTAVE;
    Duration::from_secs_f64(FIRST_US * 1e-6 * octaves.exp2())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_last_seconds_within_a_tenth() {
        let mut sojourns = RecentSojourns::new(Time::ZERO);
        assert_eq!(sojourns.quantile(0.5), None);
        for us in (0..1000).map(|n| 20 * n) {
            sojourns.add(Duration::from_micros(us));
        }
        for (share, ms) in [(0.5, 10.0), (0.95, 19.0)] {
            let found = sojourns.quantile(share).expect("packets").as_secs_f64() * 1e3;
            assert!((found / ms - 1.0).abs() < 0.1, "{share}: {found} ms");
        }
        sojourns.advance(Time::from_millis(1_000));
        assert!(sojourns.quantile(0.5).is_some(), "of the second before");
        sojourns.advance(Time::from_millis(2_000));
        assert_eq!(sojourns.quantile(0.5), None);
    }

    #[test]
    fn any_waiting_time_has_a_bucket() {
        let mut sojourns = RecentSojourns::new(Time::ZERO);
        sojourns.add(Duration::ZERO);
        assert_eq!(sojourns.quantile(1.0), Some(Duration::ZERO));
        sojourns.add(Duration::MAX);
        let longest = sojourns.quantile(1.0).expect("packets");
        assert!(longest > Duration::from_secs(2));
    }
}
