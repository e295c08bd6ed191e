//! Bars: what must hold of the rows of one cell and load.

use super::{Arm, Load, Row};
use serde::{Serialize, Serializer};

/// Whether a bar is met in a cell under a load.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// The cell.
    pub cell: String,
    /// The load.
    #[serde(serialize_with = "as_word")]
    pub load: Load,
    /// What must hold.
    pub bar: &'static str,
    /// Whether it does.
    pub outcome: Outcome,
    /// The figures that decide.
    pub figures: String,
}

fn as_word<S: Serializer>(value: &Load, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Whether a bar is met.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is.
    Holds,
    /// It is not.
    Missed,
    /// It does not apply here; the figures say why.
    NotApplicable,
}

impl Outcome {
    const fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Missed }
    }
}

/// Names of the bars.
const PARETO: &str = "no published law beats the nearest setting of ours in utility and delay";
const GOODPUT: &str = "default: goodput at least 85 % of the airtime AP's";
const DELAY: &str = "default: p95 ping at most half of the airtime AP's";
const CLOSED: &str = "default: goodput at most 5 % below the closed AP's";
const SHORT: &str = "default, up to ten stations: p95 ping at most 25 ms";
const LATENCY: &str = "latency = 10 ms: p95 of the wait 5 to 11 ms";

/// A published law beats a setting of ours only by more than this much utility …
const UTILITY_MARGIN: f64 = 0.02;
/// … and by more than this share of the p95 ping.
const DELAY_MARGIN: f64 = 0.05;
/// Target of the arm [`Arm::Latency`], ms, and the shares of it between which the wait must be.
const LATENCY_MS: f64 = 10.0;
const LATENCY_SHARES: (f64, f64) = (0.5, 1.1);

/// The bars that `rows`, those of one cell and load, allow to check.
#[must_use]
pub fn judge(rows: &[Row]) -> Vec<Verdict> {
    let Some(first) = rows.first() else {
        return Vec::new();
    };
    let of = |arm: Arm| rows.iter().find(|row| row.arm == arm);
    let mut verdicts = Vec::new();
    let mut add = |bar: &'static str, outcome: Outcome, figures: String| {
        verdicts.push(Verdict {
            cell: first.cell.clone(),
            load: first.load,
            bar,
            outcome,
            figures,
        });
    };
    if let Some((outcome, figures)) = pareto(rows) {
        add(PARETO, outcome, figures);
    }
    if let (Some(ours), Some(airtime)) = (of(Arm::Default), of(Arm::Airtime)) {
        let share = ours.ping_p95_ms / airtime.ping_p95_ms;
        let figures = format!(
            "{:.1} of {:.1} ms: {:.0} %",
            ours.ping_p95_ms,
            airtime.ping_p95_ms,
            100.0 * share
        );
        add(DELAY, Outcome::of(share <= 0.5), figures);
        if ours.load == Load::Udp {
            let outcome = if ours.stations <= 10 {
                Outcome::of(ours.ping_p95_ms <= 25.0)
            } else {
                Outcome::NotApplicable
            };
            let figures = format!("{:.1} ms, {} stations", ours.ping_p95_ms, ours.stations);
            add(SHORT, outcome, figures);
        } else {
            let (outcome, figures) = goodput(ours, airtime, 0.85);
            add(GOODPUT, outcome, figures);
        }
    }
    if let (Some(ours), Some(closed)) = (of(Arm::Default), of(Arm::Closed))
        && ours.load != Load::Udp
    {
        let (outcome, figures) = goodput(ours, closed, 0.95);
        add(CLOSED, outcome, figures);
    }
    if let Some(latency) = of(Arm::Latency) {
        let (outcome, figures) = wait(latency, rows);
        add(LATENCY, outcome, figures);
    }
    verdicts
}

/// Whether `ours` has at least `share` of the goodput of `other`.
fn goodput(ours: &Row, other: &Row, share: f64) -> (Outcome, String) {
    let measured = ours.goodput_mbps / other.goodput_mbps;
    let figures = format!(
        "{:.1} of {:.1} Mbit/s: {:.0} %",
        ours.goodput_mbps,
        other.goodput_mbps,
        100.0 * measured
    );
    (Outcome::of(measured >= share), figures)
}

/// Whether no published law beats the setting of ours that is nearest to it. `None` without both.
fn pareto(rows: &[Row]) -> Option<(Outcome, String)> {
    let ours: Vec<&Row> = rows.iter().filter(|row| row.arm.is_ours()).collect();
    let published = rows.iter().filter(|row| row.arm.is_published_law());
    let published: Vec<&Row> = published.collect();
    if ours.is_empty() || published.is_empty() {
        return None;
    }
    let both = || ours.iter().chain(&published);
    // Distances are relative to the range of all points, so that both axes count alike.
    let utility_range = range(both().map(|row| row.utility));
    let delay_range = range(both().map(|row| row.ping_p95_ms.ln()));
    let distance = |a: &Row, b: &Row| {
        let utility = (a.utility - b.utility) / utility_range;
        let delay = (a.ping_p95_ms / b.ping_p95_ms).ln() / delay_range;
        utility.hypot(delay)
    };
    let mut beaten = Vec::new();
    for theirs in &published {
        let nearest = ours
            .iter()
            .min_by(|a, b| distance(a, theirs).total_cmp(&distance(b, theirs)))?;
        let more_utility = theirs.utility > nearest.utility + UTILITY_MARGIN;
        let less_delay = theirs.ping_p95_ms < nearest.ping_p95_ms * (1.0 - DELAY_MARGIN);
        if more_utility && less_delay {
            beaten.push(format!(
                "{} ({:+.3}, {:.1} ms) beats {} ({:+.3}, {:.1} ms)",
                name(theirs),
                theirs.utility,
                theirs.ping_p95_ms,
                name(nearest),
                nearest.utility,
                nearest.ping_p95_ms
            ));
        }
    }
    let figures = if beaten.is_empty() {
        format!("none of {}", published.len())
    } else {
        beaten.join("; ")
    };
    Some((Outcome::of(beaten.is_empty()), figures))
}

/// The arm of a row and its setting.
fn name(row: &Row) -> String {
    format!("{} {}", row.arm, row.setting).trim_end().to_owned()
}

/// Difference of the greatest and the least value; 1 if all are equal.
fn range(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let greatest = values.clone().fold(f64::NAN, f64::max);
    let least = values.fold(f64::NAN, f64::min);
    if greatest > least {
        greatest - least
    } else {
        1.0
    }
}

/// Whether the wait of the arm with a latency is near it, where some setting of ours waits at most
/// that long and another at least that long.
fn wait(latency: &Row, rows: &[Row]) -> (Outcome, String) {
    let (least_ms, most_ms) = (LATENCY_MS * LATENCY_SHARES.0, LATENCY_MS * LATENCY_SHARES.1);
    let measured = latency.wait_p95_ms;
    if (least_ms..=most_ms).contains(&measured) {
        return (Outcome::Holds, format!("{measured:.1} ms"));
    }
    let others = rows
        .iter()
        .filter(|row| row.arm.is_ours() && row.arm != Arm::Latency);
    let waits: Vec<f64> = others.map(|row| row.wait_p95_ms).collect();
    let shortest = waits.iter().copied().fold(f64::NAN, f64::min);
    let longest = waits.iter().copied().fold(f64::NAN, f64::max);
    let figures =
        format!("{measured:.1} ms; other settings of ours: {shortest:.1} to {longest:.1} ms");
    let feasible = shortest <= most_ms && longest >= least_ms;
    // Without other settings nothing shows that it is infeasible.
    let outcome = if feasible || waits.is_empty() {
        Outcome::Missed
    } else {
        Outcome::NotApplicable
    };
    (outcome, figures)
}
