//! Block fading and shadowing: the gain between two radios is constant over a coherence interval
//! and independent from one interval to the next. Fading is fast, shadowing slow.

use crate::radio::RadioId;
use crate::rng::Stream;
use airpace_units::Time;
use core::time::Duration;
use strum::{
    Display, EnumDiscriminants, EnumIter, EnumMessage, EnumString, IntoStaticStr, VariantNames,
};

/// How the power gain of a link is distributed; its mean is 1.
#[derive(Clone, Copy, PartialEq, Debug, Default, EnumDiscriminants)]
#[strum_discriminants(
    name(FadingKind),
    doc = "A [`FadingLaw`] without its parameter, as configuration names it.",
    derive(PartialOrd, Ord, Hash),
    derive(
        Display,
        EnumIter,
        EnumMessage,
        EnumString,
        IntoStaticStr,
        VariantNames
    ),
    strum(serialize_all = "kebab-case")
)]
pub enum FadingLaw {
    /// Constant gain.
    #[default]
    None,
    /// Scattered paths only, no line of sight: the gain is exponentially distributed.
    Rayleigh,
    /// A line of sight and scattered paths.
    Rician {
        /// The Rician factor K, 0 to 10,000: power of the line of sight over that of the scattered
        /// paths; 0 is Rayleigh.
        factor: f64,
    },
    /// A gamma-distributed gain, that is, an amplitude with Nakagami-m distribution.
    Nakagami {
        /// The shape m, 0.5 to 10,000: 1 is Rayleigh, more is milder.
        shape: f64,
    },
}

/// The distribution of the gain and the time for which a gain lasts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fading {
    /// The distribution.
    pub law: FadingLaw,
    /// Length of a coherence interval. The intervals of all links begin at time zero.
    pub coherence: Duration,
}

impl Fading {
    /// No fading.
    pub const NONE: Self = Self {
        law: FadingLaw::None,
        coherence: Duration::from_millis(20),
    };

    /// The number of the coherence interval that `now` is in. A caller may keep a gain for as long
    /// as this does not change.
    #[must_use]
    pub fn interval(&self, now: Time) -> u64 {
        interval(now, self.coherence)
    }

    /// The power gain in dB between two radios in a coherence interval. It is the same in both
    /// directions and does not depend on the order of calls. It repeats after 2³² intervals. Cost:
    /// up to 0.2 µs.
    #[must_use]
    pub fn gain_db(&self, seed: u64, pair: u64, interval: u64) -> f64 {
        if self.law == FadingLaw::None {
            return 0.0;
        }
        let mut stream = stream(seed, "fading", pair, interval);
        10.0 * self.law.draw_gain(&mut stream).log10()
    }

    pub(super) fn is_valid(&self) -> bool {
        let law_is_valid = match self.law {
            // Without fading the coherence time does not matter.
            FadingLaw::None => return true,
            FadingLaw::Rayleigh => true,
            FadingLaw::Rician { factor } => (0.0..=10_000.0).contains(&factor),
            FadingLaw::Nakagami { shape } => (0.5..=10_000.0).contains(&shape),
        };
        law_is_valid && !self.coherence.is_zero()
    }
}

/// What stands or moves in the way, such as people and doors: a log-normal gain with median 1, on
/// top of the fading.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shadowing {
    /// Standard deviation of the gain in dB, 0 to 30; with 0 there is no shadowing.
    pub deviation_db: f64,
    /// Length of a coherence interval. The intervals of all links begin at time zero.
    pub coherence: Duration,
}

impl Shadowing {
    /// No shadowing.
    pub const NONE: Self = Self {
        deviation_db: 0.0,
        coherence: Duration::from_secs(10),
    };

    /// The number of the coherence interval that `now` is in; always 0 without shadowing.
    #[must_use]
    pub fn interval(&self, now: Time) -> u64 {
        if self.deviation_db == 0.0 {
            return 0;
        }
        interval(now, self.coherence)
    }

    /// The power gain in dB between two radios in a coherence interval, as of [`Fading::gain_db`].
    #[must_use]
    pub fn gain_db(&self, seed: u64, pair: u64, interval: u64) -> f64 {
        if self.deviation_db == 0.0 {
            return 0.0;
        }
        self.deviation_db * stream(seed, "shadowing", pair, interval).normal()
    }

    pub(super) fn is_valid(&self) -> bool {
        (0.0..=30.0).contains(&self.deviation_db)
            && (self.deviation_db == 0.0 || !self.coherence.is_zero())
    }
}

fn interval(now: Time, coherence: Duration) -> u64 {
    let length = u64::try_from(coherence.as_nanos())
        .unwrap_or(u64::MAX)
        .max(1);
    now.as_nanos() / length
}

/// A stream per interval makes a gain a function of its arguments. There are fewer than 2^16
/// radios, so a pair takes 32 bits and leaves as many for the interval.
fn stream(seed: u64, purpose: &'static str, pair: u64, interval: u64) -> Stream {
    Stream::new(seed, purpose, (pair << 32) | (interval & 0xffff_ffff))
}

/// A number for a pair of radios, the same in both directions.
pub(super) fn pair(a: RadioId, b: RadioId) -> u64 {
    let (low, high) = (a.min(b), a.max(b));
    (u64::from(low.0) & 0xffff) << 16 | u64::from(high.0) & 0xffff
}

impl FadingLaw {
    fn draw_gain(self, stream: &mut Stream) -> f64 {
        match self {
            Self::None => 1.0,
            // The sum of the squares of two normal components of variance 1/2 each.
            Self::Rayleigh => stream.exponential(),
            Self::Rician { factor } => {
                // The line of sight has K/(K+1) of the power; each scattered component has half of
                // the rest.
                let line_of_sight = (factor / (factor + 1.0)).sqrt();
                let deviation = (0.5 / (factor + 1.0)).sqrt();
                let in_phase = line_of_sight + deviation * stream.normal();
                let quadrature = deviation * stream.normal();
                in_phase * in_phase + quadrature * quadrature
            }
            // The square of a Nakagami amplitude is gamma distributed.
            Self::Nakagami { shape } => stream.gamma(shape),
        }
    }
}
