//! Rate controllers: from what stations report to what each is sent.

use crate::report::{Allocation, SlotReport};
use airpace_units::{StationId, Time};

/// A law that turns a slot's reports into rates. One decision per slot; all laws see the same reports.
pub trait RateController {
    /// The name used in configuration and tables: `linear`, `linear-pf`, `dual`, `nonlinear`, `waterfill`.
    fn name(&self) -> &'static str;

    /// Takes the reports of one slot, at most one per station, and returns the rates from now on, one per known station.
    ///
    /// A station is known from its first report until [`RateController::remove`]. A known station without a report keeps
    /// its last state. Reports that contradict themselves (more frames than packets, time running backwards, rates that are
    /// not numbers) are ignored and never panic.
    fn on_slot(&mut self, now: Time, reports: &[SlotReport]) -> &[Allocation];

    /// Forgets a station that has left.
    fn remove(&mut self, station: StationId);
}
