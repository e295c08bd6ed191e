//! The cause that is told of a station: another one replaces it only when it has lasted.
//!
//! Under load the figures cross the bounds between causes all the time, and an operator cannot read
//! what changes ten times a second.

use super::limit::LimitedBy;
use super::status::{CellPicture, StationStatus};
use super::watch::Recent;
use airpace_core::control::AirEstimate;
use airpace_core::report::SlotReport;
use airpace_units::Time;
use core::time::Duration;

/// A cause is told until it has not applied for so long.
const HOLD: Duration = Duration::from_secs(2);

/// The cause that is told of a station, with the figures of the last slot in which it applied.
#[derive(Clone, PartialEq, Debug)]
pub struct ToldCause {
    /// The cause.
    pub by: LimitedBy,
    applied_at: Time,
    recent: Recent,
    air: Option<AirEstimate>,
    report: Option<SlotReport>,
    share: Option<f64>,
    queued: usize,
    cell: CellPicture,
}

impl ToldCause {
    /// What `status` shows now.
    pub(super) fn of(status: &StationStatus<'_>) -> Self {
        Self {
            by: status.cause(None),
            applied_at: status.now,
            recent: status.recent,
            air: status.air,
            report: status.report.cloned(),
            share: status.share,
            queued: status.queued,
            cell: status.cell,
        }
    }

    /// Returns what is to be told after a slot that shows `next`.
    pub(super) fn followed_by(self, next: Self) -> Self {
        let is_over = next.applied_at.saturating_since(self.applied_at) >= HOLD;
        if is_over || self.yields_to(next.by) {
            next
        } else {
            self
        }
    }

    /// Whether `next` is told in its place at once. What an operator has done, a fault and its end are
    /// no fluctuations, and neither is traffic that begins.
    pub(super) fn yields_to(&self, next: LimitedBy) -> bool {
        self.by == next || self.by.ends_at_once() || next.begins_at_once()
    }

    /// Returns `status` with the figures by which this cause applied.
    pub(super) fn then<'a>(&'a self, status: &StationStatus<'a>) -> StationStatus<'a> {
        StationStatus {
            recent: self.recent,
            air: self.air,
            report: self.report.as_ref(),
            share: self.share,
            queued: self.queued,
            cell: self.cell,
            ..status.clone()
        }
    }
}

impl LimitedBy {
    /// Faults, and what an operator has done.
    const fn begins_at_once(self) -> bool {
        matches!(self, Self::Passing | Self::Exempt | Self::SensorLost)
    }

    /// The same, and the end of a pause of the traffic.
    const fn ends_at_once(self) -> bool {
        self.begins_at_once() || matches!(self, Self::Idle)
    }
}
