//! Computes levels and the round from the overhead per frame: water-filling over the frames that a
//! round really holds.

use crate::alloc::{self, DelayTerms};

/// One station's claim to airtime.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Claim {
    /// Airtime per packet, seconds (w).
    pub(super) airtime_s: f64,
    /// The greatest level (N̄).
    pub(super) level_limit: f64,
    /// Weight of its share (φ).
    pub(super) weight: f64,
    /// How many packets it can use.
    pub(super) demand: Demand,
}

/// How many packets a station can use.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Demand {
    /// As many as it is granted.
    Greedy,
    /// This many packets per second, which is less than its share.
    Limited(f64),
    /// No frame was received yet: the station is sent this many packets per second to learn its PHY
    /// rate.
    Probed(f64),
}

/// The solution, common to all stations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Share {
    /// Payload airtime of a station of weight 1 that is not at its level limit, seconds per round
    /// (A).
    pub(super) airtime_s: f64,
    /// The round aimed at, seconds (D).
    pub(super) round_s: f64,
    /// Overhead of that round, seconds (c).
    pub(super) overhead_s: f64,
    /// Smallest feasible delay, if the target is below it.
    pub(super) smallest_delay_s: Option<f64>,
}

/// Largest number of passes over the number of frames per round. Only stations below one packet per
/// round need more than two.
const PASSES: usize = 8;
/// Relative change of the round below which no further pass is needed.
const SETTLED: f64 = 1e-6;
/// Upper bound of the share of time assigned to demand-limited stations: the remaining time must be
/// enough for a round.
const TAKEN_MAX: f64 = 0.65;
/// Upper bound of the share of time assigned to probing, which is overestimated: it assumes a low
/// PHY rate.
const PROBING_MAX: f64 = 0.3;
/// Least share of the time that is divided.
const OPEN_LEAST: f64 = 0.05;
/// Least level of the fastest station. Below one packet per round nothing aggregates and the round
/// cannot be measured.
const LEAST_LEVEL: f64 = 1.2;

/// Airtime of a station below its longest frame over that of one whose frames are full, while rounds
/// are kept short for equal shares.
const UNEVEN_MOST: f64 = 1.05;
/// Stations whose full frames take up to this factor more than the shortest of them count as equally
/// fast: an agent tells of repetitions (up to a tenth of the frames), a box does not see them.
const ALIKE: f64 = 1.15;

/// Solves for the greedy stations; the others lengthen the round. The buffers are kept from slot to
/// slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Solver {
    filler: alloc::Waterfill,
    greedy: Vec<alloc::Station>,
    claims: Vec<Claim>,
    /// Share of the time that is not the access point's.
    uplink_share: f64,
}

impl Solver {
    /// Sets the stations of this slot.
    pub(super) fn set(&mut self, claims: impl Iterator<Item = Claim>, uplink_share: f64) {
        self.uplink_share = uplink_share;
        self.claims.clear();
        self.claims.extend(claims);
        let greedy = self.claims.iter().filter(|p| p.demand == Demand::Greedy);
        self.greedy.clear();
        self.greedy.extend(
            greedy.map(|p| {
                alloc::Station::new(p.airtime_s, 0.0, p.level_limit).with_weight(p.weight)
            }),
        );
    }

    /// The stations, in the order in which they were set.
    pub(super) fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// Divides the airtime; `frame_s` is the overhead of one frame, `delay` the longest
    /// round and the price of a long one, `even_price` the price up to which rounds are shortened for
    /// equal shares ([`WaterfillConfig::even_price`](super::WaterfillConfig::even_price)).
    pub(super) fn solve(
        &mut self,
        frame_s: f64,
        delay: DelayTerms,
        even_price: Option<f64>,
    ) -> Share {
        let mut share = Share {
            airtime_s: f64::INFINITY,
            round_s: 0.0,
            overhead_s: 0.0,
            smallest_delay_s: None,
        };
        for _ in 0..PASSES {
            let next = self.pass(frame_s, delay, even_price, &share);
            let settled = (next.round_s - share.round_s).abs() <= SETTLED * next.round_s;
            share = next;
            if settled {
                break;
            }
        }
        share
    }

    /// One pass: counts the frames in the round that the last pass found, then fills again.
    fn pass(
        &mut self,
        frame_s: f64,
        delay: DelayTerms,
        even_price: Option<f64>,
        last: &Share,
    ) -> Share {
        let RoundBudget { overhead_s, open } = self.budget(frame_s, last);
        // The greedy stations must fit into the open part of the longest round.
        let delay = DelayTerms {
            limit_s: delay.limit_s.map(|limit| limit * open),
            ..delay
        };
        // This fails if there is no greedy station, or if a number is out of range: then there is
        // nothing to share.
        let Ok(wanted) = self.filler.water_level(&self.greedy, overhead_s, delay) else {
            let round_s = overhead_s.max(frame_s);
            return Share {
                airtime_s: 0.0,
                round_s,
                overhead_s,
                smallest_delay_s: None,
            };
        };
        let wanted = match even_price {
            Some(price) => self.even_level(wanted, overhead_s, DelayTerms { price, ..delay }),
            None => wanted,
        };
        let fastest = self
            .greedy
            .iter()
            .map(|s| s.seconds_per_packet / s.weight)
            .fold(f64::INFINITY, f64::min);
        let least = fastest * LEAST_LEVEL;
        // If the target is not feasible, the smallest round that can still be measured is used.
        let airtime_s = wanted.max(least);
        let payload: f64 = self
            .greedy
            .iter()
            .map(|s| (s.weight * airtime_s).min(s.seconds_per_packet * s.level_limit))
            .sum();
        let round_s = (overhead_s + payload) / open;
        Share {
            airtime_s,
            round_s,
            overhead_s,
            smallest_delay_s: (wanted < least).then_some(round_s),
        }
    }

    /// Lowers the water level `wanted` to where the fastest stations reach their longest frames, but not
    /// below the level that the prices of `even` give.
    ///
    /// Above that point their frames stay as they are while rounds grow with those of the others: they
    /// lose rate, and so does the cell, because they are the fastest.
    fn even_level(&mut self, wanted: f64, overhead_s: f64, even: DelayTerms) -> f64 {
        let full = |s: &alloc::Station| s.seconds_per_packet * s.level_limit / s.weight;
        let first_full = self.greedy.iter().map(full).fold(f64::INFINITY, f64::min);
        let last_alike = self
            .greedy
            .iter()
            .map(full)
            .filter(|&level| level <= ALIKE * first_full)
            .fold(first_full, f64::max);
        let even_level = UNEVEN_MOST * last_alike;
        if wanted <= even_level {
            return wanted;
        }
        match self.filler.water_level(&self.greedy, overhead_s, even) {
            Ok(dear) => wanted.min(dear.max(even_level)),
            Err(_) => wanted,
        }
    }

    /// What all stations but the greedy ones take, and the overhead of the frames in the round of
    /// the last pass.
    fn budget(&self, frame_s: f64, last: &Share) -> RoundBudget {
        let mut overhead_s = 0.0;
        let (mut taken, mut probing) = (0.0, 0.0);
        for p in &self.claims {
            match p.demand {
                Demand::Greedy => overhead_s += frame_s * p.level(last.airtime_s).min(1.0),
                // With a packet or more per round the station has one frame in each round; below
                // that, a frame per packet.
                Demand::Limited(pps) => {
                    let pps = pps.min(fair_pps(p, last));
                    if pps * last.round_s >= 1.0 {
                        taken += pps * p.airtime_s;
                        overhead_s += frame_s;
                    } else {
                        taken += pps * (p.airtime_s + frame_s);
                    }
                }
                Demand::Probed(pps) => probing += pps * (p.airtime_s + frame_s),
            }
        }
        RoundBudget {
            overhead_s,
            open: (1.0 - taken.min(TAKEN_MAX) - probing.min(PROBING_MAX) - self.uplink_share)
                .max(OPEN_LEAST),
        }
    }
}

/// Packets per second that `claim` would be granted by the last pass if it could use them: no station
/// uses more.
fn fair_pps(claim: &Claim, last: &Share) -> f64 {
    if last.round_s > 0.0 && last.airtime_s > 0.0 {
        claim.level(last.airtime_s) / last.round_s
    } else {
        f64::INFINITY
    }
}

/// How the time of a round divides before the greedy stations share what is left.
struct RoundBudget {
    /// Overhead of a round in seconds.
    overhead_s: f64,
    /// Share of the time left to overhead and payload of the greedy stations.
    open: f64,
}

impl Claim {
    /// Level of the station when an unlimited station of weight 1 has `airtime_s` of payload per
    /// round.
    pub(super) fn level(&self, airtime_s: f64) -> f64 {
        (self.weight * airtime_s / self.airtime_s).min(self.level_limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PHY rates of VHT MCS 9, 4 and 1 at 80 MHz, bit/s.
    const MIXED: [f64; 3] = [390e6, 175.5e6, 58.5e6];
    /// Longest mean level of an access point whose frames hold 64 packets.
    const LEVEL_LIMIT: f64 = 57.6;
    const FRAME_S: f64 = 350e-6;

    /// Levels and airtimes per round of stations with these PHY rates, and the round, in seconds.
    fn divide(rates_bps: &[f64], even_price: Option<f64>) -> (Vec<f64>, Vec<f64>, f64) {
        let mut solver = Solver::default();
        let claims = rates_bps.iter().map(|bps| Claim {
            airtime_s: 12_000.0 / bps,
            level_limit: LEVEL_LIMIT,
            weight: 1.0,
            demand: Demand::Greedy,
        });
        solver.set(claims, 0.05);
        let delay = DelayTerms {
            limit_s: None,
            price: 0.12,
        };
        let share = solver.solve(FRAME_S, delay, even_price);
        let levels: Vec<f64> = solver
            .claims()
            .iter()
            .map(|claim| claim.level(share.airtime_s))
            .collect();
        let airtimes = solver
            .claims()
            .iter()
            .zip(&levels)
            .map(|(claim, level)| claim.airtime_s * level)
            .collect();
        (levels, airtimes, share.round_s)
    }

    fn bits_per_s(levels: &[f64], round_s: f64) -> f64 {
        12_000.0 * levels.iter().sum::<f64>() / round_s
    }

    #[test]
    fn a_full_frame_does_not_cost_the_fastest_station_its_share_of_the_air() {
        let (levels, airtimes, round_s) = divide(&MIXED, None);
        assert!(airtimes[1] > 1.15 * airtimes[0], "{airtimes:?}");
        let (even_levels, even_airtimes, even_round_s) = divide(&MIXED, Some(0.2));
        assert_eq!(even_levels[0], LEVEL_LIMIT);
        assert!(
            even_airtimes[1] <= 1.0501 * even_airtimes[0],
            "{even_airtimes:?}"
        );
        assert!(even_round_s < round_s);
        assert!(bits_per_s(&even_levels, even_round_s) > bits_per_s(&levels, round_s));
    }

    #[test]
    fn rounds_are_not_shortened_beyond_the_even_price() {
        let (levels, _, _) = divide(&[1_170e6, 58.5e6], Some(0.2));
        let (dear, ..) = divide(&[58.5e6, 58.5e6], Some(0.2));
        // Equal airtime would leave the slow station less than a packet and a half per frame.
        assert!(levels[1] > 3.0, "{levels:?}");
        assert!(dear[0] > levels[1]);
    }

    /// Packets per second of the first of three stations, of which the last has this demand.
    fn first_pps(demand: Demand) -> f64 {
        let mut solver = Solver::default();
        let claims = MIXED.iter().enumerate().map(|(idx, bps)| Claim {
            airtime_s: 12_000.0 / bps,
            level_limit: LEVEL_LIMIT,
            weight: 1.0,
            demand: if idx == 2 { demand } else { Demand::Greedy },
        });
        solver.set(claims, 0.05);
        let delay = DelayTerms {
            limit_s: None,
            price: 0.12,
        };
        let share = solver.solve(FRAME_S, delay, None);
        solver.claims()[0].level(share.airtime_s) / share.round_s
    }

    #[test]
    fn a_station_that_can_use_less_than_its_share_does_not_count_with_more_than_that() {
        let beside_greedy = first_pps(Demand::Greedy);
        // Its share is about 1500 packets per second.
        for pps in [5_000.0, 50_000.0] {
            let beside_limited = first_pps(Demand::Limited(pps));
            assert!(
                beside_limited > 0.9 * beside_greedy,
                "{beside_limited} {beside_greedy}"
            );
        }
        assert!(first_pps(Demand::Limited(100.0)) > 1.2 * beside_greedy);
    }

    #[test]
    fn equal_stations_keep_the_price_of_the_aim() {
        let equal = [390e6, 390e6, 350e6];
        assert_eq!(divide(&equal, Some(0.2)), divide(&equal, None));
    }
}
