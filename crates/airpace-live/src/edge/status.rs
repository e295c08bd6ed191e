//! The status of a station, as an operator sees it.

use super::hosts::HostAddresses;
use airpace_api::mac::MacAddress;
use airpace_api::operator::EdgeStationStatus;
use airpace_core::report::{Sensor, SlotReport};
use airpace_edge::inline::StationStatus;
use airpace_units::Time;
use core::time::Duration;

/// Returns the status of a station at `now`.
pub(super) fn station(
    now: Time,
    status: &StationStatus<'_>,
    hosts: &HostAddresses,
) -> EdgeStationStatus {
    let report = status.report;
    let wait = report.and_then(|report| report.wait.as_ref());
    let addresses = hosts.of(status.mac).iter().map(ToString::to_string);
    EdgeStationStatus {
        mac: MacAddress(status.mac.0).to_string(),
        name: status.name.map(str::to_owned),
        addresses: addresses.collect(),
        weight: status.weight,
        exempt: status.is_exempt,
        mode: status.mode.to_string(),
        rate_mbps: status
            .granted
            .map(|granted| granted.rate_bytes_per_s * 8.0 / 1e6),
        sent_mbps: report.map(|report| mbps(report.sender.sent_bytes, report.length)),
        // Without a sensor nobody knows what has arrived.
        goodput_mbps: report
            .filter(|report| report.sensor != Sensor::None)
            .map(|report| mbps(report.bytes, report.length)),
        uplink_mbps: report.map(|report| mbps(report.sender.uplink_bytes, report.length)),
        level: report.and_then(SlotReport::level),
        wait_p50_ms: wait.map(|wait| wait.p50.as_secs_f64() * 1e3),
        wait_p95_ms: wait.map(|wait| wait.p95.as_secs_f64() * 1e3),
        sensor: report.map(|report| Sensor::name(report.sensor).to_owned()),
        confidence: report.map(|report| report.confidence),
        held_packets: report.map(|report| report.sender.held_packets),
        backlog_packets: status.queued as u64,
        corrected_reports: status.rejected.corrected,
        surplus_reports: status.rejected.surplus,
        silent_s: now.saturating_since(status.heard_at).as_secs_f64(),
    }
}

fn mbps(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 8.0 / span.as_secs_f64().max(1e-9) / 1e6
}
