//! The reports of an agent on a station beside the box.
//!
//! They come at times of the agent's own: a slot is cut when there is news, and extended while there
//! are few frames. So they are not taken at the end of the box's slots as those of other sensors are,
//! but passed on when they come, as soon as the agent speaks for its station.

use super::{DownlinkFrame, Inline};
use airpace_core::report::{Sensor, SlotReport};
use airpace_core::wire::ieee80211::MacAddr;
use airpace_units::Time;
use core::time::Duration;

/// The agent counts as silent after this many slots of its own or the box's, whichever are longer.
/// It extends a slot to four at most, and a report may be late.
const SILENT_AFTER_SLOTS: u32 = 5;
/// Longest slot of an agent that is waited for: other sensors take over soon.
const LONGEST_SLOT: Duration = Duration::from_millis(500);
/// Reports in a row with which the agent takes over from a sensor that has levels.
const REPORTS_TO_TAKE_OVER: u32 = 3;
/// Most slots that lost reports account for.
const MOST_LOST: u64 = 8;

impl<F: DownlinkFrame> Inline<F> {
    /// Takes an authentic report of the agent on the station `mac`, which speaks for the station in
    /// place of the other sensors. Returns `false`, and counts the report, if no such station is
    /// known, or if the report repeats the one before.
    pub fn on_report(&mut self, now: Time, mac: MacAddr, report: SlotReport) -> bool {
        let is_taken = match self.seat_of(mac) {
            Some(seat) => self.media[seat.medium].on_report(now, seat.station, report),
            None => false,
        };
        self.counts.bad_reports += u64::from(!is_taken);
        is_taken
    }
}

impl<F: DownlinkFrame> Inline<F> {
    /// Reports of agents, since the start, that did not count because they came too often.
    #[must_use]
    pub fn surplus_reports(&self) -> u64 {
        let media = self.media.iter();
        media
            .map(|medium| medium.proxy.counts().surplus_reports)
            .sum()
    }
}

/// Why a report does not count: it has the number of the one before, or its station is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefusedReport;

/// What the agent on a station has reported.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentReports {
    /// Number of the last report, counted by the agent, and when it came.
    last: Option<(u64, Time)>,
    /// Length of the slot that was reported last.
    length: Duration,
    /// Reports since the agent was last silent.
    in_a_row: u32,
    /// Number of the next report that is passed on, of whatever sensor.
    next_slot: u64,
}

impl AgentReports {
    /// Takes a report, for slots of the box of length `slot`.
    pub(super) fn take(
        &mut self,
        now: Time,
        slot: Duration,
        report: &SlotReport,
    ) -> Result<(), RefusedReport> {
        if !self.is_present(now, slot) {
            self.in_a_row = 0;
        }
        let advance = match self.last {
            Some((slot, _)) if slot == report.slot => return Err(RefusedReport),
            // An agent that has started anew counts from zero again.
            Some((slot, _)) => report.slot.checked_sub(slot).unwrap_or(1),
            None => 1,
        };
        self.last = Some((report.slot, now));
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.length = report.length;
        // A gap says that reports were lost, and what was sent in their slots is not that of the
        // slot that is reported.
        self.next_slot += advance.clamp(1, MOST_LOST) - 1;
        Ok(())
    }

    /// Whether the agent is to speak for the station from now on, in place of the sensor `current`.
    pub(super) fn takes_over(&self, current: Sensor) -> bool {
        // Where there is no level at all, the first report is better than none.
        let has_level = matches!(current, Sensor::BlockAck | Sensor::AckBurst);
        self.in_a_row >= if has_level { REPORTS_TO_TAKE_OVER } else { 1 }
    }

    /// The last report tells nothing of frames, so the reports that count begin anew.
    pub(super) const fn distrust(&mut self) {
        self.in_a_row = 0;
    }

    /// Whether the agent has reported recently, for slots of the box of length `slot`.
    pub(super) fn is_present(&self, now: Time, slot: Duration) -> bool {
        let Some((_, heard_at)) = self.last else {
            return false;
        };
        let patience = slot.max(self.length.min(LONGEST_SLOT)) * SILENT_AFTER_SLOTS;
        now.saturating_since(heard_at) < patience
    }

    /// Gives a report that is passed on the next number. The sensors of a station number their slots
    /// differently, so all share one count.
    pub(super) const fn number(&mut self, report: &mut SlotReport) {
        report.slot = self.next_slot;
        self.next_slot += 1;
    }
}
