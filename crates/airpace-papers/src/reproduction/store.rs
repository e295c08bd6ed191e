//! Files with the data behind the rows. A row is written as soon as it is judged, so that it
//! survives whatever ends the program.

use super::Run;
use super::verdicts::{REPRODUCTION_FORMAT, ReproducedRow, Reproduction};
use airpace_scenario::PROGRAM_VERSION;
use airpace_scenario::results::SimulationSummary;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder with the rows that are judged.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    /// Whether runs that are there are used instead of made again.
    resume: bool,
}

/// A row and the runs that it uses, case by case: `<row>.json`.
#[derive(Serialize)]
struct RowFile<'a> {
    format: u32,
    program_version: &'static str,
    row: &'a ReproducedRow,
    cases: BTreeMap<&'a str, Vec<RunFile<'a>>>,
}

#[derive(Serialize)]
struct RunFile<'a> {
    seed: u64,
    /// What was run, see [`Run::settings`].
    settings: &'a str,
    summary: Option<&'a SimulationSummary>,
    figures: &'a BTreeMap<String, Vec<f64>>,
    wall_s: f64,
}

/// What is read of a [`RowFile`].
#[derive(Deserialize)]
struct StoredRow {
    format: u32,
    program_version: String,
    cases: BTreeMap<String, Vec<StoredRun>>,
}

#[derive(Deserialize)]
struct StoredRun {
    seed: u64,
    settings: String,
    summary: Option<SimulationSummary>,
    /// JSON has neither NaN nor infinity: both are `null`.
    figures: BTreeMap<String, Vec<Option<f64>>>,
    wall_s: f64,
}

/// The stored runs of a row, by case.
pub(super) type StoredRuns = BTreeMap<String, Vec<Arc<Run>>>;

impl Store {
    /// A store in `folder`, which is created if necessary. With `resume`, runs that a program of
    /// this version has left there with the same settings and seed are used instead of made again.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn new(folder: &Path, resume: bool) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        Ok(Self {
            folder: folder.to_path_buf(),
            resume,
        })
    }

    /// The runs that are there of the row `id`; none unless this store resumes.
    ///
    /// # Errors
    /// If the row's file cannot be read or is not a row.
    pub(super) fn runs(&self, id: &str) -> Result<StoredRuns> {
        let path = self.path(&file_name(id));
        if !self.resume || !path.exists() {
            return Ok(StoredRuns::new());
        }
        let context = || {
            format!(
                "{} cannot be resumed from: use another folder, or do not resume",
                path.display()
            )
        };
        let text = fs::read(&path).with_context(context)?;
        let row: StoredRow = serde_json::from_slice(&text).with_context(context)?;
        if row.format != REPRODUCTION_FORMAT || row.program_version != PROGRAM_VERSION {
            return Ok(StoredRuns::new());
        }
        let mut cases = StoredRuns::new();
        for (case, runs) in row.cases {
            let runs = runs.into_iter().map(|run| Arc::new(run.into()));
            cases.insert(case, runs.collect());
        }
        Ok(cases)
    }

    /// Writes a row with its runs.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn put(&self, row: &ReproducedRow, runs: &StoredRuns) -> Result<()> {
        let mut cases = BTreeMap::new();
        for (name, runs) in runs {
            let files = runs.iter().map(|run| RunFile::of(run)).collect();
            cases.insert(name.as_str(), files);
        }
        let file = RowFile {
            format: REPRODUCTION_FORMAT,
            program_version: PROGRAM_VERSION,
            row,
            cases,
        };
        self.write(&file_name(&row.id), &file)
    }

    /// Writes `reproduction.json`, the rows without their runs.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put_all(&self, reproduction: &Reproduction) -> Result<()> {
        self.write("reproduction", reproduction)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// Writes a file under another name and renames it, so that no reader sees half of it.
    fn write(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let path = self.path(name);
        let beside = self.folder.join(format!(".{name}.json.new"));
        let text = serde_json::to_vec_pretty(value).context("encoding as JSON")?;
        fs::write(&beside, text)
            .and_then(|()| fs::rename(&beside, &path))
            .with_context(|| format!("writing {}", path.display()))
    }
}

/// A slash, as in `003-F2/3`, would name a folder.
fn file_name(id: &str) -> String {
    id.replace('/', "-")
}

impl<'a> RunFile<'a> {
    fn of(run: &'a Run) -> Self {
        Self {
            seed: run.seed,
            settings: &run.settings,
            summary: run.summary.as_ref(),
            figures: &run.figures,
            wall_s: run.wall_s,
        }
    }
}

impl From<StoredRun> for Run {
    fn from(stored: StoredRun) -> Self {
        let mut figures = BTreeMap::new();
        for (name, values) in stored.figures {
            let values = values.into_iter().map(|value| value.unwrap_or(f64::NAN));
            figures.insert(name, values.collect());
        }
        Self {
            seed: stored.seed,
            settings: stored.settings,
            summary: stored.summary,
            figures,
            wall_s: stored.wall_s,
        }
    }
}
