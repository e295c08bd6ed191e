//! One line of telemetry per station and slot.

use airpace_api::mac::MacAddress;
use airpace_api::telemetry::EdgeSlot;
use airpace_core::report::SlotReport;
use airpace_edge::inline::StationRecord;
use core::time::Duration;

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
    }
}

/// A duration in milliseconds.
fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
