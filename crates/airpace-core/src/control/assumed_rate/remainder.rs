//! What stations that are seen leave of the round for the others.

use super::dip::{Dips, Taken};
use super::median::weighted_median;
use super::round::UnseenPart;
use super::slot::Slot;
use super::solo::{self, SoloDips};
use airpace_units::{StationId, Time};
use std::collections::VecDeque;

/// Part of the way that the airtime per packet goes per slot towards what the slots tell.
const GAIN: f64 = 0.2;
/// Slots that are remembered.
const SLOTS: usize = 30;
/// Slots that tell whether the airtime per packet has changed.
const RECENT: usize = 4;
/// Share of the time from which it has.
const CHANGED: f64 = 0.15;
/// Error of the time that stations which are seen and other networks take, as a part of it.
const ERROR: f64 = 0.05;
/// Least airtime of the mean packet as a part of the usual one, during dips of single stations and
/// introductions: what slots leave may be negative, and their results are divided by it.
const SOLO_LEAST: f64 = 0.25;
/// The same before the first dip or introduction: the times that are seen at the beginning of downloads are too
/// long, so that slots leave too little.
const UNTESTED_LEAST: f64 = 0.5;
/// Share of the time of others from which they count as there.
const OTHERS_LEAST: f64 = 0.05;
/// Round at which the weights of slots with and without others are alike, seconds.
const USUAL_ROUND_S: f64 = 10e-3;

/// What one slot's round leaves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct SlotRemainder {
    /// Time of a round that the stations that are seen do not explain, seconds. It is a small difference of
    /// large times, and below zero in some slots.
    pub(super) left_s: f64,
    /// Packets per round to stations whose frames no sensor sees. The more they are, the less an error of
    /// the round counts.
    pub(super) packets: f64,
    /// Number of those stations.
    pub(super) unseen: f64,
    /// Frames of the access point in a round.
    pub(super) frames: f64,
    /// The round, seconds.
    pub(super) round_s: f64,
    /// Usual airtime of a packet in the cell with what collisions cost, seconds, by the stations that are
    /// seen.
    pub(super) usual_packet_s: f64,
    /// The same at the lowest PHY rate, seconds.
    pub(super) slowest_packet_s: f64,
    /// Time of a round that other networks were known to take, seconds.
    pub(super) foreign_s: f64,
    /// Time of a round that stations which are seen take, seconds.
    pub(super) seen_s: f64,
}

/// The airtime per packet over the last slots.
///
/// The times that are seen are wrong for a second or two now and then, when answers come a frame later
/// than usual, and then all in one direction. So the median counts, not the mean.
#[derive(Clone, Debug, Default)]
pub(super) struct Remainder {
    slots: VecDeque<SlotRemainder>,
    dips: Option<Dips>,
    solo: SoloDips,
}

/// What a slot tells of the airtime per packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Told {
    /// Seconds.
    pub(super) packet_s: f64,
    /// Part of the way to go towards it.
    pub(super) gain: f64,
}

impl Remainder {
    /// Part of the usual rate that a station whose frames no sensor sees is to be sent from `now` on.
    pub(super) fn rate_part(&self, now: Time, station: StationId) -> f64 {
        let of_all = self.dips.as_ref().map_or(1.0, |dips| dips.rate_part(now));
        of_all * self.solo.rate_part(now, station)
    }

    /// Whether all or one of those stations are sent less.
    pub(super) fn is_dip(&self, now: Time) -> bool {
        let is_of_all = self
            .dips
            .as_ref()
            .is_some_and(|dips| dips.rate_part(now) < 1.0);
        is_of_all || self.solo.is_dip(now)
    }

    /// Whether those stations are sent more or less than usual, or have been a moment ago.
    pub(super) fn is_unusual(&self, now: Time) -> bool {
        self.dips.as_ref().is_some_and(|dips| dips.is_unusual(now)) || self.solo.is_unusual(now)
    }

    /// Whether those stations are being introduced, or have been a moment ago.
    pub(super) fn is_introduced(&self, now: Time) -> bool {
        self.solo.is_introduced(now)
    }

    /// Airtime per packet of a station over the one that is told.
    pub(super) fn weight(&self, station: StationId) -> f64 {
        self.solo.weight(station)
    }

    pub(super) fn remove(&mut self, station: StationId) {
        self.solo.remove(station);
    }

    /// Adds a slot that ends `now`, by means over the last frames; `alone` is the same without the frames
    /// before the slot.
    pub(super) fn add(
        &mut self,
        now: Time,
        slot: SlotRemainder,
        alone: &SlotRemainder,
        unseen: &[UnseenPart],
    ) -> Option<Told> {
        let foreign_s = slot.foreign_s / slot.frames;
        let dips = self.dips.get_or_insert_with(|| Dips::new(now, foreign_s));
        let (slots, usual_packet_s) = (&self.slots, slot.usual_packet_s);
        let packet_s =
            |others_s| packet_s(slots, others_s, usual_packet_s).unwrap_or(usual_packet_s);
        let solo_left_s = alone.left_s - dips.others_s() * alone.frames;
        let solo_slot = Slot::new(solo_left_s, alone, unseen);
        self.solo.notice(now, unseen);
        if self.solo.is_dip(now) {
            let packet_s = packet_s(dips.others_s()).max(SOLO_LEAST * usual_packet_s);
            return Some(self.take_solo(now, solo_slot, packet_s));
        }
        match dips.take(now, alone, packet_s) {
            Taken::Usual if slot.packets < 1.0 => return None,
            Taken::Usual => {}
            Taken::Dip => {
                return Some(Told {
                    packet_s: packet_s(dips.others_s()),
                    gain: 0.0,
                });
            }
            Taken::Queue(packet_s) => {
                self.slots.clear();
                return Some(Told {
                    packet_s,
                    gain: 1.0,
                });
            }
        }
        if self.slots.len() == SLOTS {
            self.slots.pop_front();
        }
        self.slots.push_back(slot);
        let others_s = dips.others_s();
        let told_s = self::packet_s(&self.slots, others_s, usual_packet_s)?;
        let recent = self.slots.iter().rev().take(RECENT);
        let recent_s = weighted_median(recent.map(|slot| slot.weighted(others_s)))?;
        let rise_s = (recent_s - told_s) * slot.packets;
        let is_rise = rise_s > CHANGED * slot.round_s;
        let is_fall = -rise_s > CHANGED * slot.round_s;
        // Where no other network is known, a fall is believed without a dip.
        if is_rise || is_fall && slot.has_others(dips.others_s()) {
            dips.hasten(now);
        }
        if is_rise || is_fall {
            self.solo.doubt(now);
        }
        // Before a dip of all that is due, what is left tells little of one station; an introduction begins
        // with such a dip.
        let waits = dips.is_first_due(&slot, told_s) && !self.solo.will_introduce(now);
        let may_dip = if dips.leave_room(now, &slot) && !waits {
            unseen
        } else {
            &[]
        };
        self.solo.take(now, solo_slot, may_dip, told_s);
        let least_s = if dips.is_first() && !self.solo.has_introduced() {
            UNTESTED_LEAST * usual_packet_s
        } else {
            dips.floor_s()
        };
        Some(Told {
            packet_s: told_s.max(least_s),
            gain: GAIN,
        })
    }

    /// Adds a slot that ends `now` and has no round, because the access point holds no packets. Only while
    /// stations are introduced does that tell something.
    pub(super) fn add_idle(&mut self, now: Time, unseen: &[UnseenPart]) -> Option<Told> {
        let last = self.slots.back()?;
        if !self.solo.is_introduced(now) {
            return None;
        }
        let others_s = self.dips.as_ref().map_or(0.0, Dips::others_s);
        let usual_packet_s = last.usual_packet_s;
        let packet_s = packet_s(&self.slots, others_s, usual_packet_s)?;
        let slot = Slot::new(0.0, last, unseen);
        Some(self.take_solo(now, slot, packet_s.max(SOLO_LEAST * usual_packet_s)))
    }

    /// Takes a slot of a dip of a single station or of an introduction. The mean packet takes `packet_s` seconds.
    fn take_solo(&mut self, now: Time, slot: Slot, packet_s: f64) -> Told {
        let (packet_s, gain) = match self.solo.take(now, slot, &[], packet_s) {
            solo::Ended::Nothing => (packet_s, 0.0),
            solo::Ended::Dip => (packet_s, 1.0),
            solo::Ended::Quiet(others_s) => {
                if let Some(dips) = &mut self.dips {
                    dips.add_others(now, others_s);
                }
                (packet_s, 0.0)
            }
            solo::Ended::Introduction(packet_s) => {
                // By the weights before, they tell of another mean packet.
                self.slots.clear();
                (packet_s, 1.0)
            }
        };
        Told { packet_s, gain }
    }
}

impl SlotRemainder {
    /// A round of a cell in which a packet usually takes 60 µs, for tests of what single slots leave.
    #[cfg(test)]
    pub(super) fn of_round(round_s: f64, frames: f64) -> Self {
        Self {
            left_s: 0.0,
            packets: 0.0,
            unseen: 1.0,
            frames,
            round_s,
            usual_packet_s: 60e-6,
            slowest_packet_s: f64::INFINITY,
            foreign_s: 0.0,
            seen_s: 0.0,
        }
    }

    /// Airtime per packet if others take so much per frame, seconds, and its weight.
    fn weighted(&self, others_s: f64) -> (f64, f64) {
        let left_s = self.left_s - others_s * self.frames;
        let weight = if self.has_others(others_s) {
            // By packets per round, slots in which others took much, so that rounds were long, would count
            // more.
            self.packets / self.round_s * USUAL_ROUND_S
        } else {
            self.packets
        };
        (left_s / self.packets, weight)
    }

    /// Whether other networks use the channel, if they take so much per frame.
    pub(super) fn has_others(&self, others_s: f64) -> bool {
        others_s * self.frames > OTHERS_LEAST * self.round_s
    }
}

/// Airtime per packet by the slots, if others take so much per frame, seconds; `None` without slots. What
/// differs from that which is usual in the cell by no more than its error is that: of one station among
/// twenty the slots tell nothing.
fn packet_s(slots: &VecDeque<SlotRemainder>, others_s: f64, usual_packet_s: f64) -> Option<f64> {
    let told_s = weighted_median(slots.iter().map(|slot| slot.weighted(others_s)))?;
    let seen_s: f64 = slots.iter().map(|slot| slot.seen_s).sum();
    let frames: f64 = slots.iter().map(|slot| slot.frames).sum();
    let packets: f64 = slots.iter().map(|slot| slot.packets).sum();
    let error_s = ERROR * (seen_s + others_s.max(0.0) * frames) / packets;
    let beyond_s = told_s - usual_packet_s;
    let trust = (1.0 - (error_s / beyond_s).powi(2)).max(0.0);
    let slowest_s = slots.back()?.slowest_packet_s;
    Some((usual_packet_s + trust * beyond_s).min(slowest_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    /// A slot of a cell in which nothing else is uncertain.
    fn slot(packet_s: f64, packets: f64) -> SlotRemainder {
        SlotRemainder {
            left_s: packet_s * packets,
            packets,
            unseen: 1.0,
            frames: 3.0,
            round_s: 10e-3,
            usual_packet_s: 1e-3,
            slowest_packet_s: f64::INFINITY,
            foreign_s: 0.0,
            seen_s: 0.0,
        }
    }

    fn told_s(remainder: &mut Remainder, slot: SlotRemainder) -> f64 {
        // At one moment there is no dip.
        remainder
            .add(Time::ZERO, slot, &slot, &[])
            .map_or(f64::NAN, |told| told.packet_s)
    }

    #[test]
    fn slots_that_are_wrong_together_do_not_move_the_median() {
        let mut remainder = Remainder::default();
        let of_cell = |packet_us: f64| SlotRemainder {
            usual_packet_s: 60e-6,
            ..slot(packet_us * 1e-6, 20.0)
        };
        for number in 0..100 {
            let packet_us = if number % 30 < 10 {
                150.0
            } else {
                55.0 + f64::from(number % 5)
            };
            let told = told_s(&mut remainder, of_cell(packet_us));
            assert!(number <= 30 || (55e-6..60e-6).contains(&told), "{told}");
        }
    }

    #[test]
    fn slots_with_few_packets_count_less() {
        let mut remainder = Remainder::default();
        for packets in [1.0, 1.0, 1.0, 10.0] {
            told_s(&mut remainder, slot(packets, packets));
        }
        let told = told_s(&mut remainder, slot(0.0, 1.0));
        assert!((told - 10.0).abs() < 1e-12, "{told}");
    }

    #[test]
    fn a_change_is_followed_after_half_of_the_memory() {
        let mut remainder = Remainder::default();
        for _ in 0..SLOTS {
            told_s(&mut remainder, slot(1.0, 5.0));
        }
        let slots = (1..).find(|_| told_s(&mut remainder, slot(2.0, 5.0)) > 1.5);
        assert_eq!(slots, Some(SLOTS / 2 + 1));
    }

    #[test]
    fn one_of_many_stations_has_the_usual_airtime_unless_it_takes_far_more() {
        // The error of 25 ms that are seen is as much as 25 packets take.
        let one_of_many = |packet_us: f64| SlotRemainder {
            seen_s: 25e-3,
            usual_packet_s: 40e-6,
            ..slot(packet_us * 1e-6, 25.0)
        };
        for packet_us in [-5.0, 10.0, 70.0] {
            let told = told_s(&mut Remainder::default(), one_of_many(packet_us));
            assert_eq!(told, 40e-6, "{packet_us}");
        }
        let told = told_s(&mut Remainder::default(), one_of_many(400.0));
        assert!((390e-6..400e-6).contains(&told), "{told}");
    }

    #[test]
    fn an_introduction_goes_on_although_what_is_left_is_negative() {
        let station = StationId::from_index(0);
        let mut remainder = Remainder::default();
        let overdrawn = slot(-50e-6, 20.0);
        let (mut quiet, mut longest_quiet) = (0, 0);
        for number in 0..40 {
            let now = Time::ZERO + Duration::from_millis(100 * number);
            let unseen = UnseenPart::of_test(station, 2e3 * remainder.rate_part(now, station));
            let told = remainder.add(now, overdrawn, &overdrawn, &[unseen]);
            quiet = if remainder.is_introduced(now) {
                quiet + 1
            } else {
                0
            };
            if quiet > 1 {
                assert!(told.is_some_and(|told| told.packet_s > 0.0), "{told:?}");
            }
            longest_quiet = quiet.max(longest_quiet);
        }
        // The quiet and the turn.
        assert!(longest_quiet >= 12, "{longest_quiet}");
    }

    #[test]
    fn where_nothing_waits_it_is_quiet() {
        let station = StationId::from_index(0);
        let mut remainder = Remainder::default();
        let mut has_turn = false;
        for number in 0..40 {
            let now = Time::ZERO + Duration::from_millis(100 * number);
            let unseen = UnseenPart::of_test(station, 2e3 * remainder.rate_part(now, station));
            if remainder.is_introduced(now) {
                remainder.add_idle(now, &[unseen]);
            } else {
                let loaded = slot(300e-6, 20.0);
                remainder.add(now, loaded, &loaded, &[unseen]);
            }
            has_turn |= remainder.rate_part(now, station) > 1.0;
        }
        assert!(has_turn);
    }

    #[test]
    fn a_packet_takes_no_longer_than_at_the_lowest_rate() {
        let endless = SlotRemainder {
            slowest_packet_s: 1.5e-3,
            ..slot(1.0, 2.0)
        };
        assert_eq!(told_s(&mut Remainder::default(), endless), 1.5e-3);
    }
}
