//! The runs of a sweep on disk, each before it counts as done.
//!
//! A run is first a line of `journal.jsonl`. [`Journal::fold`] puts the runs of all lines into the
//! tables of the data set (`runs.parquet`, `stations.parquet`, `flows.parquet`) and empties the
//! journal. Whenever a sweep is stopped, data set and journal together have every finished run.

use super::dataset::Dataset;
use super::record::RunRecord;
use super::{Job, Outcome};
use crate::results::SweepRun;
use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::slice;

/// The runs of a sweep. The folder is locked for as long as this lives.
#[derive(Debug)]
pub struct Journal {
    #[cfg_attr(
        not(feature = "parquet"),
        expect(dead_code, reason = "only tables need it")
    )]
    folder: PathBuf,
    lines: Lines,
    /// The runs that the data set on disk has.
    dataset: Dataset,
    in_dataset: BTreeSet<String>,
    /// The runs that the journal has.
    records: BTreeMap<String, RunRecord>,
    summaries: Option<Summaries>,
}

/// `runs.jsonl`, and the keys of the runs in it.
#[derive(Debug)]
struct Summaries {
    lines: Lines,
    keys: BTreeSet<String>,
}

impl Journal {
    /// Opens the data set and journal in `folder`, which is created if need be, and reads the runs
    /// that are there. A last line that was cut off in the middle of writing is removed.
    ///
    /// With `summaries`, each run's full summary becomes a line of `runs.jsonl` as well, and a run
    /// without such a line is not done.
    ///
    /// # Errors
    /// A file cannot be opened, another sweep is using it, or it holds something else.
    pub fn open(folder: &Path, summaries: bool) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        let (lines, in_journal) = Lines::open::<RunRecord>(folder.join("journal.jsonl"))?;
        let dataset = read(folder)?;
        let mut journal = Self {
            folder: folder.to_path_buf(),
            lines,
            in_dataset: dataset.keys().into_iter().collect(),
            dataset,
            records: BTreeMap::new(),
            summaries: None,
        };
        for record in in_journal {
            journal.records.insert(record.key.clone(), record);
        }
        if summaries {
            let (lines, runs) = Lines::open::<SweepRun>(folder.join("runs.jsonl"))?;
            let keys = runs.into_iter().map(|run| run.key).collect();
            journal.summaries = Some(Summaries { lines, keys });
        }
        Ok(journal)
    }

    /// Adds a run; it is on disk when this returns.
    ///
    /// # Errors
    /// The run cannot be written.
    pub fn add(&mut self, outcome: Outcome) -> Result<()> {
        if let (Some(summaries), Some(run)) = (&mut self.summaries, &outcome.run) {
            summaries.lines.add(slice::from_ref(run))?;
            summaries.keys.insert(run.key.clone());
        }
        self.add_records(vec![outcome.record])
    }

    /// Adds runs of which only the rows are known; they are on disk when this returns.
    ///
    /// # Errors
    /// The runs cannot be written.
    pub fn add_records(&mut self, records: Vec<RunRecord>) -> Result<()> {
        self.lines.add(&records)?;
        let by_key = records
            .into_iter()
            .map(|record| (record.key.clone(), record));
        self.records.extend(by_key);
        Ok(())
    }

    /// Whether the run of this key is done.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        let has_rows = self.records.contains_key(key) || self.in_dataset.contains(key);
        let needs_summary = || match &self.summaries {
            // A run without figures has no summary.
            Some(summaries) => !summaries.keys.contains(key) && !self.is_without_figures(key),
            None => false,
        };
        has_rows && !needs_summary()
    }

    fn is_without_figures(&self, key: &str) -> bool {
        let of_one = |dataset: &Dataset, row| dataset.error(row).is_some();
        if let Some(record) = self.records.get(key) {
            return record.is_without_figures();
        }
        let row = self.dataset.keys().iter().position(|other| other == key);
        row.is_some_and(|row| of_one(&self.dataset, row))
    }

    /// Number of jobs that are done.
    #[must_use]
    pub fn count(&self, jobs: &[Job]) -> usize {
        jobs.iter().filter(|job| self.has(&job.key)).count()
    }

    /// Every run that is there, those of `jobs` first and in their order, whatever the order in
    /// which they were finished.
    ///
    /// # Errors
    /// Runs of another version of airpace have other columns.
    pub fn dataset(&self, jobs: &[Job]) -> Result<Dataset> {
        let all = self.dataset.clone().with(self.records.values());
        Ok(all.context(OTHER_COLUMNS)?.arranged(jobs))
    }

    /// Writes every run that is there into the tables of the data set and empties the journal.
    /// Returns what [`Journal::dataset`] returns. Nothing is lost if it is interrupted.
    ///
    /// # Errors
    /// As of [`Journal::dataset`], or a file cannot be written.
    #[cfg(feature = "parquet")]
    pub fn fold(&mut self, jobs: &[Job]) -> Result<Dataset> {
        use crate::store::{parquet, replace};
        let dataset = self.dataset(jobs)?;
        let metadata = super::metadata(jobs);
        // `runs` comes last: it says which runs the data set has.
        for table in [&dataset.stations, &dataset.flows, &dataset.runs] {
            let path = self.folder.join(&*table.name).with_extension("parquet");
            if table.columns.is_empty() {
                continue;
            }
            replace(&path, |file| parquet::write(table, file, &metadata))?;
        }
        self.lines.clear()?;
        self.records.clear();
        self.in_dataset = dataset.keys().into_iter().collect();
        self.dataset = dataset.clone();
        Ok(dataset)
    }
}

const OTHER_COLUMNS: &str = "the folder has runs of another version: use another folder";

/// The data set in `folder`; an empty one if there is none.
///
/// # Errors
/// A file of it cannot be read.
#[cfg(feature = "parquet")]
pub fn read(folder: &Path) -> Result<Dataset> {
    use crate::store::parquet::read;
    if !folder.join("runs.parquet").exists() {
        return Ok(Dataset::default());
    }
    let table = |name: &'static str| read(&folder.join(name).with_extension("parquet"), name);
    let mut dataset = Dataset {
        runs: table("runs")?,
        stations: table("stations")?,
        flows: table("flows")?,
    };
    dataset.drop_strays();
    Ok(dataset)
}

#[cfg(not(feature = "parquet"))]
fn read(_folder: &Path) -> Result<Dataset> {
    Ok(Dataset::default())
}

/// A file of JSON objects, one a line, which is locked.
#[derive(Debug)]
struct Lines {
    path: PathBuf,
    file: File,
}

impl Lines {
    /// Opens the file and reads its lines.
    fn open<T: DeserializeOwned>(path: PathBuf) -> Result<(Self, Vec<T>)> {
        let context = || format!("opening {}", path.display());
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(context)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("{} is in use by another sweep", path.display())
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(context),
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).with_context(context)?;
        // Every complete line ends with a line feed, so what follows the last one was cut off.
        let last_end = text.iter().rposition(|&byte| byte == b'\n');
        let complete = last_end.map_or(0, |at| at + 1);
        file.set_len(complete as u64).with_context(context)?;
        file.seek(SeekFrom::End(0)).with_context(context)?;
        let mut values = Vec::new();
        for (number, line) in (1..).zip(text[..complete].split_inclusive(|&byte| byte == b'\n')) {
            let value = serde_json::from_slice(line).with_context(|| {
                format!(
                    "{}:{number} is not a run of a sweep: use another folder",
                    path.display()
                )
            })?;
            values.push(value);
        }
        Ok((Self { path, file }, values))
    }

    /// Adds a line for each value; they are on disk when this returns.
    fn add(&mut self, values: &[impl Serialize]) -> Result<()> {
        let context = || format!("writing {}", self.path.display());
        let mut lines = Vec::new();
        for value in values {
            serde_json::to_writer(&mut lines, value).with_context(context)?;
            lines.push(b'\n');
        }
        self.file.write_all(&lines).with_context(context)?;
        self.file.sync_data().with_context(context)
    }

    #[cfg(feature = "parquet")]
    fn clear(&mut self) -> Result<()> {
        let context = || format!("writing {}", self.path.display());
        self.file.set_len(0).with_context(context)?;
        self.file.seek(SeekFrom::Start(0)).with_context(context)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Loaded;
    use crate::sweep::{Status, jobs};

    const CELL: &str =
        "node = [{ kind = \"ap\" }, { kind = \"station\" }]\nflow = [{ kind = \"ping\" }]";

    #[test]
    fn runs_survive_and_a_torn_last_line_does_not() {
        let folder = std::env::temp_dir().join(format!("airpace-journal-{}", std::process::id()));
        fs::remove_dir_all(&folder).ok();
        let loaded = Loaded::new(CELL, Vec::new(), ".".as_ref()).unwrap();
        let jobs = jobs(&loaded, &[], 3).unwrap();
        let record = |idx: usize| RunRecord::without_figures(&jobs[idx], Status::Failed, "no");
        let mut journal = Journal::open(&folder, false).unwrap();
        journal.add_records(vec![record(0)]).unwrap();
        assert!(
            Journal::open(&folder, false)
                .unwrap_err()
                .to_string()
                .contains("in use")
        );
        drop(journal);
        let path = folder.join("journal.jsonl");
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"key\":\"b\",\"ov").unwrap();
        drop(file);
        let mut journal = Journal::open(&folder, false).unwrap();
        assert_eq!(journal.count(&jobs), 1);
        journal.add_records(vec![record(2)]).unwrap();
        drop(journal);
        let journal = Journal::open(&folder, false).unwrap();
        assert!(journal.has(&jobs[0].key) && !journal.has(&jobs[1].key));
        assert_eq!(journal.dataset(&jobs).unwrap().runs.rows(), 2);
        drop(journal);
        fs::write(&path, "something else\n").unwrap();
        assert!(
            Journal::open(&folder, false)
                .unwrap_err()
                .to_string()
                .contains("journal.jsonl:1 is not a run")
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}
