//! What the dual queue marks: the equations of RFC 9332.

use core::time::Duration;

/// Weight of one packet in the average share of classic packets that were signalled. 2⁻¹²: the
/// average covers 4096 packets, a third of a second at 150 Mbit/s and less than the time between
/// two signals to a long Cubic flow, so that the square root below stays a lower estimate.
const SIGNAL_GAIN: f64 = 1.0 / 4096.0;

/// The largest probability of marking.
const CERTAIN: f64 = 1.0;

/// The probability p'_L with which a packet of the low-latency queue is marked for its own queue: a
/// ramp over the time that it has waited (RFC 9332, appendix A.1, function `laqm`).
#[must_use]
pub(super) fn native_probability(sojourn: Duration, start: Duration, end: Duration) -> f64 {
    if sojourn >= end {
        return CERTAIN;
    }
    // Here `start < sojourn < end`, so the divisor is positive.
    match sojourn.checked_sub(start) {
        Some(above) => above.as_secs_f64() / (end - start).as_secs_f64(),
        None => 0.0,
    }
}

/// The coupled probability p_CL of marking in the low-latency queue that corresponds to the
/// probability `classic` (p_C) of a signal in the classic queue: `k · √p_C`, which inverts RFC 9332
/// §2.1, equation 1, `p_C = (p_CL / k)²`.
///
/// A classic flow sends at a rate in proportion to 1/√p_C and a scalable one in proportion to
/// 1/p_CL, so with `k = 2` both get about the same rate at equal round-trip times.
#[must_use]
pub(super) fn coupled_probability(classic: f64, k: f64) -> f64 {
    (k * classic.sqrt()).min(CERTAIN)
}

/// The share of the classic packets that CoDel has marked or dropped, as a moving average (p_C of
/// RFC 9332).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SignalShare(f64);

impl SignalShare {
    /// A classic packet left, and `signals` packets were marked or dropped for it to leave.
    pub(super) fn on_departure(&mut self, signals: u64) {
        // A batch of drops counts as certain and no more: the average is a probability.
        let signalled = if signals > 0 { CERTAIN } else { 0.0 };
        self.0 += SIGNAL_GAIN * (signalled - self.0);
    }

    /// The share, 0 to 1.
    pub(super) const fn get(self) -> f64 {
        self.0
    }
}

/// Turns probabilities into marks without random draws: the marks are spaced as evenly as the
/// probabilities permit (RFC 9332, appendix A.1, function `recur`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marker {
    owed: f64,
}

impl Marker {
    /// Whether to mark the next packet, whose probability is `probability`.
    pub(super) fn marks(&mut self, probability: f64) -> bool {
        self.owed += probability;
        let marks = self.owed >= CERTAIN;
        if marks {
            self.owed -= CERTAIN;
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_micros(800);
    const END: Duration = Duration::from_micros(1_200);

    fn native(us: u64) -> f64 {
        native_probability(Duration::from_micros(us), START, END)
    }

    #[test]
    fn the_ramp_rises_from_0_to_1_between_its_thresholds() {
        assert_eq!([0, 799, 800].map(native), [0.0; 3]);
        assert!((native(900) - 0.25).abs() < 1e-9);
        assert!((native(1_100) - 0.75).abs() < 1e-9);
        assert_eq!([1_200, 1_000_000].map(native), [1.0; 2]);
    }

    #[test]
    fn a_ramp_without_length_is_a_step() {
        let step = |us| native_probability(Duration::from_micros(us), END, END);
        assert_eq!([0, 1_199, 1_200, 1_201].map(step), [0.0, 0.0, 1.0, 1.0]);
        // The thresholds in the wrong order give the step at the end.
        assert_eq!(
            native_probability(Duration::from_micros(900), END, START),
            1.0
        );
    }

    #[test]
    fn the_coupled_probability_is_twice_the_square_root() {
        // RFC 9332, equation 1: p_C = (p_CL / k)².
        for classic in [0.0, 1e-6, 1e-4, 0.01, 0.25] {
            let coupled = coupled_probability(classic, 2.0);
            assert!(((coupled / 2.0).powi(2) - classic).abs() < 1e-12);
        }
        assert_eq!(coupled_probability(0.5, 2.0), 1.0);
    }

    #[test]
    fn the_share_of_signals_converges_to_their_frequency() {
        let mut share = SignalShare::default();
        for packet in 0..100_000 {
            share.on_departure(u64::from(packet % 100 == 0));
        }
        assert!((share.get() - 0.01).abs() < 1e-3, "{share:?}");
        for _ in 0..100_000 {
            share.on_departure(70);
        }
        assert!(share.get() > 0.99 && share.get() <= 1.0, "{share:?}");
    }

    #[test]
    fn marks_are_as_frequent_as_their_probability_and_evenly_spaced() {
        let mut marker = Marker::default();
        let marked: Vec<usize> = (0..1_000).filter(|_| marker.marks(0.0625)).collect();
        assert_eq!(marked.len(), 62);
        assert!(marked.windows(2).all(|pair| pair[1] - pair[0] == 16));
        assert!((0..10).all(|_| marker.marks(1.0)));
    }
}
