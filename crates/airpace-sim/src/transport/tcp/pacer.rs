//! When segments leave, if the algorithm paces them (Linux's internal pacing).

use airpace_units::Time;
use core::time::Duration;

/// Bytes that leave together are those of 1/1024 s (Linux `sk_pacing_shift` 10).
const BURSTS_PER_SECOND: f64 = 1_024.0;
/// Most bytes that a host offloads at once.
const OFFLOAD_BYTES: f64 = 65_536.0;
/// Below this rate single segments leave, bytes per second (Linux `bbr_min_tso_rate`: 1.2 Mbit/s).
const SINGLE_RATE: f64 = 150_000.0;
/// Short paths get longer bursts: 64 kB halved for each 512 µs of round-trip time (Linux `tcp_tso_rtt_log` 9).
const BURST_RTT_SHIFT: u32 = 9;

/// However low the rate, the next segment leaves within this, seconds.
const LONGEST_WAIT_S: f64 = 60.0;

/// Segments that leave together at `rate` bytes per second.
pub(super) fn burst_segments(rate: f64, segment_bytes: f64, min_rtt: Duration) -> u32 {
    let halvings = u32::try_from(min_rtt.as_micros() >> BURST_RTT_SHIFT)
        .unwrap_or(u32::MAX)
        .min(64);
    let near = OFFLOAD_BYTES * 0.5_f64.powi(halvings as i32);
    let bytes = (rate / BURSTS_PER_SECOND + near).min(OFFLOAD_BYTES);
    let least = if rate < SINGLE_RATE { 1 } else { 2 };
    ((bytes / segment_bytes) as u32).max(least)
}

/// Lets bursts go at a rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SendPacer {
    next: Time,
    /// Segments that may still leave with the present burst.
    left: u32,
    /// By how much the burst came after its time, for whatever reason: it may be made up for, by half of the burst's own length at most
    /// (Linux `tcp_update_skb_after_send`).
    credit: Duration,
}

impl SendPacer {
    /// When the next burst may leave.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// Whether a segment may leave now; `burst` says how many may together.
    pub(super) fn may_send(&mut self, now: Time, burst: impl FnOnce() -> u32) -> bool {
        if self.left == 0 && now >= self.next {
            self.credit = now.saturating_since(self.next);
            self.next = now;
            self.left = burst();
        }
        self.left > 0
    }

    /// A segment has left.
    pub(super) fn on_sent(&mut self, bytes: u32, rate: f64) {
        self.left = self.left.saturating_sub(1);
        let wait = Duration::from_secs_f64((f64::from(bytes) / rate.max(1.0)).min(LONGEST_WAIT_S));
        let made_up = self.credit.min(wait / 2);
        self.credit -= made_up;
        self.next = self.next.saturating_add(wait - made_up);
    }

    /// Nothing more leaves for now: what is left of the burst is not saved up.
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
    fn the_rate_is_held_over_bursts() {
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
