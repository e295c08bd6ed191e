//! The level that receive timestamps tell, against the access point's own records, in virtual time.
//!
//! Cells and receivers are those of [`airpace_sim::timestamps`]: none of the receivers by which the
//! classifier is judged was in its training.

use crate::tool::Stop;
use airpace_core::meter::classifier::{GAP_FEATURES, Model, WINDOW_FEATURES};
use airpace_sim::timestamps::{CellPlan, TimestampRow, held_out, judge, simulate, train, training};
use airpace_sim::world::WorldError;
use serde::Serialize;
use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// Bar for the level: largest relative error of a row that is called usable.
pub const LEVEL_BAR: f64 = 0.10;

/// True levels to which the bar applies, packets per frame.
pub const JUDGED_LEVELS: RangeInclusive<f64> = 2.0..=48.0;

/// Bar for the share of rows that are usable: saying "unusable" must not be the way to be right.
pub const USABLE_BAR: f64 = 0.75;

/// What the meter says about one station.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClassifierRow {
    /// The receiver.
    pub receiver: &'static str,
    /// Stations of the cell.
    pub stations: u32,
    /// Index of the station.
    pub station: u32,
    /// Packets per frame by the access point's records, over the usable slots.
    pub true_level: f64,
    /// Packets per frame by the classifier, over the same slots; `null` without any.
    pub level: Option<f64>,
    /// Whether at least half of the slots were usable.
    pub usable: bool,
    /// Relative error of the level; `null` unless it is usable.
    pub error: Option<f64>,
    /// Relative error of the level by a fixed gap of 65 µs, over all slots.
    pub fixed_gap_error: f64,
}

impl From<TimestampRow> for ClassifierRow {
    fn from(row: TimestampRow) -> Self {
        Self {
            receiver: row.condition,
            stations: row.stations,
            station: row.station,
            true_level: row.true_level,
            level: row.level,
            usable: row.usable,
            error: row.error(),
            fixed_gap_error: row.fixed_gap_error(),
        }
    }
}

/// The rows of one receiver.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ReceiverSummary {
    /// The receiver.
    pub receiver: &'static str,
    /// Rows at levels to which the bars apply.
    pub rows: usize,
    /// Usable ones among them.
    pub usable: usize,
    /// Mean and largest absolute error of these.
    pub mean_error: f64,
    /// See `mean_error`.
    pub worst_error: f64,
    /// Usable rows beyond [`LEVEL_BAR`].
    pub beyond: usize,
    /// Rows for which the fixed gap errs by more than that.
    pub fixed_gap_beyond: usize,
}

/// The result of the benchmark.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClassifierReport {
    /// Seed of every draw.
    pub seed: u64,
    /// Every row.
    pub rows: Vec<ClassifierRow>,
    /// Per receiver.
    pub receivers: Vec<ReceiverSummary>,
    /// Whether no usable row at the judged levels is beyond [`LEVEL_BAR`], and at least
    /// [`USABLE_BAR`] of them are usable.
    pub holds: bool,
}

/// Judges the classifier. `progress` is told how many cells of how many have been judged. If `stop`
/// is raised, the report has the cells so far.
///
/// # Errors
/// A cell cannot be simulated.
pub fn measure(
    seed: u64,
    quick: bool,
    stop: &Stop,
    progress: &dyn Fn(usize, usize),
) -> Result<ClassifierReport, WorldError> {
    let plan = CellPlan::judging(seed, quick);
    let total = plan.cells().count();
    let mut rows = Vec::new();
    for (done, (stations, level)) in plan.cells().enumerate() {
        progress(done, total);
        if stop.is_raised() {
            break;
        }
        for cell in simulate(stations, level, plan.duration, plan.seed)? {
            for condition in held_out() {
                rows.push(ClassifierRow::from(judge(&cell, &condition, seed)));
            }
        }
    }
    Ok(ClassifierReport::new(seed, rows))
}

impl ClassifierReport {
    fn new(seed: u64, rows: Vec<ClassifierRow>) -> Self {
        let receivers: Vec<_> = held_out()
            .iter()
            .map(|condition| summary(condition.name, &rows))
            .collect();
        let sum = |of: fn(&ReceiverSummary) -> usize| receivers.iter().map(of).sum::<usize>();
        let (judged, usable) = (sum(|r| r.rows), sum(|r| r.usable));
        let is_useful = usable as f64 >= USABLE_BAR * judged as f64;
        Self {
            seed,
            holds: judged > 0 && is_useful && sum(|r| r.beyond) == 0,
            rows,
            receivers,
        }
    }
}

fn summary(receiver: &'static str, rows: &[ClassifierRow]) -> ReceiverSummary {
    let rows: Vec<_> = rows
        .iter()
        .filter(|row| row.receiver == receiver && JUDGED_LEVELS.contains(&row.true_level))
        .collect();
    let errors: Vec<f64> = rows
        .iter()
        .filter_map(|row| row.error.map(f64::abs))
        .collect();
    ReceiverSummary {
        receiver,
        rows: rows.len(),
        usable: errors.len(),
        mean_error: errors.iter().sum::<f64>() / errors.len().max(1) as f64,
        worst_error: errors.iter().copied().fold(0.0, f64::max),
        beyond: errors.iter().filter(|&&error| error > LEVEL_BAR).count(),
        fixed_gap_beyond: rows
            .iter()
            .filter(|row| row.fixed_gap_error.abs() > LEVEL_BAR)
            .count(),
    }
}

/// Trains the classifier anew and returns the source of its weights; `None` if `stop` was raised.
///
/// # Errors
/// A cell cannot be simulated.
pub fn trained_weights(
    seed: u64,
    stop: &Stop,
    progress: &dyn Fn(usize, usize),
) -> Result<Option<String>, WorldError> {
    let plan = CellPlan::training(seed);
    let total = plan.cells().count();
    let mut cells = Vec::new();
    for (done, (stations, level)) in plan.cells().enumerate() {
        progress(done, total);
        if stop.is_raised() {
            return Ok(None);
        }
        cells.extend(simulate(stations, level, plan.duration, plan.seed)?);
    }
    Ok(Some(weights_source(&train(&cells, &training(), seed))))
}

/// The Rust source that holds a model.
fn weights_source(model: &Model) -> String {
    let mut text = String::from(
        "//! Weights of the timestamp classifier, written by `airpace bench classifier --train`.

use super::{GapFeatures, WindowFeatures};
",
    );
    let mut list = |name: &str, kind: &str, names: &[&str], weights: &[f64]| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\npub(super) const {name}: {kind} = [");
        for (weight, feature) in weights.iter().zip(names) {
            let _ = writeln!(text, "    {weight:.4}, // {feature}");
        }
        text.push_str("];\n");
    };
    list("GAP", "GapFeatures", &GAP_FEATURES, &model.gap);
    list("WINDOW", "WindowFeatures", &WINDOW_FEATURES, &model.window);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_holds_only_if_usable_rows_are_right_and_many() {
        let row = |level: f64, usable| {
            ClassifierRow::from(TimestampRow {
                condition: held_out()[0].name,
                stations: 1,
                station: 0,
                true_level: 10.0,
                level: Some(level),
                usable,
                by_fixed_gap: (level, 10.0),
            })
        };
        let holds = |rows: &[ClassifierRow]| ClassifierReport::new(1, rows.to_vec()).holds;
        assert!(holds(&[row(10.5, true), row(9.2, true)]));
        assert!(!holds(&[row(10.5, true), row(11.2, true)]));
        assert!(!holds(&[row(10.5, true), row(11.2, false)]));
        assert!(!holds(&[]));
    }

    #[test]
    fn the_source_of_the_weights_names_every_feature() {
        let source = weights_source(&Model::TRAINED);
        for feature in GAP_FEATURES.iter().chain(&WINDOW_FEATURES) {
            assert!(source.contains(&format!(", // {feature}\n")), "{source}");
        }
    }
}
