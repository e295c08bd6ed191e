use core::time::Duration;

/// Parameters of [`AirtimeLimit`]. Defaults are those of mac80211
/// (`IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L`, `…_H`, `IEEE80211_AQL_THRESHOLD`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AirtimeLimitConfig {
    /// A station with less airtime than this below the queues may always send. Default 5 ms.
    pub per_station_low: Duration,
    /// A station with less airtime than this may send while the total of all stations is below the
    /// threshold. Default 12 ms.
    pub per_station_high: Duration,
    /// Total airtime from which on only the low limit applies. Default 24 ms.
    pub threshold: Duration,
}

impl Default for AirtimeLimitConfig {
    fn default() -> Self {
        Self {
            per_station_low: Duration::from_millis(5),
            per_station_high: Duration::from_millis(12),
            threshold: Duration::from_millis(24),
        }
    }
}

/// The airtime queue limit (AQL) of Linux 5.5 and later: bounds the estimated airtime that waits
/// below the queues, in driver and hardware, for each station and in total.
///
/// A frame counts with its estimated airtime from when it is handed down until it is sent or given
/// up. The check comes before the frame, so a station exceeds its limit by one frame at most.
#[derive(Clone, Debug)]
pub struct AirtimeLimit {
    config: AirtimeLimitConfig,
    /// Nanoseconds below the queues for each station; their sum is `total`.
    pending: Vec<u64>,
    total: u64,
}

impl AirtimeLimit {
    /// A limit without stations.
    #[must_use]
    pub const fn new(config: AirtimeLimitConfig) -> Self {
        Self {
            config,
            pending: Vec::new(),
            total: 0,
        }
    }

    /// Adds a station and returns its index; indices are consecutive from 0.
    pub fn add(&mut self) -> u32 {
        let index = u32::try_from(self.pending.len()).expect("memory ends before 2^32 stations");
        self.pending.push(0);
        index
    }

    /// Whether another frame for the station may be handed down; false for unknown stations.
    #[inline]
    #[must_use]
    pub fn may_send(&self, station: u32) -> bool {
        let Some(&pending) = self.pending.get(station as usize) else {
            return false;
        };
        let below = |ns: u64, limit: Duration| u128::from(ns) < limit.as_nanos();
        below(pending, self.config.per_station_low)
            || (below(self.total, self.config.threshold)
                && below(pending, self.config.per_station_high))
    }

    /// Counts a frame for the station that was handed down and will take about `estimated`.
    #[inline]
    pub fn sent(&mut self, station: u32, estimated: Duration) {
        if let Some(pending) = self.pending.get_mut(station as usize) {
            // Adds what was really added to the station, so that the total stays the sum even if
            // the station's value saturates.
            let ns = nanoseconds(estimated).min(u64::MAX - self.total);
            *pending += ns;
            self.total += ns;
        }
    }

    /// Removes a frame that was counted as `estimated` and has been sent or given up. Removes no
    /// more than is pending.
    #[inline]
    pub fn completed(&mut self, station: u32, estimated: Duration) {
        if let Some(pending) = self.pending.get_mut(station as usize) {
            let ns = nanoseconds(estimated).min(*pending);
            *pending -= ns;
            self.total -= ns;
        }
    }

    /// Removes everything that is pending for a station that has left.
    pub fn forget(&mut self, station: u32) {
        self.completed(station, Duration::MAX);
    }

    /// Estimated airtime below the queues for the station.
    #[must_use]
    pub fn pending(&self, station: u32) -> Duration {
        Duration::from_nanos(self.pending.get(station as usize).copied().unwrap_or(0))
    }

    /// Estimated airtime below the queues for all stations.
    #[must_use]
    pub const fn total(&self) -> Duration {
        Duration::from_nanos(self.total)
    }

    /// The parameters.
    #[must_use]
    pub const fn config(&self) -> &AirtimeLimitConfig {
        &self.config
    }
}

/// At most 584 years.
fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn limit(stations: u32) -> AirtimeLimit {
        let mut limit = AirtimeLimit::new(AirtimeLimitConfig::default());
        (0..stations).for_each(|s| assert_eq!(limit.add(), s));
        limit
    }

    #[test]
    fn a_station_alone_may_have_the_high_limit() {
        let mut limit = limit(1);
        let mut sent = 0;
        while limit.may_send(0) {
            limit.sent(0, ms(4));
            sent += 1;
        }
        assert_eq!((sent, limit.pending(0), limit.total()), (3, ms(12), ms(12)));
        limit.completed(0, ms(4));
        assert!(limit.may_send(0));
    }

    #[test]
    fn beside_many_others_a_station_has_the_low_limit() {
        let mut limit = limit(10);
        (1..10).for_each(|s| limit.sent(s, ms(3)));
        assert!(limit.total() > ms(24));
        limit.sent(0, ms(4));
        assert!(limit.may_send(0));
        limit.sent(0, ms(1));
        assert!(!limit.may_send(0));
        limit.forget(1);
        limit.forget(2);
        limit.forget(3);
        // 23 ms are below the threshold: the high limit counts again.
        assert_eq!(limit.total(), ms(23));
        assert!(limit.may_send(0));
    }

    #[test]
    fn unknown_stations_may_not_send_and_change_nothing() {
        let mut limit = limit(1);
        limit.sent(3, ms(1));
        limit.completed(3, ms(1));
        assert!(!limit.may_send(3) && limit.total() == Duration::ZERO);
    }

    proptest! {
        #[test]
        fn the_total_is_the_sum_and_no_station_is_beyond_its_limit_by_more_than_a_frame(
            steps in prop::collection::vec((0..5u32, any::<bool>(), 0..20_000u64), 0..500),
        ) {
            let mut limit = limit(5);
            for (station, done, us) in steps {
                let estimated = Duration::from_micros(us);
                if done {
                    limit.completed(station, estimated);
                } else if limit.may_send(station) {
                    prop_assert!(limit.pending(station) < ms(12));
                    prop_assert!(limit.total() < ms(24) || limit.pending(station) < ms(5));
                    limit.sent(station, estimated);
                }
                let sum: Duration = (0..5).map(|s| limit.pending(s)).sum();
                prop_assert_eq!(sum, limit.total());
                prop_assert!((0..5).all(|s| limit.pending(s) < ms(12) + ms(20)));
            }
        }

        #[test]
        fn absurd_estimates_neither_panic_nor_break_the_sum(
            steps in prop::collection::vec((0..3u32, any::<bool>(), any::<u64>()), 0..50),
        ) {
            let mut limit = limit(3);
            for (station, done, seconds) in steps {
                let estimated = Duration::from_secs(seconds);
                if done { limit.completed(station, estimated) } else { limit.sent(station, estimated) }
                let sum: u128 = (0..3).map(|s| limit.pending(s).as_nanos()).sum();
                prop_assert_eq!(sum, limit.total().as_nanos());
            }
            (0..3).for_each(|s| limit.forget(s));
            prop_assert_eq!(limit.total(), Duration::ZERO);
        }
    }
}
