use super::problem::{
    DelayTerms, Infeasible, Problem, ProblemError, Solution, Station, check_common,
};
use thiserror::Error;

/// The proportional fair allocation in closed form, O(n log n).
///
/// μᵢ = min(N̄ᵢ, φᵢ A / wᵢ), where A is the payload airtime per round of a station of weight 1
/// below its limit. A is the lesser of two values: the solution of
/// Σ max(0, φᵢ A − wᵢ N̄ᵢ) + κ Φ A = c, where the next packet is worth as much as the delay that it
/// adds, and the value at which the round lasts T̄. `docs/design/delay-price.md` has the proof.
///
/// # Errors
/// [`Infeasible`] if overhead and one packet for each station exceed the delay target.
pub fn waterfill(problem: &Problem) -> Result<Solution, Infeasible> {
    problem.check_delay()?;
    let mut filler = Waterfill::new();
    filler.fill(problem.stations(), problem.overhead_s(), problem.delay());
    Ok(problem.at_levels(filler.level))
}

/// Computes the same allocation in buffers that it keeps from call to call, for controllers that
/// allocate every slot.
#[derive(Clone, Debug, Default)]
pub struct Waterfill {
    order: Vec<Ranked>,
    level: Vec<f64>,
}

/// A station in the order in which the rising water level reaches its limit.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    /// Water level at which the station reaches its limit (wᵢ N̄ᵢ / φᵢ).
    reached_s: f64,
    /// Its payload airtime there (wᵢ N̄ᵢ).
    cap_s: f64,
    weight: f64,
    /// Sum of the weights of this and all later stations.
    weight_from_here: f64,
}

/// The solution of [`Waterfill::solve`]. Rates are `level / round_s`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Filled<'a> {
    /// Aggregation levels (μ), in the order of the stations.
    pub level: &'a [f64],
    /// Round time in seconds (D).
    pub round_s: f64,
    /// The water level in seconds (A).
    pub airtime_s: f64,
    /// Whether the delay target binds.
    pub delay_binds: bool,
}

/// Why [`Waterfill::solve`] returns no solution.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum WaterfillError {
    /// A number is out of range.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The delay target is too short.
    #[error(transparent)]
    Infeasible(#[from] Infeasible),
}

impl Waterfill {
    /// A solver with empty buffers, which grow to the size of the largest problem.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            order: Vec::new(),
            level: Vec::new(),
        }
    }

    /// Allocates to `stations` in a round with a total overhead of `overhead_s`. The overhead is
    /// usually measured, so the stations' own `overhead_s` is ignored.
    ///
    /// # Errors
    /// [`WaterfillError`] if a number is out of range or the delay target is too short.
    pub fn solve(
        &mut self,
        stations: &[Station],
        overhead_s: f64,
        delay: DelayTerms,
    ) -> Result<Filled<'_>, WaterfillError> {
        check_common(stations.len(), overhead_s, delay)?;
        let mut smallest_s = overhead_s;
        for (index, station) in stations.iter().enumerate() {
            station.check(index)?;
            smallest_s += station.seconds_per_packet;
        }
        // One packet for each station is the least that a round can carry.
        if let Some(delay_s) = delay.limit_s.filter(|&d| d <= smallest_s) {
            return Err(Infeasible {
                delay_s,
                smallest_s,
            }
            .into());
        }
        let (airtime_s, delay_binds) = self.fill(stations, overhead_s, delay);
        let payload: f64 = stations
            .iter()
            .zip(&self.level)
            .map(|(s, l)| s.seconds_per_packet * l)
            .sum();
        Ok(Filled {
            level: &self.level,
            round_s: overhead_s + payload,
            airtime_s,
            delay_binds,
        })
    }

    /// Returns only the water level A in seconds, for callers that allow less than one packet per
    /// round. A station's level is then min(N̄, φ A / w). The result is 0 if the overhead alone
    /// exceeds the delay target.
    ///
    /// # Errors
    /// [`ProblemError`] if a number is out of range.
    pub fn water_level(
        &mut self,
        stations: &[Station],
        overhead_s: f64,
        delay: DelayTerms,
    ) -> Result<f64, ProblemError> {
        check_common(stations.len(), overhead_s, delay)?;
        stations
            .iter()
            .enumerate()
            .try_for_each(|(index, station)| station.check(index))?;
        let left = delay.limit_s.map(|limit| (limit - overhead_s).max(0.0));
        self.rank(stations);
        let free = self.free_level(overhead_s, delay.price);
        Ok(left
            .and_then(|left| self.tight_level(left))
            .map_or(free, |tight| tight.min(free)))
    }

    /// Fills `self.level` from checked values. Returns the water level and whether the delay target
    /// binds.
    fn fill(&mut self, stations: &[Station], overhead_s: f64, delay: DelayTerms) -> (f64, bool) {
        self.rank(stations);
        let free = self.free_level(overhead_s, delay.price);
        let tight = delay
            .limit_s
            .and_then(|limit| self.tight_level(limit - overhead_s));
        let airtime_s = tight.map_or(free, |tight| tight.min(free));
        self.level.clear();
        self.level.extend(stations.iter().map(|s| {
            s.level_limit
                .min(s.weight * airtime_s / s.seconds_per_packet)
        }));
        (airtime_s, airtime_s < free)
    }

    /// Sorts the stations by the water level at which they reach their limit. The weights are
    /// summed from the end, so that small remainders are not differences of large sums.
    fn rank(&mut self, stations: &[Station]) {
        self.order.clear();
        self.order.extend(stations.iter().map(|s| {
            let cap_s = s.seconds_per_packet * s.level_limit;
            Ranked {
                reached_s: cap_s / s.weight,
                cap_s,
                weight: s.weight,
                weight_from_here: 0.0,
            }
        }));
        self.order
            .sort_unstable_by(|a, b| a.reached_s.total_cmp(&b.reached_s));
        let mut sum = 0.0;
        for ranked in self.order.iter_mut().rev() {
            sum += ranked.weight;
            ranked.weight_from_here = sum;
        }
    }

    /// Solves Σ max(0, φᵢ A − wᵢ N̄ᵢ) + κ Φ A = c for A. The left side is piecewise linear and rises
    /// from the start if delay has a price, otherwise once the first station is at its limit.
    fn free_level(&self, overhead_s: f64, price: f64) -> f64 {
        let total_weight = self
            .order
            .first()
            .map_or(0.0, |first| first.weight_from_here);
        let (mut weight, mut volume) = (price * total_weight, overhead_s);
        let mut level = if weight > 0.0 {
            volume / weight
        } else {
            f64::INFINITY
        };
        for ranked in &self.order {
            // The level does not reach this station's limit, nor that of any later one.
            if level <= ranked.reached_s {
                break;
            }
            weight += ranked.weight;
            volume += ranked.cap_s;
            level = volume / weight;
        }
        level
    }

    /// Solves Σ min(wᵢ N̄ᵢ, φᵢ A) = `payload_s` for A. Returns `None` if all stations at their
    /// limits take less than that.
    fn tight_level(&self, payload_s: f64) -> Option<f64> {
        let mut left = payload_s;
        for ranked in &self.order {
            // What is left does not bring the remaining stations to this limit: they divide it.
            if left <= ranked.reached_s * ranked.weight_from_here {
                return Some(left / ranked.weight_from_here);
            }
            left -= ranked.cap_s;
        }
        None
    }
}

#[cfg(test)]
mod tests;
