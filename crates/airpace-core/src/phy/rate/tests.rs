use super::*;
use crate::phy::{ampdu_bytes, mpdu_bytes};

fn all(standard: Standard) -> impl Iterator<Item = (Width, u8, u8)> {
    let widths = [Width::Mhz20, Width::Mhz40, Width::Mhz80, Width::Mhz160];
    let max = if standard == Standard::He { 11 } else { 9 };
    widths
        .into_iter()
        .flat_map(move |w| (1..=8).flat_map(move |nss| (0..=max).map(move |mcs| (w, nss, mcs))))
}

fn vht(width: Width, nss: u8, mcs: u8) -> TxRate {
    TxRate::new(Standard::Vht, width, nss, mcs, GuardInterval::Ns800).unwrap()
}

#[test]
fn exactly_the_vht_combinations_of_the_standard_are_excluded() {
    let refused: Vec<_> = all(Standard::Vht)
        .filter(|&(width, nss, mcs)| {
            TxRate::new(Standard::Vht, width, nss, mcs, GuardInterval::Ns400).is_err()
        })
        .collect();
    // Clause 21.5: the rows that its tables mark as not valid.
    let listed = [
        (Width::Mhz20, 1, 9),
        (Width::Mhz20, 2, 9),
        (Width::Mhz20, 4, 9),
        (Width::Mhz20, 5, 9),
        (Width::Mhz20, 7, 9),
        (Width::Mhz20, 8, 9),
        (Width::Mhz80, 3, 6),
        (Width::Mhz80, 6, 9),
        (Width::Mhz80, 7, 6),
        (Width::Mhz160, 3, 9),
    ];
    assert_eq!(refused, listed);
}

#[test]
fn durations_equal_every_value_taken_from_ns3() {
    let vht80 = include_str!("timings_vht80.txt");
    let ht20 = include_str!("timings_ht20.txt");
    assert_eq!(check_fixture(vht80, Standard::Vht, Width::Mhz80, 1_498), 78);
    assert_eq!(check_fixture(ht20, Standard::Ht, Width::Mhz20, 1_500), 32);
}

/// Checks each `TIMING` line of a fixture and returns their number.
fn check_fixture(text: &str, standard: Standard, width: Width, ip_bytes: u32) -> usize {
    let lines: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("TIMING "))
        .collect();
    for line in &lines {
        check_line(line, standard, width, ip_bytes);
    }
    lines.len()
}

fn check_line(line: &str, standard: Standard, width: Width, ip_bytes: u32) {
    let fields: Vec<(&str, f64)> = line
        .split_whitespace()
        .map(|f| f.split_once('=').unwrap())
        .map(|(k, v)| (k, v.parse().unwrap()))
        .collect();
    let get = |name: &str| fields.iter().find(|(k, _)| *k == name).unwrap().1;
    let gi = GuardInterval::from_nanos(get("gi") as u32).unwrap();
    let (nss, mcs) = (get("nss") as u8, get("mcs") as u8);
    let mcs = if standard == Standard::Ht {
        mcs % 8 + 8 * (nss - 1)
    } else {
        mcs
    };
    let rate = TxRate::new(standard, width, nss, mcs, gi).unwrap();
    assert!(
        (rate.rate().as_mbps_f64() - get("rate")).abs() <= 0.051,
        "{line}"
    );
    let micros = |d: Duration| d.as_nanos() as f64 / 1e3;
    assert!(
        (micros(rate.preamble(Timing::Ns3)) - get("preamble")).abs() < 1e-9,
        "{line}"
    );
    for (name, value) in fields.iter().filter(|(k, _)| k.starts_with('N')) {
        let mpdus = name[1..].parse().unwrap();
        let psdu = ampdu_bytes(mpdus, mpdu_bytes(ip_bytes));
        let ours = micros(rate.ppdu_duration(psdu, Timing::Ns3));
        assert!((ours - value).abs() < 1e-6, "{line}: {name} is {ours}");
    }
}

/// A rate with its data bits per symbol and Mbit/s as printed in the standard.
type Row = (Standard, Width, u8, u8, GuardInterval, u32, f64);

/// Rows of the MCS tables of clauses 19.5, 21.5 and 27.5.
const RATES: [Row; 20] = [
    (
        Standard::Ht,
        Width::Mhz20,
        1,
        0,
        GuardInterval::Ns800,
        26,
        6.5,
    ),
    (
        Standard::Ht,
        Width::Mhz20,
        1,
        7,
        GuardInterval::Ns400,
        260,
        72.2,
    ),
    (
        Standard::Ht,
        Width::Mhz20,
        2,
        15,
        GuardInterval::Ns400,
        520,
        144.4,
    ),
    (
        Standard::Ht,
        Width::Mhz40,
        2,
        15,
        GuardInterval::Ns400,
        1_080,
        300.0,
    ),
    (
        Standard::Ht,
        Width::Mhz40,
        3,
        21,
        GuardInterval::Ns800,
        1_296,
        324.0,
    ),
    (
        Standard::Ht,
        Width::Mhz40,
        4,
        31,
        GuardInterval::Ns400,
        2_160,
        600.0,
    ),
    (
        Standard::Vht,
        Width::Mhz20,
        1,
        8,
        GuardInterval::Ns400,
        312,
        86.7,
    ),
    (
        Standard::Vht,
        Width::Mhz20,
        3,
        9,
        GuardInterval::Ns800,
        1_040,
        260.0,
    ),
    (
        Standard::Vht,
        Width::Mhz40,
        1,
        9,
        GuardInterval::Ns400,
        720,
        200.0,
    ),
    (
        Standard::Vht,
        Width::Mhz80,
        1,
        0,
        GuardInterval::Ns800,
        117,
        29.3,
    ),
    (
        Standard::Vht,
        Width::Mhz80,
        1,
        9,
        GuardInterval::Ns400,
        1_560,
        433.3,
    ),
    (
        Standard::Vht,
        Width::Mhz80,
        7,
        8,
        GuardInterval::Ns800,
        9_828,
        2_457.0,
    ),
    (
        Standard::Vht,
        Width::Mhz160,
        8,
        9,
        GuardInterval::Ns400,
        24_960,
        6_933.3,
    ),
    (
        Standard::He,
        Width::Mhz20,
        1,
        0,
        GuardInterval::Ns3200,
        117,
        7.3,
    ),
    (
        Standard::He,
        Width::Mhz20,
        1,
        11,
        GuardInterval::Ns800,
        1_950,
        143.4,
    ),
    (
        Standard::He,
        Width::Mhz40,
        2,
        11,
        GuardInterval::Ns800,
        7_800,
        573.5,
    ),
    (
        Standard::He,
        Width::Mhz80,
        1,
        9,
        GuardInterval::Ns1600,
        6_533,
        453.7,
    ),
    (
        Standard::He,
        Width::Mhz80,
        1,
        11,
        GuardInterval::Ns800,
        8_166,
        600.5,
    ),
    (
        Standard::He,
        Width::Mhz160,
        2,
        11,
        GuardInterval::Ns800,
        32_666,
        2_402.0,
    ),
    (
        Standard::He,
        Width::Mhz160,
        8,
        11,
        GuardInterval::Ns800,
        130_666,
        9_607.8,
    ),
];

#[test]
fn rates_equal_the_tables_of_the_standard() {
    for (standard, width, nss, mcs, gi, bits, mbps) in RATES {
        let rate = TxRate::new(standard, width, nss, mcs, gi).unwrap();
        assert_eq!(rate.bits_per_symbol(), bits, "{rate}");
        // The tables round to 0.1 Mbit/s; 0.05 exactly occurs (29.25).
        assert!(
            (rate.rate().as_mbps_f64() - mbps).abs() <= 0.051,
            "{rate}: {}",
            rate.rate()
        );
    }
}

#[test]
fn encoders_are_as_few_as_the_rate_allows_but_for_the_rows_raised_by_the_standard() {
    for (width, nss, mcs) in all(Standard::Vht) {
        let Ok(encoders) = vht_encoders(width, nss, mcs) else {
            continue;
        };
        let rate = vht(width, nss, mcs);
        let fewest = rate.bits_per_symbol().div_ceil(VHT_ENCODER_BITS);
        let expected = VHT_RAISED
            .iter()
            .find(|row| (row.0, row.1, row.2) == (width, nss, mcs))
            .map_or(fewest, |row| row.3);
        assert_eq!(encoders, expected, "{rate}");
        assert_eq!(encoders > fewest, expected > fewest, "{rate}");
    }
}

#[test]
fn ht_needs_a_second_encoder_above_300_mbps() {
    let tail = |mcs, nss| {
        TxRate::new(Standard::Ht, Width::Mhz40, nss, mcs, GuardInterval::Ns800)
            .unwrap()
            .tail_bits
    };
    // 243, 270, 324 and 540 Mbit/s.
    assert_eq!(
        [tail(20, 3), tail(15, 2), tail(21, 3), tail(31, 4)],
        [6, 6, 12, 12]
    );
}

#[test]
fn he_has_a_tail_only_where_it_is_convolutionally_coded() {
    let tail = |width, nss, mcs| {
        TxRate::new(Standard::He, width, nss, mcs, GuardInterval::Ns800)
            .unwrap()
            .tail_bits
    };
    assert_eq!(tail(Width::Mhz20, 4, 9), 6);
    assert_eq!(
        [
            tail(Width::Mhz20, 5, 9),
            tail(Width::Mhz20, 1, 10),
            tail(Width::Mhz40, 1, 0)
        ],
        [0, 0, 0]
    );
}

#[test]
fn durations_of_the_standard_by_hand() {
    let micros =
        |rate: TxRate, bytes| rate.ppdu_duration(bytes, Timing::Standard).as_nanos() as f64 / 1e3;
    // 21.4.3: 16 + 8·49 276 + 6 bits in symbols of 1560: 253; VHT-SIG-B makes the preamble 40 µs.
    let reference = ampdu_bytes(32, 1_536);
    assert_eq!(
        micros(vht(Width::Mhz80, 1, 9), reference),
        40.0 + 253.0 * 4.0
    );
    // The same with the short guard interval: 253 · 3.6 = 910.8, padded to 912.
    let sgi = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns400).unwrap();
    assert_eq!(micros(sgi, reference), 40.0 + 912.0);
    assert_eq!(
        sgi.ppdu_duration(reference, Timing::Ns3),
        Duration::from_nanos(36_000 + 910_800)
    );
    // 27.4.3: 16 + 8·49 280 bits, no tail, in symbols of 8166: 49; the preamble is 43.2 µs.
    let he = TxRate::new(Standard::He, Width::Mhz80, 1, 11, GuardInterval::Ns800).unwrap();
    assert_eq!(micros(he, reference), 43.2 + 49.0 * 13.6);
    // Six encoders: 16 + 8·1536 + 36 bits in symbols of 9828.
    assert_eq!(
        micros(vht(Width::Mhz80, 7, 8), 1_536),
        36.0 + 32.0 + 2.0 * 4.0
    );
}

/// Over a whole fixture, the standard and ns-3 differ only in VHT-SIG-B and in the padding of short
/// guard intervals. A tail longer than six bits could add a symbol but does not in the fixtures.
#[test]
fn the_standard_differs_from_ns3_by_sig_b_and_padding_only() {
    for (width, nss, mcs) in all(Standard::Vht) {
        for gi in [GuardInterval::Ns400, GuardInterval::Ns800] {
            let Ok(rate) = TxRate::new(Standard::Vht, width, nss, mcs, gi) else {
                continue;
            };
            for bytes in [14, 1_540, 49_276, 98_560] {
                let standard =
                    rate.ppdu_duration(bytes, Timing::Standard) - Duration::from_micros(4);
                let extra = standard - rate.ppdu_duration(bytes, Timing::Ns3);
                let symbols =
                    rate.symbols(bytes, Timing::Standard) - rate.symbols(bytes, Timing::Ns3);
                assert!(symbols <= u32::from(rate.tail_bits > 6), "{rate}");
                let padding = if gi == GuardInterval::Ns400 {
                    Duration::from_nanos(3_600)
                } else {
                    Duration::ZERO
                };
                assert!(
                    extra <= padding + rate.symbol() * symbols,
                    "{rate}: {extra:?}"
                );
            }
        }
    }
}

#[test]
fn the_largest_psdu_within_a_duration_is_the_largest() {
    for standard in [Standard::Ht, Standard::Vht, Standard::He] {
        for (width, nss, mcs) in all(standard) {
            let mcs = if standard == Standard::Ht {
                mcs % 8 + 8 * (nss - 1)
            } else {
                mcs
            };
            for gi in [
                GuardInterval::Ns400,
                GuardInterval::Ns800,
                GuardInterval::Ns3200,
            ] {
                let Ok(rate) = TxRate::new(standard, width, nss, mcs, gi) else {
                    continue;
                };
                for (timing, limit) in [(Timing::Standard, 5_484), (Timing::Ns3, 1_001)] {
                    let limit = Duration::from_micros(limit);
                    let most = rate.max_psdu(limit, timing);
                    assert!(rate.ppdu_duration(most, timing) <= limit, "{rate}");
                    assert!(rate.ppdu_duration(most + 1, timing) > limit, "{rate}");
                }
            }
        }
    }
}

#[test]
fn no_psdu_fits_a_duration_shorter_than_the_preamble() {
    assert_eq!(
        vht(Width::Mhz20, 1, 0).max_psdu(Duration::from_micros(41), Timing::Standard),
        0
    );
    assert_eq!(
        vht(Width::Mhz20, 1, 0).max_psdu(Duration::ZERO, Timing::Standard),
        0
    );
    assert_eq!(
        vht(Width::Mhz20, 1, 0).max_psdu(Duration::MAX, Timing::Standard),
        u32::MAX
    );
}

#[test]
fn the_largest_psdu_does_not_overflow() {
    let longest = vht(Width::Mhz20, 1, 0).ppdu_duration(u32::MAX, Timing::Standard);
    assert!(longest > Duration::from_secs(5_000));
}

#[test]
fn impossible_combinations_are_refused_with_the_reason() {
    let refusal = |standard, width, nss, mcs, gi| {
        TxRate::new(standard, width, nss, mcs, gi)
            .unwrap_err()
            .to_string()
    };
    let long = GuardInterval::Ns800;
    assert_eq!(
        refusal(Standard::Vht, Width::Mhz20, 1, 9, long),
        "VHT excludes MCS 9, NSS 1 at 20 MHz: a symbol would hold 2080/6 data bits, not a whole number"
    );
    assert_eq!(
        refusal(Standard::Vht, Width::Mhz80, 3, 6, long),
        "VHT excludes MCS 6, NSS 3 at 80 MHz: 3159 data and 4212 coded bits of a symbol do not divide among 2 encoders"
    );
    assert_eq!(
        refusal(Standard::Ht, Width::Mhz80, 1, 0, long),
        "HT has no 80 MHz channels: choose 20 or 40 MHz"
    );
    assert_eq!(
        refusal(Standard::Ht, Width::Mhz20, 1, 8, long),
        "HT MCS 8 has 2 spatial streams, not 1"
    );
    assert_eq!(
        refusal(Standard::He, Width::Mhz20, 9, 0, long),
        "HE has 1 to 8 spatial streams, not 9"
    );
    assert_eq!(
        refusal(Standard::He, Width::Mhz20, 1, 12, long),
        "HE has MCS 0 to 11, not 12"
    );
    assert_eq!(
        refusal(Standard::Vht, Width::Mhz20, 0, 0, long),
        "VHT has 1 to 8 spatial streams, not 0"
    );
    assert_eq!(
        refusal(Standard::Vht, Width::Mhz20, 1, 0, GuardInterval::Ns3200),
        "VHT has no guard interval of 3200 ns: HT and VHT have 400 and 800 ns, HE has 800, 1600 and 3200 ns"
    );
}
