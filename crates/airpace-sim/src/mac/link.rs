//! A directed link: its rate adaptation and its losses.

use super::field::{Field, Span, Wanted};
use super::frame::{Limits, Rules};
use super::{LinkConfig, Quality, RadioConfig, RadioId};
use crate::rate::RateAdaptation;
use crate::rng::Stream;
use airpace_core::phy::error::BitHazard;
use airpace_core::phy::{Edca, Standard, TxRate};
use airpace_units::{BitRate, Time};

/// A directed link between two radios.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) from: RadioId,
    pub(super) to: RadioId,
    pub(super) adaptation: RateAdaptation,
    /// The receiver's weight where airtime is shared out.
    pub(super) weight: u16,
    /// Whether its frames are group-addressed, so that nobody acknowledges them.
    pub(super) group: bool,
    /// The members of the group, if its frames are received by each.
    pub(super) members: Vec<RadioId>,
    /// Whether its receiver has left its sender for another one.
    pub(super) is_deaf: bool,
    /// Frames in a row without an answer.
    pub(super) unanswered: u8,
    quality: Quality,
    losses: Stream,
    /// The last rate, and the limits of frames at it.
    limits: (TxRate, Limits),
    /// The slowest rate of the retry chain when it was last asked for, and the largest PSDU at it.
    chain: Option<(TxRate, u32)>,
    /// The best rate when it was last asked for, and the throughput expected at it.
    expected: Option<(TxRate, BitRate)>,
    /// What the last frame suffered from noise.
    hazard: Option<Hazard>,
    /// The rate over whose noise the signal-to-noise ratio is that an ideal adaptation is told: the
    /// fastest that it has.
    reference: TxRate,
}

/// Error probabilities of one rate and MPDU length in one coherence interval.
#[derive(Clone, Copy, Debug)]
struct Hazard {
    rate: TxRate,
    interval: u64,
    bits: BitHazard,
    /// Bytes of the last MPDU, and the probability that one of that length is lost.
    last: Option<(u32, f64)>,
}

impl Link {
    pub(super) fn new(
        config: LinkConfig,
        radio: &RadioConfig,
        rules: &Rules,
        losses: Stream,
    ) -> Self {
        let LinkConfig {
            from,
            to,
            mut adaptation,
            quality,
            weight,
            group,
            members,
            ..
        } = config;
        adaptation.set_snr(f64::INFINITY);
        let rate = adaptation.best();
        Self {
            from,
            to,
            adaptation,
            weight,
            group,
            members,
            is_deaf: false,
            unanswered: 0,
            quality: clamped(quality),
            losses,
            limits: (rate, Limits::of(rate, radio, rules)),
            chain: None,
            expected: None,
            hazard: None,
            reference: rate,
        }
    }

    pub(super) fn set_quality(&mut self, quality: Quality) {
        self.quality = clamped(quality);
        self.hazard = None;
    }

    /// Chooses the rate of the next frame. Returns it with the limits of the frame.
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
        let driver = &radio.path.driver;
        if driver.lone_probes && self.adaptation.is_probing() {
            limits.mpdus = 1;
        }
        if driver.chain_limit {
            limits.bytes = limits.bytes.min(self.chain_bytes(rate, radio, rules));
        }
        (rate, limits)
    }

    /// The largest PSDU that every rate of the retry chain can carry within the limits of a frame;
    /// the chain of the present rate if it has no other.
    fn chain_bytes(&mut self, rate: TxRate, radio: &RadioConfig, rules: &Rules) -> u32 {
        let slowest = self.adaptation.slowest_of_chain().unwrap_or(rate);
        match self.chain {
            Some((known, bytes)) if known == slowest => bytes,
            _ => {
                let bytes = Limits::of(slowest, radio, rules).bytes;
                self.chain = Some((slowest, bytes));
                bytes
            }
        }
    }

    /// Whether its errors follow from its signal-to-noise ratio.
    pub(super) const fn is_noisy(&self) -> bool {
        matches!(self.quality, Quality::Noise(_))
    }

    /// Whether its frames carry a single MPDU each, because its standard has no aggregation.
    pub(super) fn is_never_aggregated(&self) -> bool {
        matches!(self.reference.standard(), Standard::Dsss | Standard::Ofdm)
    }

    /// The throughput that the receiver is expected to get at its best rate when nobody else sends.
    pub(super) fn expected_throughput(
        &mut self,
        radio: &RadioConfig,
        edca: &Edca,
        rules: &Rules,
    ) -> BitRate {
        let best = self.adaptation.best();
        if let Some((rate, expected)) = self.expected
            && rate == best
        {
            return expected;
        }
        let expected = Limits::of(best, radio, rules).expected_throughput(best, edca, rules);
        self.expected = Some((best, expected));
        expected
    }

    /// A frame at `rate` that began at `now` is received: computes what its MPDUs suffer.
    pub(super) fn receive(&mut self, now: Time, rate: TxRate) {
        let Quality::Noise(noise) = &self.quality else {
            return;
        };
        let interval = noise.signal.interval(now);
        let is_known = |hazard: Hazard| hazard.rate == rate && hazard.interval == interval;
        if !self.hazard.is_some_and(is_known) {
            self.hazard = Some(Hazard {
                rate,
                interval,
                bits: noise.bit_hazard(now, rate),
                last: None,
            });
        }
    }

    /// A frame that begins at `now`, given what it is by the mean power: its signal has the link's
    /// own ratio to the noise.
    pub(super) fn wanted(&self, now: Time, wanted: Wanted) -> Wanted {
        let Quality::Noise(noise) = &self.quality else {
            return wanted;
        };
        let snr_db = noise.signal.snr_db(now, wanted.rate);
        Wanted {
            snr: 10_f64.powf(snr_db / 10.0),
            model: noise.model,
            ..wanted
        }
    }

    /// Whether an MPDU of `bytes` of that frame is lost of which others overlap a part.
    pub(super) fn loses_overlapped(
        &mut self,
        bytes: u32,
        field: &mut Field,
        wanted: &Wanted,
        span: Span,
    ) -> bool {
        let bits = f64::from(bytes) * 8.0;
        let probability = match (&self.quality, &mut self.hazard) {
            (Quality::Loss(loss), _) => {
                // The given loss stands for the noise.
                let interference = BitHazard::loss(field.events(wanted, span, bits, false));
                loss + (1.0 - loss) * interference
            }
            (Quality::Noise(_), hazard) => {
                let alone = hazard.as_mut().map_or(0.0, |known| known.mpdu_error(bytes));
                // A frame that fading takes below the threshold is lost without interference too.
                BitHazard::loss(field.events(wanted, span, bits, true)).max(alone)
            }
        };
        self.losses.happens(probability)
    }

    /// Whether an MPDU of `bytes` of that frame is lost.
    #[inline]
    pub(super) fn loses(&mut self, bytes: u32) -> bool {
        let probability = match (&self.quality, &mut self.hazard) {
            (Quality::Loss(probability), _) => *probability,
            (Quality::Noise(_), Some(hazard)) => hazard.mpdu_error(bytes),
            (Quality::Noise(_), None) => 0.0,
        };
        self.losses.happens(probability)
    }
}

impl Hazard {
    /// The probability that an MPDU of `bytes` is lost; computed once for MPDUs of one length in a
    /// row.
    fn mpdu_error(&mut self, bytes: u32) -> f64 {
        match self.last {
            Some((known, error)) if known == bytes => error,
            _ => {
                let error = self.bits.mpdu_error(bytes);
                self.last = Some((bytes, error));
                error
            }
        }
    }
}

/// Clamps a probability of loss to [0, 1]; not a number counts as 0.
fn clamped(quality: Quality) -> Quality {
    match quality {
        Quality::Loss(loss) if loss.is_nan() => Quality::Loss(0.0),
        Quality::Loss(loss) => Quality::Loss(loss.clamp(0.0, 1.0)),
        noise @ Quality::Noise(_) => noise,
    }
}

/// The stream of a link's losses, by the keys of its sender and receiver if both have one. Links of
/// radio 0 have the streams of the cell from which this MAC grew, so that results of a cell stay
/// what they were for the same seed.
pub(super) fn loss_stream(seed: u64, link: &LinkConfig, keys: Option<(u64, u64)>) -> Stream {
    if let Some((from, to)) = keys {
        return Stream::new(seed, "named loss", from.rotate_left(1) ^ to);
    }
    match (link.from.0, link.to.0) {
        (0, to) => Stream::new(seed, "loss down", u64::from(to.saturating_sub(1))),
        (from, 0) => Stream::new(seed, "loss up", u64::from(from - 1)),
        (from, to) => Stream::new(seed, "loss", (u64::from(from) << 32) | u64::from(to)),
    }
}
