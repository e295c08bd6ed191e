use crate::reproduction::{Bar, Case, Findings, Printed, Results, Sample, levels, line, quantile};
use airpace_core::model::{Link, jain};
use airpace_core::phy::{AccessCategory, GuardInterval, Standard, Timing, TxRate, Width};
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES;

pub(super) const TARGETS: &str = "Algorithm 1, three streams: the rate is about linear in the target \
     level; delay and loss are low and flat up to 40 and rise steeply near 64; at 30 to 40 the rate \
     is about 80 % of the greatest";
pub(super) const FAIR: &str = "Algorithm 2 with 1 to 20 stations: Jain's index 1, goodput close to \
     what the airtime allows, 350 µs more delay per station, a least delay of 60 µs, quartiles of \
     the level within 32 ± 2, no loss";

const ALGORITHM_1: &str = include_str!("../../../../scenarios/000-f5-target.toml");
const ALGORITHM_2: &str = include_str!("../../../../scenarios/000-f11-fairness.toml");

const LEVELS: [u32; 8] = [10, 16, 24, 32, 40, 48, 56, 64];

/// Both guard intervals: the paper gives none for this figure, and a short one for Figure 7.
const GUARD_INTERVALS: [&str; 2] = ["800 ns", "400 ns"];

pub(super) fn target_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for guard in GUARD_INTERVALS {
        for level in LEVELS {
            let case = Case::scenario(target_name(guard, level), ALGORITHM_1, &[])
                .set(format!("proxy.0.level={level}"))
                .set(format!("channel.guard_interval=\"{guard}\""));
            cases.push(if level == 64 {
                case.seeds(SEEDS_AT_THE_LIMIT)
            } else {
                case
            });
        }
    }
    cases
}

/// Seeds of the cases with a target of 64. There the rate grows until all frames are full, and what
/// that leaves in excess of what the channel carries is chance.
const SEEDS_AT_THE_LIMIT: u32 = 12;

fn target_name(guard: &str, level: u32) -> String {
    format!("{guard}, {level}")
}

pub(super) fn targets(results: &Results) -> Findings {
    let mut findings = Findings::default();
    for guard in GUARD_INTERVALS {
        targets_at(&mut findings, results, guard);
    }
    findings
}

fn targets_at(findings: &mut Findings, results: &Results, guard: &str) {
    let goodput = |level: u32| results.goodput_mbps(&target_name(guard, level));
    let delay = |level: u32| results.mean_delay_ms(&target_name(guard, level));
    let goodputs = LEVELS.map(goodput);
    let explained = |levels: &[u32], goodputs: &[Sample]| {
        let levels: Vec<f64> = levels.iter().map(|&level| f64::from(level)).collect();
        Sample::combine(goodputs, |rates| line(&levels, rates).explained)
    };
    findings.ratio(
        format!("{guard}: share of the rate's variance that a straight line explains"),
        Printed::Words("increases roughly linearly"),
        &explained(&LEVELS, &goodputs),
        Bar::AtLeast(0.9),
    );
    findings.variant(
        "targets from 24 on alone",
        &explained(&LEVELS[2..], &goodputs[2..]),
    );
    for level in [32, 40] {
        findings.ratio(
            format!("{guard}: rate at {level} over the greatest"),
            Printed::Figure(0.8),
            &(&goodput(level) / &Sample::greatest(&goodputs)),
            Bar::Between(0.75, 0.9),
        );
        findings.relate(
            format!("{guard}: loss at {level}"),
            "%",
            Printed::Words("no queue overflow losses"),
            &results.loss_percent(&target_name(guard, level)),
            Bar::AtMost(0.0),
        );
    }
    findings.relate(
        format!("{guard}: loss at 64"),
        "%",
        Printed::Words("rises rapidly"),
        &results.loss_percent(&target_name(guard, 64)),
        Bar::Above(0.0),
    );
    findings.ratio(
        format!("{guard}: delay at 64 over that at 40"),
        Printed::Words("rises rapidly"),
        &(&delay(64) / &delay(40)),
        Bar::AtLeast(4.0),
    );
    findings.relate(
        format!("{guard}: delay at 40"),
        "ms",
        Printed::Words("consistently low"),
        &delay(40),
        Bar::AtMost(2.0),
    );
}

const STATIONS: [u32; 6] = [1, 2, 5, 10, 15, 20];

pub(super) fn fair_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for n in STATIONS {
        let case = Case::scenario(n.to_string(), ALGORITHM_2, &[]);
        cases.push(case.set(format!("node.station.count={n}")).extract(levels));
        // The least delay is that of the first packets, which the other cases leave out.
        let start = Case::scenario(start_name(n), ALGORITHM_2, &["duration=\"10 s\""]);
        let start = start.set("warm_up=\"0 s\"").seeds(SEEDS_OF_STARTS);
        cases.push(start.set(format!("node.station.count={n}")));
    }
    cases
}

/// Seeds of the cases that measure the least delay.
const SEEDS_OF_STARTS: u32 = 3;

fn start_name(n: u32) -> String {
    format!("{n}, from the start")
}

/// Share of the time that beacons take: 236 µs and an AIFS of 43 µs every 102.4 ms.
const BEACONS: f64 = (236e-6 + 43e-6) / 102.4e-3;
/// Slots per second. In each slot every station sends a report over the air.
const REPORTS_PER_S: f64 = 2.0;
/// Bytes of a report and of a packet.
const REPORT_BYTES: u32 = 60 + IPV4_UDP_HEADER_BYTES;
const PACKET_BYTES: u32 = 1_470 + IPV4_UDP_HEADER_BYTES;
const PAYLOAD_BITS: f64 = 8.0 * 1_470.0;

/// Payload in Mbit/s that `n` stations can be sent with 32 packets in every frame, in the airtime
/// that beacons and reports leave.
fn limit_mbps(n: f64) -> Option<f64> {
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 2, 9, GuardInterval::Ns800).ok()?;
    let cost = |bytes: u32| Link::of_phy(rate, bytes, AccessCategory::BestEffort, Timing::Standard);
    let (packet, report) = (cost(PACKET_BYTES), cost(REPORT_BYTES));
    let free = 1.0 - BEACONS - n * REPORTS_PER_S * (report.overhead_s + report.seconds_per_packet);
    Some(free * 32.0 * PAYLOAD_BITS / (packet.overhead_s + 32.0 * packet.seconds_per_packet) / 1e6)
}

pub(super) fn fair(results: &Results) -> Findings {
    let mut findings = Findings::default();
    goodputs(&mut findings, results);
    delays(&mut findings, results);
    level_and_losses(&mut findings, results);
    findings
}

fn goodputs(findings: &mut Findings, results: &Results) {
    let indices = STATIONS.map(|n| {
        results.sample(&n.to_string(), |summary| {
            let stations = summary.stations.iter();
            let goodputs: Vec<f64> = stations.map(|station| station.goodput_mbps).collect();
            Some(jain(&goodputs))
        })
    });
    findings.ratio(
        "least Jain's index of goodput",
        Printed::Figure(1.0),
        &Sample::least(&indices),
        Bar::AtLeast(0.999),
    );
    let shares = STATIONS.map(|n| {
        results.sample(&n.to_string(), |summary| {
            Some(summary.totals.goodput_mbps / limit_mbps(f64::from(n))?)
        })
    });
    findings.ratio(
        "least goodput over the airtime's limit",
        Printed::Words("only a few kb/s missing"),
        &Sample::least(&shares),
        Bar::AtLeast(0.97),
    );
    findings.ratio(
        "greatest goodput over the airtime's limit",
        Printed::Words("close to the theoretical limit"),
        &Sample::greatest(&shares),
        Bar::AtMost(1.03),
    );
}

fn delays(findings: &mut Findings, results: &Results) {
    let delays = STATIONS.map(|n| results.mean_delay_ms(&n.to_string()));
    let slope = Sample::combine(&delays, |delays| {
        1e3 * line(&STATIONS.map(f64::from), delays).slope
    });
    findings.relate(
        "delay per station",
        "µs",
        Printed::Figure(350.0),
        &slope,
        Bar::About(350.0, 50.0),
    );
    let least_delays = STATIONS.map(|n| {
        results.sample(&start_name(n), |summary| {
            Some(1e3 * summary.totals.delay_ms?.min)
        })
    });
    for (what, sample) in [
        ("least", Sample::least(&least_delays)),
        ("greatest", Sample::greatest(&least_delays)),
    ] {
        findings.relate(
            format!("from the start: {what} of the least delays"),
            "µs",
            Printed::Figure(60.0),
            &sample,
            Bar::About(60.0, 20.0),
        );
    }
}

fn level_and_losses(findings: &mut Findings, results: &Results) {
    let level_quantiles = |share: f64| {
        STATIONS.map(|n| {
            results.of_runs(&n.to_string(), |run| {
                Some(quantile(&run.reported_levels(), share))
            })
        })
    };
    findings.relate(
        "least lower quartile of the level",
        "",
        Printed::Words("very close to 32, very small oscillations"),
        &Sample::least(&level_quantiles(0.25)),
        Bar::AtLeast(30.0),
    );
    findings.relate(
        "greatest upper quartile of the level",
        "",
        Printed::Words("very close to 32, very small oscillations"),
        &Sample::greatest(&level_quantiles(0.75)),
        Bar::AtMost(34.0),
    );
    let lost = STATIONS.map(|n| {
        results.sample(&n.to_string(), |summary| {
            Some(summary.totals.dropped as f64)
        })
    });
    findings.relate(
        "most packets lost",
        "",
        Printed::Figure(0.0),
        &Sample::greatest(&lost),
        Bar::AtMost(0.0),
    );
}
