//! Files of a run.

#[cfg(feature = "parquet")]
mod parquet;

use super::*;
use crate::file::Record;
use crate::store::{store, tables};

const EVERYTHING: [&str; 3] = [
    "record.frames=true",
    "record.packets=true",
    "record.pcap=true",
];

fn names(files: &[PathBuf]) -> Vec<&str> {
    let mut names = Vec::new();
    for file in files {
        names.push(file.file_name().unwrap().to_str().unwrap());
    }
    names
}

#[test]
fn tables_have_a_row_per_item() {
    let loaded = loaded(CELL, &EVERYTHING);
    let finished = finished(&loaded);
    let tables = tables(&finished, &loaded.scenario.record);
    let rows: Vec<_> = tables
        .iter()
        .map(|table| (&*table.name, table.rows()))
        .collect();
    let outcome = &finished.outcome;
    let expected = [
        ("summary", 1),
        ("stations", 2),
        ("flows", 2),
        ("slots", outcome.slots.len() * outcome.links.len()),
        ("frames", outcome.frames.len()),
        ("packets", outcome.packets.len()),
    ];
    assert_eq!(rows, expected);
    assert!(outcome.frames.len() > 100 && outcome.packets.len() > 100);
}

#[test]
fn files_of_an_earlier_run_are_removed() {
    let out = std::env::temp_dir().join(format!("airpace-sim-stale-{}", std::process::id()));
    fs::remove_dir_all(&out).ok();
    let loaded = loaded(CELL, &EVERYTHING);
    let finished = finished(&loaded);
    let files = store(&out, &finished, &loaded.scenario.record).unwrap();
    assert!(names(&files).ends_with(&["air.pcap", "summary.json"]));
    store(&out, &finished, &Record::default()).unwrap();
    assert!(!out.join("air.pcap").exists() && out.join("summary.json").exists());
    fs::remove_dir_all(&out).unwrap();
}
