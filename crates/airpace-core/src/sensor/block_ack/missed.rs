//! How many block acks were missed.
//!
//! Where the beginning of exchanges is heard too (RTS and CTS, or data headers), it is the share of
//! them whose answer was not heard. Otherwise it follows from the distribution of advances: with k
//! frames between two block acks that were heard, the advance is the sum of k frames' sizes, and k is
//! geometric. The sizes are taken to be gamma-distributed, with a shape for each station, and the
//! probability is that of greatest likelihood over all stations.

use super::Unusable;

/// Confidence where the probability had to be fitted to the advances.
const FITTED: f64 = 0.6;
/// A fit is usable if its relative uncertainty is at most this.
const TOLERATED_DEVIATION: f64 = 0.08;
/// Frames' sizes are not gamma-distributed and depend on each other, so likelihoods are taken to this
/// power.
const TEMPER: f64 = 0.3;
/// Confidence where exchanges were witnessed.
pub(super) const WITNESSED: f64 = 0.95;
/// Exchanges whose beginning was heard that are enough for an estimate.
const ENOUGH_WITNESSED: f64 = 20.0;
/// The cell's probability counts for as much as this many exchanges of a station's own.
const CELL_WEIGHT: f64 = 60.0;
/// With more missed, the radio is not usable.
const MOST_MISSED: f64 = 0.6;
/// Advances of a station that are remembered, the fewest that count, and the fewest of all stations
/// for an estimate.
const REMEMBERED: usize = 512;
const ENOUGH_ADVANCES: usize = 48;
const ENOUGH_IN_ALL: usize = 300;
/// Advances are counted in bins of this part of their mean, up to the last bin.
const BINS_PER_MEAN: f64 = 16.0;
const BINS: usize = 96;
/// Most frames between two block acks that are considered.
const MOST_FRAMES: u32 = 5;
/// Probabilities of missing one that are tried, in steps.
const STEP: f64 = 0.04;
const STEPS: usize = 14;
/// Shapes of the distribution of a frame's size that are tried: coefficients of variation from 1 to
/// 0.06.
const SHAPES: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// The probability that a block ack is not heard.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Miss {
    pub(super) probability: f64,
    /// 0 to 1; 0 if the probability is not known.
    pub(super) confidence: f64,
}

impl Miss {
    pub(super) const UNKNOWN: Self = Self {
        probability: 0.0,
        confidence: 0.0,
    };

    /// Why it cannot be used; `None` if it can.
    pub(super) fn unusable(self) -> Option<Unusable> {
        if self.confidence > 0.0 {
            None
        } else if self.probability >= MOST_MISSED {
            Some(Unusable::MostMissed)
        } else {
            Some(Unusable::MissedUnknown)
        }
    }
}

/// What one station's exchanges say about how many block acks were missed.
#[derive(Clone, Debug, Default)]
pub(super) struct Missed {
    witnessed: Witnessed,
    advances: Vec<u16>,
    next: usize,
}

/// Exchanges whose beginning was heard, by whether their answers were heard too.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Witnessed {
    answered: f64,
    unanswered: f64,
}

impl Witnessed {
    fn all(self) -> f64 {
        self.answered + self.unanswered
    }

    pub(super) fn add(&mut self, other: Self) {
        self.answered += other.answered;
        self.unanswered += other.unanswered;
    }
}

/// The logarithm of the likelihood of each probability.
pub(super) type Likelihoods = [f64; STEPS];

impl Missed {
    pub(super) fn on_answered(&mut self) {
        self.witnessed.answered += 1.0;
    }

    pub(super) fn on_unanswered(&mut self) {
        self.witnessed.unanswered += 1.0;
    }

    pub(super) fn on_advance(&mut self, advance: u16) {
        if self.advances.len() < REMEMBERED {
            self.advances.push(advance);
        } else {
            self.advances[self.next] = advance;
        }
        self.next = (self.next + 1) % REMEMBERED;
    }

    pub(super) const fn witnessed(&self) -> Witnessed {
        self.witnessed
    }

    /// Lets older observations fade by the factor `keep`.
    pub(super) fn fade(&mut self, keep: f64) {
        self.witnessed.answered *= keep;
        self.witnessed.unanswered *= keep;
    }

    /// This station's probability, given that of the cell. The radio hears stations differently
    /// well, so a station's own exchanges count the more, the more there are.
    pub(super) fn estimate(&self, cell: Miss) -> Miss {
        let own = self.witnessed;
        let probability =
            (own.unanswered + CELL_WEIGHT * cell.probability) / (own.all() + CELL_WEIGHT);
        Miss {
            probability,
            // So much more than half missed is a radio in the wrong place.
            confidence: if probability < MOST_MISSED {
                cell.confidence
            } else {
                0.0
            },
        }
    }

    /// Adds the likelihoods of this station's advances, at the most likely shape of each. Returns
    /// how many advances there were.
    pub(super) fn add_likelihoods(&self, sum: &mut Likelihoods) -> usize {
        if self.advances.len() < ENOUGH_ADVANCES {
            return 0;
        }
        let total: f64 = self
            .advances
            .iter()
            .map(|&advance| f64::from(advance))
            .sum();
        let mean = total / self.advances.len() as f64;
        let mut bins = [0.0; BINS];
        for &advance in &self.advances {
            let bin = (f64::from(advance) / mean * BINS_PER_MEAN) as usize;
            bins[bin.min(BINS - 1)] += 1.0;
        }
        for (step, likelihood) in sum.iter_mut().enumerate() {
            let probability = step as f64 * STEP;
            *likelihood += SHAPES
                .iter()
                .map(|&shape| log_likelihood(&bins, probability, shape))
                .fold(f64::NEG_INFINITY, f64::max);
        }
        self.advances.len()
    }
}

/// Whether this many advances are enough for their likelihoods to be used.
pub(super) const fn is_enough(advances: usize) -> bool {
    advances >= ENOUGH_IN_ALL
}

/// The probability for a cell, from all stations' exchanges, or else from the likelihoods of their
/// advances.
pub(super) fn of_cell(witnessed: Witnessed, likelihoods: Option<&Likelihoods>) -> Miss {
    if witnessed.all() >= ENOUGH_WITNESSED {
        return Miss {
            probability: witnessed.unanswered / witnessed.all(),
            confidence: WITNESSED,
        };
    }
    let Some(likelihoods) = likelihoods else {
        return Miss::UNKNOWN;
    };
    let most = likelihoods
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    let (mut weights, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for (step, likelihood) in likelihoods.iter().enumerate() {
        let probability = step as f64 * STEP;
        let weight = ((likelihood - most) * TEMPER).exp();
        weights += weight;
        sum += weight * probability;
        squares += weight * probability * probability;
    }
    let mean = sum / weights;
    let deviation = (squares / weights - mean * mean).max(0.0).sqrt();
    Miss {
        probability: mean,
        // The level errs by the relative error of 1 − p.
        confidence: if deviation <= TOLERATED_DEVIATION * (1.0 - mean) {
            FITTED
        } else {
            0.0
        },
    }
}

/// Logarithm of the likelihood of the advances, whose mean is 1.
fn log_likelihood(bins: &[f64; BINS], probability: f64, shape: f64) -> f64 {
    // The mean of a heard advance is that of a frame, over the probability that one is heard.
    let scale = (1.0 - probability) / shape;
    let mut sum = 0.0;
    for (i, &count) in bins.iter().enumerate() {
        if count == 0.0 {
            continue;
        }
        let x = (i as f64 + 0.5) / BINS_PER_MEAN;
        let mut density = 0.0;
        let mut weight = 1.0 - probability;
        for frames in 1..=MOST_FRAMES {
            density += weight * gamma_density(x, shape * f64::from(frames), scale);
            weight *= probability;
        }
        sum += count * density.max(1e-12).ln();
    }
    sum
}

fn gamma_density(x: f64, shape: f64, scale: f64) -> f64 {
    let log = (shape - 1.0) * x.ln() - x / scale - shape * scale.ln() - ln_gamma(shape);
    log.exp()
}

/// Stirling's series, to 10⁻⁴ for arguments of at least 1.
fn ln_gamma(x: f64) -> f64 {
    let half_ln_two_pi = 0.918_938_533_204_672_7;
    (x - 0.5) * x.ln() - x + half_ln_two_pi + 1.0 / (12.0 * x) - 1.0 / (360.0 * x * x * x)
}
