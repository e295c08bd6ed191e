//! The data behind the figures, as files.

use super::pool::Made;
use crate::verdicts::ReproducedRow;
use airpace_scenario::results::SimulationSummary;
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A row and the runs that it rests on, case by case: `<row>.json`.
#[derive(Serialize)]
struct RowFile<'a> {
    row: &'a ReproducedRow,
    cases: BTreeMap<&'a str, Vec<RunFile<'a>>>,
}

#[derive(Serialize)]
struct RunFile<'a> {
    seed: u64,
    summary: Option<&'a SimulationSummary>,
    figures: &'a BTreeMap<String, Vec<f64>>,
}

/// Writes `reproduction.json` and one file per row into `folder`, which is made if need be; returns what was written.
///
/// # Errors
/// If the folder or a file cannot be written.
pub fn store(folder: &Path, made: &Made) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let mut files = vec![write(folder, "reproduction", &made.reproduction)?];
    for (row, cases) in made.reproduction.rows.iter().zip(&made.runs) {
        let runs = cases.iter().map(|(name, runs)| {
            (
                name.as_str(),
                runs.iter().map(|run| RunFile::of(run)).collect(),
            )
        });
        files.push(write(
            folder,
            &file_name(&row.id),
            &RowFile {
                row,
                cases: runs.collect(),
            },
        )?);
    }
    Ok(files)
}

impl<'a> RunFile<'a> {
    fn of(run: &'a super::Run) -> Self {
        Self {
            seed: run.seed,
            summary: run.summary.as_ref(),
            figures: &run.figures,
        }
    }
}

/// `003-F2/3` is one file, not a file within a folder.
fn file_name(id: &str) -> String {
    id.replace('/', "-")
}

/// Written beside and put in place whole, so that no reader sees half of it.
fn write(folder: &Path, name: &str, value: &impl Serialize) -> Result<PathBuf> {
    let path = folder.join(format!("{name}.json"));
    let beside = folder.join(format!(".{name}.json.new"));
    let text = serde_json::to_vec_pretty(value).context("writing JSON")?;
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, &path))
        .with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}
