//! Decision trees whose sum is the logarithm of odds.

/// Decisions of a tree: one, then two, then four.
pub const SPLITS: usize = 7;
/// Leaves of a tree.
pub const LEAVES: usize = 8;

/// A tree of three decisions in a row.
///
/// Decision `i` is followed by decision 2i + 1 if its feature is below the threshold, and by
/// 2i + 2 otherwise; decisions 7 to 14 are the leaves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tree {
    /// Index of the feature and threshold of each decision.
    pub splits: [(usize, f64); SPLITS],
    /// What each leaf adds to the logarithm of the odds.
    pub leaves: [f64; LEAVES],
}

impl Tree {
    /// A tree that adds nothing.
    pub const ZERO: Self = Self {
        splits: [(0, f64::INFINITY); SPLITS],
        leaves: [0.0; LEAVES],
    };

    /// Index of the leaf at which `features` end. A feature that does not exist is below every
    /// threshold.
    #[must_use]
    pub fn leaf(&self, features: &[f64]) -> usize {
        let mut at = 0;
        while let Some(&(feature, threshold)) = self.splits.get(at) {
            let is_above = features.get(feature).is_some_and(|&x| x >= threshold);
            at = 2 * at + 1 + usize::from(is_above);
        }
        at - SPLITS
    }

    /// What the tree adds to the logarithm of the odds.
    #[must_use]
    pub fn log_odds(&self, features: &[f64]) -> f64 {
        self.leaves[self.leaf(features)]
    }
}

/// The probability, 0 to 1, that trees give.
pub(super) fn probability(trees: &[Tree], features: &[f64]) -> f64 {
    let log_odds: f64 = trees.iter().map(|tree| tree.log_odds(features)).sum();
    1.0 / (1.0 + (-log_odds).exp())
}
