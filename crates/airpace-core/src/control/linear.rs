use super::error::{ConfigError, positive, within};
use super::roster::{Grant, Observed, Roster};
use super::stream::StreamConfig;
use super::{Law, RateController};
use crate::report::{Allocation, SlotReport};
use airpace_units::{StationId, Time};

/// Configuration of [`Linear`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinearConfig {
    /// The level that every station is regulated to (`N_ε`), 32 in the paper.
    pub target_level: f64,
    /// Gain K₀ in Mbit/s per packet; the gain is K₀/n. 1 in the paper.
    pub gain_mbps: f64,
    /// Packet sizes and rate bounds.
    pub stream: StreamConfig,
}

impl Default for LinearConfig {
    fn default() -> Self {
        Self {
            target_level: 32.0,
            gain_mbps: 1.0,
            stream: StreamConfig::default(),
        }
    }
}

impl LinearConfig {
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

/// Paper 000, Algorithm 1: each station's rate moves against its own level error, x ← x − K(μ̃ −
/// `N_ε`).
#[derive(Clone, Debug)]
pub struct Linear {
    config: LinearConfig,
    roster: Roster<(Observed, f64)>,
}

impl Linear {
    /// A controller without stations.
    ///
    /// # Errors
    /// If the configuration is refused by [`LinearConfig::validate`].
    pub fn new(config: LinearConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config,
            roster: Roster::new(),
        })
    }
}

impl RateController for Linear {
    fn name(&self) -> &'static str {
        Law::Linear.name()
    }

    fn on_slot(&mut self, _now: Time, reports: &[SlotReport]) -> &[Allocation] {
        let LinearConfig {
            target_level,
            gain_mbps,
            stream,
        } = self.config;
        self.roster.absorb(
            reports,
            || (Observed::nothing(&stream), stream.initial_mbps),
            |(seen, _), sample| seen.observe(sample),
        );
        let gain = gain_mbps / self.roster.states().len().max(1) as f64;
        for (seen, mbps) in self.roster.states_mut() {
            // A station that did not report keeps its rate.
            if let Some(level) = seen.level.take() {
                *mbps = stream.bounded(*mbps - gain * (level - target_level));
            }
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
