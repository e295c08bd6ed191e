use super::bulk::EQUAL_THROUGHPUT;
use super::{airtime_share, level, per_scheme};
use crate::reproduction::{Bar, Case, Findings, Results, Sample};
use airpace_core::model::anomaly::{Aggregate, Share, shares};

pub(super) const CLAIM: &str = "The model gives each printed number; in the simulator the slow \
     station's frames carry 1.8 to 2 packets and take about 80 % of the airtime under FIFO, 1/3 \
     each under airtime fairness, and the total grows at least threefold";

/// A row of the table as it is printed.
struct Printed {
    /// Packets per frame.
    level: f64,
    phy_mbps: f64,
    airtime_percent: f64,
    base_mbps: f64,
    rate_mbps: f64,
}

const fn printed(
    level: f64,
    phy_mbps: f64,
    airtime_percent: f64,
    base_mbps: f64,
    rate_mbps: f64,
) -> Printed {
    Printed {
        level,
        phy_mbps,
        airtime_percent,
        base_mbps,
        rate_mbps,
    }
}

/// One half of the table: the two fast stations, the slow one, and the printed total.
struct Half {
    name: &'static str,
    /// Whether the stations share the airtime equally.
    fair: bool,
    rows: [Printed; 3],
    total_mbps: f64,
}

const FIFO: Half = Half {
    name: "FIFO",
    fair: false,
    rows: [
        printed(4.47, 144.4, 10.0, 97.3, 9.7),
        printed(5.08, 144.4, 11.0, 101.1, 11.4),
        printed(1.89, 7.2, 79.0, 6.5, 5.1),
    ],
    total_mbps: 26.4,
};
const FAIR: Half = Half {
    name: "fair",
    fair: true,
    rows: [
        printed(18.44, 144.4, 33.0, 126.7, 42.2),
        printed(18.52, 144.4, 33.0, 126.8, 42.3),
        printed(1.89, 7.2, 33.0, 6.5, 2.2),
    ],
    total_mbps: 86.8,
};
/// How far a rate of the model may be from the printed one, Mbit/s.
const TOLERANCE_MBPS: f64 = 0.2;

pub(super) const UDP: &str = include_str!("../../../../scenarios/004-t1-anomaly.toml");

pub(super) fn cases() -> Vec<Case> {
    per_scheme(UDP, &[])
}

pub(super) fn judge(results: &Results) -> Findings {
    let mut findings = Findings::default();
    model(&mut findings, &FIFO);
    model(&mut findings, &FAIR);
    simulated(&mut findings, results);
    findings.because("FIFO, slow: airtime", EQUAL_THROUGHPUT);
    findings.note(format!(
        "the table from our own levels: {}; {}",
        from_our_levels(results, "fifo", false),
        from_our_levels(results, "airtime", true)
    ));
    findings
}

fn aggregate(level: f64, phy_mbps: f64) -> Aggregate {
    Aggregate {
        packets: level,
        packet_bytes: 1_500.0,
        phy_rate_bps: phy_mbps * 1e6,
    }
}

fn total_mbps(shares: &[Share]) -> f64 {
    shares.iter().map(|share| share.rate_bps / 1e6).sum()
}

/// Compares every number of one half of the table with the model.
fn model(findings: &mut Findings, half: &Half) {
    let Half { name, rows, .. } = half;
    let modelled = shares(
        &rows
            .each_ref()
            .map(|row| aggregate(row.level, row.phy_mbps)),
        half.fair,
    );
    let stations = ["fast 1", "fast 2", "slow"];
    for ((station, row), share) in stations.iter().zip(rows).zip(&modelled) {
        let mut relate = |what: &str, unit: &str, value: f64, bar: Bar| {
            findings.relate(
                format!("model, {name}, {station}: {what}"),
                unit,
                &Sample::exactly(value),
                bar,
            );
        };
        // The paper prints shares in whole per cent.
        relate(
            "airtime",
            "%",
            100.0 * share.airtime,
            Bar::About(row.airtime_percent, 1.0),
        );
        relate(
            "base rate",
            "Mbit/s",
            share.base_bps / 1e6,
            Bar::About(row.base_mbps, TOLERANCE_MBPS),
        );
        relate(
            "rate",
            "Mbit/s",
            share.rate_bps / 1e6,
            Bar::About(row.rate_mbps, TOLERANCE_MBPS),
        );
    }
    // The printed totals are not the sums of the printed rates, 26.2 and 86.7 (see the errata). A
    // model of the rows can only give the sums.
    let sum_mbps: f64 = rows.iter().map(|row| row.rate_mbps).sum();
    findings.relate(
        format!("model, {name}: total"),
        "Mbit/s",
        &Sample::exactly(total_mbps(&modelled)),
        Bar::About(sum_mbps, TOLERANCE_MBPS),
    );
    findings.note(format!(
        "the paper prints {} Mbit/s as the total of the {name} half, but its rows add up to \
         {sum_mbps:.1} (see the errata)",
        half.total_mbps
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
    let airtime_percent = |case: &str, name: &str| {
        &results.sample(case, |summary| airtime_share(summary, name)) * 100.0
    };
    // "around 80 %".
    findings.relate(
        "FIFO, slow: airtime",
        "%",
        &airtime_percent("fifo", "slow"),
        Bar::About(80.0, 5.0),
    );
    for name in ["fast-1", "fast-2", "slow"] {
        findings.relate(
            format!("airtime, {name}: airtime"),
            "%",
            &airtime_percent("airtime", name),
            Bar::About(100.0 / 3.0, 1.0),
        );
    }
    findings.ratio(
        "total, airtime over FIFO",
        &(&results.goodput_mbps("airtime") / &results.goodput_mbps("fifo")),
        Bar::AtLeast(3.0),
    );
}

/// One half of the table with the levels of our own runs instead of the printed ones.
fn from_our_levels(results: &Results, case: &str, fair: bool) -> String {
    let level = |name: &str| results.sample(case, |summary| level(summary, name)).mean();
    let levels = ["fast-1", "fast-2", "slow"].map(level);
    let aggregates = [
        aggregate(levels[0], 144.4),
        aggregate(levels[1], 144.4),
        aggregate(levels[2], 7.2),
    ];
    let total = total_mbps(&shares(&aggregates, fair));
    let list = levels.map(|level| format!("{level:.2}")).join(", ");
    let measured = results.goodput_mbps(case).mean();
    format!(
        "{case}: levels {list}, total {total:.1} by the model and {measured:.1} Mbit/s measured"
    )
}
