//! From the overhead per frame to levels and a round: water-filling, with the frames that a round really holds.

/// One station in the problem.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Party {
    /// Airtime per packet, seconds (w).
    pub(super) airtime_s: f64,
    /// The greatest level (N̄).
    pub(super) level_limit: f64,
    /// What a demand-limited station takes, packets per second; `None` for one that takes what it is given.
    pub(super) demand_pps: Option<f64>,
}

/// The answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Share {
    /// Payload airtime of a station that is not at its level limit, seconds per round (A).
    pub(super) airtime_s: f64,
    /// The round aimed at, seconds (D).
    pub(super) round_s: f64,
    /// Overhead of that round, seconds (c).
    pub(super) overhead_s: f64,
    /// Smallest feasible delay, if the target is below it.
    pub(super) smallest_delay_s: Option<f64>,
}

/// Passes over the number of frames per round: only stations below one packet per round need a second.
const PASSES: usize = 4;
/// Least level of the fastest station. Below one packet per round nothing aggregates and the round cannot be seen.
const LEAST_LEVEL: f64 = 1.2;

/// Solves for the stations that take what they are given; the others lengthen the round.
pub(super) fn solve(parties: &[Party], frame_s: f64, delay_s: Option<f64>) -> Share {
    let mut share = Share { airtime_s: f64::INFINITY, round_s: 0.0, overhead_s: 0.0, smallest_delay_s: None };
    let mut order: Vec<Party> = parties.iter().filter(|p| p.demand_pps.is_none()).copied().collect();
    let full = |p: &Party| p.airtime_s * p.level_limit;
    order.sort_unstable_by(|a, b| full(a).total_cmp(&full(b)));
    for _ in 0..PASSES {
        share = pass(parties, &order, frame_s, delay_s, share);
    }
    share
}

/// One pass: counts the frames of the round that the last pass found, then fills again.
fn pass(parties: &[Party], order: &[Party], frame_s: f64, delay_s: Option<f64>, last: Share) -> Share {
    let mut overhead_s = 0.0;
    let mut taken = 0.0;
    for p in parties {
        match p.demand_pps {
            None => overhead_s += frame_s * level(p, last.airtime_s).min(1.0),
            Some(pps) if pps * last.round_s < 1.0 => taken += pps * (p.airtime_s + frame_s),
            Some(pps) => {
                taken += pps * p.airtime_s;
                overhead_s += frame_s;
            }
        }
    }
    let open = 1.0 - taken.min(0.95);
    let least = least_airtime_s(order);
    let wanted = free_airtime_s(order, overhead_s)
        .min(delay_s.map_or(f64::INFINITY, |t| timed_airtime_s(order, t * open - overhead_s)));
    let airtime_s = wanted.max(least);
    let payload: f64 = order.iter().map(|p| p.airtime_s * level(p, airtime_s)).sum();
    let round_s = (overhead_s + payload) / open;
    Share { airtime_s, round_s, overhead_s, smallest_delay_s: (wanted < least).then_some(round_s) }
}

/// Level of a station when each uncapped one has `airtime_s` of payload per round.
pub(super) fn level(p: &Party, airtime_s: f64) -> f64 {
    (airtime_s / p.airtime_s).min(p.level_limit)
}

/// Airtime at which the fastest station sends the least level.
fn least_airtime_s(order: &[Party]) -> f64 {
    order.iter().map(|p| p.airtime_s).fold(f64::INFINITY, f64::min) * LEAST_LEVEL
}

/// Σ max(0, A − w N̄) = c over stations in the order of w N̄.
fn free_airtime_s(order: &[Party], overhead_s: f64) -> f64 {
    let mut poured = overhead_s;
    for (idx, p) in order.iter().enumerate() {
        poured += p.airtime_s * p.level_limit;
        let water = poured / (idx + 1) as f64;
        if order.get(idx + 1).is_none_or(|next| water <= next.airtime_s * next.level_limit) {
            return water;
        }
    }
    f64::INFINITY
}

/// Σ min(w N̄, A) = `payload_s` over stations in the order of w N̄; infinite if that is more than all stations take.
fn timed_airtime_s(order: &[Party], payload_s: f64) -> f64 {
    let mut left = payload_s.max(0.0);
    for (idx, p) in order.iter().enumerate() {
        let water = left / (order.len() - idx) as f64;
        let full = p.airtime_s * p.level_limit;
        if water <= full {
            return water;
        }
        left -= full;
    }
    f64::INFINITY
}
