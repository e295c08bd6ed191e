//! Demonstrates the statements of `docs/errata.md` about the papers.

use airpace_core::alloc::{
    Problem, Reading, Solution, Station, Utility, Violation, conic, theorem1, waterfill,
};
use airpace_core::model::anomaly::{Aggregate, shares};
use airpace_core::model::stability::linear_gain_limit;
use airpace_core::model::voice::{Call, Codec};
use airpace_core::model::{Downlink, Link, wqm};
use airpace_core::phy::{
    AccessCategory, AmpduLimits, BLOCK_ACK_BYTES, Edca, GuardInterval, LegacyRate, SIFS, Standard,
    TxRate, Width,
};

const PACKET_BITS: f64 = 12_000.0;

/// Stations of these PHY rates in Mbit/s: 1500-byte packets, `overhead_us` per frame, levels up to
/// `limit`.
fn problem(mbps: &[f64], overhead_us: f64, limit: f64, delay_s: Option<f64>) -> Problem {
    let station = |rate: &f64| Station::new(PACKET_BITS / (rate * 1e6), overhead_us * 1e-6, limit);
    Problem::new(mbps.iter().map(station).collect(), delay_s).expect("the numbers are in range")
}

/// The example that the closed form is worked out for: five stations of four rates.
fn mixed(delay_s: Option<f64>) -> Problem {
    problem(&[58.5, 175.5, 175.5, 351.0, 390.0], 214.0, 32.0, delay_s)
}

/// Ten stations from 29 to 780 Mbit/s, levels up to 48.
fn wide(delay_s: Option<f64>) -> Problem {
    problem(
        &[
            29.25, 58.5, 87.8, 117.0, 175.5, 234.0, 351.0, 390.0, 585.0, 780.0,
        ],
        205.0,
        48.0,
        delay_s,
    )
}

fn airtimes(problem: &Problem) -> Vec<f64> {
    problem
        .stations()
        .iter()
        .map(|s| s.seconds_per_packet)
        .collect()
}

/// The plant of the papers for the stations of a problem, with frames of up to 64 packets.
fn plant(problem: &Problem) -> Downlink {
    let link = |s: &Station| Link::new(s.seconds_per_packet, s.overhead_s, 64.0);
    Downlink::new(problem.stations().iter().map(link).collect()).expect("the numbers are in range")
}

#[test]
fn every_test_named_in_the_errata_exists() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    let mut rows = 0;
    for line in include_str!("../../../../docs/errata.md")
        .lines()
        .filter(|line| line.starts_with("| "))
    {
        let cell = line.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        if cell == "shown by" {
            continue;
        }
        rows += 1;
        let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test in: {line}");
        for name in names {
            let (path, test) = name
                .rsplit_once("::")
                .unwrap_or(("crates/airpace-core/tests/it/errata.rs", name));
            let source = std::fs::read_to_string(format!("{root}{path}"))
                .unwrap_or_else(|e| panic!("{path}: {e}"));
            assert!(
                source.contains(&format!("fn {test}(")),
                "{path} has no test {test}"
            );
        }
    }
    assert!(rows >= 20, "{rows} rows");
}

#[test]
fn theorem_1_as_printed_is_infeasible() {
    for problem in [mixed(None), wide(None)] {
        let printed = theorem1(&problem, Reading::SlowestAtLimit);
        let w = airtimes(&problem);
        let (slowest, n) = (w[0], w.len() as f64);
        // x = α/w with the printed α.
        let full = problem.stations()[0].level_limit * slowest;
        let alpha = full / (problem.overhead_s() + n * full);
        assert!(
            printed
                .rate_pps
                .iter()
                .zip(&w)
                .all(|(x, w)| (x * w / alpha - 1.0).abs() < 1e-12)
        );
        assert!(matches!(
            problem.check_rates(&printed.rate_pps, 1e-9),
            Err(Violation::Level { .. })
        ));
        assert!(
            printed.level.iter().copied().fold(0.0, f64::max) > 200.0,
            "of 64 at most: {:?}",
            printed.level
        );
    }
}

#[test]
fn theorem_1_with_the_fastest_at_its_limit_is_below_the_optimum() {
    for problem in [mixed(None), wide(None)] {
        let amended = theorem1(&problem, Reading::FastestAtLimit);
        problem.check_rates(&amended.rate_pps, 1e-9).unwrap();
        let optimum = conic(&problem, &Utility::AlphaFair(1.0)).unwrap();
        let loss = optimum.utility - amended.utility;
        assert!((0.01..1.0).contains(&loss), "{loss}");
        assert!(
            amended.rate_pps[0] < 0.98 * optimum.rate_pps[0],
            "the slowest station gets less than it should"
        );
        // What it is: the same payload airtime for all.
        let airtime: Vec<f64> = airtimes(&problem)
            .iter()
            .zip(&amended.rate_pps)
            .map(|(w, x)| w * x)
            .collect();
        assert!(airtime.iter().all(|a| (a / airtime[0] - 1.0).abs() < 1e-12));
    }
}

#[test]
fn the_multipliers_of_theorem_1_fit_the_slowest_stations_only() {
    let problem = mixed(None);
    let printed = theorem1(&problem, Reading::SlowestAtLimit);
    let w = airtimes(&problem);
    let free = problem.overhead_s() / printed.round_s;
    // λ is zero but for the slowest station, and such that its own condition holds.
    let share = |i: usize| w[i] * printed.rate_pps[i] / free;
    let lambda = 1.0 / (printed.level[0] * (1.0 + share(0)));
    let condition =
        |i: usize| lambda * printed.level[0] * (if i == 0 { 1.0 } else { 0.0 } + share(i));
    assert!((condition(0) - 1.0).abs() < 1e-12);
    assert!((1..w.len()).all(|i| condition(i) < 0.99));
}

#[test]
fn the_airtime_of_a_packet_does_not_depend_on_the_level() {
    // Two equal stations: μ = c x / (1 − n x w) must solve μ = (c + n w μ) x with the airtime of
    // one packet.
    let (overhead, x, rate) = (428e-6, 10_000.0, 513e6);
    let level = |w: f64| overhead * x / (1.0 - 2.0 * x * w);
    let w = PACKET_BITS / rate;
    let residual = |level: f64| level - (overhead + 2.0 * (PACKET_BITS / rate) * level) * x;
    assert!(residual(level(w)).abs() < 1e-9);
    // As printed, w = L μ/R with that same level leaves no solution: the load exceeds the air.
    assert!(2.0 * x * w * level(w) > 1.0);
}

#[test]
fn the_interval_of_frame_rates_is_printed_backwards() {
    let (x, most) = (10_000.0, 64.0);
    assert!(x > x / most, "[x, x/N] is empty");
    for level in [1.0, 10.0, most] {
        assert!((x / most..=x).contains(&(x / level)));
    }
}

#[test]
fn multipliers_as_printed_never_fall() {
    // One station. The rate answers the multiplier by 1 = λ μ (1 + w μ/c).
    let (w, overhead, target) = (PACKET_BITS / 390e6, 200e-6, 32.0);
    let level = |lambda: f64| {
        let b: f64 = w / overhead;
        ((1.0 + 4.0 * b / lambda).sqrt() - 1.0) / (2.0 * b)
    };
    let settle = |step: fn(f64) -> f64| {
        let mut lambda = 2.0 / (target * (1.0 + w * target / overhead));
        for _ in 0..2_000 {
            lambda = (lambda + step(1e-6 * (level(lambda) - target))).max(0.0);
        }
        level(lambda)
    };
    assert!((settle(|step| step) - target).abs() < 0.1);
    assert!(
        settle(|step| step.max(0.0)) < 0.8 * target,
        "a multiplier that starts too large stays"
    );
}

#[test]
fn the_dual_step_with_measured_levels_has_no_minimiser() {
    let (lambda, measured) = (1e-3, 32.0);
    let lagrangian = |log_rate: f64| -log_rate + lambda * measured;
    assert!((1..1_000).all(|k| lagrangian(f64::from(k + 1)) < lagrangian(f64::from(k))));
}

#[test]
fn the_gain_bound_of_12_holds_at_867_mbps_only() {
    for (mbps, bound) in [(100.0, 0.29), (390.0, 3.4), (866.7, 11.6)] {
        let downlink = plant(&problem(&[mbps], 200.0, 32.0, None));
        let rates = downlink.rates_at_levels(&[32.0]);
        let exact = linear_gain_limit(&downlink, &rates, 0).unwrap() * PACKET_BITS / 1e6;
        assert!((exact / bound - 1.0).abs() < 0.02, "{mbps}: {exact}");
        // The law on the plant, close to its fixed point, on either side of the bound.
        let settled = |gain_mbps: f64| {
            let mut x = rates[0] * 1.0005;
            for _ in 0..500 {
                x = (x - gain_mbps * 1e6 / PACKET_BITS
                    * (downlink.published(&[x]).level[0] - 32.0))
                    .max(0.0);
            }
            (downlink.published(&[x]).level[0] - 32.0).abs()
        };
        assert!(
            settled(0.9 * exact) < 1e-3 && settled(1.1 * exact) > 0.5,
            "{mbps}"
        );
    }
}

#[test]
fn the_gain_bound_of_12_is_half_the_bound_in_packets_per_second() {
    // The typical values of §6.1.1.
    let downlink = plant(&problem(&[100.0], 200.0, 32.0, None));
    let rates = downlink.rates_at_levels(&[32.0]);
    let bound = linear_gain_limit(&downlink, &rates, 0).unwrap();
    assert!((bound - 24.5).abs() < 0.1, "{bound} packets/s per packet");
    assert!((bound / 2.0 - 12.0).abs() < 0.5);
    assert!((bound * PACKET_BITS / 1e6 - 0.294).abs() < 0.001);
}

#[test]
fn figure_7_has_two_stations_of_different_rates() {
    let saturates = |mbps: &[f64]| {
        let downlink = plant(&problem(mbps, 214.0, 64.0, None));
        downlink.rates_at_levels(&vec![64.0; mbps.len()])[0] * PACKET_BITS / 1e6
    };
    // Both stations have the same rate where both levels are 64, because they are sent to in turn.
    assert!((saturates(&[513.0, 850.0]) - 271.5).abs() < 0.1);
    assert!((saturates(&[513.0, 513.0]) - 224.4).abs() < 0.1);
    assert!((saturates(&[850.0, 850.0]) - 343.6).abs() < 0.1);
}

#[test]
fn four_rounds_of_a_gain_of_1_mbps_do_not_reach_what_one_stream_carries() {
    // Payload of 1470 bytes, VHT, 80 MHz, MCS 9, Mbit/s.
    let rate = |streams: u8, level: f64| {
        let phy = TxRate::new(
            Standard::Vht,
            Width::Mhz80,
            streams,
            9,
            GuardInterval::Ns800,
        );
        let link = Link::of_phy(
            phy.unwrap(),
            1_498,
            AccessCategory::BestEffort,
            airpace_core::phy::Timing::Standard,
        );
        let round_s = link.overhead_s + level * link.seconds_per_packet;
        level * 8.0 * 1_470.0 / round_s / 1e6
    };
    let (before, carried) = (rate(2, 32.0), rate(1, 64.0));
    // Full frames are 32 packets above the target, so that a round takes 32 gains off.
    let rounds = |gain: f64| ((before - carried) / (32.0 * gain)).ceil();
    assert_eq!(rounds(1.0), 6.0, "{before} to {carried} Mbit/s");
    assert_eq!([1.5, 1.9].map(rounds), [4.0, 4.0]);
    assert_eq!([1.4, 2.0].map(rounds), [5.0, 3.0]);
}

#[test]
fn ten_reports_per_second_would_show_in_the_goodput() {
    // VHT, MCS 9, 2 streams; a report has 60 bytes and the headers of UDP and IP.
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 2, 9, GuardInterval::Ns800).unwrap();
    let report = Link::of_phy(
        rate,
        88,
        AccessCategory::BestEffort,
        airpace_core::phy::Timing::Standard,
    );
    let share =
        |per_second: f64| 20.0 * per_second * (report.overhead_s + report.seconds_per_packet);
    assert!(
        share(10.0) > 0.03 && share(2.0) < 0.01,
        "{} {}",
        share(10.0),
        share(2.0)
    );
}

/// Distance of ν from its fixed point after 200 slots of equations 24 and 26 of 002 with K1 = 0.5,
/// on the plant of its figure 5 at MCS 4: c = 200 µs, T̄ = 2.5 ms, N̄ = 48.
fn distance_of_the_outer_loop(outer_gain: f64) -> f64 {
    let (c, w, target_s, limit) = (200e-6, 1_548.0 * 8.0 / 175.5e6, 2.5e-3, 48.0);
    // The fixed point: D = c + w z is the target.
    let fixed: f64 = (target_s - c) / w;
    let (mut z, mut nu) = (fixed * 1.01, fixed * 1.01);
    for _ in 0..200 {
        // The level is z, because the inner loop inverts the plant: μ = c x/(1 − w x).
        let x = z / (c + w * z);
        let level = c * x / (1.0 - w * x);
        z += 0.5 * (f64::min(nu, limit) - level);
        let x = z / (c + w * z);
        nu = f64::max(1.0, nu + outer_gain * (f64::min(target_s * x, limit) - nu));
    }
    (nu - fixed).abs()
}

#[test]
fn the_outer_loop_is_stable_beyond_a_gain_of_1() {
    for gain in [0.2, 1.0, 1.5, 1.8] {
        assert!(distance_of_the_outer_loop(gain) < 0.01, "{gain}");
    }
    assert!(distance_of_the_outer_loop(2.2) > 1.0);
}

#[test]
fn table_2_has_fifo_before_fq_codel() {
    // Mbit/s as printed: VO and BE at 5 ms, VO and BE at 50 ms.
    let (fifo, fq_codel) = ([27.5, 28.3, 21.6, 22.0], [25.5, 23.6, 15.2, 15.1]);
    assert!(fifo.iter().zip(&fq_codel).all(|(fifo, other)| fifo > other));
}

#[test]
fn table_2_has_scores_that_g107_gives_to_no_call_without_losses() {
    // FQ-CoDel, best effort: pings of the slow station take "more than 200 ms", so that one way takes
    // between 200 and 400 ms. flent, which made the table, took a sixth for the sixth root.
    for delay_ms in [200.0, 300.0, 400.0] {
        let call = Call::default()
            .with_delay_ms(delay_ms)
            .with_codec(Codec::LEAST_ROBUST);
        let standard = call.mean_opinion_score();
        assert!(standard > 2.5, "{delay_ms} ms: {standard}");
        let score = call.flent_score();
        assert!((1.0..1.4).contains(&score), "{delay_ms} ms: {score}");
    }
    // The other scores are not touched: those calls take less than 100 ms.
    let call = Call::default().with_delay_ms(60.0);
    assert_eq!(call.mean_opinion_score(), call.flent_score());
}

#[test]
fn table_1_prints_rates_that_leave_the_fast_stations_14_percent_of_the_time() {
    // Under FIFO: packets per frame, airtime as printed, base rate and measured rate in Mbit/s.
    let stations: [[f64; 4]; 3] = [
        [4.47, 0.10, 97.3, 7.1],
        [5.08, 0.11, 101.1, 6.3],
        [1.89, 0.79, 6.5, 5.3],
    ];
    // "The rate achieved by station i is simply given by the baseline rate … multiplied by the share
    // of airtime available" (§2.2.1).
    let shares = stations.map(|[_, _, base, measured]| measured / base);
    assert!((shares[0] + shares[1] - 0.135).abs() < 0.001, "{shares:?}");
    assert!((shares[2] - 0.815).abs() < 0.001, "{shares:?}");
    let printed: f64 = stations[..2].iter().map(|[_, airtime, ..]| airtime).sum();
    assert!(printed > 1.5 * (shares[0] + shares[1]));
    // The model's shares need a frame for each in turn. By the printed levels and rates the slow
    // station sent about twice as many frames as each of the others.
    let frames = stations.map(|[level, .., measured]| measured / level);
    for fast in &frames[..2] {
        assert!((1.7..2.3).contains(&(frames[2] / fast)), "{frames:?}");
    }
}

#[test]
fn lemma_1_misses_the_interior_optimum() {
    let problem = mixed(Some(20e-3));
    for optimum in [
        waterfill(&problem).unwrap(),
        conic(&problem, &Utility::AlphaFair(1.0)).unwrap(),
    ] {
        assert!(optimum.round_s < 8e-3, "far below the delay target");
        assert!(optimum.level[0] < 8.0, "far below the level limit");
        assert!((optimum.level[4] / 32.0 - 1.0).abs() < 1e-6);
    }
}

/// The published offline algorithm, 002 eq. 22–24, run until it stands still, on the exact model;
/// with `limit` as a further bound of ν.
fn offline(problem: &Problem, delay_s: f64, limit: f64) -> Solution {
    let w = airtimes(problem);
    let downlink = plant(problem);
    let cap = problem.stations()[0].level_limit;
    let (mut inner, mut outer) = (vec![1.0; w.len()], 1.0_f64);
    for _ in 0..5_000 {
        for (z, wi) in inner.iter_mut().zip(&w) {
            *z += 0.5 * ((outer * w[0] / wi).min(cap) - *z);
        }
        let first = downlink.rates_at_levels(&inner)[0];
        outer = (outer + 0.2 * ((delay_s * first).min(cap).min(limit) - outer)).max(1.0);
    }
    let rate_pps = downlink.rates_at_levels(&inner);
    let utility = problem.log_utility(&rate_pps);
    Solution {
        round_s: downlink.round_at_levels_s(&inner),
        level: inner,
        rate_pps,
        utility,
    }
}

#[test]
fn the_published_set_point_drives_past_the_optimum() {
    let problem = wide(Some(20e-3));
    let optimum = waterfill(&problem).unwrap();
    let published = offline(&problem, 20e-3, f64::INFINITY);
    let total = |s: &Solution| s.rate_pps.iter().sum::<f64>() * PACKET_BITS / 1e6;
    assert!(
        (published.round_s - 20e-3).abs() < 1e-5,
        "it goes to the delay target: {}",
        published.round_s
    );
    assert!(
        published.round_s > 1.1 * optimum.round_s && published.utility < optimum.utility - 0.01
    );
    assert!(
        total(&published) < 0.95 * total(&optimum),
        "{} of {}",
        total(&published),
        total(&optimum)
    );
    // With the water level as a third bound it stops at the optimum.
    let corrected = offline(&problem, 20e-3, optimum.level[0]);
    assert!((corrected.utility - optimum.utility).abs() < 1e-6);
}

#[test]
fn the_level_ratios_are_at_least_one() {
    let w = airtimes(&wide(None));
    let largest = w.iter().copied().fold(0.0, f64::max);
    assert!(w.iter().all(|w| largest / w >= 1.0) && w.iter().any(|w| largest / w > 20.0));
}

#[test]
fn the_inner_loop_is_stable_below_gamma_4_at_half_gain() {
    // The network has γ times the overhead that the controller believes in, so levels are γ times
    // its inner state.
    let settled = |gain: f64, gamma: f64| {
        let (target, mut z) = (32.0, 10.0);
        for _ in 0..300 {
            z += gain * (target - (gamma * z).clamp(0.0, 1e6));
        }
        (gamma * z - target).abs()
    };
    assert!(
        settled(0.5, 3.8) < 1e-6,
        "beyond the printed bound of 2 and stable"
    );
    assert!(settled(0.5, 4.2) > 1.0);
    assert!(
        settled(1.0, 1.9) < 1e-6 && settled(1.0, 2.1) > 1.0,
        "the printed bound is that of K1 = 1"
    );
}

#[test]
fn twenty_three_packets_at_mcs_4_leave_a_third_of_the_delay_target() {
    let airtime_ms = |packets: f64, mbps: f64| (1_500.0 + 48.0) * 8.0 * packets / (mbps * 1e3);
    assert!((airtime_ms(23.0, 175.5) - 1.62).abs() < 0.005);
    assert!(((2.5 - 0.2) / airtime_ms(1.0, 175.5) - 32.6).abs() < 0.05);
    // The case beside it is right: 16 packets at MCS 2.
    assert!((airtime_ms(16.0, 87.7) - 2.3).abs() < 0.05);
}

#[test]
fn equal_airtime_gives_the_faster_station_the_higher_level() {
    let optimum = waterfill(&problem(&[117.0, 234.0, 390.0], 214.0, 48.0, Some(3e-3))).unwrap();
    assert!((optimum.level[1] / optimum.level[0] - 2.0).abs() < 1e-9);
    assert!(optimum.level[2] > optimum.level[1]);
}

#[test]
fn wqm_prints_larger_figures_than_its_formulas_give() {
    assert!(
        (wqm::artt_s(600e6, 64.0) * 1e3 - 1.784).abs() < 0.001 && wqm::PRINTED_ARTT_S == 1.9e-3
    );
    assert!(wqm::max_packets(600e6, 64.0) == 89.0 && wqm::PRINTED_MAX_PACKETS == 95.0);
    assert!(
        (wqm::least_limit_s(6.5e6) * 1e3 - 2.379).abs() < 0.001 && wqm::PRINTED_LIMIT_S == 2.5e-3
    );
}

#[test]
fn sixty_four_full_packets_exceed_the_byte_limit_of_wqm() {
    let limit = AmpduLimits::of(Standard::Ht).bytes;
    let mpdus = limit / (1_500 + 38);
    assert_eq!(mpdus, 42, "not 64");
    assert_eq!(wqm::min_packets(600e6), 42.0);
    assert_eq!(wqm::max_packets(600e6, 42.0), 66.0);
}

#[test]
fn mean_backoff_is_half_the_contention_window() {
    let edca = Edca::of(AccessCategory::BestEffort);
    let slots = (0..=u32::from(edca.cw_min)).sum::<u32>() as f64 / (f64::from(edca.cw_min) + 1.0);
    assert_eq!(slots, 7.5);
    assert_eq!(edca.mean_backoff().as_nanos(), 67_500);
}

fn anomaly_table(levels: [f64; 3], fair: bool) -> f64 {
    let rates = [144.4e6, 144.4e6, 7.2e6];
    let row = |i: usize| Aggregate {
        packets: levels[i],
        packet_bytes: 1_500.0,
        phy_rate_bps: rates[i],
    };
    shares(&[row(0), row(1), row(2)], fair)
        .iter()
        .map(|s| s.rate_bps / 1e6)
        .sum()
}

#[test]
fn the_totals_of_the_anomaly_table_agree_within_rounding() {
    let unfair = anomaly_table([4.47, 5.08, 1.89], false);
    let fair = anomaly_table([18.44, 18.52, 1.89], true);
    assert!(
        (unfair - 26.2).abs() < 0.05 && (fair - 86.7).abs() < 0.05,
        "{unfair} {fair}"
    );
    // The slow station's level alone, anywhere within its rounding, moves the first total by 0.1.
    let spread =
        anomaly_table([4.475, 5.085, 1.885], false) - anomaly_table([4.465, 5.075, 1.895], false);
    assert!(spread > 0.1, "{spread}");
    assert!((unfair - 26.4).abs() < 0.25 && (fair - 86.8).abs() < 0.2);
}

#[test]
fn the_anomaly_model_counts_sifs_twice_and_the_block_ack_too_short() {
    let frame = Aggregate {
        packets: 4.47,
        packet_bytes: 1_500.0,
        phy_rate_bps: 144.4e6,
    };
    // 34 µs + 16 µs + (16 µs + 58 bytes at 144.4 Mbit/s) + 68 µs.
    assert!((frame.overhead_s() * 1e6 - 137.2).abs() < 0.05);
    let mcs_15 = TxRate::new(Standard::Ht, Width::Mhz20, 2, 15, GuardInterval::Ns400).unwrap();
    let block_ack = airpace_core::phy::control_rate(mcs_15).duration(BLOCK_ACK_BYTES);
    assert_eq!(block_ack, LegacyRate::Mbps24.duration(32));
    let standard = 34.0 + SIFS.as_micros() as f64 + block_ack.as_micros() as f64 + 67.5;
    assert!((standard - 149.5).abs() < 1e-9, "{standard}");
}
