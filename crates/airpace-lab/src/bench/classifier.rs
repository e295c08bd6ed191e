//! The level that receive timestamps tell, against the access point's own records, in virtual time.
//!
//! Cells and receivers are those of [`airpace_sim::timestamps`]: none of the receivers by which the
//! classifier is judged was in its training.

use crate::tool::Stop;
use airpace_core::meter::classifier::{GAP_FEATURES, Model, Tree, WINDOW_FEATURES};
use airpace_sim::timestamps::{
    Cell, CellFrames, TimestampRow, held_out, judge, judged_cells, simulate, train, training,
    training_cells,
};
use airpace_sim::world::WorldError;
use serde::Serialize;
use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// Bar for the level: largest relative error of a row that is called usable.
pub const LEVEL_BAR: f64 = 0.10;

/// True levels to which the bar applies, packets per frame.
pub const JUDGED_LEVELS: RangeInclusive<f64> = 2.0..=48.0;

/// Bar for the share of rows that are called usable and err by more than [`LEVEL_BAR`].
pub const WRONG_BAR: f64 = 0.005;

/// Bar for the share of rows that are usable: saying "unusable" must not be the way to be right.
pub const USABLE_BAR: f64 = 0.75;

/// The family without disturbances, and the share of its rows that must be usable.
pub const PLAIN: (&str, f64) = ("plain", 0.95);

/// What the meter says about one station.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClassifierRow {
    /// What disturbs the receiver's timestamps.
    pub family: &'static str,
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
            family: row.condition.family,
            receiver: row.condition.name,
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

/// The rows of some receivers at the levels to which the bars apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// All of them.
    pub rows: usize,
    /// Usable ones within [`LEVEL_BAR`].
    pub right: usize,
    /// Usable ones beyond it.
    pub wrong: usize,
    /// Those that are called unusable.
    pub unusable: usize,
    /// Those for which the fixed gap is within [`LEVEL_BAR`]. It calls none unusable.
    pub fixed_gap_right: usize,
}

impl Counts {
    fn of<'a>(rows: impl Iterator<Item = &'a ClassifierRow>) -> Self {
        let mut counts = Self::default();
        for row in rows.filter(|row| JUDGED_LEVELS.contains(&row.true_level)) {
            counts.rows += 1;
            match row.error {
                Some(error) if error.abs() <= LEVEL_BAR => counts.right += 1,
                Some(_) => counts.wrong += 1,
                None => counts.unusable += 1,
            }
            counts.fixed_gap_right += usize::from(row.fixed_gap_error.abs() <= LEVEL_BAR);
        }
        counts
    }

    /// A number of these rows as a share of all, 0 to 1; 0 without rows.
    #[must_use]
    pub fn share(&self, part: usize) -> f64 {
        part as f64 / self.rows.max(1) as f64
    }
}

/// The rows of one receiver, or of a family.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ReceiverSummary {
    /// What disturbs the timestamps.
    pub family: &'static str,
    /// The receiver; `null` for the whole family.
    pub receiver: Option<&'static str>,
    /// The rows.
    #[serde(flatten)]
    pub counts: Counts,
}

/// The result of the benchmark.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClassifierReport {
    /// Seed of every draw.
    pub seed: u64,
    /// Every row.
    pub rows: Vec<ClassifierRow>,
    /// Per receiver, and per family after its receivers.
    pub receivers: Vec<ReceiverSummary>,
    /// All rows at the judged levels.
    pub all: Counts,
    /// Whether at most [`WRONG_BAR`] of these are wrong, [`USABLE_BAR`] of them are usable, and of
    /// the [`PLAIN`] ones as many as that says.
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
    let mut rows = Vec::new();
    each_cell(&judged_cells(seed, quick), stop, progress, |cell| {
        for condition in held_out() {
            rows.push(ClassifierRow::from(judge(&cell, &condition, seed)));
        }
    })?;
    Ok(ClassifierReport::new(seed, rows))
}

/// Simulates cells until `stop` is raised, and passes the frames of each station on. Returns whether
/// all were simulated.
fn each_cell(
    cells: &[Cell],
    stop: &Stop,
    progress: &dyn Fn(usize, usize),
    mut take: impl FnMut(CellFrames),
) -> Result<bool, WorldError> {
    for (done, cell) in cells.iter().enumerate() {
        progress(done, cells.len());
        if stop.is_raised() {
            return Ok(false);
        }
        simulate(cell)?.into_iter().for_each(&mut take);
    }
    Ok(true)
}

impl ClassifierReport {
    fn new(seed: u64, rows: Vec<ClassifierRow>) -> Self {
        let all = Counts::of(rows.iter());
        let receivers = summaries(&rows);
        let plain = receivers
            .iter()
            .filter(|summary| summary.family == PLAIN.0 && summary.receiver.is_none())
            .all(|summary| 1.0 - summary.counts.share(summary.counts.unusable) >= PLAIN.1);
        Self {
            seed,
            holds: all.rows > 0
                && plain
                && all.share(all.wrong) <= WRONG_BAR
                && 1.0 - all.share(all.unusable) >= USABLE_BAR,
            all,
            receivers,
            rows,
        }
    }
}

/// Counts of each receiver, and of each family after the last of its receivers.
fn summaries(rows: &[ClassifierRow]) -> Vec<ReceiverSummary> {
    let conditions = held_out();
    let mut summaries = Vec::new();
    for (i, condition) in conditions.iter().enumerate() {
        let family = condition.family;
        let of_receiver = rows.iter().filter(|row| row.receiver == condition.name);
        summaries.push(ReceiverSummary {
            family,
            receiver: Some(condition.name),
            counts: Counts::of(of_receiver),
        });
        if conditions
            .get(i + 1)
            .is_none_or(|next| next.family != family)
        {
            summaries.push(ReceiverSummary {
                family,
                receiver: None,
                counts: Counts::of(rows.iter().filter(|row| row.family == family)),
            });
        }
    }
    summaries
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
    let mut cells = Vec::new();
    let is_complete = each_cell(&training_cells(seed), stop, progress, |cell| {
        cells.push(cell);
    })?;
    if !is_complete {
        return Ok(None);
    }
    Ok(Some(weights_source(
        &train(&cells, &training(), seed),
        seed,
    )))
}

/// The Rust source that holds a model.
fn weights_source(model: &Model, seed: u64) -> String {
    let mut text = format!(
        "//! Trees of the timestamp classifier, written by
//! `airpace bench classifier --seed {seed} --train FILE`.

use super::{{GAP_TREES, Tree, WINDOW_TREES}};
"
    );
    let mut list = |name: &str, names: &[&str], trees: &[Tree]| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n// Features:");
        for (index, feature) in names.iter().enumerate() {
            let _ = writeln!(text, "// {index:2} {feature}");
        }
        let _ = writeln!(text, "#[rustfmt::skip]");
        let _ = writeln!(text, "pub(super) const {name}: [Tree; {name}_TREES] = [");
        for tree in trees {
            let _ = writeln!(text, "    Tree {{");
            let _ = writeln!(text, "        splits: [{}],", splits(tree));
            let _ = writeln!(text, "        leaves: {:?},", tree.leaves);
            let _ = writeln!(text, "    }},");
        }
        text.push_str("];\n");
    };
    list("GAP", &GAP_FEATURES, &model.gap);
    list("WINDOW", &WINDOW_FEATURES, &model.window);
    text
}

fn splits(tree: &Tree) -> String {
    let split = |&(feature, threshold): &(usize, f64)| {
        if threshold.is_finite() {
            format!("({feature}, {threshold:?})")
        } else {
            format!("({feature}, f64::INFINITY)")
        }
    };
    let splits: Vec<_> = tree.splits.iter().map(split).collect();
    splits.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seed of the weights in the tree.
    const SEED: u64 = 1;

    #[test]
    fn a_report_holds_only_if_usable_rows_are_right_and_many() {
        let row = |level: f64, usable| {
            ClassifierRow::from(TimestampRow {
                condition: held_out()[0],
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
        let mut many = vec![row(10.5, true); 199];
        many.push(row(11.2, true));
        assert!(holds(&many), "one of 200 is at the bar");
        many.push(row(11.2, true));
        assert!(!holds(&many));
        // Of the plain receivers more must be usable than of others.
        let mut unsure = vec![row(10.0, true); 9];
        unsure.push(row(10.0, false));
        assert!(!holds(&unsure));
    }

    #[test]
    fn the_trees_in_the_tree_are_those_that_the_command_writes() {
        let stored = include_str!("../../../airpace-core/src/meter/classifier/weights.rs");
        assert_eq!(weights_source(&Model::TRAINED, SEED), stored);
    }

    #[test]
    fn the_source_of_the_weights_names_every_feature() {
        let source = weights_source(&Model::TRAINED, 1);
        for feature in GAP_FEATURES.iter().chain(&WINDOW_FEATURES) {
            assert!(source.contains(&format!(" {feature}\n")), "{source}");
        }
    }
}
