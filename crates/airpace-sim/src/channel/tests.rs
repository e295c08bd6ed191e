use super::*;
use airpace_core::phy::error::ErrorModel;
use airpace_core::phy::{GuardInterval, LegacyRate, Standard, TxRate, Width};
use airpace_units::Time;
use core::time::Duration;
use proptest::prelude::*;
use strum::{EnumMessage, VariantNames};

#[test]
fn fading_laws_have_the_names_that_scenario_files_use() {
    assert_eq!(
        FadingKind::VARIANTS,
        ["none", "rayleigh", "rician", "nakagami"]
    );
    let law = FadingLaw::Rician { factor: 4.0 };
    assert_eq!(FadingKind::from(law), "rician".parse().unwrap());
    assert_eq!(FadingKind::default(), FadingKind::None);
    assert_eq!(
        FadingKind::Rician.get_documentation(),
        Some("A line of sight and scattered paths.")
    );
    assert!("rice".parse::<FadingKind>().is_err());
}

fn line(places: &[f64]) -> ChannelConfig {
    ChannelConfig::new(
        places
            .iter()
            .map(|&x| Radio::at(Position::new(x, 0.0, 0.0)))
            .collect(),
    )
}

fn vht(width: Width, nss: u8, mcs: u8) -> TxRate {
    TxRate::new(Standard::Vht, width, nss, mcs, GuardInterval::Ns800).unwrap()
}

/// Distance in metres and SNR in dB that ns-3 3.44 reports for frames received there, sent with 16
/// dBm and its defaults, measured with `validation/ns3/link_budget.cc`. It receives frames at 51 m
/// and none at 52 m.
const NS3: [(f64, f64); 4] = [
    (10.0, 27.268),
    (20.0, 18.237),
    (28.0, 13.853),
    (40.0, 9.206),
];

#[test]
fn ratios_at_a_distance_are_those_of_ns3() {
    for (distance, expected) in NS3 {
        let mut config = line(&[0.0, distance]);
        config.radios[0].tx_power_dbm = 16.0;
        let channel = Channel::new(config).unwrap();
        let snr = channel.snr_db(RadioId(0), RadioId(1), 80.0);
        assert!((snr - expected).abs() < 0.002, "{distance} m: {snr}");
        let link = channel.link(RadioId(0), RadioId(1));
        assert!((link.snr_db(Time::ZERO, vht(Width::Mhz80, 1, 0)) - snr).abs() < 1e-9);
        // A quarter of the width has a quarter of the noise.
        assert!((link.snr_db(Time::ZERO, vht(Width::Mhz20, 1, 0)) - snr - 6.0206).abs() < 1e-3);
        // DSSS has 22 MHz.
        assert!((link.mean_snr_db(TxRate::legacy(LegacyRate::Mbps1)) - snr - 5.6067).abs() < 1e-3);
    }
    let mut config = line(&[0.0, 51.0, 52.0]);
    config.radios[0].tx_power_dbm = 16.0;
    let channel = Channel::new(config).unwrap();
    assert_eq!(
        [1, 2].map(|to| channel.link(RadioId(0), RadioId(to)).is_in_range()),
        [true, false]
    );
}

#[test]
fn noise_is_boltzmann_constant_times_temperature_and_width_plus_the_noise_figure() {
    // −173.975 dBm/Hz over 20 MHz and 7 dB.
    assert!((noise_dbm(20.0, 7.0) + 93.965).abs() < 0.002);
    assert!((noise_dbm(80.0, 7.0) + 87.944).abs() < 0.002);
}

#[test]
fn antennas_beyond_the_streams_add_their_gain() {
    let mut config = line(&[0.0, 10.0]);
    config.radios[1].antennas = 2;
    let channel = Channel::new(config).unwrap();
    let (to, back) = (
        channel.link(RadioId(0), RadioId(1)),
        channel.link(RadioId(1), RadioId(0)),
    );
    let gain = |nss| {
        to.mean_snr_db(vht(Width::Mhz80, nss, 0)) - back.mean_snr_db(vht(Width::Mhz80, nss, 0))
    };
    assert!((gain(1) - 3.0103).abs() < 1e-3 && gain(2).abs() < 1e-9);
}

#[test]
fn the_range_of_a_link_budget_inverts_the_path_loss() {
    let law = PathLoss::default();
    for distance in [1.0, 2.5, 40.0, 1e4] {
        assert!((law.distance_m(law.loss_db(distance)) / distance - 1.0).abs() < 1e-9);
    }
    assert_eq!(law.loss_db(0.0), 46.6777);
    // 16 dBm and −82 dBm: 51.5 m.
    assert!((law.distance_m(16.0 + 82.0) - 51.4).abs() < 0.2);
}

#[test]
fn stations_on_both_sides_of_an_access_point_are_hidden_from_each_other() {
    let channel = Channel::new(line(&[0.0, 40.0, -40.0])).unwrap();
    let hearing = channel.hearing();
    let Hearing::Matrix {
        senses,
        disturbs,
        decodes,
    } = &hearing
    else {
        panic!("matrices")
    };
    let [ap, left, right] = [0, 1, 2].map(RadioId);
    for station in [left, right] {
        assert!(
            [senses, disturbs, decodes]
                .iter()
                .all(|r| r.reaches(ap, station) && r.reaches(station, ap))
        );
    }
    // 80 m: −87.8 dBm, below −82 and just above the noise of 80 MHz, so it disturbs without being
    // heard.
    assert!(
        !senses.reaches(left, right)
            && !decodes.reaches(left, right)
            && disturbs.reaches(left, right)
    );
    let far = Channel::new(line(&[0.0, 55.0, -55.0])).unwrap().hearing();
    let Hearing::Matrix {
        senses, disturbs, ..
    } = far
    else {
        panic!("matrices")
    };
    assert!(
        !senses.reaches(ap, left) && disturbs.reaches(ap, left) && !disturbs.reaches(left, right)
    );
}

#[test]
fn beyond_detection_every_mpdu_is_lost() {
    let channel = Channel::new(line(&[0.0, 50.0, 53.0])).unwrap();
    let error = |to| {
        let link = channel.link(RadioId(0), RadioId(to));
        (
            link.is_in_range(),
            link.mpdu_error(
                &ErrorModel::default(),
                Time::ZERO,
                vht(Width::Mhz20, 1, 0),
                1_536,
            ),
        )
    };
    assert_eq!(error(2), (false, 1.0));
    assert!(error(1).0 && error(1).1 < 1e-3);
    let nobody = channel.link(RadioId(0), RadioId(9));
    assert_eq!(
        nobody.mpdu_error(
            &ErrorModel::default(),
            Time::ZERO,
            vht(Width::Mhz20, 1, 0),
            1
        ),
        1.0
    );
}

fn gains(law: FadingLaw, count: u64) -> Vec<f64> {
    let fading = Fading {
        law,
        coherence: Duration::from_millis(20),
    };
    (0..count)
        .map(|interval| 10_f64.powf(fading.gain_db(7, 65_538, interval) / 10.0))
        .collect()
}

#[test]
fn gains_have_mean_one_and_the_variance_of_their_law() {
    let laws = [
        (FadingLaw::Rayleigh, 1.0),
        // (2K + 1) / (K + 1)².
        (FadingLaw::Rician { factor: 0.0 }, 1.0),
        (FadingLaw::Rician { factor: 4.0 }, 9.0 / 25.0),
        (FadingLaw::Nakagami { shape: 0.5 }, 2.0),
        (FadingLaw::Nakagami { shape: 1.0 }, 1.0),
        (FadingLaw::Nakagami { shape: 4.0 }, 0.25),
        (FadingLaw::None, 0.0),
    ];
    for (law, variance) in laws {
        let all = gains(law, 40_000);
        let n = all.len() as f64;
        let mean = all.iter().sum::<f64>() / n;
        let squares = all.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / n;
        // Six standard deviations of the means: 0.03 and, with heavy tails, 0.15.
        assert!(
            (mean - 1.0).abs() < 0.045 && (squares - variance).abs() < 0.08 * variance.max(1e-9),
            "{law:?} {squares}"
        );
    }
}

#[test]
fn a_rayleigh_gain_is_below_a_tenth_in_a_tenth_of_the_intervals() {
    let below = gains(FadingLaw::Rayleigh, 40_000)
        .iter()
        .filter(|&&g| g < 0.1)
        .count() as f64
        / 40_000.0;
    assert!((below - (1.0 - (-0.1_f64).exp())).abs() < 0.01, "{below}");
}

#[test]
fn shadowing_is_log_normal_and_changes_with_its_own_interval() {
    let mut config = line(&[0.0, 20.0]);
    config.fading = Fading {
        law: FadingLaw::Rayleigh,
        coherence: Duration::from_millis(20),
    };
    config.shadowing = Shadowing {
        deviation_db: 4.0,
        coherence: Duration::from_secs(10),
    };
    let channel = Channel::new(config.clone()).unwrap();
    let link = |from, to| channel.link(RadioId(from), RadioId(to));
    let at = |ms| link(0, 1).received_dbm(Time::from_millis(ms));
    assert_eq!(at(9_981), link(1, 0).received_dbm(Time::from_millis(9_999)));
    // The gain changes with either, and the number of the interval tells.
    let numbers = [9_981, 9_979, 10_001].map(|ms| link(0, 1).interval(Time::from_millis(ms)));
    assert!(numbers[0] != numbers[1] && numbers[0] != numbers[2] && numbers[1] != numbers[2]);
    let gains: Vec<f64> = (0..20_000)
        .map(|interval| config.shadowing.gain_db(7, 65_538, interval))
        .collect();
    let n = gains.len() as f64;
    let mean = gains.iter().sum::<f64>() / n;
    let deviation = (gains.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / n).sqrt();
    assert!(
        mean.abs() < 0.15 && (deviation - 4.0).abs() < 0.15,
        "{mean} {deviation}"
    );
}

#[test]
fn fading_is_the_same_both_ways_and_changes_with_the_interval_only() {
    let mut config = line(&[0.0, 20.0, 20.0]);
    config.fading = Fading {
        law: FadingLaw::Rayleigh,
        coherence: Duration::from_millis(20),
    };
    let channel = Channel::new(config).unwrap();
    let at = |from, to, ms| {
        channel
            .link(RadioId(from), RadioId(to))
            .received_dbm(Time::from_millis(ms))
    };
    assert_eq!(at(0, 1, 41), at(1, 0, 59));
    assert_ne!(at(0, 1, 39), at(0, 1, 41));
    assert_ne!(at(0, 1, 41), at(0, 2, 41));
    assert_eq!(
        channel
            .link(RadioId(0), RadioId(1))
            .interval(Time::from_millis(59)),
        2
    );
}

#[test]
fn positions_stay_where_they_are_when_more_are_added() {
    let centre = Position::new(5.0, -5.0, 1.5);
    let (few, many) = (
        uniform_in_square(3, "stations", 4, 40.0, centre),
        uniform_in_square(3, "stations", 400, 40.0, centre),
    );
    assert_eq!(few, many[..4]);
    assert!(
        many.iter()
            .all(|p| (p.x - 5.0).abs() <= 20.0 && (p.y + 5.0).abs() <= 20.0 && p.z == 1.5)
    );
    let mean = many.iter().map(|p| p.x).sum::<f64>() / 400.0;
    assert!((mean - 5.0).abs() < 2.5 && few != uniform_in_square(4, "stations", 4, 40.0, centre));
}

#[test]
fn figures_out_of_range_are_refused() {
    let refused = |change: fn(&mut ChannelConfig)| {
        let mut config = line(&[0.0, 1.0]);
        change(&mut config);
        Channel::new(config).unwrap_err()
    };
    assert_eq!(
        refused(|c| c.radios[1].position.y = f64::NAN),
        ChannelError::Radio(RadioId(1))
    );
    assert_eq!(
        refused(|c| c.radios[0].tx_power_dbm = f64::INFINITY),
        ChannelError::Radio(RadioId(0))
    );
    assert_eq!(
        refused(|c| c.path_loss.exponent = 0.0),
        ChannelError::PathLoss
    );
    assert_eq!(
        refused(|c| c.thresholds.energy_dbm = f64::NAN),
        ChannelError::Threshold
    );
    assert_eq!(
        refused(|c| c.thresholds.disturb_width_mhz = 0.0),
        ChannelError::Threshold
    );
    let still = Fading {
        law: FadingLaw::Rayleigh,
        coherence: Duration::ZERO,
    };
    assert!(!still.is_valid());
    assert_eq!(
        refused(|c| c.fading.law = FadingLaw::Rician { factor: -1.0 }),
        ChannelError::Fading
    );
    assert_eq!(
        refused(|c| c.fading.law = FadingLaw::Nakagami { shape: f64::NAN }),
        ChannelError::Fading
    );
    assert_eq!(
        refused(|c| c.shadowing.deviation_db = -1.0),
        ChannelError::Shadowing
    );
    assert_eq!(
        refused(|c| c.shadowing.deviation_db = 31.0),
        ChannelError::Shadowing
    );
    assert_eq!(
        refused(|c| c.shadowing.deviation_db = f64::NAN),
        ChannelError::Shadowing
    );
}

proptest! {
    #[test]
    fn a_nearer_receiver_never_loses_more(near in 0.1..100.0_f64, farther in 0.0..100.0_f64, mcs in 0..10_u8, bytes in 1..4_000_u32) {
        let channel = Channel::new(line(&[0.0, near, near + farther])).unwrap();
        let error = |to| {
            let link = channel.link(RadioId(0), RadioId(to));
            link.mpdu_error(&ErrorModel::default(), Time::ZERO, vht(Width::Mhz80, 1, mcs), bytes)
        };
        prop_assert!(error(1) <= error(2));
    }
}

#[test]
fn powers_take_memory_for_those_who_hear_each_other_not_for_all_pairs() {
    // A row of rooms 60 m apart with 50 radios each: a building of twice the length.
    let pairs = |rooms: u32| {
        let radios = (0..rooms).flat_map(|room| {
            let centre = Position::new(f64::from(room) * 60.0, 0.0, 0.0);
            uniform_in_square(u64::from(room), "room", 50, 20.0, centre)
        });
        let channel = Channel::new(ChannelConfig::new(radios.map(Radio::at).collect())).unwrap();
        let Hearing::Powers(powers) = channel.powers(None) else {
            unreachable!("powers were asked for")
        };
        assert_eq!(powers.radios(), 50 * rooms as usize);
        powers.pairs() as f64
    };
    let (short, long) = (pairs(20), pairs(40));
    assert!(long < 2.4 * short, "{short} pairs, then {long}");
    assert!(long < 0.3 * 2_000.0 * 2_000.0, "{long}");
}
