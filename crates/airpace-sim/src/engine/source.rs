use airpace_units::Time;

/// Fractional bits of a nanosecond: gaps are exact to 10⁻¹⁵ s, so that a source's mean rate is the rate it was given.
const FRACTION_BITS: u32 = 20;

/// A paced source: packets at exact gaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Source {
    /// When the next packet is due, in nanoseconds with [`FRACTION_BITS`] binary places.
    next: u128,
    /// Gap between packets in the same unit; `None` while nothing is sent.
    gap: Option<u128>,
    /// How far the source is into a gap, for the next rate: the fraction of a gap still to pass, in 2⁻²⁰.
    phase: u32,
}

impl Source {
    /// A silent source that begins, once it has a rate, after the fraction `phase` of a gap (0 to 1).
    pub(super) fn new(phase: f64) -> Self {
        let phase = (phase.clamp(0.0, 1.0) * f64::from(1_u32 << FRACTION_BITS)) as u32;
        Self { next: 0, gap: None, phase }
    }

    /// When the next packet is due.
    pub(super) fn due(&self) -> Option<Time> {
        self.gap.map(|_| Time::from_nanos(u64::try_from(self.next >> FRACTION_BITS).unwrap_or(u64::MAX)))
    }

    /// The due packet was sent.
    pub(super) fn advance(&mut self) {
        self.next = self.next.saturating_add(self.gap.unwrap_or_default());
    }

    /// Changes the rate. What was left of the present gap is stretched or shrunk with it, so sources keep their phases.
    pub(super) fn set_rate(&mut self, now: Time, packets_per_s: f64) {
        let one = f64::from(1_u32 << FRACTION_BITS);
        let now = u128::from(now.as_nanos()) << FRACTION_BITS;
        let left = match self.gap {
            Some(gap) => ratio(self.next.saturating_sub(now), gap),
            None => f64::from(self.phase) / one,
        };
        self.phase = (left.clamp(0.0, 1.0) * one) as u32;
        // Rates are finite and positive; the float's `as` saturates should one ever not be.
        let gap = (1e9 * one / packets_per_s).max(1.0) as u128;
        self.gap = (packets_per_s > 0.0).then_some(gap);
        // A gap is at most 2^64 ns · 2^20 and the phase 2^20; a rate so low that this overflows never sends.
        self.next = now.saturating_add(gap.saturating_mul(u128::from(self.phase)) >> FRACTION_BITS);
    }
}

fn ratio(part: u128, whole: u128) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_rate_is_exact() {
        let mut source = Source::new(0.0);
        source.set_rate(Time::ZERO, 45_123.4);
        let mut sent = 0_u32;
        while source.due().expect("it has a rate") < Time::from_millis(10_000) {
            source.advance();
            sent += 1;
        }
        assert!(sent.abs_diff(451_234) <= 1, "{sent}");
    }

    #[test]
    fn a_rate_change_scales_what_is_left_of_the_gap() {
        let mut source = Source::new(1.0);
        source.set_rate(Time::ZERO, 10.0);
        assert_eq!(source.due(), Some(Time::from_millis(100)));
        source.set_rate(Time::from_millis(50), 1_000.0);
        assert_eq!(source.due(), Some(Time::from_nanos(50_500_000)));
        source.set_rate(Time::from_millis(50), 0.0);
        assert_eq!(source.due(), None);
    }
}
