//! Round-trip times (RFC 6298 as Linux applies it).

use airpace_units::Time;
use core::time::Duration;

/// Timeout before the first sample (RFC 6298, section 2.1).
pub(super) const INITIAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Least that the timeout exceeds the smoothed round-trip time by (Linux `TCP_RTO_MIN`; RFC 6298 has 1 s for the whole).
pub(super) const MIN_TIMEOUT: Duration = Duration::from_millis(200);
/// Longest timeout (Linux `TCP_RTO_MAX`).
pub(super) const MAX_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a smallest round-trip time counts (Linux `tcp_min_rtt_wlen`).
const MIN_WINDOW: Duration = Duration::from_secs(300);

/// Smoothed round-trip time, its variation and the smallest one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RttEstimator {
    smoothed: Option<Duration>,
    deviation: Duration,
    /// Largest deviation of the current window, at least 200 ms / 4.
    window_deviation: Duration,
    variation: Duration,
    window_end: u64,
    min: Option<(Duration, Time)>,
    latest: Option<Duration>,
}

impl RttEstimator {
    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    pub(super) fn latest(&self) -> Option<Duration> {
        self.latest
    }

    /// The smallest of the last five minutes; zero before the first sample.
    pub(super) fn min(&self) -> Duration {
        self.min.map_or(Duration::ZERO, |(min, _)| min)
    }

    /// Timeout without back-off.
    pub(super) fn timeout(&self) -> Duration {
        self.smoothed.map_or(INITIAL_TIMEOUT, |smoothed| {
            (smoothed + 4 * self.variation).min(MAX_TIMEOUT)
        })
    }

    /// Takes the smallest of an acknowledgement's round-trip times.
    pub(super) fn on_min_sample(&mut self, now: Time, rtt: Duration) {
        let newer = self
            .min
            .is_none_or(|(min, at)| rtt <= min || now.saturating_since(at) > MIN_WINDOW);
        if newer {
            self.min = Some((rtt, now));
        }
    }

    /// Takes a sample; `acknowledged` and `sent` are the stream's offsets, by which windows are told apart.
    pub(super) fn on_sample(&mut self, rtt: Duration, acknowledged: u64, sent: u64) {
        self.latest = Some(rtt);
        let Some(smoothed) = self.smoothed else {
            self.smoothed = Some(rtt);
            self.deviation = rtt / 2;
            self.variation = self.deviation.max(MIN_TIMEOUT / 4);
            self.window_deviation = self.variation;
            self.window_end = sent;
            return;
        };
        self.smooth(smoothed, rtt);
        if self.deviation > self.window_deviation {
            self.window_deviation = self.deviation;
            self.variation = self.variation.max(self.deviation);
        }
        if acknowledged > self.window_end {
            if self.window_deviation < self.variation {
                self.variation -= (self.variation - self.window_deviation) / 4;
            }
            self.window_end = sent;
            self.window_deviation = MIN_TIMEOUT / 4;
        }
    }

    fn smooth(&mut self, smoothed: Duration, rtt: Duration) {
        let error = rtt.abs_diff(smoothed);
        self.smoothed = Some(if rtt >= smoothed {
            smoothed + error / 8
        } else {
            smoothed - error / 8
        });
        // A shrinking time is no reason for a longer timeout: its larger deviations count for an eighth (Linux `tcp_rtt_estimator`).
        let gain = if rtt < smoothed && error > self.deviation {
            32
        } else {
            4
        };
        if error >= self.deviation {
            self.deviation += (error - self.deviation) / gain;
        } else {
            self.deviation -= (self.deviation - error) / gain;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_is_at_least_200_ms_above_the_round_trip_time() {
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.timeout(), INITIAL_TIMEOUT);
        for n in 0..1_000 {
            rtt.on_sample(Duration::from_millis(20), n, n);
        }
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(20)));
        assert_eq!(rtt.timeout(), Duration::from_millis(220));
    }

    #[test]
    fn variation_lengthens_the_timeout() {
        let mut rtt = RttEstimator::default();
        for n in 0..1_000 {
            rtt.on_sample(
                Duration::from_millis(if n % 2 == 0 { 100 } else { 500 }),
                n,
                n,
            );
        }
        assert!(
            (800..1_400).contains(&rtt.timeout().as_millis()),
            "{:?}",
            rtt.timeout()
        );
    }

    #[test]
    fn the_smallest_time_is_forgotten_after_five_minutes() {
        let mut rtt = RttEstimator::default();
        rtt.on_min_sample(Time::ZERO, Duration::from_millis(1));
        rtt.on_min_sample(Time::from_millis(299_000), Duration::from_millis(2));
        assert_eq!(rtt.min(), Duration::from_millis(1));
        rtt.on_min_sample(Time::from_millis(301_000), Duration::from_millis(2));
        assert_eq!(rtt.min(), Duration::from_millis(2));
    }
}
