use super::{SCHEMES, lossless, ping_ms};
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

/// The test bed of a third party, in the 2.4 GHz band among others, whose stations "select their rate
/// in the usual way". The paper does not say which rates these were, but has the total with airtime
/// fairness, where 28 of 29 parts of the air go to full frames at them: 17.7 Mbit/s, which is
/// what MCS 3 with 28.9 Mbit/s gives in 4 ms. That total is no evidence, then; the other relations
/// are.
const RATES: [&str; 2] = ["node.fast.rate=\"mcs 3\"", "node.sparse.rate=\"mcs 3\""];
/// The other way: what a device of one stream selects itself, on a channel that a neighbour of
/// another network uses as well.
const SHARED_CHANNEL: [&str; 2] = [
    "node.fast.rate={ adaptation = \"minstrel-ht\", nss = 1, samples = \"packets\" }",
    "channel.neighbours=1",
];
const SHARED: &str = "Minstrel with one stream, and a neighbour on the channel";
const CLEAN: &str = "fast stations at up to 144.4 Mbit/s";
const WITH_FQ_MAC: &str = "FQ-MAC in place of FQ-CoDel";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    // The paper repeated its test with 30 stations without FIFO.
    for &scheme in &SCHEMES[1..] {
        cases.push(lossless(scheme.name(), scheme, THIRTY, &RATES));
        cases.push(lossless(clean(scheme.name()), scheme, THIRTY, &[]));
        let other = lossless(shared(scheme.name()), scheme, THIRTY, &SHARED_CHANNEL);
        cases.push(other.seeds(SEEDS_OF_SHARED));
    }
    let unoptimised = lossless(UNOPTIMISED, Scheme::Airtime, THIRTY, &RATES);
    cases.push(unoptimised.set("node.ap.queue.sparse=false"));
    cases
}

/// Seeds of the cases on a shared channel.
const SEEDS_OF_SHARED: u32 = 3;

fn shared(case: &str) -> String {
    format!("{case}, {SHARED}")
}

fn clean(case: &str) -> String {
    format!("{case}, {CLEAN}")
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
    let [fq_codel, fq_mac, airtime] =
        [Scheme::FqCodel, Scheme::FqMac, Scheme::Airtime].map(Scheme::name);
    let mut findings = Findings::default();
    findings.relate(
        "fq-codel, slow: airtime",
        "%",
        Printed::Words("around two thirds"),
        &results.sample(fq_codel, slow_share),
        Bar::About(66.7, 10.0),
    );
    findings.variant(CLEAN, &results.sample(&clean(fq_codel), slow_share));
    findings.variant(SHARED, &results.sample(&shared(fq_codel), slow_share));
    findings.variant(WITH_FQ_MAC, &results.sample(fq_mac, slow_share));
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
        findings.variant(CLEAN, &results.goodput_mbps(&clean(case)));
        findings.variant(SHARED, &results.goodput_mbps(&shared(case)));
        if case == fq_codel {
            findings.variant(WITH_FQ_MAC, &results.goodput_mbps(fq_mac));
        }
    }
    findings.ratio(
        "total, airtime over fq-codel",
        Printed::Figure(5.4),
        &(&results.goodput_mbps(airtime) / &results.goodput_mbps(fq_codel)),
        Bar::near(5.4, 0.25),
    );
    findings.variant(
        CLEAN,
        &(&results.goodput_mbps(&clean(airtime)) / &results.goodput_mbps(&clean(fq_codel))),
    );
    findings.variant(
        SHARED,
        &(&results.goodput_mbps(&shared(airtime)) / &results.goodput_mbps(&shared(fq_codel))),
    );
    findings.variant(
        WITH_FQ_MAC,
        &(&results.goodput_mbps(airtime) / &results.goodput_mbps(fq_mac)),
    );
    pings(&mut findings, results);
    let ping = |case: &str| results.sample(case, |summary| ping_ms(summary, "ping", "sparse"));
    findings.ratio(
        "median ping of the sparse, without the optimisation over with it",
        Printed::Figure(2.0),
        &(&ping(UNOPTIMISED) / &ping(airtime)),
        Bar::near(2.0, 0.25),
    );
    findings.note(
        "MCS 3 of the fast stations is what the printed total under airtime fairness leaves, so that \
         this total is no evidence; all other relations are",
    );
    findings
}

/// "With the airtime fairness scheduler": what it changes is the order of service over the queues of
/// FQ-MAC, so its runs are compared with those of FQ-MAC, and beside that with FQ-CoDel's.
fn pings(findings: &mut Findings, results: &Results) {
    let airtime = Scheme::Airtime.name();
    let ping =
        |case: &str, name: &str| results.sample(case, |summary| ping_ms(summary, "ping", name));
    let average = |case: &str| {
        let weighted = [("fast", 28.0), ("slow", 1.0), ("sparse", 1.0)]
            .map(|(name, count)| &ping(case, name) * (count / 30.0));
        &Sample::average(&weighted) * 3.0
    };
    let mut relate = |what: &str, printed, bar, ratio: &dyn Fn(&str, &str) -> Sample| {
        let [fq_codel, fq_mac] = [Scheme::FqCodel, Scheme::FqMac].map(Scheme::name);
        findings.ratio(what, printed, &ratio(fq_mac, airtime), bar);
        findings.variant("FQ-CoDel in place of FQ-MAC", &ratio(fq_codel, airtime));
        let clean_rates = ratio(&clean(fq_mac), &clean(airtime));
        findings.variant(CLEAN, &clean_rates);
        findings.variant(SHARED, &ratio(&shared(fq_mac), &shared(airtime)));
    };
    relate(
        "median ping of the fast, fq-mac over airtime",
        Printed::Words("improved"),
        Bar::Above(1.0),
        &|before, after| &ping(before, "fast") / &ping(after, "fast"),
    );
    relate(
        "median ping of the slow, airtime over fq-mac",
        Printed::Words("increases by an order of magnitude"),
        Bar::Between(5.0, 20.0),
        &|before, after| &ping(after, "slow") / &ping(before, "slow"),
    );
    relate(
        "average of all stations' median pings, fq-mac over airtime",
        Printed::Figure(2.0),
        Bar::near(2.0, 0.25),
        &|before, after| &average(before) / &average(after),
    );
}
