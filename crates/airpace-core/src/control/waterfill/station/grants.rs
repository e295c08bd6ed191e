//! What a station is granted, and what it can use.

use super::super::backlog::{Backlog, Drain};
use super::super::elsewhere::Elsewhere;
use super::super::share::Demand;
use super::StationEstimate;
use airpace_units::Time;

/// Weight of one slot's drain in the station's strain, and what is kept of the strain per slot.
const STRAIN_GAIN: f64 = 0.1;
const STRAIN_KEPT: f64 = 0.95;
/// A queue that needs a larger drain comes from a change, not from an estimate that is a little off.
const STRAIN_SHARE: f64 = 0.2;
/// Largest part of its fair share that a station is sent to keep its reports coming, although its
/// backlog calls for less.
const FLOOR_SHARE: f64 = 0.25;
/// Packets per slot to a station from which no frame has been reported yet.
const PROBE_PACKETS: f64 = 4.0;
/// Slots for which it is probed like that; then the probes become fewer.
const PROBE_SLOTS: u16 = 10;
/// What is kept of them per slot, and in the end.
const PROBE_KEPT: f64 = 0.8;
const PROBE_LEAST: f64 = 0.1;

impl StationEstimate {
    /// Turns a fair share into a rate: capped at what the path carries, and reduced while a queue
    /// drains.
    pub(in crate::control::waterfill) fn grant(
        &mut self,
        now: Time,
        level: f64,
        fair_pps: f64,
        floor_pps: f64,
    ) {
        self.granted.add(now, self.rate_pps, self.fair_pps);
        self.fair_pps = fair_pps;
        let open = self.open_pps();
        let capped = open - self.drain(open).trim_pps;
        // The floor keeps reports coming, but it must not overload a network of many slow stations.
        let floor_pps = if fair_pps.is_finite() {
            floor_pps.min(FLOOR_SHARE * fair_pps)
        } else {
            floor_pps
        };
        self.rate_pps = if capped.is_finite() {
            capped.max(floor_pps)
        } else {
            floor_pps
        };
        self.target_level = level;
    }

    /// The fair rate, or what the path carries if that is less, packets per second.
    pub(super) fn open_pps(&self) -> f64 {
        self.elsewhere
            .cap_pps()
            .map_or(self.fair_pps, |cap| self.fair_pps.min(cap))
    }

    pub(super) fn drain(&self, open_pps: f64) -> Drain {
        self.backlog
            .drain(self.full, self.slot.until_next_s, open_pps)
    }

    /// Ends a slot, after the grant: begins a pause if a queue is to drain in one, and learns from
    /// how much had to be drained.
    pub(in crate::control::waterfill) fn conclude(&mut self) {
        // A queue is drained once for each report that shows it, and other stations' news are no
        // slots of this one.
        if !core::mem::take(&mut self.has_reported) {
            return;
        }
        self.elsewhere.release_above(self.fair_pps);
        let open = self.open_pps();
        let drain = self.drain(open);
        self.pause_s = drain.pause_s;
        self.granted.pause(drain.pause_s, self.rate_pps);
        let trimmed = if open > 0.0 && open.is_finite() {
            drain.trim_pps / open
        } else {
            0.0
        };
        let share = trimmed + drain.pause_s / self.slot.longest_s();
        if share < STRAIN_SHARE {
            self.strain = STRAIN_KEPT * self.strain + STRAIN_GAIN * share;
        }
    }

    /// Takes the queue at the access point, and the path before it, for empty: nothing of them follows
    /// from what was granted.
    pub(in crate::control::waterfill) fn forget_queues(&mut self) {
        self.backlog = Backlog::default();
        self.elsewhere = Elsewhere::default();
    }

    /// Notes whether packets wait for the pacer now. Returns whether that changes what the station
    /// can use.
    pub(in crate::control::waterfill) fn set_waiting(&mut self, waiting: bool) -> bool {
        let before = self.demand();
        self.waiting = waiting;
        before != self.demand()
    }

    /// How many packets the station can use.
    pub(in crate::control::waterfill) fn demand(&self) -> Demand {
        if !self.met {
            // A station that does not tell of its frames must not keep the air reserved for them.
            let excess = self.probed_slots.saturating_sub(PROBE_SLOTS);
            let kept = PROBE_KEPT.powi(i32::from(excess)).max(PROBE_LEAST);
            return Demand::Probed(kept * PROBE_PACKETS / self.slot.whole_s);
        }
        // A station that is silent is still sent to, and the others must not count on its air.
        let greedy = self.greedy_slots > 0 && (self.backlogged || !self.silent);
        match self.elsewhere.cap_pps() {
            Some(cap) => Demand::Limited(cap.min(self.demand_pps)),
            // A burst, as of video: it takes a share while it lasts, and nothing between bursts.
            None if greedy || self.waiting && !self.silent => Demand::Greedy,
            None => Demand::Limited(self.quiet_pps),
        }
    }
}
