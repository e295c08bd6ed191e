//! Medians.

/// The lower and the upper of the values in the middle, which are one if their number is odd; `None` without
/// any.
pub(super) fn medians(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    Some((sorted[(sorted.len() - 1) / 2], upper))
}

/// The smallest value at which half of the total weight is reached, of pairs of a value and its weight;
/// `None` without any.
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
