use airpace_scenario::sweep::Estimate;
use std::ops::{Div, Mul, Sub};

/// One value per seed. Operations combine the values of the same seed, so that runs with the same
/// seed are compared with each other. A value that was not measured is NaN, and so is whatever is
/// computed from it.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Sample {
    pub(super) values: Vec<f64>,
    /// Whether chance has no part in it, so that a single value is certain.
    pub(super) exact: bool,
}

impl Sample {
    /// Values of several seeds.
    pub(crate) const fn of(values: Vec<f64>) -> Self {
        Self {
            values,
            exact: false,
        }
    }

    /// A value that does not depend on the seed.
    pub(crate) fn exactly(value: f64) -> Self {
        Self {
            values: vec![value],
            exact: true,
        }
    }

    /// The value for the seed at `index`. An exact value is the same for every seed.
    fn at(&self, index: usize) -> f64 {
        self.values[if self.exact { 0 } else { index }]
    }

    /// Mean over the seeds; NaN without any.
    pub(crate) fn mean(&self) -> f64 {
        Estimate::of(&self.values).mean.unwrap_or(f64::NAN)
    }

    /// Half the 95 % confidence interval of the mean.
    pub(crate) fn ci95(&self) -> Option<f64> {
        Estimate::of(&self.values)
            .ci95
            .filter(|half| half.is_finite())
    }

    /// Half the 95 % confidence interval of the mean over `runs` others that spread as these do; 0
    /// without a spread.
    pub(crate) fn ci95_of_others(&self, runs: u32) -> f64 {
        let half = Estimate::ci95_of_others(&self.values, runs);
        half.filter(|half| half.is_finite()).unwrap_or(0.0)
    }

    /// Applies `function` to the values that the samples have for the same seed.
    pub(crate) fn combine(samples: &[Self], function: impl Fn(&[f64]) -> f64) -> Self {
        let random = samples.iter().filter(|sample| !sample.exact);
        let seeds = random.map(|sample| sample.values.len()).min();
        let mut values = Vec::new();
        for seed in 0..seeds.unwrap_or(usize::from(!samples.is_empty())) {
            let of_seed: Vec<f64> = samples.iter().map(|sample| sample.at(seed)).collect();
            values.push(function(&of_seed));
        }
        Self {
            values,
            exact: seeds.is_none() && !samples.is_empty(),
        }
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

    /// The arithmetic mean of several samples, seed by seed.
    pub(crate) fn average(samples: &[Self]) -> Self {
        Self::combine(samples, |values| {
            values.iter().sum::<f64>() / values.len() as f64
        })
    }

    /// Applies `function` to every value.
    pub(crate) fn map(&self, function: impl Fn(f64) -> f64) -> Self {
        Self {
            values: self.values.iter().map(|&value| function(value)).collect(),
            exact: self.exact,
        }
    }

    fn pairwise(&self, other: &Self, function: impl Fn(f64, f64) -> f64) -> Self {
        Self::combine(&[self.clone(), other.clone()], |pair| {
            function(pair[0], pair[1])
        })
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
        self.map(|a| a * factor)
    }
}

impl Sub for &Sample {
    type Output = Sample;
    fn sub(self, other: Self) -> Sample {
        self.pairwise(other, |a, b| a - b)
    }
}
