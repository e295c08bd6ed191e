//! Holds a station's PHY rate against the rounds that all stations measure.
//!
//! What remains of a round beyond the packets by their PHY rates is overhead. A PHY rate that is too
//! high therefore shows as overhead, but not whose it is. So if the overhead per frame rises while
//! one station claims to be faster than it was when the overhead was normal, that station is paced as
//! before for a few slots. If the overhead falls, and rises again with the claim, the station pays
//! for the airtime that its packets take, whatever it says. `docs/design/waterfill.md` has the reasons
//! and the limits.

use super::overhead::uplink_share;
use super::station::StationEstimate;

/// Fewest stations of a cell in which a claim can be held against the rounds of others ...
const STATIONS_LEAST: usize = 3;
/// ... and fewest that measure rounds: the suspect may tell of none.
const WITNESSES_LEAST: usize = 2;
/// Slots with the same stations before the overhead counts as the normal one.
const LEARNING_SLOTS: u8 = 10;
/// Weight of a slot in the mean of the overhead.
const MEAN_GAIN: f64 = 0.5;
/// The overhead is normal up to this factor above the reference ...
const NORMAL: f64 = 1.15;
/// ... and has risen from this one on ...
const RISEN: f64 = 1.35;
/// ... for this many slots.
const RISEN_SLOTS: u8 = 2;
/// Slots of normal overhead after which a claim is believed ...
const BELIEVED_SLOTS: u8 = 3;
/// ... that so many reports have made: the first slots show what was sent by an older one.
const BELIEVED_REPORTS: usize = 4;
/// A station that claims less than this share of the airtime believed so far is a suspect.
const SUSPECT_SHARE: f64 = 0.9;
/// Factor per report by which the least airtime claimed is forgotten: a lie may be told in every other
/// slot only.
const CLAIM_FORGOTTEN: f64 = 1.1;
/// Least reference as a share of the configured overhead per frame. A liar from the start could lower
/// it, and make honest stations suspects.
const REFERENCE_LEAST: f64 = 0.9;
/// Weight of a slot in the reference: of an overhead near it, and of a risen one for which there is no
/// single suspect.
const REFERENCE_GAINS: [f64; 2] = [0.02, 0.1];
/// Fewest slots of a trial, before rates and rounds have followed, and most: a queue at the access
/// point may have to drain.
const TRIAL_SLOTS: (u8, u8) = (3, 20);
/// In a trial the station is paced by this many times the airtime believed, so that what it takes
/// hardly counts whether its claim is true or not ...
const TRIAL_FACTOR: f64 = 8.0;
/// ... and by this many times the claimed one at most.
const FACTOR_MOST: f64 = 60.0;
/// Share of the unexplained time by which the airtime of a charged station moves per slot, and the
/// largest factor of one slot.
const CHARGE_GAIN: f64 = 0.4;
const CHARGE_STEP: f64 = 1.25;
/// What is kept of that airtime per slot while the overhead is normal.
const CHARGE_KEPT: f64 = 0.9;
/// Slots in a row of a charge that does not help, and of one that does not bind, after which it ends.
const VAIN_SLOTS: u16 = 40;
const LOOSE_SLOTS: u16 = 300;

/// What is believed of a station's airtime. All airtimes are in seconds per bit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Credit {
    /// Airtime that rounds have borne out.
    believed: f64,
    /// Airtime by its last report, and the least by the last dozen.
    claimed: f64,
    least_claimed: f64,
    /// Airtimes by the last reports.
    recent: [f64; BELIEVED_REPORTS],
    standing: Standing,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Standing {
    /// The claim holds.
    Trusted,
    /// The station is paced as if its packets took long, as a trial.
    Tried,
    /// The station pays for more airtime than it claims.
    Charged(Charge),
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Charge {
    airtime: f64,
    /// Consecutive slots in which the charge did not help, and in which it did not bind.
    vain_slots: u16,
    loose_slots: u16,
}

impl Credit {
    pub(super) const fn new(airtime: f64) -> Self {
        Self {
            believed: airtime,
            claimed: airtime,
            least_claimed: airtime,
            recent: [airtime; BELIEVED_REPORTS],
            standing: Standing::Trusted,
        }
    }

    /// Takes what a report claims.
    pub(super) fn claim(&mut self, airtime: f64) {
        self.claimed = airtime;
        self.recent.rotate_left(1);
        self.recent[BELIEVED_REPORTS - 1] = airtime;
        self.least_claimed = airtime.min(CLAIM_FORGOTTEN * self.least_claimed);
        // Nobody gains by a slow rate.
        self.believed = self.believed.max(airtime);
    }

    /// Takes an airtime that the box itself has observed or assumed: nobody claims it. Such airtimes
    /// vary by more than [`SUSPECT_SHARE`] leaves, and a trial would punish the station for that.
    pub(super) fn observe(&mut self, airtime: f64) {
        *self = Self::new(airtime);
    }

    /// Factor from the claimed airtime to the known one.
    pub(super) fn known_factor(&self) -> f64 {
        match self.standing {
            Standing::Charged(charge) => (charge.airtime / self.claimed).max(1.0),
            Standing::Trusted | Standing::Tried => 1.0,
        }
    }

    /// Factor from the claimed airtime to that by which the station is paced.
    pub(super) fn paced_factor(&self) -> f64 {
        match self.standing {
            Standing::Tried => {
                (TRIAL_FACTOR * self.believed / self.claimed).clamp(1.0, FACTOR_MOST)
            }
            Standing::Trusted | Standing::Charged(_) => self.known_factor(),
        }
    }

    /// Believes the slowest of the last reports.
    fn believe(&mut self) {
        self.believed = self.recent.into_iter().fold(self.claimed, f64::max);
    }

    fn is_suspect(&self) -> bool {
        self.standing == Standing::Trusted && self.least_claimed < SUSPECT_SHARE * self.believed
    }

    /// Charges the airtime believed before, from which it moves to the one that rounds bear out.
    fn charge(&mut self) {
        self.standing = Standing::Charged(Charge {
            airtime: self.believed.min(FACTOR_MOST * self.claimed),
            vain_slots: 0,
            loose_slots: 0,
        });
    }
}

/// A suspect and what is tried with it.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Trial {
    /// Its place among the stations.
    suspect: usize,
    slots: u8,
    /// Overhead per frame between the normal and the risen one, seconds.
    between_s: f64,
    /// Whether the overhead has fallen, and the station is paced by its claim again.
    is_confirming: bool,
    /// Whether rounds have been measured since rates and rounds had time to follow.
    is_measured: bool,
}

/// The overhead per frame as it should be, and the trial that runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Audit {
    /// Least overhead per frame that counts as normal, seconds.
    least_s: f64,
    /// Normal overhead per frame, seconds; `None` until it was learnt.
    reference_s: Option<f64>,
    /// Mean overhead per frame of the last slots, seconds.
    mean_s: Option<f64>,
    learning_slots: u8,
    normal_slots: u8,
    risen_slots: u8,
    trial: Option<Trial>,
}

impl Audit {
    /// An audit of a cell whose frames have an overhead of about `overhead_s` each.
    pub(super) fn new(overhead_s: f64) -> Self {
        Self {
            least_s: REFERENCE_LEAST * overhead_s,
            reference_s: None,
            mean_s: None,
            learning_slots: 0,
            normal_slots: 0,
            risen_slots: 0,
            trial: None,
        }
    }

    /// Takes notice that stations have come or gone.
    pub(super) fn on_change(&mut self, stations: &mut [StationEstimate]) {
        self.learning_slots = 0;
        self.trial = None;
        for station in stations {
            if station.credit.standing == Standing::Tried {
                station.credit.standing = Standing::Trusted;
            }
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
        let Some((round_s, measured_s)) = measure(stations) else {
            self.judge(stations);
            return;
        };
        // Rates and rounds have to follow first what is tried.
        let is_early = self.trial.is_some_and(|trial| trial.slots < TRIAL_SLOTS.0);
        let before_s = self.mean_s.filter(|_| !is_early).unwrap_or(measured_s);
        let overhead_s = before_s + MEAN_GAIN * (measured_s - before_s);
        self.mean_s = Some(overhead_s);
        if let Some(trial) = &mut self.trial {
            trial.is_measured |= !is_early;
        }
        let Some(reference_s) = self.reference_s else {
            self.learning_slots += 1;
            if self.learning_slots >= LEARNING_SLOTS {
                self.reference_s = Some(overhead_s.max(self.least_s));
                believe(stations);
            }
            return;
        };
        let excess = overhead_s / reference_s;
        let count = |slots: u8, holds: bool| if holds { slots.saturating_add(1) } else { 0 };
        self.normal_slots = count(self.normal_slots, excess <= NORMAL);
        self.risen_slots = count(self.risen_slots, excess >= RISEN);
        if self.trial.is_some() {
            self.judge(stations);
        } else if !self.charge(stations, overhead_s - reference_s, round_s) {
            self.look_for_suspect(stations, overhead_s, reference_s);
        }
    }

    /// Believes claims while the overhead is normal; begins a trial if it has risen.
    fn look_for_suspect(
        &mut self,
        stations: &mut [StationEstimate],
        overhead_s: f64,
        reference_s: f64,
    ) {
        if self.normal_slots >= BELIEVED_SLOTS {
            believe(stations);
        }
        let mut suspects = stations
            .iter()
            .enumerate()
            .filter(|(_, s)| s.credit.is_suspect());
        // With several suspects, as after a start, an honest one could be taken for the cause.
        let suspect = suspects.next().filter(|_| suspects.next().is_none());
        match suspect {
            Some((suspect, _)) if self.risen_slots >= RISEN_SLOTS => {
                self.trial = Some(Trial {
                    suspect,
                    slots: 0,
                    between_s: 0.5 * (reference_s + overhead_s),
                    is_confirming: false,
                    is_measured: false,
                });
                stations[suspect].credit.standing = Standing::Tried;
            }
            // Not yet known, or not yet risen enough.
            Some(_) if self.normal_slots == 0 => {}
            _ => {
                let gain = REFERENCE_GAINS[usize::from(self.normal_slots == 0)];
                let followed_s = reference_s + gain * (overhead_s - reference_s);
                self.reference_s = Some(followed_s.max(self.least_s));
            }
        }
    }

    /// Ends the trial, or goes on to its confirmation, if its outcome is known.
    fn judge(&mut self, stations: &mut [StationEstimate]) {
        let Some(mut trial) = self.trial else { return };
        trial.slots += 1;
        self.trial = Some(trial);
        let mean_s = self.mean_s.unwrap_or(0.0);
        let has_fallen = mean_s < trial.between_s;
        let is_late = trial.slots >= TRIAL_SLOTS.0;
        let is_known = is_late && trial.is_measured && has_fallen != trial.is_confirming;
        if !is_known && trial.slots < TRIAL_SLOTS.1 {
            return;
        }
        let credit = &mut stations[trial.suspect].credit;
        if !has_fallen && trial.is_confirming || !trial.is_measured {
            // It has fallen without the claim and risen with it, or nobody can say: then the station
            // keeps the airtime that rounds have borne out.
            credit.charge();
            self.trial = None;
            return;
        }
        credit.standing = Standing::Trusted;
        if trial.is_confirming || !has_fallen {
            // The overhead does not depend on this station.
            credit.believed = credit.claimed;
            self.reference_s = self.reference_s.map(|normal_s| normal_s.max(mean_s));
            self.trial = None;
        } else {
            trial.is_confirming = true;
            trial.is_measured = false;
            trial.slots = 0;
            self.trial = Some(trial);
        }
    }

    /// Moves the airtime of a charged station so that `unexplained_s` of each frame's overhead, in
    /// rounds of `round_s`, disappears. Returns whether there is a charge that binds.
    fn charge(&self, stations: &mut [StationEstimate], unexplained_s: f64, round_s: f64) -> bool {
        let unexplained_s = unexplained_s * frames(stations, round_s);
        let is_normal = self.normal_slots > 0;
        let mut binds = false;
        for station in stations {
            let Standing::Charged(charge) = &mut station.credit.standing else {
                continue;
            };
            let bits = 8.0 * station.packet_bytes * station.sent_pps * round_s;
            let moved = if is_normal {
                CHARGE_KEPT * charge.airtime
            } else {
                charge.airtime + CHARGE_GAIN * unexplained_s / bits.max(8.0)
            };
            charge.airtime = moved
                .clamp(charge.airtime / CHARGE_STEP, charge.airtime * CHARGE_STEP)
                .min(station.credit.believed)
                .max(station.credit.claimed);
            let is_loose = charge.airtime <= station.credit.claimed;
            charge.loose_slots = if is_loose { charge.loose_slots + 1 } else { 0 };
            charge.vain_slots = if is_normal { 0 } else { charge.vain_slots + 1 };
            binds |= !is_loose;
            if charge.vain_slots > VAIN_SLOTS || charge.loose_slots > LOOSE_SLOTS {
                station.credit.standing = Standing::Trusted;
            }
        }
        binds
    }
}

/// Rounds have borne out what stations claim.
fn believe(stations: &mut [StationEstimate]) {
    for station in stations {
        station.credit.believe();
    }
}

/// The median round and the overhead per frame in seconds, by what was sent: nobody makes it larger by
/// concealing what he has received. `None` if too few stations measure rounds.
fn measure(stations: &[StationEstimate]) -> Option<(f64, f64)> {
    let witnesses = stations.iter().filter_map(StationEstimate::round_witness);
    let mut gaps: Vec<f64> = witnesses.map(|heard| heard.gap_s).collect();
    if gaps.len() < WITNESSES_LEAST {
        return None;
    }
    gaps.sort_by(f64::total_cmp);
    let round_s = gaps[(gaps.len() - 1) / 2];
    let payload: f64 = stations.iter().map(|s| s.airtime_s() * s.sent_pps).sum();
    let open = (1.0 - payload - uplink_share(stations)).max(0.0);
    let frames = frames(stations, round_s);
    (frames > 0.0).then(|| (round_s, round_s * open / frames))
}

/// Frames in a round of `round_s`, by what was sent.
fn frames(stations: &[StationEstimate], round_s: f64) -> f64 {
    stations
        .iter()
        .map(|s| (s.sent_pps * round_s).min(1.0))
        .sum()
}
