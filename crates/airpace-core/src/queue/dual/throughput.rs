//! How fast both queues are emptied.

use airpace_units::Time;
use core::time::Duration;

/// The throughput is measured over windows of this length.
const WINDOW: Duration = Duration::from_millis(100);

/// The throughput of the last whole window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Throughput {
    ends: Time,
    /// Bytes sent in this window, and in the last one.
    sent: u64,
    last: u64,
}

impl Throughput {
    /// A packet of `bytes` leaves.
    pub(super) fn on_sent(&mut self, now: Time, bytes: u32) {
        if now >= self.ends {
            // A window in which the queues were empty shows less than the rate that they could
            // have had. The estimate is then too small, which only makes bursts shorter.
            self.ends = now.saturating_add(WINDOW);
            self.last = core::mem::take(&mut self.sent);
        }
        self.sent += u64::from(bytes);
    }

    /// Bytes that leave in `span`, at most one window long.
    pub(super) fn bytes_in(&self, span: Duration) -> i64 {
        // The window has 10^8 ns, so the product fits 64 bits up to 10^11 bytes in a window.
        let span_ns = span.min(WINDOW).as_nanos() as u64;
        let bytes = self.last.saturating_mul(span_ns) / WINDOW.as_nanos() as u64;
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_a_span_follow_the_last_window() {
        let mut throughput = Throughput::default();
        assert_eq!(throughput.bytes_in(WINDOW), 0);
        for ms in 0..150 {
            throughput.on_sent(Time::from_millis(ms), 1_000);
        }
        assert_eq!(throughput.bytes_in(Duration::from_millis(2)), 2_000);
        assert_eq!(throughput.bytes_in(Duration::from_secs(1)), 100_000);
    }
}
