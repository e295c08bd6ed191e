//! Dips: for half a second now and then, stations whose frames no sensor sees are sent little.
//!
//! What the stations that are seen leave of a round is the airtime of the others, and what other networks
//! take, and the errors of what is seen. One slot does not tell these apart. In a dip the first goes and
//! the rest stays. A dip also shows what the access point holds: if more is sent per round than it puts in
//! a frame, the round tells the airtime of a full frame, which divided by too many packets confirms the
//! error, and the queue stays for ever. In a dip that queue goes on the air first.

use super::median::medians;
use super::remainder::SlotRemainder;
use airpace_units::Time;
use core::time::Duration;

/// Time from the first slot with a remainder to the first dip. Each further one is twice as far from the
/// last, up to the longest time.
const FIRST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(8);
/// Time to the next after a dip that has changed what was known.
const SOON: Duration = Duration::from_secs(2);
/// Least time from the recovery to a dip that is begun early.
const APART: Duration = Duration::from_secs(1);
/// Length of the first part of a dip, of a short dip, and of one in which more remains than is explained:
/// the access point may still send what it held.
const FIRST_PART: Duration = Duration::from_millis(250);
const SHORT: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_millis(1500);
/// Time after a dip in which means over slots still contain it.
const RECOVERY: Duration = Duration::from_millis(600);
/// A dip in which slots are missing for so long has been broken off.
pub(super) const BROKEN_OFF: Duration = Duration::from_millis(500);
/// Rates in a dip as parts of the usual one, at the least: in its first part, and then.
const RATE_PARTS: [f64; 2] = [0.3, 0.08];
/// The first of them as a multiple of the second.
const FIRST_OVER_SECOND: f64 = 2.5;
/// A pacer that has sent a round's packets sends the next when the lower rate has made up for them. So
/// long may that take, seconds; calls and pings to the same station wait for it.
const DEBT_S: f64 = 0.15;
/// With longer rounds there would be no dip to speak of.
const RATE_PART_MOST: f64 = 0.4;
/// Slot of a dip, from zero, that has the rate of its first part.
const FIRST_PART_SLOT: usize = 2;
/// Slots at the end of a short and of a long dip that tell what remains.
const LAST: (usize, usize) = (2, 5);
/// A dip whose last slots have more than this part of the usual packets was none: the stations were sent
/// less than they were granted.
const DIPPED_MOST: f64 = 0.4;
/// Share of the time from which what remains is more than an error: twice the error of what is seen in
/// simulated cells without neighbours.
const UNEXPLAINED: f64 = 0.12;
/// The same beside other networks, whose frames come at random: parts of their share.
const OTHERS_VARY: f64 = 0.15;
const OTHERS_VARY_IN_SLOT: f64 = 0.3;
/// Airtimes per packet that differ from the usual one by this factor are unusual.
const UNUSUAL: f64 = 2.0;
/// Weight of a short dip in what others take. A long one replaces it.
const GAIN: f64 = 0.3;
/// Least and largest share of the time of others and errors.
const OTHERS_RANGE: (f64, f64) = (-0.1, 0.9);
/// If others' time would leave less than this part of the airtime per packet that was found before, or
/// that is usual in the cell, it is the access point's queue that remains.
const PLAUSIBLE: f64 = 0.4;
/// Longest time of a frame on the air with its acknowledgement and back-off, seconds: a PPDU lasts for
/// 5.484 ms at the most (aPPDUMaxTime, 802.11ac and ax).
const FRAME_MOST_S: f64 = 5.8e-3;
/// So many dips in a row may find one queue. What remains then is others' time.
const QUEUED_DIPS: u32 = 4;
/// Factors on the airtime per packet after a dip that has found a queue.
const QUEUED_RISE: (f64, f64) = (1.4, 2.0);
/// What is kept of the least airtime per packet after a dip that has found none.
const FLOOR_KEPT: f64 = 0.9;
/// Least airtime per packet as a part of the cell's usual one, for how much of a dip it explains.
const PACKET_LEAST: f64 = 0.1;

/// Least part of a rate in a dip while a round takes `round_s`; `None` if that is too long for dips.
pub(super) fn least_rate_part(round_s: f64) -> Option<f64> {
    let least = round_s / DEBT_S;
    (least < RATE_PART_MOST).then_some(least)
}

/// When dips take place, and what they have shown.
#[derive(Clone, Debug)]
pub(super) struct Dips {
    /// When the next may begin, and the time from the last to it.
    next: Time,
    wait: Duration,
    /// Until when means contain the last.
    recovered: Time,
    dip: Option<Dip>,
    /// Whether the access point held no queue at the end of the last.
    has_drained: bool,
    /// Dips so far, and those in a row that have found a queue.
    dips: u32,
    queued_dips: u32,
    /// Time per frame of the access point that remains in dips, seconds: other networks' frames, and errors of
    /// what is seen, which may be negative.
    others_s: f64,
    /// Least airtime per packet since a dip has found a queue, seconds.
    floor_s: f64,
    /// Whether the queue had come again with less, so that the slots do not tell what a packet takes.
    is_earned: bool,
}

#[derive(Clone, Debug)]
struct Dip {
    begun: Time,
    until: Time,
    /// When its last slot has ended.
    last: Time,
    rate_parts: [f64; 2],
    /// Packets per round before.
    packets: f64,
    slots: Vec<SlotRemainder>,
    /// Share of the time that remained at the end of the short dip, if it was prolonged.
    remained: f64,
}

/// What a slot is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Taken {
    /// One like most.
    Usual,
    /// Part of a dip, or of the time after it that means still contain.
    Dip,
    /// The end of a dip that has found that frames hold fewer packets than were sent. A packet takes so
    /// long, seconds.
    Queue(f64),
}

impl Dips {
    /// Other networks were known to take `others_s` per frame of the access point.
    pub(super) fn new(now: Time, others_s: f64) -> Self {
        Self {
            next: now + FIRST,
            wait: FIRST,
            recovered: now,
            dip: None,
            has_drained: true,
            dips: 0,
            queued_dips: 0,
            others_s,
            floor_s: 0.0,
            is_earned: false,
        }
    }

    /// Time per frame of the access point that neither what is seen nor the packets to the other stations
    /// take, seconds.
    pub(super) fn others_s(&self) -> f64 {
        self.others_s
    }

    /// Least airtime per packet, seconds.
    pub(super) fn floor_s(&self) -> f64 {
        self.floor_s
    }

    /// Whether one of the stations may be sent less than the others: beside other networks, what is left
    /// tells little of one.
    pub(super) fn leave_room(&self, now: Time, slot: &SlotRemainder) -> bool {
        self.rate_part(now) >= 1.0 && !slot.has_others(self.others_s)
    }

    /// Whether the first dip has not ended yet.
    pub(super) fn is_first(&self) -> bool {
        self.dips == 0
    }

    /// Whether the first dip of all is due. The mean packet takes `told_s`.
    pub(super) fn is_first_due(&self, slot: &SlotRemainder, told_s: f64) -> bool {
        self.is_first() && self.is_due(slot, |_| told_s)
    }

    /// Others take so much more time per frame than was known, as all stations have been sent little for long
    /// enough.
    pub(super) fn add_others(&mut self, now: Time, others_s: f64) {
        self.others_s += others_s;
        self.dips = self.dips.saturating_add(1);
        self.next = now + LONGEST;
    }

    /// Part of the usual rate from `now` on.
    pub(super) fn rate_part(&self, now: Time) -> f64 {
        match &self.dip {
            Some(dip) if now < dip.begun + FIRST_PART => dip.rate_parts[0],
            Some(dip) if now < dip.until => dip.rate_parts[1],
            _ => 1.0,
        }
    }

    /// Whether a dip lasts, or means contain it.
    pub(super) fn is_unusual(&self, now: Time) -> bool {
        let lasts = |dip: &Dip| now > dip.begun && now <= dip.until + BROKEN_OFF;
        self.dip.as_ref().is_some_and(lasts) || now < self.recovered
    }

    /// Has the next dip begin at once, unless one has just been.
    pub(super) fn hasten(&mut self, now: Time) {
        if now >= self.recovered + APART {
            self.next = self.next.min(now);
        }
    }

    /// Whether there is something that a dip may correct: an airtime that is unusual in the cell, or what
    /// earlier dips have found.
    fn is_due(&self, slot: &SlotRemainder, packet_s: impl Fn(f64) -> f64) -> bool {
        let ratio = packet_s(self.others_s) / slot.usual_packet_s;
        !(1.0 / UNUSUAL..UNUSUAL).contains(&ratio)
            || slot.has_others(self.others_s)
            || self.floor_s > 0.0
    }

    /// Takes the slot that ends `now`. `packet_s` is the airtime per packet by the usual slots, if others
    /// take so much per frame.
    pub(super) fn take(
        &mut self,
        now: Time,
        slot: &SlotRemainder,
        packet_s: impl Fn(f64) -> f64,
    ) -> Taken {
        let is_broken_off = |dip: &mut Dip| now > dip.last + BROKEN_OFF;
        if self.dip.take_if(is_broken_off).is_some() {
            self.next = now + self.wait;
        }
        let Some(mut dip) = self.dip.take() else {
            if now >= self.recovered && now >= self.next && self.is_due(slot, &packet_s) {
                self.dip = Dip::begin(now, slot);
            }
            return if now < self.recovered {
                Taken::Dip
            } else {
                Taken::Usual
            };
        };
        dip.slots.push(*slot);
        dip.last = now;
        if now < dip.until {
            self.dip = Some(dip);
            return Taken::Dip;
        }
        let told_s = packet_s(self.others_s).max(PACKET_LEAST * slot.usual_packet_s);
        // A queue that was gone has come again: what kept it short was too little.
        let before_s = if self.has_drained {
            told_s.max(self.floor_s)
        } else {
            told_s
        };
        let found = dip.found(self.others_s, before_s);
        if found.is_short && found.is_dip && found.usually > found.error {
            (dip.until, dip.remained) = (dip.begun + LONG, found.usually);
            self.dip = Some(dip);
            return Taken::Dip;
        }
        self.wait = if found.is_trusted() {
            SOON
        } else {
            (2 * self.wait).min(LONGEST)
        };
        self.next = now + self.wait;
        self.recovered = now + RECOVERY;
        if found.is_dip {
            let queue_s = self.conclude(slot, &found, packet_s);
            queue_s.map_or(Taken::Dip, Taken::Queue)
        } else {
            Taken::Dip
        }
    }

    /// Draws the conclusions from a dip that ends with `slot`. Returns the airtime per packet, seconds,
    /// if the access point held a queue. `packet_s` is as for [`Self::take`].
    fn conclude(
        &mut self,
        slot: &SlotRemainder,
        found: &Found,
        packet_s: impl Fn(f64) -> f64,
    ) -> Option<f64> {
        self.dips = self.dips.saturating_add(1);
        let gain = if found.is_trusted() { 1.0 } else { GAIN };
        let others_s = (self.others_s + gain * found.remains * found.per_frame_s)
            .max(OTHERS_RANGE.0 * found.per_frame_s)
            .min(OTHERS_RANGE.1 * found.per_frame_s);
        let leaves_enough =
            packet_s(others_s) > PLAUSIBLE * found.before_s.min(slot.usual_packet_s);
        // A queue that was there at the end of the last dip may be there still.
        let may_be_queued = !found.is_short && !self.has_drained && self.queued_dips < QUEUED_DIPS;
        let is_plausible =
            others_s < self.others_s || found.exceeds_frames || leaves_enough && !may_be_queued;
        if is_plausible {
            self.others_s = others_s;
        }
        let has_drained = found.usually < found.error_in_slot || !found.is_short && is_plausible;
        let had_drained = core::mem::replace(&mut self.has_drained, has_drained);
        let has_queued = !found.is_short && (found.fell || !is_plausible);
        self.queued_dips = if has_queued { self.queued_dips + 1 } else { 0 };
        if !has_queued {
            self.lower_floor(packet_s(self.others_s));
            return None;
        }
        if found.fell && self.dips == 1 && found.before_s >= slot.usual_packet_s {
            // While the queue drained, the slots told of more packets than were sent.
            return Some(found.before_s);
        }
        // Frames of a usual station would be full with so many packets.
        let most_s = (QUEUED_RISE.1 * found.before_s).max(slot.usual_packet_s);
        let queue_s = found.slope_s.max(QUEUED_RISE.0 * found.before_s);
        self.is_earned |= had_drained && self.floor_s > 0.0;
        self.floor_s = queue_s.min(most_s).min(slot.slowest_packet_s);
        Some(self.floor_s)
    }

    /// After a dip without a queue the least airtime per packet falls. The slots tell of `told_s`.
    fn lower_floor(&mut self, told_s: f64) {
        self.floor_s = if self.is_earned {
            FLOOR_KEPT * self.floor_s
        } else {
            // Without a queue the slots tell what a packet takes.
            self.floor_s.min(told_s)
        };
        self.is_earned &= self.floor_s > told_s;
    }
}

/// What the slots of a dip tell.
struct Found {
    is_short: bool,
    /// Whether less was sent.
    is_dip: bool,
    /// Whether others that were there have gone, or take less.
    has_fewer_others: bool,
    /// Airtime per packet that was known before, seconds.
    before_s: f64,
    /// Whether less remains than at the end of the short dip.
    fell: bool,
    /// Airtime per packet by the two parts of the dip, seconds.
    slope_s: f64,
    /// Whether more remains than the longest frames to the stations take: they cannot be all of it.
    exceeds_frames: bool,
    /// Time per frame of the access point, seconds.
    per_frame_s: f64,
    /// Share of the time that remains beyond what is known of others: the mean, and the lower median.
    remains: f64,
    usually: f64,
    /// Errors of it as shares of the time: of a dip, and of a slot.
    error: f64,
    error_in_slot: f64,
}

impl Found {
    /// Whether it replaces what was known of others, instead of being one dip among several.
    fn is_trusted(&self) -> bool {
        !self.is_short || self.has_fewer_others
    }
}

impl Dip {
    fn begin(now: Time, slot: &SlotRemainder) -> Option<Self> {
        let least = least_rate_part(slot.round_s)?;
        let second = RATE_PARTS[1].max(least);
        let first = (FIRST_OVER_SECOND * second).clamp(RATE_PARTS[0], 1.0);
        (slot.packets >= 1.0).then(|| Self {
            begun: now,
            until: now + SHORT,
            last: now,
            rate_parts: [first, second],
            packets: slot.packets,
            slots: Vec::new(),
            remained: 0.0,
        })
    }

    /// `others_s` is what is known of others, per frame; `before_s` the airtime per packet.
    fn found(&self, others_s: f64, before_s: f64) -> Found {
        let is_short = self.until < self.begun + LONG;
        let count = if is_short { LAST.0 } else { LAST.1 };
        let last = &self.slots[self.slots.len().saturating_sub(count)..];
        let mean = |of: &dyn Fn(&SlotRemainder) -> f64| {
            last.iter().map(of).sum::<f64>() / last.len() as f64
        };
        let left_s = |slot: &SlotRemainder| slot.left_s - others_s * slot.frames;
        let (packets, frames) = (mean(&|slot| slot.packets), mean(&|slot| slot.frames));
        let (round_s, mean_left_s) = (mean(&|slot| slot.round_s), mean(&left_s));
        let first = &self.slots[FIRST_PART_SLOT.min(self.slots.len() - 1)];
        let fewer = (first.packets - packets).max(0.0);
        let left_share = mean(&|slot| slot.left_s).max(0.0) / round_s;
        let error_in_slot = UNEXPLAINED + OTHERS_VARY_IN_SLOT * left_share;
        let others_share = others_s.max(0.0) * frames / round_s;
        let remains_in = |slot: &SlotRemainder| (left_s(slot) - before_s * slot.packets) / round_s;
        // Single slots show rounds that are too long by far, when nothing waits. Of two the less counts.
        let usually = medians(last.iter().map(remains_in)).map_or(0.0, |(lower, _)| lower);
        let remains = mean(&remains_in).min(usually + error_in_slot);
        let is_dip = packets < DIPPED_MOST * self.packets;
        Found {
            is_short,
            before_s,
            fell: self.remained - usually > error_in_slot,
            is_dip,
            has_fewer_others: is_dip && remains < -error_in_slot,
            slope_s: (left_s(first) - mean_left_s) / fewer.max(1.0),
            exceeds_frames: mean_left_s > FRAME_MOST_S * mean(&|slot| slot.unseen),
            per_frame_s: round_s / frames,
            remains,
            usually,
            error: UNEXPLAINED + OTHERS_VARY * others_share,
            error_in_slot,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::remainder::{Remainder, Told};
    use super::*;
    use airpace_units::StationId;

    const SLOT_S: f64 = 0.1;
    const USUAL_S: f64 = 35e-6;

    /// A cell with two stations that are seen and one that is not, in slots without noise.
    struct Cell {
        now: Time,
        /// Share of the time that is meant for the station that nobody sees.
        share: f64,
        /// Airtime per packet, seconds: true, and what is taken for it.
        packet_s: f64,
        assumed_s: f64,
        /// Other networks' time per frame, seconds.
        others_s: f64,
        /// Most packets in a frame.
        frame_most: f64,
        /// Packets at the access point.
        queue: f64,
        remainder: Remainder,
    }

    impl Cell {
        fn new(packet_s: f64, others_s: f64, frame_most: f64) -> Self {
            Self {
                now: Time::ZERO,
                share: 0.12,
                packet_s,
                assumed_s: USUAL_S,
                others_s,
                frame_most,
                queue: 0.0,
                remainder: Remainder::default(),
            }
        }

        /// Runs a slot. Returns the part of its share that the station is sent.
        fn run_slot(&mut self) -> f64 {
            const SEEN_S: f64 = 4e-3;
            let rate_part = self.remainder.rate_part(self.now, StationId::from_index(0));
            let pps = rate_part * self.share / self.assumed_s;
            let held = self.queue + pps * SLOT_S;
            // The longest frame of 802.11ac takes 5.484 ms.
            let frame_most = self.frame_most.min(5.4e-3 / self.packet_s);
            // The round depends on the packets in it, and these on the round.
            let (mut round_s, mut sent) = (SEEN_S, 0.0);
            for _ in 0..50 {
                sent = (held * round_s / SLOT_S).min(frame_most);
                round_s = SEEN_S + 3.0 * self.others_s + sent * self.packet_s;
            }
            self.queue = (held - sent * SLOT_S / round_s).clamp(0.0, 2500.0);
            self.now += Duration::from_secs_f64(SLOT_S);
            let slot = SlotRemainder {
                left_s: round_s - SEEN_S,
                packets: (pps * round_s).min(64.0),
                unseen: 1.0,
                frames: 3.0,
                round_s,
                usual_packet_s: USUAL_S,
                slowest_packet_s: f64::INFINITY,
                foreign_s: 0.0,
                seen_s: SEEN_S,
            };
            if let Some(Told { packet_s, gain }) = self.remainder.add(self.now, slot, &slot, &[]) {
                let assumed_s = self.assumed_s + gain * (packet_s - self.assumed_s);
                // As that of 802.11ax with two streams at 160 MHz, at the least.
                self.assumed_s = assumed_s.max(5e-6);
            }
            rate_part
        }

        /// Runs so many seconds. Returns the mean part that the station is sent.
        fn run(&mut self, seconds: u32) -> f64 {
            let slots = 10 * seconds;
            (0..slots).map(|_| self.run_slot()).sum::<f64>() / f64::from(slots)
        }
    }

    #[test]
    fn without_others_dips_change_nothing_and_become_rare() {
        // What is not far from the usual airtime is drawn towards it.
        for (packet_us, error) in [(17.0, 0.25), (35.0, 0.05), (350.0, 0.15)] {
            let mut cell = Cell::new(packet_us * 1e-6, 0.0, 64.0);
            cell.run(20);
            let sent = cell.run(60);
            let ratio = cell.assumed_s / cell.packet_s;
            assert!((ratio - 1.0).abs() < error, "{packet_us} us: {ratio}");
            assert!(sent > 0.94, "{packet_us} us: {sent}");
        }
    }

    #[test]
    fn another_network_is_not_charged_to_the_station() {
        for others_s in [0.5e-3, 2.5e-3, 5e-3] {
            let mut cell = Cell::new(35e-6, others_s, 64.0);
            cell.share = 0.08;
            cell.run(30);
            let ratio = cell.assumed_s / cell.packet_s;
            assert!((ratio - 1.0).abs() < 0.1, "{others_s} s: {ratio}");
        }
    }

    #[test]
    fn other_networks_whose_frames_come_at_random_are_not_charged_to_the_station() {
        let mut cell = Cell::new(35e-6, 5e-3, 64.0);
        cell.share = 0.08;
        let (mut ratios, slots) = (0.0, 600);
        for slot in 0..200 + slots {
            // Multiples of the golden ratio modulo one are even, and have no period.
            cell.others_s = 5e-3 * (0.5 + 0.618 * f64::from(slot) % 1.0);
            cell.run_slot();
            if slot >= 200 {
                ratios += cell.assumed_s / cell.packet_s;
            }
        }
        let ratio = ratios / f64::from(slots);
        assert!((ratio - 1.0).abs() < 0.3, "{ratio}");
    }

    #[test]
    fn what_is_longer_than_a_frame_is_no_queue() {
        let slot = |left_s: f64| SlotRemainder {
            left_s,
            packets: 1.0,
            unseen: 1.0,
            frames: 3.0,
            round_s: 15e-3,
            usual_packet_s: USUAL_S,
            slowest_packet_s: f64::INFINITY,
            foreign_s: 0.0,
            seen_s: 4e-3,
        };
        for (left_s, exceeds_frames) in [(5e-3, false), (9e-3, true)] {
            let mut dip = Dip::begin(Time::ZERO, &slot(left_s)).expect("a packet per round");
            dip.slots = vec![slot(left_s); 5];
            assert_eq!(dip.found(0.0, USUAL_S).exceeds_frames, exceeds_frames);
        }
    }

    #[test]
    fn another_network_that_goes_is_forgotten() {
        let mut cell = Cell::new(35e-6, 2.5e-3, 64.0);
        cell.run(30);
        cell.others_s = 0.0;
        cell.run(120);
        let ratio = cell.assumed_s / cell.packet_s;
        assert!((ratio - 1.0).abs() < 0.15, "{ratio}");
    }

    #[test]
    fn a_queue_behind_frames_that_hold_little_goes_away() {
        // A queue of a slower station, as after a fall of its PHY rate.
        for (packet_us, frame_most) in [(35.0, 25.0), (350.0, 15.0)] {
            let mut cell = Cell::new(packet_us * 1e-6, 0.0, frame_most);
            (cell.queue, cell.share) = (2500.0, 0.25);
            cell.run(60);
            let queued = (0..300).filter(|_| {
                cell.run_slot();
                cell.queue > 100.0
            });
            let queued = queued.count();
            assert!(queued < 30, "{packet_us} us: {queued} slots with a queue");
        }
    }

    #[test]
    fn traffic_that_ends_in_a_dip_begins_at_its_full_rate() {
        let mut cell = Cell::new(350e-6, 0.0, 64.0);
        let dip = (0..100).find(|_| cell.run_slot() < 1.0);
        assert!(dip.is_some());
        let later = cell.now + LONG + BROKEN_OFF;
        assert_eq!(
            cell.remainder.rate_part(later, StationId::from_index(0)),
            1.0
        );
        cell.now = later;
        cell.run_slot();
        assert_eq!(
            cell.remainder.rate_part(cell.now, StationId::from_index(0)),
            1.0
        );
    }
}
