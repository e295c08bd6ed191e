//! Least squares of the logarithms of the time of a turn and of the airtimes of a bit.

/// Standard deviations of the time of a turn and of the payload that arrives in a slot, as parts of the mean and of what
/// is sent (emulated access point). A queue that grows or shrinks makes the latter; the less payload leaves for turns,
/// the more it changes their number.
const TURN_ERROR: f64 = 0.1;
const PAYLOAD_ERROR: f64 = 0.06;
/// Variance of a count of answers as a part of it, where no other network sends and where others do.
const COUNT_VARIANCE: f64 = 0.3;
const COUNT_VARIANCE_AMONG_OTHERS: f64 = 0.8;
/// Deviations count linearly from so many standard deviations on: queues that fill or drain.
const LINEAR_FROM: f64 = 2.0;
/// Least part of the slot that payload leaves. Below, the logarithm goes on as a straight line.
const LEFT_LEAST: f64 = 0.1;
/// Steps per slot: the last slot's result is near.
const STEPS: usize = 3;
/// Largest change of a logarithm in a step, and how often a step is halved that does not help.
const STEP_MOST: f64 = 0.7;
const HALVINGS: usize = 4;

/// What is known of a logarithm besides the slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub(super) ln: f64,
    /// Standard deviation.
    pub(super) spread: f64,
}

/// A logarithm by the slots, and its standard deviation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) ln: f64,
    pub(super) spread: f64,
}

/// What the slots tell.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    pub(super) found: Vec<Found>,
    /// How unlikely the slots are by what was expected: the negative logarithm of their probability, but for a constant
    /// (Laplace's approximation).
    pub(super) unlikely: f64,
}

/// A slot.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Number of turns, and the logarithm of the part of the slot that they would take if each took a second.
    turns: f64,
    turns_ln: f64,
    /// Bits to each station for each second of the slot.
    bits: Vec<f64>,
    weight: f64,
    /// Variance of the count as a part of it.
    count_variance: f64,
}

/// Logarithms, of a turn first, and the airtimes of a bit themselves, seconds.
struct Point {
    ln: Vec<f64>,
    bit_s: Vec<f64>,
}

impl Point {
    fn of(ln: Vec<f64>) -> Self {
        let bit_s = ln[1..].iter().map(|ln_s| ln_s.exp()).collect();
        Self { ln, bit_s }
    }
}

impl Row {
    /// A slot of so many `turns` and `seconds`, in which `bits` were sent to each station per second.
    pub(super) fn new(turns: f64, seconds: f64, weight: f64, bits: Vec<f64>) -> Self {
        Self {
            turns,
            turns_ln: (turns / seconds).ln(),
            bits,
            weight,
            count_variance: COUNT_VARIANCE,
        }
    }

    /// The same slot, if other networks send.
    pub(super) fn among_others(mut self) -> Self {
        self.count_variance = COUNT_VARIANCE_AMONG_OTHERS;
        self
    }

    /// The same slot, if others take a share of the time, like a station that is sent one bit in a second: its airtime is that share.
    pub(super) fn with_share(mut self) -> Self {
        self.bits.push(1.0);
        self
    }

    pub(super) fn turns_per_s(&self) -> f64 {
        self.turns_ln.exp()
    }

    pub(super) const fn weight(&self) -> f64 {
        self.weight
    }

    /// The deviation of the slot, and the part of it that payload leaves.
    fn deviation(&self, at: &Point) -> (f64, f64) {
        let taken = self.bits.iter().zip(&at.bit_s);
        let left = 1.0 - taken.map(|(bits, bit_s)| bits * bit_s).sum::<f64>();
        let left_ln = if left > LEFT_LEAST {
            left.ln()
        } else {
            LEFT_LEAST.ln() + (left - LEFT_LEAST) / LEFT_LEAST
        };
        (left_ln - at.ln[0] - self.turns_ln, left.max(LEFT_LEAST))
    }

    /// Variance of the deviation where payload leaves the part `left` of the slot.
    fn variance(&self, left: f64) -> f64 {
        let payload = PAYLOAD_ERROR * (1.0 - left) / left;
        TURN_ERROR * TURN_ERROR + payload * payload + self.count_variance / self.turns
    }

    /// What a deviation costs, half of its square unless it is large, and its weight in the sum of squares.
    fn cost(&self, deviation: f64, variance: f64) -> (f64, f64) {
        let units = deviation.abs() / variance.sqrt();
        let (cost, robust) = if units > LINEAR_FROM {
            (
                LINEAR_FROM * (units - 0.5 * LINEAR_FROM),
                LINEAR_FROM / units,
            )
        } else {
            (0.5 * units * units, 1.0)
        };
        (self.weight * cost, self.weight * robust / variance)
    }
}

/// The logarithms for which the deviations of the slots and those from what is expected have the least sum of costs, in
/// steps from `at` on; `None` if they cannot be told.
pub(super) fn fit(rows: &[Row], expected: &[Expected], at: Vec<f64>) -> Option<Fit> {
    let mut at = Point::of(at);
    let mut factor = None;
    for _ in 0..STEPS {
        let (mut matrix, mut change) = normal_equations(rows, expected, &at);
        if !decompose(&mut matrix, change.len()) {
            break;
        }
        solve(&matrix, &mut change);
        at = step(rows, expected, at, &change);
        factor = Some(matrix);
    }
    let factor = factor?;
    let found = at.ln.iter().enumerate().map(|(idx, &ln)| {
        let mut column = vec![0.0; at.ln.len()];
        column[idx] = 1.0;
        solve(&factor, &mut column);
        Found {
            ln,
            spread: column[idx].sqrt(),
        }
    });
    let found = found.collect();
    let variances: Vec<f64> = variances(rows, &at);
    let slots = rows.iter().zip(&variances);
    let slots: f64 = slots
        .map(|(row, variance)| 0.5 * row.weight * variance.ln())
        .sum();
    let others: f64 = expected.iter().map(|of| of.spread.ln()).sum();
    let size = at.ln.len();
    let volume: f64 = (0..size).map(|idx| factor[idx * size + idx].ln()).sum();
    Some(Fit {
        found,
        unlikely: cost(rows, &variances, expected, &at) + slots + others + volume,
    })
}

/// The variances of the deviations of the slots.
fn variances(rows: &[Row], at: &Point) -> Vec<f64> {
    let variances = rows.iter().map(|row| row.variance(row.deviation(at).1));
    variances.collect()
}

/// What all deviations cost.
fn cost(rows: &[Row], variances: &[f64], expected: &[Expected], at: &Point) -> f64 {
    let slots = rows.iter().zip(variances);
    let slots = slots.map(|(row, &variance)| row.cost(row.deviation(at).0, variance).0);
    let others = expected.iter().zip(&at.ln).map(|(of, ln)| {
        let units = (ln - of.ln) / of.spread;
        0.5 * units * units
    });
    slots.sum::<f64>() + others.sum::<f64>()
}

/// The lower half of the matrix JᵀWJ, row by row, and the vector JᵀWr.
fn normal_equations(rows: &[Row], expected: &[Expected], at: &Point) -> (Vec<f64>, Vec<f64>) {
    let size = expected.len();
    let (mut matrix, mut slope) = (vec![0.0; size * size], vec![0.0; size]);
    for (idx, (of, ln)) in expected.iter().zip(&at.ln).enumerate() {
        let weight = 1.0 / (of.spread * of.spread);
        matrix[idx * size + idx] = weight;
        slope[idx] = weight * (ln - of.ln);
    }
    let mut gradient = vec![-1.0; size];
    for row in rows {
        let (deviation, left) = row.deviation(at);
        let (_, weight) = row.cost(deviation, row.variance(left));
        for (own, (bits, bit_s)) in gradient[1..].iter_mut().zip(row.bits.iter().zip(&at.bit_s)) {
            *own = -bits * bit_s / left;
        }
        for i in 0..size {
            slope[i] += weight * gradient[i] * deviation;
            for j in 0..=i {
                matrix[i * size + j] += weight * gradient[i] * gradient[j];
            }
        }
    }
    (matrix, slope)
}

/// Takes the step, halved until the cost does not rise.
fn step(rows: &[Row], expected: &[Expected], at: Point, change: &[f64]) -> Point {
    // Variances that moved with the airtimes would draw them to where they are large.
    let variances = variances(rows, &at);
    let cost = |at: &Point| cost(rows, &variances, expected, at);
    let before = cost(&at);
    let mut part = 1.0;
    for _ in 0..HALVINGS {
        let moved = at.ln.iter().zip(change);
        let moved = moved.map(|(ln, change)| ln - part * change.clamp(-STEP_MOST, STEP_MOST));
        let moved = Point::of(moved.collect());
        if cost(&moved) <= before {
            return moved;
        }
        part *= 0.5;
    }
    at
}

/// Replaces the lower half of a symmetric matrix by its Cholesky factor; `false` if it has none.
fn decompose(matrix: &mut [f64], size: usize) -> bool {
    for i in 0..size {
        for j in 0..=i {
            let below = (0..j).map(|k| matrix[i * size + k] * matrix[j * size + k]);
            let rest = matrix[i * size + j] - below.sum::<f64>();
            if i == j && (rest.is_nan() || rest <= 0.0) {
                return false;
            }
            matrix[i * size + j] = if i == j {
                rest.sqrt()
            } else {
                rest / matrix[j * size + j]
            };
        }
    }
    true
}

/// Solves L Lᵀ x = b in place, where `factor` is L.
fn solve(factor: &[f64], values: &mut [f64]) {
    let size = values.len();
    for i in 0..size {
        let below: f64 = (0..i).map(|k| factor[i * size + k] * values[k]).sum();
        values[i] = (values[i] - below) / factor[i * size + i];
    }
    for i in (0..size).rev() {
        let above = (i + 1..size).map(|k| factor[k * size + i] * values[k]);
        values[i] = (values[i] - above.sum::<f64>()) / factor[i * size + i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symmetric_matrix_is_decomposed_and_solved() {
        // [4 2 0; 2 5 3; 0 3 6]
        let mut matrix = vec![4.0, 0.0, 0.0, 2.0, 5.0, 0.0, 0.0, 3.0, 6.0];
        assert!(decompose(&mut matrix, 3));
        let mut values = vec![8.0, 21.0, 24.0];
        solve(&matrix, &mut values);
        for (found, expected) in values.iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - expected).abs() < 1e-12, "{values:?}");
        }
        assert!(!decompose(&mut [1.0, 0.0, 2.0, 1.0], 2));
        assert!(!decompose(&mut [f64::NAN], 1));
    }

    #[test]
    fn without_slots_what_is_expected_remains() {
        let expected = [1.0, -2.0].map(|ln| Expected { ln, spread: 0.3 });
        let Fit { found, .. } = fit(&[], &expected, vec![0.0, 0.0]).unwrap();
        for (found, expected) in found.iter().zip(expected) {
            assert!((found.ln - expected.ln).abs() < 1e-9);
            assert!((found.spread - 0.3).abs() < 1e-9);
        }
    }
}
