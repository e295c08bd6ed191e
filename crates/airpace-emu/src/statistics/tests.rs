use super::*;
use airpace_api::emulation::EmulationReport;

fn report(statistics: Statistics) -> EmulationReport {
    let duration = Duration::from_secs(1);
    let access_point = "fifo".to_owned();
    statistics.report(RunDescription {
        seed: 1,
        duration,
        no_realtime: None,
        realtime: true,
        access_point,
    })
}

fn packet(length: u8) -> EmulatedPacket {
    let mut bytes = vec![0; length.into()];
    (bytes[0], bytes[3]) = (0x45, length);
    EmulatedPacket::copy(&bytes).unwrap()
}

#[test]
fn drops_are_counted_by_reason_and_an_idle_cell_is_fair() {
    let mut statistics = Statistics::new(2, Duration::from_millis(100), None);
    let reasons = queue::DropReason::ALL
        .map(DropReason::Queue)
        .into_iter()
        .chain([DropReason::RetryLimit]);
    reasons.for_each(|reason| statistics.on_dropped(StationId(0), Direction::Down, reason));
    let report = report(statistics);
    let down = &report.stations[0].down;
    assert_eq!(
        (down.drops.full, down.drops.codel, down.drops.longest_flow),
        (2, 1, 1),
        "{down:?}"
    );
    assert_eq!(
        (down.dropped_queue, down.dropped_retries),
        (queue::DropReason::ALL.len() as u64, 1)
    );
    assert_eq!(
        (report.access_point.as_str(), report.jain_airtime),
        ("fifo", 1.0),
        "nothing was shared"
    );
}

#[test]
fn a_long_series_is_merged_without_losing_counts() {
    let mut statistics = Statistics::new(2, Duration::from_millis(100), Some(8));
    for slot in 0..21 {
        statistics.on_delivered(StationId(1), Direction::Down, &packet(100 + slot));
        statistics.on_dropped(StationId(1), Direction::Down, DropReason::RetryLimit);
        statistics.end_slot(|station| StationQueues {
            length: slot as usize,
            peak: 2 * slot as usize * station.index(),
            uplink_peak: 0,
        });
        assert_eq!(statistics.slot_end().as_nanos() % 100_000_000, 0);
    }
    let report = report(statistics);
    let slots = &report.stations[1].slots;
    // Eight slots of 100 ms are merged to four of 200 ms; with four more, those are merged to four
    // of 400 ms; and so on.
    assert!(
        slots.len() < 8 && report.slot_s > 0.1,
        "{} slots of {} s",
        slots.len(),
        report.slot_s
    );
    assert_eq!(
        slots.iter().map(|slot| slot.bytes).sum::<u64>(),
        report.stations[1].down.bytes
    );
    assert_eq!(slots.iter().map(|slot| slot.dropped).sum::<u32>(), 21);
    assert_eq!(slots.iter().map(|slot| slot.queue_max).max(), Some(40));
    assert!(
        slots
            .windows(2)
            .all(|pair| (pair[1].at_s - pair[0].at_s - report.slot_s).abs() < 1e-9)
    );
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
}

#[test]
fn no_series_is_kept_without_a_limit() {
    let mut statistics = Statistics::new(1, Duration::from_millis(100), None);
    for _ in 0..100 {
        statistics.end_slot(|_| StationQueues {
            length: 1,
            peak: 7,
            uplink_peak: 3,
        });
    }
    let report = report(statistics);
    assert_eq!(
        (
            report.stations[0].slots.len(),
            report.stations[0].down.queue_max
        ),
        (0, 7)
    );
    assert!(report.trusted && report.warnings.is_empty());
}

#[test]
fn a_run_with_unread_packets_is_not_trusted() {
    let mut statistics = Statistics::new(1, Duration::from_millis(100), None);
    statistics.stray.overflowed = 3;
    let report = report(statistics);
    assert!(
        !report.trusted && report.warnings[0].contains("did not read 3 packets"),
        "{:?}",
        report.warnings
    );
}

#[test]
fn the_number_of_slots_is_even_for_any_number_of_stations() {
    assert_eq!(series::limit(1), 36_000);
    assert!((1..=240).all(|n| series::limit(n).is_multiple_of(2) && series::limit(n) >= 1_500));
}
