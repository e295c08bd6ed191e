//! Bit errors of DSSS and CCK.

use super::erfc;
use core::f64::consts::{PI, SQRT_2};

/// The bandwidth over which `snr` is taken, in MHz (16.3.7.4: the channel's main lobe).
pub(in crate::phy) const BANDWIDTH_MHZ: f64 = 22.0;

/// Errors per data bit, given the number of data bits per symbol: 1, 2 (Barker), 4 or 8 (CCK).
pub(super) fn bit_errors(bits_per_symbol: u32, snr: f64) -> f64 {
    match bits_per_symbol {
        // Non-coherent DBPSK (Proakis, Digital Communications, 4th edition, eq. 5.2-69).
        1 => 0.5 * (-snr * BANDWIDTH_MHZ).exp(),
        2 => dqpsk(snr * BANDWIDTH_MHZ / 2.0),
        // IEEE Std 802.15.2-2003, 5.3.2 gives symbol errors; a symbol of CCK carries 4 or 8 bits.
        4 => symbol_errors(&[(14.0, 8.0), (1.0, 16.0)], snr) / 4.0,
        _ => {
            let terms = [
                (24.0, 4.0),
                (16.0, 6.0),
                (174.0, 8.0),
                (16.0, 10.0),
                (24.0, 12.0),
                (1.0, 16.0),
            ];
            symbol_errors(&terms, snr) / 8.0
        }
    }
}

/// DQPSK with Gray labelling, `ratio` per bit (Ferrari and Corazza, "Tight bounds and accurate
/// approximations for DQPSK transmission bit error rate", Electronics Letters 40, 2004, eq. 11).
/// Where the bound is void, it exceeds 1/2.
fn dqpsk(ratio: f64) -> f64 {
    (SQRT_2 + 1.0) / (8.0 * PI * SQRT_2).sqrt() / ratio.sqrt() * (-(2.0 - SQRT_2) * ratio).exp()
}

/// Σ n Q(√(c · snr)) over the code words at each distance.
fn symbol_errors(terms: &[(f64, f64)], snr: f64) -> f64 {
    terms
        .iter()
        .map(|(words, distance)| words * 0.5 * erfc((distance * snr / 2.0).sqrt()))
        .sum()
}
