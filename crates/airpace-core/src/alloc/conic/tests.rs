use super::*;
use crate::alloc::waterfill;
use rand_core::Rng;
use rand_pcg::Pcg64;

/// The generator's stream; any odd number does.
const STREAM: u128 = 0xda3e_39cb_94b9_5bdb;

/// Uniform from `low` to `high` on a logarithmic scale.
fn spread(rng: &mut Pcg64, low: f64, high: f64) -> f64 {
    let unit = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    low * (high / low).powf(unit)
}

/// 1 to 24 stations from 6.5 to 1300 Mbit/s with differing overheads, limits and weights; two in
/// three with a delay target.
fn random_problem(rng: &mut Pcg64, weighted: bool) -> Problem {
    let n = 1 + rng.next_u32() % 24;
    let stations: Vec<_> = (0..n)
        .map(|_| {
            let station = Station::new(
                12_000.0 / spread(rng, 6.5e6, 1.3e9),
                spread(rng, 50e-6, 500e-6),
                spread(rng, 2.0, 256.0),
            );
            if weighted {
                station.with_weight(spread(rng, 0.2, 5.0))
            } else {
                station
            }
        })
        .collect();
    let smallest = Problem::new(stations.clone(), None)
        .unwrap()
        .smallest_delay_s();
    let delay = (!rng.next_u32().is_multiple_of(3)).then(|| smallest * spread(rng, 1.02, 6.0));
    Problem::new(stations, delay).unwrap()
}

/// Whether the instances of [`compare`] have a price of delay.
#[derive(Clone, Copy, PartialEq)]
enum Price {
    Zero,
    /// From 0.01 to 10.
    Random,
}

/// Compares the closed form with the solver on `count` instances: rates to 1e-6 relative, and no
/// objective above the closed form's.
///
/// The optimum is flat, so that a utility right to 1e-12 leaves rates right to 1e-6 only: with
/// other seeds one instance in 2000 differs by up to 2e-6 in a rate.
fn compare(count: u32, seed: u128, price: Price) {
    let mut rng = Pcg64::new(seed, STREAM);
    let (mut worst, mut tight, mut limited) = (0.0_f64, 0, 0);
    for instance in 0..count {
        let mut problem = random_problem(&mut rng, instance % 2 == 1);
        if price == Price::Random {
            problem = problem.with_price(spread(&mut rng, 0.01, 10.0)).unwrap();
        }
        let closed = waterfill(&problem).unwrap();
        let solved = conic(&problem, &Utility::AlphaFair(1.0)).unwrap();
        problem.check_rates(&closed.rate_pps, 1e-9).unwrap();
        for (a, b) in closed.rate_pps.iter().zip(&solved.rate_pps) {
            worst = worst.max((a / b - 1.0).abs());
        }
        assert!(
            worst < 1e-6,
            "seed {seed}, instance {instance}: {worst:e}\n{problem:?}\n{closed:?}\n{solved:?}"
        );
        let gap = problem.objective(&solved) - problem.objective(&closed);
        assert!(
            gap < 1e-8 * problem.stations().len() as f64,
            "the solver is better by {gap:e} in instance {instance}"
        );
        tight += u32::from(
            problem
                .delay_s()
                .is_some_and(|d| closed.round_s > d * (1.0 - 1e-9)),
        );
        let mut levels = closed.level.iter().zip(problem.stations());
        limited += u32::from(levels.any(|(level, s)| *level >= s.level_limit));
    }
    println!(
        "largest relative difference of a rate in {count} instances: {worst:e}; delay bound in {tight}, a level in {limited}"
    );
    assert!(
        limited > count / 8 && (limited < count || price == Price::Zero),
        "level limits must bind in some instances, with a price not in all"
    );
    // A price shortens rounds, so that fewer of them meet the delay target.
    let least_tight = match price {
        Price::Zero => count / 8,
        Price::Random => count / 12,
    };
    assert!(
        tight > least_tight && tight < count,
        "both regimes must occur"
    );
}

#[test]
fn closed_form_equals_the_solver_on_1000_random_instances() {
    compare(1_000, 1, Price::Zero);
}

#[test]
fn closed_form_with_a_price_equals_the_solver_on_600_random_instances() {
    compare(600, 3, Price::Random);
}

/// Σ φ U(x) − κ Φ log D at these rates, and the sum of the absolute values of both terms.
fn value_and_scale(problem: &Problem, utility: &Utility, rates_pps: &[f64]) -> (f64, f64) {
    let stations = problem.stations().iter().zip(rates_pps);
    let (mut gain, mut airtime) = (0.0, 0.0);
    for (s, &x) in stations {
        gain += s.weight * utility.value(x);
        airtime += s.seconds_per_packet * x;
    }
    let round_s = problem.overhead_s() / (1.0 - airtime);
    let cost = problem.weighted_price() * round_s.ln();
    (gain - cost, gain.abs() + cost.abs())
}

/// A price at which delay matters as much as rates do: for the logarithm from 0.05 to 2, for other
/// utilities as many times what one per cent of every rate is worth at the optimum without a price.
fn fitting_price(
    rng: &mut Pcg64,
    problem: &Problem,
    utility: &Utility,
    unpriced: &Solution,
) -> f64 {
    let (mut worth, mut weights) = (0.0, 0.0);
    for (s, &x) in problem.stations().iter().zip(&unpriced.rate_pps) {
        worth += s.weight * (utility.value(1.01 * x) - utility.value(x)) / 0.01;
        weights += s.weight;
    }
    (spread(rng, 0.05, 2.0) * worth / weights).clamp(0.0, 1000.0)
}

/// Checks that no random feasible point near the solution is better.
fn assert_no_neighbour_is_better(
    rng: &mut Pcg64,
    problem: &Problem,
    utility: &Utility,
    best: &Solution,
) {
    let (best_value, scale) = value_and_scale(problem, utility, &best.rate_pps);
    for _ in 0..50 {
        let other: Vec<f64> = best
            .rate_pps
            .iter()
            .map(|x| (x + 1e-3) * spread(rng, 0.9, 1.1))
            .collect();
        let feasible = problem.check_rates(&other, 0.0).is_ok();
        assert!(
            !feasible || value_and_scale(problem, utility, &other).0 <= best_value + 1e-6 * scale,
            "{utility:?}, price {}",
            problem.delay().price
        );
    }
}

/// The solver's result beats every random feasible point near it, whatever the utility, with and
/// without a price of delay.
#[test]
fn no_feasible_point_is_better_than_the_solution() {
    let mut rng = Pcg64::new(2, STREAM);
    let concave = Utility::PiecewiseLinear(vec![
        (0.0, 0.0),
        (50.0, 100.0),
        (400.0, 300.0),
        (3_000.0, 500.0),
    ]);
    let mut utilities = [0.0, 0.5, 0.99, 1.0, 1.5, 2.0, 4.0]
        .map(Utility::AlphaFair)
        .to_vec();
    utilities.push(concave);
    for utility in &utilities {
        for _ in 0..20 {
            let problem = random_problem(&mut rng, true);
            let best = conic(&problem, utility).unwrap();
            let sum: f64 = (problem.stations().iter().zip(&best.rate_pps))
                .map(|(s, &x)| s.weight * utility.value(x))
                .sum();
            assert!((sum - best.utility).abs() <= 1e-12 * best.utility.abs());
            let price = fitting_price(&mut rng, &problem, utility, &best);
            let priced = problem.clone().with_price(price).unwrap();
            let shorter = conic(&priced, utility).unwrap();
            assert!(shorter.round_s <= best.round_s * (1.0 + 1e-6));
            for (problem, solution) in [(&problem, &best), (&priced, &shorter)] {
                problem
                    .check_rates(&solution.rate_pps, 1e-7)
                    .unwrap_or_else(|v| panic!("{utility:?}: {v}"));
                assert_no_neighbour_is_better(&mut rng, problem, utility, solution);
            }
        }
    }
}

#[test]
fn larger_alpha_is_fairer_to_the_slow() {
    let rates = [58.5e6, 175.5e6, 390e6];
    let stations = rates
        .map(|rate| Station::new(12_000.0 / rate, 214e-6, 32.0))
        .to_vec();
    let problem = Problem::new(stations, Some(4e-3)).unwrap();
    let slowest = |alpha| {
        conic(&problem, &Utility::AlphaFair(alpha))
            .unwrap()
            .rate_pps[0]
    };
    let shares = [0.0, 0.5, 1.0, 2.0, 8.0].map(slowest);
    assert!(
        shares
            .windows(2)
            .all(|pair| pair[0] < pair[1] * (1.0 + 1e-6)),
        "{shares:?}"
    );
    let rates = conic(&problem, &Utility::AlphaFair(8.0)).unwrap().rate_pps;
    assert!(
        rates[2] / rates[0] < 1.5,
        "alpha 8 comes near to equal rates: {rates:?}"
    );
}

#[test]
fn utilities_that_are_not_concave_are_refused() {
    let problem = Problem::new(vec![Station::new(30e-6, 200e-6, 32.0)], None).unwrap();
    let refused = |points: &[(f64, f64)]| {
        conic(&problem, &Utility::PiecewiseLinear(points.to_vec())).unwrap_err()
    };
    assert_eq!(refused(&[]), ConicError::Points(0));
    assert_eq!(refused(&[(0.0, 0.0)]), ConicError::Points(1));
    assert_eq!(
        refused(&[(0.0, 0.0), (1.0, f64::NAN)]),
        ConicError::Points(1)
    );
    assert_eq!(refused(&[(0.0, 0.0), (0.0, 1.0)]), ConicError::Points(1));
    assert_eq!(
        refused(&[(0.0, 0.0), (1.0, 1.0), (2.0, 3.0)]),
        ConicError::Points(2)
    );
    for alpha in [-0.1, 9.0, f64::NAN] {
        assert!(matches!(
            conic(&problem, &Utility::AlphaFair(alpha)),
            Err(ConicError::Alpha(_))
        ));
    }
}

#[test]
fn infeasible_targets_carry_the_smallest_feasible_one() {
    let problem = Problem::new(vec![Station::new(30e-6, 200e-6, 32.0)], Some(100e-6)).unwrap();
    let error = conic(&problem, &Utility::AlphaFair(1.0)).unwrap_err();
    assert_eq!(
        error,
        ConicError::Infeasible(Infeasible {
            delay_s: 100e-6,
            smallest_s: 230e-6
        })
    );
}
