//! Reno: one segment more per round trip, half the window at each loss (RFC 5681).

use super::{AckEvent, CongestionControl, Window};
use airpace_units::Time;

/// Reno, which has no state beyond the window.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Reno;

impl CongestionControl for Reno {
    fn on_ack(&mut self, ack: &AckEvent<'_>, window: &mut Window) {
        // A window that the flow does not use is not evidence that the path can take more (RFC
        // 7661).
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        let left = if window.in_slow_start() {
            window.grow_fast(ack.delivered)
        } else {
            ack.delivered
        };
        if left > 0 {
            // Congestion avoidance: one segment per window of acknowledged segments (RFC 5681,
            // section 3.1, equation 3).
            window.grow_slowly(window.segments, left);
        }
    }

    fn on_congestion(&mut self, _now: Time, window: &Window) -> u32 {
        // RFC 5681, section 3.1, equation 4.
        (window.segments / 2).max(Window::MIN_THRESHOLD)
    }
}
