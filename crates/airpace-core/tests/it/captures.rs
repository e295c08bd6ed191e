//! The parsers and the meter on captures of real monitor interfaces (`tests/data/captures`).

use airpace_core::meter::{Meter, MeterConfig, Mpdu};
use airpace_core::wire::control::ControlFrame;
use airpace_core::wire::ieee80211::DataHeader;
use airpace_core::wire::radiotap::Radiotap;
use airpace_units::{StationId, Time};
use core::fmt::Write;
use std::path::{Path, PathBuf};

/// Link type of radiotap (`LINKTYPE_IEEE802_11_RADIOTAP`).
const RADIOTAP: u32 = 127;

/// What was found in one capture.
#[derive(Default)]
struct Found {
    records: usize,
    /// Headers of radiotap that were read, and those of them with an A-MPDU status.
    radiotap: usize,
    ampdu: usize,
    /// Those with a PHY rate.
    rates: usize,
    data: usize,
    control: usize,
    /// Frames that the meter counted.
    frames: u32,
}

/// Times in microseconds and bytes of the records of a capture, and its link type.
fn records(capture: &[u8]) -> (u32, Vec<(u64, &[u8])>) {
    let is_little = matches!(capture[..4], [0xd4, 0xc3, 0xb2, 0xa1]);
    let word = |at: usize| -> u32 {
        let bytes = [
            capture[at],
            capture[at + 1],
            capture[at + 2],
            capture[at + 3],
        ];
        if is_little {
            u32::from_le_bytes(bytes)
        } else {
            u32::from_be_bytes(bytes)
        }
    };
    let mut records = Vec::new();
    let mut at = 24;
    while at + 16 <= capture.len() {
        let us = u64::from(word(at)) * 1_000_000 + u64::from(word(at + 4));
        let length = word(at + 8) as usize;
        let end = (at + 16 + length).min(capture.len());
        records.push((us, &capture[at + 16..end]));
        at = end;
    }
    (word(20), records)
}

fn read(path: &Path) -> Found {
    let capture = std::fs::read(path).expect("the capture is in the tree");
    let (link, records) = records(&capture);
    let mut found = Found {
        records: records.len(),
        ..Found::default()
    };
    let mut meter = Meter::new(MeterConfig::new(StationId(0)), Time::ZERO);
    let first_us = records.first().map_or(0, |(us, _)| *us);
    let mut now = Time::ZERO;
    for (us, bytes) in records {
        now = Time::from_micros(us.saturating_sub(first_us));
        let (radiotap, frame) = if link == RADIOTAP {
            let Ok((radiotap, length)) = Radiotap::parse(bytes) else {
                continue;
            };
            found.radiotap += 1;
            found.ampdu += usize::from(radiotap.ampdu.is_some());
            found.rates += usize::from(radiotap.rate().is_some());
            (radiotap, &bytes[length..])
        } else {
            (Radiotap::default(), bytes)
        };
        found.control += usize::from(ControlFrame::parse(frame).is_ok());
        if let Ok((header, length)) = DataHeader::parse(frame) {
            found.data += 1;
            let body = u32::try_from(frame.len() - length).expect("captures have short frames");
            meter.on_mpdu(&Mpdu::heard(now, &radiotap, &header, body));
        }
    }
    let report = meter.close_slot(now);
    assert!(report.packets >= report.frames, "{}", path.display());
    // No capture holds an aggregate of several MPDUs of one station, but the meter is given those of all.
    assert!(report.frames as usize <= found.data, "{}", path.display());
    found.frames = report.frames;
    found
}

#[test]
fn real_captures_are_read_as_before() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "pcap")
        })
        .collect();
    paths.sort();
    let mut table = String::from("file,records,radiotap,ampdu,rates,data,control,frames\n");
    for path in paths {
        let found = read(&path);
        writeln!(
            table,
            "{},{},{},{},{},{},{},{}",
            path.file_stem().unwrap().to_str().unwrap(),
            found.records,
            found.radiotap,
            found.ampdu,
            found.rates,
            found.data,
            found.control,
            found.frames
        )
        .unwrap();
    }
    let expected = std::fs::read_to_string(folder.join("expected.csv")).unwrap_or_default();
    assert_eq!(table, expected, "found\n{table}");
}

/// The same captures cut at every length: no length panics.
#[test]
fn cut_captures_are_survived() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "pcap") {
            continue;
        }
        let capture = std::fs::read(&path).unwrap();
        let (_, records) = records(&capture);
        for (_, bytes) in records {
            for length in 0..bytes.len().min(200) {
                let cut = &bytes[..length];
                if let Ok((_, header)) = Radiotap::parse(cut) {
                    let _ = DataHeader::parse(&cut[header..]);
                    let _ = ControlFrame::parse(&cut[header..]);
                }
            }
        }
    }
}
