//! One direction between two radios.

use super::{Fading, FadingLaw, Shadowing, noise_dbm};
use airpace_core::phy::TxRate;
use airpace_core::phy::error::{BitHazard, ErrorModel};
use airpace_units::Time;

/// The link from one radio to another: everything that decides whether an MPDU survives the noise.
/// [`super::Channel::link`] creates it. It is cheap to copy. Its figures change with time only from
/// one coherence interval to the next, see [`Link::interval`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    pub(super) received_dbm: f64,
    pub(super) noise_figure_db: f64,
    pub(super) antennas: u8,
    pub(super) detect_dbm: f64,
    pub(super) fading: Fading,
    pub(super) shadowing: Shadowing,
    pub(super) seed: u64,
    pub(super) pair: u64,
}

impl Link {
    /// A number for the coherence intervals of fading and shadowing that `now` is in: the gain is
    /// the same while it is. It is always 0 if the link does neither.
    #[must_use]
    pub fn interval(&self, now: Time) -> u64 {
        let fading = if self.fading.law == FadingLaw::None {
            0
        } else {
            self.fading.interval(now)
        };
        // An interval of fading lasts for 10 µs at least, so that its number stays below 2^40 for
        // months.
        fading ^ (self.shadowing.interval(now) << 40)
    }

    /// Received power in dBm, with fading and shadowing.
    #[must_use]
    pub fn received_dbm(&self, now: Time) -> f64 {
        let Self {
            fading,
            shadowing,
            seed,
            pair,
            ..
        } = *self;
        self.received_dbm
            + fading.gain_db(seed, pair, fading.interval(now))
            + shadowing.gain_db(seed, pair, shadowing.interval(now))
    }

    /// Signal-to-noise ratio (SNR) in dB of frames at `rate`: the noise is that of their width (22
    /// MHz for DSSS), and receive antennas beyond the number of streams add their gain.
    #[must_use]
    pub fn snr_db(&self, now: Time, rate: TxRate) -> f64 {
        self.received_dbm(now) - self.noise_dbm(rate)
    }

    /// The SNR in dB of frames at `rate` by the mean received power, without fading.
    #[must_use]
    pub fn mean_snr_db(&self, rate: TxRate) -> f64 {
        self.received_dbm - self.noise_dbm(rate)
    }

    /// The error hazard per bit of frames at `rate`. Loss is certain where not even the preamble is
    /// detected.
    #[must_use]
    pub fn bit_hazard(&self, model: &ErrorModel, now: Time, rate: TxRate) -> BitHazard {
        let received_dbm = self.received_dbm(now);
        // Fading may take a link below the threshold for a while: then nothing of the frame is
        // received.
        if received_dbm >= self.detect_dbm {
            model.bit_hazard(rate, received_dbm - self.noise_dbm(rate))
        } else {
            BitHazard::CERTAIN
        }
    }

    /// Probability (0 to 1) that an MPDU of `bytes` at `rate` is lost.
    #[must_use]
    pub fn mpdu_error(&self, model: &ErrorModel, now: Time, rate: TxRate, bytes: u32) -> f64 {
        self.bit_hazard(model, now, rate).mpdu_error(bytes)
    }

    /// Whether the mean received power is enough for preambles to be detected.
    #[must_use]
    pub fn is_in_range(&self) -> bool {
        self.received_dbm >= self.detect_dbm
    }

    /// Noise in dBm, less the gain of receive antennas beyond the number of streams.
    fn noise_dbm(&self, rate: TxRate) -> f64 {
        // A sender with more streams than the receiver has antennas is taken to be heard by as many
        // antennas.
        let antennas = f64::from(self.antennas.max(rate.nss()));
        noise_dbm(rate.bandwidth_mhz(), self.noise_figure_db)
            - 10.0 * (antennas / f64::from(rate.nss())).log10()
    }
}
