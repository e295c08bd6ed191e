//! Files of a run: the summary as JSON, tables as Parquet, the air as a capture. Each is complete or not there.

mod parquet;
mod pcap;

mod tables;

pub use parquet::{Column, Table};

use super::run::Finished;
use crate::file::Record;
use crate::results::SimulationSummary;
use anyhow::{Context as _, Result};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes what `record` asks for into `folder`, made if need be; returns the files written.
///
/// # Errors
/// If a file cannot be written. Files of an earlier run are then partly replaced, each wholly or not at all.
pub fn store(folder: &Path, finished: &Finished, record: &Record) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    remove_stale(folder)?;
    let mut files = Vec::new();
    let metadata = metadata(&finished.summary);
    let mut table = |name: &str, table: Table| -> Result<()> {
        let path = folder.join(name);
        replace(&path, |file| table.write(file, &metadata))?;
        files.push(path);
        Ok(())
    };
    table("summary.parquet", tables::summary(&finished.summary))?;
    table("stations.parquet", tables::stations(&finished.summary))?;
    if record.slots {
        table("slots.parquet", tables::slots(finished))?;
        if !finished.outcome.decisions.is_empty() {
            table("decisions.parquet", tables::decisions(finished))?;
        }
    }
    if record.frames {
        table("frames.parquet", tables::frames(finished))?;
    }
    if record.packets {
        table("packets.parquet", tables::packets(finished))?;
    }
    if record.pcap {
        let path = folder.join("air.pcap");
        replace(&path, |file| pcap::write(file, finished))?;
        files.push(path);
    }
    let path = folder.join("summary.json");
    replace(&path, |file| {
        serde_json::to_writer_pretty(&mut *file, &finished.summary)?;
        Ok(file.write_all(b"\n")?)
    })?;
    files.push(path);
    Ok(files)
}

/// Files that an earlier run with other wishes may have left, and that would be taken for this one's.
const OURS: [&str; 8] = [
    "summary.json",
    "summary.parquet",
    "stations.parquet",
    "slots.parquet",
    "decisions.parquet",
    "frames.parquet",
    "packets.parquet",
    "air.pcap",
];

fn remove_stale(folder: &Path) -> Result<()> {
    for path in OURS
        .iter()
        .map(|name| folder.join(name))
        .filter(|path| path.exists())
    {
        fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
    }
    Ok(())
}

/// What every file tells of the run.
fn metadata(summary: &SimulationSummary) -> Vec<(&'static str, String)> {
    vec![
        ("airpace.format", summary.format.to_string()),
        ("airpace.version", summary.program_version.clone()),
        ("airpace.seed", summary.seed.to_string()),
        ("airpace.scenario.title", summary.scenario.title.clone()),
        ("airpace.scenario.hash", summary.scenario.hash.clone()),
        ("airpace.scenario.text", summary.scenario.text.clone()),
        ("airpace.scenario.set", summary.scenario.set.join("\n")),
        ("airpace.interrupted", summary.interrupted.to_string()),
    ]
}

/// Puts a whole file in place at once, so that a reader never sees half of one.
pub(super) fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    let partial = path.with_extension("partial");
    let finish = || -> Result<()> {
        let mut file = BufWriter::new(File::create(&partial)?);
        write(&mut file)?;
        file.into_inner()
            .map_err(std::io::IntoInnerError::into_error)?
            .sync_all()?;
        Ok(fs::rename(&partial, path)?)
    };
    finish().with_context(|| format!("writing {}", path.display()))
}
