//! 004, Ending the Anomaly: an 802.11n access point with two stations at 144.4 Mbit/s and one at 7.2, under four schemes.

mod applications;
mod bulk;
mod latency;
mod many;
mod table_1;

use super::case::{Case, Results, flows, links, mean, stations};
use super::claim::Claim;
use super::sample::Sample;
use airpace_scenario::results::SimulationSummary;

pub(super) const CLAIMS: &[Claim] = &[
    Claim::sim(
        "004-T1",
        "004, Table 1",
        table_1::CLAIM,
        (table_1::cases, table_1::judge),
        SEEDS,
    ),
    Claim::sim(
        "004-F1/4",
        "004, Figures 1 and 4",
        latency::DOWNLOADS,
        (latency::download_cases, latency::downloads),
        SEEDS,
    ),
    Claim::sim(
        "004-F5",
        "004, Figure 5",
        bulk::AIRTIME,
        (bulk::udp_cases, bulk::airtime),
        SEEDS,
    ),
    Claim::sim(
        "004-F6",
        "004, Figure 6",
        bulk::FAIRNESS,
        (bulk::fairness_cases, bulk::fairness),
        SEEDS,
    ),
    Claim::sim(
        "004-F7",
        "004, Figure 7",
        bulk::THROUGHPUT,
        (bulk::download_cases, bulk::throughput),
        SEEDS,
    ),
    Claim::sim(
        "004-F8",
        "004, Figure 8",
        latency::SPARSE,
        (latency::sparse_cases, latency::sparse),
        SEEDS,
    ),
    Claim::sim(
        "004-F9/10",
        "004, Figures 9 and 10",
        many::CLAIM,
        (many::cases, many::judge),
        SEEDS,
    ),
    Claim::sim(
        "004-T2",
        "004, Table 2",
        applications::VOICE,
        (applications::voice_cases, applications::voice),
        SEEDS,
    ),
    Claim::sim(
        "004-F11",
        "004, Figure 11",
        applications::WEB,
        (applications::web_cases, applications::web),
        SEEDS,
    ),
];

/// Seeds of each case, unless another number is asked for.
const SEEDS: u32 = 10;

/// The four schemes of the paper, from the unmodified kernel to the whole solution.
const SCHEMES: [&str; 4] = ["fifo", "fq-codel", "fq-mac", "airtime"];

/// What "an order of magnitude" must at least be: the 8 times that the project asks of `fq-mac` and `airtime` against `fifo`.
const MAGNITUDE: f64 = 8.0;

/// A case per scheme, called like the scheme.
fn per_scheme(text: &'static str, settings: &[&str]) -> Vec<Case> {
    SCHEMES
        .iter()
        .map(|&scheme| under(scheme, scheme, text, settings))
        .collect()
}

/// A case under a scheme.
fn under(name: impl Into<String>, scheme: &str, text: &'static str, settings: &[&str]) -> Case {
    Case::scenario(name, text, settings).set(format!("node.ap.queue.scheme=\"{scheme}\""))
}

/// Airtime of the stations called `name` (each of them: the mean), as a share of that of all stations.
fn airtime_share(summary: &SimulationSummary, name: &str) -> Option<f64> {
    let all: f64 = summary
        .stations
        .iter()
        .map(|station| station.airtime_share)
        .sum();
    mean(stations(summary, name).map(|station| Some(station.airtime_share / all)))
}

/// Goodput of the stations called `name`, in total.
fn goodput(summary: &SimulationSummary, name: &str) -> Option<f64> {
    Some(
        stations(summary, name)
            .map(|station| station.goodput_mbps)
            .sum(),
    )
}

/// Mean packets per frame to the stations called `name`.
fn level(summary: &SimulationSummary, name: &str) -> Option<f64> {
    mean(links(summary, name).map(|link| Some(link.level)))
}

/// Median round-trip time of the pings of the flow `flow` to the stations called `name`: the mean over these stations.
fn ping_ms(summary: &SimulationSummary, flow: &str, name: &str) -> Option<f64> {
    let of = |to: &str| stations(summary, name).any(|station| station.name == to);
    mean(
        flows(summary, flow)
            .filter(|flow| of(&flow.to))
            .map(|flow| flow.rtt_ms.map(|rtt| rtt.p50)),
    )
}

fn total_mbps(results: &Results, case: &str) -> Sample {
    results.sample(case, |summary| Some(summary.totals.goodput_mbps))
}
