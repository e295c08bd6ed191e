//! The tables of a sweep, joined by the column `run`: what a sweep leaves.

use super::record::{RunRecord, over_text};
use super::{Job, PointRun};
use crate::store::table::{Column, DifferentColumns, Table};
use std::collections::{BTreeMap, BTreeSet};

/// The runs of a sweep as tables.
///
/// `runs` has a row per run, also for those without figures, with a column for each setting that
/// the sweep varies; `stations` and `flows` have a row per station and flow of the finished ones.
/// The column `run` of all three tells the runs apart.
#[derive(Clone, PartialEq, Debug)]
pub struct Dataset {
    /// A row per run.
    pub runs: Table,
    /// A row per run and station.
    pub stations: Table,
    /// A row per run and flow.
    pub flows: Table,
}

impl Default for Dataset {
    fn default() -> Self {
        Self {
            runs: Table::new("runs"),
            stations: Table::new("stations"),
            flows: Table::new("flows"),
        }
    }
}

/// The columns of `runs` that are not settings.
const RUN_COLUMNS: usize = 24;

impl Dataset {
    /// The keys of its runs, in the order of their rows.
    pub(super) fn keys(&self) -> Vec<String> {
        let texts = self.runs.column("run").into_iter().flat_map(Column::texts);
        texts.map(str::to_owned).collect()
    }

    /// This data set, in which `records` replace and add runs.
    pub(super) fn with<'r>(
        mut self,
        records: impl IntoIterator<Item = &'r RunRecord>,
    ) -> Result<Self, DifferentColumns> {
        // Settings get their columns anew, because they may be others than before.
        self.runs.columns.truncate(RUN_COLUMNS);
        let records: BTreeMap<&str, &RunRecord> = (records
            .into_iter()
            .map(|record| (record.key.as_str(), record)))
        .collect();
        let kept: BTreeSet<String> = (self
            .keys()
            .into_iter()
            .filter(|key| !records.contains_key(key.as_str())))
        .collect();
        let merge = |name, old: &Table, new: fn(&RunRecord) -> &Table| {
            let old = rows_of(old, |key| kept.contains(key));
            let mut parts = vec![&old];
            parts.extend(records.values().map(|record| new(record)));
            // A table that was never filled has no columns.
            parts.retain(|table| !table.columns.is_empty());
            Table::stack(name, &parts)
        };
        Ok(Self {
            runs: merge("runs", &self.runs, |record| &record.run)?,
            stations: merge("stations", &self.stations, |record| &record.stations)?,
            flows: merge("flows", &self.flows, |record| &record.flows)?,
        })
    }

    /// The same runs in the order of `jobs`, then those of other sweeps by their keys; with the
    /// point and repetition that `jobs` give them and a column per setting.
    ///
    /// The order in which the runs were finished does not show.
    pub(super) fn arranged(&self, jobs: &[Job]) -> Self {
        let keys = self.keys();
        let mut rank: BTreeMap<&str, usize> = BTreeMap::new();
        for (idx, job) in jobs.iter().enumerate() {
            rank.entry(&job.key).or_insert(idx);
        }
        let place = |key: &str| rank.get(key).copied().unwrap_or(usize::MAX);
        let arranged = |table: &Table| {
            let keys: Vec<&str> = table
                .column("run")
                .into_iter()
                .flat_map(Column::texts)
                .collect();
            let mut rows: Vec<usize> = (0..keys.len()).collect();
            // Sorting is stable: rows of one run stay in their order.
            rows.sort_by_key(|&row| (place(keys[row]), keys[row]));
            table.pick(&rows)
        };
        let mut runs = arranged(&self.runs);
        runs.columns.truncate(RUN_COLUMNS);
        if !keys.is_empty() {
            point_columns(&mut runs, jobs, &rank);
        }
        Self {
            runs,
            stations: arranged(&self.stations),
            flows: arranged(&self.flows),
        }
    }

    /// The runs of `jobs` that are finished and have figures, in the order of the jobs.
    pub(super) fn finished<'a>(&'a self, jobs: &'a [Job]) -> Vec<PointRun<'a>> {
        let keys = self.keys();
        let row_of: BTreeMap<&str, usize> = keys
            .iter()
            .enumerate()
            .map(|(row, key)| (key.as_str(), row))
            .collect();
        let mut finished = Vec::new();
        for job in jobs {
            if let Some(&row) = row_of.get(job.key.as_str())
                && self.error(row).is_none()
            {
                finished.push(PointRun {
                    over: &job.over,
                    runs: &self.runs,
                    row,
                });
            }
        }
        finished
    }

    /// Removes rows of runs that `runs` does not have: of those that a crash kept out of it.
    #[cfg(feature = "parquet")]
    pub(super) fn drop_strays(&mut self) {
        let keys: BTreeSet<String> = self.keys().into_iter().collect();
        self.stations = rows_of(&self.stations, |key| keys.contains(key));
        self.flows = rows_of(&self.flows, |key| keys.contains(key));
    }

    /// Why the run in this row has no figures; `None` if it has.
    pub(super) fn error(&self, row: usize) -> Option<&str> {
        let text = |name| self.runs.column(name)?.texts().nth(row);
        (text("status") != Some("finished")).then(|| text("error").unwrap_or_default())
    }
}

/// The rows of the runs for which `is_wanted`.
fn rows_of(table: &Table, is_wanted: impl Fn(&str) -> bool) -> Table {
    let keys = table.column("run").into_iter().flat_map(Column::texts);
    let rows: Vec<usize> = keys
        .enumerate()
        .filter(|(_, key)| is_wanted(key))
        .map(|(row, _)| row)
        .collect();
    table.pick(&rows)
}

/// Gives each run the point and repetition of its job, and adds a column per setting: of numbers if
/// all its values are numbers, else of texts. Runs of other sweeps may have no value there.
fn point_columns(runs: &mut Table, jobs: &[Job], rank: &BTreeMap<&str, usize>) {
    let texts_of = |name: &str| -> Vec<String> {
        let texts = runs.column(name).into_iter().flat_map(Column::texts);
        texts.map(str::to_owned).collect()
    };
    let (keys, mut overs) = (texts_of("run"), texts_of("over"));
    let mut repeats: Vec<i64> = match runs.column("repeat") {
        Some(Column::Integer(values)) => values.clone(),
        _ => vec![0; keys.len()],
    };
    for (row, key) in keys.iter().enumerate() {
        if let Some(&idx) = rank.get(key.as_str()) {
            overs[row] = over_text(&jobs[idx].over);
            repeats[row] = i64::from(jobs[idx].repeat);
        }
    }
    let mut settings: Vec<(String, Vec<Option<String>>)> = Vec::new();
    for (row, over) in overs.iter().enumerate() {
        let values: Vec<String> = serde_json::from_str(over).unwrap_or_default();
        for (key, value) in values.iter().filter_map(|value| value.split_once('=')) {
            // The seed has a column of its own.
            if runs.column(key).is_some() {
                continue;
            }
            if !settings.iter().any(|(other, _)| other == key) {
                settings.push((key.to_owned(), vec![None; overs.len()]));
            }
            for (other, values) in &mut settings {
                if other == key {
                    values[row] = Some(value.to_owned());
                }
            }
        }
    }
    for (name, column) in &mut runs.columns {
        match name.as_ref() {
            "over" => *column = Column::of_texts(&overs),
            "repeat" => *column = Column::Integer(repeats.clone()),
            _ => {}
        }
    }
    for (key, values) in settings {
        runs.add(key, setting_column(&values));
    }
}

fn setting_column(values: &[Option<String>]) -> Column {
    fn all<T: std::str::FromStr>(values: &[Option<String>]) -> Option<Vec<Option<T>>> {
        let parsed = values
            .iter()
            .map(|value| value.as_ref().map(|text| text.parse()).transpose());
        parsed.collect::<Result<_, _>>().ok()
    }
    if let Some(values) = all(values) {
        Column::OptionalInteger(values)
    } else if let Some(values) = all(values) {
        Column::OptionalFloat(values)
    } else {
        // What a TOML text is quoted with is no part of it.
        let bare = |value: &Option<String>| {
            let text = value.clone().unwrap_or_default();
            let inner = text
                .strip_prefix('"')
                .and_then(|text| text.strip_suffix('"'));
            inner.map(str::to_owned).unwrap_or(text)
        };
        Column::of_texts(values.iter().map(bare))
    }
}
