//! Error events of the standard's convolutional code: constraint length 7, generators 133 and 171
//! octal, punctured as in 17.3.5.6 and 19.3.11.6.

use super::erfc;

/// Paths that leave the all-zero path within one puncturing period and return, by their weight,
/// from the free distance on. A test enumerates them; they are those of Haccoun and Bégin,
/// "High-Rate Punctured Convolutional Codes for Viterbi and Sequential Decoding", IEEE Trans.
/// Commun. 37, 1989.
struct Spectrum {
    /// Data bits per puncturing period.
    period: f64,
    /// The free distance.
    distance: u32,
    /// Step from one weight to the next.
    step: u32,
    /// Number of paths of each weight.
    paths: [f64; 8],
}

const HALF: Spectrum = Spectrum {
    period: 1.0,
    distance: 10,
    step: 2,
    paths: [
        11.0,
        38.0,
        193.0,
        1_331.0,
        7_275.0,
        40_406.0,
        234_969.0,
        1_337_714.0,
    ],
};
const TWO_THIRDS: Spectrum = Spectrum {
    period: 2.0,
    distance: 6,
    step: 1,
    paths: [1.0, 16.0, 48.0, 158.0, 642.0, 2_435.0, 9_174.0, 34_701.0],
};
const THREE_QUARTERS: Spectrum = Spectrum {
    period: 3.0,
    distance: 5,
    step: 1,
    paths: [
        8.0, 31.0, 160.0, 892.0, 4_512.0, 23_297.0, 120_976.0, 624_304.0,
    ],
};
const FIVE_SIXTHS: Spectrum = Spectrum {
    period: 5.0,
    distance: 4,
    step: 1,
    paths: [
        14.0,
        69.0,
        654.0,
        4_996.0,
        39_677.0,
        314_973.0,
        2_503_576.0,
        19_875_546.0,
    ],
};

impl Spectrum {
    fn of(denominator: u32) -> &'static Self {
        match denominator {
            2 => &HALF,
            3 => &TWO_THIRDS,
            4 => &THREE_QUARTERS,
            _ => &FIVE_SIXTHS,
        }
    }

    /// Error events that start per data bit if a path of weight d beats the true one with
    /// probability `pairwise(d)`.
    fn events(&self, pairwise: impl Fn(u32) -> f64) -> f64 {
        let weights = (self.distance..).step_by(self.step as usize);
        self.paths
            .iter()
            .zip(weights)
            .map(|(paths, weight)| paths * pairwise(weight))
            .sum::<f64>()
            / self.period
    }
}

/// With soft decisions: Q(√(2 d λ)), λ being the exponent of one coded bit.
pub(super) fn soft_decision_events(exponent: f64, denominator: u32) -> f64 {
    Spectrum::of(denominator).events(|weight| 0.5 * erfc((f64::from(weight) * exponent).sqrt()))
}

/// With hard decisions: most of the d bits in which the paths differ are wrong, half of the ties
/// are lost (Pursley and Taipale, IEEE Trans. Commun. 35, 1987).
pub(super) fn hard_decision_events(bit_error: f64, denominator: u32) -> f64 {
    Spectrum::of(denominator).events(|weight| {
        let right = 1.0 - bit_error;
        let wrong = |k: u32| {
            binomial(weight, k) * bit_error.powi(k as i32) * right.powi((weight - k) as i32)
        };
        let most: f64 = (weight / 2 + 1..=weight).map(wrong).sum();
        most + if weight.is_multiple_of(2) {
            wrong(weight / 2) / 2.0
        } else {
            0.0
        }
    })
}

fn binomial(n: u32, k: u32) -> f64 {
    (0..k).fold(1.0, |product, i| {
        product * f64::from(n - i) / f64::from(i + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of the two coded bits of each data bit of a period are sent.
    fn punctured(denominator: u32) -> &'static [(bool, bool)] {
        match denominator {
            2 => &[(true, true)],
            3 => &[(true, true), (true, false)],
            4 => &[(true, true), (true, false), (false, true)],
            _ => &[
                (true, true),
                (true, false),
                (false, true),
                (true, false),
                (false, true),
            ],
        }
    }

    /// Counts paths by weight up to `most` over the trellis of 64 states.
    fn counted(denominator: u32, most: usize) -> Vec<f64> {
        let sent = punctured(denominator);
        let mut totals = vec![0.0; most + 1];
        for start in 0..sent.len() {
            let mut states = vec![vec![0.0; most + 1]; 64];
            states[0][0] = 1.0;
            for time in 0..200 {
                let mut next = vec![vec![0.0; most + 1]; 64];
                for (state, paths) in states.iter().enumerate() {
                    for bit in if time == 0 { 1..2 } else { 0..2_usize } {
                        let register = bit << 6 | state;
                        let coded =
                            |generator: usize| (register & generator).count_ones() as usize % 2;
                        let (a, b) = sent[(start + time) % sent.len()];
                        let weight = usize::from(a) * coded(0o133) + usize::from(b) * coded(0o171);
                        for (d, count) in paths
                            .iter()
                            .enumerate()
                            .take((most + 1).saturating_sub(weight))
                        {
                            next[register >> 1][d + weight] += count;
                        }
                    }
                }
                for (total, count) in totals.iter_mut().zip(&next[0]) {
                    *total += count;
                }
                next[0].fill(0.0);
                states = next;
            }
        }
        totals
    }

    #[test]
    fn the_spectra_are_those_of_the_trellis() {
        for denominator in [2, 3, 4, 6] {
            let spectrum = Spectrum::of(denominator);
            let last = spectrum.distance + 7 * spectrum.step;
            let counted = counted(denominator, last as usize);
            let expected = (spectrum.distance..=last)
                .step_by(spectrum.step as usize)
                .zip(spectrum.paths);
            let mut sum = 0.0;
            for (weight, paths) in expected {
                assert_eq!(
                    counted[weight as usize],
                    paths,
                    "rate {}/{denominator}, weight {weight}",
                    denominator - 1
                );
                sum += paths;
            }
            assert_eq!(counted.iter().sum::<f64>(), sum, "no other weights");
        }
    }
}
