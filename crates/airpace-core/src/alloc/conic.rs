use super::problem::{Infeasible, Problem, Solution, Station};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, ExponentialConeT, IPSolver, NonnegativeConeT, PowerConeT,
    SolverStatus, SupportedConeT, ZeroConeT,
};
use thiserror::Error;

/// The utility U of the objective Σ φᵢ U(xᵢ), with xᵢ in packets per second.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Utility {
    /// U(x) = x^(1−α)/(1−α), and log x for α = 1. α = 0 maximises the sum of rates, 1 is
    /// proportional fairness, 2 minimum potential delay, and large α approaches equal rates. From 0
    /// to 8.
    AlphaFair(f64),
    /// A concave, piecewise linear U through these points (packets per second, utility); the first
    /// and the last piece extend beyond them. It can approximate any concave utility.
    PiecewiseLinear(Vec<(f64, f64)>),
}

/// Why [`conic`] returns no solution.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum ConicError {
    /// The delay target is too short.
    #[error(transparent)]
    Infeasible(#[from] Infeasible),
    /// α is out of range.
    #[error("alpha is {0}; it must be from 0 to 8")]
    Alpha(f64),
    /// The points do not form an increasing, concave function.
    #[error(
        "point {0} of the utility is out of order: over at least two points, rates and utilities must rise, and the slope must fall"
    )]
    Points(usize),
    /// The solver stopped before it reached the required accuracy.
    #[error(
        "the conic solver found no solution ({0:?}): the numbers of the problem differ by too many orders of magnitude"
    )]
    Solver(SolverStatus),
}

/// Maximises Σ φ U(x) − κ Φ log D over the rate region by an interior-point method. It serves utilities
/// without a closed form, and as a check of the closed form. It is slower than
/// [`super::waterfill`]: milliseconds for a hundred stations.
///
/// # Errors
/// [`ConicError`].
pub fn conic(problem: &Problem, utility: &Utility) -> Result<Solution, ConicError> {
    problem.check_delay()?;
    utility.check()?;
    let mut scale = Scale::first(problem.stations(), utility);
    let mut best: Option<(f64, Solution)> = None;
    let mut status = SolverStatus::Unsolved;
    for _ in 0..PASSES {
        let model = Model::build(problem, utility, scale);
        let mut solver = model.solver()?;
        solver.solve();
        status = solver.solution.status;
        let found = &solver.solution.x;
        let accepted = matches!(status, SolverStatus::Solved | SolverStatus::AlmostSolved);
        let error = solver
            .info
            .gap_abs
            .max(solver.info.res_primal)
            .max(solver.info.res_dual);
        // A later pass may end with a larger error than an earlier one, so the best is kept.
        if accepted && best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, model.solution(problem, utility, found)));
        }
        if status == SolverStatus::Solved || !found.iter().all(|v| v.is_finite()) {
            break;
        }
        scale = model.scale.around(found);
    }
    best.map(|(_, solution)| solution)
        .ok_or(ConicError::Solver(status))
}

/// Largest number of passes. About one instance in six stalls before it reaches the tolerances;
/// scaled around the point it found, the solver continues. Of 300 random instances, one needed more
/// than six passes.
const PASSES: usize = 8;

impl Utility {
    fn check(&self) -> Result<(), ConicError> {
        match self {
            Self::AlphaFair(alpha) if !(0.0..=8.0).contains(alpha) => {
                Err(ConicError::Alpha(*alpha))
            }
            Self::AlphaFair(_) => Ok(()),
            Self::PiecewiseLinear(points) => check_points(points),
        }
    }

    /// U(x).
    #[must_use]
    pub fn value(&self, rate_pps: f64) -> f64 {
        match self {
            Self::AlphaFair(alpha) if is_log(*alpha) => rate_pps.ln(),
            Self::AlphaFair(alpha) => rate_pps.powf(1.0 - alpha) / (1.0 - alpha),
            Self::PiecewiseLinear(points) => pieces(points)
                .map(|(slope, intercept)| slope * rate_pps + intercept)
                .fold(f64::INFINITY, f64::min),
        }
    }
}

/// For α within 1e-6 of 1 the power cone is degenerate and the utility indistinguishable from the
/// logarithm.
fn is_log(alpha: f64) -> bool {
    (alpha - 1.0).abs() < 1e-6
}

fn check_points(points: &[(f64, f64)]) -> Result<(), ConicError> {
    let finite = |&(x, u): &(f64, f64)| x.is_finite() && u.is_finite() && x >= 0.0;
    if let Some(index) = points.iter().position(|p| !finite(p)) {
        return Err(ConicError::Points(index));
    }
    let rises = |pair: &[(f64, f64)]| pair[1].0 > pair[0].0 && pair[1].1 >= pair[0].1;
    if let Some(index) = points.windows(2).position(|pair| !rises(pair)) {
        return Err(ConicError::Points(index + 1));
    }
    let slopes: Vec<f64> = pieces(points).map(|(slope, _)| slope).collect();
    match slopes.windows(2).position(|pair| pair[1] > pair[0]) {
        Some(index) => Err(ConicError::Points(index + 2)),
        None if slopes.is_empty() => Err(ConicError::Points(points.len())),
        None => Ok(()),
    }
}

/// Slope and intercept of each piece.
fn pieces(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> + '_ {
    points.windows(2).map(|pair| {
        let ((x0, u0), (x1, u1)) = (pair[0], pair[1]);
        let slope = (u1 - u0) / (x1 - x0);
        (slope, u0 - slope * x0)
    })
}

/// The program over q (airtime shares uᵢ = wᵢ xᵢ, each scaled by its gᵢ), d = 1 − wᵀx = c/D and v
/// (utilities): Σ gᵢ qᵢ + d = 1, level limits uᵢ c ≤ wᵢ N̄ᵢ d, delay target d ≥ c/T̄. Linear in x once
/// d is a variable of its own, with 2n + 1 variables and O(n) entries. A price of delay adds one
/// variable, log d, because −log D is log d but for a constant.
struct Model {
    scale: Scale,
    objective: Vec<f64>,
    rows: Rows,
}

/// The units of the variables, chosen so that the variables are of order one.
struct Scale {
    /// Of each station's airtime share (g).
    share: Vec<f64>,
    /// Of the share that overhead takes (h).
    overhead: f64,
}

/// Rows of A z + s = b, s in the product of the cones.
#[derive(Default)]
struct Rows {
    entries: Vec<(usize, usize, f64)>,
    bounds: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Rows {
    /// Adds one row Σ coefficient · variable + s = bound.
    fn push(&mut self, row: &[(usize, f64)], bound: f64) {
        let index = self.bounds.len();
        self.entries
            .extend(row.iter().map(|&(column, value)| (index, column, value)));
        self.bounds.push(bound);
    }
}

impl Model {
    fn build(problem: &Problem, utility: &Utility, scale: Scale) -> Self {
        let stations = problem.stations();
        let mut rows = Rows::default();
        region(problem, &scale, &mut rows);
        let mut objective = match utility {
            Utility::AlphaFair(alpha) => alpha_fair(stations, &scale.share, *alpha, &mut rows),
            Utility::PiecewiseLinear(points) => {
                piecewise(stations, &scale.share, points, &mut rows)
            }
        };
        let price = problem.weighted_price();
        if price > 0.0 {
            // v ≤ log d: (v, 1, d) in the exponential cone.
            let v = objective.costs.len();
            objective.costs.push(-price * objective.unit);
            cone(
                &mut rows,
                ExponentialConeT(),
                [Some(v), None, Some(stations.len())],
            );
        }
        Self {
            scale,
            objective: objective.costs,
            rows,
        }
    }

    fn solver(&self) -> Result<DefaultSolver<f64>, ConicError> {
        let columns = self.objective.len();
        let (mut i, mut j, mut v) = (Vec::new(), Vec::new(), Vec::new());
        for &(row, column, value) in &self.rows.entries {
            i.push(row);
            j.push(column);
            v.push(value);
        }
        let a = CscMatrix::new_from_triplets(self.rows.bounds.len(), columns, i, j, v);
        let p = CscMatrix::zeros((columns, columns));
        DefaultSolver::new(
            &p,
            &self.objective,
            &a,
            &self.rows.bounds,
            &self.rows.cones,
            settings(),
        )
        .map_err(|_| ConicError::Solver(SolverStatus::Unsolved))
    }

    fn solution(&self, problem: &Problem, utility: &Utility, z: &[f64]) -> Solution {
        let stations = problem.stations();
        let round_s = problem.overhead_s() / (self.scale.overhead * z[stations.len()]);
        let rate_pps: Vec<f64> = (stations.iter().zip(&self.scale.share).zip(z))
            .map(|((s, g), q)| (g * q).max(0.0) / s.seconds_per_packet)
            .collect();
        let level = rate_pps.iter().map(|x| x * round_s).collect();
        let utility = stations
            .iter()
            .zip(&rate_pps)
            .map(|(s, &x)| s.weight * utility.value(x))
            .sum();
        Solution {
            level,
            rate_pps,
            round_s,
            utility,
        }
    }
}

/// Tighter than the solver's defaults, whose rates differ from the optimum in the fourth digit.
/// Tests compare with this solution.
fn settings() -> DefaultSettings<f64> {
    DefaultSettings {
        verbose: false,
        tol_gap_abs: 1e-13,
        tol_gap_rel: 1e-13,
        tol_feas: 1e-12,
        tol_ktratio: 1e-10,
        reduced_tol_gap_abs: 1e-9,
        reduced_tol_gap_rel: 1e-9,
        reduced_tol_feas: 1e-9,
        reduced_tol_ktratio: 1e-7,
        ..DefaultSettings::default()
    }
}

impl Scale {
    /// Scales for the airtime shares that would be optimal without limits.
    fn first(stations: &[Station], utility: &Utility) -> Self {
        let share = |s: &Station| match utility {
            Utility::AlphaFair(alpha) if *alpha > 0.0 => {
                (s.weight.ln() / alpha + s.seconds_per_packet.ln() * (alpha - 1.0) / alpha).exp()
            }
            _ => 1.0,
        };
        let total: f64 = stations.iter().map(share).sum();
        Self {
            share: stations.iter().map(|s| share(s) / total).collect(),
            overhead: 1.0,
        }
    }

    /// Scales for the shares found so far; in them the solution is near one in each variable.
    fn around(&self, z: &[f64]) -> Self {
        let floor = |share: f64| share.max(1e-9);
        let share = self
            .share
            .iter()
            .zip(z)
            .map(|(g, q)| floor(g * q))
            .collect();
        Self {
            share,
            overhead: floor(self.overhead * z[self.share.len()]),
        }
    }
}

/// The rate region.
fn region(problem: &Problem, scale: &Scale, rows: &mut Rows) {
    let n = scale.share.len();
    let mut whole: Vec<_> = scale.share.iter().copied().enumerate().collect();
    whole.push((n, scale.overhead));
    rows.push(&whole, 1.0);
    rows.cones.push(ZeroConeT(1));
    for (i, (s, g)) in problem.stations().iter().zip(&scale.share).enumerate() {
        let cap = scale.overhead * s.seconds_per_packet * s.level_limit / problem.overhead_s();
        // Both sides are divided by the larger coefficient.
        let unit = g.max(cap);
        rows.push(&[(i, g / unit), (n, -cap / unit)], 0.0);
    }
    for i in 0..=n {
        rows.push(&[(i, -1.0)], 0.0);
    }
    let mut inequalities = 2 * n + 1;
    if let Some(delay_s) = problem.delay_s() {
        rows.push(
            &[(n, -1.0)],
            -problem.overhead_s() / delay_s / scale.overhead,
        );
        inequalities += 1;
    }
    rows.cones.push(NonnegativeConeT(inequalities));
}

/// A linear objective to be minimised.
struct Objective {
    /// The cost of each variable.
    costs: Vec<f64>,
    /// What one unit of the utility counts in these costs.
    unit: f64,
}

/// The objective of an α-fair utility, and the cones that tie vᵢ (variable n + 1 + i) to qᵢ.
fn alpha_fair(stations: &[Station], scale: &[f64], alpha: f64, rows: &mut Rows) -> Objective {
    let n = stations.len();
    let mut objective = vec![0.0; 2 * n + 1];
    // Σ φ U(g q / w) = Σ φ (g/w)^(1−α) U(q), up to a constant for the logarithm.
    let logs: Vec<f64> = (stations.iter().zip(scale))
        .map(|(s, g)| s.weight.ln() + (1.0 - alpha) * (g / s.seconds_per_packet).ln())
        .collect();
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for (i, log) in logs.iter().enumerate() {
        let coefficient = (log - largest).exp();
        let v = n + 1 + i;
        if alpha == 0.0 {
            objective[i] = -coefficient;
        } else if is_log(alpha) {
            // v ≤ log q: (v, 1, q) in the exponential cone.
            objective[v] = -coefficient;
            cone(rows, ExponentialConeT(), [Some(v), None, Some(i)]);
        } else if alpha < 1.0 {
            // v ≤ q^(1−α).
            objective[v] = -coefficient;
            cone(rows, PowerConeT(1.0 - alpha), [Some(i), None, Some(v)]);
        } else {
            // v ≥ q^(1−α): v^(1/α) q^(1−1/α) ≥ 1.
            objective[v] = coefficient;
            cone(rows, PowerConeT(1.0 / alpha), [Some(v), Some(i), None]);
        }
    }
    if alpha == 0.0 {
        objective.truncate(n + 1);
    }
    // The coefficients leave out the factor 1/(1−α) of the utility.
    let power = if is_log(alpha) {
        1.0
    } else {
        (1.0 - alpha).abs()
    };
    Objective {
        costs: objective,
        unit: power * (-largest).exp(),
    }
}

/// A three-dimensional cone over variables, `None` being the constant 1.
fn cone(rows: &mut Rows, kind: SupportedConeT<f64>, members: [Option<usize>; 3]) {
    for member in members {
        match member {
            Some(variable) => rows.push(&[(variable, -1.0)], 0.0),
            None => rows.push(&[], 1.0),
        }
    }
    rows.cones.push(kind);
}

/// The objective of a piecewise linear utility: vᵢ below every piece.
fn piecewise(
    stations: &[Station],
    scale: &[f64],
    points: &[(f64, f64)],
    rows: &mut Rows,
) -> Objective {
    let n = stations.len();
    let largest = stations.iter().map(|s| s.weight).fold(0.0, f64::max);
    let height = points
        .iter()
        .map(|p| p.1.abs())
        .fold(f64::MIN_POSITIVE, f64::max);
    let mut objective = vec![0.0; 2 * n + 1];
    let mut inequalities = 0;
    for (i, (s, g)) in stations.iter().zip(scale).enumerate() {
        objective[n + 1 + i] = -s.weight / largest;
        for (slope, intercept) in pieces(points) {
            let slope = slope * g / s.seconds_per_packet / height;
            rows.push(&[(n + 1 + i, 1.0), (i, -slope)], intercept / height);
            inequalities += 1;
        }
    }
    rows.cones.push(NonnegativeConeT(inequalities));
    Objective {
        costs: objective,
        unit: 1.0 / (largest * height),
    }
}

#[cfg(test)]
mod tests;
