//! Radio propagation: from positions and powers to signal-to-noise ratios, to the radios that hear
//! each other, and to the loss of MPDUs.
//!
//! Log-distance path loss, thermal noise, thresholds for carrier sense and decoding, and optional
//! block fading. Everything is a function of configuration, seed and time; no draw depends on the
//! order of calls. Defaults are those of ns-3 3.44.
//!
//! ```
//! use airpace_core::phy::error::ErrorModel;
//! use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
//! use airpace_sim::channel::{Channel, ChannelConfig, Position, Radio};
//! use airpace_sim::radio::RadioId;
//! use airpace_units::Time;
//!
//! let radios = [0.0, 20.0].map(|x| Radio::at(Position::new(x, 0.0, 0.0))).to_vec();
//! let channel = Channel::new(ChannelConfig::new(radios))?;
//! let link = channel.link(RadioId(0), RadioId(1));
//! let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 5, GuardInterval::Ns800)?;
//! assert_eq!(format!("{:.1}", link.snr_db(Time::ZERO, rate)), "18.3");
//! assert!(link.mpdu_error(&ErrorModel::default(), Time::ZERO, rate, 1_536) < 0.01);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fading;
mod link;
mod placement;
mod propagation;

#[cfg(test)]
mod tests;

pub use fading::{Fading, FadingKind, FadingLaw, Shadowing};
pub use link::Link;
pub use placement::{Position, uniform_in_square};
pub use propagation::{PathLoss, noise_dbm};

use crate::radio::{Capture, Hearing, RadioId, ReceivedPowers, ReceptionRules, Relation};
use thiserror::Error;

/// A radio: its position, transmit power and receiver.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Radio {
    /// Its position.
    pub position: Position,
    /// Transmit power in dBm with antenna gain (default 16.0206 dBm, 40 mW).
    pub tx_power_dbm: f64,
    /// Noise figure of the receiver in dB (default 7).
    pub noise_figure_db: f64,
    /// Receive antennas (default 1). Antennas beyond the number of streams add 10 log₁₀(antennas /
    /// streams) dB, as in ns-3 without fading.
    pub antennas: u8,
}

impl Radio {
    /// A radio with the default of each other field.
    #[must_use]
    pub const fn at(position: Position) -> Self {
        Self {
            position,
            tx_power_dbm: 16.0206,
            noise_figure_db: 7.0,
            antennas: 1,
        }
    }
}

/// Radios and the propagation between them.
#[derive(Clone, PartialEq, Debug)]
pub struct ChannelConfig {
    /// The radios, indexed by [`RadioId`].
    pub radios: Vec<Radio>,
    /// Attenuation with distance.
    pub path_loss: PathLoss,
    /// Variation of the gain in time on top of the path loss (default none).
    pub fading: Fading,
    /// Slow variation of the gain on top of the fading (default none).
    pub shadowing: Shadowing,
    /// Seed of fading and shadowing.
    pub seed: u64,
    /// Powers from which on the channel is busy and frames are received.
    pub thresholds: Thresholds,
}

/// Thresholds of received power over the whole channel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Thresholds {
    /// From this power in dBm on, preambles are detected: the channel is busy for the whole frame
    /// and its header is read. Default −82 dBm (clause 17.3.10.6 requires it for 20 MHz; ns-3's
    /// MinimumRssi).
    pub detect_dbm: f64,
    /// Least SNR in dB over 20 MHz at which preambles are detected: 4 dB by default, as in ns-3.
    pub detect_snr_db: f64,
    /// From this power in dBm on, any signal makes the channel busy: −62 dBm by default (clause
    /// 17.3.10.6; ns-3's CcaEdThreshold).
    pub energy_dbm: f64,
    /// A frame destroys another that is received at the same time if its power is at least this
    /// many dB above the noise of `disturb_width_mhz`. The default is 0 dB, which costs the other
    /// frame 3 dB of SNR. There is no capture effect: the power of the other frame does not matter.
    pub disturb_over_noise_db: f64,
    /// Width of that noise in MHz (default 80).
    pub disturb_width_mhz: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            detect_dbm: -82.0,
            detect_snr_db: 4.0,
            energy_dbm: -62.0,
            disturb_over_noise_db: 0.0,
            disturb_width_mhz: 80.0,
        }
    }
}

impl ChannelConfig {
    /// These radios with the default of each other field.
    #[must_use]
    pub fn new(radios: Vec<Radio>) -> Self {
        let (path_loss, thresholds) = (PathLoss::default(), Thresholds::default());
        Self {
            radios,
            path_loss,
            fading: Fading::NONE,
            shadowing: Shadowing::NONE,
            seed: 1,
            thresholds,
        }
    }
}

/// Why a channel is refused.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// A figure of a radio is infinite or not a number.
    #[error("the position, power or noise figure of {0} is not a finite number")]
    Radio(RadioId),
    /// The path loss is out of range.
    #[error(
        "the exponent of the path loss must be a number above 0 and the loss at 1 m must be finite"
    )]
    PathLoss,
    /// A threshold is not a number, or the width of the noise is not above 0.
    #[error("a threshold of the channel is not a number, or its width is not above 0")]
    Threshold,
    /// A parameter of the fading is out of range.
    #[error(
        "fading needs a coherence time above 0, a Rician factor from 0 to 10,000 and a Nakagami shape from 0.5 to 10,000"
    )]
    Fading,
    /// A parameter of the shadowing is out of range.
    #[error("shadowing needs a coherence time above 0 and a deviation from 0 to 30 dB")]
    Shadowing,
}

/// A checked channel.
#[derive(Clone, Debug)]
pub struct Channel {
    config: ChannelConfig,
}

impl Channel {
    /// Checks every figure.
    ///
    /// # Errors
    /// [`ChannelError`] names the first figure that is out of range.
    pub fn new(config: ChannelConfig) -> Result<Self, ChannelError> {
        for (index, radio) in config.radios.iter().enumerate() {
            let Position { x, y, z } = radio.position;
            if ![x, y, z, radio.tx_power_dbm, radio.noise_figure_db]
                .iter()
                .all(|figure| figure.is_finite())
            {
                return Err(ChannelError::Radio(id(index)));
            }
        }
        if !config.path_loss.is_valid() {
            return Err(ChannelError::PathLoss);
        }
        let Thresholds {
            detect_dbm,
            detect_snr_db,
            energy_dbm,
            disturb_over_noise_db,
            disturb_width_mhz,
        } = config.thresholds;
        // Infinite thresholds are of use: they switch a mechanism off.
        let thresholds_db = [detect_dbm, detect_snr_db, energy_dbm, disturb_over_noise_db];
        if thresholds_db.iter().any(|threshold| threshold.is_nan())
            || disturb_width_mhz.is_nan()
            || disturb_width_mhz <= 0.0
        {
            return Err(ChannelError::Threshold);
        }
        if !config.fading.is_valid() {
            return Err(ChannelError::Fading);
        }
        if !config.shadowing.is_valid() {
            return Err(ChannelError::Shadowing);
        }
        Ok(Self { config })
    }

    /// Number of radios.
    #[must_use]
    pub fn radios(&self) -> usize {
        self.config.radios.len()
    }

    /// Power in dBm that `to` receives from `from`, without fading; not a number if either radio
    /// does not exist.
    #[must_use]
    pub fn received_dbm(&self, from: RadioId, to: RadioId) -> f64 {
        match (self.radio(from), self.radio(to)) {
            (Some(sender), Some(receiver)) => {
                let distance = sender.position.distance(receiver.position);
                sender.tx_power_dbm - self.config.path_loss.loss_db(distance)
            }
            _ => f64::NAN,
        }
    }

    /// SNR in dB at `to` over `width_mhz`, without fading and for as many streams as antennas; not
    /// a number if either radio does not exist.
    #[must_use]
    pub fn snr_db(&self, from: RadioId, to: RadioId, width_mhz: f64) -> f64 {
        let figure = self
            .radio(to)
            .map_or(f64::NAN, |radio| radio.noise_figure_db);
        self.received_dbm(from, to) - noise_dbm(width_mhz, figure)
    }

    /// The link from one radio to another with its fading. If either radio does not exist, the link
    /// has no signal.
    #[must_use]
    pub fn link(&self, from: RadioId, to: RadioId) -> Link {
        let receiver = self.radio(to);
        Link {
            received_dbm: self.received_dbm(from, to),
            noise_figure_db: receiver.map_or(0.0, |radio| radio.noise_figure_db),
            antennas: receiver.map_or(1, |radio| radio.antennas.max(1)),
            detect_dbm: self.detect_dbm(to),
            fading: self.config.fading,
            shadowing: self.config.shadowing,
            seed: self.config.seed,
            pair: fading::pair(from, to),
        }
    }

    /// Which radios sense, disturb and decode which, by mean powers: fading changes losses, but not
    /// who hears whom.
    #[must_use]
    pub fn hearing(&self) -> Hearing {
        let thresholds = self.config.thresholds;
        let decodes = self.relation(|from, to| self.received_dbm(from, to) >= self.detect_dbm(to));
        // A decoded header keeps the channel busy for the whole frame, however weak (virtual and
        // physical carrier sense).
        let senses = self.relation(|from, to| {
            decodes.reaches(from, to) || self.received_dbm(from, to) >= thresholds.energy_dbm
        });
        let disturbs = self.relation(|from, to| {
            let over_noise = self.snr_db(from, to, thresholds.disturb_width_mhz);
            decodes.reaches(from, to) || over_noise >= thresholds.disturb_over_noise_db
        });
        Hearing::Matrix {
            senses,
            disturbs,
            decodes,
        }
    }

    /// The mean powers between all radios, from which receptions are computed; `capture` says
    /// whether receivers leave a frame for a stronger one.
    #[must_use]
    pub fn powers(&self, capture: Option<Capture>) -> Hearing {
        let thresholds = self.config.thresholds;
        let rules = ReceptionRules {
            detect_dbm: thresholds.detect_dbm,
            detect_sinr_db: thresholds.detect_snr_db,
            energy_dbm: thresholds.energy_dbm,
            capture,
            ..ReceptionRules::default()
        };
        let figures = self.config.radios.iter().map(|radio| radio.noise_figure_db);
        let powers = ReceivedPowers::by(figures.collect(), rules, |from, to| {
            self.received_dbm(from, to)
        });
        Hearing::Powers(Box::new(powers))
    }

    fn relation(&self, mut reaches: impl FnMut(RadioId, RadioId) -> bool) -> Relation {
        Relation::by(self.radios(), |from, to| from != to && reaches(from, to))
    }

    /// The power in dBm from which on `to` detects preambles.
    fn detect_dbm(&self, to: RadioId) -> f64 {
        let Thresholds {
            detect_dbm,
            detect_snr_db,
            ..
        } = self.config.thresholds;
        let figure = self.radio(to).map_or(0.0, |radio| radio.noise_figure_db);
        detect_dbm.max(noise_dbm(20.0, figure) + detect_snr_db)
    }

    fn radio(&self, id: RadioId) -> Option<&Radio> {
        self.config.radios.get(id.index())
    }
}

fn id(index: usize) -> RadioId {
    RadioId(u32::try_from(index).unwrap_or(u32::MAX))
}
