//! The Parquet files of a run.

use super::*;
use ::parquet::file::reader::{FileReader as _, SerializedFileReader};

#[test]
fn every_table_is_written_as_a_file_that_names_its_scenario() {
    let out = std::env::temp_dir().join(format!("airpace-sim-parquet-{}", std::process::id()));
    fs::remove_dir_all(&out).ok();
    let loaded = loaded(CELL, &EVERYTHING);
    let finished = finished(&loaded);
    let files = store(&out, &finished, &loaded.scenario.record).unwrap();
    let all = [
        "summary.parquet",
        "stations.parquet",
        "flows.parquet",
        "slots.parquet",
        "frames.parquet",
        "packets.parquet",
        "air.pcap",
        "summary.json",
    ];
    assert_eq!(names(&files), all);
    for table in tables(&finished, &loaded.scenario.record) {
        let path = out.join(&*table.name).with_extension("parquet");
        assert_eq!(rows(&path), table.rows(), "{}", table.name);
    }
    fs::remove_dir_all(&out).unwrap();
}

/// Rows of a file, which must say what run it is from.
fn rows(path: &Path) -> usize {
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata();
    let pairs = metadata.key_value_metadata().unwrap();
    for key in [
        "airpace.format",
        "airpace.version",
        "airpace.seed",
        "airpace.scenario.text",
        "airpace.scenario.hash",
    ] {
        assert!(pairs.iter().any(|pair| pair.key == key), "{key}");
    }
    usize::try_from(metadata.num_rows()).unwrap()
}
