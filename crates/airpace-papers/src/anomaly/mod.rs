//! Paper 004, Ending the Anomaly: an 802.11n access point with two stations at 144.4 Mbit/s and one
//! at 7.2 Mbit/s, under four queueing schemes.

mod applications;
mod bulk;
mod latency;
mod sentences;
mod table_1;
mod thirty_stations;

use crate::reproduction::{Case, Claim, Findings, flows, links, mean_if_complete, stations};
use airpace_scenario::results::SimulationSummary;
use airpace_sim::mac::Scheme;

pub(super) const CLAIMS: &[Claim] = &[
    Claim::simulated(
        "004-T1",
        "004, Table 1",
        table_1::CLAIM,
        table_1::cases,
        table_1::judge,
        SEEDS,
    ),
    Claim::simulated(
        "004-F1/4",
        "004, Figures 1 and 4",
        latency::DOWNLOADS,
        latency::download_cases,
        latency::downloads,
        SEEDS,
    ),
    Claim::simulated(
        "004-F5",
        "004, Figure 5",
        bulk::AIRTIME,
        bulk::udp_cases,
        bulk::airtime,
        SEEDS,
    ),
    Claim::simulated(
        "004-F6",
        "004, Figure 6",
        bulk::FAIRNESS,
        bulk::fairness_cases,
        bulk::fairness,
        SEEDS,
    ),
    Claim::simulated(
        "004-F7",
        "004, Figure 7",
        bulk::THROUGHPUT,
        bulk::download_cases,
        bulk::throughput,
        SEEDS,
    ),
    Claim::simulated(
        "004-F8",
        "004, Figure 8",
        latency::SPARSE,
        latency::sparse_cases,
        latency::sparse,
        SEEDS,
    ),
    Claim::simulated(
        "004-F9/10",
        "004, Figures 9 and 10",
        thirty_stations::CLAIM,
        thirty_stations::cases,
        thirty_stations::judge,
        SEEDS,
    ),
    Claim::simulated(
        "004-T2",
        "004, Table 2",
        applications::VOICE,
        applications::voice_cases,
        applications::voice,
        SEEDS,
    ),
    Claim::simulated(
        "004-F11",
        "004, Figure 11",
        applications::WEB,
        applications::web_cases,
        applications::web,
        SEEDS,
    ),
    Claim::simulated(
        "004-more",
        "004, sentences of section 4 without a figure",
        sentences::CLAIM,
        sentences::cases,
        sentences::judge,
        SEEDS,
    ),
];

/// Seeds of each case, unless another number is asked for.
const SEEDS: u32 = 10;
/// "We use 30 test repetitions of 30 seconds each unless noted otherwise" (§4).
const REPETITIONS: u32 = 30;

/// The four schemes of the paper, from the unmodified kernel to the whole solution.
const SCHEMES: [Scheme; 4] = [
    Scheme::Fifo,
    Scheme::FqCodel,
    Scheme::FqMac,
    Scheme::Airtime,
];

/// The least ratio that counts as "an order of magnitude": the 8 times that this project demands of
/// `fq-mac` and `airtime` against `fifo`.
const MAGNITUDE: f64 = 8.0;

/// One case per scheme, with the name of the scheme.
fn per_scheme(text: &'static str) -> Vec<Case> {
    SCHEMES
        .map(|scheme| with_scheme(scheme.name(), scheme, text, &[]))
        .to_vec()
}

/// The fast stations' rates in the paper: nothing limits Minstrel but their two streams.
const FAST_RATE: &str =
    "node.fast.rate={ adaptation = \"minstrel-ht\", nss = 2, samples = \"packets\" }";

/// Share of the MPDUs to each fast station that are lost. The paper does not give it, but Table 1
/// has it: under airtime fairness, where the model of equation 5 leaves out nothing but
/// losses, the stations received 38.8 and 35.6 Mbit/s of payload, and the model has 42.2 and 42.3
/// with headers, of which 1470 bytes of 1500 are payload. A third fast station, which was a virtual
/// one on one of the two, has the mean.
const FAST_LOSSES: [f64; 3] = [0.06, 0.14, 0.10];
/// The same of the slow station: 2.0 of 2.2 Mbit/s, which is 2.18 before it is rounded.
const SLOW_LOSS: f64 = 0.06;
/// The same of what any station sends. Table 1 is of downloads; what is lost is lost at the receiver,
/// and that is the access point for all. It loses what both ends of the best link and of the worst
/// lose, not what the second fast station does beside. The "slight dip" of Figure 6 is the evidence:
/// with the 14 % of that station on its uplink as well it has less of the air than its share.
const UPLINK_LOSS: f64 = 0.06;
/// What variants without these losses are called.
const LOSSLESS: &str = "no MPDU lost";

/// A case in the paper's own test bed: as [`lossless`], with the losses of its links. `settings`
/// win.
fn with_scheme(
    name: impl Into<String>,
    scheme: Scheme,
    text: &'static str,
    settings: &[&str],
) -> Case {
    let fast = if text.contains("count = 3") { 3 } else { 2 };
    let mut case = lossless(name, scheme, text, &[])
        .set(format!("node.fast.loss={:?}", &FAST_LOSSES[..fast]))
        .set(format!("node.slow.loss={SLOW_LOSS}"));
    if has_node(text, "sparse") {
        case = case.set(format!("node.sparse.loss={}", FAST_LOSSES[2]));
    }
    // Stations that receive one-way UDP send nothing.
    let sends = text.contains("kind = \"tcp\"");
    for node in ["fast", "slow", "sparse"] {
        if sends && has_node(text, node) {
            case = case.set(format!("node.{node}.uplink_loss={UPLINK_LOSS}"));
        }
    }
    for &setting in settings {
        case = case.set(setting);
    }
    case
}

/// Says where the losses of a row's links are from.
fn note_losses(findings: &mut Findings) {
    findings.note(format!(
        "the links lose {} % of the MPDUs to the fast stations and {} % of those to the slow one, which \
         is what the rates of Table 1 under airtime fairness leave, and {} % of those from any",
        FAST_LOSSES.map(percent).join(", "),
        percent(SLOW_LOSS),
        percent(UPLINK_LOSS)
    ));
}

/// A share in whole per cent.
fn percent(share: f64) -> String {
    format!("{:.0}", 100.0 * share)
}

/// Not every scenario has a station without bulk traffic.
fn has_node(text: &str, node: &str) -> bool {
    text.contains(&format!("name = \"{node}\""))
}

/// The name of the case that differs from `case` in that no MPDU is lost.
fn without_losses(case: &str) -> String {
    format!("{case}, {LOSSLESS}")
}

/// The driver sends an MPDU of an aggregate again this often before it gives up
/// (`ATH_MAX_SW_RETRIES`).
const RETRIES: &str = "channel.retry_limit=30";

/// Tests last 30 seconds (§4), and what they print is of all of that time, the start included.
const FROM_THE_START: &str = "warm_up=\"0 s\"";

/// mac80211 never sets `mtu` in the CoDel parameters of its queues, so they drop as soon as one more packet
/// waits, however small it is. Bulk traffic does not notice; pings would otherwise wait until a dozen are queued.
const DROPS_BEHIND_ANY_PACKET: &str = "node.ap.queue.codel.mtu=\"0 B\"";

/// A case with the access point's scheme. All radios have the driver ath9k, and FQ-CoDel is that of
/// Linux, as in the paper's kernel. `settings` win.
fn lossless(
    name: impl Into<String>,
    scheme: Scheme,
    text: &'static str,
    settings: &[&str],
) -> Case {
    let mut case = Case::scenario(name, text, &[FAST_RATE, RETRIES, FROM_THE_START]);
    for node in ["ap", "fast", "slow", "sparse"] {
        if node == "ap" || has_node(text, node) {
            case = case.set(format!("node.{node}.queue.driver=\"ath9k\""));
        }
    }
    case = case.set(format!("node.ap.queue.scheme=\"{scheme}\""));
    if scheme == Scheme::FqCodel {
        case = case
            .set("node.ap.queue.leaving=\"at-once\"")
            .set("node.ap.queue.backlog=\"all\"");
    }
    if matches!(scheme, Scheme::FqMac | Scheme::Airtime) {
        case = case.set(DROPS_BEHIND_ANY_PACKET);
    }
    for &setting in settings {
        case = case.set(setting);
    }
    case
}

/// Airtime of a station called `name` as a share of that of all stations; the mean if there are
/// several.
fn airtime_share(summary: &SimulationSummary, name: &str) -> Option<f64> {
    let all: f64 = summary
        .stations
        .iter()
        .map(|station| station.airtime_share)
        .sum();
    mean_if_complete(stations(summary, name).map(|station| Some(station.airtime_share / all)))
}

/// Airtime of the stations called `name` together, as a share of all time.
fn airtime_of_time(summary: &SimulationSummary, name: &str) -> Option<f64> {
    let shares = stations(summary, name).map(|station| station.airtime_share);
    Some(shares.sum())
}

/// What variants are called whose airtime is [`airtime_of_time`] and not what the driver counts.
const ON_CHANNEL: &str = "the time on the channel in place of what the driver counts";

/// As [`airtime_share`], but as the access point's driver counts it, from whose counters the paper
/// has the airtime of its own figures: the kernel of every scheme "modified only to collect the
/// airtime used by stations" (§4).
fn counted_share(summary: &SimulationSummary, name: &str) -> Option<f64> {
    let mut all = 0.0;
    for station in &summary.stations {
        all += station.counted_airtime_share?;
    }
    mean_if_complete(
        stations(summary, name).map(|station| Some(station.counted_airtime_share? / all)),
    )
}

/// As [`airtime_of_time`], counted by the access point's driver.
fn counted_of_time(summary: &SimulationSummary, name: &str) -> Option<f64> {
    stations(summary, name)
        .map(|station| station.counted_airtime_share)
        .sum()
}

/// Goodput of all stations called `name` together, Mbit/s.
fn goodput(summary: &SimulationSummary, name: &str) -> Option<f64> {
    let goodputs = stations(summary, name).map(|station| station.goodput_mbps);
    Some(goodputs.sum())
}

/// Mean packets per frame to the stations called `name`, as the paper measured it: flent reads the
/// average that Minstrel-HT keeps from the last column of `rc_stats_csv`.
fn level(summary: &SimulationSummary, name: &str) -> Option<f64> {
    mean_if_complete(links(summary, name).map(|link| Some(link.windowed_level)))
}

/// Mean packets per frame over all frames.
fn level_of_frames(summary: &SimulationSummary, name: &str) -> Option<f64> {
    mean_if_complete(links(summary, name).map(|link| Some(link.level)))
}

/// Median round-trip time of the pings of the flow `flow` to the stations called `name`, ms; the
/// mean over these stations.
fn ping_ms(summary: &SimulationSummary, flow: &str, name: &str) -> Option<f64> {
    let is_named = |to: &str| stations(summary, name).any(|station| station.name == to);
    let pings = flows(summary, flow).filter(|flow| is_named(&flow.to));
    mean_if_complete(pings.map(|flow| Some(flow.rtt_ms?.p50)))
}
