use super::error::{ConfigError, positive, within};
use super::roster::{Grant, Observed, Roster};
use super::stream::StreamConfig;
use super::{Diagnostics, Law, RateController};
use crate::alloc;
use crate::report::{Allocation, SlotReport};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Bounds of the inner state in packets, as in the reference runs.
const INNER_RANGE: (f64, f64) = (0.05, 1000.0);
/// Bounds of the overhead estimate in seconds, far outside the region in which the law works.
const OVERHEAD_RANGE_S: (f64, f64) = (1e-6, 10.0);

/// The set point of the outer loop of [`Nonlinear`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SetPoint {
    /// min{T̄ x₁, N̄}, as published. It drives past the optimum where the optimum is shorter than
    /// the delay target.
    #[default]
    Published,
    /// min{T̄ x₁, N̄, `A_free`/w₁}: the interior optimum is an additional bound.
    Corrected,
}

/// Configuration of [`Nonlinear`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NonlinearConfig {
    /// The level that no station may exceed (N̄), 48 in the paper.
    pub level_limit: f64,
    /// The delay target (T̄).
    pub delay_target: Duration,
    /// Gain of the inner loop (K1).
    pub inner_gain: f64,
    /// Gain of the outer loop (K2).
    pub outer_gain: f64,
    /// Gain of the overhead estimator (β).
    pub overhead_gain: f64,
    /// Initial estimate of the overhead per station.
    pub frame_overhead: Duration,
    /// Initial level of a station (z).
    pub initial_level: f64,
    /// Set point of the outer loop.
    pub set_point: SetPoint,
    /// Packet sizes and rate bounds.
    pub stream: StreamConfig,
}

impl Default for NonlinearConfig {
    fn default() -> Self {
        Self {
            level_limit: 48.0,
            delay_target: Duration::from_millis(10),
            inner_gain: 0.5,
            outer_gain: 0.2,
            overhead_gain: 0.05,
            frame_overhead: Duration::from_micros(200),
            initial_level: 1.0,
            set_point: SetPoint::Published,
            stream: StreamConfig::default(),
        }
    }
}

impl NonlinearConfig {
    /// Checks every value.
    ///
    /// # Errors
    /// If a gain, level or time is outside its range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        within("level_limit", self.level_limit, 1.0, 1024.0)?;
        positive("delay_target", self.delay_target.as_secs_f64())?;
        within("inner_gain", self.inner_gain, 1e-6, 4.0)?;
        within("outer_gain", self.outer_gain, 1e-6, 4.0)?;
        within("overhead_gain", self.overhead_gain, 0.0, 1.0)?;
        positive("frame_overhead", self.frame_overhead.as_secs_f64())?;
        within(
            "initial_level",
            self.initial_level,
            INNER_RANGE.0,
            INNER_RANGE.1,
        )?;
        self.stream.validate()
    }
}

/// What the law keeps of one station.
#[derive(Clone, Copy, Debug)]
struct NonlinearStation {
    seen: Observed,
    /// Inner state z, packets.
    inner: f64,
    rate_pps: f64,
    /// Target level, min{νW, N̄}.
    target: f64,
}

/// Paper 002, eq. 24–26 and 33: an inner loop per station around the inverse model, an outer loop
/// for the delay target.
#[derive(Clone, Debug)]
pub struct Nonlinear {
    config: NonlinearConfig,
    roster: Roster<NonlinearStation>,
    /// Outer state ν: the target level of the slowest station.
    outer: f64,
    /// Estimated overhead of a round (ĉ), seconds. Its initial value depends on the number of
    /// stations that report first.
    overhead_s: Option<f64>,
}

impl Nonlinear {
    /// A controller without stations.
    ///
    /// # Errors
    /// If the configuration is refused by [`NonlinearConfig::validate`].
    pub fn new(config: NonlinearConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config,
            roster: Roster::new(),
            outer: 1.0,
            overhead_s: None,
        })
    }

    /// Index of the slowest station, the paper's station 1, and its airtime per packet in seconds
    /// (w₁).
    fn slowest(&self) -> Option<(usize, f64)> {
        let airtime = |s: &NonlinearStation| s.seen.packet_airtime_s(&self.config.stream);
        // `max_by` returns the last of equal ones, so the reversed order finds the first.
        let indexed = self.roster.states().iter().map(airtime).enumerate();
        indexed.rev().max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Eq. 33: the overhead that the slowest station's level and rate imply.
    fn estimate_overhead(&mut self, slowest: usize) -> f64 {
        let stream = self.config.stream;
        let states = self.roster.states();
        let last = self
            .overhead_s
            .unwrap_or(self.config.frame_overhead.as_secs_f64() * states.len() as f64);
        let first = &states[slowest];
        let used: f64 = states
            .iter()
            .map(|s| s.seen.packet_airtime_s(&stream) * s.rate_pps)
            .sum();
        // Without a level or a rate there is no measurement, and the estimate stays.
        let implied = first
            .seen
            .level
            .filter(|_| first.rate_pps > 0.0)
            .map(|level| level / first.rate_pps * (1.0 - used));
        let beta = self.config.overhead_gain;
        let next = implied.map_or(last, |implied| (1.0 - beta) * last + beta * implied);
        next.clamp(OVERHEAD_RANGE_S.0, OVERHEAD_RANGE_S.1)
    }

    /// Eq. 25 and 26 with the configured set point.
    fn update(&mut self, slowest: usize, slowest_airtime_s: f64) {
        let config = self.config;
        let overhead_s = self.estimate_overhead(slowest);
        self.overhead_s = Some(overhead_s);
        let outer = self.outer;
        for s in self.roster.states_mut() {
            let ratio = slowest_airtime_s / s.seen.packet_airtime_s(&config.stream);
            s.target = (outer * ratio).min(config.level_limit);
            if let Some(level) = s.seen.level.take() {
                s.inner = (s.inner + config.inner_gain * (s.target - level))
                    .clamp(INNER_RANGE.0, INNER_RANGE.1);
            }
        }
        let states = self.roster.states_mut();
        let round_s = overhead_s
            + states
                .iter()
                .map(|s| s.seen.packet_airtime_s(&config.stream) * s.inner)
                .sum::<f64>();
        for s in states {
            s.rate_pps = s.inner / round_s;
        }
        let goal = self.set_point(slowest, slowest_airtime_s, overhead_s);
        self.outer = (outer + config.outer_gain * (goal - outer)).max(1.0);
    }

    /// The value that ν tracks.
    fn set_point(&self, slowest: usize, slowest_airtime_s: f64, overhead_s: f64) -> f64 {
        let states = self.roster.states();
        let goal = (self.config.delay_target.as_secs_f64() * states[slowest].rate_pps)
            .min(self.config.level_limit);
        match self.config.set_point {
            SetPoint::Published => goal,
            SetPoint::Corrected => goal.min(self.free_airtime_s(overhead_s) / slowest_airtime_s),
        }
    }

    /// `A_free`: the payload airtime per station at the optimum without a delay target, Σ max(0, A
    /// − w N̄) = c.
    fn free_airtime_s(&self, overhead_s: f64) -> f64 {
        let NonlinearConfig {
            level_limit,
            stream,
            ..
        } = self.config;
        let station = |s: &NonlinearStation| {
            alloc::Station::new(s.seen.packet_airtime_s(&stream), 0.0, level_limit)
        };
        let stations: Vec<alloc::Station> = self.roster.states().iter().map(station).collect();
        // Airtimes and overhead are kept in range. If a number ever is not, there is no additional
        // bound.
        alloc::Waterfill::new()
            .water_level(&stations, overhead_s, alloc::DelayTerms::default())
            .unwrap_or(f64::INFINITY)
    }
}

impl RateController for Nonlinear {
    fn name(&self) -> &'static str {
        match self.config.set_point {
            SetPoint::Published => Law::Nonlinear.name(),
            SetPoint::Corrected => Law::NonlinearCorrected.name(),
        }
    }

    fn on_slot(&mut self, _now: Time, reports: &[SlotReport]) -> &[Allocation] {
        let NonlinearConfig {
            initial_level,
            stream,
            ..
        } = self.config;
        let join = || NonlinearStation {
            seen: Observed::nothing(&stream),
            inner: initial_level,
            rate_pps: 0.0,
            target: 1.0,
        };
        self.roster
            .absorb(reports, join, |state, sample| state.seen.observe(sample));
        if let Some((idx, airtime_s)) = self.slowest() {
            self.update(idx, airtime_s);
        }
        self.roster.allocate(|state| Grant {
            rate_pps: state.rate_pps,
            packet_bytes: f64::from(stream.packet_bytes),
            level: state.target,
            ..Grant::default()
        })
    }

    fn remove(&mut self, station: StationId) {
        self.roster.remove(station);
    }

    fn diagnostics(&self) -> Diagnostics {
        Diagnostics {
            overhead_s: self.overhead_s,
            ignored_reports: self.roster.ignored,
            ..Diagnostics::default()
        }
    }
}
