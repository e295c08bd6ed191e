//! The weighted median.

/// The smallest value at which half of the weight is reached; `None` without values. Each is a value
/// with its weight.
pub(super) fn weighted_median(weighted: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let mut sorted: Vec<(f64, f64)> = weighted.collect();
    sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
    let all: f64 = sorted.iter().map(|&(_, weight)| weight).sum();
    let mut below = 0.0;
    sorted
        .into_iter()
        .find(|&(_, weight)| {
            below += weight;
            below >= all / 2.0
        })
        .map(|(value, _)| value)
}
