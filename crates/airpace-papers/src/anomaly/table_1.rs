use super::super::case::{Case, Results};
use super::super::findings::{Bar, Findings};
use super::super::sample::Sample;
use super::bulk::EQUAL_THROUGHPUT;
use super::{airtime_share, level, per_scheme, total_mbps};
use airpace_core::model::anomaly::{Aggregate, Share, shares};

pub(super) const CLAIM: &str = "The model gives each printed number; in the simulator the slow station's frames carry 1.8 to 2 packets and take \
     about 80 % of the airtime under FIFO, 1/3 each under airtime fairness, and the total grows at least threefold";

/// A row of the table: packets per frame, PHY rate in Mbit/s, airtime in %, base rate and rate in Mbit/s.
type Printed = (f64, f64, f64, f64, f64);
const FIFO: [Printed; 3] = [
    (4.47, 144.4, 10.0, 97.3, 9.7),
    (5.08, 144.4, 11.0, 101.1, 11.4),
    (1.89, 7.2, 79.0, 6.5, 5.1),
];
const FAIR: [Printed; 3] = [
    (18.44, 144.4, 33.0, 126.7, 42.2),
    (18.52, 144.4, 33.0, 126.8, 42.3),
    (1.89, 7.2, 33.0, 6.5, 2.2),
];
const FIFO_TOTAL: f64 = 26.4;
const FAIR_TOTAL: f64 = 86.8;
/// How far a rate of the model may be from the printed one, Mbit/s.
const TOLERANCE_MBPS: f64 = 0.2;

pub(super) const UDP: &str = include_str!("../../../../scenarios/004-t1-anomaly.toml");

pub(super) fn cases() -> Vec<Case> {
    per_scheme(UDP, &[])
}

pub(super) fn judge(results: &Results) -> Findings {
    let mut findings = Findings::default();
    model(&mut findings, "FIFO", &FIFO, FIFO_TOTAL);
    model(&mut findings, "fair", &FAIR, FAIR_TOTAL);
    simulated(&mut findings, results);
    findings.because("FIFO, slow: airtime", EQUAL_THROUGHPUT);
    findings.note(from_our_levels(results));
    findings
}

fn predicted(levels: &[(f64, f64)], fair: bool) -> Vec<Share> {
    let aggregate = |&(packets, mbps): &(f64, f64)| Aggregate {
        packets,
        packet_bytes: 1_500.0,
        phy_rate_bps: mbps * 1e6,
    };
    shares(&levels.iter().map(aggregate).collect::<Vec<_>>(), fair)
}

/// Every printed number of one half of the table.
fn model(findings: &mut Findings, name: &str, rows: &[Printed], total: f64) {
    let levels: Vec<(f64, f64)> = rows.iter().map(|row| (row.0, row.1)).collect();
    let got = predicted(&levels, name == "fair");
    for (number, (share, row)) in got.iter().zip(rows).enumerate() {
        let station = ["fast 1", "fast 2", "slow"][number];
        let mut relate = |what: &str, unit: &str, value: f64, bar: Bar| {
            findings.relate(
                format!("model, {name}, {station}: {what}"),
                unit,
                &Sample::exactly(value),
                bar,
            );
        };
        // Shares are printed in whole per cent.
        relate(
            "airtime",
            "%",
            100.0 * share.airtime,
            Bar::About(row.2, 1.0),
        );
        relate(
            "base rate",
            "Mbit/s",
            share.base_bps / 1e6,
            Bar::About(row.3, TOLERANCE_MBPS),
        );
        relate(
            "rate",
            "Mbit/s",
            share.rate_bps / 1e6,
            Bar::About(row.4, TOLERANCE_MBPS),
        );
    }
    let sum = Sample::exactly(got.iter().map(|share| share.rate_bps / 1e6).sum());
    // The printed totals are not the sums of the printed rates, 26.2 and 86.7 (errata); those are what a model of the rows can be held to.
    let rates: f64 = rows.iter().map(|row| row.4).sum();
    findings.relate(
        format!("model, {name}: total"),
        "Mbit/s",
        &sum,
        Bar::About(rates, TOLERANCE_MBPS),
    );
    findings.note(format!(
        "{total} Mbit/s are printed as total of the {name} half, whose rows add up to {rates:.1} (errata)"
    ));
}

fn simulated(findings: &mut Findings, results: &Results) {
    let slow = results.sample("fifo", |summary| level(summary, "slow"));
    findings.relate(
        "FIFO, slow: packets per frame",
        "",
        &slow,
        Bar::Between(1.8, 2.0),
    );
    let airtime = |case: &str, name: &str| {
        &results.sample(case, |summary| airtime_share(summary, name)) * 100.0
    };
    // "around 80 %".
    findings.relate(
        "FIFO, slow: airtime",
        "%",
        &airtime("fifo", "slow"),
        Bar::About(80.0, 5.0),
    );
    for name in ["fast-1", "fast-2", "slow"] {
        findings.relate(
            format!("airtime, {name}: airtime"),
            "%",
            &airtime("airtime", name),
            Bar::About(100.0 / 3.0, 1.0),
        );
    }
    let gain = &total_mbps(results, "airtime") / &total_mbps(results, "fifo");
    findings.ratio("total, airtime over FIFO", &gain, Bar::AtLeast(3.0));
}

/// The table once more with the levels of our own runs.
fn from_our_levels(results: &Results) -> String {
    let half = |case: &str| {
        let levels: Vec<(f64, f64)> = [("fast-1", 144.4), ("fast-2", 144.4), ("slow", 7.2)]
            .iter()
            .map(|&(name, mbps)| {
                (
                    results.sample(case, |summary| level(summary, name)).mean(),
                    mbps,
                )
            })
            .collect();
        let total: f64 = predicted(&levels, case == "airtime")
            .iter()
            .map(|share| share.rate_bps / 1e6)
            .sum();
        let list: Vec<String> = levels
            .iter()
            .map(|(level, _)| format!("{level:.2}"))
            .collect();
        let measured = total_mbps(results, case).mean();
        format!(
            "{case}: levels {}, total {total:.1} by the model and {measured:.1} Mbit/s measured",
            list.join(", ")
        )
    };
    format!(
        "the table from our own levels: {}; {}",
        half("fifo"),
        half("airtime")
    )
}
