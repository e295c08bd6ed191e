//! The output of `airpace reproduce`: the rows, and whether our own runs reproduce them.
//!
//! Within one [`REPRODUCTION_FORMAT`] fields are only added. The same rows, seeds and version of
//! the program give the same bytes, except for `wall_s`.

use serde::{Deserialize, Serialize};

/// Version of the format of [`Reproduction`] and of the files of the rows. Version 2 has verdicts,
/// printed figures, deviations and variants.
pub const REPRODUCTION_FORMAT: u32 = 2;

/// A set of rows, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// [`REPRODUCTION_FORMAT`].
    pub format: u32,
    /// Version of the program.
    pub program_version: String,
    /// First seed.
    pub seed: u64,
    /// Factor on the time that every run measures.
    pub horizon: f64,
    /// Rows of which every relation holds.
    pub holding: usize,
    /// Rows of which a relation was missed.
    pub missed: usize,
    /// The other rows: more seeds would decide them.
    pub inconclusive: usize,
    /// Whether rows are left out because the program was stopped before their runs were done.
    pub interrupted: bool,
    /// The rows.
    pub rows: Vec<ReproducedRow>,
    /// Wall time of all runs together, seconds.
    pub wall_s: f64,
}

/// How the figures of a row are obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowKind {
    /// From the analytical model.
    Model,
    /// From the packet-level simulator.
    Sim,
    /// From real packets through the emulated access point.
    Live,
}

impl RowKind {
    /// The word in tables and files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Sim => "sim",
            Self::Live => "live",
        }
    }
}

/// Whether what a paper says holds in our own runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole confidence interval meets the bar. Of a row: every relation holds.
    Holds,
    /// The whole interval misses the bar, or nothing could be measured. Of a row: at least one
    /// relation is missed.
    Missed,
    /// The interval crosses the bar, or there is none because there was only one run. Of a row:
    /// no relation is missed, and at least one is inconclusive.
    Inconclusive,
}

impl Verdict {
    /// The word in tables and files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Missed => "missed",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// The verdict on a row whose relations have these verdicts. A row without relations shows
    /// nothing, so it is missed.
    pub(super) fn of_all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let mut all = None;
        for verdict in verdicts {
            all = match (all, verdict) {
                (Some(Self::Missed), _) | (_, Self::Missed) => Some(Self::Missed),
                (Some(Self::Inconclusive), _) | (_, Self::Inconclusive) => Some(Self::Inconclusive),
                _ => Some(Self::Holds),
            };
        }
        all.unwrap_or(Self::Missed)
    }
}

/// A figure or table of a paper, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproducedRow {
    /// Paper and figure or table: `004-T2`.
    pub id: String,
    /// Where the paper has it: `004, Table 2`.
    pub source: String,
    /// How its figures are obtained.
    pub kind: RowKind,
    /// What the paper says, as far as it is tested.
    pub claim: String,
    /// Whether all of that holds.
    pub verdict: Verdict,
    /// The measured figure of each relation, on one line.
    pub measured: String,
    /// The bar of each relation, on one line.
    pub expected: String,
    /// The relations that do not hold, and facts that were computed from the runs.
    pub note: String,
    /// The relations, in order.
    pub relations: Vec<RelationResult>,
    /// The largest number of seeds of any of its cases.
    pub seeds: usize,
    /// Number of runs that the row uses. Rows share runs.
    pub runs: usize,
    /// Wall time of these runs, added up, seconds.
    pub wall_s: f64,
}

/// A measured figure, what the paper has in its place, and the bar that the figure must meet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelationResult {
    /// Name of the figure.
    pub what: String,
    /// Its unit; empty for ratios and indices.
    pub unit: String,
    /// What the paper prints: a figure, a range, or its words.
    pub printed: String,
    /// Mean over the seeds; `null` if it could not be measured.
    pub measured: Option<f64>,
    /// Half the 95 % confidence interval of the mean (Student's t); `null` with one seed and for
    /// figures without chance.
    pub ci95: Option<f64>,
    /// Distance from the printed figure in per cent of it, from the nearer end of a printed range, 0
    /// within it; `null` if the paper prints words or nothing was measured.
    pub deviation_percent: Option<f64>,
    /// The bar, as text.
    pub bar: String,
    /// Whether the figure meets the bar.
    pub verdict: Verdict,
    /// The same figure under other settings.
    pub variants: Vec<VariantResult>,
}

/// The figure of a relation in runs with other settings, which shows what the figure depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantResult {
    /// How the settings differ.
    pub with: String,
    /// Mean over the seeds; `null` if it could not be measured.
    pub measured: Option<f64>,
    /// Half the 95 % confidence interval of the mean.
    pub ci95: Option<f64>,
    /// Whether the figure meets the bar of the relation. It says nothing if nothing was measured;
    /// tables then say so in its place.
    pub verdict: Verdict,
}

/// A row as `airpace reproduce` lists it when no rows are named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedRow {
    /// Paper and figure or table.
    pub id: String,
    /// Where the paper has it.
    pub source: String,
    /// How its figures are obtained.
    pub kind: RowKind,
    /// What the paper says, as far as it is tested.
    pub claim: String,
    /// Whether it is run only if it is named by its own id.
    pub only_by_id: bool,
}
