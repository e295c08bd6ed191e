use super::bulk::{QUEUE_OF_PAIRS, WITH_PAIRS, with_other_queue};
use super::{
    LOSSLESS, MAGNITUDE, REPETITIONS, lossless, note_losses, per_scheme, ping_ms, with_scheme,
    without_losses,
};
use crate::reproduction::{Bar, Case, Findings, Printed, Results, Sample};
use airpace_sim::mac::Scheme;

pub(super) const DOWNLOADS: &str = "Median ping during TCP downloads: several 100 ms under FIFO; \
     more than 200 ms for the slow and about 35 ms for the fast under FQ-CoDel; an order of \
     magnitude below FIFO under FQ-MAC";
pub(super) const SPARSE: &str = "A station that is only pinged: its median is 10 to 15 % lower with \
     the sparse station optimisation, for UDP and for TCP";

const PING: &str = include_str!("../../../../scenarios/004-f1-latency.toml");
const SPARSE_STATION: &str = include_str!("../../../../scenarios/004-f8-sparse.toml");

pub(super) fn download_cases() -> Vec<Case> {
    let scheme = Scheme::FqCodel;
    let mut cases = per_scheme(PING);
    cases.push(lossless(without_losses(scheme.name()), scheme, PING, &[]));
    let pairs = with_other_queue(Scheme::Fifo.name(), WITH_PAIRS);
    cases.push(with_scheme(pairs, Scheme::Fifo, PING, &[QUEUE_OF_PAIRS]));
    let seeds = |case: Case| case.seeds(REPETITIONS);
    cases.into_iter().map(seeds).collect()
}

pub(super) fn downloads(results: &Results) -> Findings {
    let mut findings = Findings::of_printed_means(REPETITIONS);
    let ping_of =
        |case: &str, name: &str| results.sample(case, |summary| ping_ms(summary, "ping", name));
    let ping = |scheme: Scheme, name: &str| ping_of(scheme.name(), name);
    for name in ["fast", "slow"] {
        // "several hundred milliseconds".
        findings.relate(
            format!("fifo, {name}: median ping"),
            "ms",
            Printed::Words("several hundred milliseconds"),
            &ping(Scheme::Fifo, name),
            Bar::Between(200.0, 1_000.0),
        );
        let pairs = with_other_queue(Scheme::Fifo.name(), WITH_PAIRS);
        findings.variant(WITH_PAIRS, &ping_of(&pairs, name));
    }
    findings.relate(
        "fq-codel, slow: median ping",
        "ms",
        Printed::Words("more than 200 ms"),
        &ping(Scheme::FqCodel, "slow"),
        Bar::Above(200.0),
    );
    // "around 35 ms".
    findings.relate(
        "fq-codel, fast: median ping",
        "ms",
        Printed::Figure(35.0),
        &ping(Scheme::FqCodel, "fast"),
        Bar::About(35.0, 10.0),
    );
    let case = without_losses(Scheme::FqCodel.name());
    let sample = results.sample(&case, |summary| ping_ms(summary, "ping", "fast"));
    findings.variant(LOSSLESS, &sample);
    for scheme in [Scheme::FqMac, Scheme::Airtime] {
        for name in ["fast", "slow"] {
            findings.ratio(
                format!("median ping of the {name}, fifo over {scheme}"),
                Printed::Words("an order of magnitude"),
                &(&ping(Scheme::Fifo, name) / &ping(scheme, name)),
                Bar::AtLeast(MAGNITUDE),
            );
        }
    }
    note_losses(&mut findings);
    findings
}

/// Bulk traffic as UDP that saturates every station, instead of TCP; see [`FLOOD`].
///
/// [`FLOOD`]: super::table_1::FLOOD
const UDP: [&str; 10] = [
    "flow.fast-bulk.count=0",
    "flow.slow-bulk.count=0",
    "flow.fast-udp.count=1",
    "flow.fast-udp.kind=\"burst\"",
    "flow.fast-udp.rate=\"100 Mbit/s\"",
    "flow.fast-udp.interval=\"588 us\"",
    "flow.slow-udp.count=1",
    "flow.slow-udp.kind=\"burst\"",
    "flow.slow-udp.rate=\"100 Mbit/s\"",
    "flow.slow-udp.interval=\"588 us\"",
];

/// Seeds of the judged cases: the printed range is five per cent wide.
const SEEDS_OF_SPARSE: u32 = 240;
/// Seeds of the cases beside them.
const SEEDS_OF_SLOWER: u32 = 80;
const UNOPTIMISED: &str = "node.ap.queue.sparse=false";
/// What adds to the pings of both, so that the optimisation saves less of them: time in wires and
/// hosts, and another frame ahead in the access point's hardware.
const SLOWER: [(&str, &str); 2] = [
    ("1 ms to the server", "wire.0.delay=\"1 ms\""),
    ("three frames ahead", "node.ap.queue.hardware_queue=3"),
];

pub(super) fn sparse_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (kind, settings) in [("udp", &UDP[..]), ("tcp", &[])] {
        let case = |name: &str| {
            with_scheme(
                format!("{kind}, {name}"),
                Scheme::Airtime,
                SPARSE_STATION,
                settings,
            )
        };
        cases.push(case("on").seeds(SEEDS_OF_SPARSE));
        cases.push(case("off").set(UNOPTIMISED).seeds(SEEDS_OF_SPARSE));
        for (with, setting) in SLOWER {
            let on = case(&format!("on, {with}")).set(setting);
            cases.push(on.seeds(SEEDS_OF_SLOWER));
            let off = case(&format!("off, {with}")).set(setting).set(UNOPTIMISED);
            cases.push(off.seeds(SEEDS_OF_SLOWER));
        }
        for (with, setting) in [("on", None), ("off", Some(UNOPTIMISED))] {
            let name = without_losses(&format!("{kind}, {with}"));
            let mut settings = settings.to_vec();
            settings.extend(setting);
            cases.push(lossless(name, Scheme::Airtime, SPARSE_STATION, &settings));
        }
    }
    cases
}

pub(super) fn sparse(results: &Results) -> Findings {
    let mut findings = Findings::of_printed_means(REPETITIONS);
    for kind in ["udp", "tcp"] {
        let ping = |case: &str| results.sample(case, |summary| ping_ms(summary, "ping", "sparse"));
        let lower = |name: &dyn Fn(&str) -> String| {
            let cases = ["on", "off"].map(|with| name(&format!("{kind}, {with}")));
            Sample::combine(&cases.map(|case| ping(&case)), |medians| {
                100.0 * (1.0 - medians[0] / medians[1])
            })
        };
        findings.relate(
            format!("{kind}: median ping lower by"),
            "%",
            Printed::Range(10.0, 15.0),
            &lower(&str::to_owned),
            Bar::Between(10.0, 15.0),
        );
        findings.variant(LOSSLESS, &lower(&without_losses));
        for (with, _) in SLOWER {
            findings.variant(with, &lower(&|case| format!("{case}, {with}")));
        }
    }
    note_losses(&mut findings);
    findings
}
