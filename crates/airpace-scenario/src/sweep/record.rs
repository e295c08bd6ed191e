//! What a sweep keeps of a run: rows for the tables of its data set.

use super::Job;
use crate::PROGRAM_VERSION;
use crate::results::SimulationSummary;
use crate::store::table::{Column, Table};
use crate::store::tables;
use crate::warnings::{Warning, WarningName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What came of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, strum::Display, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Status {
    /// It has figures.
    Finished,
    /// Its scenario describes no network that can be run, for example because its seed placed a
    /// station out of reach.
    Refused,
    /// The simulator refused its network or met a defect, or the processes that carried it out died.
    Failed,
}

/// The rows that a run adds to the tables of a data set: a line of the journal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// What tells the run from others.
    pub(super) key: String,
    /// Its row of `runs`.
    pub(super) run: Table,
    /// Its rows of `stations`.
    pub(super) stations: Table,
    /// Its rows of `flows`.
    pub(super) flows: Table,
}

impl RunRecord {
    /// A finished run.
    pub(super) fn finished(job: &Job, summary: &SimulationSummary) -> Self {
        Self {
            key: job.key.clone(),
            run: run_row(job, Status::Finished, "", Some(summary)),
            stations: keyed(tables::stations(&summary.stations), job),
            flows: keyed(tables::flows(&summary.flows), job),
        }
    }

    /// Whether the run has no figures.
    pub(super) fn is_without_figures(&self) -> bool {
        let status = self
            .run
            .column("status")
            .and_then(|column| column.texts().next());
        status != Some("finished")
    }

    /// A run without figures, and why it has none.
    pub(super) fn without_figures(job: &Job, status: Status, error: &str) -> Self {
        Self {
            key: job.key.clone(),
            run: run_row(job, status, error, None),
            stations: keyed(tables::stations(&[]), job),
            flows: keyed(tables::flows(&[]), job),
        }
    }
}

/// `table` with a first column that tells its run from others.
fn keyed(table: Table, job: &Job) -> Table {
    let keys = std::iter::repeat_n(job.key.as_str(), table.rows());
    let mut columns = vec![("run".into(), Column::of_texts(keys))];
    columns.extend(table.columns);
    Table {
        name: table.name,
        columns,
    }
}

/// The run's row of `runs`, without the columns of the settings that the sweep varies.
fn run_row(job: &Job, status: Status, error: &str, summary: Option<&SimulationSummary>) -> Table {
    let mut row = Table::new("runs");
    let mut text = |name: &'static str, text: &str| row.add(name, Column::of_texts([text]));
    text("run", &job.key);
    text("over", &over_text(&job.over));
    text("scenario", &job.scenario_hash);
    text("version", PROGRAM_VERSION);
    text("status", &status.to_string());
    text("error", error);
    // Seeds of more than 63 bits are read back by casting.
    for (name, value) in [("repeat", u64::from(job.repeat)), ("seed", job.seed())] {
        row.add(name, Column::Integer(vec![value as i64]));
    }
    let mut number = |name: &'static str, value: Option<f64>| {
        row.add(name, Column::OptionalFloat(vec![value]));
    };
    let totals = summary.map(|summary| summary.totals);
    let delay = totals.and_then(|totals| totals.delay_ms);
    number("warm_up_s", summary.map(|summary| summary.warm_up_s));
    number("duration_s", summary.map(|summary| summary.duration_s));
    number("goodput_mbps", totals.map(|totals| totals.goodput_mbps));
    number("level", totals.and_then(|totals| totals.level));
    number("delay_mean_ms", delay.map(|delay| delay.mean));
    number("delay_p50_ms", delay.map(|delay| delay.p50));
    number("delay_p95_ms", delay.map(|delay| delay.p95));
    number("delay_p99_ms", delay.map(|delay| delay.p99));
    number("delay_min_ms", delay.map(|delay| delay.min));
    number("airtime_share", totals.map(|totals| totals.airtime_share));
    number(
        "jain_airtime",
        totals.and_then(|totals| totals.jain_airtime),
    );
    number(
        "jain_goodput",
        totals.and_then(|totals| totals.jain_goodput),
    );
    let mut integer = |name: &'static str, count: Option<u64>| {
        row.add(
            name,
            Column::OptionalInteger(vec![count.map(|count| count as i64)]),
        );
    };
    integer("sent", totals.map(|totals| totals.sent));
    integer("received", totals.map(|totals| totals.received));
    integer("dropped", totals.map(|totals| totals.dropped));
    let warnings = summary.map_or(&[][..], |summary| &summary.warnings);
    row.add("warnings", Column::of_texts([names(warnings).as_str()]));
    row
}

/// What the warnings are about, each once, with spaces between them; empty without warnings.
fn names(warnings: &[Warning]) -> String {
    let names: BTreeSet<WarningName> = warnings.iter().map(|warning| warning.name).collect();
    let names: Vec<String> = names.iter().map(WarningName::to_string).collect();
    names.join(" ")
}

/// The values of a point, `key=value`, as a JSON list.
pub(super) fn over_text(over: &[String]) -> String {
    serde_json::to_string(over).expect("texts are representable")
}
