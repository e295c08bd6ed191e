use super::super::case::{Case, Results};
use super::super::findings::{Bar, Findings};
use super::super::sample::Sample;
use super::{MAGNITUDE, per_scheme, ping_ms, under};

pub(super) const DOWNLOADS: &str = "Median ping during TCP downloads: several 100 ms under FIFO; more than 200 ms for the slow and about 35 ms for \
     the fast under FQ-CoDel; an order of magnitude below FIFO under FQ-MAC";
pub(super) const SPARSE: &str = "A station that is only pinged: its median is 10 to 15 % lower with the sparse station optimisation, for UDP and for TCP";

const PING: &str = include_str!("../../../../scenarios/004-f1-latency.toml");
const SPARSE_STATION: &str = include_str!("../../../../scenarios/004-f8-sparse.toml");

pub(super) fn download_cases() -> Vec<Case> {
    per_scheme(PING, &[])
}

pub(super) fn downloads(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let ping = |case: &str, name: &'static str| {
        results.sample(case, |summary| ping_ms(summary, "ping", name))
    };
    for name in ["fast", "slow"] {
        // "several hundred milliseconds".
        findings.relate(
            format!("fifo, {name}: median ping"),
            "ms",
            &ping("fifo", name),
            Bar::Between(200.0, 1_000.0),
        );
    }
    findings.relate(
        "fq-codel, slow: median ping",
        "ms",
        &ping("fq-codel", "slow"),
        Bar::Above(200.0),
    );
    // "around 35 ms".
    findings.relate(
        "fq-codel, fast: median ping",
        "ms",
        &ping("fq-codel", "fast"),
        Bar::About(35.0, 10.0),
    );
    for scheme in ["fq-mac", "airtime"] {
        for name in ["fast", "slow"] {
            let gain = &ping("fifo", name) / &ping(scheme, name);
            findings.ratio(
                format!("median ping of the {name}, fifo over {scheme}"),
                &gain,
                Bar::AtLeast(MAGNITUDE),
            );
        }
    }
    findings.because(
        "fq-codel, fast",
        "below the discipline our fast stations' pings wait for one round of the driver; the more the channel loses, the longer that is (18 ms here, without losses; 34 ms with 20 % of MPDUs lost: docs/design/lossy-channel.md)",
    );
    findings
}

/// Bulk as UDP that saturates every station, in place of TCP.
const UDP: [&str; 4] = [
    "flow.fast-bulk.count=0",
    "flow.slow-bulk.count=0",
    "flow.fast-udp.count=1",
    "flow.slow-udp.count=1",
];

pub(super) fn sparse_cases() -> Vec<Case> {
    let with = |name: &str, settings: &[&str]| {
        let on = under(format!("{name}, on"), "airtime", SPARSE_STATION, settings);
        let off = under(format!("{name}, off"), "airtime", SPARSE_STATION, settings)
            .set("node.ap.queue.sparse=false");
        [on, off]
    };
    [with("udp", &UDP), with("tcp", &[])].concat()
}

pub(super) fn sparse(results: &Results) -> Findings {
    let mut findings = Findings::default();
    for kind in ["udp", "tcp"] {
        let ping = |with: &str| {
            results.sample(&format!("{kind}, {with}"), |summary| {
                ping_ms(summary, "ping", "sparse")
            })
        };
        let (on, off) = (ping("on"), ping("off"));
        let lower = Sample::combine(&[on, off], |medians| {
            100.0 * (1.0 - medians[0] / medians[1])
        });
        findings.relate(
            format!("{kind}: median ping lower by"),
            "%",
            &lower,
            Bar::AtLeast(10.0),
        );
    }
    findings
}
