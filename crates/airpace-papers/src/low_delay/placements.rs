//! Figure 12: stations at random places, with Minstrel-HT.

use crate::reproduction::{Bar, Case, Figures, Findings, Printed, Results, Run, Sample, mean};
use airpace_core::phy::TxRate;
use airpace_scenario::run::Finished;
use airpace_sim::mac::RadioId;
use airpace_units::{BitRate, Time};
use std::collections::BTreeMap;

pub(super) const PLACEMENTS: &str = "8 stations at random in a square of 40 m, one stream, \
     Minstrel-HT, 200 placements in which every station gets 85 % of its frames with one MCS: the \
     levels are those of equal airtime; losses are negligible; the goodput goes from 150 Mbit/s with \
     MCS 4 everywhere to 300 with MCS 9, of at most 307";

const RANDOM_PLACES: &str = include_str!("../../../../scenarios/000-f12-placements.toml");

/// Placements that are tried, so that 200 qualify if 77 % do.
const TRIED: u32 = 260;
/// Share of a station's frames that must have one MCS.
const STABLE: f64 = 0.85;
/// What Minstrel samples: a frame, as in ns-3, or a single packet, as in Linux.
const SAMPLES: [&str; 2] = ["frames", "packets"];
const JUDGED: &str = SAMPLES[0];

pub(super) fn cases() -> Vec<Case> {
    let case = |samples: &str| {
        let rate = format!(
            "node.station.rate={{ adaptation = \"minstrel-ht\", samples = \"{samples}\" }}"
        );
        Case::scenario(samples, RANDOM_PLACES, &["record.frames=true"])
            .set(rate)
            .extract(levels_by_mcs)
    };
    let [judged, other] = SAMPLES.map(case);
    vec![judged.seeds(TRIED), other.seeds(TRIED / 4)]
}

/// Per station: `share`, of its frames with the most frequent MCS; `mcs`; `level`, the mean packets
/// per frame with that MCS; `phy`, its rate in Mbit/s.
fn levels_by_mcs(finished: &Finished) -> Figures {
    let begin = Time::ZERO.saturating_add(finished.resolved.world.warm_up);
    // Frames and packets by receiver and rate.
    let mut counts: BTreeMap<RadioId, BTreeMap<BitRate, (TxRate, u32, u32)>> = BTreeMap::new();
    for (_, frame) in &finished.outcome.frames {
        if frame.from.0 == 0 && frame.start >= begin {
            let rates = counts.entry(frame.to).or_default();
            let count = rates.entry(frame.rate.rate()).or_insert((frame.rate, 0, 0));
            count.1 += 1;
            count.2 += frame.packets;
        }
    }
    let mut figures = Figures::new();
    for rates in counts.values() {
        let frames: u32 = rates.values().map(|count| count.1).sum();
        let Some((rate, most, packets)) = rates.values().max_by_key(|count| count.1) else {
            continue;
        };
        for (name, value) in [
            ("share", f64::from(*most) / f64::from(frames)),
            ("mcs", f64::from(rate.mcs())),
            ("level", f64::from(*packets) / f64::from(*most)),
            ("phy", rate.rate().as_bps_f64() / 1e6),
        ] {
            figures.entry(name.to_owned()).or_default().push(value);
        }
    }
    figures
}

/// Whether all eight stations have a stable MCS.
fn is_stable(run: &Run) -> bool {
    let shares = run.figures.get("share");
    shares.is_some_and(|shares| shares.len() == 8 && shares.iter().all(|&share| share >= STABLE))
}

/// The level of each station over that of equal airtime, with its MCS. The fastest station has 32
/// packets per frame, the others in proportion to their rates, but no less than 1.
fn relative_levels(run: &Run) -> Vec<(u32, f64)> {
    let list = |name: &str| run.figures.get(name).cloned().unwrap_or_default();
    let (mcs, level, phy) = (list("mcs"), list("level"), list("phy"));
    let fastest = phy.iter().copied().fold(0.0, f64::max);
    let mut relative = Vec::new();
    for station in 0..phy.len() {
        let equal_airtime = (32.0 * phy[station] / fastest).max(1.0);
        relative.push((mcs[station] as u32, level[station] / equal_airtime));
    }
    relative
}

pub(super) fn judge(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let stable = |case: &str| -> Vec<&Run> {
        let runs = results.runs(case);
        runs.filter(|run| is_stable(run)).collect()
    };
    let (judged, other) = (stable(JUDGED), stable(SAMPLES[1]));
    findings.relate(
        "placements that qualify",
        "",
        Printed::Figure(200.0),
        &Sample::exactly(judged.len() as f64),
        Bar::AtLeast(200.0),
    );
    levels(&mut findings, &judged);
    let goodput = |runs: &[&Run], uniform_mcs: Option<f64>| {
        let is_chosen = |run: &&Run| {
            let mcs = run.figures.get("mcs").cloned().unwrap_or_default();
            uniform_mcs.is_none_or(|uniform| mcs.iter().all(|&mcs| mcs == uniform))
        };
        let chosen = runs.iter().copied().filter(is_chosen);
        let goodputs = chosen.filter_map(|run| Some(run.summary.as_ref()?.totals.goodput_mbps));
        goodputs.collect::<Vec<f64>>()
    };
    let greatest = |runs: &[&Run]| {
        let goodputs = goodput(runs, None).into_iter();
        Sample::exactly(goodputs.fold(f64::NAN, f64::max))
    };
    let with_packets = "Minstrel sampling single packets, as in Linux";
    findings.relate(
        "greatest goodput",
        "Mbit/s",
        Printed::Figure(307.0),
        &greatest(&judged),
        Bar::AtMost(307.0),
    );
    findings.relate(
        "goodput with MCS 9 everywhere",
        "Mbit/s",
        Printed::Figure(300.0),
        &Sample::of(goodput(&judged, Some(9.0))),
        Bar::near(300.0, 0.03),
    );
    findings.variant(with_packets, &Sample::of(goodput(&other, Some(9.0))));
    findings.relate(
        "least goodput",
        "Mbit/s",
        Printed::Figure(150.0),
        &Sample::exactly(goodput(&judged, None).into_iter().fold(f64::NAN, f64::min)),
        Bar::near(150.0, 0.1),
    );
    let losses = |runs: &[&Run]| {
        let totals = runs
            .iter()
            .filter_map(|run| Some(run.summary.as_ref()?.totals));
        Sample::of(
            totals
                .map(|totals| 100.0 * totals.dropped as f64 / totals.sent as f64)
                .collect(),
        )
    };
    findings.relate(
        "packets lost",
        "%",
        Printed::Words("negligible"),
        &losses(&judged),
        Bar::AtMost(1.0),
    );
    findings.variant(with_packets, &losses(&other));
    findings
}

/// The levels of each group of stations with the same MCS.
fn levels(findings: &mut Findings, runs: &[&Run]) {
    let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for run in runs {
        let mut of_run: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (mcs, relative) in relative_levels(run) {
            of_run.entry(mcs).or_default().push(relative);
        }
        // Stations of one placement are not independent: they count as one.
        for (mcs, values) in of_run {
            groups.entry(mcs).or_default().push(mean(&values));
        }
    }
    for (mcs, values) in groups {
        // Single placements tell nothing of a group.
        if values.len() > 1 {
            findings.ratio(
                format!("MCS {mcs}: level over that of equal airtime"),
                Printed::Words("perfectly match the analytical values"),
                &Sample::of(values),
                Bar::About(1.0, 0.1),
            );
        }
    }
}
