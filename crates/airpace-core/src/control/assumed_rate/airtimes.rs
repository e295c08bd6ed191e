//! Rates of stations of which a sensor tells the airtime of a bit, although it cannot tell their frames apart.

use super::super::sample::Wait;
use super::waits::WAITING_FALL;

/// Weight of a slot in the rate: transits of a second scatter by a fifth where clients answer seldom.
const GAIN: f64 = 0.3;
/// Median wait in seconds that contradicts an airtime: a station that is charged enough has no such queue.
const CONTRADICTING_S: f64 = 0.04;
/// Part of the rate that is used at the least, however long packets wait.
const LEAST_PART: f64 = 0.1;
/// Factor per slot on that part while they do not wait.
const RECOVERY: f64 = 1.02;

/// How much of the rate that airtimes tell is used: less while packets wait at the access point all the same. Not all
/// that looks like QUIC is answered as QUIC is, and a client that leaves frames unanswered looks fast.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct UsedPart(f64);

impl Default for UsedPart {
    fn default() -> Self {
        Self(1.0)
    }
}

impl UsedPart {
    /// The rate after a slot that told `told_bps`, if it was `bps` before.
    pub(super) fn adjusted(&mut self, bps: f64, told_bps: f64, wait: Option<Wait>) -> f64 {
        self.0 = if wait.is_some_and(|wait| wait.median_s > CONTRADICTING_S) {
            (self.0 * WAITING_FALL).max(LEAST_PART)
        } else {
            (self.0 * RECOVERY).min(1.0)
        };
        bps * (self.0 * told_bps / bps).powf(GAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(median_s: f64) -> Option<Wait> {
        Some(Wait {
            mean_s: median_s,
            median_s,
            p95_s: median_s,
        })
    }

    #[test]
    fn the_rate_follows_the_airtime_but_for_single_slots() {
        let mut used = UsedPart::default();
        let mut bps = 65e6;
        for _ in 0..15 {
            bps = used.adjusted(bps, 300e6, None);
        }
        assert!((bps / 300e6 - 1.0).abs() < 0.02, "{bps}");
        bps = used.adjusted(bps, 900e6, None);
        assert!(bps < 430e6, "{bps}");
    }

    #[test]
    fn packets_that_wait_contradict_an_airtime_until_they_do_not() {
        let mut used = UsedPart::default();
        let mut bps = 300e6;
        for _ in 0..40 {
            bps = used.adjusted(bps, 300e6, wait(0.3));
        }
        assert!((29e6..40e6).contains(&bps), "{bps}");
        for _ in 0..150 {
            bps = used.adjusted(bps, 300e6, wait(0.01));
        }
        assert!(bps > 290e6, "{bps}");
    }
}
