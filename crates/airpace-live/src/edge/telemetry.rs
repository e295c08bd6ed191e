//! One line of telemetry per station and slot in which something happened, or per station and some
//! seconds.

use crate::journal::RowBudget;
use crate::summary::{Summaries, Summary, has_traffic};
use airpace_api::config::TelemetryDetail;
use airpace_api::mac::MacAddress;
use airpace_api::telemetry::EdgeSlot;
use airpace_core::report::{Sensor, SlotReport};
use airpace_core::wire::ieee80211::MacAddr;
use airpace_edge::inline::StationRecord;
use airpace_edge::proxy::Mode;
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
    /// If only summaries become rows.
    summaries: Option<Summaries<(MacAddr, usize)>>,
}

/// What becomes a row.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) record: StationRecord,
    /// Number of slots in a summary, and what its record does not say.
    pub(super) summary: Option<SummaryExtras>,
    pub(super) air_of_others: Option<f64>,
}

/// What the record of a summary does not say.
#[derive(Clone, Copy, Debug)]
pub(super) struct SummaryExtras {
    slots: u32,
    round_s: Option<f64>,
}

impl Row {
    fn of_summary(mac: MacAddr, medium: usize, ended: Summary) -> Self {
        Self {
            summary: Some(SummaryExtras {
                slots: ended.slots,
                round_s: ended.round.value(),
            }),
            air_of_others: ended.air_of_others.value(),
            record: StationRecord {
                mac,
                medium,
                record: ended.record,
            },
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
    /// Writes so much.
    pub(super) fn new(detail: TelemetryDetail) -> Self {
        let mut filter = Self {
            stations: HashMap::new(),
            budget: RowBudget::new(MOST_ROWS),
            summaries: None,
        };
        filter.set_detail(detail);
        filter
    }

    /// Sets how much is written from now on. Summaries that have not ended are lost if they are not
    /// wanted any more.
    pub(super) fn set_detail(&mut self, detail: TelemetryDetail) {
        self.summaries = match detail {
            TelemetryDetail::Slots => None,
            TelemetryDetail::Summary => Some(self.summaries.take().unwrap_or_default()),
        };
    }

    /// Takes a record, with the share of the air that others use. Returns a row, if there is one now.
    pub(super) fn add(&mut self, record: StationRecord, air_of_others: Option<f64>) -> Option<Row> {
        let Some(summaries) = &mut self.summaries else {
            return self.takes(&record).then_some(Row {
                record,
                summary: None,
                air_of_others,
            });
        };
        let (mac, medium, at) = (record.mac, record.medium, record.record.at);
        // A station that roams begins anew: its rows belong to the access points that it was at.
        let ended = summaries.add((mac, medium), record.record, air_of_others)?;
        self.budget
            .takes(at)
            .then(|| Row::of_summary(mac, medium, ended))
    }

    /// A row of a summary that ends because the station `mac` has left, or because the box ends
    /// (`None`). To be called until there are no more.
    pub(super) fn end(&mut self, mac: Option<MacAddr>) -> Option<Row> {
        let summaries = self.summaries.as_mut()?;
        let ((mac, medium), ended) = match mac {
            Some(mac) => summaries.end_in(&((mac, 0)..=(mac, usize::MAX)))?,
            None => summaries.end_in(&..)?,
        };
        Some(Row::of_summary(mac, medium, ended))
    }

    /// Returns whether a record becomes a row.
    fn takes(&mut self, record: &StationRecord) -> bool {
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

/// The telemetry of a record. `epoch` is the wall-clock time since 1970 at the clock's origin.
pub(super) fn slot(
    row: &Row,
    ap: &str,
    name: Option<&str>,
    epoch: Duration,
    dry_run: bool,
) -> EdgeSlot {
    let StationRecord { mac, record, .. } = &row.record;
    let summary = row.summary;
    let report = record.report.as_ref();
    let seconds = record.length.as_secs_f64().max(1e-9);
    let wait = report.and_then(|report| report.wait.as_ref());
    let at = Duration::from_nanos(record.at.as_nanos());
    EdgeSlot {
        time_s: record.at.as_secs_f64(),
        unix_s: (epoch + at).as_secs_f64(),
        slots: summary.map(|summary| summary.slots),
        span_s: summary.map(|_| seconds),
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
        round_ms: match summary {
            Some(summary) => summary.round_s,
            None => report.and_then(SlotReport::round_s),
        }
        .map(|s| s * 1e3),
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
        air_of_others: row.air_of_others,
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
    use crate::journal;
    use airpace_core::control::Diagnostics;
    use airpace_core::report::{Allocation, WaitSource, WaitingTime};
    use airpace_edge::proxy::{RejectedReports, SlotRecord};
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
        let mut rows = RowFilter::new(TelemetryDetail::Slots);
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
        let mut rows = RowFilter::new(TelemetryDetail::Slots);
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

    /// A record in which every field has a value.
    fn busy(mac: MacAddr, slot: u64) -> StationRecord {
        let mut station = record(mac, 100 * (slot + 1), 1_164_123 + slot % 977, 23);
        let record = &mut station.record;
        let station_id = StationId::from_index(0);
        record.granted = Some(Allocation::new(station_id, 7_761.7, 1_500.3, 31.7));
        record.diagnostics.overhead_s = Some(213.7e-6);
        record.diagnostics.price = Some(1.234_567);
        record.diagnostics.capped_elsewhere = 3;
        (record.backlog_packets, record.backlog_bytes) = (123, 181_234);
        record.sojourn_p50 = Some(Duration::from_micros(8_123));
        record.sojourn_p95 = Some(Duration::from_micros(13_456));
        (record.dropped, record.marked) = (1, 17);
        (record.rejected.corrected, record.rejected.surplus) = (123, 456);
        let report = record.report.as_mut().unwrap();
        report.sensor = Sensor::BlockAck;
        report.confidence = 0.913_7;
        (report.frames, report.packets, report.bytes) = (25, 776, 1_164_000);
        report.inverse_rate_sum = 25.0 / 433.3e6;
        let first = Time::from_millis(100 * slot);
        report.span = Some((first, first + Duration::from_micros(97_531)));
        report.sender.held_packets = 701;
        let wait = Duration::from_micros(4_321);
        report.wait = Some(WaitingTime {
            mean: wait,
            p50: wait,
            p95: 2 * wait,
            p99: 3 * wait,
            source: WaitSource::SendStamps,
        });
        station
    }

    #[test]
    fn a_day_of_twenty_busy_stations_is_at_most_200_megabytes() {
        let mut rows = RowFilter::new(TelemetryDetail::Summary);
        let epoch = Duration::from_secs(1_795_000_000);
        let (mut bytes, minutes) = (0, 20);
        for n in 0..minutes * 600 {
            for station in 0..20 {
                let mut record = busy(MacAddr([2, 0, 0, 0, 0, station]), n);
                // Half of the stations change all the time.
                if station % 2 == 0 && n % 3 == 0 {
                    record.record.mode = Mode::Conservative;
                }
                let Some(row) = rows.add(record, Some(0.123_456)) else {
                    continue;
                };
                let mut row = slot(&row, "eth1-second-floor", Some("a-laptop"), epoch, true);
                (row.rows_left_out, row.crowded_out) = (12, 345);
                bytes += journal::compact_row(&row).unwrap().len() + 1;
            }
        }
        let megabytes_per_day = bytes as f64 / 1e6 * 1440.0 / minutes as f64;
        eprintln!("{megabytes_per_day:.0} MB a day");
        assert!(megabytes_per_day <= 200.0, "{megabytes_per_day} MB a day");
        // The rest of the last minute is not lost.
        assert_eq!(core::iter::from_fn(|| rows.end(None)).count(), 20);
    }
}
