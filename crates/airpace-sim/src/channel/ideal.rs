//! The rate that a link would use that knew its channel.

use crate::rate::rates_up_to;
use airpace_core::phy::error::ErrorModel;
use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};

/// Errors per data bit at which [`ideal_thresholds`] draws the line: 10⁻⁶, the default of ns-3's IdealWifiManager (`BerThreshold`).
/// MPDUs of 1458 bytes then have 1.2 % errors.
pub const IDEAL_BIT_ERROR: f64 = 1e-6;

/// Each rate of `standard` with exactly this width and guard interval and up to `streams` streams, and the ratio in dB from which on it
/// has at most `bit_error` errors per data bit: the table of [`crate::rate::Ideal`]. The ratio is that of as many streams as the
/// receiver has antennas (`streams`): fewer gain 10 log₁₀(antennas / streams) by the antennas left over, as in ns-3.
///
/// IdealWifiManager takes the same thresholds from ns-3's error model; they differ by at most 0.55 dB (VHT and HE, MCS 0–9).
#[must_use]
pub fn ideal_thresholds(
    shape: (Standard, Width, GuardInterval),
    streams: u8,
    model: &ErrorModel,
    bit_error: f64,
) -> Vec<(f64, TxRate)> {
    let (standard, width, gi) = shape;
    let rates = rates_up_to(standard, width, streams, gi);
    let fits = |rate: &TxRate| standard.is_legacy() || (rate.width(), rate.gi()) == (width, gi);
    let threshold = |rate: TxRate| {
        let spare = f64::from(streams.max(1)) / f64::from(rate.nss());
        // One byte, so the loss that goes with so many errors per bit.
        let loss = -(-8.0 * bit_error).exp_m1();
        (model.required_snr_db(rate, 1, loss) - 10.0 * spare.log10(), rate)
    };
    rates.into_iter().filter(fits).map(threshold).collect()
}

/// The fastest rate of such a table whose threshold is at most `snr_db`, the most robust one if there is none; `None` of an empty table.
#[must_use]
pub fn ideal_rate(thresholds: &[(f64, TxRate)], snr_db: f64) -> Option<TxRate> {
    let reached = thresholds.iter().filter(|row| row.0 <= snr_db).max_by_key(|row| row.1.rate());
    reached.or_else(|| thresholds.iter().min_by(|a, b| a.0.total_cmp(&b.0))).map(|row| row.1)
}
