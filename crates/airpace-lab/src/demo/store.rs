//! Writing the results.

use crate::results::{ArmSeries, DemoSummary, Environment};
use anyhow::{Context, Result};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// Creates the folder and removes the files of earlier runs from it, so that they are not taken for
/// files of this run.
pub(super) fn prepare(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry.context("reading the output folder")?.path();
        if is_ours(&path) {
            fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
        }
    }
    Ok(())
}

/// Whether the demo or its report writes files of this name.
fn is_ours(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("");
    let telemetry = ["proxy-", "edge-", "sta"]
        .iter()
        .any(|of| name.starts_with(of))
        && name.ends_with(".jsonl");
    let series = name.starts_with("series-") && name.ends_with(".json");
    name == "summary.json" || name == "index.html" || series || telemetry
}

/// Writes `summary.json`.
pub(super) fn summary(folder: &Path, summary: &DemoSummary) -> Result<()> {
    let text = serde_json::to_string_pretty(summary).context("encoding the summary")?;
    replace(&folder.join("summary.json"), &text)
}

/// Writes the series of one arm.
pub(super) fn series(folder: &Path, series: &ArmSeries) -> Result<()> {
    let text = serde_json::to_string(series).context("encoding a series")?;
    replace(
        &folder.join(format!("series-{}-{}.json", series.stations, series.name)),
        &text,
    )
}

/// Writes a file under another name and renames it, so that no reader sees half of it.
fn replace(path: &Path, text: &str) -> Result<()> {
    let partial = path.with_extension("partial");
    let write = || -> std::io::Result<()> {
        let mut file = fs::File::create(&partial)?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        fs::rename(&partial, path)
    };
    write().with_context(|| format!("writing {}", path.display()))
}

/// The machine and the versions.
pub(super) fn environment() -> Environment {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    Environment {
        airpace_version: env!("CARGO_PKG_VERSION").to_owned(),
        git_revision: git_revision(),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
            .unwrap_or_default()
            .trim()
            .to_owned(),
        cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
        started_unix_s: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
    }
}

fn git_revision() -> Option<String> {
    let output = Command::new("git")
        .args(["describe", "--always", "--dirty"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::tests::{arm, summary as empty_summary};

    fn scratch(name: &str) -> std::path::PathBuf {
        let folder =
            std::env::temp_dir().join(format!("airpace-lab-{name}-{}", std::process::id()));
        fs::remove_dir_all(&folder).ok();
        folder
    }

    #[test]
    fn the_summary_has_the_fields_that_the_report_reads() {
        let folder = scratch("summary");
        prepare(&folder).unwrap();
        summary(
            &folder,
            &DemoSummary {
                arms: vec![arm("cubic", 3)],
                ..empty_summary()
            },
        )
        .unwrap();
        let text = fs::read_to_string(folder.join("summary.json")).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let first = &value["arms"][0];
        for key in [
            "goodput_mbps",
            "loss",
            "level",
            "jain_airtime",
            "lag_p99_ms",
            "stations",
        ] {
            assert!(first[key].is_number(), "{key}");
        }
        assert!(
            ["p50", "p95", "p99"]
                .iter()
                .all(|q| first["ping_ms"][q].is_number())
        );
        assert_eq!(first["name"], "cubic");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_of_an_earlier_run_are_removed_and_other_files_stay() {
        let folder = scratch("prepare");
        prepare(&folder).unwrap();
        for name in ["series-7-cubic.json", "summary.json", "notes.txt"] {
            fs::write(folder.join(name), "x").unwrap();
        }
        prepare(&folder).unwrap();
        let left: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(left, ["notes.txt"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
