//! Figures 13 and 14: what Algorithm 2 does when rates change.

use crate::reproduction::{
    Bar, Case, Figures, Findings, Printed, Results, Run, Sample, decisions, quantile,
};
use airpace_core::control::Law;
use airpace_scenario::run::Finished;
use airpace_sim::step::{self, StepConfig};
use airpace_units::Time;
use std::time::Duration;

pub(super) const STEP: &str = "After a station falls from 2 streams to 1, Algorithm 2 takes four \
     rounds to a rate that the channel carries; all frames carry 64 packets for 2.24 s and packets \
     are lost; it has settled 3.5 s after the change. The gain 1 has no unit in the paper; four \
     rounds leave 1.45 to 1.94 Mbit/s per packet, and the rest is judged with 1.7. Our law settles \
     within 2 slots";
pub(super) const TRACES: &str = "Two stations whose rates vary: the level of the faster is about 32, \
     the rates are in proportion to the MCS rates, and the delay rises only at changes";

const RATE_FALLS: &str = include_str!("../../../../scenarios/000-f13-streams.toml");
const RATE_TRACES: &str = include_str!("../../../../scenarios/000-f14-traces.toml");

/// Time in the scenario at which the rate falls.
const FALLS_S: f64 = 20.0;
/// The paper's times from the change until levels fall below 64, and from there until the rate has
/// settled.
const AT_LIMIT_S: f64 = 2.24;
const SETTLES_S: f64 = 2.24 + 1.26;
/// Rounds in which the paper's law comes to a rate that the channel carries.
const ROUNDS: f64 = 4.0;
const SLOT: Duration = Duration::from_millis(500);
/// Most packets in a frame.
const FULL: u32 = 64;
/// Relative distance from its new value within which the rate counts as settled.
const BAND: f64 = 0.03;
/// Packets that the access point's queue holds: 400 and 500 by default in the versions of ns-3 of
/// the paper's time, and 1000 here. The paper says nothing of its own.
const BUFFERS: [u32; 3] = [400, 500, 1_000];
const JUDGED_BUFFER: u32 = BUFFERS[1];
/// Mbit/s per packet that the paper's gain of 1 stands for. The paper gives no unit. Full frames
/// are worth 32 gains a round. From the rate at 32 packets and two streams, 523 Mbit/s, to the
/// most that one stream carries, 337 Mbit/s, "takes four rounds" with 1.45 to 1.94; with 1, which
/// is this project's unit, it takes six (see the errata).
const GAINS: [f64; 3] = [1.0, 1.5, 1.9];
const JUDGED_GAIN: f64 = 1.7;

pub(super) fn step_cases() -> Vec<Case> {
    let published = |gain: f64, packets: u32| {
        Case::scenario(
            step_case(gain, packets),
            RATE_FALLS,
            &["proxy.0.law=\"linear-pf\"", "record.frames=true"],
        )
        .set(format!("proxy.0.gain={gain}"))
        .set(format!("node.ap.queue.limit=\"{packets} packets\""))
        .extract(decisions_and_full_frames)
    };
    let mut cases = Vec::new();
    for packets in BUFFERS {
        cases.push(published(JUDGED_GAIN, packets));
    }
    for gain in GAINS {
        cases.push(published(gain, JUDGED_BUFFER));
    }
    cases.push(Case::compute("ours", |trial| {
        let usual = StepConfig::new(Law::Waterfill, step::Case::Halve, SLOT);
        let row = step::step(&StepConfig {
            seed: trial.seed,
            horizon: trial.slots(usual.horizon),
            ..usual
        })?;
        let slots = row.slots.map_or(f64::INFINITY, |slots| slots as f64);
        Ok(Figures::from([("slots".to_owned(), vec![slots])]))
    }));
    cases
}

fn step_case(gain: f64, packets: u32) -> String {
    format!("{gain} Mbit/s per packet, a queue of {packets} packets")
}

/// The decisions, and `full_s`: the time from the change until a frame is not full, once some have
/// been.
fn decisions_and_full_frames(finished: &Finished) -> Figures {
    let mut figures = decisions(finished);
    let frames = finished.outcome.frames.iter().map(|(_, frame)| frame);
    // Radio 0 is the access point.
    let after = frames
        .filter(|frame| frame.from.0 == 0)
        .map(|frame| (frame.start.since(Time::ZERO).as_secs_f64() - FALLS_S, frame))
        .filter(|(after_s, _)| *after_s > 0.0);
    let ends = after
        .skip_while(|(_, frame)| frame.packets < FULL)
        .find(|(_, frame)| frame.packets < FULL);
    let full_s = ends.map_or(f64::INFINITY, |(after_s, _)| after_s);
    figures.insert("full_s".to_owned(), vec![full_s]);
    figures
}

/// Time after the change, and the value of the series `name`, in each round: at the decisions on
/// slots that began after the change.
fn rounds(run: &Run, name: &str) -> Option<Vec<(f64, f64)>> {
    let decisions = run.figures.get("at_s")?.iter().zip(run.figures.get(name)?);
    let after = decisions.map(|(&at_s, &value)| (at_s - FALLS_S, value));
    // Slots do not begin at the change. The decision on the one that it falls into comes first.
    Some(
        after
            .filter(|(after_s, _)| *after_s > 0.99 * SLOT.as_secs_f64())
            .collect(),
    )
}

/// Rounds until the law has allotted a rate that the channel carries with full frames.
fn rounds_to_carried(run: &Run) -> Option<f64> {
    let rates = rounds(run, "rate_pps")?;
    let before = rates.iter().position(|&(_, pps)| pps < CARRIED_PPS)?;
    Some(before as f64 + 1.0)
}

/// Packets per second that one stream carries at MCS 9 in frames of 64: 1540 bytes each on the air
/// at 390 Mbit/s, and 214 µs per frame.
const CARRIED_PPS: f64 = 64.0 / (214e-6 + 64.0 * 8.0 * 1_540.0 / 390e6);

/// Time from the change until the rate stays near its new value, the median of the second half.
fn seconds_to_settle(run: &Run) -> Option<f64> {
    let rates = rounds(run, "rate_pps")?;
    let later: Vec<f64> = rates[rates.len() / 2..]
        .iter()
        .map(|&(_, pps)| pps)
        .collect();
    let settled = quantile(&later, 0.5);
    let is_away = |&(_, pps): &(f64, f64)| (pps / settled - 1.0).abs() > BAND;
    let last_away = rates.iter().rposition(is_away)?;
    rates.get(last_away + 1).map(|&(after_s, _)| after_s)
}

/// A figure of the step that the paper prints.
struct StepFigure {
    what: &'static str,
    unit: &'static str,
    printed: f64,
    tolerance: f64,
    /// What a run shows; `None` if it shows nothing.
    of_run: fn(&Run) -> Option<f64>,
}

pub(super) fn step(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let judged = step_case(JUDGED_GAIN, JUDGED_BUFFER);
    let mut others = Vec::new();
    for packets in BUFFERS {
        if packets != JUDGED_BUFFER {
            others.push(step_case(JUDGED_GAIN, packets));
        }
    }
    others.extend(GAINS.map(|gain| step_case(gain, JUDGED_BUFFER)));
    let figures = [
        StepFigure {
            what: "rounds until the rate is one that the channel carries",
            unit: "",
            printed: ROUNDS,
            tolerance: 0.0,
            of_run: |run| Some(rounds_to_carried(run).unwrap_or(f64::INFINITY)),
        },
        StepFigure {
            what: "time with full frames after the change",
            unit: "s",
            printed: AT_LIMIT_S,
            tolerance: SLOT.as_secs_f64(),
            of_run: |run| run.figures.get("full_s")?.first().copied(),
        },
        StepFigure {
            what: "time until the rate has settled",
            unit: "s",
            printed: SETTLES_S,
            tolerance: SLOT.as_secs_f64(),
            of_run: |run| Some(seconds_to_settle(run).unwrap_or(f64::INFINITY)),
        },
    ];
    for figure in figures {
        findings.relate(
            format!("Algorithm 2: {}", figure.what),
            figure.unit,
            Printed::Figure(figure.printed),
            &results.of_runs(&judged, figure.of_run),
            Bar::About(figure.printed, figure.tolerance),
        );
        for case in &others {
            findings.variant(case.as_str(), &results.of_runs(case, figure.of_run));
        }
    }
    findings.relate(
        "Algorithm 2: packets lost after the change",
        "",
        Printed::Words("we start observing losses"),
        &results.of_runs(&judged, |run| {
            Some(rounds(run, "lost")?.iter().map(|&(_, lost)| lost).sum())
        }),
        Bar::AtLeast(1.0),
    );
    findings.relate(
        "ours: slots until it has settled",
        "",
        Printed::Ours,
        &results.figure("ours", "slots"),
        Bar::AtMost(2.0),
    );
    findings.note(format!(
        "the paper's gain of 1 has no unit; {JUDGED_GAIN} Mbit/s per packet is from its four rounds, so \
         that these are no evidence; both times are"
    ));
    findings
}

pub(super) fn trace_cases() -> Vec<Case> {
    vec![Case::scenario("traces", RATE_TRACES, &[]).extract(traces)]
}

/// Slots after a change in which level and delay may be elsewhere.
const TRANSIENT: usize = 5;

/// What happened per slot, for two stations `0` and `1`: `rate@`, `phy@`, `level@` and `delay_ms@`;
/// `calm` is 1 in slots without a change of rates in them or shortly before, else 0.
fn traces(finished: &Finished) -> Figures {
    let outcome = &finished.outcome;
    let mut figures = Figures::new();
    let Some(decisions) = outcome.decisions.first() else {
        return figures;
    };
    let stations: Vec<usize> = outcome
        .links
        .iter()
        .enumerate()
        .filter(|(_, link)| link.from.0 == 0 && link.counts.frames > 0)
        .map(|(index, _)| index)
        .collect();
    let (mut before, mut since_change) = (Vec::new(), TRANSIENT);
    for slot in &outcome.slots {
        let mut phy = Vec::new();
        for &link in &stations {
            let counts = &slot.links[link].counts;
            phy.push(counts.frames as f64 / counts.inverse_rate_sum);
        }
        let is_same = |(a, b): (&f64, &f64)| (a / b - 1.0).abs() < 0.01;
        let unchanged = before.len() == phy.len() && before.iter().zip(&phy).all(is_same);
        since_change = if unchanged { since_change + 1 } else { 0 };
        before.clone_from(&phy);
        if slot.end.since(airpace_units::Time::ZERO) < finished.resolved.world.warm_up {
            continue;
        }
        for (number, (&link, phy)) in stations.iter().zip(&phy).enumerate() {
            let to = outcome.links[link].to;
            let decided = decisions
                .iter()
                .rfind(|decision| decision.at <= slot.end && decision.station == to);
            let node = &slot.nodes[to.0 as usize];
            let delay_ms = 1e3 * node.delay_sum.as_secs_f64() / f64::from(node.received);
            for (name, value) in [
                ("phy", *phy),
                ("rate", decided.and_then(|d| d.rate_pps).unwrap_or(f64::NAN)),
                ("level", slot.links[link].counts.level().unwrap_or(f64::NAN)),
                ("delay_ms", delay_ms),
            ] {
                let list = figures.entry(format!("{name}@{number}")).or_default();
                list.push(value);
            }
        }
        let calm = f64::from(u8::from(since_change >= TRANSIENT));
        figures.entry("calm".to_owned()).or_default().push(calm);
    }
    figures
}

/// The values of a series in the slots that are calm, or in the others.
fn select<'r>(run: &'r Run, name: &str, calm: bool) -> Option<Vec<&'r f64>> {
    let slots = run.figures.get(name)?.iter().zip(run.figures.get("calm")?);
    let chosen = slots.filter(|(_, is_calm)| (**is_calm > 0.5) == calm);
    Some(chosen.map(|(value, _)| value).collect())
}

/// The level of the station that has the higher PHY rate in each calm slot, on average.
fn level_of_faster(run: &Run) -> Option<f64> {
    let series = |name: &str| select(run, name, true);
    let (phy, other_phy) = (series("phy@0")?, series("phy@1")?);
    let (level, other_level) = (series("level@0")?, series("level@1")?);
    let mut levels = Vec::new();
    for slot in 0..phy.len() {
        levels.push(if phy[slot] >= other_phy[slot] {
            *level[slot]
        } else {
            *other_level[slot]
        });
    }
    Some(levels.iter().sum::<f64>() / levels.len() as f64)
}

/// The largest distance of the ratio of rates from the ratio of PHY rates in calm slots, per cent.
fn disproportion(run: &Run) -> Option<f64> {
    let series = |name: &str| select(run, name, true);
    let (phy, other_phy) = (series("phy@0")?, series("phy@1")?);
    let (rate, other_rate) = (series("rate@0")?, series("rate@1")?);
    let mut greatest = 0.0_f64;
    for slot in 0..phy.len() {
        let ratio = (rate[slot] / other_rate[slot]) / (phy[slot] / other_phy[slot]);
        greatest = greatest.max(100.0 * (ratio - 1.0).abs());
    }
    Some(greatest)
}

/// The largest mean delay of a slot, of both stations.
fn largest_delay(run: &Run, calm: bool) -> Option<f64> {
    let mut greatest = f64::NAN;
    for name in ["delay_ms@0", "delay_ms@1"] {
        for delay in select(run, name, calm)? {
            greatest = greatest.max(*delay);
        }
    }
    Some(greatest)
}

pub(super) fn follow_traces(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let of_runs = |value: fn(&Run) -> Option<f64>| results.of_runs("traces", value);
    findings.relate(
        "between changes: level of the faster station",
        "",
        Printed::Figure(32.0),
        &of_runs(level_of_faster),
        Bar::About(32.0, 3.0),
    );
    findings.relate(
        "between changes: greatest distance of the rates from proportion to the MCS rates",
        "%",
        Printed::Words("roughly proportional"),
        &of_runs(disproportion),
        Bar::AtMost(10.0),
    );
    let median: Sample = of_runs(|run| {
        let delays = run.figures.get("delay_ms@0")?.iter();
        let both: Vec<f64> = delays
            .chain(run.figures.get("delay_ms@1")?)
            .copied()
            .collect();
        Some(quantile(&both, 0.5))
    });
    let calm = of_runs(|run| largest_delay(run, true));
    findings.ratio(
        "between changes: largest delay of a slot over the median",
        Printed::Words("regulated at a low value"),
        &(&calm / &median),
        Bar::AtMost(2.0),
    );
    let at_changes = of_runs(|run| largest_delay(run, false));
    findings.ratio(
        "at changes: largest delay of a slot over the largest between them",
        Printed::Words("a short spike when the channel changes"),
        &(&at_changes / &calm),
        Bar::Above(1.0),
    );
    findings
}
