//! The bars of the comparison among neighbours.

use super::{Layout, NeighboursRun};
use crate::ns3::report::Row;

/// Greatest difference of a total.
const TOTAL_BAR: f64 = 0.10;
/// Greatest difference of a station, and of one that is hidden and sends no requests.
const STATION_BAR: f64 = 0.10;
const HIDDEN_STATION_BAR: f64 = 0.15;
/// A station with less than this share of the best one's goodput starves.
const STARVING: f64 = 0.1;

const CHANCE: &str = "which of the two equal stations gets more is chance: in ns-3 they differ by more \
     than the bar";
const STARVED: &str = "what a starving station gets is chance";

/// The rows of the runs of one setting with several seeds; `ours` are our means.
pub(super) fn rows(runs: &[&NeighboursRun], ours: &[f64]) -> Vec<Row> {
    let run = runs[0];
    let theirs: Vec<Vec<f64>> = runs.iter().map(|run| run.goodput_mbps.clone()).collect();
    let means = super::mean(&theirs);
    let row = |which: &str, theirs: f64, ours: f64, bar: f64, explained: Option<&'static str>| {
        Row::new(
            &run.family,
            format!("{}{which}", run.name),
            "goodput_mbps",
            theirs,
            ours,
            explained.is_none().then_some(bar),
            explained,
        )
    };
    let total = row("", means.iter().sum(), ours.iter().sum(), TOTAL_BAR, None);
    let mut rows = vec![total];
    let bar = if run.layout == Layout::Uplink && !run.requests {
        HIDDEN_STATION_BAR
    } else {
        STATION_BAR
    };
    let starving = starving(&means);
    let is_chance = run.is_symmetric() && spread(&theirs) > bar;
    for (station, (&mean, &ours)) in means.iter().zip(ours).enumerate() {
        let explained = if starving.contains(&station) {
            Some(STARVED)
        } else if is_chance {
            Some(CHANCE)
        } else {
            None
        };
        rows.push(row(
            &format!(": station {station}"),
            mean,
            ours,
            bar,
            explained,
        ));
    }
    rows
}

/// How far apart the results of equal stations are over all seeds, relative to the mean.
fn spread(runs: &[Vec<f64>]) -> f64 {
    let results = || runs.iter().flatten().copied();
    let (most, least) = (
        results().fold(0.0, f64::max),
        results().fold(f64::INFINITY, f64::min),
    );
    2.0 * (most - least) / (most + least)
}

impl NeighboursRun {
    /// Whether the layout is its own mirror image, so that its two stations are equal.
    fn is_symmetric(&self) -> bool {
        match self.layout {
            Layout::Two { .. } => self.powers_dbm[0] == self.powers_dbm[1],
            Layout::Uplink => true,
            Layout::Three => false,
        }
    }
}

/// The stations of a setting that starve, by number: those with less than a tenth of the goodput
/// of the best.
#[must_use]
pub fn starving(goodput_mbps: &[f64]) -> Vec<usize> {
    let best = goodput_mbps.iter().copied().fold(0.0, f64::max);
    (0..goodput_mbps.len())
        .filter(|&station| goodput_mbps[station] < STARVING * best)
        .collect()
}
