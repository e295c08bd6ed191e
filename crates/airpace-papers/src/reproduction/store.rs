//! Files with the data behind the rows.

use super::runner::Completed;
use super::verdicts::ReproducedRow;
use airpace_scenario::results::SimulationSummary;
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A row and the runs that it uses, case by case: `<row>.json`.
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

/// Writes `reproduction.json` and one file per row into `folder`, which is created if necessary.
/// Returns the paths of the files.
///
/// # Errors
/// If the folder cannot be created or a file cannot be written.
pub fn store(folder: &Path, completed: &Completed) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let mut files = vec![write(folder, "reproduction", &completed.reproduction)?];
    for (row, runs) in completed.reproduction.rows.iter().zip(&completed.runs) {
        let mut cases = BTreeMap::new();
        for (name, runs) in runs {
            cases.insert(
                name.as_str(),
                runs.iter().map(|run| RunFile::of(run)).collect(),
            );
        }
        // A slash, as in `003-F2/3`, would name a folder.
        let name = row.id.replace('/', "-");
        files.push(write(folder, &name, &RowFile { row, cases })?);
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

/// Writes a file under another name and renames it, so that no reader sees half of it.
fn write(folder: &Path, name: &str, value: &impl Serialize) -> Result<PathBuf> {
    let path = folder.join(format!("{name}.json"));
    let beside = folder.join(format!(".{name}.json.new"));
    let text = serde_json::to_vec_pretty(value).context("encoding as JSON")?;
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, &path))
        .with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}
