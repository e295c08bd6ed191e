use super::{SCHEMES, ping_ms, with_scheme};
use crate::reproduction::{Bar, Case, Findings, Printed, Results, Sample, stations};
use airpace_scenario::results::SimulationSummary;
use airpace_sim::mac::Scheme;

pub(super) const CLAIM: &str = "30 stations, one at 1 Mbit/s: it takes about 2/3 of the airtime \
     without the scheduler and 1/29 with it, the total grows about fivefold, the fast stations' \
     ping falls and the slow one's rises, and the sparse station optimisation halves the sparse \
     station's ping";

const THIRTY: &str = include_str!("../../../../scenarios/004-f9-thirty.toml");
/// Name of the case with airtime fairness but without the sparse station optimisation.
const UNOPTIMISED: &str = "airtime, not sparse";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    // The paper repeated its test with 30 stations without FIFO.
    for &scheme in &SCHEMES[1..] {
        cases.push(with_scheme(scheme.name(), scheme, THIRTY, &[]));
    }
    let off = ["node.ap.queue.sparse=false"];
    cases.push(with_scheme(UNOPTIMISED, Scheme::Airtime, THIRTY, &off));
    for scheme in [Scheme::FqCodel, Scheme::Airtime] {
        cases.push(with_scheme(
            slower(scheme.name()),
            scheme,
            THIRTY,
            &[SLOWER],
        ));
    }
    cases
}

/// A rate with which 28 stations that share the air share about the paper's 17.7 Mbit/s.
const SLOWER: &str = "node.fast.rate=\"mcs 2\"";
const WITH_SLOWER: &str = "fast stations at 21.7 Mbit/s";

fn slower(case: &str) -> String {
    format!("{case}, {WITH_SLOWER}")
}

/// The slow station's share of the airtime of those with bulk traffic, in per cent.
fn slow_share(summary: &SimulationSummary) -> Option<f64> {
    let airtime = |name: &str| -> f64 {
        stations(summary, name)
            .map(|station| station.airtime_share)
            .sum()
    };
    Some(100.0 * airtime("slow") / (airtime("slow") + airtime("fast")))
}

pub(super) fn judge(results: &Results) -> Findings {
    let (fq_codel, airtime) = (Scheme::FqCodel.name(), Scheme::Airtime.name());
    let mut findings = Findings::default();
    findings.relate(
        "fq-codel, slow: airtime",
        "%",
        Printed::Words("around two thirds"),
        &results.sample(fq_codel, slow_share),
        Bar::About(66.7, 10.0),
    );
    findings.relate(
        "airtime, slow: airtime",
        "%",
        Printed::Words("completely fair between all 29"),
        &results.sample(airtime, slow_share),
        Bar::About(100.0 / 29.0, 1.0),
    );
    for (case, printed_mbps) in [(fq_codel, 3.3), (airtime, 17.7)] {
        findings.relate(
            format!("{case}: total"),
            "Mbit/s",
            Printed::Figure(printed_mbps),
            &results.goodput_mbps(case),
            Bar::near(printed_mbps, 0.5),
        );
        findings.variant(WITH_SLOWER, &results.goodput_mbps(&slower(case)));
    }
    findings.ratio(
        "total, airtime over fq-codel",
        Printed::Figure(5.4),
        &(&results.goodput_mbps(airtime) / &results.goodput_mbps(fq_codel)),
        Bar::near(5.4, 0.25),
    );
    findings.variant(
        WITH_SLOWER,
        &(&results.goodput_mbps(&slower(airtime)) / &results.goodput_mbps(&slower(fq_codel))),
    );
    let ping =
        |case: &str, name: &str| results.sample(case, |summary| ping_ms(summary, "ping", name));
    findings.ratio(
        "median ping of the fast, fq-codel over airtime",
        Printed::Words("improved"),
        &(&ping(fq_codel, "fast") / &ping(airtime, "fast")),
        Bar::Above(1.0),
    );
    findings.variant(
        WITH_SLOWER,
        &(&ping(&slower(fq_codel), "fast") / &ping(&slower(airtime), "fast")),
    );
    findings.ratio(
        "median ping of the slow, airtime over fq-codel",
        Printed::Words("increases by an order of magnitude"),
        &(&ping(airtime, "slow") / &ping(fq_codel, "slow")),
        Bar::Between(5.0, 20.0),
    );
    findings.variant(
        WITH_SLOWER,
        &(&ping(&slower(airtime), "slow") / &ping(&slower(fq_codel), "slow")),
    );
    let average = |case: &str| {
        let weighted = [("fast", 28.0), ("slow", 1.0), ("sparse", 1.0)]
            .map(|(name, count)| &ping(case, name) * (count / 30.0));
        &Sample::average(&weighted) * 3.0
    };
    findings.ratio(
        "average of all stations' median pings, fq-codel over airtime",
        Printed::Figure(2.0),
        &(&average(fq_codel) / &average(airtime)),
        Bar::near(2.0, 0.25),
    );
    findings.ratio(
        "median ping of the sparse, without the optimisation over with it",
        Printed::Figure(2.0),
        &(&ping(UNOPTIMISED, "sparse") / &ping(airtime, "sparse")),
        Bar::near(2.0, 0.25),
    );
    findings
}
