//! Files of a run: the summary as JSON, tables as Parquet (with the feature `parquet`), the air as
//! a capture. Each file is complete or not there.

#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod pcap;
pub mod table;
pub(crate) mod tables;

use crate::file::Record;
use crate::run::Finished;
use anyhow::{Context as _, Result};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use table::Table;

/// The figures of a run as tables, those that `record` asks for.
#[must_use]
pub fn tables(finished: &Finished, record: &Record) -> Vec<Table> {
    tables::tables(finished, record)
}

/// Writes the files that `record` asks for into `folder`, which is created if need be, and returns
/// their paths. Tables are written with the feature `parquet` only.
///
/// # Errors
/// A file cannot be written. Files of an earlier run may then be replaced in part, each completely
/// or not at all.
pub fn store(folder: &Path, finished: &Finished, record: &Record) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    remove_stale(folder)?;
    let mut files = Vec::new();
    #[cfg(feature = "parquet")]
    {
        let metadata = metadata(&finished.summary);
        for table in tables(finished, record) {
            let path = folder.join(&*table.name).with_extension("parquet");
            replace(&path, |file| parquet::write(&table, file, &metadata))?;
            files.push(path);
        }
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

/// Files that an earlier run with another `[record]` may have left, and that would be taken for
/// this run's.
const OUTPUT_FILES: [&str; 9] = [
    "summary.json",
    "summary.parquet",
    "stations.parquet",
    "flows.parquet",
    "slots.parquet",
    "decisions.parquet",
    "frames.parquet",
    "packets.parquet",
    "air.pcap",
];

fn remove_stale(folder: &Path) -> Result<()> {
    for name in OUTPUT_FILES {
        let path = folder.join(name);
        if path.exists() {
            fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
        }
    }
    Ok(())
}

/// What every table says of the run that it is from.
#[cfg(feature = "parquet")]
fn metadata(summary: &crate::results::SimulationSummary) -> Vec<(&'static str, String)> {
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

/// Puts a complete file in place at once, so that a reader never sees half of it.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    let partial = path.with_extension("partial");
    let finish = || -> Result<()> {
        let mut file = BufWriter::new(File::create(&partial)?);
        write(&mut file)?;
        let file = file
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(fs::rename(&partial, path)?)
    };
    finish().with_context(|| format!("writing {}", path.display()))
}
