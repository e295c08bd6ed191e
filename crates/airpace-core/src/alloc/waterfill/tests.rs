use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn example_problem(delay_s: Option<f64>) -> Problem {
    let rates = [58.5e6, 175.5e6, 175.5e6, 351e6, 390e6];
    let stations = rates
        .map(|rate| Station::new(12_000.0 / rate, 214e-6, 32.0))
        .to_vec();
    Problem::new(stations, delay_s).unwrap()
}

fn example(delay_s: Option<f64>) -> Solution {
    waterfill(&example_problem(delay_s)).unwrap()
}

#[track_caller]
fn assert_levels(solution: &Solution, expected: [f64; 5]) {
    for (level, expected) in solution.level.iter().zip(expected) {
        assert!((level - expected).abs() < 5e-5, "{:?}", solution.level);
    }
}

#[test]
fn worked_example_without_and_with_a_delay_target() {
    for delay in [None, Some(20e-3)] {
        let free = example(delay);
        assert_levels(&free, [7.6748, 23.0244, 23.0244, 32.0, 32.0]);
        assert!((free.round_s - 7.8716e-3).abs() < 5e-8);
        assert!((free.utility - 39.465_001).abs() < 5e-7);
    }
    let tight = example(Some(6e-3));
    assert_levels(&tight, [4.8084, 14.4253, 14.4253, 28.8506, 32.0]);
    assert!((tight.utility - 39.316_188).abs() < 5e-7);
    assert!((tight.round_s - 6e-3).abs() < 1e-15);
    assert!((example(Some(5e-3)).utility - 39.094_299).abs() < 5e-7);
}

#[test]
fn worked_example_with_a_price_of_delay() {
    let priced = |price, delay_s| {
        let problem = example_problem(delay_s).with_price(price).unwrap();
        waterfill(&problem).unwrap()
    };
    // No level limit binds: D = c (1 + κ) / κ = 1.07 ms · 5.
    let quarter = priced(0.25, None);
    assert_levels(&quarter, [4.1730, 12.5190, 12.5190, 25.0380, 27.8200]);
    assert!((quarter.round_s - 5.35e-3).abs() < 1e-12);
    // The fastest station is at its limit: (A − w N̄) + κ Φ A = c gives A = 1.02731 ms.
    let fifth = priced(0.2, None);
    assert_levels(&fifth, [5.0081, 15.0244, 15.0244, 30.0487, 32.0]);
    assert!((fifth.round_s - 1.2 * 5.0 * 1.027_308e-3).abs() < 1e-8);
    // A delay target is a further bound.
    let tight = priced(0.25, Some(5e-3));
    assert!((tight.round_s - 5e-3).abs() < 1e-12);
    assert_eq!(priced(0.25, Some(6e-3)), quarter);
}

#[test]
fn where_no_limit_binds_the_rate_depends_on_the_stations_own_airtime_alone() {
    let price = 0.25;
    let stations = |other_s: f64, overhead_s: f64| {
        vec![
            Station::new(30e-6, overhead_s, 1e9).with_weight(2.0),
            Station::new(other_s, overhead_s, 1e9),
            Station::new(other_s / 3.0, overhead_s, 1e9).with_weight(0.5),
        ]
    };
    let expected_pps = 2.0 / (1.25 * 3.5 * 30e-6);
    for other_s in [10e-6, 200e-6, 2e-3] {
        for overhead_s in [20e-6, 214e-6, 3e-3] {
            let problem = Problem::new(stations(other_s, overhead_s), None)
                .and_then(|problem| problem.with_price(price))
                .unwrap();
            let solution = waterfill(&problem).unwrap();
            assert!((solution.rate_pps[0] / expected_pps - 1.0).abs() < 1e-12);
            let efficiency = 1.0 - problem.overhead_s() / solution.round_s;
            assert!((efficiency - 1.0 / (1.0 + price)).abs() < 1e-12);
        }
    }
}

#[test]
fn prices_out_of_range_are_refused() {
    for price in [f64::NAN, -1e-9, -1.0, 1001.0, f64::INFINITY] {
        let error = example_problem(None).with_price(price).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the price of delay is {price}; it must be from 0 to 1000")
        );
        let delay = DelayTerms {
            limit_s: None,
            price,
        };
        let stations = example_problem(None).stations().to_vec();
        let mut filler = Waterfill::new();
        assert!(matches!(
            filler.solve(&stations, 1e-3, delay),
            Err(WaterfillError::Problem(ProblemError::Price(_)))
        ));
        assert!(filler.water_level(&stations, 1e-3, delay).is_err());
    }
    for price in [0.0, 1000.0] {
        assert!(example_problem(None).with_price(price).is_ok());
    }
}

#[test]
fn one_station_is_sent_full_frames() {
    let problem = Problem::new(vec![Station::new(30e-6, 200e-6, 32.0)], None).unwrap();
    let solution = waterfill(&problem).unwrap();
    assert_eq!(solution.level, [32.0]);
    assert!((solution.rate_pps[0] - 32.0 / (200e-6 + 32.0 * 30e-6)).abs() < 1e-6);
}

#[test]
fn a_target_at_the_smallest_round_is_infeasible_and_just_above_is_not() {
    let stations = vec![
        Station::new(30e-6, 200e-6, 32.0),
        Station::new(60e-6, 200e-6, 32.0),
    ];
    let smallest = 400e-6 + 90e-6;
    let at = Problem::new(stations.clone(), Some(smallest)).unwrap();
    let refused = waterfill(&at).unwrap_err();
    assert!((refused.smallest_s - smallest).abs() < 1e-15);
    assert_eq!(
        refused.to_string(),
        "a delay target of 0.49 ms cannot be held: overhead and one packet for each station take 0.49 ms; ask for more than that"
    );
    let above = Problem::new(stations, Some(smallest * 1.001)).unwrap();
    assert!((waterfill(&above).unwrap().round_s - smallest * 1.001).abs() < 1e-15);
}

#[test]
fn weights_divide_the_airtime_of_the_uncapped() {
    let stations = vec![
        Station::new(200e-6, 200e-6, 64.0).with_weight(1.0),
        Station::new(200e-6, 200e-6, 64.0).with_weight(3.0),
        Station::new(20e-6, 200e-6, 32.0),
    ];
    let level = waterfill(&Problem::new(stations, None).unwrap())
        .unwrap()
        .level;
    assert!((level[1] - 3.0 * level[0]).abs() < 1e-9);
    assert_eq!(level[2], 32.0);
}

#[test]
fn the_reused_filler_agrees_with_the_plain_function_whatever_it_solved_before() {
    let mut filler = Waterfill::new();
    for n in [7, 3, 12, 1] {
        let stations: Vec<_> = (0..n)
            .map(|i| Station::new(15e-6 * f64::from(1 + i * i % 11), 214e-6, 48.0))
            .collect();
        for delay in [None, Some(8e-3)] {
            let plain = waterfill(&Problem::new(stations.clone(), delay).unwrap()).unwrap();
            let overhead = 214e-6 * f64::from(n);
            let filled = filler
                .solve(&stations, overhead, DelayTerms::limit(delay))
                .unwrap();
            assert!((filled.round_s - plain.round_s).abs() < 1e-12);
            assert!(
                filled
                    .level
                    .iter()
                    .zip(&plain.level)
                    .all(|(a, b)| (a - b).abs() < 1e-9)
            );
            assert_eq!(
                filled.delay_binds,
                delay.is_some_and(|d| plain.round_s > d - 1e-9)
            );
        }
    }
}

#[test]
fn numbers_out_of_range_are_named() {
    let good = Station::new(30e-6, 200e-6, 32.0);
    let bad = [
        (
            Station {
                seconds_per_packet: f64::NAN,
                ..good
            },
            "airtime of a packet in s is NaN",
        ),
        (
            Station {
                seconds_per_packet: 0.0,
                ..good
            },
            "airtime of a packet in s is 0",
        ),
        (
            Station {
                overhead_s: -1.0,
                ..good
            },
            "overhead of a frame in s is -1",
        ),
        (
            Station {
                level_limit: 0.5,
                ..good
            },
            "level limit is 0.5",
        ),
        (
            Station {
                level_limit: f64::INFINITY,
                ..good
            },
            "level limit is inf",
        ),
        (good.with_weight(0.0), "weight is 0"),
    ];
    for (station, message) in bad {
        let error = Problem::new(vec![good, station], None)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("station 2") && error.contains(message),
            "{error}"
        );
        assert!(
            Waterfill::new()
                .solve(&[good, station], 1e-3, DelayTerms::default())
                .is_err()
        );
    }
    assert_eq!(Problem::new(vec![], None).unwrap_err(), ProblemError::Empty);
    let no_overhead = Station {
        overhead_s: 0.0,
        ..good
    };
    assert_eq!(
        Problem::new(vec![no_overhead], None).unwrap_err(),
        ProblemError::Overhead(0.0)
    );
    for delay in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            Problem::new(vec![good], Some(delay)),
            Err(ProblemError::Delay(_))
        ));
    }
}

fn any_station() -> impl Strategy<Value = Station> {
    let range = |low: f64, high: f64| (low.ln()..high.ln()).prop_map(f64::exp);
    (
        range(1e-7, 1e-1),
        range(1e-6, 1e-2),
        range(1.0, 1e4),
        range(1e-3, 1e3),
    )
        .prop_map(|(w, overhead, limit, weight)| {
            Station::new(w, overhead, limit).with_weight(weight)
        })
}

fn any_unpriced_problem() -> impl Strategy<Value = Problem> {
    (
        vec(any_station(), 1..40),
        proptest::option::of(1.001..50.0_f64),
    )
        .prop_map(|(stations, slack)| {
            let free = Problem::new(stations.clone(), None).unwrap();
            Problem::new(stations, slack.map(|slack| slack * free.smallest_delay_s())).unwrap()
        })
}

/// From 0.001 to 100.
fn any_price() -> impl Strategy<Value = f64> {
    (-3.0..2.0_f64).prop_map(|exponent| 10f64.powf(exponent))
}

/// Half of the problems have a price of delay.
fn any_problem() -> impl Strategy<Value = Problem> {
    (any_unpriced_problem(), proptest::option::of(any_price()))
        .prop_map(|(problem, price)| problem.with_price(price.unwrap_or(0.0)).unwrap())
}

/// The water level as it was computed before delay had a price: Σ max(0, φᵢ A − wᵢ N̄ᵢ) = c, and at
/// most the level at which the round lasts T̄.
fn unpriced_level(filler: &Waterfill, overhead_s: f64, limit_s: Option<f64>) -> f64 {
    let (mut weight, mut volume, mut level) = (0.0, overhead_s, f64::INFINITY);
    for ranked in &filler.order {
        if level <= ranked.reached_s {
            break;
        }
        weight += ranked.weight;
        volume += ranked.cap_s;
        level = volume / weight;
    }
    let tight = limit_s.and_then(|limit| filler.tight_level(limit - overhead_s));
    tight.map_or(level, |tight| tight.min(level))
}

proptest! {
    /// Sufficient for the optimum: with D the round, every station's
    /// φᵢ − (1 + κ) Φ wᵢ μᵢ/D − η wᵢ μᵢ is zero below its limit and not negative at it, for one
    /// η ≥ 0 that is zero unless the delay target binds.
    #[test]
    fn the_allocation_is_feasible_and_meets_the_optimality_conditions(problem in any_problem()) {
        let solution = waterfill(&problem).unwrap();
        // The check takes the round from 1 − Σ ρ, which keeps few digits where the overhead is a small part of the round.
        let tolerance = 1e-9 + 8.0 * f64::EPSILON * solution.round_s / problem.overhead_s();
        prop_assert!(problem.check_rates(&solution.rate_pps, tolerance).is_ok());
        let weights = (1.0 + problem.delay().price)
            * problem.stations().iter().map(|s| s.weight).sum::<f64>();
        // φ D / (w μ) − (1 + κ) Φ is η D for those below their limit, and at least that for those at it.
        let pressure = |s: &Station, level: f64| s.weight * solution.round_s / (s.seconds_per_packet * level) - weights;
        let all: Vec<_> = problem.stations().iter().zip(&solution.level).collect();
        let below = all.iter().find(|(s, level)| **level < s.level_limit * (1.0 - 1e-9));
        let binds = problem.delay_s().is_some_and(|d| solution.round_s > d * (1.0 - 1e-9));
        let eta = below.map_or(0.0, |(s, level)| pressure(s, **level));
        prop_assert!(eta >= -1e-9 * weights && (binds || eta <= 1e-9 * weights), "{eta}");
        for (s, level) in all {
            let slack = pressure(s, *level) - eta;
            let scale = weights + pressure(s, *level).abs();
            let capped = *level >= s.level_limit * (1.0 - 1e-9);
            prop_assert!(slack >= -1e-9 * scale && (capped || slack <= 1e-9 * scale), "{slack}");
        }
    }

    #[test]
    fn a_price_of_zero_changes_no_bit(problem in any_unpriced_problem()) {
        let plain = waterfill(&problem).unwrap();
        let priced = waterfill(&problem.clone().with_price(0.0).unwrap()).unwrap();
        let mut filler = Waterfill::new();
        filler.fill(problem.stations(), problem.overhead_s(), problem.delay());
        let level_s = unpriced_level(&filler, problem.overhead_s(), problem.delay_s());
        for (i, station) in problem.stations().iter().enumerate() {
            let before = station.level_limit.min(station.weight * level_s / station.seconds_per_packet);
            prop_assert_eq!(plain.level[i].to_bits(), before.to_bits());
            prop_assert_eq!(priced.level[i].to_bits(), before.to_bits());
        }
    }

    #[test]
    fn a_higher_price_makes_the_round_and_the_utility_fall(
        problem in any_problem(),
        factor in 1.01..100.0_f64,
    ) {
        let low = problem.delay().price.min(10.0);
        let cheap = problem.clone().with_price(low).unwrap();
        let dear = problem.with_price((low + 1e-3) * factor).unwrap();
        let (long, short) = (waterfill(&cheap).unwrap(), waterfill(&dear).unwrap());
        prop_assert!(short.round_s <= long.round_s * (1.0 + 1e-12));
        let scale: f64 = cheap.stations().iter().zip(&long.rate_pps).map(|(s, x)| s.weight * (1.0 + x.ln().abs())).sum();
        prop_assert!(short.utility <= long.utility + 1e-12 * scale);
        // Each is the better answer to its own question.
        prop_assert!(cheap.objective(&long) >= cheap.objective(&short) - 1e-10 * scale);
        prop_assert!(dear.objective(&short) >= dear.objective(&long) - 1e-10 * scale * (1.0 + dear.delay().price));
    }

    /// The one equation of `docs/design/delay-price.md`, and D = (1 + κ) Φ A.
    #[test]
    fn the_water_level_solves_the_equation_with_a_price(
        problem in any_unpriced_problem(),
        price in any_price(),
    ) {
        let free = Problem::new(problem.stations().to_vec(), None).unwrap();
        let delay = free.with_price(price).unwrap().delay();
        let overhead_s = problem.overhead_s();
        let weights: f64 = problem.stations().iter().map(|s| s.weight).sum();
        let mut filler = Waterfill::new();
        let filled = filler.solve(problem.stations(), overhead_s, delay).unwrap();
        let above: f64 = problem
            .stations()
            .iter()
            .map(|s| (s.weight * filled.airtime_s - s.seconds_per_packet * s.level_limit).max(0.0))
            .sum();
        let left = above + price * weights * filled.airtime_s;
        // `above` is a difference of terms as large as Φ A.
        let scale = overhead_s + weights * filled.airtime_s;
        prop_assert!((left - overhead_s).abs() <= 1e-11 * scale, "{} {}", left, overhead_s);
        let expected_s = (1.0 + price) * weights * filled.airtime_s;
        prop_assert!((filled.round_s / expected_s - 1.0).abs() <= 1e-9);
    }

    #[test]
    fn the_order_of_the_stations_does_not_matter(problem in any_problem()) {
        let forward = waterfill(&problem).unwrap();
        let reversed: Vec<_> = problem.stations().iter().copied().rev().collect();
        let reversed = Problem::new(reversed, problem.delay_s())
            .and_then(|reversed| reversed.with_price(problem.delay().price))
            .unwrap();
        let backward = waterfill(&reversed).unwrap();
        for (a, b) in forward.level.iter().zip(backward.level.iter().rev()) {
            prop_assert!((a - b).abs() <= 1e-9 * a);
        }
    }

    #[test]
    fn extremes_within_the_ranges_give_finite_answers(
        stations in vec((-12.0..6.0_f64, -12.0..6.0_f64, 0.0..9.0_f64, -9.0..9.0_f64), 1..10),
        slack in 1e-6..1e6_f64,
        price in 0.0..1000.0_f64,
    ) {
        let stations: Vec<_> = stations
            .into_iter()
            .map(|(w, c, n, weight)| Station::new(10f64.powf(w), 10f64.powf(c), 10f64.powf(n)).with_weight(10f64.powf(weight)))
            .collect();
        let smallest = Problem::new(stations.clone(), None).unwrap().smallest_delay_s();
        let problem = Problem::new(stations, Some(smallest * (1.0 + slack))).unwrap();
        let solution = waterfill(&problem.with_price(price).unwrap()).unwrap();
        prop_assert!(solution.round_s.is_finite() && solution.utility.is_finite());
        prop_assert!(solution.level.iter().all(|l| l.is_finite() && *l > 0.0));
    }
}
