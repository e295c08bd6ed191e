//! Random streams: one generator per component, so that adding a station leaves every other component's draws as they were.

use core::hash::Hasher;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use siphasher::sip::SipHasher13;

/// A component's own random stream, made of the run's seed, the component's name and its index.
///
/// Generator (PCG 64 MCG) and hash (SipHash-1-3) are pinned: the same triple gives the same draws on every machine.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

/// What tells the draws of something with a name from those of others, wherever it stands in a list.
#[must_use]
pub fn key(name: &str) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// A secret key for a hash table of flow queues, drawn from the stream of component `name` number `index` in the run
/// seeded with `seed`.
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

    /// A uniform draw from 0 to `window` inclusive; cost: one multiplication.
    #[must_use]
    pub fn up_to(&mut self, window: u32) -> u32 {
        // Multiply-shift; the bias of at most window / 2^32 is far below anything measurable here.
        let product = u64::from(self.0.next_u32()) * (u64::from(window) + 1);
        (product >> 32) as u32
    }

    /// Whether an event of probability `probability` happens. Nothing is drawn when it is 0.
    #[must_use]
    pub fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.unit() < probability
    }

    /// A uniform draw from [0, 1).
    #[must_use]
    pub fn unit(&mut self) -> f64 {
        // 53 bits, the width of a double's mantissa.
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
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
}
