//! Water-filling on a measured round, our law. `docs/design/waterfill.md` has its design, equations
//! and limits.

mod audit;
mod backlog;
mod config;
mod elsewhere;
mod frame_limit;
mod granted;
mod heard;
mod overhead;
mod share;
mod station;
mod tail;

pub use config::WaterfillConfig;
pub(super) use overhead::UPLINK_MOST;

use super::roster::{Grant, Roster};
use super::{AirEstimate, BacklogChange, ConfigError, Diagnostics, Law, LawConfig, RateController};
use crate::alloc::DelayTerms;
use crate::report::{Allocation, SlotReport};
use airpace_units::{StationId, Time};
use audit::Audit;
use core::time::Duration;
use overhead::Overhead;
use share::{Claim, Demand, Share, Solver};
use station::StationEstimate;
use std::collections::BTreeMap;
use tail::Tail;

/// Part of the price that applies where all PHY rates are assumed. At the whole price three downloads at MCS 4
/// or MCS 1 had 0.955 and 0.94 of what agents give; at this part they have 0.995 and 0.98, with pings no longer
/// than with agents (simulated).
const ASSUMED_PRICE: f64 = 2.0 / 3.0;
/// That part applies in full if the PHY rates of at least this share of the stations are assumed, and below it in
/// proportion. With an agent on one of three stations rounds are too short as well: at MCS 4 the three had 0.965 of
/// what agents on all give when the part was in proportion to the share.
const ASSUMED_SHARE: f64 = 2.0 / 3.0;

/// The default law. It measures the round time and the levels, gets the overhead from them by
/// subtraction, and computes the optimum of the proportional fair problem in each slot. It has no
/// integrator.
#[derive(Clone, Debug)]
pub struct Waterfill {
    config: WaterfillConfig,
    roster: Roster<StationEstimate>,
    overhead: Overhead,
    audit: Audit,
    solver: Solver,
    share: Option<Share>,
    tail: Tail,
    /// Weights other than 1.
    weights: BTreeMap<StationId, f64>,
}

impl Waterfill {
    /// A controller without stations.
    ///
    /// # Errors
    /// If the configuration is refused by [`WaterfillConfig::validate`].
    pub fn new(config: WaterfillConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let overhead = Overhead::new(config.frame_overhead.as_secs_f64(), config.quiet_gain);
        Ok(Self {
            config,
            roster: Roster::new(),
            overhead,
            audit: Audit::new(config.frame_overhead.as_secs_f64()),
            solver: Solver::default(),
            share: None,
            tail: Tail::new(&config),
            weights: BTreeMap::new(),
        })
    }

    /// Solves the allocation problem for the stations as they are now.
    fn solve(&mut self) -> Option<Share> {
        let stations = self.roster.states();
        if stations.is_empty() {
            return None;
        }
        // Without any backlog, each station gets the rate that it would have if all were
        // backlogged, ready for a burst.
        let any_backlog = stations.iter().any(|s| s.demand() == Demand::Greedy);
        let assumed_demand = |demand| {
            if any_backlog || matches!(demand, Demand::Probed(_)) {
                demand
            } else {
                Demand::Greedy
            }
        };
        let config = &self.config;
        self.solver.set(
            self.roster.ids().iter().zip(stations).map(|(id, s)| Claim {
                airtime_s: s.strained_airtime_s() * s.repeats() + s.answer_s(),
                level_limit: s.level_limit(config),
                weight: self.weights.get(id).copied().unwrap_or(1.0),
                demand: assumed_demand(s.demand()),
            }),
            overhead::uplink_share(stations),
        );
        let delay = DelayTerms {
            limit_s: config
                .delay_target
                .map(|t| t.as_secs_f64() * (1.0 - config.delay_margin)),
            price: self.price(),
        };
        let even_price = config.even_price;
        Some(
            self.solver
                .solve(self.overhead.frame_s(), delay, even_price),
        )
    }

    /// The price of delay (κ) as it is now.
    ///
    /// An assumed PHY rate already contains part of a frame's overhead. What is measured of the overhead is then
    /// too little, and rounds become too short, so the price is lower. Two cases keep the whole price: a latency,
    /// which moves the price until it is met, and uploads, beside which downloads lose in longer rounds.
    fn price(&self) -> f64 {
        let stations = self.roster.states();
        if self.config.latency.is_some() || stations.iter().any(|s| s.answer_s() > 0.0) {
            return self.tail.price();
        }
        let assumed = stations.iter().filter(|s| s.rate_assumed).count();
        let share = assumed as f64 / stations.len().max(1) as f64;
        let part = (share / ASSUMED_SHARE).min(1.0);
        self.tail.price() * (1.0 - (1.0 - ASSUMED_PRICE) * part)
    }

    /// Gives every station its share of the air as it is now.
    fn divide(&mut self, now: Time) {
        let Some(share) = self.solve() else { return };
        let stations = self.roster.states_mut().iter_mut();
        for (station, claim) in stations.zip(self.solver.claims()) {
            let (level, rate_pps) = match claim.demand {
                Demand::Probed(pps) => (0.0, pps),
                _ => {
                    let level = claim.level(share.airtime_s);
                    (level, station.repeats() * level / share.round_s)
                }
            };
            station.grant(now, level, rate_pps, self.config.floor_pps);
        }
        self.share = Some(share);
    }

    fn allocations(&mut self) -> &[Allocation] {
        self.roster.allocate(|s| Grant {
            rate_pps: s.rate_pps,
            packet_bytes: s.packet_bytes(),
            level: s.target_level,
            pause: Duration::try_from_secs_f64(s.pause_s).unwrap_or_default(),
        })
    }
}

impl RateController for Waterfill {
    fn name(&self) -> &'static str {
        Law::Waterfill.name()
    }

    fn on_slot(&mut self, now: Time, reports: &[SlotReport]) -> &[Allocation] {
        let config = self.config;
        for station in self.roster.states_mut() {
            station.age(now);
        }
        let stations = self.roster.ids().len();
        self.roster.absorb(
            reports,
            || StationEstimate::new(now, &config),
            |station, sample| station.observe(now, sample, &config),
        );
        if self.roster.ids().len() != stations {
            self.audit.on_change();
        }
        frame_limit::limit_to_shared(self.roster.states_mut(), &config);
        let aimed_s = self.share.map(|share| share.round_s);
        self.overhead.observe(self.roster.states(), aimed_s);
        self.audit.observe(self.roster.states_mut());
        if !config.obeyed {
            for station in self.roster.states_mut() {
                station.forget_queues();
            }
        } else if let Some(share) = self.share {
            self.tail
                .observe(now, &config, self.roster.states(), share.round_s);
        }
        self.divide(now);
        for station in self.roster.states_mut() {
            station.conclude();
        }
        self.allocations()
    }

    fn on_backlog(&mut self, now: Time, changes: &[BacklogChange]) -> Option<&[Allocation]> {
        let mut changed = false;
        for change in changes {
            if let Some(station) = self.roster.state_mut(change.station) {
                changed |= station.set_waiting(change.waits);
            }
        }
        changed.then(|| {
            // Pauses hold from the decisions that began them.
            for station in self.roster.states_mut() {
                station.pause_s = 0.0;
            }
            self.divide(now);
            self.allocations()
        })
    }

    fn takes_news(&self) -> bool {
        true
    }

    fn remove(&mut self, station: StationId) {
        self.roster.remove(station);
        self.audit.on_change();
    }

    fn set_weight(&mut self, station: StationId, weight: f64) -> bool {
        let valid = (1e-3..=1e3).contains(&weight);
        if valid {
            self.weights.insert(station, weight);
        }
        valid
    }

    fn reconfigure(&mut self, config: &LawConfig) -> bool {
        match config {
            LawConfig::Waterfill(config) if config.validate().is_ok() => {
                if config.price != self.config.price
                    || config.latency != self.config.latency
                    || config.obeyed != self.config.obeyed
                {
                    // What the price has moved to was for the other aim.
                    self.tail = Tail::new(config);
                }
                self.config = *config;
                true
            }
            _ => false,
        }
    }

    fn diagnostics(&self) -> Diagnostics {
        let capped = self
            .roster
            .states()
            .iter()
            .filter(|s| s.elsewhere.cap_pps().is_some())
            .count();
        Diagnostics {
            overhead_s: self.share.map(|s| s.overhead_s),
            round_s: self.overhead.round().map(|r| r.time_s),
            aimed_round_s: self.share.map(|s| s.round_s),
            smallest_delay_s: self.share.and_then(|s| s.smallest_delay_s),
            least_latency_s: self.tail.least_feasible_s(),
            price: Some(self.price()),
            capped_elsewhere: u32::try_from(capped).unwrap_or(u32::MAX),
            ignored_reports: self.roster.ignored,
        }
    }

    fn station_estimate(&self, station: StationId) -> Option<AirEstimate> {
        let estimate = self.roster.state(station)?;
        Some(estimate.air(&self.config, self.overhead.frame_s()))
    }
}
