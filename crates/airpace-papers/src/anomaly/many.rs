use super::super::case::{Case, Results, stations};
use super::super::findings::{Bar, Findings};
use super::{SCHEMES, ping_ms, total_mbps, under};
use airpace_scenario::results::SimulationSummary;

pub(super) const CLAIM: &str = "30 stations, one at 1 Mbit/s: it takes about 2/3 of the airtime without the scheduler and 1/29 with it, the total \
     grows about fivefold, the fast stations' ping falls and the slow one's rises, and the sparse optimisation halves the sparse station's ping";

const THIRTY: &str = include_str!("../../../../scenarios/004-f9-thirty.toml");
/// The sparse station's case without the optimisation.
const UNOPTIMISED: &str = "airtime, not sparse";

pub(super) fn cases() -> Vec<Case> {
    let scheme = |&scheme: &&'static str| under(scheme, scheme, THIRTY, &[]);
    let unoptimised = under(
        UNOPTIMISED,
        "airtime",
        THIRTY,
        &["node.ap.queue.sparse=false"],
    );
    SCHEMES[1..]
        .iter()
        .map(scheme)
        .chain([unoptimised])
        .collect()
}

/// The slow station's share of the airtime of those with bulk traffic, in per cent.
fn slow_share(summary: &SimulationSummary) -> Option<f64> {
    let airtime = |name: &str| {
        stations(summary, name)
            .map(|station| station.airtime_share)
            .sum::<f64>()
    };
    Some(100.0 * airtime("slow") / (airtime("slow") + airtime("fast")))
}

pub(super) fn judge(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let share = |case: &str| results.sample(case, slow_share);
    // "around two thirds" and "completely fair sharing between all 29 stations".
    findings.relate(
        "fq-codel, slow: airtime",
        "%",
        &share("fq-codel"),
        Bar::About(66.7, 10.0),
    );
    findings.relate(
        "airtime, slow: airtime",
        "%",
        &share("airtime"),
        Bar::About(100.0 / 29.0, 1.0),
    );
    let gain = &total_mbps(results, "airtime") / &total_mbps(results, "fq-codel");
    // 3.3 to 17.7 Mbit/s are 5.4 times; at least 5 are "about five".
    findings.ratio("total, airtime over fq-codel", &gain, Bar::AtLeast(5.0));
    let ping = |case: &str, name: &'static str| {
        results.sample(case, |summary| ping_ms(summary, "ping", name))
    };
    let fast = &ping("fq-codel", "fast") / &ping("airtime", "fast");
    findings.ratio(
        "median ping of the fast, fq-codel over airtime",
        &fast,
        Bar::Above(1.0),
    );
    let slow = &ping("airtime", "slow") / &ping("fq-codel", "slow");
    findings.ratio(
        "median ping of the slow, airtime over fq-codel",
        &slow,
        Bar::Above(1.0),
    );
    let sparse = &ping(UNOPTIMISED, "sparse") / &ping("airtime", "sparse");
    // "by a factor of two".
    findings.ratio(
        "median ping of the sparse, without the optimisation over with it",
        &sparse,
        Bar::AtLeast(1.8),
    );
    findings.because(
        "median ping",
        "without the scheduler is FQ-CoDel here, as for the paper's totals: its driver's queue holds little but the slow station's packets, so that a ping to \
         a fast station passes within 30 ms and one to the slow one takes 3 s; with the scheduler all 28 fast stations send full frames of 3 ms at 144 \
         Mbit/s in each round. The paper's stations had lower rates (17.7 Mbit/s in total against our 80), and its round is not given",
    );
    findings
}
