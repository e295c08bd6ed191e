//! A directed link: its rate adaptation, its losses, and where its packets wait.

use super::frame::{Limits, Rules};
use super::{LinkConfig, Quality, RadioConfig, RadioId};
use crate::rate::RateAdaptation;
use crate::rng::Stream;
use airpace_core::phy::TxRate;
use airpace_units::Time;

/// Marks a category for which the link has no lane yet.
pub(super) const NO_LANE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Link {
    pub(super) from: RadioId,
    pub(super) to: RadioId,
    pub(super) adaptation: RateAdaptation,
    /// Frames in a row without an answer.
    pub(super) unanswered: u8,
    /// Its lane in the path of each category.
    pub(super) lanes: [u32; 4],
    quality: Quality,
    draws: Stream,
    /// The limits at the last rate.
    limits: (TxRate, Limits),
}

impl Link {
    pub(super) fn new(config: LinkConfig, radio: &RadioConfig, rules: &Rules, seed: u64) -> Self {
        let LinkConfig { from, to, adaptation, quality } = config;
        let rate = adaptation.best();
        let limits = (rate, Limits::of(rate, radio, rules));
        let draws = draws(seed, from, to);
        Self { from, to, adaptation, unanswered: 0, lanes: [NO_LANE; 4], quality: clamped(quality), draws, limits }
    }

    pub(super) fn set_quality(&mut self, quality: Quality) {
        self.quality = clamped(quality);
    }

    /// Rate and limits of the frame that is being built.
    pub(super) fn choose(&mut self, now: Time, radio: &RadioConfig, rules: &Rules) -> (TxRate, Limits) {
        let rate = self.adaptation.choose(now, self.unanswered);
        if self.limits.0 != rate {
            self.limits = (rate, Limits::of(rate, radio, rules));
        }
        let mut limits = self.limits.1;
        if let Some(most) = self.adaptation.mpdu_limit() {
            limits.window = limits.window.min(most.max(1) as usize);
        }
        (rate, limits)
    }

    /// Whether an MPDU of a frame without collision is lost.
    pub(super) fn loses(&mut self) -> bool {
        match self.quality {
            Quality::Loss(probability) => self.draws.happens(probability),
        }
    }
}

/// Probabilities within [0, 1]; what is no number is none.
fn clamped(quality: Quality) -> Quality {
    match quality {
        Quality::Loss(loss) => Quality::Loss(if loss.is_nan() { 0.0 } else { loss.clamp(0.0, 1.0) }),
    }
}

/// The stream of a link's losses. Links of radio 0 have those of the cell that this MAC grew out of, so that results of a cell stay
/// what they were for the same seed.
fn draws(seed: u64, from: RadioId, to: RadioId) -> Stream {
    match (from.0, to.0) {
        (0, to) => Stream::new(seed, "loss down", u64::from(to.saturating_sub(1))),
        (from, 0) => Stream::new(seed, "loss up", u64::from(from - 1)),
        (from, to) => Stream::new(seed, "loss", (u64::from(from) << 32) | u64::from(to)),
    }
}
