use crate::reproduction::{Bar, Case, Findings, Printed, Results, Sample, links, mean_if_complete};
use airpace_core::model::{Downlink, Link};
use airpace_core::phy::{AccessCategory, GuardInterval, Standard, Timing, TxRate, Width};
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES;
use airpace_scenario::results::SimulationSummary;
use airpace_sim::rng::Stream;

pub(super) const KNEES: &str = "The rates at which aggregation begins and saturates, for stations of \
     513 and 850 Mbit/s, alone and together, with 106 + 108 µs of overhead, are those of the \
     paper's equations to 0.1 %";
pub(super) const LEVELS: &str =
    "The simulated mean level is within 10 % of the refined model's away from the knees";
pub(super) const REGION: &str =
    "The rate region of two stations is convex in the logarithms of the rates";

/// Bits of a packet of 1500 bytes.
const PACKET_BITS: f64 = 12_000.0;
/// Access and other overhead of a frame, seconds.
const OVERHEAD_S: f64 = 106e-6 + 108e-6;
/// Most packets in a frame.
const MAX_PACKETS: f64 = 64.0;

fn link(mbps: f64) -> Link {
    Link::new(PACKET_BITS / (mbps * 1e6), OVERHEAD_S, MAX_PACKETS)
}

/// Stations that are sent to at the same rate, and the rates at which the aggregation of all begins
/// and at which that of all has saturated, for each of them.
struct Knees {
    phy_mbps: &'static [f64],
    begins_mbps: f64,
    saturates_mbps: f64,
}

/// By hand from equation 9: μ = c x/(1 − wᵀx) at μ = 1 and μ = 64. The text prints none of these
/// figures, only the parameters (footnote 6); they agree with the plot as far as it can be read.
const EXPECTED_KNEES: [Knees; 3] = [
    Knees {
        phy_mbps: &[513.0],
        begins_mbps: 50.549,
        saturates_mbps: 448.84,
    },
    Knees {
        phy_mbps: &[850.0],
        begins_mbps: 52.605,
        saturates_mbps: 687.23,
    },
    Knees {
        phy_mbps: &[513.0, 850.0],
        begins_mbps: 25.778,
        saturates_mbps: 271.51,
    },
];

pub(super) fn knees(_: &Results) -> Findings {
    let mut findings = Findings::default();
    for expected in EXPECTED_KNEES {
        let links = expected.phy_mbps.iter().map(|&mbps| link(mbps)).collect();
        let Ok(downlink) = Downlink::new(links) else {
            continue;
        };
        let names: Vec<String> = expected.phy_mbps.iter().map(f64::to_string).collect();
        for (what, level, mbps) in [
            ("begins", 1.0, expected.begins_mbps),
            ("saturates", MAX_PACKETS, expected.saturates_mbps),
        ] {
            // All stations have the same level, as they have the same rate.
            let levels = vec![level; expected.phy_mbps.len()];
            let rate = downlink.rates_at_levels(&levels)[0] * PACKET_BITS / 1e6;
            findings.relate(
                format!("{} Mbit/s: aggregation {what} at", names.join(" and ")),
                "Mbit/s",
                Printed::Words("plotted"),
                &Sample::exactly(rate),
                Bar::near(mbps, 0.001),
            );
        }
    }
    findings
}

const CELL: &str = include_str!("../../../../scenarios/000-f8-level.toml");
/// Payload rates in Mbit/s between the knees, which are at 46 and 341 Mbit/s.
const RATES_MBPS: [f64; 5] = [100.0, 150.0, 200.0, 250.0, 300.0];
/// The rates of the standard that are nearest to the two stations of Figure 7, which had 513 and 850
/// Mbit/s on average: 526.5 and 877.5 Mbit/s with three streams.
const PAIR: [(u8, u8); 2] = [(3, 4), (3, 7)];
/// Payload rates in Mbit/s for each of the two, between the knees, which are at 25 and 250 Mbit/s.
const PAIR_RATES_MBPS: [f64; 3] = [100.0, 150.0, 200.0];
/// UDP payload of a packet.
const PAYLOAD_BYTES: u32 = 1_470;

pub(super) fn level_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for mbps in RATES_MBPS {
        let rate = format!("flow.0.rate=\"{mbps} Mbit/s\"");
        cases.push(Case::scenario(mbps.to_string(), CELL, &[]).set(rate));
    }
    for mbps in PAIR_RATES_MBPS {
        let rates = PAIR.map(|(nss, mcs)| format!("\"mcs {mcs} nss {nss}\""));
        let case = Case::scenario(pair_name(mbps), CELL, &["node.station.count=2"])
            .set(format!("node.station.rate=[{}]", rates.join(", ")));
        cases.push(case.set(format!("flow.0.rate=\"{mbps} Mbit/s\"")));
    }
    cases
}

fn pair_name(mbps: f64) -> String {
    format!("two stations, {mbps}")
}

/// The levels that the refined model has for stations with these streams and MCS at a payload rate
/// for each.
fn modelled_levels(stations: &[(u8, u8)], mbps: f64) -> Option<Vec<f64>> {
    let bytes = PAYLOAD_BYTES + IPV4_UDP_HEADER_BYTES;
    let mut links = Vec::new();
    for &(nss, mcs) in stations {
        let rate = TxRate::new(Standard::Vht, Width::Mhz80, nss, mcs, GuardInterval::Ns800).ok()?;
        links.push(Link::of_phy(
            rate,
            bytes,
            AccessCategory::BestEffort,
            Timing::Standard,
        ));
    }
    let packets_per_s = mbps * 1e6 / (8.0 * f64::from(PAYLOAD_BYTES));
    let downlink = Downlink::new(links).ok()?;
    Some(downlink.refined(&vec![packets_per_s; stations.len()]).level)
}

pub(super) fn levels(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let printed = Printed::Words("qualitatively the same as the model");
    for mbps in RATES_MBPS {
        let level = results.sample(&mbps.to_string(), |summary| {
            mean_if_complete(links(summary, "station").map(|link| Some(link.level)))
        });
        let modelled = modelled_levels(&[(1, 9)], mbps).map_or(f64::NAN, |levels| levels[0]);
        findings.ratio(
            format!("{mbps} Mbit/s: level, simulated over modelled"),
            printed,
            &(&level * (1.0 / modelled)),
            Bar::About(1.0, 0.1),
        );
    }
    for mbps in PAIR_RATES_MBPS {
        let modelled = modelled_levels(&PAIR, mbps).unwrap_or_default();
        for (index, modelled) in modelled.into_iter().enumerate() {
            let name = format!("station-{}", index + 1);
            let level = results.sample(&pair_name(mbps), |summary: &SimulationSummary| {
                links(summary, &name).next().map(|link| link.level)
            });
            findings.ratio(
                format!("two stations, {mbps} Mbit/s each, {name}: level, simulated over modelled"),
                printed,
                &(&level * (1.0 / modelled)),
                Bar::About(1.0, 0.1),
            );
        }
    }
    findings
}

/// Chords that are tried for each pair of PHY rates.
const CHORDS: u32 = 10_000;

pub(super) fn region(_: &Results) -> Findings {
    let mut findings = Findings::default();
    for (first, second) in [(513.0, 513.0), (390.0, 117.0), (850.0, 58.5)] {
        let Ok(downlink) = Downlink::new(vec![link(first), link(second)]) else {
            continue;
        };
        let share = share_of_chords_within(&downlink, &mut Stream::new(1, "chords", 0));
        findings.relate(
            format!("{first} and {second} Mbit/s: chords that lie within, of {CHORDS}"),
            "%",
            Printed::Words("convex in log x"),
            &Sample::exactly(100.0 * share),
            Bar::AtLeast(100.0),
        );
    }
    findings
}

/// Draws chords between stable points in the logarithms of the rates, and a point on each. Returns
/// the share of these points that are stable too.
fn share_of_chords_within(downlink: &Downlink, random: &mut Stream) -> f64 {
    let mut within = 0_u32;
    for _ in 0..CHORDS {
        let (a, position) = stable_point(downlink, random);
        let (b, _) = stable_point(downlink, random);
        let between = [0, 1].map(|i| (position * a[i].ln() + (1.0 - position) * b[i].ln()).exp());
        within += u32::from(downlink.is_stable(&between));
    }
    f64::from(within) / f64::from(CHORDS)
}

/// A random stable pair of rates in packets per second, and a random position on a chord.
fn stable_point(downlink: &Downlink, random: &mut Stream) -> ([f64; 2], f64) {
    loop {
        // From 10 to 10⁵ packets per second, uniform in the logarithm.
        let point = [random.unit(), random.unit()].map(|u| 10f64.powf(1.0 + 4.0 * u));
        if downlink.is_stable(&point) {
            return (point, random.unit());
        }
    }
}
