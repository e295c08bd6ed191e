//! Figures that summaries do not have, taken from the time series of a run, and their statistics.

use super::case::Figures;
use airpace_scenario::run::Finished;
use airpace_sim::world::ProxySlot;
use airpace_units::Time;

/// What the proxy was told and decided in each slot: lists called `level`, `rate_pps`,
/// `overhead_ms`, `lost` and `at_s`, with one value per slot, the mean over the stations.
pub(crate) fn decisions(finished: &Finished) -> Figures {
    let mut figures = Figures::new();
    let Some(slots) = finished.outcome.decisions.first() else {
        return figures;
    };
    for slot in slots.chunk_by(|a, b| a.at == b.at) {
        let mut put = |name: &str, value: fn(&ProxySlot) -> Option<f64>| {
            let values: Vec<f64> = slot.iter().filter_map(value).collect();
            figures
                .entry(name.to_owned())
                .or_default()
                .push(mean(&values));
        };
        put("at_s", |slot| Some(seconds(slot.at)));
        put("level", |slot| slot.level);
        put("rate_pps", |slot| slot.rate_pps);
        put("overhead_ms", |slot| slot.overhead_s.map(|s| 1e3 * s));
        put("lost", |slot| Some(f64::from(slot.lost)));
    }
    figures
}

/// The same, and the levels that each station reported after the warm-up: one list `level@INDEX`
/// per station.
pub(crate) fn levels(finished: &Finished) -> Figures {
    let mut figures = decisions(finished);
    let begin = Time::ZERO.saturating_add(finished.resolved.world.warm_up);
    let slots = finished
        .outcome
        .decisions
        .iter()
        .flatten()
        .filter(|slot| slot.at > begin);
    for slot in slots {
        figures
            .entry(format!("level@{}", slot.station.0))
            .or_default()
            .extend(slot.level);
    }
    figures
}

fn seconds(at: Time) -> f64 {
    at.since(Time::ZERO).as_secs_f64()
}

/// The value that the share `quantile` of `values` does not exceed. NaN among the values is
/// ignored; NaN if nothing is left.
pub(crate) fn quantile(values: &[f64], quantile: f64) -> f64 {
    let mut sorted: Vec<f64> = values
        .iter()
        .copied()
        .filter(|value| !value.is_nan())
        .collect();
    sorted.sort_by(f64::total_cmp);
    let at = (quantile * (sorted.len() as f64 - 1.0)).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// Arithmetic mean; NaN without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation of all of a population; NaN without values.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    (squares / values.len() as f64).sqrt()
}

/// Correlation of successive values (lag 1): below zero if they swing from one side of their mean
/// to the other.
pub(crate) fn persistence(values: &[f64]) -> f64 {
    let middle = mean(values);
    let products = values
        .windows(2)
        .map(|pair| (pair[0] - middle) * (pair[1] - middle));
    let squares = values.iter().map(|value| (value - middle).powi(2));
    products.sum::<f64>() / squares.sum::<f64>()
}

/// A straight line through points by least squares.
pub(crate) struct Line {
    pub(crate) slope: f64,
    /// Share of the variance of the second coordinate that the line explains (R²).
    pub(crate) explained: f64,
}

/// Fits a straight line to the points with these coordinates.
pub(crate) fn line(xs: &[f64], ys: &[f64]) -> Line {
    let (x_mean, y_mean) = (mean(xs), mean(ys));
    let products: f64 = xs
        .iter()
        .zip(ys)
        .map(|(x, y)| (x - x_mean) * (y - y_mean))
        .sum();
    let slope = products / xs.iter().map(|x| (x - x_mean).powi(2)).sum::<f64>();
    Line {
        slope,
        explained: (slope * deviation(xs) / deviation(ys)).powi(2),
    }
}

/// The first index from which on nine tenths of `values` are within the share `band` of `target`;
/// `None` if there is none in the first three quarters.
pub(crate) fn settled(values: &[f64], target: f64, band: f64) -> Option<usize> {
    let good: Vec<bool> = values
        .iter()
        .map(|value| (value / target - 1.0).abs() <= band)
        .collect();
    let stays = |from: usize| {
        let rest = &good[from..];
        good[from] && rest.iter().filter(|&&good| good).count() as f64 >= 0.9 * rest.len() as f64
    };
    (0..values.len() * 3 / 4).find(|&from| stays(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_points_on_it_and_explains_little_of_others() {
        let fit = line(&[1.0, 2.0, 3.0], &[3.0, 5.0, 7.0]);
        assert!((fit.slope - 2.0).abs() < 1e-12 && (fit.explained - 1.0).abs() < 1e-12);
        assert!(line(&[1.0, 2.0, 3.0], &[1.0, 9.0, 1.0]).explained < 0.1);
    }

    #[test]
    fn a_series_has_settled_where_it_stays_near_the_target() {
        let values = [10.0, 32.0, 50.0, 33.0, 32.0, 31.0, 32.0, 32.0, 32.0, 32.0];
        assert_eq!(settled(&values, 32.0, 0.15), Some(3));
        assert_eq!(settled(&[1.0, 2.0, 3.0], 32.0, 0.15), None);
        assert_eq!(quantile(&[3.0, 1.0, 2.0, f64::NAN], 0.5), 2.0);
    }
}
