use super::super::case::{Case, Results, links, mean};
use super::super::findings::{Bar, Findings};
use super::super::sample::Sample;
use airpace_core::model::{Downlink, Link};
use airpace_core::phy::{AccessCategory, GuardInterval, Standard, Timing, TxRate, Width};
use airpace_sim::rng::Stream;

pub(super) const KNEES: &str = "Rates at which aggregation begins and saturates, at 513 and 850 Mbit/s with 106 + 108 µs of overhead: those of the model to 0.1 %";
pub(super) const LEVELS: &str =
    "The simulated mean level is within 10 % of the refined model's away from the knees";
pub(super) const REGION: &str =
    "The rate region of two stations is convex in the logarithms of the rates";

/// Bits of a packet of 1500 bytes.
const PACKET_BITS: f64 = 12_000.0;
/// Access and other overhead of a frame, seconds.
const OVERHEAD_S: f64 = 106e-6 + 108e-6;
/// Most packets in a frame.
const MOST: f64 = 64.0;

fn downlink(mbps: f64, stations: usize) -> Option<Downlink> {
    Downlink::new(vec![
        Link::new(PACKET_BITS / (mbps * 1e6), OVERHEAD_S, MOST);
        stations
    ])
    .ok()
}

/// PHY rate, stations, rate per station in Mbit/s at which aggregation begins and at which it saturates. The first four are the paper's figure
/// by hand from 1/(c + n w) and N/(c + n N w).
const KNEES_MBPS: [(f64, usize, f64, f64); 3] = [
    (513.0, 1, 50.5, 448.8),
    (513.0, 2, 25.3, 224.4),
    (850.0, 1, 52.6, 687.2),
];

pub(super) fn knees(_: &Results) -> Findings {
    let mut findings = Findings::default();
    for (mbps, stations, begins, saturates) in KNEES_MBPS {
        let Some(downlink) = downlink(mbps, stations) else {
            continue;
        };
        for (what, level, printed) in [("begins", 1.0, begins), ("saturates", MOST, saturates)] {
            let rate = downlink.rates_at_levels(&vec![level; stations])[0] * PACKET_BITS / 1e6;
            let what = format!("{mbps} Mbit/s, {stations} station(s): aggregation {what} at");
            // 0.1 %, and the rounding of the figure to compare with.
            findings.relate(
                what,
                "Mbit/s",
                &Sample::exactly(rate),
                Bar::About(printed, 0.001 * printed + 0.05),
            );
        }
    }
    findings
}

const CELL: &str = include_str!("../../../../scenarios/000-f8-level.toml");
/// Payload rates in Mbit/s between the knees, which are at 46 and 341 Mbit/s.
const RATES_MBPS: [f64; 5] = [100.0, 150.0, 200.0, 250.0, 300.0];
/// UDP and IP headers.
const HEADER_BYTES: f64 = 28.0;
const PAYLOAD_BYTES: f64 = 1_470.0;

pub(super) fn level_cases() -> Vec<Case> {
    let case = |mbps: &f64| {
        Case::scenario(mbps.to_string(), CELL, &[]).set(format!("flow.0.rate=\"{mbps} Mbit/s\""))
    };
    RATES_MBPS.iter().map(case).collect()
}

pub(super) fn levels(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800);
    let Ok(rate) = rate else { return findings };
    let bytes = (PAYLOAD_BYTES + HEADER_BYTES) as u32;
    let link = Link::of_phy(rate, bytes, AccessCategory::BestEffort, Timing::Standard);
    let Ok(downlink) = Downlink::new(vec![link]) else {
        return findings;
    };
    for mbps in RATES_MBPS {
        let model = downlink
            .refined(&[mbps * 1e6 / (8.0 * PAYLOAD_BYTES)])
            .level[0];
        let level = |summary: &airpace_scenario::results::SimulationSummary| {
            mean(links(summary, "station").map(|link| Some(link.level)))
        };
        let ratio = &results.sample(&mbps.to_string(), level) * (1.0 / model);
        findings.ratio(
            format!("{mbps} Mbit/s: level, simulated over modelled"),
            &ratio,
            Bar::About(1.0, 0.1),
        );
    }
    findings
}

/// Pairs of points tried.
const CHORDS: u32 = 10_000;

pub(super) fn region(_: &Results) -> Findings {
    let mut findings = Findings::default();
    for (first, second) in [(513.0, 513.0), (390.0, 117.0), (850.0, 58.5)] {
        let links = [first, second]
            .map(|mbps: f64| Link::new(PACKET_BITS / (mbps * 1e6), OVERHEAD_S, MOST));
        let Ok(downlink) = Downlink::new(links.to_vec()) else {
            continue;
        };
        let share = inside(&downlink, &mut Stream::new(1, "chords", 0));
        let what = format!("{first} and {second} Mbit/s: chords that lie within, of {CHORDS}");
        findings.relate(
            what,
            "%",
            &Sample::exactly(100.0 * share),
            Bar::AtLeast(100.0),
        );
    }
    findings
}

/// Share of random chords between stable points, in log rates, of which a random point is stable, too.
fn inside(downlink: &Downlink, random: &mut Stream) -> f64 {
    let mut stable_point = || loop {
        // From 10 to 10⁵ packets per second, evenly in the logarithm.
        let point = [random.unit(), random.unit()].map(|u| 10f64.powf(1.0 + 4.0 * u));
        if downlink.is_stable(&point) {
            return (point, random.unit());
        }
    };
    let holds = (0..CHORDS).filter(|_| {
        let ((a, share), (b, _)) = (stable_point(), stable_point());
        let between = [0, 1].map(|i| (share * a[i].ln() + (1.0 - share) * b[i].ln()).exp());
        downlink.is_stable(&between)
    });
    holds.count() as f64 / f64::from(CHORDS)
}
