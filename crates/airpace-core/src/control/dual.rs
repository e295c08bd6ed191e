use super::error::{ConfigError, positive, within};
use super::roster::{Grant, Observed, Roster};
use super::stream::StreamConfig;
use super::{Diagnostics, Law, RateController};
use crate::report::{Allocation, SlotReport};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Largest change of a rate in one slot, as a difference of logarithms: the gradient holds only
/// locally.
const LOG_STEP_MAX: f64 = 0.5;

/// Configuration of [`Dual`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DualConfig {
    /// The level that no station may exceed (`N_ε`), 32 in the paper.
    pub target_level: f64,
    /// Exponent of the α-fair utility: 1 is log x, 0 the sum of rates in units of
    /// `utility_unit_mbps`.
    pub fairness: f64,
    /// Unit of rate in the utility for exponents other than 1, Mbit/s.
    pub utility_unit_mbps: f64,
    /// Step of the multipliers per packet above the target (α of eq. 31). The paper gives none. The
    /// default damps the loop of one station at 32 packets critically (see
    /// `docs/design/published-laws.md`).
    pub dual_step: f64,
    /// Step of the logarithms of the rates along the gradient.
    pub rate_step: f64,
    /// Overhead per frame that the gradient assumes.
    pub frame_overhead: Duration,
    /// Packet sizes and rate bounds.
    pub stream: StreamConfig,
}

impl Default for DualConfig {
    fn default() -> Self {
        Self {
            target_level: 32.0,
            fairness: 1.0,
            utility_unit_mbps: 100.0,
            dual_step: 5e-5,
            rate_step: 0.1,
            frame_overhead: Duration::from_micros(200),
            stream: StreamConfig::default(),
        }
    }
}

impl DualConfig {
    /// Checks every value.
    ///
    /// # Errors
    /// If a value is outside its range. An exponent below 1 is refused: the utility is then not
    /// concave in the logarithm of the rate.
    pub fn validate(&self) -> Result<(), ConfigError> {
        within("target_level", self.target_level, 1.0, 1024.0)?;
        within("fairness", self.fairness, 1.0, 10.0)?;
        positive("utility_unit_mbps", self.utility_unit_mbps)?;
        within("dual_step", self.dual_step, 1e-9, 1.0)?;
        within("rate_step", self.rate_step, 1e-6, 1.0)?;
        positive("frame_overhead", self.frame_overhead.as_secs_f64())?;
        self.stream.validate()
    }
}

/// What the law keeps of one station.
#[derive(Clone, Copy, Debug)]
struct DualStation {
    seen: Observed,
    /// Last known level, used while the station does not report.
    level: f64,
    /// Granted rate, Mbit/s of payload.
    mbps: f64,
    /// Lagrange multiplier of the station's level constraint.
    multiplier: f64,
}

/// Paper 000, eq. 27–31: dual ascent with measured levels, for α-fair utilities.
///
/// The minimisation of eq. 29–30 is one gradient step per slot in the logarithm of the rate, with
/// ∂μ_j/∂log x_i = μ_j (δ_ij + w_i μ_i / c) and the measured level in place of μ.
#[derive(Clone, Debug)]
pub struct Dual {
    config: DualConfig,
    roster: Roster<DualStation>,
}

impl Dual {
    /// A controller without stations.
    ///
    /// # Errors
    /// If the configuration is refused by [`DualConfig::validate`].
    pub fn new(config: DualConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config,
            roster: Roster::new(),
        })
    }

    /// Overhead of a round that serves every known station.
    fn overhead_s(&self) -> f64 {
        self.config.frame_overhead.as_secs_f64() * self.roster.states().len() as f64
    }

    fn update(&mut self) {
        let config = self.config;
        let overhead_s = self.overhead_s();
        let states = self.roster.states_mut();
        for s in states.iter_mut() {
            // Eq. 31, with (·)⁺ around the whole so that a multiplier can fall (see the errata).
            if let Some(level) = s.seen.level.take() {
                s.level = level;
                s.multiplier =
                    (s.multiplier + config.dual_step * (level - config.target_level)).max(0.0);
            }
        }
        // One packet more to any station lengthens the round and so raises every other level: the
        // second term of ∂μ/∂log x.
        let priced: f64 = states.iter().map(|s| s.multiplier * s.level).sum();
        for s in states {
            let airtime_share = s.seen.packet_airtime_s(&config.stream) * s.level / overhead_s;
            // x U'(x) of the α-fair utility; 1 for log x.
            let worth = (s.mbps / config.utility_unit_mbps).powf(1.0 - config.fairness);
            let slope = worth - s.multiplier * s.level - priced * airtime_share;
            s.mbps = config.stream.bounded(
                s.mbps
                    * (config.rate_step * slope)
                        .clamp(-LOG_STEP_MAX, LOG_STEP_MAX)
                        .exp(),
            );
        }
    }
}

impl RateController for Dual {
    fn name(&self) -> &'static str {
        Law::Dual.name()
    }

    fn on_slot(&mut self, _now: Time, reports: &[SlotReport]) -> &[Allocation] {
        let DualConfig {
            target_level,
            stream,
            ..
        } = self.config;
        let join = || DualStation {
            seen: Observed::nothing(&stream),
            level: 1.0,
            mbps: stream.initial_mbps,
            multiplier: 0.0,
        };
        self.roster
            .absorb(reports, join, |state, sample| state.seen.observe(sample));
        self.update();
        self.roster.allocate(|state| Grant {
            rate_pps: stream.packets_per_s(state.mbps),
            packet_bytes: f64::from(stream.packet_bytes),
            level: target_level,
            ..Grant::default()
        })
    }

    fn remove(&mut self, station: StationId) {
        self.roster.remove(station);
    }

    fn diagnostics(&self) -> Diagnostics {
        Diagnostics {
            overhead_s: Some(self.overhead_s()),
            ignored_reports: self.roster.ignored,
            ..Diagnostics::default()
        }
    }
}
