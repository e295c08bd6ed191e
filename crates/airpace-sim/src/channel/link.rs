//! One direction between two radios.

use super::{Fading, FadingLaw, noise_dbm};
use airpace_core::phy::TxRate;
use airpace_core::phy::error::{BitHazard, ErrorModel};
use airpace_units::Time;

/// Everything that decides whether an MPDU from one radio to another survives the noise; made by [`super::Channel::link`]. Cheap to
/// copy. A value depends on the time by its coherence interval only, see [`Link::interval`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    pub(super) received_dbm: f64,
    pub(super) noise_figure_db: f64,
    pub(super) antennas: u8,
    pub(super) detect_dbm: f64,
    pub(super) fading: Fading,
    pub(super) seed: u64,
    pub(super) pair: u64,
}

impl Link {
    /// The number of the coherence interval of `now`; 0 for ever if the link does not fade.
    #[must_use]
    pub fn interval(&self, now: Time) -> u64 {
        if self.fading.law == FadingLaw::None {
            0
        } else {
            self.fading.interval(now)
        }
    }

    /// Power received in dBm, fading included.
    #[must_use]
    pub fn received_dbm(&self, now: Time) -> f64 {
        self.received_dbm
            + self
                .fading
                .gain_db(self.seed, self.pair, self.fading.interval(now))
    }

    /// Ratio of signal to noise in dB for frames at `rate`: over their width (22 MHz for DSSS), and with what more antennas than streams add.
    #[must_use]
    pub fn snr_db(&self, now: Time, rate: TxRate) -> f64 {
        self.received_dbm(now) - self.noise_dbm(rate)
    }

    /// The same for the mean power.
    #[must_use]
    pub fn mean_snr_db(&self, rate: TxRate) -> f64 {
        self.received_dbm - self.noise_dbm(rate)
    }

    /// What the bits of frames at `rate` suffer: certain loss where not even the preamble is detected.
    #[must_use]
    pub fn bit_hazard(&self, model: &ErrorModel, now: Time, rate: TxRate) -> BitHazard {
        let received_dbm = self.received_dbm(now);
        if received_dbm >= self.detect_dbm {
            model.bit_hazard(rate, received_dbm - self.noise_dbm(rate))
        } else {
            BitHazard::CERTAIN
        }
    }

    /// Probability that an MPDU of `bytes` at `rate` is lost, 0 to 1.
    #[must_use]
    pub fn mpdu_error(&self, model: &ErrorModel, now: Time, rate: TxRate, bytes: u32) -> f64 {
        self.bit_hazard(model, now, rate).mpdu_error(bytes)
    }

    /// Whether its mean power is enough for preambles to be detected.
    #[must_use]
    pub fn is_in_range(&self) -> bool {
        self.received_dbm >= self.detect_dbm
    }

    /// The noise, less the gain by antennas beyond the streams.
    fn noise_dbm(&self, rate: TxRate) -> f64 {
        let antennas = f64::from(self.antennas.max(rate.nss()));
        noise_dbm(rate.bandwidth_mhz(), self.noise_figure_db)
            - 10.0 * (antennas / f64::from(rate.nss())).log10()
    }
}
