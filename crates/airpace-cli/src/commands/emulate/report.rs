//! The file for the report of a run.

use crate::failure::bad_input;
use airpace_api::emulation::EmulationReport;
use anyhow::Context as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A file that is known before the run to be writable. It has its old content until the report
/// replaces it, and a new file is removed if there is no report.
pub(super) struct ReportFile {
    path: PathBuf,
    /// Whether the file was made for this run and holds nothing yet.
    is_empty: bool,
}

impl ReportFile {
    /// Opens the file, which is made if there is none.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let is_new = !path.exists();
        let opened = File::options().create(true).append(true).open(path);
        opened.map_err(|e| bad_input(format!("--report: cannot write {}: {e}", path.display())))?;
        Ok(Self {
            path: path.to_owned(),
            is_empty: is_new,
        })
    }

    /// Writes the report in place of what was in the file.
    pub(super) fn write(mut self, report: &EmulationReport) -> anyhow::Result<()> {
        let json = serde_json::to_vec(report)?;
        fs::write(&self.path, json)
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        self.is_empty = false;
        Ok(())
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        if self.is_empty {
            // At worst an empty file stays behind.
            let _ = fs::remove_file(&self.path);
        }
    }
}
