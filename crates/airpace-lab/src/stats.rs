//! Quantiles of times.

use crate::results::Quantiles;
use hdrhistogram::Histogram;

/// Samples of a time, kept with three significant digits from 1 µs to ten minutes.
#[derive(Clone, Debug)]
pub struct Samples(Histogram<u64>);

impl Default for Samples {
    fn default() -> Self {
        Self(
            Histogram::new_with_bounds(1, 600_000_000, 3)
                .expect("the bounds are constants that the histogram accepts"),
        )
    }
}

impl Samples {
    /// Adds a sample in milliseconds. One outside the range counts as the nearest end; NaN is
    /// ignored.
    pub fn add_ms(&mut self, ms: f64) {
        if !ms.is_nan() {
            // A float-to-integer `as` saturates.
            self.0.saturating_record(((ms * 1e3).round() as u64).max(1));
        }
    }

    /// Adds the samples of another set.
    pub fn merge(&mut self, other: &Self) {
        self.0
            .add(&other.0)
            .expect("both histograms have the same bounds");
    }

    /// The quantiles in milliseconds; all are zero without samples.
    #[must_use]
    pub fn quantiles(&self) -> Quantiles {
        if self.0.is_empty() {
            return Quantiles::default();
        }
        let at = |q| self.0.value_at_quantile(q) as f64 / 1e3;
        Quantiles {
            p50: at(0.50),
            p95: at(0.95),
            p99: at(0.99),
            mean: self.0.mean() / 1e3,
            max: self.0.max() as f64 / 1e3,
            count: self.0.len(),
        }
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(samples: I) -> Self {
        let mut set = Self::default();
        for ms in samples {
            set.add_ms(ms);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_the_histograms_three_digits() {
        let quantiles = (1..=1000).map(f64::from).collect::<Samples>().quantiles();
        assert!((quantiles.p50 - 500.0).abs() < 1.0, "{quantiles:?}");
        assert!((quantiles.p99 - 990.0).abs() < 1.0, "{quantiles:?}");
        assert_eq!(quantiles.count, 1000);
    }

    #[test]
    fn without_samples_all_quantiles_are_zero() {
        assert_eq!(
            [f64::NAN].into_iter().collect::<Samples>().quantiles(),
            Quantiles::default()
        );
    }
}
