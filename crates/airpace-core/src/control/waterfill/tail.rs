//! Moves the price of delay so that the tail of the waiting time meets a target.

use super::config::WaterfillConfig;
use super::station::StationEstimate;
use airpace_units::Time;
use core::time::Duration;

/// The law aims at this share of a latency that the operator has set, so that noise does not push
/// the 95th percentile above it.
const AIMED_SHARE: f64 = 0.8;
/// Without such a latency, the price rises above that of the aim while packets of some station wait
/// longer than this at the 95th percentile ...
const TOLERATED: Duration = Duration::from_millis(18);
/// ... and longer than this many rounds: queues stand, although the rounds alone do not ask for it.
const TOLERATED_ROUNDS: f64 = 2.5;
/// Gain of the logarithm of the price per slot of 100 ms: up and down.
const GAINS: [f64; 2] = [0.12, 0.1];
/// Length of the slot for which the gains hold, seconds.
const GAIN_SLOT_S: f64 = 0.1;
/// Most slots of that length that count at once.
const SLOTS_MOST: f64 = 2.0;
/// Largest step of the logarithm in one slot, before the gain: a single burst does not move it far.
const ERROR_MOST: f64 = 1.0;
/// Bounds of the price while a latency is aimed at. At the upper one packets take a quarter of the
/// time; beyond it rounds are hardly shorter.
const BOUNDS: (f64, f64) = (0.03, 3.0);
/// Largest factor by which the price exceeds that of the aim.
const FACTOR_MOST: f64 = 3.0;
/// Slots of 100 ms at the upper bound after which a latency counts as infeasible.
const INFEASIBLE_SLOTS: f64 = 20.0;
/// A latency that is exceeded by less than this factor counts as met.
const MISSED_FACTOR: f64 = 1.1;

/// Where three stations or more tell their waiting times, what one of them alone tells costs all of
/// them at most this factor in rate: rates are in proportion to 1 / (1 + κ).
const COST_MOST: f64 = 1.08;
/// The longest waiting time is not one of a station alone up to this factor above the second longest.
const SECOND_FACTOR: f64 = 1.1;
/// Of two stations, the longest waiting time counts up to this factor above the other: neither can be
/// told apart from a liar by what they say of each other.
const PAIR_FACTOR: f64 = 2.0;

/// The price of delay as it is now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    price: f64,
    /// The price without what one station alone tells.
    shared_price: f64,
    /// Slots for which the price has been at its upper bound in vain.
    missed_slots: f64,
    worst_s: Option<f64>,
    /// When the last slot was taken.
    observed: Option<Time>,
}

impl Tail {
    /// Starts at the price of the aim.
    pub(super) const fn new(config: &WaterfillConfig) -> Self {
        Self {
            price: config.price,
            shared_price: config.price,
            missed_slots: 0.0,
            worst_s: None,
            observed: None,
        }
    }

    /// The price of delay (κ).
    pub(super) const fn price(&self) -> f64 {
        self.price
    }

    /// The least latency that seems feasible in seconds, while the one that was asked for is not.
    pub(super) fn least_feasible_s(&self) -> Option<f64> {
        self.worst_s
            .filter(|_| self.missed_slots >= INFEASIBLE_SLOTS)
    }

    /// Takes a slot in which rounds of `round_s` were aimed at.
    pub(super) fn observe(
        &mut self,
        now: Time,
        config: &WaterfillConfig,
        stations: &[StationEstimate],
        round_s: f64,
    ) {
        // Shorter rounds do not shorten the wait for an upload, and where nobody sees its frames, no waiting
        // time of the uploader bounds what the others tell.
        let is_told =
            config.latency.is_some() || !stations.iter().any(StationEstimate::uploads_unseen);
        let waits = Waits::of(stations).filter(|_| is_told);
        self.worst_s = waits.map(|waits| waits.worst_s);
        // Without a price, or without measured waiting times, there is nothing to move.
        let (Some(Waits { worst_s, shared_s }), true) = (waits, config.price > 0.0) else {
            (self.price, self.shared_price) = (config.price, config.price);
            return;
        };
        let (target_s, least, most) = match config.latency {
            Some(latency) => (AIMED_SHARE * latency.as_secs_f64(), BOUNDS.0, BOUNDS.1),
            None => {
                let tolerated_s = TOLERATED.as_secs_f64().max(TOLERATED_ROUNDS * round_s);
                (tolerated_s, config.price, FACTOR_MOST * config.price)
            }
        };
        let elapsed_s = self
            .observed
            .map_or(0.0, |last| now.saturating_since(last).as_secs_f64());
        self.observed = Some(now);
        let slots = elapsed_s / GAIN_SLOT_S;
        let moved = |price: f64, wait_s: f64| {
            let error = (wait_s.max(1e-6) / target_s)
                .ln()
                .clamp(-ERROR_MOST, ERROR_MOST);
            let gain = GAINS[usize::from(error < 0.0)] * slots.min(SLOTS_MOST);
            (price * (gain * error).exp()).clamp(least, most)
        };
        self.shared_price = moved(self.shared_price, shared_s);
        let bound = if shared_s < worst_s {
            most.min(COST_MOST * (1.0 + self.shared_price) - 1.0)
        } else {
            most
        };
        self.price = moved(self.price, worst_s).min(bound);
        let missed = config
            .latency
            .is_some_and(|latency| worst_s > MISSED_FACTOR * latency.as_secs_f64());
        self.missed_slots = if missed && self.price >= bound {
            self.missed_slots + slots
        } else {
            0.0
        };
    }
}

/// Longest waiting times that move the price, 95th percentiles in seconds.
#[derive(Clone, Copy, Debug)]
struct Waits {
    /// The longest that is believed.
    worst_s: f64,
    /// The longest that no station tells alone.
    shared_s: f64,
}

impl Waits {
    /// Takes the waiting times of the stations; `None` if none is measured.
    ///
    /// Rounds are the same for all stations, so shorter ones help whoever waits longest. But a wait
    /// that one station alone tells may be its own retransmissions, or an invention.
    fn of(stations: &[StationEstimate]) -> Option<Self> {
        let mut waits: Vec<f64> = stations
            .iter()
            .filter(|station| station.elsewhere.cap_pps().is_none())
            .filter_map(StationEstimate::wait_p95_s)
            .collect();
        waits.sort_by(|a, b| b.total_cmp(a));
        let (worst_s, shared_s) = match waits[..] {
            [] => return None,
            [only] => (only, only),
            [longest, second] => {
                let credible_s = longest.min(PAIR_FACTOR * second);
                (credible_s, credible_s)
            }
            [longest, second, ..] => (longest, longest.min(SECOND_FACTOR * second)),
        };
        Some(Self { worst_s, shared_s })
    }
}
