//! LDPC errors, from thresholds in dB.

/// Ratios in dB at which MPDUs of `BYTES` have 10 % errors, by MCS of VHT and HE (modulo 8 of HT):
/// read from ns-3 3.44's LDPC tables with `validation/ns3/error_model.cc`; those tables are
/// link-level simulations in white noise (Patidar, Roy, Henderson and Chandramohan, "Link-to-System
/// Mapping for ns-3 Wi-Fi OFDM Error Models", Workshop on ns-3, 2017).
const THRESHOLDS: [f64; 12] = [
    -0.625, 2.395, 4.855, 7.915, 10.935, 15.125, 16.485, 17.995, 21.675, 23.485, 26.795, 28.895,
];
/// MPDU length of the thresholds, in bytes.
const BYTES: f64 = 1_458.0;
/// From 50 % to 1 % errors in dB: the mean of the same tables, which have 0.58 (MCS 2) to 0.90 (MCS
/// 11). One slope for all keeps a higher MCS from being the safer one far from the thresholds.
const HALF_TO_HUNDREDTH: f64 = 0.73;

/// Errors per data bit at this MCS. Their logarithm is linear in dB.
pub(super) fn bit_errors(mcs: u8, snr_db: f64) -> f64 {
    let per_bit = |loss: f64| -(-loss).ln_1p() / (8.0 * BYTES);
    let slope = (per_bit(0.01).ln() - per_bit(0.5).ln()) / HALF_TO_HUNDREDTH;
    per_bit(0.1) * (slope * (snr_db - THRESHOLDS[usize::from(mcs)])).exp()
}
