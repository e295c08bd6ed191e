//! Block fading: the gain of a pair of radios is constant over a coherence interval and independent from one to the next.

use crate::radio::RadioId;
use crate::rng::Stream;
use airpace_units::Time;
use core::f64::consts::TAU;
use core::time::Duration;

/// How a link's power gain is distributed; its mean is 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum FadingLaw {
    /// Constant.
    #[default]
    None,
    /// Scattered paths only: an exponential gain.
    Rayleigh,
    /// A line of sight with `factor` times the power of the scattered paths; 0 is Rayleigh.
    Rician {
        /// The Rician factor K, 0 to 10,000.
        factor: f64,
    },
    /// A gain with a gamma distribution of this shape (Nakagami-m amplitude); 1 is Rayleigh.
    Nakagami {
        /// The shape m, 0.5 to 10,000.
        shape: f64,
    },
}

/// A law and for how long a gain holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fading {
    /// The distribution.
    pub law: FadingLaw,
    /// Length of the coherence intervals, which all links count from time zero.
    pub coherence: Duration,
}

impl Fading {
    /// No fading.
    pub const NONE: Self = Self {
        law: FadingLaw::None,
        coherence: Duration::from_millis(20),
    };

    /// The number of the coherence interval that `now` is in. A gain can be kept for as long as this does not change.
    #[must_use]
    pub fn interval(&self, now: Time) -> u64 {
        let length = u64::try_from(self.coherence.as_nanos())
            .unwrap_or(u64::MAX)
            .max(1);
        now.as_nanos() / length
    }

    /// The power gain in dB of a pair of radios in a coherence interval: the same both ways, and the same whoever asks when. Cost: up
    /// to 0.2 µs. It repeats after 2³² intervals.
    #[must_use]
    pub fn gain_db(&self, seed: u64, pair: u64, interval: u64) -> f64 {
        if self.law == FadingLaw::None {
            return 0.0;
        }
        // Radios are fewer than 2^16, so a pair takes 32 bits.
        let mut stream = Stream::new(seed, "fading", (pair << 32) | (interval & 0xffff_ffff));
        10.0 * self.law.gain(&mut stream).log10()
    }

    pub(super) fn is_sensible(&self) -> bool {
        let law = match self.law {
            FadingLaw::None => return true,
            FadingLaw::Rayleigh => true,
            FadingLaw::Rician { factor } => (0.0..=10_000.0).contains(&factor),
            FadingLaw::Nakagami { shape } => (0.5..=10_000.0).contains(&shape),
        };
        law && !self.coherence.is_zero()
    }
}

/// A number for two radios, whichever sends.
pub(super) fn pair(a: RadioId, b: RadioId) -> u64 {
    let (low, high) = (a.min(b), a.max(b));
    (u64::from(low.0) & 0xffff) << 16 | u64::from(high.0) & 0xffff
}

impl FadingLaw {
    fn gain(self, stream: &mut Stream) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Rayleigh => exponential(stream),
            Self::Rician { factor } => {
                let scattered = (0.5 / (factor + 1.0)).sqrt();
                let (re, im) = normal_pair(stream);
                let sight = (factor / (factor + 1.0)).sqrt();
                (sight + scattered * re).powi(2) + (scattered * im).powi(2)
            }
            Self::Nakagami { shape } => gamma(shape, stream) / shape,
        }
    }
}

/// From (0, 1].
fn positive_unit(stream: &mut Stream) -> f64 {
    1.0 - stream.unit()
}

fn exponential(stream: &mut Stream) -> f64 {
    -positive_unit(stream).ln()
}

/// Two independent normal draws (Box and Muller, 1958).
fn normal_pair(stream: &mut Stream) -> (f64, f64) {
    let radius = (2.0 * exponential(stream)).sqrt();
    let (sin, cos) = (TAU * stream.unit()).sin_cos();
    (radius * cos, radius * sin)
}

/// A gamma draw of this shape and scale 1 (Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26, 2000);
/// a shape below 1 by their section 6.
fn gamma(shape: f64, stream: &mut Stream) -> f64 {
    if shape < 1.0 {
        let power = positive_unit(stream).powf(1.0 / shape);
        return gamma(shape + 1.0, stream) * power;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let normal = normal_pair(stream).0;
        let v = (1.0 + c * normal).powi(3);
        // Accepts more than 95 % of the draws.
        if v > 0.0 && positive_unit(stream).ln() < 0.5 * normal * normal + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}
