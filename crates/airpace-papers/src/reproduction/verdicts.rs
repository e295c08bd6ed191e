//! The output of `airpace reproduce`: the rows, and whether our own runs reproduce them.
//!
//! Within one [`REPRODUCTION_FORMAT`] fields are only added. The same rows, seeds and version of
//! the program give the same bytes, except for `wall_s`.

use serde::{Deserialize, Serialize};

/// Version of the format of [`Reproduction`] and of the files of the rows.
pub const REPRODUCTION_FORMAT: u32 = 1;

/// A set of rows, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// [`REPRODUCTION_FORMAT`].
    pub format: u32,
    /// Version of the program.
    pub program_version: String,
    /// First seed.
    pub seed: u64,
    /// How many of the rows are reproduced.
    pub reproduced: usize,
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

/// Whether a row is reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowOutcome {
    /// Every relation holds.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// At least one relation does not hold or could not be measured.
    #[serde(rename = "not")]
    Not,
}

impl RowOutcome {
    /// The word in tables and files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Not => "not",
        }
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
    /// Whether all of that is reproduced.
    pub outcome: RowOutcome,
    /// The measured figure of each relation, on one line.
    pub measured: String,
    /// The bar of each relation, on one line.
    pub expected: String,
    /// The relations that were missed and why, and where the runs depart from the paper's setting.
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

/// A measured figure and the bar that it must meet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelationResult {
    /// Name of the figure.
    pub what: String,
    /// Its unit; empty for ratios and indices.
    pub unit: String,
    /// Mean over the seeds; `null` if it could not be measured.
    pub measured: Option<f64>,
    /// Half the 95 % confidence interval of the mean (Student's t); `null` with one seed.
    pub ci95: Option<f64>,
    /// The bar, as text.
    pub bar: String,
    /// Whether the figure meets the bar.
    pub holds: bool,
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
