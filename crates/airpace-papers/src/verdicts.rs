//! What `airpace reproduce` tells: the rows of the papers' figures and tables, and whether our own runs bear them out.
//!
//! Fields are only ever added within one [`REPRODUCTION_FORMAT`]. Everything but `wall_s` is the same bytes for the same rows, seeds and version.

use serde::{Deserialize, Serialize};

/// Version of the format of [`Reproduction`] and of the files beside it.
pub const REPRODUCTION_FORMAT: u32 = 1;

/// The outcome of a set of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// [`REPRODUCTION_FORMAT`].
    pub format: u32,
    /// Version of airpace.
    pub program_version: String,
    /// First seed.
    pub seed: u64,
    /// Rows that are reproduced.
    pub reproduced: usize,
    /// The rows.
    pub rows: Vec<ReproducedRow>,
    /// Time that all of it took, seconds.
    pub wall_s: f64,
}

/// How figures of a row are had.
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

/// Whether a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowOutcome {
    /// Every relation holds.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// At least one does not, or could not be measured.
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

/// A row: a figure or table of a paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproducedRow {
    /// Paper and figure or table: `004-T2`.
    pub id: String,
    /// Where it stands: `004, Table 2`.
    pub source: String,
    /// How its figures are had.
    pub kind: RowKind,
    /// What the paper says, as far as it is tested.
    pub claim: String,
    /// Whether all of that holds.
    pub outcome: RowOutcome,
    /// What we measured, relation by relation.
    pub measured: String,
    /// The bars of the same relations.
    pub expected: String,
    /// What was missed and why, and where the runs depart from the paper's setting.
    pub note: String,
    /// The relations.
    pub relations: Vec<RelationResult>,
    /// Most seeds of any of its cases: the first and those that follow it.
    pub seeds: usize,
    /// Runs that the row rests on. Rows share runs.
    pub runs: usize,
    /// Time that these runs took on one core, seconds.
    pub wall_s: f64,
}

/// One thing that must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelationResult {
    /// What is measured.
    pub what: String,
    /// Its unit; empty for ratios and indices.
    pub unit: String,
    /// Mean over the seeds; `null` if it could not be measured.
    pub measured: Option<f64>,
    /// Half the 95 % confidence interval of the mean (Student's t); `null` with one seed.
    pub ci95: Option<f64>,
    /// What it must be, in words.
    pub bar: String,
    /// Whether it is.
    pub holds: bool,
}

/// A row that can be reproduced, as `airpace reproduce` without rows lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedRow {
    /// Paper and figure or table.
    pub id: String,
    /// Where it stands.
    pub source: String,
    /// How its figures are had.
    pub kind: RowKind,
    /// What must hold.
    pub claim: String,
    /// Whether it is left out unless it is asked for by its own id.
    pub only_by_id: bool,
}
