//! The first seconds of stations whose frames no sensor sees.
//!
//! Until something is known of them, their airtimes are a guess, and if there are several, one guess for all. A slow
//! station is then sent more than its frames hold, and the access point's queue fills. While it holds one,
//! what goes in a dip of a single station is not that station's. So all are sent little first, until the
//! queue is gone, and then each in turn its usual rate and more for some slots. What is left beyond the
//! quiet, until it is quiet again, over the packets sent is the station's airtime per packet, however long
//! the access point held them.

use super::dip::BROKEN_OFF;
use super::slot::{Slot, mean, mean_and_deviation};
use super::solo::{NOISE_LEAST, SLOW_ERROR};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Most stations that are introduced one after another: all of them are sent little for that long.
pub(super) const STATIONS_MOST: usize = 4;
/// Part of the usual rate of those whose turn it is not.
pub(super) const QUIET_PART: f64 = 0.1;
/// Time of quiet at the beginning, at the least and at the most: stations that are seen have to become known,
/// and the access point may hold a queue.
const QUIET: (Duration, Duration) = (Duration::from_millis(800), Duration::from_secs(2));
/// The most of it while that queue drains still.
const DRAINED: Duration = Duration::from_millis(3500);
/// The most if the access point may hold so much that it drains for longer, and its part of the time then.
const HELD_MOST: Duration = Duration::from_millis(5500);
const DRAINING_PART: f64 = 0.3;
/// While it becomes quiet, the next slot comes within this time: stations that are seen have to become known, or
/// have lost packets at the access point and wait for their retransmission.
const SLOT_WITHIN: Duration = Duration::from_millis(1500);
/// It is quiet while what is left is no more than this share of the time. If it is more, other networks use the
/// channel ...
const QUIET_MOST: f64 = 0.15;
/// ... unless it has fallen by so much in the second half of that time: then a queue drains.
const DRAINING: f64 = 0.12;
/// A turn, and the quiet after it at the least and at the most.
const TURN: Duration = Duration::from_millis(400);
const FALL: (Duration, Duration) = (Duration::from_millis(200), Duration::from_millis(3500));
/// The same beside other networks, whose frames come at random.
const TURN_BESIDE: Duration = Duration::from_millis(600);
const FALL_BESIDE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_millis(400));
/// After a turn it is quiet again if what is left differs by no more than this share of the time from what was
/// left before.
const FALLEN: f64 = 0.06;
/// Slots at the end of a quiet time that tell what is left in it.
const LAST: usize = 2;
/// If a slot of a turn leaves less than this share of the time beyond the quiet, the next has twice the rate, up
/// to so many times the usual one.
const SIGNAL: f64 = 0.25;
const RATE_MOST: f64 = 4.0;
/// A turn ends early once so many packets have been sent and a slot leaves more than this share of the time beyond
/// the quiet: the access point queues them, and would soon drop some.
const PACKETS_ENOUGH: f64 = 1000.0;
const SATURATED: f64 = 0.35;

/// What one station's turn has told.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Introduced {
    pub(super) station: StationId,
    /// Airtime per packet, and its error; seconds.
    pub(super) seconds: f64,
    pub(super) error_s: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Introduction {
    /// Stations in the order of their turns; the first has its own, unless it is still quiet.
    waiting: Vec<StationId>,
    /// All of them.
    stations: Vec<StationId>,
    quiet_part: f64,
    /// After so long it is as quiet as it becomes.
    quiet_most: Duration,
    stage: Stage,
    /// Factor on the usual rate of the one whose turn it is.
    rate_factor: f64,
    /// When the quiet at the beginning, or the turn, has begun.
    begun: Time,
    /// When the turn's rise has ended.
    risen: Time,
    /// The slots of the stage, or of the turn and the fall after it.
    slots: Vec<Slot>,
    last: Time,
    introduced: Vec<Introduced>,
    /// What is left while it is quiet, as a share of the time, and packets per second sent then.
    quiet: f64,
    quiet_pps: Vec<(StationId, f64)>,
    /// Standard deviation of what a slot leaves, and whether other networks are the reason.
    noise: f64,
    is_beside: bool,
}

/// What a slot has brought.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Taken {
    Nothing,
    /// It is as quiet as it becomes: other networks take so much time per frame of the access point, seconds.
    Others(f64),
    /// The end.
    All,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Stage {
    Quiet,
    Rise,
    Fall,
}

impl Introduction {
    /// Begins with a quiet time `now`. The access point may hold packets to the stations that take `held_s` seconds.
    pub(super) fn new(now: Time, stations: Vec<StationId>, quiet_part: f64, held_s: f64) -> Self {
        let drained_s = (held_s / DRAINING_PART).min(HELD_MOST.as_secs_f64());
        let drained = Duration::try_from_secs_f64(drained_s).unwrap_or_default();
        Self {
            quiet_most: QUIET.1.max(drained),
            waiting: stations.clone(),
            stations,
            quiet_part,
            stage: Stage::Quiet,
            rate_factor: 1.0,
            begun: now,
            risen: now,
            slots: Vec::new(),
            last: now,
            introduced: Vec::new(),
            quiet: 0.0,
            quiet_pps: Vec::new(),
            noise: NOISE_LEAST,
            is_beside: false,
        }
    }

    /// Part of the usual rate that the station is sent from `now` on.
    pub(super) fn rate_part(&self, now: Time, station: StationId) -> f64 {
        if self.is_broken_off(now) || !self.stations.contains(&station) {
            1.0
        } else if self.stage == Stage::Rise && self.waiting.first() == Some(&station) {
            self.rate_factor
        } else {
            self.quiet_part
        }
    }

    /// The stations that are introduced.
    pub(super) fn stations(&self) -> impl Iterator<Item = StationId> + '_ {
        self.stations.iter().copied()
    }

    /// Whether it has been quiet.
    pub(super) fn has_turns(&self) -> bool {
        self.stage != Stage::Quiet
    }

    /// What the turns have told.
    pub(super) fn introduced(&self) -> &[Introduced] {
        &self.introduced
    }

    /// Whether slots have been missing.
    pub(super) fn is_broken_off(&self, now: Time) -> bool {
        let patience = match self.stage {
            Stage::Quiet => SLOT_WITHIN,
            Stage::Rise | Stage::Fall => BROKEN_OFF,
        };
        now > self.last + patience
    }

    /// Forgets a station that has left.
    pub(super) fn remove(&mut self, station: StationId) {
        if self.stage != Stage::Quiet && self.waiting.first() == Some(&station) {
            self.begin_turn();
        }
        self.waiting.retain(|of| *of != station);
        self.stations.retain(|of| *of != station);
        self.introduced.retain(|of| of.station != station);
    }

    /// Takes the slot that ends `now`. The mean packet takes about `packet_s` seconds.
    pub(super) fn take(&mut self, now: Time, slot: Slot, packet_s: f64) -> Taken {
        self.last = now;
        let left = slot.left;
        self.slots.push(slot);
        let (turn, fall) = if self.is_beside {
            (TURN_BESIDE, FALL_BESIDE)
        } else {
            (TURN, FALL)
        };
        let time = now.saturating_since(self.begun);
        match self.stage {
            Stage::Quiet => return self.take_quiet(now),
            Stage::Rise if time >= turn || self.is_saturated(left) => {
                self.risen = now;
                self.stage = Stage::Fall;
            }
            // Beside other networks one slot tells nothing.
            Stage::Rise if !self.is_beside && left - self.quiet < SIGNAL => {
                self.rate_factor = (2.0 * self.rate_factor).min(RATE_MOST);
            }
            Stage::Rise => {}
            Stage::Fall => {
                let fallen = now.saturating_since(self.risen);
                let is_quiet = (left - self.quiet).abs() < FALLEN && fallen >= fall.0;
                if is_quiet || fallen >= fall.1 {
                    self.conclude(packet_s);
                    self.begin_turn();
                }
            }
        }
        if self.waiting.is_empty() {
            Taken::All
        } else {
            Taken::Nothing
        }
    }

    /// Whether the access point holds enough packets to the station whose turn it is, after a slot that leaves so
    /// much.
    fn is_saturated(&self, left: f64) -> bool {
        let Some(&station) = self.waiting.first() else {
            return false;
        };
        let pps = mean(self.slots.iter().map(|slot| slot.sent_pps_of(station)));
        let packets = pps * self.last.saturating_since(self.begun).as_secs_f64();
        !self.is_beside && packets > PACKETS_ENOUGH && left - self.quiet > SATURATED
    }

    /// Looks whether it is quiet, or as quiet as it becomes.
    fn take_quiet(&mut self, now: Time) -> Taken {
        let time = now.saturating_since(self.begun);
        let left = mean_left(self.last(LAST));
        let mut taken = Taken::Nothing;
        if time >= QUIET.0 && left < QUIET_MOST {
            self.quiet = left;
        } else if time >= self.quiet_most {
            let last = self.last(self.slots.len().div_ceil(2));
            let (first, second) = last.split_at(last.len() / 2);
            if mean_left(first) - mean_left(second) > DRAINING && time < DRAINED {
                return taken;
            }
            let left_s: f64 = last.iter().map(|slot| slot.left * slot.round_s).sum();
            let frames: f64 = last.iter().map(|slot| slot.frames).sum();
            self.noise = mean_and_deviation(last.iter()).1.max(NOISE_LEAST);
            self.is_beside = true;
            taken = Taken::Others(left_s / frames.max(1.0));
        } else {
            return taken;
        }
        let last = self.last(LAST);
        let pps = |station| mean(last.iter().map(|slot| slot.sent_pps_of(station)));
        let of = |&station: &StationId| (station, pps(station));
        self.quiet_pps = self.waiting.iter().map(of).collect();
        self.begin_turn();
        taken
    }

    fn last(&self, slots: usize) -> &[Slot] {
        &self.slots[self.slots.len().saturating_sub(slots)..]
    }

    /// Begins the turn of the station that is now the first.
    fn begin_turn(&mut self) {
        (self.stage, self.rate_factor) = (Stage::Rise, 1.0);
        self.begun = self.last;
        self.slots.clear();
    }

    /// Ends the turn of the first station.
    fn conclude(&mut self, packet_s: f64) {
        let station = self.waiting.remove(0);
        let quiet_pps_of = |station| {
            let of = self.quiet_pps.iter().find(|of| of.0 == station);
            of.map_or(0.0, |of| of.1)
        };
        let sent = |slot: &Slot| slot.sent_pps_of(station) - quiet_pps_of(station);
        let pps: f64 = self.slots.iter().map(sent).sum();
        let explained: f64 = self.quiet_pps.iter().map(|of| of.1 * packet_s).sum();
        let (mean_left, deviation) = mean_and_deviation(self.slots.iter());
        let (base, noise) = if self.is_beside {
            // Others' time has been subtracted, and varies.
            (explained, deviation.max(self.noise))
        } else {
            // What is seen has errors that change slowly. The channel is idle at times while it is quiet,
            // and what is left then contains that.
            let quiet_after = self.slots.last().map_or(self.quiet, |slot| slot.left);
            self.quiet = 0.5 * (self.quiet + quiet_after);
            (0.5 * (self.quiet + explained), self.noise)
        };
        let slots = self.slots.len() as f64;
        let left = slots * (mean_left - base);
        let by_noise = noise * (slots + slots * slots / LAST as f64).sqrt();
        if pps > 0.0 {
            self.introduced.push(Introduced {
                station,
                seconds: left / pps,
                error_s: by_noise.hypot(SLOW_ERROR * slots) / pps,
            });
        }
    }
}

fn mean_left(slots: &[Slot]) -> f64 {
    mean(slots.iter().map(|slot| slot.left))
}

#[cfg(test)]
mod tests {
    use super::super::remainder::SlotRemainder;
    use super::super::round::UnseenPart;
    use super::*;

    const SLOT: Duration = Duration::from_millis(100);
    const ROUND_S: f64 = 20e-3;
    const FRAMES: f64 = 4.0;

    fn slot(left: f64, pps: &[f64]) -> Slot {
        let part =
            |(index, &pps): (usize, &f64)| UnseenPart::of_test(StationId::from_index(index), pps);
        let unseen: Vec<UnseenPart> = pps.iter().enumerate().map(part).collect();
        Slot::new(
            left * ROUND_S,
            &SlotRemainder::of_round(ROUND_S, FRAMES),
            &unseen,
        )
    }

    /// Introduces stations of these airtimes per packet beside other networks that take so much of the time per
    /// slot. Returns what was found of those, and of the stations.
    fn introduced(packet_us: &[f64], mut others: impl FnMut(u32) -> f64) -> (f64, Vec<Introduced>) {
        let id = StationId::from_index;
        let stations = (0..packet_us.len()).map(id).collect();
        let mut now = Time::ZERO;
        let mut introduction = Introduction::new(now, stations, QUIET_PART, 0.0);
        let mut known_others = 0.0;
        for number in 0.. {
            let part = |index| introduction.rate_part(now, id(index));
            let pps: Vec<f64> = (0..packet_us.len())
                .map(|index| 1e3 * part(index))
                .collect();
            let taken: f64 = pps
                .iter()
                .zip(packet_us)
                .map(|(pps, us)| pps * us * 1e-6)
                .sum();
            now += SLOT;
            let left = taken + others(number) - known_others;
            match introduction.take(now, slot(left, &pps), 60e-6) {
                Taken::Nothing => {}
                Taken::Others(others_s) => known_others = others_s * FRAMES / ROUND_S,
                Taken::All => break,
            }
        }
        (known_others, introduction.introduced().to_vec())
    }

    #[test]
    fn other_networks_are_told_from_a_queue_that_drains() {
        let (others, found) = introduced(&[60.0], |_| 0.4);
        assert!((0.39..0.42).contains(&others), "{others}");
        assert!((found[0].seconds * 1e6 - 60.0).abs() < 10.0, "{found:?}");
        let (others, found) = introduced(&[60.0], |slot| if slot < 15 { 0.5 } else { 0.0 });
        assert_eq!(others, 0.0);
        assert!((found[0].seconds * 1e6 - 60.0).abs() < 10.0, "{found:?}");
    }

    #[test]
    fn each_station_has_its_turn() {
        let packet_us = [25.0, 170.0, 60.0];
        let (_, found) = introduced(&packet_us, |_| 0.0);
        for (found, us) in found.iter().zip(packet_us) {
            assert!(
                (0.8..1.2).contains(&(found.seconds * 1e6 / us)),
                "{found:?}"
            );
            assert!(found.error_s * 1e6 < 80.0, "{found:?}");
        }
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn packets_that_the_access_point_holds_are_neither_other_networks_nor_lost_in_the_turn() {
        const PACKET_S: f64 = 400e-6;
        // It takes turns with a station that is seen, and drops what it cannot hold.
        const DRAINING: f64 = 0.55;
        const HOLDS_MOST: f64 = 2500.0;
        let id = StationId::from_index(0);
        let mut now = Time::ZERO;
        let mut held = HOLDS_MOST;
        // Twice as much has been sent before.
        let held_s = 2.0 * HOLDS_MOST * PACKET_S;
        let mut introduction = Introduction::new(now, vec![id], QUIET_PART, held_s);
        loop {
            let pps = 3e3 * introduction.rate_part(now, id);
            held = (held + pps * SLOT.as_secs_f64()).min(HOLDS_MOST);
            let gone = held.min(DRAINING * SLOT.as_secs_f64() / PACKET_S);
            held -= gone;
            now += SLOT;
            let left = gone * PACKET_S / SLOT.as_secs_f64();
            match introduction.take(now, slot(left, &[pps]), 60e-6) {
                Taken::Nothing => {}
                Taken::Others(others_s) => panic!("{others_s} after {now:?}"),
                Taken::All => break,
            }
        }
        let found = introduction.introduced();
        assert!(
            (0.8..1.2).contains(&(found[0].seconds / PACKET_S)),
            "{found:?}"
        );
    }

    #[test]
    fn without_slots_everybody_has_the_usual_rate_again() {
        let station = StationId::from_index(0);
        let mut introduction = Introduction::new(Time::ZERO, vec![station], QUIET_PART, 0.0);
        let after = |ms| Time::ZERO + Duration::from_millis(ms);
        assert_eq!(introduction.rate_part(after(1400), station), QUIET_PART);
        assert_eq!(introduction.rate_part(after(1600), station), 1.0);
        introduction.take(after(100), slot(0.1, &[100.0]), 60e-6);
        assert_eq!(introduction.rate_part(after(1500), station), QUIET_PART);
        assert_eq!(introduction.rate_part(after(1700), station), 1.0);
        // After some slots that were quiet the station has its turn.
        for ms in (200..1000).step_by(100) {
            introduction.take(after(ms), slot(0.1, &[100.0]), 60e-6);
        }
        assert!(introduction.has_turns() && !introduction.is_broken_off(after(1400)));
        assert!(introduction.is_broken_off(after(1500)));
    }
}
