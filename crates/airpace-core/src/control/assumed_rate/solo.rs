//! Dips of one station at a time.
//!
//! What the stations that are seen leave of a round is the airtime of all whose frames no sensor sees. How
//! it divides among those shows when one of them is sent little for a third of a second: what goes is its
//! own. If nothing goes, the access point may hold a queue for it; then the dip lasts until that is gone.

use super::alike::drawn_together;
use super::dip::{BROKEN_OFF, least_rate_part};
use super::round::UnseenPart;
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
/// Usual slots that a dip is held against, at the least and at the most.
const USUAL_SLOTS: (usize, usize) = (5, 10);
/// If the dip shows no more than this part of the airtime that was known, none has gone.
const FALLEN: f64 = 0.25;
/// Least standard deviation of what a slot leaves, as a share of the time (simulated cells of four to six
/// stations: 0.02 to 0.05).
const NOISE_LEAST: f64 = 0.04;
/// Error of an airtime of which nothing is known but the mean of all, and the error up to which it is
/// known well, as parts of it.
const ERROR_FIRST: f64 = 1.0;
const ERROR_KNOWN: f64 = 0.25;
/// Growth of the error's square per second: PHY rates change.
const DRIFT_PER_S: f64 = 0.0005;
/// Airtimes cannot be told apart within this multiple of their error, and within a width of at least and at
/// most so much, as logarithms.
const ALIKE_OVER_ERROR: f64 = 1.5;
const ALIKE_WIDTH: (f64, f64) = (0.15, 0.3);
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
    slots: Vec<Slot>,
    /// Slots in a dip that was prolonged since what is left has fallen.
    since_fall: usize,
}

/// What a slot tells.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The round, seconds.
    round_s: f64,
    /// What the stations that are seen and other networks leave, as a share of the time.
    left: f64,
    /// Packets per second that frames take.
    pps: Vec<(StationId, f64)>,
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

impl Slot {
    /// A slot whose round takes `round_s`, of which `left_s` are left to the stations in `unseen`.
    pub(super) fn new(left_s: f64, round_s: f64, unseen: &[UnseenPart]) -> Self {
        let pps = |part: &UnseenPart| (part.station, part.taken(round_s) / round_s);
        Self {
            round_s,
            left: left_s / round_s,
            pps: unseen.iter().map(pps).collect(),
        }
    }

    fn pps_of(&self, station: StationId) -> f64 {
        let of = self.pps.iter().find(|sent| sent.0 == station);
        of.map_or(0.0, |sent| sent.1)
    }
}

impl SoloDips {
    /// Airtime per packet of a station over that of the mean packet.
    pub(super) fn weight(&self, station: StationId) -> f64 {
        let Some(own) = self.known.iter().find(|known| known.0 == station) else {
            return 1.0;
        };
        let others = self.known.iter().filter(|known| known.0 != station);
        let width = ALIKE_OVER_ERROR * own.1.variance.sqrt();
        let width = width.clamp(ALIKE_WIDTH.0, ALIKE_WIDTH.1);
        drawn_together(own.1.weight, others.map(|known| known.1.weight), width)
    }

    /// Part of the usual rate that the station is sent from `now` on.
    pub(super) fn rate_part(&self, now: Time, station: StationId) -> f64 {
        match &self.dip {
            Some(dip) if dip.station == station && now < dip.until => dip.rate_part,
            _ => 1.0,
        }
    }

    /// Whether a dip lasts, or means still contain the last.
    pub(super) fn is_dip(&self, now: Time) -> bool {
        let lasts = |dip: &Dip| now <= dip.until + BROKEN_OFF;
        self.dip.as_ref().is_some_and(lasts) || self.ended.is_some_and(|at| now <= at + RECOVERY)
    }

    pub(super) fn remove(&mut self, station: StationId) {
        self.known.retain(|known| known.0 != station);
    }

    /// PHY rates have changed, and nothing tells of which station.
    pub(super) fn doubt(&mut self, now: Time) {
        for (_, known) in &mut self.known {
            known.variance = ERROR_FIRST.powi(2);
            (known.next, known.wait) = (known.next.min(now), SOON);
        }
    }

    /// Takes the slot that ends `now`. The mean packet takes `packet_s` seconds. A dip may begin of one of
    /// the stations in `unseen`. Returns whether a dip has ended, after which weights are new.
    pub(super) fn take(
        &mut self,
        now: Time,
        slot: Slot,
        unseen: &[UnseenPart],
        packet_s: f64,
    ) -> bool {
        // Errors in what is seen may leave the mean packet no airtime, or a negative one.
        let is_told = packet_s > 0.0;
        if let Some(mut dip) = self.dip.take() {
            dip.slots.push(slot);
            if now < dip.until {
                self.dip = Some(dip);
                return false;
            }
            if now <= dip.until + BROKEN_OFF && is_told {
                let found = self.found(&dip, packet_s);
                if dip.goes_on(now, &found) {
                    dip.until = now + STEP;
                    self.dip = Some(dip);
                    return false;
                }
                self.learn(now, &dip, &found, packet_s);
            }
            (self.next, self.ended) = (Some(now + APART), Some(now));
            self.usual.clear();
            return true;
        }
        if self.ended.is_none_or(|at| now > at + CONTAINED) {
            if self.usual.len() == USUAL_SLOTS.1 {
                self.usual.pop_front();
            }
            self.usual.push_back(slot);
        }
        let next = *self.next.get_or_insert(now + FIRST);
        if now >= next && self.usual.len() >= USUAL_SLOTS.0 && is_told {
            self.begin(now, unseen, packet_s);
        }
        false
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
        let left = || self.usual.iter().map(|slot| slot.left);
        let usual = mean(left());
        let deviation = mean(left().map(|left| (left - usual).powi(2))).sqrt();
        let (slots, usual_slots) = (slots as f64, self.usual.len() as f64);
        deviation.max(NOISE_LEAST) * (1.0 / slots + 1.0 / usual_slots).sqrt()
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
        let beyond_s = found.seconds - found.before_s;
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

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT_S: f64 = 0.1;
    const ROUND_S: f64 = 10e-3;
    /// Share of the time for each station.
    const SHARE: f64 = 0.2;

    /// Packets in a frame of a station, if one takes `packet_s` seconds: 64, or 5.484 ms (802.11ac).
    fn frame_most(packet_s: f64) -> f64 {
        (5.484e-3 / packet_s).min(64.0)
    }

    /// Stations that nobody sees, in slots without noise.
    struct Cell {
        now: Time,
        /// Airtimes per packet, seconds.
        packet_s: Vec<f64>,
        /// Packets at the access point.
        queues: Vec<f64>,
        /// Airtime of the mean packet, by the usual slots, seconds.
        mean_s: f64,
        solo: SoloDips,
    }

    impl Cell {
        fn new(packet_us: &[f64]) -> Self {
            let packet_s: Vec<f64> = packet_us.iter().map(|us| us * 1e-6).collect();
            Self {
                now: Time::ZERO,
                queues: vec![0.0; packet_s.len()],
                mean_s: packet_s.iter().sum::<f64>() / packet_s.len() as f64,
                packet_s,
                solo: SoloDips::default(),
            }
        }

        fn assumed_s(&self, index: usize) -> f64 {
            self.solo.weight(StationId::from_index(index)) * self.mean_s
        }

        /// Runs a slot. Returns the part of the usual rate that each station is sent.
        fn run_slot(&mut self) -> Vec<f64> {
            let indices = 0..self.packet_s.len();
            let id = StationId::from_index;
            let rate_part = |index| self.solo.rate_part(self.now, id(index));
            let parts: Vec<f64> = indices.clone().map(rate_part).collect();
            let part = |index: usize| {
                let packet_s = self.assumed_s(index);
                // As the law, no more than frames hold.
                let packets = (SHARE * ROUND_S / packet_s).min(0.93 * frame_most(packet_s));
                UnseenPart {
                    station: id(index),
                    may_dip: true,
                    weight: self.solo.weight(id(index)),
                    pps: parts[index] * packets / ROUND_S,
                    packet_s,
                    bits: 1e4,
                    uplink_per_s: 0.0,
                }
            };
            let unseen: Vec<UnseenPart> = indices.clone().map(part).collect();
            let mut left = 0.0;
            for index in indices {
                let held = self.queues[index] + unseen[index].pps * SLOT_S;
                let most = frame_most(self.packet_s[index]) / ROUND_S;
                let pps = (held / SLOT_S).min(most);
                self.queues[index] = held - pps * SLOT_S;
                left += pps * self.packet_s[index];
            }
            self.now += Duration::from_secs_f64(SLOT_S);
            let weighted_pps: f64 = unseen.iter().map(|part| part.weight * part.pps).sum();
            if !self.solo.is_dip(self.now) && weighted_pps > 0.0 {
                self.mean_s += 0.5 * (left / weighted_pps - self.mean_s);
            }
            let slot = Slot::new(left * ROUND_S, ROUND_S, &unseen);
            self.solo.take(self.now, slot, &unseen, self.mean_s);
            parts
        }

        fn run(&mut self, seconds: u32) {
            for _ in 0..10 * seconds {
                self.run_slot();
            }
        }
    }

    #[test]
    fn stations_of_different_rates_are_told_apart() {
        for packet_us in [&[27.0, 175.0][..], &[27.0, 60.0, 175.0], &[100.0, 12.0]] {
            let mut cell = Cell::new(packet_us);
            cell.run(40);
            for (index, us) in packet_us.iter().enumerate() {
                let ratio = cell.assumed_s(index) / (us * 1e-6);
                assert!((0.85..1.15).contains(&ratio), "{packet_us:?} us: {ratio}");
            }
        }
    }

    #[test]
    fn equal_stations_stay_equal_and_lose_little() {
        let mut cell = Cell::new(&[60.0, 60.0]);
        cell.run(30);
        let slots = 600;
        let sent: f64 = (0..slots).map(|_| cell.run_slot()[0]).sum();
        assert!(sent > 0.98 * f64::from(slots), "{sent}");
        let ratio = cell.assumed_s(0) / cell.assumed_s(1);
        assert!((0.97..1.03).contains(&ratio), "{ratio}");
    }

    #[test]
    fn one_station_has_no_dips() {
        let mut cell = Cell::new(&[60.0]);
        for _ in 0..200 {
            assert_eq!(cell.run_slot(), [1.0]);
        }
    }

    #[test]
    fn a_station_that_the_access_point_holds_packets_for_is_not_taken_for_fast() {
        let mut cell = Cell::new(&[27.0, 175.0]);
        cell.queues[1] = 500.0;
        cell.run(40);
        let ratio = cell.assumed_s(1) / 175e-6;
        assert!((0.85..1.15).contains(&ratio), "{ratio}");
        assert!(cell.queues[1] < 30.0, "{} packets", cell.queues[1]);
    }

    #[test]
    fn after_a_change_the_ratio_is_learnt_anew() {
        let mut cell = Cell::new(&[27.0, 27.0]);
        cell.run(60);
        cell.packet_s[1] = 60e-6;
        cell.solo.doubt(cell.now);
        cell.run(20);
        let ratio = cell.assumed_s(1) / cell.assumed_s(0);
        assert!((1.7..2.7).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_station_that_leaves_in_its_dip_is_forgotten() {
        let mut cell = Cell::new(&[27.0, 175.0]);
        let dip = (0..100).find_map(|_| cell.run_slot().iter().position(|&part| part < 1.0));
        let station = StationId::from_index(dip.expect("a dip within ten seconds"));
        cell.run(5);
        cell.solo.remove(station);
        assert_eq!(cell.solo.weight(station), 1.0);
    }

    #[test]
    fn while_nothing_is_left_for_the_stations_nothing_is_learnt() {
        let mut cell = Cell::new(&[27.0, 175.0]);
        let dip = (0..100).find(|_| cell.run_slot().iter().any(|&part| part < 1.0));
        assert!(dip.is_some());
        for packet_s in [-1e-6, 0.0, f64::NAN] {
            for _ in 0..30 {
                cell.now += Duration::from_secs_f64(SLOT_S);
                let slot = Slot::new(-1e-3, ROUND_S, &[]);
                cell.solo.take(cell.now, slot, &[], packet_s);
            }
        }
        let weights = [0, 1].map(|index| cell.solo.weight(StationId::from_index(index)));
        assert_eq!(weights, [1.0, 1.0]);
    }

    #[test]
    fn a_dip_whose_end_is_missing_is_broken_off() {
        let mut cell = Cell::new(&[27.0, 175.0]);
        let dip = (0..100).find_map(|_| cell.run_slot().iter().position(|&part| part < 1.0));
        assert!(dip.is_some());
        cell.now += Duration::from_secs(5);
        assert!(!cell.solo.is_dip(cell.now));
        let sent = cell.run_slot();
        assert_eq!(sent, [1.0, 1.0]);
        assert_eq!(
            [cell.solo.weight(StationId::from_index(0)), 1.0],
            [1.0, 1.0]
        );
    }
}
