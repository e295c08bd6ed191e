//! From the overhead per frame to levels and a round: water-filling, with the frames that a round really holds.

use crate::alloc;

/// One station in the problem.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Party {
    /// Airtime per packet, seconds (w).
    pub(super) airtime_s: f64,
    /// The greatest level (N̄).
    pub(super) level_limit: f64,
    /// Weight of its share (φ).
    pub(super) weight: f64,
    /// What it has use for.
    pub(super) demand: Demand,
}

/// What a station has use for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Demand {
    /// Whatever it is given.
    Greedy,
    /// This many packets per second, less than its share.
    Limited(f64),
    /// It was never heard of and is sent this many packets per second, to learn its PHY rate.
    Probed(f64),
}

/// The answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Share {
    /// Payload airtime of a station of weight 1 that is not at its level limit, seconds per round (A).
    pub(super) airtime_s: f64,
    /// The round aimed at, seconds (D).
    pub(super) round_s: f64,
    /// Overhead of that round, seconds (c).
    pub(super) overhead_s: f64,
    /// Smallest feasible delay, if the target is below it.
    pub(super) smallest_delay_s: Option<f64>,
}

/// Most passes over the number of frames per round: only stations below one packet per round need more than two.
const PASSES: usize = 8;
/// Relative change of the round below which no further pass is needed.
const SETTLED: f64 = 1e-6;
/// Share of the time that demand-limited stations are believed to take at most: what is left must remain a round.
const TAKEN_MAX: f64 = 0.65;
/// Share of the time that probing is believed to take at most. The PHY rate it is reckoned with is a guess on the slow side.
const PROBING_MAX: f64 = 0.3;
/// Least level of the fastest station. Below one packet per round nothing aggregates and the round cannot be seen.
const LEAST_LEVEL: f64 = 1.2;

/// Solves for the stations that take what they are given; the others lengthen the round. The buffers are kept from slot to slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Solver {
    filler: alloc::Waterfill,
    greedy: Vec<alloc::Station>,
    parties: Vec<Party>,
}

impl Solver {
    /// Takes the stations of this slot.
    pub(super) fn set(&mut self, parties: impl Iterator<Item = Party>) {
        self.parties.clear();
        self.parties.extend(parties);
        let greedy = self.parties.iter().filter(|p| p.demand == Demand::Greedy);
        self.greedy.clear();
        self.greedy.extend(
            greedy.map(|p| {
                alloc::Station::new(p.airtime_s, 0.0, p.level_limit).with_weight(p.weight)
            }),
        );
    }

    /// The stations, in the order in which they were given.
    pub(super) fn parties(&self) -> &[Party] {
        &self.parties
    }

    /// Shares the air, `frame_s` being the overhead of one frame.
    pub(super) fn solve(&mut self, frame_s: f64, delay_s: Option<f64>) -> Share {
        let mut share = Share {
            airtime_s: f64::INFINITY,
            round_s: 0.0,
            overhead_s: 0.0,
            smallest_delay_s: None,
        };
        for _ in 0..PASSES {
            let next = self.pass(frame_s, delay_s, &share);
            let settled = (next.round_s - share.round_s).abs() <= SETTLED * next.round_s;
            share = next;
            if settled {
                break;
            }
        }
        share
    }

    /// One pass: counts the frames of the round that the last pass found, then fills again.
    fn pass(&mut self, frame_s: f64, delay_s: Option<f64>, last: &Share) -> Share {
        let (overhead_s, open) = self.frames(frame_s, last);
        let delay_s = delay_s.map(|delay| delay * open);
        // Only stations that were never heard of, or numbers that no air has, are an error: then nothing is to be shared.
        let Ok(wanted) = self.filler.water_level(&self.greedy, overhead_s, delay_s) else {
            let round_s = overhead_s.max(frame_s);
            return Share {
                airtime_s: 0.0,
                round_s,
                overhead_s,
                smallest_delay_s: None,
            };
        };
        let fastest = self
            .greedy
            .iter()
            .map(|s| s.seconds_per_packet / s.weight)
            .fold(f64::INFINITY, f64::min);
        let least = fastest * LEAST_LEVEL;
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

    /// Overhead of a round in seconds, and the share of the time that is left to those who take what they are given.
    fn frames(&self, frame_s: f64, last: &Share) -> (f64, f64) {
        let mut overhead_s = 0.0;
        let (mut taken, mut probing) = (0.0, 0.0);
        for p in &self.parties {
            match p.demand {
                Demand::Greedy => overhead_s += frame_s * p.level(last.airtime_s).min(1.0),
                Demand::Limited(pps) if pps * last.round_s >= 1.0 => {
                    taken += pps * p.airtime_s;
                    overhead_s += frame_s;
                }
                Demand::Limited(pps) => taken += pps * (p.airtime_s + frame_s),
                Demand::Probed(pps) => probing += pps * (p.airtime_s + frame_s),
            }
        }
        (
            overhead_s,
            1.0 - taken.min(TAKEN_MAX) - probing.min(PROBING_MAX),
        )
    }
}

impl Party {
    /// Level of the station when each uncapped one of weight 1 has `airtime_s` of payload per round.
    pub(super) fn level(&self, airtime_s: f64) -> f64 {
        (self.weight * airtime_s / self.airtime_s).min(self.level_limit)
    }
}
