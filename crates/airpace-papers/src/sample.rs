use airpace_scenario::sweep::Estimate;
use std::ops::{Add, Div, Mul, Sub};

/// One value per seed. Operations go seed by seed, so that runs with the same seed are compared with each other. What was not measured
/// is not a number and makes everything that is computed from it one.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Sample(pub(super) Vec<f64>);

impl Sample {
    /// A value that no seed changes.
    pub(super) fn exactly(value: f64) -> Self {
        Self(vec![value])
    }

    /// Mean over the seeds; not a number without any.
    pub(super) fn mean(&self) -> f64 {
        Estimate::of(&self.0).mean.unwrap_or(f64::NAN)
    }

    /// Half the 95 % confidence interval of the mean.
    pub(super) fn ci95(&self) -> Option<f64> {
        Estimate::of(&self.0).ci95.filter(|half| half.is_finite())
    }

    /// What `of` makes of the values of several samples with the same seed.
    pub(super) fn combine(samples: &[Self], of: impl Fn(&[f64]) -> f64) -> Self {
        let seeds = samples
            .iter()
            .map(|sample| sample.0.len())
            .min()
            .unwrap_or(0);
        let at = |seed: usize| {
            samples
                .iter()
                .map(|sample| sample.0[seed])
                .collect::<Vec<_>>()
        };
        Self((0..seeds).map(|seed| of(&at(seed))).collect())
    }

    /// Geometric mean of several samples, seed by seed: the mean of ratios.
    pub(super) fn geometric_mean(samples: &[Self]) -> Self {
        Self::combine(samples, |values| {
            (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
        })
    }

    /// The least of several samples, seed by seed.
    pub(super) fn least(samples: &[Self]) -> Self {
        Self::combine(samples, |values| {
            values.iter().copied().fold(f64::INFINITY, f64::min)
        })
    }

    /// The greatest of several samples, seed by seed.
    pub(super) fn greatest(samples: &[Self]) -> Self {
        Self::combine(samples, |values| {
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
        })
    }

    fn with(&self, other: &Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(&a, &b)| of(a, b))
                .collect(),
        )
    }
}

impl Div for &Sample {
    type Output = Sample;
    fn div(self, other: Self) -> Sample {
        self.with(other, |a, b| a / b)
    }
}

impl Mul<f64> for &Sample {
    type Output = Sample;
    fn mul(self, factor: f64) -> Sample {
        Sample(self.0.iter().map(|a| a * factor).collect())
    }
}

impl Add for &Sample {
    type Output = Sample;
    fn add(self, other: Self) -> Sample {
        self.with(other, |a, b| a + b)
    }
}

impl Sub for &Sample {
    type Output = Sample;
    fn sub(self, other: Self) -> Sample {
        self.with(other, |a, b| a - b)
    }
}
