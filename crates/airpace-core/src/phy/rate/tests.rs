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

/// Checks each `TIMING` line of a fixture and returns how many there were.
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
