//! Errors of the coded bits of a Gray-labelled constellation in noise.

use super::erfc;

/// The exponent λ of one coded bit at E_s/N₀ = `snr`: e^−λ is the mean, over the bits of a symbol
/// and its levels in one dimension, of the Chernoff factors e^(−δ²/4N₀) of the nearest levels on
/// either side in which the bit has its other value, δ away.
pub(super) fn exponent(bits: u32, snr: f64) -> f64 {
    if bits == 1 {
        // Antipodal: δ² = 4 E_s.
        return snr;
    }
    let per_dimension = bits / 2;
    let levels = f64::from(1_u32 << per_dimension);
    // Two dimensions of `levels` with unit energy: δ² = 6 / (levels² − 1).
    let quarter = snr * 1.5 / (levels * levels - 1.0);
    let factors: f64 = (1..=1_u32 << (per_dimension - 1))
        .map(|distance| {
            share(per_dimension, distance) * (-quarter * f64::from(distance * distance)).exp()
        })
        .sum();
    // Above 1 the bound is void.
    (-factors.ln()).max(0.0)
}

/// Mean number of neighbours at `distance` in which a bit has its other value, over the bits and
/// levels of one dimension.
fn share(per_dimension: u32, distance: u32) -> f64 {
    let count: u32 = (0..per_dimension)
        .map(|order| neighbours(per_dimension, order, distance))
        .sum();
    f64::from(count) / f64::from(per_dimension << per_dimension)
}

/// Pairs (level, side) whose nearest other value of the bit of this order is at `distance`.
///
/// In a reflected Gray code the bit of order `b` keeps its value over runs of 2^(b+1) levels, the
/// first and the last of half that length; the highest has two runs of half. Each of the boundaries
/// between runs is seen from both sides, by every level of the run.
fn neighbours(per_dimension: u32, order: u32, distance: u32) -> u32 {
    let levels = 1_u32 << per_dimension;
    let (half, full) = (1_u32 << order, 2_u32 << order);
    let boundaries = levels / full;
    // Of the runs beside boundaries the first and the last are half as long; a run between two
    // boundaries is seen from each.
    let long = 2 * boundaries - 2;
    u32::from(distance <= half) * 2 + u32::from(distance <= full) * long
}

/// Error rate of hard decisions on the bits of a square constellation, nearest neighbours with Gray
/// labelling: the symbol errors of two independent dimensions, one bit each (Proakis, Digital
/// Communications, 4th edition, eq. 5.2-79).
pub(super) fn bit_error(bits: u32, snr: f64) -> f64 {
    let points = f64::from(1_u32 << bits);
    let dimension = (1.0 - points.sqrt().recip()) * erfc((1.5 * snr / (points - 1.0)).sqrt());
    (1.0 - (1.0 - dimension).powi(2)) / f64::from(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by enumerating every level; its Gray label is n ^ (n >> 1).
    fn counted(per_dimension: u32, distance: u32) -> f64 {
        let levels = 1_i32 << per_dimension;
        let bit = |level: i32, order: u32| (level ^ (level >> 1)) >> order & 1;
        let mut count = 0;
        for order in 0..per_dimension {
            for level in 0..levels {
                for side in [-1, 1] {
                    let mut other = level + side;
                    while (0..levels).contains(&other) && bit(other, order) == bit(level, order) {
                        other += side;
                    }
                    count += i32::from(
                        (0..levels).contains(&other) && (other - level).unsigned_abs() == distance,
                    );
                }
            }
        }
        f64::from(count) / f64::from(per_dimension << per_dimension)
    }

    #[test]
    fn neighbours_are_those_of_the_gray_labels() {
        for per_dimension in 1..=5 {
            for distance in 1..=16 {
                let (formula, counted) = (
                    share(per_dimension, distance),
                    counted(per_dimension, distance),
                );
                assert!(
                    (formula - counted).abs() < 1e-12,
                    "{per_dimension} {distance}: {formula} {counted}"
                );
            }
        }
    }

    #[test]
    fn a_qpsk_bit_has_half_the_energy_of_its_symbol() {
        assert!((exponent(2, 4.0) - 2.0).abs() < 1e-12);
        assert_eq!(exponent(1, 4.0), 4.0);
        assert_eq!(exponent(10, 0.0), 0.0);
    }
}
