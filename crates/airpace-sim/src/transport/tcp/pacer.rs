//! Pacing: when segments leave if the algorithm sets a pacing rate (internal pacing in Linux).

use airpace_units::Time;
use core::time::Duration;

/// A burst lasts 1/1024 s at the pacing rate (Linux `sk_pacing_shift` 10).
const BURSTS_PER_SECOND: f64 = 1_024.0;
/// Largest burst: the most bytes that a host hands to segmentation offload at once.
const OFFLOAD_BYTES: f64 = 65_536.0;
/// Below this rate in bytes per second segments leave one by one (Linux `bbr_min_tso_rate`: 1.2
/// Mbit/s).
const SINGLE_RATE: f64 = 150_000.0;
/// Short paths get longer bursts: 64 kB, halved for each 512 µs of round-trip time (Linux
/// `tcp_tso_rtt_log` 9).
const BURST_RTT_SHIFT: u32 = 9;

/// However low the rate, the next segment leaves within this many seconds.
const LONGEST_WAIT_S: f64 = 60.0;

/// Number of segments in a burst at `rate` bytes per second.
pub(super) fn burst_segments(rate: f64, segment_bytes: f64, min_rtt: Duration) -> u32 {
    let halvings = u32::try_from(min_rtt.as_micros() >> BURST_RTT_SHIFT)
        .unwrap_or(u32::MAX)
        .min(64);
    let short_path = OFFLOAD_BYTES * 0.5_f64.powi(halvings as i32);
    let bytes = (rate / BURSTS_PER_SECOND + short_path).min(OFFLOAD_BYTES);
    let least = if rate < SINGLE_RATE { 1 } else { 2 };
    ((bytes / segment_bytes) as u32).max(least)
}

/// Number of segments that take `span` at `rate` bytes per second, at least one.
pub(super) fn segments_within(span: Duration, rate: f64, segment_bytes: f64) -> u32 {
    ((rate * span.as_secs_f64() / segment_bytes) as u32).max(1)
}

/// Releases bursts at a rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SendPacer {
    next: Time,
    /// Segments that may still leave with the current burst.
    left: u32,
    /// By how much the burst was late, for whatever reason. The next bursts make up for it, each by
    /// at most half of its own length (Linux `tcp_update_skb_after_send`).
    credit: Duration,
}

impl SendPacer {
    /// When the next burst may leave.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// Whether a segment may leave now. `burst` returns the number of segments in a new burst.
    pub(super) fn may_send(&mut self, now: Time, burst: impl FnOnce() -> u32) -> bool {
        if self.left == 0 && now >= self.next {
            self.credit = now.saturating_since(self.next);
            self.next = now;
            self.left = burst();
        }
        self.left > 0
    }

    /// A segment was sent at `rate` bytes per second.
    pub(super) fn on_sent(&mut self, bytes: u32, rate: f64) {
        self.left = self.left.saturating_sub(1);
        let wait = Duration::from_secs_f64((f64::from(bytes) / rate.max(1.0)).min(LONGEST_WAIT_S));
        let made_up = self.credit.min(wait / 2);
        self.credit -= made_up;
        self.next = self.next.saturating_add(wait - made_up);
    }

    /// Nothing more can be sent for now: the rest of the burst is lost.
    pub(super) fn end_burst(&mut self) {
        self.left = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_a_millisecond_long() {
        let far = Duration::from_millis(50);
        assert_eq!(burst_segments(100_000.0, 1_448.0, far), 1);
        assert_eq!(burst_segments(1e6, 1_448.0, far), 2);
        assert_eq!(burst_segments(37.5e6, 1_448.0, far), 25);
        assert_eq!(burst_segments(1e9, 1_448.0, far), 45);
        assert_eq!(burst_segments(1e6, 1_448.0, Duration::ZERO), 45);
    }

    #[test]
    fn bursts_keep_the_rate_exactly() {
        let mut pacer = SendPacer::default();
        let (mut now, mut sent) = (Time::ZERO, 0_u64);
        while now < Time::from_millis(1_000) {
            while pacer.may_send(now, || 10) {
                pacer.on_sent(1_000, 1e6);
                sent += 1_000;
            }
            now = pacer.next();
        }
        assert_eq!(sent, 1_000_000);
    }
}
