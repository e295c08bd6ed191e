//! Random streams: one generator per component, so that adding a station does not change the draws
//! of any other component.

use core::hash::Hasher;
use rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp1, Gamma, StandardNormal};
use rand_pcg::Pcg64Mcg;
use siphasher::sip::SipHasher13;

/// The random stream of one component, derived from the seed of the run, the name of the component
/// and its index.
///
/// The generator (PCG 64 MCG), the hash (SipHash-1-3) and the samplers (`rand_distr`) are pinned:
/// the same seed, name and index give the same draws on every machine. Samplers that need a
/// logarithm take it from the platform's mathematical library, which may differ in the last bit.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

/// A number that stands for `name` in streams, so that the draws of a named component do not depend
/// on its place in a list.
#[must_use]
pub fn key(name: &str) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// A secret key for a hash table of flow queues, drawn from the stream of component `name` number
/// `index` in the run seeded with `seed`.
#[must_use]
pub fn hash_key(seed: u64, name: &str, index: u64) -> [u8; 16] {
    let mut stream = Stream::new(seed, name, index);
    let mut key = [0; 16];
    for word in key.chunks_exact_mut(4) {
        word.copy_from_slice(&stream.up_to(u32::MAX).to_le_bytes());
    }
    key
}

impl Stream {
    /// The stream of component `name` number `index` in the run seeded with `seed`.
    #[must_use]
    pub fn new(seed: u64, name: &str, index: u64) -> Self {
        let mut hasher = SipHasher13::new_with_keys(seed, index);
        hasher.write(name.as_bytes());
        Self(Pcg64Mcg::seed_from_u64(hasher.finish()))
    }

    /// A uniform draw from 0 to `window` inclusive. Cost: one multiplication.
    #[must_use]
    pub fn up_to(&mut self, window: u32) -> u32 {
        // Multiply and shift: the bias of at most window / 2^32 is far below anything that a run
        // can measure.
        let product = u64::from(self.0.next_u32()) * (u64::from(window) + 1);
        (product >> 32) as u32
    }

    /// Whether an event of probability `probability` happens. A probability of 0 draws nothing.
    #[must_use]
    #[inline]
    pub fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.unit() < probability
    }

    /// A uniform draw from [0, 1).
    #[must_use]
    pub fn unit(&mut self) -> f64 {
        // 53 bits, the precision of a double.
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A draw from the exponential distribution with mean 1.
    #[must_use]
    pub fn exponential(&mut self) -> f64 {
        Exp1.sample(&mut self.0)
    }

    /// A draw from the normal distribution with mean 0 and standard deviation 1.
    #[must_use]
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    /// A draw from the gamma distribution with this shape and mean 1; not a number unless `shape`
    /// is positive and finite.
    #[must_use]
    pub fn gamma(&mut self, shape: f64) -> f64 {
        Gamma::new(shape, 1.0 / shape).map_or(f64::NAN, |gamma| gamma.sample(&mut self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_depend_on_seed_name_and_index_only() {
        let draw = |seed, name, index| Stream::new(seed, name, index).up_to(u32::MAX);
        assert_eq!(draw(1, "backoff", 0), draw(1, "backoff", 0));
        assert_ne!(draw(1, "backoff", 0), draw(2, "backoff", 0));
        assert_ne!(draw(1, "backoff", 0), draw(1, "loss", 0));
        assert_ne!(draw(1, "backoff", 0), draw(1, "backoff", 1));
    }

    #[test]
    fn a_hash_key_is_four_words_of_its_stream_in_little_endian_order() {
        let mut stream = Stream::new(3, "proxy queue", 2);
        let words: Vec<u8> = (0..4)
            .flat_map(|_| stream.up_to(u32::MAX).to_le_bytes())
            .collect();
        assert_eq!(hash_key(3, "proxy queue", 2).as_slice(), words);
        assert_ne!(hash_key(3, "proxy queue", 2), hash_key(3, "flow key", 2));
    }

    #[test]
    fn draws_are_uniform_over_the_window() {
        let mut stream = Stream::new(7, "uniform", 0);
        let mut counts = [0_u32; 16];
        for _ in 0..160_000 {
            counts[stream.up_to(15) as usize] += 1;
        }
        // Standard deviation of a count is 97: six of them.
        assert!(
            counts.iter().all(|&count| count.abs_diff(10_000) < 600),
            "{counts:?}"
        );
    }

    /// Mean and variance of 200,000 draws.
    fn moments(mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let draws: Vec<f64> = (0..200_000).map(|_| draw()).collect();
        let mean = draws.iter().sum::<f64>() / 2e5;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 2e5;
        (mean, variance)
    }

    #[test]
    fn samplers_have_the_mean_and_variance_of_their_distributions() {
        let mut stream = Stream::new(11, "moments", 0);
        // Six standard errors of the mean and of the variance: of the latter sqrt((kurtosis - 1) /
        // n) times the variance.
        let check = |(mean, variance): (f64, f64), expected: [f64; 2], errors: [f64; 2]| {
            assert!((mean - expected[0]).abs() < errors[0], "mean {mean}");
            assert!((variance - expected[1]).abs() < errors[1], "{variance}");
        };
        check(moments(|| stream.normal()), [0.0, 1.0], [0.0135, 0.019]);
        check(
            moments(|| stream.exponential()),
            [1.0, 1.0],
            [0.0135, 0.038],
        );
        // Variance 1 / shape; kurtosis 3 + 6 / shape.
        check(moments(|| stream.gamma(0.5)), [1.0, 2.0], [0.019, 0.101]);
        check(moments(|| stream.gamma(4.0)), [1.0, 0.25], [0.0068, 0.0064]);
        assert!(stream.gamma(0.0).is_nan() && stream.gamma(f64::NAN).is_nan());
    }

    #[test]
    fn an_exponential_draw_exceeds_three_means_as_often_as_it_should() {
        let mut stream = Stream::new(12, "tail", 0);
        let n_long = (0..200_000).filter(|_| stream.exponential() > 3.0).count();
        // e^-3 of all, six standard errors.
        assert!(
            (n_long as f64 / 2e5 - (-3.0_f64).exp()).abs() < 0.003,
            "{n_long}"
        );
    }
}
