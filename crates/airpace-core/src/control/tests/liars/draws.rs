//! Random numbers of the search for the worst lie.

/// SplitMix64 (Steele, Lea, Flood 2014).
pub(super) struct Draws(u64);

impl Draws {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in 0..1.
    pub(super) fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform among the numbers below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.bits() % end
    }

    /// 1 in every other draw, sometimes 0, otherwise between exp(−`most`) and exp(`most`).
    pub(super) fn factor(&mut self, most: f64) -> f64 {
        match self.below(12) {
            0..=5 => 1.0,
            6 => 0.0,
            _ => (most * (2.0 * self.uniform() - 1.0)).exp(),
        }
    }

    /// 0 in every other draw, otherwise uniform up to `most`.
    pub(super) fn or_zero(&mut self, most: f64) -> f64 {
        if self.below(2) == 0 {
            0.0
        } else {
            most * self.uniform()
        }
    }
}
