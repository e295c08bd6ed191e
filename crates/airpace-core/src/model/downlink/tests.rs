use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// 000 fig. 7: T_acc 106 µs, T_oh 108 µs, 1500-byte packets, at most 64 in a frame.
fn figure_7(rate_bps: f64, n: usize) -> Downlink {
    Downlink::new(vec![Link::new(12_000.0 / rate_bps, 214e-6, 64.0); n]).unwrap()
}

const PACKET_MBIT: f64 = 12_000.0 / 1e6;

#[test]
fn aggregation_begins_and_saturates_where_figure_7_has_it() {
    for (rate, n, first, last) in [
        (513e6, 1, 50.5, 448.8),
        (513e6, 2, 25.3, 224.4),
        (850e6, 1, 52.6, 687.2),
    ] {
        let downlink = figure_7(rate, n);
        for (level, mbps) in [(1.0, first), (64.0, last)] {
            let x = downlink.rates_at_levels(&vec![level; n])[0];
            assert!((x * PACKET_MBIT - mbps).abs() < 0.05, "{}", x * PACKET_MBIT);
            // Just inside, the level follows; just outside, it stays.
            let at = |factor: f64| downlink.published(&vec![x * factor; n]).level[0];
            assert!((at(0.99) - level).abs() < level && at(1.0 + 1e-9) >= 1.0 && at(1.02) <= 64.0);
        }
        let saturated = downlink.rates_at_levels(&vec![64.0; n]);
        assert!(downlink.is_stable(&saturated.iter().map(|x| x * 0.999).collect::<Vec<_>>()));
        assert!(!downlink.is_stable(&saturated.iter().map(|x| x * 1.001).collect::<Vec<_>>()));
    }
}

#[test]
fn both_models_agree_where_every_station_has_a_packet_in_every_round() {
    let downlink = Downlink::new(vec![
        Link::new(30e-6, 200e-6, 64.0),
        Link::new(100e-6, 210e-6, 64.0),
    ])
    .unwrap();
    let rates = downlink.rates_at_levels(&[30.0, 5.0]);
    let (published, refined) = (downlink.published(&rates), downlink.refined(&rates));
    for (a, b) in published.level.iter().zip(&refined.level) {
        assert!((a / b - 1.0).abs() < 1e-9);
    }
    assert!((published.round_s.unwrap() / refined.round_s.unwrap() - 1.0).abs() < 1e-9);
}

#[test]
fn an_idle_medium_carries_packets_one_by_one() {
    let downlink = figure_7(513e6, 2);
    let point = downlink.refined(&[100.0, 200.0]);
    assert_eq!(
        point,
        Operating {
            level: vec![1.0, 1.0],
            round_s: None
        }
    );
    assert_eq!(downlink.refined(&[0.0, 0.0]).round_s, None);
    assert_eq!(downlink.published(&[100.0, 200.0]).level, [1.0, 1.0]);
}

#[test]
fn a_station_with_little_demand_makes_rounds_longer_but_not_by_a_frame_each() {
    // A busy station and one with 50 packets/s: the published round has a frame for each.
    let downlink = figure_7(513e6, 2);
    let rates = [20_000.0, 50.0];
    let refined = downlink.refined(&rates).round_s.unwrap();
    // Closed form with H = {0}: D = T_oh / (1 − wᵀx − T_oh x₁).
    let expected = 214e-6 / (1.0 - downlink.load(&rates) - 214e-6 * 50.0);
    assert!((refined / expected - 1.0).abs() < 1e-9);
    assert!(downlink.published(&rates).round_s.unwrap() > 1.5 * refined);
}

#[test]
fn an_overloaded_station_takes_no_more_than_full_frames() {
    let downlink = figure_7(513e6, 2);
    let point = downlink.refined(&[1e6, 1_000.0]);
    assert_eq!(point.level[0], 64.0);
    let w = 12_000.0 / 513e6;
    let expected = (428e-6 + 64.0 * w) / (1.0 - w * 1_000.0);
    assert!(
        (point.round_s.unwrap() / expected - 1.0).abs() < 1e-9,
        "{point:?}"
    );
    assert_eq!(downlink.published(&[1e6, 1e6]).level, [64.0, 64.0]);
}

#[test]
fn the_delay_bound_is_the_round_between_its_limits() {
    let downlink = figure_7(513e6, 1);
    let at = |x: f64| downlink.delay_bound_s(&[x])[0];
    // Light load: a packet waits at most for the next; overload: N_max/x; between: the round.
    assert_eq!(at(100.0), 0.01);
    assert!((at(1e6) - 64e-6).abs() < 1e-15);
    let x = downlink.rates_at_levels(&[32.0])[0];
    assert!((at(x) - downlink.round_at_levels_s(&[32.0])).abs() < 1e-12);
}

#[test]
fn losses_cost_airtime() {
    let link = Link::new(30e-6, 200e-6, 64.0);
    assert!((link.with_loss(0.25).unwrap().seconds_per_packet - 40e-6).abs() < 1e-18);
    for bad in [1.0, -0.1, f64::NAN] {
        assert!(matches!(link.with_loss(bad), Err(ModelError::Loss(_))));
    }
}

#[test]
fn demand_limited_stations_look_like_overhead() {
    let (backlogged, limited) = ([(30e-6, 32.0), (60e-6, 16.0)], [(100e-6, 500.0)]);
    let round_s = round_with_limited_demand_s(600e-6, &backlogged, &limited).unwrap();
    assert!((round_s - (600e-6 + 1_920e-6) / 0.95).abs() < 1e-12);
    let seen = effective_overhead_s(round_s, &backlogged);
    // With that overhead the others' rates follow from the plain model: x = μ/(c + wᵀμ).
    assert!((32.0 / (seen + 1_920e-6) - 32.0 / round_s).abs() < 1e-6);
    assert!(seen > 600e-6);
    assert_eq!(
        round_with_limited_demand_s(1e-3, &backlogged, &[(1e-3, 1_000.0)]),
        None
    );
}

#[test]
fn links_of_a_phy_rate_have_the_overhead_that_ns3_shows() {
    use crate::phy::{GuardInterval, Standard, Width};
    let overhead = |nss, mcs| {
        let rate =
            TxRate::new(Standard::Vht, Width::Mhz80, nss, mcs, GuardInterval::Ns800).unwrap();
        Link::of_phy(rate, 1_498, AccessCategory::BestEffort, Timing::Ns3).overhead_s * 1e6
    };
    // Measured there: 195–202 (MCS 9), 197–206 (MCS 4), 230–242 (MCS 0), 200–206 (2 streams),
    // 208–213 (3 streams).
    assert!(
        (195.0..202.0).contains(&overhead(1, 9)),
        "{}",
        overhead(1, 9)
    );
    assert!(
        (195.0..206.0).contains(&overhead(1, 4)),
        "{}",
        overhead(1, 4)
    );
    assert!(
        (230.0..242.0).contains(&overhead(1, 0)),
        "{}",
        overhead(1, 0)
    );
    assert!(
        (200.0..206.0).contains(&overhead(2, 9)),
        "{}",
        overhead(2, 9)
    );
    assert!(
        (207.0..213.0).contains(&overhead(3, 9)),
        "{}",
        overhead(3, 9)
    );
}

#[test]
fn numbers_out_of_range_are_named() {
    assert_eq!(Downlink::new(vec![]).unwrap_err(), ModelError::Empty);
    for (link, what) in [
        (Link::new(f64::NAN, 1e-4, 32.0), "airtime"),
        (Link::new(1e-5, 0.0, 32.0), "overhead"),
        (Link::new(1e-5, 1e-4, 0.0), "most packets"),
    ] {
        let message = Downlink::new(vec![link]).unwrap_err().to_string();
        assert!(
            message.starts_with("station 0") && message.contains(what),
            "{message}"
        );
    }
}

fn any_downlink() -> impl Strategy<Value = Downlink> {
    vec((1e-6..1e-3_f64, 5e-5..5e-4_f64, 1.0..256.0_f64), 1..8).prop_map(|links| {
        Downlink::new(
            links
                .into_iter()
                .map(|(w, c, n)| Link::new(w, c, n))
                .collect(),
        )
        .unwrap()
    })
}

proptest! {
    /// Random chords: what lies between two stable rate vectors is stable, in x and in log x.
    #[test]
    fn the_rate_region_is_convex(downlink in any_downlink(), seed in vec((0.0..1.0_f64, 0.0..1.0_f64), 8), t in 0.0..1.0_f64) {
        let n = downlink.links().len();
        // Points on rays, scaled back until they are stable.
        let inside = |pick: fn(&(f64, f64)) -> f64| -> Vec<f64> {
            let mut x: Vec<f64> =
                (0..n).map(|i| (pick(&seed[i]) + 1e-3) * 2.0 / downlink.links()[i].seconds_per_packet).collect();
            while !downlink.is_stable(&x) {
                x.iter_mut().for_each(|x| *x *= 0.9);
            }
            x
        };
        let (a, b) = (inside(|s| s.0), inside(|s| s.1));
        let between: Vec<f64> = a.iter().zip(&b).map(|(a, b)| t * a + (1.0 - t) * b).collect();
        prop_assert!(downlink.is_stable(&between));
        let geometric: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a.powf(t) * b.powf(1.0 - t) * (1.0 - 1e-12)).collect();
        prop_assert!(downlink.is_stable(&geometric));
    }

    /// The refined round satisfies its own equation.
    #[test]
    fn the_refined_round_is_what_its_stations_take(downlink in any_downlink(), loads in vec(0.0..2.0_f64, 8)) {
        let rates: Vec<f64> =
            downlink.links().iter().zip(&loads).map(|(l, load)| load / (l.seconds_per_packet + l.overhead_s)).collect();
        let point = downlink.refined(&rates);
        prop_assert!(downlink.links().iter().zip(&point.level).all(|(l, n)| (1.0..=l.level_max).contains(n)));
        if let Some(round) = point.round_s {
            let taken: f64 = downlink.links().iter().zip(&rates).map(|(l, x)| {
                let packets = x * round;
                let frames = packets.min(1.0);
                frames * l.overhead_s + packets.min(l.level_max) * l.seconds_per_packet
            }).sum();
            prop_assert!((taken / round - 1.0).abs() < 1e-9, "{taken} {round}");
        } else {
            prop_assert!(loads[..rates.len()].iter().sum::<f64>() <= 1.0 + 1e-9);
        }
    }

    #[test]
    fn levels_and_rates_are_inverse(downlink in any_downlink(), level in vec(0.5..300.0_f64, 8)) {
        let level = &level[..downlink.links().len()];
        let back = downlink.unlimited(&downlink.rates_at_levels(level)).unwrap();
        for (a, b) in level.iter().zip(&back.level) {
            prop_assert!((a / b - 1.0).abs() < 1e-6);
        }
    }
}
