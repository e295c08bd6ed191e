//! Dips of one station at a time.
//!
//! What the stations that are seen leave of a round is the airtime of all whose frames no sensor sees. How
//! it divides among those shows when one of them is sent little for a third of a second: what goes is its
//! own. If nothing goes, the access point may hold a queue for it; then the dip lasts until that is gone.

mod introduce;

use super::alike::{drawn_together, width_of};
use super::candidates::Candidates;
use super::dip::{BROKEN_OFF, least_rate_part};
use super::introduction::Introduction;
use super::round::UnseenPart;
use super::slot::{Slot, mean, mean_and_deviation};
use airpace_units::{StationId, Time};
use core::time::Duration;
use std::collections::VecDeque;

/// Time from the first slot to the first dip, and from the end of one to the next, of whatever station.
const FIRST: Duration = Duration::from_millis(2500);
const APART: Duration = Duration::from_millis(600);
/// Least and largest time from one dip of a station to its next.
const SOON: Duration = Duration::from_secs(3);
const LONGEST: Duration = Duration::from_secs(16);
/// Length of a dip, and of one in which what is left hardly falls.
const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_millis(2500);
/// By so much a dip is prolonged.
const STEP: Duration = Duration::from_millis(100);
/// Time after a dip in which slots still contain it, and in which means over frames do.
const CONTAINED: Duration = Duration::from_millis(150);
const RECOVERY: Duration = Duration::from_millis(300);
/// Rate in a dip as a part of the usual one, at the least.
const RATE_PART: f64 = 0.25;
/// A dip in which more than this part of the usual packets was sent was none.
const DIPPED_MOST: f64 = 0.6;
/// Slots at the end of a dip that tell what is left.
const LAST: usize = 2;
/// A dip of a station that takes more than this share of the time makes rounds much shorter.
const LARGE: f64 = 0.2;
/// Usual slots that a dip is held against, at the least and at the most.
const USUAL_SLOTS: (usize, usize) = (5, 10);
/// If the dip shows no more than this part of the airtime that was known, none has gone.
const FALLEN: f64 = 0.25;
/// Least standard deviation of what a slot leaves, as a share of the time (simulated cells of four to six
/// stations: 0.02 to 0.05).
pub(super) const NOISE_LEAST: f64 = 0.04;
/// Error of what slots in a row leave, which does not become less with their number, as a share of the
/// time: the times that are seen are wrong for a second or two now and then.
pub(super) const SLOW_ERROR: f64 = 0.03;
/// Error of an airtime of which nothing is known but the mean of all, and the error up to which it is
/// known well, as parts of it.
const ERROR_FIRST: f64 = 1.0;
const ERROR_KNOWN: f64 = 0.25;
/// Growth of the error's square per second: PHY rates change.
const DRIFT_PER_S: f64 = 0.0005;
/// Largest change of an airtime by one dip, and by one in which nothing has gone, as factors.
const CHANGE_MOST: f64 = 4.0;
const UNFALLEN_CHANGE_MOST: f64 = 2.0;
/// Range of a packet's airtime over that of the mean packet: the highest PHY rate is 740 times the lowest.
const WEIGHT_RANGE: (f64, f64) = (1e-3, 1e3);
/// A dip that would leave more than this part of the error is not worth what it costs.
const WORTH: f64 = 0.8;

/// What dips of single stations have shown of the ratios between their airtimes.
#[derive(Clone, Debug, Default)]
pub(super) struct SoloDips {
    known: Vec<(StationId, Known)>,
    /// The last slots without a dip.
    usual: VecDeque<Slot>,
    candidates: Candidates,
    introduction: Option<Introduction>,
    /// Introductions in a row that were begun and not finished.
    tries: u32,
    /// When the last introduction has ended.
    introduced: Option<Time>,
    /// When rounds were last much longer or shorter than usual.
    unusual: Option<Time>,
    dip: Option<Dip>,
    /// When the next dip may begin, and when the last ended.
    next: Option<Time>,
    ended: Option<Time>,
}

/// What is known of one station.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Known {
    /// Airtime per packet over that of the mean packet.
    weight: f64,
    /// The same when something last went in a dip.
    fallen_weight: f64,
    /// Square of the weight's error as a part of it.
    variance: f64,
    /// When the station's next dip may begin, and the time from its last to then.
    next: Time,
    wait: Duration,
}

#[derive(Clone, Debug)]
struct Dip {
    station: StationId,
    begun: Time,
    until: Time,
    rate_part: f64,
    /// Whether rounds are much shorter in it.
    is_large: bool,
    slots: Vec<Slot>,
    /// Slots in a dip that was prolonged since what is left has fallen.
    since_fall: usize,
}

/// What a slot has ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Ended {
    Nothing,
    /// A dip, after which weights are new, or an introduction that was broken off.
    Dip,
    /// The beginning of an introduction. Other networks take so much more time per frame of the access point
    /// than was known, seconds.
    Quiet(f64),
    /// An introduction. The mean packet takes so long, seconds.
    Introduction(f64),
}

/// What a dip tells of its station.
struct Found {
    /// Whether less was sent.
    is_dip: bool,
    /// Whether some airtime has gone, or may have gone unnoticed.
    has_fallen: bool,
    /// Packets per second in usual slots.
    usual_pps: f64,
    /// Airtime per packet: known before, by the dip, and the error of the latter, seconds.
    before_s: f64,
    seconds: f64,
    error_s: f64,
}

impl SoloDips {
    /// Airtime per packet of a station over that of the mean packet.
    pub(super) fn weight(&self, station: StationId) -> f64 {
        let Some(own) = self.known.iter().find(|known| known.0 == station) else {
            return 1.0;
        };
        let others = self.known.iter().filter(|known| known.0 != station);
        let width = width_of(own.1.variance.sqrt());
        drawn_together(own.1.weight, others.map(|known| known.1.weight), width)
    }

    /// Part of the usual rate that the station is sent from `now` on.
    pub(super) fn rate_part(&self, now: Time, station: StationId) -> f64 {
        if let Some(introduction) = &self.introduction {
            return introduction.rate_part(now, station);
        }
        match &self.dip {
            Some(dip) if dip.station == station && now < dip.until => dip.rate_part,
            _ => 1.0,
        }
    }

    /// Whether a dip lasts, or means still contain the last.
    pub(super) fn is_dip(&self, now: Time) -> bool {
        let lasts = |dip: &Dip| now <= dip.until + BROKEN_OFF;
        self.is_introduced(now)
            || self.dip.as_ref().is_some_and(lasts)
            || self.ended.is_some_and(|at| now <= at + RECOVERY)
    }

    /// Whether stations are being introduced, or slots still contain that.
    pub(super) fn is_introduced(&self, now: Time) -> bool {
        let lasts = |of: &Introduction| !of.is_broken_off(now);
        self.introduction.as_ref().is_some_and(lasts)
            || self.introduced.is_some_and(|at| now <= at + CONTAINED)
    }

    /// Whether rounds are much longer or shorter than usual because of a turn in an introduction, or of a dip, or
    /// means contain that. The quiet before the turns is long.
    pub(super) fn is_unusual(&self, now: Time) -> bool {
        let has_turns = |of: &Introduction| of.has_turns() && !of.is_broken_off(now);
        let lasts = |dip: &Dip| dip.is_large && now > dip.begun && now <= dip.until + BROKEN_OFF;
        self.introduction.as_ref().is_some_and(has_turns)
            || self.dip.as_ref().is_some_and(lasts)
            || self.unusual.is_some_and(|at| now <= at + RECOVERY)
    }

    pub(super) fn remove(&mut self, station: StationId) {
        self.known.retain(|known| known.0 != station);
        self.candidates.remove(station);
        if let Some(introduction) = &mut self.introduction {
            introduction.remove(station);
        }
    }

    /// PHY rates have changed, and nothing tells of which station.
    pub(super) fn doubt(&mut self, now: Time) {
        for (_, known) in &mut self.known {
            known.variance = ERROR_FIRST.powi(2);
            (known.next, known.wait) = (known.next.min(now), SOON);
        }
    }

    /// Takes the slot that ends `now`. The mean packet takes `packet_s` seconds: more than zero while there
    /// is a dip or an introduction, and what slots leave, which may be negative, otherwise. A dip may begin of
    /// one of the stations in `unseen`.
    pub(super) fn take(
        &mut self,
        now: Time,
        slot: Slot,
        unseen: &[UnseenPart],
        packet_s: f64,
    ) -> Ended {
        if let Some(introduction) = self.introduction.take() {
            return self.take_in_introduction(now, introduction, slot, packet_s);
        }
        if let Some(dip) = self.dip.take() {
            return self.take_in_dip(now, dip, slot, packet_s);
        }
        if self.ended.is_none_or(|at| now > at + CONTAINED) {
            if self.usual.len() == USUAL_SLOTS.1 {
                self.usual.pop_front();
            }
            self.usual.push_back(slot);
        }
        let next = *self.next.get_or_insert(now + FIRST);
        if !unseen.is_empty() && self.will_introduce(now) {
            self.begin_introduction(now);
        } else if now >= next && self.usual.len() >= USUAL_SLOTS.0 && packet_s > 0.0 {
            self.begin(now, unseen, packet_s);
        }
        Ended::Nothing
    }

    /// Takes a slot of a dip, which goes on or ends.
    fn take_in_dip(&mut self, now: Time, mut dip: Dip, slot: Slot, packet_s: f64) -> Ended {
        dip.slots.push(slot);
        if now < dip.until {
            self.dip = Some(dip);
            return Ended::Nothing;
        }
        if dip.is_large {
            self.unusual = Some(now);
        }
        if now <= dip.until + BROKEN_OFF {
            let found = self.found(&dip, packet_s);
            if dip.goes_on(now, &found) {
                dip.until = now + STEP;
                self.dip = Some(dip);
                return Ended::Nothing;
            }
            self.learn(now, &dip, &found, packet_s);
        }
        self.end(now);
        Ended::Dip
    }

    /// A dip or an introduction has ended.
    fn end(&mut self, now: Time) {
        (self.next, self.ended) = (Some(now + APART), Some(now));
        self.usual.clear();
    }

    /// Begins the dip of the station that has waited longest for one, if one is due.
    fn begin(&mut self, now: Time, unseen: &[UnseenPart], packet_s: f64) {
        let may_dip = || unseen.iter().filter(|part| part.may_dip);
        let round = self.usual.back().map(|slot| slot.round_s);
        let Some(least) = round.and_then(least_rate_part) else {
            return;
        };
        if may_dip().count() < 2 {
            return;
        }
        let rate_part = RATE_PART.max(least);
        let mut due: Option<(Time, StationId)> = None;
        for part in may_dip() {
            let error = self.error(LAST) / (1.0 - rate_part);
            let error_s = error / self.usual_pps(part.station);
            let known = *self.known_mut(now, part.station);
            let known_error_s = known.variance.sqrt() * known.weight * packet_s;
            let is_worth =
                error_s < WORTH * known_error_s.hypot(error_s) || now >= known.next + LONGEST;
            if now >= known.next && is_worth && due.is_none_or(|due| known.next < due.0) {
                due = Some((known.next, part.station));
            }
        }
        self.dip = due.map(|(_, station)| Dip {
            station,
            begun: now,
            until: now + SHORT,
            rate_part,
            is_large: self.usual_pps(station) * self.weight(station) * packet_s > LARGE,
            slots: Vec::new(),
            since_fall: 0,
        });
    }

    fn known_mut(&mut self, now: Time, station: StationId) -> &mut Known {
        let idx = self.known.iter().position(|known| known.0 == station);
        let idx = idx.unwrap_or_else(|| {
            let first = Known {
                weight: 1.0,
                fallen_weight: 1.0,
                variance: ERROR_FIRST.powi(2),
                next: now,
                wait: SOON,
            };
            self.known.push((station, first));
            self.known.len() - 1
        });
        &mut self.known[idx].1
    }

    fn usual_pps(&self, station: StationId) -> f64 {
        mean(self.usual.iter().map(|slot| slot.pps_of(station)))
    }

    /// Error of the difference between the means of so many slots and of the usual ones, as a share of the
    /// time.
    fn error(&self, slots: usize) -> f64 {
        let (_, deviation) = mean_and_deviation(self.usual.iter());
        let (slots, usual_slots) = (slots as f64, self.usual.len() as f64);
        let by_noise = deviation.max(NOISE_LEAST) * (1.0 / slots + 1.0 / usual_slots).sqrt();
        by_noise.hypot(SLOW_ERROR)
    }

    /// What a dip that may end now tells.
    fn found(&self, dip: &Dip, packet_s: f64) -> Found {
        let last = &dip.slots[dip.slots.len().saturating_sub(LAST)..];
        let usual_pps = self.usual_pps(dip.station);
        let pps = mean(last.iter().map(|slot| slot.pps_of(dip.station)));
        // The round is shorter in the dip, and holds fewer packets to the others.
        let explained = |slot: &Slot| {
            let taken = |&(station, pps): &(StationId, f64)| pps * self.weight(station) * packet_s;
            slot.pps.iter().map(taken).sum::<f64>()
        };
        let unexplained = |slot: &Slot| slot.left - explained(slot);
        let usually = mean(self.usual.iter().map(unexplained));
        let in_dip = mean(last.iter().map(unexplained));
        let before_s = self.weight(dip.station) * packet_s;
        let seconds = before_s + (usually - in_dip) / (usual_pps - pps);
        let error_s = self.error(last.len()) / (usual_pps - pps);
        Found {
            is_dip: pps < DIPPED_MOST * usual_pps,
            has_fallen: seconds > FALLEN * before_s || 2.0 * error_s > before_s,
            usual_pps,
            before_s,
            seconds,
            error_s,
        }
    }

    /// Learns the weights after a dip that ends `now`.
    fn learn(&mut self, now: Time, dip: &Dip, found: &Found, packet_s: f64) {
        let before = *self.known_mut(now, dip.station);
        // More is left than before the dip: other networks take the time, or something has changed.
        let is_wrong = !found.has_fallen && found.seconds < -found.error_s;
        if !found.is_dip || is_wrong {
            self.known_mut(now, dip.station).next = now + before.wait;
            return;
        }
        let drift = DRIFT_PER_S * before.wait.as_secs_f64();
        let variance = (before.variance + drift) * found.before_s.powi(2);
        let error_variance = found.error_s.powi(2);
        let beyond_s = positive(found.seconds, found.error_s) - found.before_s;
        // Most stations are alike, so the first difference may well be an error.
        let is_first = before.variance >= ERROR_FIRST.powi(2);
        let trust = if is_first {
            (1.0 - error_variance / beyond_s.powi(2)).max(0.0)
        } else {
            1.0
        };
        let gain = trust * variance / (variance + error_variance);
        let least_s = if found.has_fallen {
            found.before_s / CHANGE_MOST
        } else {
            // The access point may hold a queue for longer than the dip.
            let fallen_s = before.fallen_weight * packet_s;
            (found.before_s / UNFALLEN_CHANGE_MOST)
                .max(fallen_s / CHANGE_MOST)
                .min(found.before_s)
        };
        let most_s = found.before_s * CHANGE_MOST;
        let told_s = (found.before_s + gain * beyond_s).clamp(least_s, most_s);
        let others = self.others_factor(dip.station, found, told_s);
        let sent = dip.slots.last().map_or(&[][..], |slot| &slot.pps);
        for (other, known) in &mut self.known {
            if *other != dip.station && sent.iter().any(|sent| sent.0 == *other) {
                known.weight = (known.weight * others).clamp(WEIGHT_RANGE.0, WEIGHT_RANGE.1);
                known.fallen_weight *= others;
            }
        }
        let known = self.known_mut(now, dip.station);
        known.weight = (told_s / packet_s).clamp(WEIGHT_RANGE.0, WEIGHT_RANGE.1);
        if found.has_fallen {
            known.fallen_weight = known.weight;
        }
        let kept = variance * error_variance / (variance + error_variance);
        known.variance = kept / told_s.powi(2);
        known.wait = if known.variance < ERROR_KNOWN.powi(2) {
            (2 * known.wait).min(LONGEST)
        } else {
            SOON
        };
        known.next = now + known.wait;
    }

    /// Factor on the airtimes of the other stations if a packet to this one takes `told_s`: all take as
    /// much together as before.
    fn others_factor(&self, station: StationId, found: &Found, told_s: f64) -> f64 {
        let weighted = |slot: &Slot| {
            let weighted = |&(station, pps): &(StationId, f64)| pps * self.weight(station);
            slot.pps.iter().map(weighted).sum::<f64>()
        };
        let all = mean(self.usual.iter().map(weighted));
        let own = found.usual_pps * self.weight(station);
        let others = all - own;
        let factor = (all - own * told_s / found.before_s) / others;
        if others > 0.0 {
            factor.clamp(1.0 / CHANGE_MOST, CHANGE_MOST)
        } else {
            1.0
        }
    }
}

impl Dip {
    /// Whether it is to be prolonged because nothing has gone, or something only a moment ago.
    fn goes_on(&mut self, now: Time, found: &Found) -> bool {
        if !found.is_dip || now >= self.begun + LONG {
            return false;
        }
        let is_late = now > self.begun + SHORT;
        if found.has_fallen && is_late {
            self.since_fall += 1;
        }
        !found.has_fallen || is_late && self.since_fall <= LAST
    }
}

/// What is to be expected of something positive that was found to be `found`, with this error: about the mean
/// of a normal distribution that is cut off at zero.
fn positive(found: f64, error: f64) -> f64 {
    0.5 * (found + found.hypot(1.6 * error))
}

#[cfg(test)]
mod tests;
