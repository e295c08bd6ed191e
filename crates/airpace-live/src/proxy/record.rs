//! The record of one station's slot.

use super::port::Port;
use airpace_api::telemetry::ProxySlot;
use airpace_core::control::Diagnostics;
use airpace_core::report::{Allocation, DelayQuantiles, SlotReport};
use airpace_units::Time;
use core::time::Duration;

/// What the proxy saw and decided for a station in the slot that ends now.
pub(super) fn slot_record(
    (now, epoch): (Time, Duration),
    port: &Port,
    granted: Option<Allocation>,
    (report, diagnostics): (Option<&SlotReport>, &Diagnostics),
) -> ProxySlot {
    let statistics = &port.statistics;
    let seconds = now
        .saturating_since(statistics.since)
        .as_secs_f64()
        .max(1e-9);
    let counters = port.queue.counters();
    let sojourn = |quantile| {
        let histogram = statistics
            .sojourn_us
            .as_ref()
            .filter(|histogram| !histogram.is_empty());
        histogram.map(|histogram| histogram.value_at_quantile(quantile) as f64 / 1e3)
    };
    let delay = |pick: fn(&DelayQuantiles) -> Duration| {
        report
            .and_then(|report| report.delay.as_ref())
            .map(|delay| pick(delay).as_secs_f64() * 1e3)
    };
    ProxySlot {
        time_s: now.as_secs_f64(),
        unix_s: (epoch + Duration::from_nanos(now.as_nanos())).as_secs_f64(),
        station: port.name.clone(),
        mode: port.mode.to_string(),
        level: report.and_then(SlotReport::level),
        level_target: granted.map(|allocation| allocation.level),
        rate_pps: granted.map(|granted| granted.rate_pps),
        rate_mbps: granted.map(|granted| granted.rate_bytes_per_s * 8.0 / 1e6),
        sent_mbps: statistics.sent_bytes as f64 * 8.0 / seconds / 1e6,
        goodput_mbps: report
            .map(|report| report.bytes as f64 * 8.0 / report.length.as_secs_f64().max(1e-9) / 1e6),
        round_ms: report
            .and_then(SlotReport::round_s)
            .map(|round| round * 1e3),
        overhead_us: diagnostics.overhead_s.map(|overhead| overhead * 1e6),
        smallest_delay_ms: diagnostics.smallest_delay_s.map(|delay| delay * 1e3),
        capped_elsewhere: diagnostics.capped_elsewhere,
        phy_mbps: report
            .and_then(SlotReport::phy_rate_bps)
            .map(|rate| rate / 1e6),
        backlog_packets: port.queue.len() as u64,
        backlog_bytes: port.queue.bytes(),
        sojourn_p50_ms: sojourn(0.5),
        sojourn_p95_ms: sojourn(0.95),
        delay_p50_ms: delay(|quantiles| quantiles.p50),
        delay_p95_ms: delay(|quantiles| quantiles.p95),
        lost: report.map(|report| report.lost),
        dropped: counters.dropped() - statistics.dropped_before,
        marked: counters.marked - statistics.marked_before,
    }
}
