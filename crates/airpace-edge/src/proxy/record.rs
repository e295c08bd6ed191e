//! The record of one station's slot.

use super::station::PacedStation;
use super::{Mode, RejectedReports, mode};
use crate::proxy::ProxyConfig;
use airpace_core::control::Diagnostics;
use airpace_core::packet::Packet;
use airpace_core::report::{Allocation, SlotReport};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// What the proxy saw and decided for one station in the slot that ended.
#[derive(Clone, PartialEq, Debug)]
pub struct SlotRecord {
    /// When the slot ended, which is when the rates were decided.
    pub at: Time,
    /// The station.
    pub station: StationId,
    /// How it is sent to from now on.
    pub mode: Mode,
    /// Its rate from now on; `None` if everything passes.
    pub granted: Option<Allocation>,
    /// Its report on the slot; `None` if none came.
    pub report: Option<SlotReport>,
    /// The law's estimates of the medium.
    pub diagnostics: Diagnostics,
    /// Length of the slot at the proxy.
    pub length: Duration,
    /// Bytes sent to it in the slot, headers of the tunnel included.
    pub sent_bytes: u64,
    /// Packets that wait for it now.
    pub backlog_packets: u64,
    /// Bytes of these packets.
    pub backlog_bytes: u64,
    /// Median time that the packets sent in the slot had waited here; `None` if none was sent.
    pub sojourn_p50: Option<Duration>,
    /// 95th percentile of the same.
    pub sojourn_p95: Option<Duration>,
    /// Packets that the queue dropped in the slot.
    pub dropped: u64,
    /// Packets that the queue marked in the slot.
    pub marked: u64,
    /// Its reports that were rejected since it came.
    pub rejected: RejectedReports,
}

/// The record of the station's slot that ends now; `report` is its report, if one came in time.
pub(super) fn slot_record<P: Packet>(
    now: Time,
    station: &PacedStation<P>,
    config: &ProxyConfig,
    report: Option<&SlotReport>,
    diagnostics: &Diagnostics,
) -> SlotRecord {
    let slot = &station.slot;
    let counters = station.queue.counters();
    let sojourn = |quantile: f64| {
        let histogram = slot.sojourn_us.as_ref()?;
        let us = histogram.value_at_quantile(quantile);
        (!histogram.is_empty()).then(|| Duration::from_micros(us))
    };
    SlotRecord {
        at: now,
        station: station.id,
        mode: station.mode,
        granted: mode::granted(station, config),
        report: report.cloned(),
        diagnostics: *diagnostics,
        length: now.saturating_since(slot.since),
        sent_bytes: slot.sent_bytes,
        backlog_packets: station.queue.len() as u64,
        backlog_bytes: station.queue.bytes(),
        sojourn_p50: sojourn(0.5),
        sojourn_p95: sojourn(0.95),
        dropped: counters.dropped() - slot.dropped_before,
        marked: counters.marked - slot.marked_before,
        rejected: station.rejected,
    }
}
