//! Round-trip times (RFC 6298 as Linux applies it).

use airpace_units::Time;
use core::time::Duration;

/// Retransmission timeout before the first sample (RFC 6298, section 2.1).
pub(super) const INITIAL_TIMEOUT: Duration = Duration::from_secs(1);
/// The timeout exceeds the smoothed round-trip time by at least this (Linux `TCP_RTO_MIN`; RFC
/// 6298, section 2.4, requires 1 s for the whole timeout instead).
pub(super) const MIN_TIMEOUT: Duration = Duration::from_millis(200);
/// Longest timeout (Linux `TCP_RTO_MAX`).
pub(super) const MAX_TIMEOUT: Duration = Duration::from_secs(120);
/// Window of the minimum round-trip time (Linux `tcp_min_rtt_wlen`).
const MIN_WINDOW: Duration = Duration::from_secs(300);

/// Smoothed round-trip time, its variation and the minimum (Linux `tcp_rtt_estimator`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RttEstimator {
    /// SRTT of RFC 6298.
    smoothed: Option<Duration>,
    /// Mean deviation (Linux `mdev`).
    deviation: Duration,
    /// Largest deviation in the current window of data, at least 200 ms / 4 (Linux `mdev_max`).
    window_deviation: Duration,
    /// RTTVAR of RFC 6298, which grows at once and shrinks once per window.
    variation: Duration,
    /// The current window of data ends when this offset is acknowledged.
    window_end: u64,
    /// The minimum and when it was measured.
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

    /// The minimum of the last five minutes; zero before the first sample.
    pub(super) fn min(&self) -> Duration {
        self.min.map_or(Duration::ZERO, |(min, _)| min)
    }

    /// Retransmission timeout without back-off: SRTT + 4 RTTVAR (RFC 6298, section 2.3).
    pub(super) fn timeout(&self) -> Duration {
        self.smoothed.map_or(INITIAL_TIMEOUT, |smoothed| {
            (smoothed + 4 * self.variation).min(MAX_TIMEOUT)
        })
    }

    /// Takes the smallest round-trip time of an acknowledgement into the windowed minimum.
    pub(super) fn on_min_sample(&mut self, now: Time, rtt: Duration) {
        let replaces_min = match self.min {
            None => true,
            Some((min, at)) => rtt <= min || now.saturating_since(at) > MIN_WINDOW,
        };
        if replaces_min {
            self.min = Some((rtt, now));
        }
    }

    /// Takes a sample. `acknowledged` and `sent` are offsets in the stream, which delimit windows
    /// of data.
    pub(super) fn on_sample(&mut self, rtt: Duration, acknowledged: u64, sent: u64) {
        self.latest = Some(rtt);
        let Some(smoothed) = self.smoothed else {
            // The first sample: SRTT = R, RTTVAR = R / 2 (RFC 6298, section 2.2).
            self.smoothed = Some(rtt);
            self.deviation = rtt / 2;
            self.variation = self.deviation.max(MIN_TIMEOUT / 4);
            self.window_deviation = self.variation;
            self.window_end = sent;
            return;
        };
        self.smooth(smoothed, rtt);
        // A larger deviation lengthens the timeout at once.
        if self.deviation > self.window_deviation {
            self.window_deviation = self.deviation;
            self.variation = self.variation.max(self.deviation);
        }
        // The variation shrinks only once per window of data and towards the largest deviation in
        // it, so that it does not depend on the number of samples per round trip.
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
        // A shrinking round-trip time must not lengthen the timeout, so a larger deviation then has
        // an eighth of its usual weight (Linux `tcp_rtt_estimator`).
        let divisor = if rtt < smoothed && error > self.deviation {
            32
        } else {
            4
        };
        if error >= self.deviation {
            self.deviation += (error - self.deviation) / divisor;
        } else {
            self.deviation -= (self.deviation - error) / divisor;
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
    fn the_minimum_is_forgotten_after_five_minutes() {
        let mut rtt = RttEstimator::default();
        rtt.on_min_sample(Time::ZERO, Duration::from_millis(1));
        rtt.on_min_sample(Time::from_millis(299_000), Duration::from_millis(2));
        assert_eq!(rtt.min(), Duration::from_millis(1));
        rtt.on_min_sample(Time::from_millis(301_000), Duration::from_millis(2));
        assert_eq!(rtt.min(), Duration::from_millis(2));
    }
}
