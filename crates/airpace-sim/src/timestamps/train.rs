//! Boosts decision trees: each is fitted to what those before leave unexplained (Friedman, *Greedy
//! function approximation: a gradient boosting machine*, 2001, with the second-order gain of Chen and
//! Guestrin, *XGBoost*, 2016).

use airpace_core::meter::classifier::{LEAVES, SPLITS, Tree};

/// Thresholds that are tried per feature: as many quantiles of it.
const BINS: usize = 64;
/// Values of a feature from which its quantiles are taken.
const QUANTILE_SAMPLE: usize = 50_000;
/// Preference for small leaves (L2), as a share of the weight of all examples, and least weight times
/// p(1 - p) of a leaf.
const RIDGE: f64 = 1e-4;
const LEAST_LEAF: f64 = 5e-4;
/// Decimals of thresholds and leaves, so that the trees are those that are written.
const UNIT: f64 = 1e4;

/// Examples with `N` features.
#[derive(Clone, Debug)]
pub(super) struct Examples<const N: usize> {
    features: Vec<[f64; N]>,
    /// Whether the outcome is positive, and the example's weight.
    outcomes: Vec<(bool, f64)>,
}

impl<const N: usize> Default for Examples<N> {
    fn default() -> Self {
        Self {
            features: Vec::new(),
            outcomes: Vec::new(),
        }
    }
}

/// First and second derivative of the loss by the logarithm of the odds.
#[derive(Clone, Copy, Debug, Default)]
struct Slope {
    first: f64,
    second: f64,
}

impl Slope {
    fn add(&mut self, other: Self) {
        self.first += other.first;
        self.second += other.second;
    }

    fn less(self, other: Self) -> Self {
        Self {
            first: self.first - other.first,
            second: self.second - other.second,
        }
    }

    fn score(self, ridge: f64) -> f64 {
        self.first * self.first / (self.second + ridge)
    }
}

impl<const N: usize> Examples<N> {
    pub(super) fn add(&mut self, features: [f64; N], outcome: bool, weight: f64) {
        self.features.push(features);
        self.outcomes.push((outcome, weight));
    }

    /// So many trees that make the outcomes likely, each of which goes `rate` of the way that is best
    /// for it alone.
    pub(super) fn fit<const T: usize>(&self, rate: f64) -> [Tree; T] {
        let edges: [Vec<f64>; N] = core::array::from_fn(|feature| self.edges(feature));
        let binned: Vec<[u8; N]> = self
            .features
            .iter()
            .map(|x| core::array::from_fn(|i| edges[i].partition_point(|&edge| edge <= x[i]) as u8))
            .collect();
        let mut log_odds = vec![0.0; self.features.len()];
        core::array::from_fn(|_| {
            let slopes: Vec<Slope> = log_odds
                .iter()
                .zip(&self.outcomes)
                .map(|(&odds, &(outcome, weight))| slope(odds, outcome, weight))
                .collect();
            let tree = grow(&edges, &binned, &slopes, self.total(), rate);
            for (odds, features) in log_odds.iter_mut().zip(&self.features) {
                *odds += tree.log_odds(features);
            }
            tree
        })
    }

    fn total(&self) -> f64 {
        self.outcomes.iter().map(|&(_, weight)| weight).sum()
    }

    /// Different thresholds at quantiles of a feature, in rising order.
    fn edges(&self, feature: usize) -> Vec<f64> {
        let step = self.features.len().div_ceil(QUANTILE_SAMPLE).max(1);
        let mut values: Vec<f64> = self
            .features
            .iter()
            .step_by(step)
            .map(|x| x[feature])
            .collect();
        values.sort_by(f64::total_cmp);
        let mut edges: Vec<f64> = (1..BINS)
            .filter_map(|i| values.get(i * values.len() / BINS))
            .map(|&value| rounded(value))
            .collect();
        edges.dedup();
        edges
    }
}

fn rounded(value: f64) -> f64 {
    (value * UNIT).round() / UNIT
}

fn slope(log_odds: f64, outcome: bool, weight: f64) -> Slope {
    let p = 1.0 / (1.0 + (-log_odds).exp());
    Slope {
        first: weight * (f64::from(outcome) - p),
        second: weight * p * (1.0 - p),
    }
}

/// Grows a tree level by level.
fn grow<const N: usize>(
    edges: &[Vec<f64>; N],
    binned: &[[u8; N]],
    slopes: &[Slope],
    total: f64,
    rate: f64,
) -> Tree {
    let mut tree = Tree::ZERO;
    let mut nodes = vec![0_usize; binned.len()];
    let mut below = 0;
    while below < SPLITS {
        let width = below + 1;
        let mut sums = vec![[[Slope::default(); BINS]; N]; width];
        for ((bins, &slope), &node) in binned.iter().zip(slopes).zip(&nodes) {
            for (sum, &bin) in sums[node - below].iter_mut().zip(bins) {
                sum[usize::from(bin)].add(slope);
            }
        }
        let mut chosen = vec![(0_usize, u8::MAX); width];
        for (i, sums) in sums.iter().enumerate() {
            if let Some((feature, edge)) = best_split(sums, edges, total) {
                tree.splits[below + i] = (feature, edges[feature][edge]);
                chosen[i] = (feature, edge as u8);
            }
        }
        for (bins, node) in binned.iter().zip(&mut nodes) {
            let (feature, edge) = chosen[*node - below];
            *node = 2 * *node + 1 + usize::from(bins[feature] > edge);
        }
        below += width;
    }
    let mut leaves = [Slope::default(); LEAVES];
    for (&slope, &node) in slopes.iter().zip(&nodes) {
        leaves[node - SPLITS].add(slope);
    }
    tree.leaves = leaves.map(|leaf| {
        rounded((rate * leaf.first / (leaf.second + RIDGE * total).max(1e-12)).clamp(-4.0, 4.0))
    });
    tree
}

/// The feature and the index of the threshold that explain most; `None` if nothing does.
fn best_split<const N: usize>(
    sums: &[[Slope; BINS]; N],
    edges: &[Vec<f64>; N],
    total: f64,
) -> Option<(usize, usize)> {
    let ridge = RIDGE * total;
    let (mut best, mut best_gain) = (None, 1e-6 * total);
    for (feature, bins) in sums.iter().enumerate() {
        let mut all = Slope::default();
        bins.iter().for_each(|&bin| all.add(bin));
        let mut left = Slope::default();
        for (edge, &bin) in bins.iter().enumerate().take(edges[feature].len()) {
            left.add(bin);
            let right = all.less(left);
            if left.second.min(right.second) < LEAST_LEAF * total {
                continue;
            }
            let gain = left.score(ridge) + right.score(ridge) - all.score(ridge);
            if gain > best_gain {
                (best, best_gain) = (Some((feature, edge)), gain);
            }
        }
    }
    best
}
