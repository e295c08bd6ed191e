//! Received powers between radios, and what a receiver makes of them.

use super::RadioId;
use core::time::Duration;

/// The power that each radio receives from those that it can hear. Frames are lost by their ratio of
/// signal to interference and noise, part by part.
///
/// Memory grows with the number of pairs of radios that hear each other, 16 bytes for each.
#[derive(Clone, PartialEq, Debug)]
pub struct ReceivedPowers {
    /// The radios that each transmitter reaches, by their numbers.
    reached: Vec<Vec<Reach>>,
    noise_figure_db: Vec<f64>,
    rules: ReceptionRules,
}

/// A radio that a transmitter reaches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Reach {
    pub(crate) radio: RadioId,
    /// What it receives.
    pub(crate) milliwatts: f64,
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
    /// has one of the noise figures in dB. Powers that are not a number count as none, and so do
    /// those that matter to nobody: they are below the floor for signals of 20 MHz, and too weak to
    /// be sensed.
    #[must_use]
    pub fn by(
        noise_figure_db: Vec<f64>,
        rules: ReceptionRules,
        mut received_dbm: impl FnMut(RadioId, RadioId) -> f64,
    ) -> Self {
        let radios = noise_figure_db.len();
        let least_mw = rules.least_mw();
        let mut reached = Vec::with_capacity(radios);
        for from in (0..radios).map(RadioId::from_index) {
            let mut row = Vec::new();
            for radio in (0..radios).map(RadioId::from_index) {
                if radio == from {
                    continue;
                }
                let milliwatts = milliwatts_of(received_dbm(from, radio));
                if milliwatts > 0.0 && milliwatts >= least_mw {
                    row.push(Reach { radio, milliwatts });
                }
            }
            row.shrink_to_fit();
            reached.push(row);
        }
        Self {
            reached,
            noise_figure_db,
            rules,
        }
    }

    /// The number of radios.
    #[must_use]
    pub const fn radios(&self) -> usize {
        self.reached.len()
    }

    /// The number of ordered pairs of radios of which one receives the other.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.reached.iter().map(Vec::len).sum()
    }

    /// What receivers notice.
    #[must_use]
    pub const fn rules(&self) -> &ReceptionRules {
        &self.rules
    }

    /// What `to` receives from `from` in mW; 0 if that matters to nobody (see
    /// [`ReceivedPowers::by`]), one of them does not exist, or both are the same.
    #[must_use]
    pub fn received_mw(&self, from: RadioId, to: RadioId) -> f64 {
        let Some(row) = self.reached.get(from.index()) else {
            return 0.0;
        };
        let found = row.binary_search_by_key(&to, |reach| reach.radio);
        found.map_or(0.0, |index| row[index].milliwatts)
    }

    /// The radios that a transmission of `from` reaches, by their numbers.
    pub(crate) fn reached_by(&self, from: RadioId) -> &[Reach] {
        self.reached.get(from.index()).map_or(&[], Vec::as_slice)
    }

    /// A radio has moved. `pairs` has an entry for each radio, in their order; that of the radio
    /// itself, and further ones, are ignored, and powers that are not a number, or that matter to
    /// nobody, count as none.
    pub fn set(&mut self, moved: RadioId, pairs: &[PairPowers]) {
        if moved.index() >= self.radios() {
            return;
        }
        let least_mw = self.rules.least_mw();
        for (index, pair) in pairs.iter().enumerate().take(self.radios()) {
            let other = RadioId::from_index(index);
            if other != moved {
                let (sent_mw, received_mw) = (
                    milliwatts_of(pair.sent_dbm),
                    milliwatts_of(pair.received_dbm),
                );
                self.set_one(moved, other, sent_mw, least_mw);
                self.set_one(other, moved, received_mw, least_mw);
            }
        }
    }

    /// Sets what `radio` receives from `from`.
    fn set_one(&mut self, from: RadioId, radio: RadioId, milliwatts: f64, least_mw: f64) {
        let row = &mut self.reached[from.index()];
        let reach = Reach { radio, milliwatts };
        let matters = milliwatts > 0.0 && milliwatts >= least_mw;
        match row.binary_search_by_key(&radio, |reach| reach.radio) {
            Ok(place) if matters => row[place] = reach,
            Ok(place) => drop(row.remove(place)),
            Err(place) if matters => row.insert(place, reach),
            Err(_) => {}
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
    /// The least power that matters to anybody, in mW.
    fn least_mw(&self) -> f64 {
        self.sense_mw().min(milliwatts_of(self.floor_dbm))
    }

    /// From which sum of all signals on the channel is busy, in mW.
    pub(crate) fn sense_mw(&self) -> f64 {
        milliwatts_of(self.detect_dbm.min(self.energy_dbm))
    }
}

/// A power in dBm as mW.
pub(crate) fn milliwatts_of(dbm: f64) -> f64 {
    10_f64.powf(dbm / 10.0)
}
