use super::error::{ConfigError, positive, within};
use super::roster::{Grant, Observed, Roster};
use super::stream::StreamConfig;
use super::{Law, RateController};
use crate::report::{Allocation, SlotReport};
use airpace_units::{StationId, Time};

/// Which station [`LinearPf`] regulates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Regulated {
    /// The station with the highest PHY rate (argmin w), as in the paper's text and eq. 32–33.
    #[default]
    Fastest,
    /// The station with the lowest PHY rate (argmax w), as Algorithm 2 is printed. It drives the
    /// faster stations far beyond the longest frame: for comparison only.
    Slowest,
}

/// Configuration of [`LinearPf`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinearPfConfig {
    /// The level that the regulated station is held at (`N_ε`), 32 in the paper.
    pub target_level: f64,
    /// Gain K₀ in Mbit/s per packet; the gain is K₀/n. 1 in the paper.
    pub gain_mbps: f64,
    /// The station that is regulated.
    pub regulated: Regulated,
    /// Packet sizes and rate bounds.
    pub stream: StreamConfig,
}

impl Default for LinearPfConfig {
    fn default() -> Self {
        Self {
            target_level: 32.0,
            gain_mbps: 1.0,
            regulated: Regulated::Fastest,
            stream: StreamConfig::default(),
        }
    }
}

impl LinearPfConfig {
    /// Checks every value.
    ///
    /// # Errors
    /// If the level or the gain is outside its range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        within("target_level", self.target_level, 1.0, 1024.0)?;
        positive("gain_mbps", self.gain_mbps)?;
        self.stream.validate()
    }
}

/// Paper 000, Algorithm 2: eq. 32 regulates one station, and the others follow in proportion to
/// their PHY rates (eq. 33).
#[derive(Clone, Debug)]
pub struct LinearPf {
    config: LinearPfConfig,
    roster: Roster<(Observed, f64)>,
}

impl LinearPf {
    /// A controller without stations.
    ///
    /// # Errors
    /// If the configuration is refused by [`LinearPfConfig::validate`].
    pub fn new(config: LinearPfConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config,
            roster: Roster::new(),
        })
    }

    /// Index of the station to regulate; the first of several with the same rate.
    fn regulated(&self) -> Option<usize> {
        let rate = |&(_, &(seen, _)): &(usize, &(Observed, f64))| seen.phy_bps;
        let states = self.roster.states().iter().enumerate();
        let chosen = match self.config.regulated {
            Regulated::Fastest => states.rev().max_by(|a, b| rate(a).total_cmp(&rate(b))),
            Regulated::Slowest => states.min_by(|a, b| rate(a).total_cmp(&rate(b))),
        };
        chosen.map(|(idx, _)| idx)
    }

    /// Moves the regulated station's rate by its level error and sets the other rates in
    /// proportion.
    fn update(&mut self, idx: usize) {
        let LinearPfConfig {
            target_level,
            gain_mbps,
            stream,
            ..
        } = self.config;
        let states = self.roster.states_mut();
        let gain = gain_mbps / states.len() as f64;
        let (seen, mbps) = states[idx];
        let error = seen.level.map_or(0.0, |level| level - target_level);
        let lead = stream.bounded(mbps - gain * error);
        for (other, rate) in states {
            other.level = None;
            *rate = stream.bounded(lead * other.phy_bps / seen.phy_bps);
        }
    }
}

impl RateController for LinearPf {
    fn name(&self) -> &'static str {
        match self.config.regulated {
            Regulated::Fastest => Law::LinearPf.name(),
            Regulated::Slowest => Law::LinearPfArgmax.name(),
        }
    }

    fn on_slot(&mut self, _now: Time, reports: &[SlotReport]) -> &[Allocation] {
        let LinearPfConfig {
            target_level,
            stream,
            ..
        } = self.config;
        self.roster.absorb(
            reports,
            || (Observed::nothing(&stream), stream.initial_mbps),
            |(seen, _), sample| seen.observe(sample),
        );
        if let Some(idx) = self.regulated() {
            self.update(idx);
        }
        self.roster.allocate(|&(_, mbps)| Grant {
            rate_pps: stream.packets_per_s(mbps),
            packet_bytes: f64::from(stream.packet_bytes),
            level: target_level,
            ..Grant::default()
        })
    }

    fn remove(&mut self, station: StationId) {
        self.roster.remove(station);
    }
}
