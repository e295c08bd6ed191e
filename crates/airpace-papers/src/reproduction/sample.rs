use airpace_scenario::sweep::Estimate;
use std::ops::{Div, Mul, Sub};

/// One value per seed. Operations combine the values of the same seed, so that runs with the same
/// seed are compared with each other. A value that was not measured is NaN, and so is whatever is
/// computed from it.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Sample(pub(crate) Vec<f64>);

impl Sample {
    /// A value that does not depend on the seed.
    pub(crate) fn exactly(value: f64) -> Self {
        Self(vec![value])
    }

    /// Mean over the seeds; NaN without any.
    pub(crate) fn mean(&self) -> f64 {
        Estimate::of(&self.0).mean.unwrap_or(f64::NAN)
    }

    /// Half the 95 % confidence interval of the mean.
    pub(crate) fn ci95(&self) -> Option<f64> {
        Estimate::of(&self.0).ci95.filter(|half| half.is_finite())
    }

    /// Applies `function` to the values that the samples have for the same seed.
    pub(crate) fn combine(samples: &[Self], function: impl Fn(&[f64]) -> f64) -> Self {
        let seeds = samples
            .iter()
            .map(|sample| sample.0.len())
            .min()
            .unwrap_or(0);
        let mut combined = Vec::with_capacity(seeds);
        for seed in 0..seeds {
            let values: Vec<f64> = samples.iter().map(|sample| sample.0[seed]).collect();
            combined.push(function(&values));
        }
        Self(combined)
    }

    /// Geometric mean of several samples, seed by seed. It is the mean for ratios.
    pub(crate) fn geometric_mean(samples: &[Self]) -> Self {
        Self::combine(samples, |values| {
            (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
        })
    }

    /// The least of several samples, seed by seed.
    pub(crate) fn least(samples: &[Self]) -> Self {
        Self::combine(samples, |values| {
            values.iter().copied().fold(f64::INFINITY, f64::min)
        })
    }

    /// The greatest of several samples, seed by seed.
    pub(crate) fn greatest(samples: &[Self]) -> Self {
        Self::combine(samples, |values| {
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
        })
    }

    fn pairwise(&self, other: &Self, function: impl Fn(f64, f64) -> f64) -> Self {
        let pairs = self.0.iter().zip(&other.0);
        Self(pairs.map(|(&a, &b)| function(a, b)).collect())
    }
}

impl Div for &Sample {
    type Output = Sample;
    fn div(self, other: Self) -> Sample {
        self.pairwise(other, |a, b| a / b)
    }
}

impl Mul<f64> for &Sample {
    type Output = Sample;
    fn mul(self, factor: f64) -> Sample {
        Sample(self.0.iter().map(|a| a * factor).collect())
    }
}

impl Sub for &Sample {
    type Output = Sample;
    fn sub(self, other: Self) -> Sample {
        self.pairwise(other, |a, b| a - b)
    }
}
