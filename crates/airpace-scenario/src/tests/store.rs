//! Files of a run.

#[cfg(feature = "parquet")]
mod parquet;

use super::*;
use crate::file::Record;
use crate::store::{store, tables};
use airpace_core::wire::ieee80211::DataHeader;
use airpace_core::wire::radiotap::{LINK_TYPE, Radiotap};
use pcap_file::TsResolution;
use pcap_file::pcap::PcapReader;

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

/// The records of a capture.
fn records(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = PcapReader::new(bytes).unwrap();
    let header = reader.header();
    assert_eq!(header.ts_resolution, TsResolution::NanoSecond);
    assert_eq!(u32::from(header.datalink), LINK_TYPE);
    let mut records = Vec::new();
    // Raw records, because the checked ones may not have been longer than the snap length before
    // they were cut.
    while let Some(record) = reader.next_raw_packet() {
        let record = record.unwrap();
        assert!(record.data.len() <= record.orig_len as usize && record.data.len() <= 256);
        records.push(record.data.into_owned());
    }
    records
}

#[test]
fn the_capture_has_every_mpdu_with_its_rate_and_aggregate() {
    let out = std::env::temp_dir().join(format!("airpace-sim-pcap-{}", std::process::id()));
    let loaded = loaded(CELL, &["record.pcap=true", "node.station.loss=0.1"]);
    let finished = finished(&loaded);
    store(&out, &finished, &loaded.scenario.record).unwrap();
    let bytes = fs::read(out.join("air.pcap")).unwrap();
    fs::remove_dir_all(&out).unwrap();
    let records = records(&bytes);
    let decoded: u32 = finished
        .outcome
        .frames
        .iter()
        .map(|(_, frame)| u32::from(frame.decoded))
        .sum();
    assert!(
        records.len() > 1_000 && records.len() <= decoded as usize,
        "{} of {decoded}",
        records.len()
    );
    let mut retries = 0;
    for record in &records {
        let (radiotap, length) = Radiotap::parse(record).unwrap();
        assert_eq!(radiotap.rate().unwrap().nss(), 2);
        assert!(radiotap.ampdu.is_some());
        let (header, _) = DataHeader::parse(&record[length..]).unwrap();
        retries += usize::from(header.retry);
    }
    assert!(retries > records.len() / 20, "{retries}");
}
