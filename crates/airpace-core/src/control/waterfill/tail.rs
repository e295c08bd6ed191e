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

/// The longest waiting time counts up to this factor above the second longest.
const ALONE_FACTOR: f64 = 1.1;
/// The same where there are only two.
const PAIR_FACTOR: f64 = 2.0;

/// The price of delay as it is now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    price: f64,
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
        self.worst_s = worst_credible(stations);
        // Without a price, or without measured waiting times, there is nothing to move.
        let (Some(worst_s), true) = (self.worst_s, config.price > 0.0) else {
            self.price = config.price;
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
        let error = (worst_s.max(1e-6) / target_s)
            .ln()
            .clamp(-ERROR_MOST, ERROR_MOST);
        let gain = GAINS[usize::from(error < 0.0)] * slots.min(SLOTS_MOST);
        self.price = (self.price * (gain * error).exp()).clamp(least, most);
        let missed = config
            .latency
            .is_some_and(|latency| worst_s > MISSED_FACTOR * latency.as_secs_f64());
        self.missed_slots = if missed && self.price >= most {
            self.missed_slots + slots
        } else {
            0.0
        };
    }
}

/// Longest 95th percentile of the waiting times in seconds that moves the price.
///
/// Rounds are the same for all stations, and the price answers for rounds. So a wait far beyond what
/// another station sees is that station's own: a queue, which is drained, or retransmissions, or a
/// path before the access point, or an invention.
fn worst_credible(stations: &[StationEstimate]) -> Option<f64> {
    let mut waits: Vec<f64> = stations
        .iter()
        .filter(|station| station.elsewhere.cap_pps().is_none())
        .filter_map(StationEstimate::wait_p95_s)
        .collect();
    waits.sort_by(|a, b| b.total_cmp(a));
    match waits[..] {
        [] => None,
        [only] => Some(only),
        // Two stations cannot be told apart by what they say of each other.
        [longest, second] => Some(longest.min(PAIR_FACTOR * second)),
        [longest, second, ..] => Some(longest.min(ALONE_FACTOR * second)),
    }
}
