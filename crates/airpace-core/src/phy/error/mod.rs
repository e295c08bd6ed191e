//! Losses in noise: the error probability of an MPDU from signal-to-noise ratio, rate and length.
//!
//! **Convolutional code** (the default). The union bound over the distance spectrum of the
//! standard's code of constraint length 7 and its punctured forms, with soft decisions: an error
//! event starts at a data bit with probability Σ a_d Q(√(2 d λ)) / k, where λ is the Chernoff
//! exponent of one coded bit under bit-interleaved coded modulation with Gray labelling (Caire,
//! Taricco and Biglieri, "Bit-Interleaved Coded Modulation", IEEE Trans. Inf. Theory 44, 1998,
//! section IV; the Gaussian form of the pairwise error: Martinez, Guillén i Fàbregas and Caire,
//! IEEE Trans. Inf. Theory 52, 2006). Pei and Henderson's model for ns-3 (2010) is the same bound
//! with hard decisions and is about 2 dB more pessimistic. No parameter is fitted. At 10 % errors
//! of 1458 bytes the bound is within 0.2 dB of ns-3 3.44's default model (TableBasedErrorRateModel,
//! whose tables are link-level simulations with that code) for MCS 0–9.
//!
//! **MCS 10 and 11 of HE** exist with LDPC only. ns-3 without LDPC, which is its default, has no
//! table for them and falls back on hard decisions, 3 dB worse than soft ones; so do we with the
//! convolutional code, within 0.4 dB of it. [`Coding::Ldpc`] is what real devices do there, 6 dB
//! better.
//!
//! **LDPC.** The logarithm of the error rate per bit is linear in dB, through the ratios at which
//! ns-3's LDPC tables (link-level simulations, 1458 bytes) have 10 % errors and with their mean
//! slope: a fit, within 0.14 dB from 50 to 1 % errors.
//!
//! **DSSS.** Non-coherent DBPSK, the tight bound of Ferrari and Corazza (2004) for DQPSK, and the
//! union bound of IEEE 802.15.2-2003 for CCK; all over 22 MHz, as ns-3 has them.
//!
//! **Length.** Bits fail independently of one another, so that ln(1 − p) is in proportion to the
//! length: a hundredth of the bytes needs 1.4 to 2.5 dB less at 10 % errors. ns-3 scales its tables
//! of 32 (below 400 bytes) and 1458 bytes in the same way.
//!
//! Each spatial stream is assumed to have the given ratio, taken over the whole channel width as in
//! ns-3.

mod constellation;
mod dsss;
mod ldpc;
mod spectrum;

pub(super) use dsss::BANDWIDTH_MHZ as DSSS_MHZ;

use super::{Standard, TxRate};

/// The error-correcting code of HT, VHT and HE data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Coding {
    /// The binary convolutional code, as ns-3 by default.
    #[default]
    Convolutional,
    /// Low-density parity check, 1.4 to 2.1 dB better at 10 % errors of 1458 bytes.
    Ldpc,
}

/// The error model. It is cheap to copy and has no state.
///
/// ```
/// use airpace_core::phy::error::ErrorModel;
/// use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
///
/// let model = ErrorModel::default();
/// let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800)?;
/// assert!(model.mpdu_error(rate, 28.0, 1_536) < 1e-3);
/// assert!(model.mpdu_error(rate, 23.0, 1_536) > 0.9);
/// assert!((model.required_snr_db(rate, 1_458, 0.1) - 25.1).abs() < 0.1);
/// # Ok::<(), airpace_core::phy::RateError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ErrorModel {
    coding: Coding,
}

/// Expected errors per data bit at one rate and one ratio. A MAC keeps it for each link, because
/// the length then costs one exponential only.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
pub struct BitHazard(f64);

impl BitHazard {
    /// Every MPDU is lost.
    pub const CERTAIN: Self = Self(f64::INFINITY);

    /// Probability that an MPDU of `bytes` is lost, 0 to 1.
    #[must_use]
    pub fn mpdu_error(self, bytes: u32) -> f64 {
        Self::loss(self.0 * 8.0 * f64::from(bytes))
    }

    /// Errors to be expected in `bits`. Those of the parts of an MPDU add up, and
    /// [`BitHazard::loss`] of the sum is the probability that it is lost.
    #[must_use]
    pub fn events(self, bits: f64) -> f64 {
        if bits > 0.0 { self.0 * bits } else { 0.0 }
    }

    /// Probability that at least one error happens where `events` are to be expected, 0 to 1.
    #[must_use]
    pub fn loss(events: f64) -> f64 {
        -(-events).exp_m1()
    }
}

impl ErrorModel {
    /// The model with this code for HT, VHT and HE data. OFDM data are always coded
    /// convolutionally, DSSS data not at all.
    #[must_use]
    pub const fn new(coding: Coding) -> Self {
        Self { coding }
    }

    /// Probability that an MPDU of `bytes` sent at `rate` is lost when the signal is `snr_db` above
    /// the noise of its channel width (22 MHz for DSSS), 0 to 1. Any ratio is allowed; NaN counts
    /// as no signal. It takes 0.2 µs, for HE MCS 10 and 11 with hard decisions 0.5 µs, and with a
    /// stored [`BitHazard`] 10 ns.
    #[must_use]
    pub fn mpdu_error(&self, rate: TxRate, snr_db: f64, bytes: u32) -> f64 {
        self.bit_hazard(rate, snr_db).mpdu_error(bytes)
    }

    /// The part of [`ErrorModel::mpdu_error`] that does not depend on the length.
    #[must_use]
    pub fn bit_hazard(&self, rate: TxRate, snr_db: f64) -> BitHazard {
        let snr = 10_f64.powf(snr_db / 10.0);
        let (bits, _, denominator) = rate.constellation();
        let hazard = match rate.standard() {
            Standard::Dsss => dsss::bit_errors(bits, snr),
            Standard::Ht | Standard::Vht | Standard::He if self.coding == Coding::Ldpc => {
                ldpc::bit_errors(
                    super::rate::constellation(rate.standard(), rate.mcs()),
                    snr_db,
                )
            }
            // ns-3 falls back on this where its tables end.
            _ if bits == 10 => {
                spectrum::hard_decision_events(constellation::bit_error(bits, snr), denominator)
            }
            _ => spectrum::soft_decision_events(constellation::exponent(bits, snr), denominator),
        };
        // The bound can exceed 1, where it says nothing; a NaN ratio gives NaN.
        BitHazard(if hazard < 1.0 { hazard } else { 1.0 })
    }

    /// The lowest ratio in dB, to 0.001 dB, at which at most `target` (above 0, below 1) of the
    /// MPDUs of `bytes` are lost, within −30 to 60 dB.
    #[must_use]
    pub fn required_snr_db(&self, rate: TxRate, bytes: u32, target: f64) -> f64 {
        let (mut low, mut high) = (-30.0, 60.0);
        while high - low > 1e-3 {
            let middle = f64::midpoint(low, high);
            if self.mpdu_error(rate, middle, bytes) > target {
                low = middle
            } else {
                high = middle
            }
        }
        high
    }
}

/// The complementary error function for arguments from 0: Abramowitz and Stegun, 7.1.26. Within 1.5
/// · 10⁻⁷ everywhere and within 1 % of itself up to 6, where it is 2 · 10⁻¹⁷: 0.01 dB.
fn erfc(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let polynomial = -1.453_152_027 + t * 1.061_405_429;
    let polynomial = 0.254_829_592 + t * (-0.284_496_736 + t * (1.421_413_741 + t * polynomial));
    t * polynomial * (-x * x).exp()
}

#[cfg(test)]
mod tests;
