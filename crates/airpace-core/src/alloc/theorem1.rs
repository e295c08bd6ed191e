use super::problem::{Problem, Solution, Station};

/// The station that Theorem 1 of 000 puts at its level limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reading {
    /// The slowest, as printed (w_max). Every faster station then exceeds its limit.
    SlowestAtLimit,
    /// The fastest (w_min), as the text of 000 describes Algorithm 2. Feasible if all limits are
    /// equal, but not optimal.
    FastestAtLimit,
}

/// The allocation of 000 Theorem 1: xⱼ = α/wⱼ with α = N w / (c + N w n), for comparison with
/// [`super::waterfill`].
///
/// It ignores weights and the delay target, and uses the limit N of the station that `reading`
/// selects. The result may violate constraints; [`Problem::check_rates`] tells which.
#[must_use]
pub fn theorem1(problem: &Problem, reading: Reading) -> Solution {
    let by_airtime =
        |a: &&Station, b: &&Station| a.seconds_per_packet.total_cmp(&b.seconds_per_packet);
    let stations = problem.stations().iter();
    let reference = match reading {
        Reading::SlowestAtLimit => stations.max_by(by_airtime),
        Reading::FastestAtLimit => stations.min_by(by_airtime),
    };
    let reference = reference.expect("a problem has at least one station");
    // With x = α/w for all stations, each gets the same payload airtime per round: that of the
    // reference station at its limit.
    let airtime_s = reference.seconds_per_packet * reference.level_limit;
    problem.at_levels(
        problem
            .stations()
            .iter()
            .map(|s| airtime_s / s.seconds_per_packet)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alloc::{Violation, waterfill};

    fn mixed() -> Problem {
        let rates = [58.5e6, 175.5e6, 175.5e6, 351e6, 390e6];
        Problem::new(
            rates
                .map(|rate| Station::new(12_000.0 / rate, 214e-6, 32.0))
                .to_vec(),
            None,
        )
        .unwrap()
    }

    #[test]
    fn rates_are_those_of_the_theorem() {
        let problem = mixed();
        let w_min = 12_000.0 / 390e6;
        let alpha = 32.0 * w_min / (5.0 * 214e-6 + 32.0 * w_min * 5.0);
        for (x, s) in theorem1(&problem, Reading::FastestAtLimit)
            .rate_pps
            .iter()
            .zip(problem.stations())
        {
            assert!((x - alpha / s.seconds_per_packet).abs() < 1e-9 * x);
        }
    }

    #[test]
    fn as_printed_the_fast_stations_exceed_their_limit() {
        let problem = mixed();
        let printed = theorem1(&problem, Reading::SlowestAtLimit);
        assert!(printed.level[4] > 200.0, "{:?}", printed.level);
        let violation = problem.check_rates(&printed.rate_pps, 1e-9).unwrap_err();
        assert!(
            matches!(violation, Violation::Level { station: 1, .. }),
            "{violation}"
        );
    }

    #[test]
    fn with_the_fastest_at_its_limit_it_is_feasible_and_below_the_optimum() {
        let problem = mixed();
        let amended = theorem1(&problem, Reading::FastestAtLimit);
        problem.check_rates(&amended.rate_pps, 1e-9).unwrap();
        let optimum = waterfill(&problem).unwrap();
        assert!(amended.utility < optimum.utility - 0.01);
        assert!(
            amended.rate_pps[0] < optimum.rate_pps[0],
            "the slowest gets too little"
        );
    }
}
