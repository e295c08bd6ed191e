//! What becomes of slots, in virtual time.

use super::*;
use airpace_core::report::Allocation;
use airpace_edge::proxy::{Mode, RejectedReports};
use airpace_units::{StationId, Time};

const SLOT: Duration = Duration::from_millis(100);

/// Slot `n` of a station that receives `frames` frames of ten packets.
fn slot(n: u64, frames: u32) -> SlotRecord {
    let station = StationId::from_index(0);
    let mut report = SlotReport::silent(station, SLOT);
    report.sensor = Sensor::BlockAck;
    report.frames = frames;
    report.packets = 10 * frames;
    report.bytes = 15_000 * u64::from(frames);
    report.inverse_rate_sum = f64::from(frames) / 433.3e6;
    if frames > 1 {
        let first = Time::from_millis(100 * n);
        report.span = Some((first, first + Duration::from_millis(90)));
    }
    SlotRecord {
        at: Time::from_millis(100 * (n + 1)),
        station,
        mode: Mode::Controlled,
        granted: Some(Allocation::new(station, 1000.0 + n as f64, 1500.0, 20.0)),
        report: Some(report),
        diagnostics: Diagnostics {
            overhead_s: Some(200e-6),
            price: Some(1.25),
            ..Diagnostics::default()
        },
        length: SLOT,
        sent_bytes: 15_000 * u64::from(frames),
        backlog_packets: n % 7,
        backlog_bytes: 1500 * (n % 7),
        sojourn_p50: (frames > 0).then(|| Duration::from_millis(3 + n % 5)),
        sojourn_p95: (frames > 0).then(|| Duration::from_millis(9 + n % 5)),
        dropped: u64::from(n.is_multiple_of(10)),
        marked: 2,
        rejected: RejectedReports::default(),
    }
}

#[test]
fn counts_are_added_up_means_are_over_time_or_frames_and_tails_are_the_largest() {
    let mut summaries = Summaries::default();
    for n in 0..100 {
        let frames = if n % 2 == 0 { 2 } else { 10 };
        assert!(summaries.add(0, slot(n, frames), Some(0.25)).is_none());
    }
    let ended = summaries.add(0, slot(100, 2), None).expect("ten seconds");
    let record = &ended.record;
    assert_eq!((ended.slots, record.length), (100, INTERVAL));
    assert_eq!(record.at, Time::from_millis(10_000));
    assert_eq!((record.dropped, record.marked), (10, 200));
    assert_eq!(record.sent_bytes, 15_000 * 600);
    assert_eq!((record.backlog_packets, record.backlog_bytes), (6, 9_000));
    assert_eq!(record.sojourn_p95, Some(Duration::from_millis(13)));
    let granted = record.granted.expect("granted");
    assert!((granted.rate_pps - 1049.5).abs() < 1e-6);
    let report = record.report.as_ref().expect("reported");
    assert_eq!((report.frames, report.level()), (600, Some(10.0)));
    let phy = report.phy_rate_bps().expect("known");
    assert!((phy / 433.3e6 - 1.0).abs() < 1e-9, "{phy}");
    // 90 ms between two frames in 100 frames, 10 ms in 500.
    let round = ended.round.value().expect("known");
    let should = (0.09 * 100.0 + 0.01 * 500.0) / 600.0;
    assert!((round - should).abs() < 1e-9, "{round}");
    assert_eq!(ended.air_of_others.value(), Some(0.25));
}

/// The lengths of the summaries of these slots, in slots.
fn lengths(slots: impl Iterator<Item = SlotRecord>) -> Vec<u32> {
    let mut summaries = Summaries::default();
    slots
        .filter_map(|slot| summaries.add(0, slot, None))
        .map(|ended| ended.slots)
        .collect()
}

#[test]
fn silence_takes_a_minute_and_traffic_that_begins_ends_it() {
    let silent = |n| {
        let mut slot = slot(n, 0);
        (slot.backlog_packets, slot.dropped, slot.marked) = (0, 0, 0);
        slot
    };
    assert_eq!(lengths((0..1201).map(silent)), [600, 600]);
    let then_busy = (0..180).map(|n| if n < 77 { silent(n) } else { slot(n, 2) });
    assert_eq!(lengths(then_busy), [77, 100]);
}

#[test]
fn a_change_of_mode_ends_a_summary_but_changes_all_the_time_do_not_fill_the_disk() {
    let with_mode = |n: u64, mode| SlotRecord { mode, ..slot(n, 2) };
    let once = (0..200).map(|n| {
        let mode = if n < 60 {
            Mode::Controlled
        } else {
            Mode::Unshaped
        };
        with_mode(n, mode)
    });
    assert_eq!(lengths(once), [60, 100]);
    let flapping = (0..1000).map(|n| {
        let mode = if n % 2 == 0 {
            Mode::Controlled
        } else {
            Mode::Unshaped
        };
        with_mode(n, mode)
    });
    assert!(lengths(flapping).iter().all(|&slots| slots >= 50));
}

#[test]
fn a_station_that_leaves_has_a_last_row_only_if_something_has_happened() {
    let mut summaries = Summaries::default();
    assert!(summaries.add(1, slot(0, 2), None).is_none());
    let mut silent = slot(0, 0);
    (silent.dropped, silent.marked) = (0, 0);
    assert!(summaries.add(2, silent, None).is_none());
    assert!(summaries.add(3, slot(0, 2), None).is_none());
    let station = |ended: Option<(i32, Summary)>| ended.map(|(station, _)| station);
    assert_eq!(station(summaries.end_in(&(1..=1))), Some(1));
    assert_eq!(station(summaries.end_in(&(1..=1))), None);
    assert_eq!(station(summaries.end_in(&..)), Some(3));
    assert_eq!(station(summaries.end_in(&..)), None);
}
