//! Figures 13 and 14: what Algorithm 2 does when rates change.

use crate::reproduction::{
    Bar, Case, Figures, Findings, Printed, Results, Run, Sample, decisions, figure, quantile,
    settled,
};
use airpace_core::control::Law;
use airpace_scenario::run::Finished;
use airpace_sim::step::{self, StepConfig};
use std::time::Duration;

pub(super) const STEP: &str = "After a station falls from 2 streams to 1, all frames carry 64 packets \
     for 2.24 s and packets are lost; Algorithm 2 has settled 3.5 s after the change; our law \
     settles within 2 slots";
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
const SLOT: Duration = Duration::from_millis(500);
/// Levels from here on count as the greatest, 64.
const FULL: f64 = 63.0;
const TARGET: f64 = 32.0;
/// Relative distance from the target within which the level counts as settled.
const BAND: f64 = 0.15;
/// Packets that the access point's queue holds. The paper does not say how many its own holds.
const BUFFERS: [u32; 3] = [250, 1_000, 2_500];
const JUDGED_BUFFER: u32 = BUFFERS[1];
/// Gains besides the paper's, 1.
const OTHER_GAINS: [f64; 2] = [1.5, 2.0];

pub(super) fn step_cases() -> Vec<Case> {
    let published = |name: String| {
        Case::scenario(name, RATE_FALLS, &["proxy.0.law=\"linear-pf\""]).extract(decisions)
    };
    let mut cases = Vec::new();
    for packets in BUFFERS {
        let limit = format!("node.ap.queue.limit=\"{packets} packets\"");
        cases.push(published(buffer_name(packets)).set(limit));
    }
    for gain in OTHER_GAINS {
        cases.push(published(gain_name(gain)).set(format!("proxy.0.gain={gain}")));
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

fn buffer_name(packets: u32) -> String {
    format!("a queue of {packets} packets")
}

fn gain_name(gain: f64) -> String {
    format!("a gain of {gain}")
}

/// The values of the series `name` in the slots that end after the rate has fallen.
fn after_the_fall(run: &Run, name: &str) -> Option<Vec<f64>> {
    let slots = run.figures.get("at_s")?.iter().zip(run.figures.get(name)?);
    let after = slots.filter(|(at, _)| **at > FALLS_S + 1e-6);
    Some(after.map(|(_, &value)| value).collect())
}

/// Slots that the queue may take to fill after the change.
const FILLS_WITHIN: usize = 2;

/// Time from the change until the first run of slots with the greatest level ends; 0 if there is none
/// soon after the change.
fn seconds_at_limit(run: &Run) -> Option<f64> {
    let levels = after_the_fall(run, "level")?;
    let is_full = |&level: &f64| level >= FULL;
    let begins = levels.iter().take(FILLS_WITHIN + 1).position(is_full);
    let slots = begins.map_or(0, |begins| {
        begins
            + levels[begins..]
                .iter()
                .take_while(|&level| is_full(level))
                .count()
    });
    Some(slots as f64 * SLOT.as_secs_f64())
}

/// Time from the change until the level stays near the target.
fn seconds_to_settle(run: &Run) -> Option<f64> {
    let slot = settled(&after_the_fall(run, "level")?, TARGET, BAND)?;
    Some(slot as f64 * SLOT.as_secs_f64())
}

pub(super) fn step(results: &Results) -> Findings {
    let mut findings = Findings::default();
    let judged = buffer_name(JUDGED_BUFFER);
    let mut others: Vec<String> = BUFFERS
        .into_iter()
        .filter(|&packets| packets != JUDGED_BUFFER)
        .map(buffer_name)
        .collect();
    others.extend(OTHER_GAINS.map(gain_name));
    let slot_s = SLOT.as_secs_f64();
    for (what, printed_s, seconds) in [
        (
            "time with full frames after the change",
            AT_LIMIT_S,
            seconds_at_limit as fn(&Run) -> Option<f64>,
        ),
        ("time until it has settled", SETTLES_S, |run| {
            Some(seconds_to_settle(run).unwrap_or(f64::INFINITY))
        }),
    ] {
        let bar = Bar::About(printed_s, slot_s);
        findings.relate(
            format!("Algorithm 2: {what}"),
            "s",
            Printed::Figure(printed_s),
            &results.of_runs(&judged, seconds),
            bar,
        );
        for case in &others {
            findings.variant(case.as_str(), &results.of_runs(case, seconds));
        }
    }
    findings.relate(
        "Algorithm 2: packets lost after the change",
        "",
        Printed::Words("we start observing losses"),
        &results.of_runs(&judged, |run| {
            Some(after_the_fall(run, "lost")?.iter().sum())
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
    findings.note(needed(results, &judged));
    findings
}

/// The least time in which equation 32 can go from the rate before the change to that after it.
fn needed(results: &Results, case: &str) -> String {
    let rate = |from_s: f64, to_s: f64| {
        let rates = results.of_runs(case, |run| {
            let slots = run.figures.get("at_s")?.iter();
            let within = slots.zip(run.figures.get("rate_pps")?);
            let within = within.filter(|(at, _)| (from_s..to_s).contains(*at));
            Some(quantile(
                &within.map(|(_, &rate)| rate).collect::<Vec<_>>(),
                0.5,
            ))
        });
        rates.mean() * PAYLOAD_BITS / 1e6
    };
    let (before, after) = (rate(15.0, FALLS_S), rate(35.0, 40.0));
    let per_slot = 64.0 - TARGET;
    format!(
        "the rate before the change is {} and in the end {} Mbit/s; equation 32 with K0 = 1 takes at \
         most {per_slot} Mbit/s off in a slot, so that this needs at least {} s",
        figure(before),
        figure(after),
        figure(((before - after) / per_slot).ceil() * SLOT.as_secs_f64())
    )
}

const PAYLOAD_BITS: f64 = 8.0 * 1_470.0;

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
