use crate::reproduction::{Bar, Case, Findings, Results, Sample, links, mean_if_complete};
use airpace_core::model::{Downlink, Link};
use airpace_core::phy::{AccessCategory, GuardInterval, Standard, Timing, TxRate, Width};
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES;
use airpace_scenario::results::SimulationSummary;
use airpace_sim::rng::Stream;

pub(super) const KNEES: &str = "The rates at which aggregation begins and saturates, at 513 and \
     850 Mbit/s with 106 + 108 µs of overhead, are those of the model to 0.1 %";
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

/// Stations with the same PHY rate, and the rates per station at which aggregation begins and
/// saturates.
struct Knees {
    phy_mbps: f64,
    stations: usize,
    begins_mbps: f64,
    saturates_mbps: f64,
}

/// The paper's figure, computed by hand from 1/(c + n w) and N/(c + n N w).
const EXPECTED_KNEES: [Knees; 3] = [
    Knees {
        phy_mbps: 513.0,
        stations: 1,
        begins_mbps: 50.5,
        saturates_mbps: 448.8,
    },
    Knees {
        phy_mbps: 513.0,
        stations: 2,
        begins_mbps: 25.3,
        saturates_mbps: 224.4,
    },
    Knees {
        phy_mbps: 850.0,
        stations: 1,
        begins_mbps: 52.6,
        saturates_mbps: 687.2,
    },
];

pub(super) fn knees(_: &Results) -> Findings {
    let mut findings = Findings::default();
    for expected in EXPECTED_KNEES {
        let Knees {
            phy_mbps, stations, ..
        } = expected;
        let Ok(downlink) = Downlink::new(vec![link(phy_mbps); stations]) else {
            continue;
        };
        for (what, level, mbps) in [
            ("begins", 1.0, expected.begins_mbps),
            ("saturates", MAX_PACKETS, expected.saturates_mbps),
        ] {
            let rate = downlink.rates_at_levels(&vec![level; stations])[0] * PACKET_BITS / 1e6;
            // 0.1 %, and the rounding of the expected figure.
            findings.relate(
                format!("{phy_mbps} Mbit/s, {stations} station(s): aggregation {what} at"),
                "Mbit/s",
                &Sample::exactly(rate),
                Bar::About(mbps, 0.001 * mbps + 0.05),
            );
        }
    }
    findings
}

const CELL: &str = include_str!("../../../../scenarios/000-f8-level.toml");
/// Payload rates in Mbit/s between the knees, which are at 46 and 341 Mbit/s.
const RATES_MBPS: [f64; 5] = [100.0, 150.0, 200.0, 250.0, 300.0];
/// UDP payload of a packet.
const PAYLOAD_BYTES: u32 = 1_470;

pub(super) fn level_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for mbps in RATES_MBPS {
        let rate = format!("flow.0.rate=\"{mbps} Mbit/s\"");
        cases.push(Case::scenario(mbps.to_string(), CELL, &[]).set(rate));
    }
    cases
}

pub(super) fn levels(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800);
    let Ok(rate) = rate else { return findings };
    let bytes = PAYLOAD_BYTES + IPV4_UDP_HEADER_BYTES;
    let link = Link::of_phy(rate, bytes, AccessCategory::BestEffort, Timing::Standard);
    let Ok(downlink) = Downlink::new(vec![link]) else {
        return findings;
    };
    let level = |summary: &SimulationSummary| {
        mean_if_complete(links(summary, "station").map(|link| Some(link.level)))
    };
    for mbps in RATES_MBPS {
        let packets_per_s = mbps * 1e6 / (8.0 * f64::from(PAYLOAD_BYTES));
        let modelled = downlink.refined(&[packets_per_s]).level[0];
        let ratio = &results.sample(&mbps.to_string(), level) * (1.0 / modelled);
        findings.ratio(
            format!("{mbps} Mbit/s: level, simulated over modelled"),
            &ratio,
            Bar::About(1.0, 0.1),
        );
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
