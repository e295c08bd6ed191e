use super::downlink::{Link, Operating};

/// The refined fixed point. With a round of D seconds, station i takes
///
/// - xᵢ D (T_oh + w) while it has less than one packet per round: it is then served in some rounds
///   only;
/// - T_oh + w xᵢ D from one packet on;
/// - T_oh + w N_max once its frames are full.
///
/// The sum over the stations is continuous, concave and piecewise linear in D, and zero at D = 0.
/// So it meets the line D in at most one point besides D = 0, and it does so if it is steeper than
/// that line at 0. If not, packets find the medium idle and travel alone.
pub(super) fn operating(links: &[Link], rates_pps: &[f64]) -> Operating {
    let active = || links.iter().zip(rates_pps).filter(|(_, x)| **x > 0.0);
    let slope: f64 = active()
        .map(|(l, x)| x * (l.overhead_s + l.seconds_per_packet))
        .sum();
    // At light load the stations take less than the round for every D: there are no rounds.
    if slope <= 1.0 {
        return Operating {
            level: vec![1.0; links.len()],
            round_s: None,
        };
    }
    let mut kinks: Vec<f64> = active()
        .flat_map(|(l, x)| [1.0 / x, l.level_max / x])
        .collect();
    kinks.sort_unstable_by(f64::total_cmp);
    let taken = |round_s: f64| line(active(), round_s).at(round_s);
    // At a kink where the stations need more than the round, the solution is a longer round.
    let below = kinks.partition_point(|&kink| taken(kink) >= kink);
    let (low, high) = (kinks[below - 1], kinks.get(below).copied());
    let middle = high.map_or(2.0 * low, |high| f64::midpoint(low, high));
    // The solution lies on the linear piece after that kink, where D = fixed + slope · D.
    let piece = line(active(), middle);
    let round_s = piece.fixed.max(0.0) / (1.0 - piece.slope);
    let level = links
        .iter()
        .zip(rates_pps)
        .map(|(l, x)| (x * round_s).clamp(1.0, l.level_max))
        .collect();
    Operating {
        level,
        round_s: Some(round_s),
    }
}

/// One linear piece of the time that the stations take: fixed + slope · D.
struct Line {
    fixed: f64,
    slope: f64,
}

impl Line {
    fn at(&self, round_s: f64) -> f64 {
        self.fixed + self.slope * round_s
    }
}

/// The piece that contains `round_s`.
fn line<'a>(active: impl Iterator<Item = (&'a Link, &'a f64)>, round_s: f64) -> Line {
    let mut line = Line {
        fixed: 0.0,
        slope: 0.0,
    };
    for (link, x) in active {
        let packets = x * round_s;
        if packets < 1.0 {
            line.slope += x * (link.overhead_s + link.seconds_per_packet);
        } else if packets < link.level_max {
            line.fixed += link.overhead_s;
            line.slope += x * link.seconds_per_packet;
        } else {
            line.fixed += link.overhead_s + link.seconds_per_packet * link.level_max;
        }
    }
    line
}
