use super::*;
use crate::phy::{GuardInterval, LegacyRate, Width};
use proptest::prelude::*;

/// One row of ns-3 3.44's default model, written by `validation/ns3/error_model.cc`.
struct Reference {
    rate: TxRate,
    coding: Coding,
    bytes: u32,
    /// Ratios in dB at 50, 10 and 1 % errors.
    snr_db: [f64; 3],
    /// The ratio in dB from which on IdealWifiManager uses the rate: 10⁻⁶ errors per bit.
    ideal_db: f64,
}

fn references() -> Vec<Reference> {
    let text = include_str!("../../../tests/data/ns3_error_model.csv");
    text.lines().skip(1).map(reference).collect()
}

fn reference(line: &str) -> Reference {
    let words: Vec<&str> = line.split(',').collect();
    let mcs = words[2].parse().unwrap();
    let shape = |standard| {
        let width = Width::from_mhz(words[1].parse().unwrap()).unwrap();
        TxRate::new(standard, width, 1, mcs, GuardInterval::Ns800)
            // VHT has no MCS 9 at 20 MHz. ns-3's model accepts it because it depends on
            // constellation and code only.
            .unwrap_or_else(|_| {
                TxRate::new(standard, Width::Mhz80, 1, mcs, GuardInterval::Ns800).unwrap()
            })
    };
    let rate = match words[0] {
        "dsss" => TxRate::legacy(LegacyRate::of(Standard::Dsss, mcs).unwrap()),
        "ofdm" => TxRate::legacy(LegacyRate::of(Standard::Ofdm, mcs).unwrap()),
        "ht" => shape(Standard::Ht),
        "vht" => shape(Standard::Vht),
        _ => shape(Standard::He),
    };
    let coding = if words[3] == "ldpc" {
        Coding::Ldpc
    } else {
        Coding::Convolutional
    };
    let snr_db = [5, 6, 7].map(|column| words[column].parse().unwrap());
    Reference {
        rate,
        coding,
        bytes: words[4].parse().unwrap(),
        snr_db,
        ideal_db: words[8].parse().unwrap(),
    }
}

/// The largest differences in dB from ns-3 at 50, 10 and 1 % over the references that `of_interest`
/// selects, and their number.
fn differences(of_interest: impl Fn(&Reference) -> bool) -> ([f64; 3], usize) {
    let (mut most, mut count) = ([0.0_f64; 3], 0);
    for row in references().iter().filter(|row| of_interest(row)) {
        for (i, target) in [0.5, 0.1, 0.01].into_iter().enumerate() {
            let ours = ErrorModel::new(row.coding).required_snr_db(row.rate, row.bytes, target);
            let difference = (ours - row.snr_db[i]).abs();
            most[i] = most[i].max(difference);
            assert!(
                i != 1 || difference < 1.0 || row.bytes < 100,
                "{} {} {ours}",
                row.rate,
                row.bytes
            );
        }
        count += 1;
    }
    (most, count)
}

#[test]
fn the_convolutional_code_agrees_with_the_default_of_ns3() {
    let tables = |row: &Reference| {
        row.coding == Coding::Convolutional
            && row.rate.standard() != Standard::Dsss
            && row.rate.mcs() < 10
    };
    let (at_reference, count) = differences(|row| tables(row) && row.bytes == 1_458);
    assert_eq!(count, 2 * 8 + 3 * 10 + 3 * 10 + 8);
    // 0.19 dB at 10 %, and 0.31 for BPSK 3/4, for which ns-3 has no table.
    assert!(
        at_reference[1] < 0.35 && at_reference[2] < 0.6 && at_reference[0] < 1.2,
        "{at_reference:?}"
    );
    let without_9_mbps =
        |row: &Reference| tables(row) && row.rate.legacy_rate() != Some(LegacyRate::Mbps9);
    let (most, _) = differences(|row| without_9_mbps(row) && row.bytes == 1_458);
    assert!(most.iter().all(|&d| d < 0.2), "{most:?}");
    let (lengths, _) = differences(|row| without_9_mbps(row));
    assert!(lengths[1] < 0.55, "{lengths:?}");
}

#[test]
fn the_highest_mcs_of_he_are_as_bad_as_in_ns3_without_ldpc() {
    let fallback = |row: &Reference| row.coding == Coding::Convolutional && row.rate.mcs() >= 10;
    let (most, count) = differences(|row| fallback(row) && row.bytes == 1_458);
    assert_eq!(count, 6);
    assert!(most.iter().all(|&d| d < 0.7), "{most:?}");
}

#[test]
fn ldpc_agrees_with_the_tables_of_ns3() {
    let (most, count) = differences(|row| row.coding == Coding::Ldpc && row.bytes == 1_458);
    assert_eq!(count, 2 * 8 + 3 * 10 + 3 * 12);
    assert!(
        most[1] < 0.002 && most.iter().all(|&d| d < 0.14),
        "{most:?}"
    );
}

#[test]
fn dsss_agrees_with_ns3() {
    let (most, count) =
        differences(|row| row.rate.standard() == Standard::Dsss && row.bytes >= 100);
    assert_eq!(count, 4 * 5);
    assert!(most.iter().all(|&d| d < 0.11) && most[1] < 0.06, "{most:?}");
}

#[test]
fn ratios_at_a_millionth_of_errors_per_bit_are_those_of_the_ideal_manager_of_ns3() {
    let rows = references()
        .into_iter()
        .filter(|row| row.coding == Coding::Convolutional && row.bytes == 1_458);
    let loss = -(-1e-6_f64 * 8.0).exp_m1();
    let off = |row: Reference| {
        (ErrorModel::default().required_snr_db(row.rate, 1, loss) - row.ideal_db).abs()
    };
    let most = rows.map(off).fold(0.0, f64::max);
    assert!(most < 0.5, "{most}");
}

#[test]
fn a_hundredth_of_the_length_needs_one_and_a_half_to_two_and_a_half_db_less() {
    for mcs in 0..=9 {
        let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, mcs, GuardInterval::Ns800).unwrap();
        let need = |bytes| ErrorModel::default().required_snr_db(rate, bytes, 0.1);
        let less = need(3_000) - need(30);
        assert!((1.35..2.5).contains(&less), "{rate}: {less}");
    }
}

#[test]
fn every_ratio_gives_a_probability() {
    let all = LegacyRate::DSSS
        .into_iter()
        .chain(LegacyRate::OFDM)
        .map(TxRate::legacy);
    let he = (0..=11)
        .map(|mcs| TxRate::new(Standard::He, Width::Mhz80, 1, mcs, GuardInterval::Ns800).unwrap());
    for rate in all.chain(he) {
        for coding in [Coding::Convolutional, Coding::Ldpc] {
            let model = ErrorModel::new(coding);
            for snr_db in [f64::NAN, f64::NEG_INFINITY, -1e300, -60.0] {
                assert_eq!(
                    model.mpdu_error(rate, snr_db, 1_500),
                    1.0,
                    "{rate} {snr_db}"
                );
            }
            for snr_db in [60.0, 1e300, f64::INFINITY] {
                assert!(
                    model.mpdu_error(rate, snr_db, u32::MAX) < 1e-30,
                    "{rate} {snr_db}"
                );
            }
        }
    }
}

#[test]
fn the_complementary_error_function_has_its_tabulated_values() {
    for (x, value) in [
        (0.0, 1.0),
        (1.0, 0.157_299_207),
        (2.0, 4.677_734_98e-3),
        (4.0, 1.541_725_79e-8),
    ] {
        assert!((erfc(x) / value - 1.0).abs() < 0.003, "{x}: {}", erfc(x));
    }
}

proptest! {
    #[test]
    fn errors_fall_with_the_ratio_and_grow_with_length_and_mcs(
        snr_db in -10.0..40.0_f64, more_db in 0.0..20.0_f64, bytes in 1..5_000_u32, more in 1..5_000_u32,
        mcs in 0..11_u8, ldpc: bool,
    ) {
        let model = ErrorModel::new(if ldpc { Coding::Ldpc } else { Coding::Convolutional });
        let he = |mcs| TxRate::new(Standard::He, Width::Mhz40, 1, mcs, GuardInterval::Ns800).unwrap();
        let error = model.mpdu_error(he(mcs), snr_db, bytes);
        prop_assert!((0.0..=1.0).contains(&error));
        prop_assert!(model.mpdu_error(he(mcs), snr_db + more_db, bytes) <= error);
        prop_assert!(model.mpdu_error(he(mcs), snr_db, bytes + more) >= error);
        prop_assert!(model.mpdu_error(he(mcs + 1), snr_db, bytes) >= error);
    }

    #[test]
    fn legacy_errors_fall_with_the_ratio_and_grow_with_length(
        snr_db in -15.0..30.0_f64, more_db in 0.0..20.0_f64, bytes in 1..5_000_u32, index in 0..12_usize,
    ) {
        let rate = *LegacyRate::DSSS.iter().chain(&LegacyRate::OFDM).nth(index).unwrap();
        let error = |snr_db, bytes| ErrorModel::default().mpdu_error(TxRate::legacy(rate), snr_db, bytes);
        prop_assert!(error(snr_db + more_db, bytes) <= error(snr_db, bytes));
        prop_assert!(error(snr_db, bytes) <= error(snr_db, bytes + 1));
    }
}
