//! One line of telemetry per station and slot in which something happened.

use crate::journal::RowBudget;
use airpace_api::mac::MacAddress;
use airpace_api::telemetry::EdgeSlot;
use airpace_core::report::{Sensor, SlotReport};
use airpace_core::wire::ieee80211::MacAddr;
use airpace_edge::inline::StationRecord;
use airpace_edge::proxy::{Mode, SlotRecord};
use airpace_units::Time;
use core::time::Duration;
use std::collections::HashMap;

/// How often a station gets a row while nothing happens.
const IDLE_INTERVAL: Duration = Duration::from_secs(1);
/// Most rows per second of all stations together, about 2.5 MB/s.
const MOST_ROWS: u32 = 4000;

/// Decides which records become rows: those of slots in which something happened, and one a second
/// of every other station, but never more than the file can take for long.
#[derive(Debug)]
pub(super) struct RowFilter {
    stations: HashMap<MacAddr, LastRow>,
    budget: RowBudget,
}

impl Default for RowFilter {
    fn default() -> Self {
        Self {
            stations: HashMap::new(),
            budget: RowBudget::new(MOST_ROWS),
        }
    }
}

/// What a station's last row said.
#[derive(Debug)]
struct LastRow {
    at: Time,
    mode: Mode,
    sensor: Option<Sensor>,
    /// Whether anything has ever been sent to the station.
    was_sent_to: bool,
}

impl RowFilter {
    /// Returns whether a record becomes a row.
    pub(super) fn takes(&mut self, record: &StationRecord) -> bool {
        let StationRecord { mac, record, .. } = record;
        let sensor = record.report.as_ref().map(|report| report.sensor);
        let last = self.stations.entry(*mac).or_insert(LastRow {
            at: record.at,
            mode: record.mode,
            sensor,
            was_sent_to: false,
        });
        last.was_sent_to |= record.sent_bytes > 0 || record.backlog_packets > 0;
        // An address to which nothing is sent, and which no sensor observes, may be invented.
        let is_observed = sensor.is_some_and(|sensor| sensor != Sensor::None);
        let is_real = last.was_sent_to || is_observed;
        let has_changed = last.mode != record.mode || last.sensor != sensor;
        let is_active = is_real && (has_changed || has_traffic(record));
        let is_due = record.at >= last.at.saturating_add(IDLE_INTERVAL);
        if !(is_active || is_due) {
            return false;
        }
        if !self.budget.takes(record.at) {
            return false;
        }
        (last.at, last.mode, last.sensor) = (record.at, record.mode, sensor);
        true
    }

    /// Rows that were left out because there were too many.
    pub(super) const fn left_out(&self) -> u64 {
        self.budget.left_out()
    }

    /// Forgets a station that has left.
    pub(super) fn forget(&mut self, mac: MacAddr) {
        self.stations.remove(&mac);
    }
}

/// Whether anything was sent to the station, or came from it, in its slot.
fn has_traffic(record: &SlotRecord) -> bool {
    let is_reported = record.report.as_ref().is_some_and(|report| {
        report.frames > 0 || report.bytes > 0 || report.sender.uplink_frames > 0
    });
    let is_sent = record.sent_bytes > 0 || record.backlog_packets > 0;
    is_reported || is_sent || record.dropped > 0 || record.marked > 0
}

/// The telemetry of a record. `epoch` is the wall-clock time since 1970 at the clock's origin.
pub(super) fn slot(
    record: &StationRecord,
    ap: &str,
    name: Option<&str>,
    epoch: Duration,
    dry_run: bool,
) -> EdgeSlot {
    let StationRecord { mac, record, .. } = record;
    let report = record.report.as_ref();
    let seconds = record.length.as_secs_f64().max(1e-9);
    let wait = report.and_then(|report| report.wait.as_ref());
    let at = Duration::from_nanos(record.at.as_nanos());
    EdgeSlot {
        time_s: record.at.as_secs_f64(),
        unix_s: (epoch + at).as_secs_f64(),
        ap: ap.to_owned(),
        station: MacAddress(mac.0).to_string(),
        name: name.map(str::to_owned),
        mode: record.mode.to_string(),
        sensor: report.map(|report| report.sensor.name().to_owned()),
        confidence: report.map(|report| report.confidence),
        level: report.and_then(SlotReport::level),
        level_target: record.granted.map(|granted| granted.level),
        rate_mbps: record
            .granted
            .map(|granted| granted.rate_bytes_per_s * 8.0 / 1e6),
        dry_run,
        held_packets: report.map(|report| report.sender.held_packets),
        sent_mbps: record.sent_bytes as f64 * 8.0 / seconds / 1e6,
        goodput_mbps: report
            .map(|report| report.bytes as f64 * 8.0 / report.length.as_secs_f64().max(1e-9) / 1e6),
        round_ms: report.and_then(SlotReport::round_s).map(|s| s * 1e3),
        phy_mbps: report
            .and_then(SlotReport::phy_rate_bps)
            .map(|bps| bps / 1e6),
        uplink_frames: report.map(|report| report.sender.uplink_frames),
        overhead_us: record.diagnostics.overhead_s.map(|s| s * 1e6),
        price: record.diagnostics.price,
        capped_elsewhere: record.diagnostics.capped_elsewhere,
        backlog_packets: record.backlog_packets,
        backlog_bytes: record.backlog_bytes,
        sojourn_p50_ms: record.sojourn_p50.map(ms),
        sojourn_p95_ms: record.sojourn_p95.map(ms),
        wait_p50_ms: wait.map(|wait| ms(wait.p50)),
        wait_p95_ms: wait.map(|wait| ms(wait.p95)),
        dropped: record.dropped,
        marked: record.marked,
        corrected_reports: record.rejected.corrected,
        surplus_reports: record.rejected.surplus,
        air_of_others: None,
        rows_left_out: 0,
        crowded_out: 0,
    }
}

/// A duration in milliseconds.
fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use airpace_core::control::Diagnostics;
    use airpace_edge::proxy::RejectedReports;
    use airpace_units::StationId;

    fn record(mac: MacAddr, at_ms: u64, sent_bytes: u64, uplink_frames: u32) -> StationRecord {
        let mut report = SlotReport::silent(StationId::from_index(0), Duration::from_millis(100));
        report.sensor = Sensor::None;
        report.sender.uplink_frames = uplink_frames;
        let record = SlotRecord {
            at: Time::from_millis(at_ms),
            station: StationId::from_index(0),
            mode: Mode::Controlled,
            granted: None,
            report: Some(report),
            diagnostics: Diagnostics::default(),
            length: Duration::from_millis(100),
            sent_bytes,
            backlog_packets: 0,
            backlog_bytes: 0,
            sojourn_p50: None,
            sojourn_p95: None,
            dropped: 0,
            marked: 0,
            rejected: RejectedReports::default(),
        };
        StationRecord {
            mac,
            medium: 0,
            record,
        }
    }

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    #[test]
    fn a_station_without_traffic_gets_a_row_a_second() {
        let mut rows = RowFilter::default();
        let taken = (0..100).filter(|slot| rows.takes(&record(MAC, 100 * slot, 0, 0)));
        assert_eq!(taken.count(), 9);
        assert!(
            rows.takes(&record(MAC, 10_000, 1500, 0)),
            "something is sent"
        );
        assert!(rows.takes(&record(MAC, 10_100, 0, 3)), "something comes");
        assert!(!rows.takes(&record(MAC, 10_200, 0, 0)));
        let mut unshaped = record(MAC, 10_300, 0, 0);
        unshaped.record.mode = Mode::Unshaped;
        assert!(rows.takes(&unshaped), "its mode has changed");
    }

    #[test]
    fn invented_addresses_get_no_rows_and_a_crowd_no_more_than_the_limit() {
        let mut rows = RowFilter::default();
        let mac = |i: u32| {
            let [a, b, c, d] = i.to_be_bytes();
            MacAddr([6, 0x66, a, b, c, d])
        };
        for i in 0..6000 {
            assert!(!rows.takes(&record(mac(i), 100, 0, 1)));
            rows.forget(mac(i));
        }
        let crowd = (0..6000).filter(|&i| rows.takes(&record(mac(i), 200, 1500, 0)));
        assert_eq!(crowd.count() as u32, MOST_ROWS);
        assert_eq!(rows.left_out(), 2000);
        assert!(rows.takes(&record(mac(1), 1300, 1500, 0)), "a second later");
    }
}
