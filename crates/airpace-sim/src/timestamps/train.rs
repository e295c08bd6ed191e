//! Logistic regression by Newton's method.

/// Strength of the preference for small weights (L2), per weight but the first: features that always
/// come together would have arbitrary weights without it.
const RIDGE: f64 = 1e-3;
/// Steps; it converges within ten.
const STEPS: usize = 25;

/// Examples with `N` features, the first of which is the constant 1.
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

impl<const N: usize> Examples<N> {
    pub(super) fn add(&mut self, features: [f64; N], outcome: bool, weight: f64) {
        self.features.push(features);
        self.outcomes.push((outcome, weight));
    }

    pub(super) fn len(&self) -> usize {
        self.features.len()
    }

    /// The weights that make the outcomes most likely.
    pub(super) fn fit(&self) -> [f64; N] {
        let (mean, scale) = self.moments();
        // Centred features of unit variance, so that the ridge treats them alike.
        let mut weights = [0.0; N];
        for _ in 0..STEPS {
            let step = self.newton_step(&weights, &mean, &scale);
            for (weight, step) in weights.iter_mut().zip(step) {
                *weight += step;
            }
            if step.iter().all(|step| step.abs() < 1e-6) {
                break;
            }
        }
        for i in 1..N {
            weights[i] /= scale[i];
            weights[0] -= weights[i] * mean[i];
        }
        weights
    }

    fn moments(&self) -> ([f64; N], [f64; N]) {
        let n = self.len().max(1) as f64;
        let (mut mean, mut scale) = ([0.0; N], [1.0; N]);
        for i in 1..N {
            mean[i] = self.features.iter().map(|f| f[i]).sum::<f64>() / n;
            let square: f64 = self.features.iter().map(|f| (f[i] - mean[i]).powi(2)).sum();
            scale[i] = (square / n).sqrt().max(1e-9);
        }
        (mean, scale)
    }

    fn newton_step(&self, weights: &[f64; N], mean: &[f64; N], scale: &[f64; N]) -> [f64; N] {
        let (mut gradient, mut hessian) = ([0.0; N], [[0.0; N]; N]);
        let total: f64 = self.outcomes.iter().map(|&(_, weight)| weight).sum();
        for (features, &(outcome, weight)) in self.features.iter().zip(&self.outcomes) {
            let mut x = [1.0; N];
            for i in 1..N {
                x[i] = (features[i] - mean[i]) / scale[i];
            }
            let log_odds: f64 = weights.iter().zip(&x).map(|(w, x)| w * x).sum();
            let p = 1.0 / (1.0 + (-log_odds).exp());
            let (error, curvature) = (f64::from(outcome) - p, p * (1.0 - p));
            for i in 0..N {
                gradient[i] += weight * error * x[i];
                for j in 0..=i {
                    hessian[i][j] += weight * curvature * x[i] * x[j];
                }
            }
        }
        for i in 0..N {
            let ridge = if i == 0 { 1e-9 } else { RIDGE * total };
            gradient[i] -= if i == 0 { 0.0 } else { ridge * weights[i] };
            hessian[i][i] += ridge;
        }
        solve(&mut hessian, &gradient)
    }
}

/// Solves A x = b for a symmetric positive definite A, of which the lower triangle is given, by
/// Cholesky's decomposition in place.
fn solve<const N: usize>(a: &mut [[f64; N]; N], b: &[f64; N]) -> [f64; N] {
    let mut x = *b;
    for i in 0..N {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| a[i][k] * a[j][k]).sum();
            a[i][j] = if i == j {
                (a[i][i] - sum).max(1e-12).sqrt()
            } else {
                (a[i][j] - sum) / a[j][j]
            };
        }
        let sum: f64 = (0..i).map(|k| a[i][k] * x[k]).sum();
        x[i] = (x[i] - sum) / a[i][i];
    }
    for i in (0..N).rev() {
        let sum: f64 = (i + 1..N).map(|k| a[k][i] * x[k]).sum();
        x[i] = (x[i] - sum) / a[i][i];
    }
    x
}
