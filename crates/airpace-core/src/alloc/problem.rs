use thiserror::Error;

/// One station of an allocation problem.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Station {
    /// Airtime of one packet in seconds (w), retransmissions included: (payload + per-MPDU overhead
    /// bits) / PHY rate / (1 − loss).
    pub seconds_per_packet: f64,
    /// Overhead of one frame in seconds (T_oh): access, preamble, SIFS, response.
    pub overhead_s: f64,
    /// Largest aggregation level in packets per frame (N̄), at least 1.
    pub level_limit: f64,
    /// Weight (φ) of the station's share relative to the others; the default is 1.
    pub weight: f64,
}

/// What a long round costs and how long it may be. The default is neither a price nor a limit.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct DelayTerms {
    /// Largest round time in seconds (T̄).
    pub limit_s: Option<f64>,
    /// Price of delay (κ), from 0 to 1000: a round longer by one per cent costs as much as κ per
    /// cent of every station's rate. Where no level limit binds, payload takes 1 / (1 + κ) of the
    /// time.
    pub price: f64,
}

impl DelayTerms {
    /// No price, and this limit if there is one, in seconds.
    #[must_use]
    pub const fn limit(limit_s: Option<f64>) -> Self {
        Self {
            limit_s,
            price: 0.0,
        }
    }
}

/// A set of stations, a delay target and a price of delay, all in range.
#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    stations: Vec<Station>,
    delay: DelayTerms,
    overhead_s: f64,
}

/// Why a problem is refused. The permitted ranges are wide; they keep every result finite.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// There are no stations.
    #[error("no stations: name at least one")]
    Empty,
    /// A value of a station is NaN or out of range.
    #[error("station {}: {what} is {value}; it must be from {min:e} to {max:e}", station + 1)]
    Station {
        /// Index of the station, from zero; messages count from one.
        station: usize,
        /// Name of the value.
        what: &'static str,
        /// The value.
        value: f64,
        /// Smallest value allowed.
        min: f64,
        /// Largest value allowed.
        max: f64,
    },
    /// The overhead of a round is out of range. Without overhead a round has no length.
    #[error("the overhead of a round is {0} s; it must be from 1e-12 to 1e9 s")]
    Overhead(f64),
    /// The delay target is out of range.
    #[error("the delay target is {0} s; it must be above 0 and finite")]
    Delay(f64),
    /// The price of delay is out of range.
    #[error("the price of delay is {0}; it must be from 0 to {PRICE_MAX}")]
    Price(f64),
}

/// The error for a delay target that no allocation can meet.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[error(
    "a delay target of {} ms cannot be held: overhead and one packet for each station take {} ms; ask for more than that",
    delay_s * 1e3, smallest_s * 1e3
)]
pub struct Infeasible {
    /// The requested target in seconds.
    pub delay_s: f64,
    /// Targets above this are feasible, in seconds: c + Σ wᵢ.
    pub smallest_s: f64,
}

/// An allocation, one entry per station in the order of the problem.
#[derive(Clone, PartialEq, Debug)]
pub struct Solution {
    /// Aggregation level in packets per round (μ). Below 1 the station is not served in every
    /// round; the round is then shorter than `round_s`, which counts the overhead of every station.
    pub level: Vec<f64>,
    /// Send rate in packets per second (x).
    pub rate_pps: Vec<f64>,
    /// Round time in seconds (D).
    pub round_s: f64,
    /// The value of the objective: Σ φ log x, unless the solver was given another utility.
    pub utility: f64,
}

/// A constraint that an allocation violates.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum Violation {
    /// A station's level exceeds its limit.
    #[error("station {} needs {level:.1} packets per frame; its limit is {limit}", station + 1)]
    Level {
        /// Index of the station, from zero; messages count from one.
        station: usize,
        /// Its level.
        level: f64,
        /// Its limit.
        limit: f64,
    },
    /// The round exceeds the delay target.
    #[error("a round takes {} ms; the target is {} ms", round_s * 1e3, delay_s * 1e3)]
    Delay {
        /// The round time.
        round_s: f64,
        /// The target.
        delay_s: f64,
    },
    /// The rates exceed the capacity of the channel at any level.
    #[error("the packets alone need {airtime:.3} of the airtime")]
    Overload {
        /// Share of time that the packets take without overhead (wᵀx).
        airtime: f64,
    },
}

impl Station {
    /// A station of weight 1.
    #[must_use]
    pub const fn new(seconds_per_packet: f64, overhead_s: f64, level_limit: f64) -> Self {
        Self {
            seconds_per_packet,
            overhead_s,
            level_limit,
            weight: 1.0,
        }
    }

    /// The same station with another weight.
    #[must_use]
    pub const fn with_weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    pub(super) fn check(&self, station: usize) -> Result<(), ProblemError> {
        let ranges = [
            (
                "airtime of a packet in s",
                self.seconds_per_packet,
                1e-12,
                1e6,
            ),
            ("overhead of a frame in s", self.overhead_s, 0.0, 1e6),
            ("level limit", self.level_limit, 1.0, 1e9),
            ("weight", self.weight, 1e-9, 1e9),
        ];
        for (what, value, min, max) in ranges {
            // Negated so that NaN counts as out of range.
            if !(min..=max).contains(&value) {
                return Err(ProblemError::Station {
                    station,
                    what,
                    value,
                    min,
                    max,
                });
            }
        }
        Ok(())
    }
}

/// Checks everything but the stations' own values: that there are stations, the overhead of a
/// round, the delay target and the price of delay.
pub(super) fn check_common(
    stations: usize,
    overhead_s: f64,
    delay: DelayTerms,
) -> Result<(), ProblemError> {
    if stations == 0 {
        return Err(ProblemError::Empty);
    }
    if !(1e-12..=1e9).contains(&overhead_s) {
        return Err(ProblemError::Overhead(overhead_s));
    }
    delay.check()
}

/// Largest price of delay that is accepted: with it payload takes a thousandth of the time.
const PRICE_MAX: f64 = 1000.0;

impl DelayTerms {
    fn check(&self) -> Result<(), ProblemError> {
        if !(0.0..=PRICE_MAX).contains(&self.price) {
            return Err(ProblemError::Price(self.price));
        }
        match self.limit_s {
            Some(limit) if !(limit > 0.0 && limit.is_finite()) => Err(ProblemError::Delay(limit)),
            _ => Ok(()),
        }
    }
}

impl Problem {
    /// A problem over `stations`, with a limit on the round time in seconds if `delay_s` is given.
    ///
    /// # Errors
    /// [`ProblemError`] if a number is out of range.
    pub fn new(stations: Vec<Station>, delay_s: Option<f64>) -> Result<Self, ProblemError> {
        for (index, station) in stations.iter().enumerate() {
            station.check(index)?;
        }
        let overhead_s = stations.iter().map(|s| s.overhead_s).sum();
        let delay = DelayTerms::limit(delay_s);
        check_common(stations.len(), overhead_s, delay)?;
        Ok(Self {
            stations,
            delay,
            overhead_s,
        })
    }

    /// The same problem with a price of delay: κ Φ log D is subtracted from the utility, where Φ is
    /// the sum of the weights.
    ///
    /// # Errors
    /// [`ProblemError::Price`] unless `price` (κ) is from 0 to 1000.
    pub fn with_price(mut self, price: f64) -> Result<Self, ProblemError> {
        self.delay.price = price;
        self.delay.check()?;
        Ok(self)
    }

    /// The stations.
    #[must_use]
    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    /// The delay target in seconds (T̄).
    #[must_use]
    pub const fn delay_s(&self) -> Option<f64> {
        self.delay.limit_s
    }

    /// The delay target and the price of delay.
    #[must_use]
    pub const fn delay(&self) -> DelayTerms {
        self.delay
    }

    /// κ Φ, what the logarithm of the round time weighs.
    pub(super) fn weighted_price(&self) -> f64 {
        self.delay.price * self.stations.iter().map(|s| s.weight).sum::<f64>()
    }

    /// What is maximised with the utility Σ φ log x: Σ φ log x − κ Φ log D, with D in seconds.
    #[must_use]
    pub fn objective(&self, solution: &Solution) -> f64 {
        self.log_utility(&solution.rate_pps) - self.weighted_price() * solution.round_s.ln()
    }

    /// Overhead of a round in seconds (c).
    #[must_use]
    pub const fn overhead_s(&self) -> f64 {
        self.overhead_s
    }

    /// Overhead of a round plus one packet for each station, in seconds. Delay targets must exceed
    /// this.
    #[must_use]
    pub fn smallest_delay_s(&self) -> f64 {
        self.overhead_s
            + self
                .stations
                .iter()
                .map(|s| s.seconds_per_packet)
                .sum::<f64>()
    }

    /// Checks that the delay target can be met.
    ///
    /// # Errors
    /// [`Infeasible`], with the smallest feasible target, if it cannot.
    pub fn check_delay(&self) -> Result<(), Infeasible> {
        let smallest_s = self.smallest_delay_s();
        match self.delay.limit_s {
            Some(delay_s) if delay_s <= smallest_s => Err(Infeasible {
                delay_s,
                smallest_s,
            }),
            _ => Ok(()),
        }
    }

    /// The allocation with these levels: D = c + wᵀμ, x = μ / D.
    pub(super) fn at_levels(&self, level: Vec<f64>) -> Solution {
        let airtime: f64 = self
            .stations
            .iter()
            .zip(&level)
            .map(|(s, l)| s.seconds_per_packet * l)
            .sum();
        let round_s = self.overhead_s + airtime;
        let rate_pps: Vec<f64> = level.iter().map(|l| l / round_s).collect();
        let utility = self.log_utility(&rate_pps);
        Solution {
            level,
            rate_pps,
            round_s,
            utility,
        }
    }

    /// Σ φ log x.
    #[must_use]
    pub fn log_utility(&self, rate_pps: &[f64]) -> f64 {
        self.stations
            .iter()
            .zip(rate_pps)
            .map(|(s, x)| s.weight * x.ln())
            .sum()
    }

    /// Checks that rates in packets per second respect all level limits and the delay target,
    /// within a relative `tolerance`.
    ///
    /// # Errors
    /// [`Violation`] with the first constraint that is violated.
    pub fn check_rates(&self, rate_pps: &[f64], tolerance: f64) -> Result<(), Violation> {
        let airtime: f64 = self
            .stations
            .iter()
            .zip(rate_pps)
            .map(|(s, x)| s.seconds_per_packet * x)
            .sum();
        if airtime >= 1.0 {
            return Err(Violation::Overload { airtime });
        }
        let round_s = self.overhead_s / (1.0 - airtime);
        for (station, (s, x)) in self.stations.iter().zip(rate_pps).enumerate() {
            let (level, limit) = (round_s * x, s.level_limit);
            if level > limit * (1.0 + tolerance) {
                return Err(Violation::Level {
                    station,
                    level,
                    limit,
                });
            }
        }
        match self.delay.limit_s {
            Some(delay_s) if round_s > delay_s * (1.0 + tolerance) => {
                Err(Violation::Delay { round_s, delay_s })
            }
            _ => Ok(()),
        }
    }
}
