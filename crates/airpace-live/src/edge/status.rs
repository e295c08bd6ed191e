//! The status of a station, as an operator sees it.

use super::hosts::HostAddresses;
use airpace_api::mac::MacAddress;
use airpace_api::operator::EdgeStationStatus;
use airpace_core::report::{Sensor, SlotReport};
use airpace_core::sensor::block_ack::Unusable;
use airpace_edge::inline::{LimitedBy, StationStatus};
use airpace_units::Time;
use core::time::Duration;

/// What passes unpaced at present.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passing<'a> {
    /// Why the whole box lets everything pass, if it does.
    pub(super) all: Option<&'a str>,
    /// Whether frames pass that are too long.
    pub(super) long_frames: bool,
}

/// Returns the status of a station at `now`.
pub(super) fn station(
    now: Time,
    status: &StationStatus<'_>,
    hosts: &HostAddresses,
    passing: Passing<'_>,
) -> EdgeStationStatus {
    let report = status.report;
    let wait = report.and_then(|report| report.wait.as_ref());
    let mut limit = status.limit(passing.all);
    // Whose they are is not known. What the box sees of those stations' traffic is only a part.
    if passing.long_frames && matches!(limit.by, LimitedBy::Idle | LimitedBy::Sender) {
        limit.reason.push_str(
            "; frames that are too long to be paced pass besides, perhaps to this station",
        );
    }
    let wired = status.recent.wired;
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
        wait_p50_ms: wait.map(|wait| ms(wait.p50)),
        wait_p95_ms: wait.map(|wait| ms(wait.p95)),
        sensor: report.map(|report| Sensor::name(report.sensor).to_owned()),
        confidence: report.map(|report| report.confidence),
        held_packets: report.map(|report| report.sender.held_packets),
        backlog_packets: status.queued as u64,
        corrected_reports: status.rejected.corrected,
        surplus_reports: status.rejected.surplus,
        silent_s: now.saturating_since(status.heard_at).as_secs_f64(),
        share: status.told_share(limit.by),
        limited_by: limit.by.to_string(),
        reason: limit.reason,
        lost_sensor: status.lost.map(|lost| lost.sensor.name().to_owned()),
        radio_unused: status.radio_unused.map(radio_unused),
        mean_sent_mbps: status.recent.sent_bps / 1e6,
        mean_goodput_mbps: status.recent.goodput_bps.map(|bps| bps / 1e6),
        mean_rate_mbps: status.recent.granted_bps.map(|bps| bps / 1e6),
        phy_mbps: status.phy_bps().map(|bps| bps / 1e6),
        phy_assumed: status.is_phy_assumed(),
        sojourn_p50_ms: status.sojourn_p50.map(ms),
        sojourn_p95_ms: status.sojourn_p95.map(ms),
        wifi_delay_ms: sum(status.sojourn_p50.map(ms), wait.map(|wait| ms(wait.p50))),
        backhaul_rtt_ms: wired.map(|trip| ms(trip.time)),
        backhaul_delay_ms: wired.map(|trip| ms(trip.excess())),
        backhaul_limit_mbps: status.path_limit_bps().map(|bps| bps / 1e6),
    }
}

/// Why the radio does not tell of a station's frames, in words, with what to do.
fn radio_unused(why: Unusable) -> String {
    match why {
        Unusable::Doubted => {
            "more is acknowledged than the box sends: somebody forges block acks, or the station receives by \
             other ways too"
        }
        Unusable::Unheard => {
            "hardly any of its block acks are heard: put the radio near the access point and on its channel"
        }
        Unusable::MostMissed => "most of its block acks are missed: move the radio",
        Unusable::MissedUnknown => {
            "its block acks are heard, but how many are missed is not known: let the access point use RTS, or \
             move the radio to where it hears data frames"
        }
    }
    .to_owned()
}

/// The sum of what is known.
fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn mbps(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 8.0 / span.as_secs_f64().max(1e-9) / 1e6
}
