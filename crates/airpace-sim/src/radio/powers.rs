//! Received powers between radios, and what a receiver makes of them.

use super::RadioId;
use core::time::Duration;

/// The power that each radio receives from each other one. Frames are lost by their ratio of signal
/// to interference and noise, part by part.
#[derive(Clone, PartialEq, Debug)]
pub struct ReceivedPowers {
    radios: usize,
    /// One row for each receiver, with one entry for each transmitter, in mW.
    milliwatts: Vec<f64>,
    noise_figure_db: Vec<f64>,
    /// What receivers notice.
    pub rules: ReceptionRules,
}

/// What a radio and another one receive of each other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PairPowers {
    /// What the other receives from the radio, dBm.
    pub sent_dbm: f64,
    /// What the radio receives from the other, dBm.
    pub received_dbm: f64,
}

/// What receivers notice. The defaults are those of ns-3 3.44.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReceptionRules {
    /// Least power in dBm at which preambles are detected, and from which on the sum of all
    /// signals makes the channel busy (default −82).
    pub detect_dbm: f64,
    /// Least ratio in dB of the signal to interference and noise at which preambles are detected
    /// (default 4).
    pub detect_sinr_db: f64,
    /// From this power in dBm on any signals make the channel busy (default −62). It matters only
    /// if it is below `detect_dbm`.
    pub energy_dbm: f64,
    /// Signals of 20 MHz below this power in dBm do not even interfere (default −101); wider ones
    /// below as much more as they are wider.
    pub floor_dbm: f64,
    /// Whether a receiver leaves a frame for a stronger one that begins a little later (default
    /// no).
    pub capture: Option<Capture>,
}

/// When a receiver leaves a frame for a stronger one. The defaults are those of ns-3's
/// SimpleFrameCaptureModel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Capture {
    /// By how many dB the later frame must be stronger, more than this (default 5).
    pub margin_db: f64,
    /// How long after the detection of the first frame that is possible (default 16 µs).
    pub window: Duration,
}

impl Default for Capture {
    fn default() -> Self {
        Self {
            margin_db: 5.0,
            window: Duration::from_micros(16),
        }
    }
}

impl Default for ReceptionRules {
    fn default() -> Self {
        Self {
            detect_dbm: -82.0,
            detect_sinr_db: 4.0,
            energy_dbm: -62.0,
            floor_dbm: -101.0,
            capture: None,
        }
    }
}

impl ReceivedPowers {
    /// The powers in dBm that `received_dbm` returns for a transmitter and a receiver; each receiver
    /// has one of the noise figures in dB. Powers that are not a number count as none.
    #[must_use]
    pub fn by(
        noise_figure_db: Vec<f64>,
        rules: ReceptionRules,
        mut received_dbm: impl FnMut(RadioId, RadioId) -> f64,
    ) -> Self {
        let radios = noise_figure_db.len();
        let mut milliwatts = vec![0.0; radios * radios];
        for (index, entry) in milliwatts.iter_mut().enumerate() {
            let from = RadioId::from_index(index % radios);
            let to = RadioId::from_index(index / radios);
            let received = if from == to {
                f64::NAN
            } else {
                milliwatts_of(received_dbm(from, to))
            };
            *entry = if received.is_nan() { 0.0 } else { received };
        }
        Self {
            radios,
            milliwatts,
            noise_figure_db,
            rules,
        }
    }

    /// The number of radios.
    #[must_use]
    pub const fn radios(&self) -> usize {
        self.radios
    }

    /// What `to` receives from `from` in mW; 0 if one of them does not exist, or both are the same.
    #[must_use]
    pub fn received_mw(&self, from: RadioId, to: RadioId) -> f64 {
        let exist = from.index() < self.radios && to.index() < self.radios;
        if exist {
            self.milliwatts[to.index() * self.radios + from.index()]
        } else {
            0.0
        }
    }

    /// A radio has moved. `pairs` has an entry for each radio, in their order; that of the radio
    /// itself, and further ones, are ignored, and powers that are not a number count as none.
    pub fn set(&mut self, moved: RadioId, pairs: &[PairPowers]) {
        if moved.index() >= self.radios {
            return;
        }
        for (other, pair) in pairs.iter().enumerate().take(self.radios) {
            if other != moved.index() {
                let (sent, received) = (
                    milliwatts_of(pair.sent_dbm),
                    milliwatts_of(pair.received_dbm),
                );
                self.milliwatts[other * self.radios + moved.index()] = sent.max(0.0);
                self.milliwatts[moved.index() * self.radios + other] = received.max(0.0);
            }
        }
    }

    /// Whether a transmission of `from` alone makes the channel busy for `to`.
    #[must_use]
    pub fn senses(&self, from: RadioId, to: RadioId) -> bool {
        self.received_mw(from, to) >= self.rules.sense_mw()
    }

    /// The noise figure of each radio in dB.
    pub(crate) fn noise_figures_db(&self) -> &[f64] {
        &self.noise_figure_db
    }
}

impl ReceptionRules {
    /// From which sum of all signals on the channel is busy, in mW.
    pub(crate) fn sense_mw(&self) -> f64 {
        milliwatts_of(self.detect_dbm.min(self.energy_dbm))
    }
}

/// A power in dBm as mW.
pub(crate) fn milliwatts_of(dbm: f64) -> f64 {
    10_f64.powf(dbm / 10.0)
}
