use super::{SCHEMES, ping_ms, with_scheme};
use crate::reproduction::{Bar, Case, Findings, Results, stations};
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
    cases
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
    // "around two thirds" and "completely fair sharing between all 29 stations".
    findings.relate(
        "fq-codel, slow: airtime",
        "%",
        &results.sample(fq_codel, slow_share),
        Bar::About(66.7, 10.0),
    );
    findings.relate(
        "airtime, slow: airtime",
        "%",
        &results.sample(airtime, slow_share),
        Bar::About(100.0 / 29.0, 1.0),
    );
    // From 3.3 to 17.7 Mbit/s is 5.4 times, which the paper calls fivefold; 5 is the least that
    // deserves the name.
    findings.ratio(
        "total, airtime over fq-codel",
        &(&results.goodput_mbps(airtime) / &results.goodput_mbps(fq_codel)),
        Bar::AtLeast(5.0),
    );
    let ping =
        |case: &str, name: &str| results.sample(case, |summary| ping_ms(summary, "ping", name));
    findings.ratio(
        "median ping of the fast, fq-codel over airtime",
        &(&ping(fq_codel, "fast") / &ping(airtime, "fast")),
        Bar::Above(1.0),
    );
    findings.ratio(
        "median ping of the slow, airtime over fq-codel",
        &(&ping(airtime, "slow") / &ping(fq_codel, "slow")),
        Bar::Above(1.0),
    );
    // "by a factor of two".
    findings.ratio(
        "median ping of the sparse, without the optimisation over with it",
        &(&ping(UNOPTIMISED, "sparse") / &ping(airtime, "sparse")),
        Bar::AtLeast(1.8),
    );
    findings.because(
        "median ping",
        "\"without the scheduler\" is FQ-CoDel here, as for the paper's totals. Its driver queue \
         holds little but the slow station's packets, so that a ping to a fast station passes \
         within 30 ms and one to the slow station takes 3 s. With the scheduler all 28 fast \
         stations send full frames of 3 ms at 144 Mbit/s in each round. The paper's stations had \
         lower rates (17.7 Mbit/s in total against our 80), and it does not give its round",
    );
    findings
}
