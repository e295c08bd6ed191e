//! A directed link: its rate adaptation, its losses, and where its packets wait.

use super::frame::{Limits, Rules};
use super::{LinkConfig, Quality, RadioConfig, RadioId};
use crate::rate::RateAdaptation;
use crate::rng::Stream;
use airpace_core::phy::error::BitHazard;
use airpace_core::phy::{Edca, TxRate};
use airpace_units::{BitRate, Time};

#[derive(Debug)]
pub(super) struct Link {
    pub(super) from: RadioId,
    pub(super) to: RadioId,
    pub(super) adaptation: RateAdaptation,
    /// The receiver's weight where airtime is shared out.
    pub(super) weight: u16,
    /// Frames in a row without an answer.
    pub(super) unanswered: u8,
    quality: Quality,
    draws: Stream,
    /// The limits at the last rate.
    limits: (TxRate, Limits),
    /// What the receiver is expected to get at the best rate.
    expected: Option<(TxRate, BitRate)>,
    /// For links with noise, what frames of one rate suffer in one interval, and what MPDUs of one length do then.
    hazard: Option<(TxRate, u64, BitHazard)>,
    error: (u32, f64),
    /// The rate over whose noise an adaptation that knows the signal is told the ratio: the fastest that it has.
    reference: TxRate,
}

impl Link {
    pub(super) fn new(
        config: LinkConfig,
        radio: &RadioConfig,
        rules: &Rules,
        draws: Stream,
    ) -> Self {
        let LinkConfig {
            from,
            to,
            mut adaptation,
            quality,
            weight,
        } = config;
        adaptation.set_snr(f64::INFINITY);
        let rate = adaptation.best();
        Self {
            from,
            to,
            adaptation,
            weight,
            unanswered: 0,
            quality: clamped(quality),
            draws,
            limits: (rate, Limits::of(rate, radio, rules)),
            expected: None,
            hazard: None,
            error: (0, 0.0),
            reference: rate,
        }
    }

    pub(super) fn set_quality(&mut self, quality: Quality) {
        self.quality = clamped(quality);
        self.hazard = None;
    }

    /// Rate and limits of the frame that is being built.
    pub(super) fn choose(
        &mut self,
        now: Time,
        radio: &RadioConfig,
        rules: &Rules,
    ) -> (TxRate, Limits) {
        if let (RateAdaptation::Ideal(ideal), Quality::Noise(noise)) =
            (&mut self.adaptation, &self.quality)
        {
            ideal.set_snr(noise.signal.snr_db(now, self.reference));
        }
        let rate = self.adaptation.choose(now, self.unanswered);
        if self.limits.0 != rate {
            self.limits = (rate, Limits::of(rate, radio, rules));
        }
        let mut limits = self.limits.1;
        if let Some(most) = self.adaptation.mpdu_limit() {
            limits.mpdus = limits.mpdus.min(most.max(1) as usize);
        }
        (rate, limits)
    }

    /// What the receiver is expected to get when nobody else sends.
    pub(super) fn expected_throughput(
        &mut self,
        radio: &RadioConfig,
        edca: &Edca,
        rules: &Rules,
    ) -> BitRate {
        let best = self.adaptation.best();
        let known = self.expected.filter(|(rate, _)| *rate == best);
        let expected = known.map_or_else(
            || Limits::of(best, radio, rules).expected_throughput(best, edca, rules),
            |(_, expected)| expected,
        );
        self.expected = Some((best, expected));
        expected
    }

    /// A frame at `rate` that began at `now` is received: works out what its MPDUs suffer.
    pub(super) fn receive(&mut self, now: Time, rate: TxRate) {
        let Quality::Noise(noise) = &self.quality else {
            return;
        };
        let interval = noise.signal.interval(now);
        if self
            .hazard
            .is_none_or(|(known, since, _)| known != rate || since != interval)
        {
            self.hazard = Some((rate, interval, noise.bit_hazard(now, rate)));
            self.error = (0, 0.0);
        }
    }

    /// Whether an MPDU of `bytes` of that frame is lost.
    pub(super) fn loses(&mut self, bytes: u32) -> bool {
        let probability = match (&self.quality, self.hazard) {
            (Quality::Loss(probability), _) => *probability,
            (Quality::Noise(_), Some((_, _, hazard))) => {
                if self.error.0 != bytes {
                    self.error = (bytes, hazard.mpdu_error(bytes));
                }
                self.error.1
            }
            (Quality::Noise(_), None) => 0.0,
        };
        self.draws.happens(probability)
    }
}

/// Probabilities within [0, 1]; what is no number is none.
fn clamped(quality: Quality) -> Quality {
    match quality {
        Quality::Loss(loss) => Quality::Loss(if loss.is_nan() {
            0.0
        } else {
            loss.clamp(0.0, 1.0)
        }),
        noise @ Quality::Noise(_) => noise,
    }
}

/// The stream of a link's losses. Links of radio 0 have those of the cell that this MAC grew out of, so that results of a cell stay
/// what they were for the same seed.
pub(super) fn draws(seed: u64, from: RadioId, to: RadioId) -> Stream {
    match (from.0, to.0) {
        (0, to) => Stream::new(seed, "loss down", u64::from(to.saturating_sub(1))),
        (from, 0) => Stream::new(seed, "loss up", u64::from(from - 1)),
        (from, to) => Stream::new(seed, "loss", (u64::from(from) << 32) | u64::from(to)),
    }
}
