//! Holds stations' PHY rates against the rounds that all stations measure.
//!
//! What remains of a round beyond the packets by their PHY rates is overhead. A PHY rate that is too
//! high therefore shows as overhead, but not whose it is. So if more of the time is unexplained than
//! usual, the stations are tried one after the other: each is sent little for a moment, and paced as
//! before again. A station without whose traffic the time is explained pays for what its packets take,
//! whatever it says. `docs/design/waterfill.md` has the reasons and the limits.

mod credit;
mod reading;
mod trial;

pub(super) use credit::Credit;

use super::station::StationEstimate;
use credit::Standing;
use reading::Reading;
use trial::{Outcome, Search, TrialSlot};

/// Fewest stations of a cell in which a claim can be held against the rounds of others.
const STATIONS_LEAST: usize = 3;
/// Slots with the same stations before the overhead counts as the normal one.
const LEARNING_SLOTS: u8 = 10;
/// Weight of a slot in the mean of the overhead.
const MEAN_GAIN: f64 = 0.3;
/// The overhead is normal up to this factor above the reference ...
const NORMAL: f64 = 1.12;
/// ... and has risen from this one on ...
const RISEN: f64 = 1.2;
/// ... for this many slots, or for fewer if some station claims to be faster than it was.
const RISEN_SLOTS: [u16; 2] = [8, 2];
/// Slots of normal overhead after which a claim is believed.
const BELIEVED_SLOTS: u16 = 3;
/// No frame has less overhead, whatever is configured, seconds: AIFS, mean back-off, preamble, SIFS and
/// block ack (802.11-2020 §10.23.2, §19.4.4).
const OVERHEAD_LEAST_S: f64 = 190e-6;
/// Least reference as a share of the configured overhead per frame. A liar from the start could lower
/// it, and make honest stations suspects.
const REFERENCE_LEAST: f64 = 0.9;
/// Weight of a slot in the reference.
const REFERENCE_GAIN: f64 = 0.02;
/// Slots after a search in vain in which there is no other, unless a station claims to be faster; it
/// doubles up to the second value.
const PATIENCE_SLOTS: (u16, u16) = (100, 1600);
/// Share of the unexplained time by which the airtime of a charged station moves per slot, and the
/// largest factor of one slot.
const CHARGE_GAIN: f64 = 0.4;
const CHARGE_STEP: f64 = 1.25;
/// Slots in a row of a charge that does not help, and of one that does not bind, after which it ends.
const VAIN_SLOTS: u16 = 40;
const LOOSE_SLOTS: u16 = 300;

/// The overhead per frame as it should be, and the search that runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Audit {
    /// Configured overhead per frame, seconds.
    configured_s: f64,
    /// Normal overhead per frame, seconds; `None` until it was learnt.
    reference_s: Option<f64>,
    /// Mean overhead per frame of the last slots, seconds.
    mean_s: Option<f64>,
    learning_slots: u8,
    normal_slots: u16,
    risen_slots: u16,
    search: Option<Search>,
    /// Slots until the next search, and after the next search in vain.
    patience_slots: u16,
    next_patience_slots: u16,
}

impl Audit {
    /// An audit of a cell whose frames have an overhead of about `overhead_s` each.
    pub(super) fn new(overhead_s: f64) -> Self {
        Self {
            configured_s: overhead_s.max(OVERHEAD_LEAST_S),
            reference_s: None,
            mean_s: None,
            learning_slots: 0,
            normal_slots: 0,
            risen_slots: 0,
            search: None,
            patience_slots: 0,
            next_patience_slots: PATIENCE_SLOTS.0,
        }
    }

    /// Takes notice that stations have come or gone.
    pub(super) fn on_change(&mut self, stations: &mut [StationEstimate]) {
        self.learning_slots = 0;
        self.end_search(stations);
    }

    fn end_search(&mut self, stations: &mut [StationEstimate]) {
        self.search = None;
        self.risen_slots = 0;
        for station in stations {
            station.credit.release();
        }
    }

    /// Takes a slot.
    pub(super) fn observe(&mut self, stations: &mut [StationEstimate]) {
        if stations.len() < STATIONS_LEAST {
            return;
        }
        // The overhead contains the errors of assumed rates, which vary more than lies do.
        if stations.iter().any(|station| station.rate_assumed) {
            self.on_change(stations);
            return;
        }
        let Some(reading) = Reading::of(stations) else {
            return;
        };
        self.patience_slots = self.patience_slots.saturating_sub(1);
        let measured_s = reading.overhead_s();
        let before_s = self.mean_s.unwrap_or(measured_s);
        let Some(reference_s) = self.reference_s else {
            self.mean_s = Some(before_s + MEAN_GAIN * (measured_s - before_s));
            self.learn(stations);
            return;
        };
        if let Some(mut search) = self.search {
            let slot = TrialSlot {
                unexplained: reading.unexplained(reference_s),
                free: reading.free(reference_s),
                open: reading.open,
            };
            let outcome = search.observe(stations, &slot);
            self.search = Some(search);
            self.conclude(stations, outcome, &search, reference_s);
            return;
        }
        let overhead_s = before_s + MEAN_GAIN * (measured_s - before_s);
        self.mean_s = Some(overhead_s);
        let excess = overhead_s / reference_s;
        let count = |slots: u16, holds: bool| if holds { slots.saturating_add(1) } else { 0 };
        self.normal_slots = count(self.normal_slots, excess <= NORMAL);
        self.risen_slots = count(self.risen_slots, excess >= RISEN);
        if !self.charge(stations, &reading, reference_s) {
            self.look(stations, overhead_s, reference_s);
        }
    }

    /// Takes the first overhead for the normal one, if it is not far above the configured one.
    fn learn(&mut self, stations: &mut [StationEstimate]) {
        self.learning_slots += 1;
        if self.learning_slots < LEARNING_SLOTS {
            return;
        }
        let mean_s = self.mean_s.unwrap_or(self.configured_s);
        let least_s = REFERENCE_LEAST * self.configured_s;
        self.reference_s = Some(mean_s.clamp(least_s, self.configured_s));
        for station in stations {
            station.credit.believe();
        }
    }

    /// Believes claims while the overhead is normal; begins a search if it has risen.
    fn look(&mut self, stations: &mut [StationEstimate], overhead_s: f64, reference_s: f64) {
        if self.normal_slots >= BELIEVED_SLOTS {
            for station in stations.iter_mut() {
                station.credit.believe();
            }
        }
        if self.normal_slots > 0 {
            let followed_s = reference_s + REFERENCE_GAIN * (overhead_s - reference_s);
            self.reference_s = Some(followed_s.max(REFERENCE_LEAST * self.configured_s));
            return;
        }
        let has_suspect = stations.iter().any(|s| s.credit.is_suspect());
        let patience_ends = has_suspect || self.patience_slots == 0;
        if self.risen_slots >= RISEN_SLOTS[usize::from(has_suspect)] && patience_ends {
            self.search = Some(Search::begin(stations));
        }
    }

    /// Draws the consequences of a search.
    fn conclude(
        &mut self,
        stations: &mut [StationEstimate],
        outcome: Outcome,
        search: &Search,
        reference_s: f64,
    ) {
        match outcome {
            Outcome::Open if search.is_explained(NORMAL - 1.0) => self.end_search(stations),
            Outcome::Open => return,
            Outcome::Charged => {
                self.end_search(stations);
                self.next_patience_slots = PATIENCE_SLOTS.0;
            }
            Outcome::Channel => {
                self.end_search(stations);
                let factor = 1.0 + search.excess();
                self.reference_s = Some(reference_s * factor.max(1.0));
                self.patience_slots = self.next_patience_slots;
                self.next_patience_slots = (2 * self.next_patience_slots).min(PATIENCE_SLOTS.1);
                for station in stations.iter_mut() {
                    station.credit.believe();
                }
            }
        }
        self.mean_s = None;
    }

    /// Moves the airtime of a charged station so that the unexplained time disappears. Returns whether
    /// there is a charge that binds.
    fn charge(
        &self,
        stations: &mut [StationEstimate],
        reading: &Reading,
        reference_s: f64,
    ) -> bool {
        let unexplained = reading.unexplained(reference_s);
        let has_risen = self.risen_slots > 0;
        let mut binds = false;
        for station in stations {
            let sent_bps = station.sent_bps();
            let credit = &mut station.credit;
            let Standing::Charged(charge) = &mut credit.standing else {
                continue;
            };
            let moved = charge.airtime + CHARGE_GAIN * unexplained / sent_bps.max(1e3);
            charge.move_to(moved, credit.claimed, CHARGE_STEP);
            let is_loose = charge.airtime <= credit.claimed;
            charge.loose_slots = if is_loose { charge.loose_slots + 1 } else { 0 };
            charge.vain_slots = if has_risen { charge.vain_slots + 1 } else { 0 };
            binds |= !is_loose;
            if charge.vain_slots > VAIN_SLOTS || charge.loose_slots > LOOSE_SLOTS {
                credit.standing = Standing::Trusted;
            }
        }
        binds
    }
}
