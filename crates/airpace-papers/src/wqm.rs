//! Paper 003, WQM: An Aggregation-aware Queue Management Scheme for IEEE 802.11n based Networks:
//! buffers that follow rate and load, over one hop and several.

use crate::reproduction::{Bar, Case, Claim, Findings, Results, Sample, flows, mean_if_complete};
use airpace_core::model::{jain, wqm};
use airpace_scenario::results::SimulationSummary;
use airpace_sim::mac::Scheme;

/// Seeds of each case, unless another number is asked for. The paper has three runs.
const SEEDS: u32 = 5;

pub(super) const CLAIMS: &[Claim] = &[
    Claim::model(
        "003-T1",
        "003, Table 1 and equations 1 to 7",
        CALCULATOR,
        calculator,
    ),
    Claim::simulated(
        "003-F2/3",
        "003, Figures 2 and 3",
        HOP_COUNTS,
        hop_cases,
        hops,
        SEEDS,
    ),
    Claim::simulated(
        "003-F4/5",
        "003, Figures 4 and 5",
        FLOW_COUNTS,
        flow_cases,
        several_flows,
        SEEDS,
    ),
    Claim::simulated(
        "003-F7",
        "003, Figures 6 and 7",
        PARKING_LOT_RATES,
        parking_cases,
        parking_lot,
        SEEDS,
    ),
];

const CALCULATOR: &str = "The round-trip time of one A-MPDU (ARTT) at 600 Mbit/s, the largest \
     buffer, and the least limit, at 6.5 Mbit/s: by the equations and as printed";
const HOP_COUNTS: &str = "One flow over 1, 2 and 3 hops: WQM's mean round-trip time is about 5 \
     times below the default's and 2 times below CoDel's, at 90 % of the default's goodput or more";
const FLOW_COUNTS: &str = "1, 3 and 5 flows over one hop: WQM's mean round-trip time is at least 5 \
     times below the default's at 85 % of its goodput or more; Jain's index of the flows goes from \
     0.77 to 0.99";
const PARKING_LOT_RATES: &str = "Parking lot at 6.5, 13, 65 and 144.4 Mbit/s and with Minstrel: \
     WQM's delay is 8, 6 and at least 4 times below the default's for the flow over 1, 2 and 3 \
     hops, about 2 times below CoDel's with Minstrel, and below CoDel's at every rate";

/// ARTT with 64 packets at 600 Mbit/s by equations 6 and 7, computed by hand, ms.
const ARTT_MS: f64 = 1.784;
/// ARTT with one packet at 6.5 Mbit/s, ms.
const LEAST_LIMIT_MS: f64 = 2.379;
/// B_max by equation 5 with the first ARTT, packets.
const MAX_PACKETS: f64 = 89.0;

fn calculator(_: &Results) -> Findings {
    let mut findings = Findings::default();
    let mut relate = |what: &str, unit: &str, value: f64, bar: Bar| {
        findings.relate(what, unit, &Sample::exactly(value), bar);
    };
    let artt_ms = 1e3 * wqm::artt_s(600e6, 64.0);
    let limit_ms = 1e3 * wqm::least_limit_s(6.5e6);
    relate(
        "ARTT by equations 6 and 7",
        "ms",
        artt_ms,
        Bar::About(ARTT_MS, 0.001),
    );
    relate(
        "largest buffer by equation 5",
        "packets",
        wqm::max_packets(600e6, 64.0),
        Bar::About(MAX_PACKETS, 0.0),
    );
    relate(
        "least limit by equations 6 and 7",
        "ms",
        limit_ms,
        Bar::About(LEAST_LIMIT_MS, 0.001),
    );
    // The printed figures exceed those of the equations. Rounding up explains a tenth.
    relate(
        "printed ARTT over the equations'",
        "",
        1e3 * wqm::PRINTED_ARTT_S / artt_ms,
        Bar::Between(1.0, 1.1),
    );
    let buffers = wqm::PRINTED_MAX_PACKETS / wqm::max_packets(600e6, 64.0);
    relate(
        "printed largest buffer over the equations'",
        "",
        buffers,
        Bar::Between(1.0, 1.1),
    );
    relate(
        "printed limit over the equations'",
        "",
        1e3 * wqm::PRINTED_LIMIT_S / limit_ms,
        Bar::Between(1.0, 1.1),
    );
    findings.note(
        "the paper prints 1.9 ms, 95 packets and 2.5 ms, which its own equations do not give (see \
         the errata)",
    );
    findings
}

/// The paper's three schemes. Its default is a FIFO queue of 1000 packets.
const SCHEMES: [Scheme; 3] = [Scheme::Fifo, Scheme::Codel, Scheme::Wqm];
/// 224.4 ms over 49.47 ms at three hops, which the paper calls "around 5 times".
const BELOW_DEFAULT: f64 = 224.4 / 49.47;
/// 90.428 ms over 49.47 ms, which it calls "2 times" and "almost twice".
const BELOW_CODEL: f64 = 90.428 / 49.47;

const HOPS: &str = include_str!("../../../scenarios/003-f2-hops.toml");
const FLOWS: &str = include_str!("../../../scenarios/003-f4-flows.toml");
const PARKING_LOT: &str = include_str!("../../../scenarios/003-f7-parking-lot.toml");

/// The same case with the scheme at the source and at every relay, as in the paper.
fn at_every_hop(mut case: Case, scheme: Scheme) -> Case {
    for node in ["gateway", "hop-1", "hop-2"] {
        case = case.set(queue(node, scheme));
    }
    case
}

fn queue(node: &str, scheme: Scheme) -> String {
    format!("node.{node}.queue.scheme=\"{scheme}\"")
}

fn hop_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for hops in 1..=3 {
        for scheme in SCHEMES {
            let case = Case::scenario(format!("{hops} hops, {scheme}"), HOPS, &[]);
            cases.push(at_every_hop(case, scheme).set(format!("flow.tcp.to=\"hop-{hops}\"")));
        }
    }
    cases
}

/// Mean round-trip time of the flows called `flow`.
fn rtt_ms(results: &Results, case: &str, flow: &str) -> Sample {
    results.sample(case, |summary| {
        mean_if_complete(flows(summary, flow).map(|flow| Some(flow.rtt_ms?.mean)))
    })
}

fn hops(results: &Results) -> Findings {
    let mut findings = Findings::default();
    for hops in 1..=3 {
        let case = |scheme: Scheme| format!("{hops} hops, {scheme}");
        let rtt = |scheme: Scheme| rtt_ms(results, &case(scheme), "tcp");
        let below = &rtt(Scheme::Fifo) / &rtt(Scheme::Wqm);
        findings.ratio(
            format!("{hops} hops: mean RTT, default over WQM"),
            &below,
            Bar::AtLeast(BELOW_DEFAULT),
        );
        let below = &rtt(Scheme::Codel) / &rtt(Scheme::Wqm);
        findings.ratio(
            format!("{hops} hops: mean RTT, CoDel over WQM"),
            &below,
            Bar::AtLeast(BELOW_CODEL),
        );
        let kept =
            &results.goodput_mbps(&case(Scheme::Wqm)) / &results.goodput_mbps(&case(Scheme::Fifo));
        findings.ratio(
            format!("{hops} hops: goodput, WQM over default"),
            &kept,
            Bar::AtLeast(0.9),
        );
    }
    findings
}

const COUNTS: [u32; 3] = [1, 3, 5];

fn flow_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for count in COUNTS {
        for scheme in SCHEMES {
            let case = Case::scenario(format!("{count} flows, {scheme}"), FLOWS, &[]);
            cases.push(
                case.set(queue("gateway", scheme))
                    .set(format!("flow.tcp.count={count}")),
            );
        }
    }
    cases
}

fn several_flows(results: &Results) -> Findings {
    let mut findings = Findings::default();
    for count in COUNTS {
        let case = |scheme: Scheme| format!("{count} flows, {scheme}");
        let below = &rtt_ms(results, &case(Scheme::Fifo), "tcp")
            / &rtt_ms(results, &case(Scheme::Wqm), "tcp");
        findings.ratio(
            format!("{count} flows: mean RTT, default over WQM"),
            &below,
            Bar::AtLeast(5.0),
        );
        let kept =
            &results.goodput_mbps(&case(Scheme::Wqm)) / &results.goodput_mbps(&case(Scheme::Fifo));
        findings.ratio(
            format!("{count} flows: goodput, WQM over default"),
            &kept,
            Bar::AtLeast(0.85),
        );
    }
    let mean_index = |scheme: Scheme| {
        let mut indices = Vec::new();
        for count in &COUNTS[1..] {
            indices.push(results.sample(&format!("{count} flows, {scheme}"), jain_of_flows));
        }
        Sample::combine(&indices, |indices| {
            indices.iter().sum::<f64>() / indices.len() as f64
        })
    };
    // The paper prints one figure for all numbers of flows. A tenth allows for the different test
    // bed.
    findings.ratio(
        "3 and 5 flows: Jain's index of goodput, default",
        &mean_index(Scheme::Fifo),
        Bar::About(0.77, 0.1),
    );
    findings.ratio(
        "3 and 5 flows: Jain's index of goodput, WQM",
        &mean_index(Scheme::Wqm),
        Bar::AtLeast(0.985),
    );
    findings.because(
        "index of goodput, default",
        "our flows share the long queue more evenly than the paper's, which are of unknown length; \
         the index does rise with WQM",
    );
    findings
}

/// Jain's index of the goodput of the TCP flows.
fn jain_of_flows(summary: &SimulationSummary) -> Option<f64> {
    let goodputs: Vec<f64> = flows(summary, "tcp")
        .map(|flow| flow.goodput_mbps)
        .collect();
    Some(jain(&goodputs))
}

/// Names of the rates and their settings. 144.4 Mbit/s needs the short guard interval.
const RATES: [(&str, &str); 5] = [
    ("6.5", "\"mcs 0\""),
    ("13", "\"mcs 1\""),
    ("65", "\"mcs 7\""),
    ("144.4", "{ mcs = 15, guard_interval = \"400 ns\" }"),
    ("Minstrel", "{ adaptation = \"minstrel-ht\", nss = 3 }"),
];

fn parking_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, rate) in RATES {
        for scheme in SCHEMES {
            let case = Case::scenario(format!("{name}, {scheme}"), PARKING_LOT, &[]);
            let case = case.set(format!("node.*.rate={rate}"));
            cases.push(at_every_hop(case, scheme));
        }
    }
    cases
}

fn parking_lot(results: &Results) -> Findings {
    let mut findings = Findings::default();
    for (flow, hops, bar) in [("one", 1, 8.0), ("two", 2, 6.0), ("three", 3, 4.0)] {
        let over_wqm = |scheme: Scheme| {
            RATES.map(|(rate, _)| {
                let rtt = |scheme: Scheme| rtt_ms(results, &format!("{rate}, {scheme}"), flow);
                &rtt(scheme) / &rtt(Scheme::Wqm)
            })
        };
        let (default, codel) = (over_wqm(Scheme::Fifo), over_wqm(Scheme::Codel));
        let what = format!("{hops}-hop flow: mean RTT");
        let mean = Sample::geometric_mean(&default);
        findings.ratio(
            format!("{what}, default over WQM, mean over the rates"),
            &mean,
            Bar::AtLeast(bar),
        );
        if flow == "three" {
            let least = Sample::least(&default);
            findings.ratio(
                format!("{what}, default over WQM, worst rate"),
                &least,
                Bar::AtLeast(bar),
            );
        }
        findings.ratio(
            format!("{what}, CoDel over WQM, Minstrel"),
            codel.last().expect("there are rates"),
            Bar::AtLeast(BELOW_CODEL),
        );
        findings.ratio(
            format!("{what}, CoDel over WQM, worst rate"),
            &Sample::least(&codel),
            Bar::Above(1.0),
        );
    }
    findings
}
