//! The finished runs of a sweep, one JSON object a line, each on disk before it counts.

use crate::results::SweepRun;
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// `runs.jsonl` of a sweep. The file is locked for as long as this lives.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    runs: Vec<SweepRun>,
    /// Index among the runs by their key.
    index: BTreeMap<String, usize>,
}

impl Journal {
    /// Opens the journal in `folder`, which is created if need be, and reads the runs that are
    /// there. A last line that was cut off in the middle of writing is removed.
    ///
    /// # Errors
    /// The file cannot be opened, another sweep is using it, or it holds something else.
    pub fn open(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        let path = folder.join("runs.jsonl");
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
        let mut journal = Self {
            path,
            file,
            runs: Vec::new(),
            index: BTreeMap::new(),
        };
        for (number, line) in (1..).zip(text[..complete].split_inclusive(|&byte| byte == b'\n')) {
            let run: SweepRun = serde_json::from_slice(line).with_context(|| {
                format!(
                    "{}:{number} is not a run of a sweep: use another --out",
                    journal.path.display()
                )
            })?;
            journal.keep(run);
        }
        Ok(journal)
    }

    /// Adds a run; it is on disk when this returns.
    ///
    /// # Errors
    /// The run cannot be written.
    pub fn add(&mut self, run: SweepRun) -> Result<()> {
        let context = || format!("writing {}", self.path.display());
        let mut line = serde_json::to_vec(&run).with_context(context)?;
        line.push(b'\n');
        self.file.write_all(&line).with_context(context)?;
        self.file.sync_data().with_context(context)?;
        self.keep(run);
        Ok(())
    }

    fn keep(&mut self, run: SweepRun) {
        self.index.insert(run.key.clone(), self.runs.len());
        self.runs.push(run);
    }

    /// Every run, in the order in which they were finished.
    #[must_use]
    pub fn runs(&self) -> &[SweepRun] {
        &self.runs
    }

    /// The run of this key, if it is finished.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<&SweepRun> {
        self.index.get(key).map(|&index| &self.runs[index])
    }

    /// Whether the run of this key is finished.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.index.contains_key(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{ScenarioRecord, SimulationSummary, TotalsSummary};

    fn run(key: &str) -> SweepRun {
        let summary = SimulationSummary {
            format: 1,
            program_version: String::new(),
            seed: 1,
            scenario: ScenarioRecord::default(),
            warm_up_s: 0.0,
            duration_s: 1.0,
            interrupted: false,
            stations: Vec::new(),
            flows: Vec::new(),
            links: Vec::new(),
            proxies: Vec::new(),
            totals: TotalsSummary::default(),
            wall_s: 0.0,
            packets_per_wall_s: 0.0,
        };
        SweepRun {
            key: key.to_owned(),
            over: Vec::new(),
            repeat: 0,
            summary,
        }
    }

    #[test]
    fn runs_survive_and_a_torn_last_line_does_not() {
        let folder = std::env::temp_dir().join(format!("airpace-journal-{}", std::process::id()));
        fs::remove_dir_all(&folder).ok();
        let mut journal = Journal::open(&folder).unwrap();
        journal.add(run("a")).unwrap();
        assert!(
            Journal::open(&folder)
                .unwrap_err()
                .to_string()
                .contains("in use")
        );
        drop(journal);
        let path = folder.join("runs.jsonl");
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"key\":\"b\",\"ov").unwrap();
        drop(file);
        let mut journal = Journal::open(&folder).unwrap();
        assert!(journal.has("a") && !journal.has("b"));
        journal.add(run("c")).unwrap();
        drop(journal);
        let keys: Vec<String> = Journal::open(&folder)
            .unwrap()
            .runs()
            .iter()
            .map(|run| run.key.clone())
            .collect();
        assert_eq!(keys, ["a", "c"]);
        fs::write(&path, "something else\n").unwrap();
        assert!(
            Journal::open(&folder)
                .unwrap_err()
                .to_string()
                .contains("runs.jsonl:1 is not a run")
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}
