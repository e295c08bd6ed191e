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

const OFFSET: &str = "the cells do not sense each other and repeat frames of one length, so that \
     they keep the offset between their frames for seconds; which frames a station misses because \
     it is on the other cell's depends on that offset";
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
    let offset = run.keeps_offset().then_some(OFFSET);
    let total = row("", means.iter().sum(), ours.iter().sum(), TOTAL_BAR, offset);
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
        } else if offset.is_none() && is_chance {
            Some(CHANCE)
        } else {
            offset
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
            Layout::Two { .. } | Layout::Uplink => true,
            Layout::Three => false,
        }
    }

    /// Whether the access points do not sense each other, a station detects the frames of the
    /// other cell, and those are too weak to change the length of its own frames.
    fn keeps_offset(&self) -> bool {
        let dbm = |distance_m: f64| 16.0206 - 46.6777 - 10.0 * self.exponent * distance_m.log10();
        let rival_m = match self.layout {
            Layout::Two { between: true } => self.distance_m - self.station_m,
            Layout::Two { between: false } => self.distance_m + self.station_m,
            Layout::Three | Layout::Uplink => return false,
        };
        let signal_db = dbm(self.station_m) - dbm(rival_m);
        dbm(self.distance_m) < -82.0 && dbm(rival_m) >= -82.0 && signal_db > 25.0
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
