//! Airtimes from how many frames there is time for.
//!
//! A slot of the length t holds N turns, each a frame of the access point and its answer, and the payload of what was
//! sent, X_i bits to the station i:
//!
//! t = T N + Σ w_i X_i
//!
//! A turn without its payload takes T, and a bit w_i. So the more of the air payload takes, the fewer frames there are,
//! and how many fewer tells how long the bits of each station take, if what is sent varies. It needs no more than counts of
//! packets and answers, so it also holds where nothing tells which packets an answer is for.
//!
//! The logarithms of T and of all w_i are those for which the deviations ln((t − Σ w_i X_i)/(T N)) of the last slots, and
//! those of the logarithms from what is known otherwise, have the least sum of squares, each over its variance
//! (Gauss-Newton; large deviations count linearly).
//!
//! Where other networks send, their frames come between. If they always have something to send, T is longer by some
//! milliseconds, and the number of turns hardly depends on what is sent. If they send a certain amount, they take a share f of
//! the time instead: (1 − f) t = T N + Σ w_i X_i, and payload still takes the time of turns. Most are in between, and the slots
//! do not tell T and f apart well, so what is expected of both counts. Where that may be, the slots are explained twice, with the
//! usual T, and with one that may be of any length and a share; and what makes them more likely counts.

mod fit;

use super::round::FRAME_MOST;
use super::witness::Role;
use airpace_units::StationId;
use core::time::Duration;
use fit::{Expected, Fit, Found, Row, fit};
use std::collections::VecDeque;

/// Frames per turn, time of a turn without payload in seconds, and the standard deviation of its logarithm: the access
/// point often sends two frames before a station sends its answer (simulated and emulated cells of two and three stations
/// that answer at once: 430 to 500 µs).
pub(super) const FRAMES_PER_TURN: f64 = 1.2;
pub(super) const TURN_S: f64 = 470e-6;
const TURN_SPREAD: f64 = 0.12;
/// The logarithm of that time where other networks send, whose frames come between: 2 ms, and from 0.4 to 10 within two standard
/// deviations. Beside one that always sends it was 2.5 to 6 ms, beside two 5 to 9 (simulated).
const AMONG_OTHERS: Expected = Expected {
    ln: -6.2,
    spread: 0.8,
};
/// The logarithm of the share of the time that other networks take besides: 0.3, and 0.07 at two standard deviations below. Without it,
/// airtimes were too long beside networks that send for a part of the time: a client at MCS 4 beside one at MCS 9 and another network
/// with 60 Mbit/s had 0.72 of what agents give, with it 0.85 (simulated, six seeds).
const SHARE_OF_OTHERS: Expected = Expected {
    ln: -1.2,
    spread: 0.7,
};
/// Fewest stations for which a share is fitted. With a single station there is no airtime to divide, and on a channel without other
/// networks a share would explain what is due to queues: packets to a station at MCS 1 waited for 30 ms instead of 20 (simulated).
const SHARED_BY: usize = 2;
/// A turn that takes longer leaves less of the time to payload: the ratio of payload to what it leaves falls with this power of it. The
/// law has 0.75 of the time alone and 0.42 beside a network that always sends, with turns of 4.5 ms (simulated, two stations).
const LONGER_POWER: f64 = 0.6;
/// Other networks are taken to send once that explains the slots better by so much, on a logarithmic scale, and not to send any
/// more once it does so by less than the second.
const OTHERS_SHOW: (f64, f64) = (4.0, 0.0);
/// They are not taken to send where turns are shorter than so many usual ones, and not any more where they are shorter than the second:
/// what they then take hardly matters, and a queue that fills or drains explains as much.
const OTHERS_TURNS: (f64, f64) = (2.5, 2.0);
/// None send if that explains so many slots better by so much: where nothing changes in their favour, it does by the ratio of the
/// spreads that are expected.
const NONE_SHOW: f64 = 1.0;
const SLOTS_SHOW: usize = 8;
/// What is kept of a slot's weight after a second.
const KEPT_PER_S: f64 = 0.93;
/// Slots remembered: 40 s at 100 ms.
const REMEMBERED: usize = 400;
/// Most of a slot's bits that may have been sent to stations that are not known any more.
const OTHERS_MOST: f64 = 0.02;
/// Fewest slots and turns in one that tell anything.
const FEWEST_SLOTS: usize = 5;
const FEWEST_TURNS: f64 = 3.0;
/// Most stations: there are so many swings that are not correlated, and the time that a slot takes to compute grows with the
/// square of their number.
const MOST_STATIONS: usize = 15;
/// Some clients answer once for all packets that they read, which shows where their frames are long. It is believed once it
/// has shown for the first number of seconds, and then as if it had shown for the second. Of these, [`FORGOTTEN`] is lost in
/// each second in which it does not show, so that it is believed for 90 s.
const AT_ONCE_S: (f64, f64) = (0.3, 3.0);
const FORGOTTEN: f64 = 0.03;
/// With fewer packets per answer than this, the client does not wait for ten.
const SELDOM: f64 = 7.5;
/// Time of a turn whose frame nothing answers, as a part of one with an answer (simulated cells of two stations).
const UNANSWERED_PART: f64 = 0.6;
/// A turn that seems to take so much more or less than it usually does, on a logarithmic scale, shows that what was sent was not
/// what was on the air: in cells without a queue it was 430 to 530 µs (simulated and emulated).
const DOUBTFUL: f64 = 0.2;
/// Where answers are for fewer, frames of a single packet are among them, which need not be answered.
pub(super) const OFTEN: f64 = 2.5;

/// What a slot tells of one station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sent {
    pub(super) station: StationId,
    /// Bits on the air.
    pub(super) bits: f64,
    pub(super) packets: f64,
    /// Bursts of packets that came from it, answers in the main.
    pub(super) answers: f64,
    /// Whether its answers are for more packets each than any client waits for.
    pub(super) at_once: bool,
    /// Its turns, if they are known: it answers each frame, or its agent has counted them.
    pub(super) turns: Option<f64>,
    /// What it is in a cell of which rounds do not tell enough.
    pub(super) role: Option<Role>,
    /// Packets that its answers must be for on average, so that each frame has been answered.
    pub(super) fewest: f64,
    /// Airtime of a bit as known otherwise, seconds, and the standard deviation of its logarithm.
    pub(super) bit_s: f64,
    pub(super) spread: f64,
}

impl Sent {
    fn is_mute(&self) -> bool {
        self.role == Some(Role::Mute)
    }

    /// Whether its answers shall tell of others' frames as well.
    pub(super) fn is_client(&self) -> bool {
        self.role.is_some_and(Role::is_client)
    }

    /// Whether frames to it are too short to be answered each.
    fn is_short(&self) -> bool {
        self.packets < self.fewest * self.answers
    }
}

/// The airtime of a bit of one station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct BitAirtime {
    pub(super) seconds: f64,
    /// Standard deviation of its logarithm.
    pub(super) spread: f64,
}

/// The slots of the last seconds, and what they tell.
#[derive(Clone, Debug)]
pub(super) struct TimeBudget {
    slots: VecDeque<Slot>,
    /// For how many seconds each station's client has shown that it answers once for all packets that it reads.
    at_once: Vec<(StationId, f64)>,
    turn_ln: f64,
    /// Whether other networks send, and by how much that explains the slots better, on a logarithmic scale.
    has_others: bool,
    evidence: f64,
    /// Logarithms of the airtimes of a bit, seconds, and their standard deviations.
    airtimes: Vec<(StationId, f64, f64)>,
    /// Where each explanation was found in the slot before, alone and among others; for those, the logarithm of their share too.
    alone: Option<Point>,
    among_others: Option<(Point, f64)>,
}

/// Where an explanation was found: the logarithms of a turn and of the airtimes.
type Point = (f64, Vec<(StationId, f64)>);

#[derive(Clone, Debug)]
struct Slot {
    seconds: f64,
    turns: f64,
    weight: f64,
    /// Bits on the air to each station.
    bits: Vec<(StationId, f64)>,
}

impl Default for TimeBudget {
    fn default() -> Self {
        Self {
            slots: VecDeque::new(),
            at_once: Vec::new(),
            turn_ln: TURN_S.ln(),
            has_others: false,
            evidence: 0.0,
            airtimes: Vec::new(),
            alone: None,
            among_others: None,
        }
    }
}

impl TimeBudget {
    /// Bits on the air in a slot. The access point holds what a mute station is sent beyond full frames in all turns.
    fn on_air(of: &Sent, sent: &[Sent]) -> f64 {
        if !of.is_mute() {
            return of.bits;
        }
        let turns = sent.iter().filter_map(|of| of.turns).fold(0.0, f64::max);
        of.bits * (FRAME_MOST * FRAMES_PER_TURN * turns / of.packets).min(1.0)
    }

    /// Adds a slot of so many `turns` in which packets waited.
    pub(super) fn add(&mut self, length: Duration, turns: f64, sent: &[Sent]) {
        let kept = KEPT_PER_S.powf(length.as_secs_f64());
        for slot in &mut self.slots {
            slot.weight *= kept;
        }
        if self.slots.len() == REMEMBERED {
            self.slots.pop_front();
        }
        let bits = sent.iter().map(|of| (of.station, Self::on_air(of, sent)));
        let bits = bits.collect();
        self.slots.push_back(Slot {
            seconds: length.as_secs_f64(),
            turns,
            weight: 1.0,
            bits,
        });
    }

    /// Turns in a slot; `None` unless a client is known to answer once for all that it reads, or has a role. A station
    /// whose answers do not tell has as many turns as the others, if it has so many packets.
    pub(super) fn turns(&self, sent: &[Sent]) -> Option<f64> {
        if sent.len() > MOST_STATIONS {
            return None;
        }
        let are_short = Self::is_short(sent);
        let counts = |of: &&Sent| {
            if of.is_client() {
                return are_short || !of.is_short();
            }
            let is_answered = of.packets < SELDOM * of.answers || self.answers_at_once(of.station);
            let is_long = of.answers > 0.0 && of.packets >= OFTEN * of.answers;
            of.turns.is_some() || is_answered && is_long && !of.is_mute()
        };
        let own = |of: &Sent| of.turns.unwrap_or(of.answers);
        let tells =
            |of: &Sent| of.answers > 0.0 && (of.is_client() || self.answers_at_once(of.station));
        let (mut all, mut stations, mut is_told) = (0.0, 0.0, false);
        for of in sent.iter().filter(counts) {
            all += own(of);
            stations += 1.0;
            is_told |= tells(of);
        }
        if !is_told {
            return None;
        }
        let round = all / stations;
        for of in sent.iter().filter(|of| !counts(of)) {
            let most = of.packets.min(round);
            // Frames of one packet may be answered two at a time.
            let is_often = of.packets < OFTEN * of.answers;
            all += if of.is_mute() {
                UNANSWERED_PART * most + (1.0 - UNANSWERED_PART) * of.answers.min(most)
            } else if is_often {
                (of.answers.min(most) * most).sqrt()
            } else {
                most
            };
        }
        (all >= FEWEST_TURNS).then_some(all)
    }

    /// Whether the frames to all clients that shall tell are too short to be answered each.
    pub(super) fn is_short(sent: &[Sent]) -> bool {
        let mut clients = sent.iter().filter(|of| of.is_client()).peekable();
        clients.peek().is_some() && clients.all(Sent::is_short)
    }

    /// Whether turns seem to take longer or shorter than usual by so much that something has changed.
    pub(super) fn is_doubtful(&self) -> bool {
        !self.has_others && (self.turn_ln - TURN_S.ln()).abs() > DOUBTFUL
    }

    /// Whether other networks take a part of each turn.
    pub(super) const fn has_others(&self) -> bool {
        self.has_others
    }

    /// Largest part of the time that payload may take if it is `alone` where no other network sends.
    pub(super) fn load_most(&self, alone: f64) -> f64 {
        if !self.has_others {
            return alone;
        }
        let longer = (self.turn_s() / TURN_S).max(1.0);
        1.0 / (1.0 + (1.0 / alone - 1.0) * longer.powf(LONGER_POWER))
    }

    /// Whether the slots show that none do.
    pub(super) fn is_alone(&self) -> bool {
        self.evidence < -NONE_SHOW && self.slots.len() >= SLOTS_SHOW
    }

    /// How long a turn takes without its payload, seconds.
    pub(super) fn turn_s(&self) -> f64 {
        self.turn_ln.exp()
    }

    /// Whether the client has lately answered once for all packets that it had read.
    fn answers_at_once(&self, station: StationId) -> bool {
        let mut shown = self.at_once.iter();
        shown.any(|known| known.0 == station && known.1 >= AT_ONCE_S.0)
    }

    /// Notes which clients do.
    pub(super) fn note_clients(&mut self, length: Duration, sent: &[Sent]) {
        let seconds = length.as_secs_f64();
        for of in sent {
            let at = self.at_once.iter().position(|known| known.0 == of.station);
            let at = at.unwrap_or_else(|| {
                self.at_once.push((of.station, 0.0));
                self.at_once.len() - 1
            });
            let shown_s = &mut self.at_once[at].1;
            let longer_s = *shown_s + seconds;
            *shown_s = match of.at_once {
                true if longer_s >= AT_ONCE_S.0 => AT_ONCE_S.1,
                true => longer_s,
                false => (*shown_s - FORGOTTEN * seconds).max(0.0),
            };
        }
    }

    /// Forgets what all slots have told.
    pub(super) fn forget_slots(&mut self) {
        self.slots.clear();
        self.airtimes.clear();
        (self.alone, self.among_others) = (None, None);
        (self.turn_ln, self.has_others, self.evidence) = (TURN_S.ln(), false, 0.0);
    }

    /// Forgets a station.
    pub(super) fn remove(&mut self, station: StationId) {
        self.at_once.retain(|known| known.0 != station);
        self.airtimes.retain(|known| known.0 != station);
        self.slots
            .retain(|slot| slot.bits.iter().all(|of| of.0 != station));
    }

    /// What the last slots tell of a station.
    pub(super) fn airtime(&self, station: StationId) -> Option<BitAirtime> {
        let known = self.airtimes.iter().find(|known| known.0 == station)?;
        Some(BitAirtime {
            seconds: known.1.exp(),
            spread: known.2,
        })
    }

    /// The airtimes of a bit of the other stations, seconds.
    pub(super) fn others(&self, station: StationId) -> impl Iterator<Item = f64> {
        let others = self.airtimes.iter().filter(move |known| known.0 != station);
        others.map(|known| known.1.exp())
    }

    /// Finds the airtimes of the stations of a slot.
    pub(super) fn solve(&mut self, sent: &[Sent], may_be_others: bool) {
        if self.slots.len() < FEWEST_SLOTS || sent.len() > MOST_STATIONS {
            self.airtimes.clear();
            return;
        }
        let mut expected = vec![Expected {
            ln: TURN_S.ln(),
            spread: TURN_SPREAD,
        }];
        expected.extend(sent.iter().map(|of| Expected {
            ln: of.bit_s.ln(),
            spread: of.spread,
        }));
        let rows = self.slots.iter().filter(|slot| slot.is_of(sent));
        let rows: Vec<Row> = rows.map(|slot| slot.row(sent)).collect();
        if rows.len() < FEWEST_SLOTS && sent.iter().any(|of| of.role.is_some()) {
            // One of the stations pauses. What is known of the others stays.
            return;
        }
        self.airtimes.clear();
        let Some(found) = self.explain(rows, expected, sent, may_be_others) else {
            return;
        };
        self.turn_ln = found[0].ln;
        let airtimes = sent.iter().zip(&found[1..]);
        self.airtimes
            .extend(airtimes.map(|(of, found)| (of.station, found.ln, found.spread)));
    }
}

impl TimeBudget {
    /// What the slots tell, with or without other networks, whichever explains them better, if there may be any.
    fn explain(
        &mut self,
        rows: Vec<Row>,
        expected: Vec<Expected>,
        sent: &[Sent],
        may_be_others: bool,
    ) -> Option<Vec<Found>> {
        let alone = fit(
            &rows,
            &expected,
            start(self.alone.as_ref(), TURN_S.ln(), sent),
        )?;
        self.alone = Some(point(&alone.found, sent));
        if rows.len() < FEWEST_SLOTS {
            return Some(alone.found);
        }
        if !may_be_others {
            (self.has_others, self.evidence) = (false, 0.0);
            return Some(alone.found);
        }
        let among_others = self.fit_among_others(rows, expected, sent)?;
        self.evidence = alone.unlikely - among_others.unlikely;
        let turns = among_others.found[0].ln.exp() / TURN_S;
        self.has_others = if self.has_others {
            self.evidence > OTHERS_SHOW.1 && turns > OTHERS_TURNS.1
        } else {
            self.evidence > OTHERS_SHOW.0 && turns > OTHERS_TURNS.0
        };
        Some(if self.has_others {
            among_others.found
        } else {
            alone.found
        })
    }

    /// What the slots tell if other networks send. What a turn takes contains its part of their share of the time.
    fn fit_among_others(
        &mut self,
        rows: Vec<Row>,
        mut expected: Vec<Expected>,
        sent: &[Sent],
    ) -> Option<Fit> {
        let turns_per_s = mean_turns_per_s(&rows);
        let rows = rows.into_iter().map(Row::among_others);
        expected[0] = AMONG_OTHERS;
        let before = self.among_others.as_ref();
        let mut at = start(before.map(|of| &of.0), AMONG_OTHERS.ln, sent);
        if sent.len() < SHARED_BY {
            let fit = fit(&rows.collect::<Vec<_>>(), &expected, at)?;
            self.among_others = Some((point(&fit.found, sent), SHARE_OF_OTHERS.ln));
            return Some(fit);
        }
        let rows: Vec<Row> = rows.map(Row::with_share).collect();
        expected.push(SHARE_OF_OTHERS);
        at.push(before.map_or(SHARE_OF_OTHERS.ln, |of| of.1));
        let mut fit = fit(&rows, &expected, at)?;
        let share = fit.found.pop()?;
        self.among_others = Some((point(&fit.found, sent), share.ln));
        let turn = &mut fit.found[0];
        turn.ln = (turn.ln.exp() + share.ln.exp() / turns_per_s).ln();
        Some(fit)
    }
}

/// Turns per second, the mean over the slots by their weights.
fn mean_turns_per_s(rows: &[Row]) -> f64 {
    let weight: f64 = rows.iter().map(Row::weight).sum();
    let turns: f64 = rows
        .iter()
        .map(|row| row.weight() * row.turns_per_s())
        .sum();
    turns / weight
}

/// What was found, by station.
fn point(found: &[Found], sent: &[Sent]) -> Point {
    let airtimes = sent.iter().zip(&found[1..]);
    let airtimes = airtimes.map(|(of, found)| (of.station, found.ln));
    (found[0].ln, airtimes.collect())
}

/// The logarithms to begin with: those that were found before, and what is known otherwise of the other stations.
fn start(before: Option<&Point>, usual_turn_ln: f64, sent: &[Sent]) -> Vec<f64> {
    let airtimes = before.map_or(&[][..], |point| &point.1);
    let mut at = vec![before.map_or(usual_turn_ln, |point| point.0)];
    at.extend(sent.iter().map(|of| {
        let known = airtimes.iter().find(|known| known.0 == of.station);
        known.map_or(of.bit_s.ln(), |known| known.1)
    }));
    at
}

impl Slot {
    /// Whether hardly anything was sent to stations that are not among these, so that they explain its turns.
    fn is_of(&self, sent: &[Sent]) -> bool {
        let is_other = |of: &&(StationId, f64)| sent.iter().all(|sent| sent.station != of.0);
        let others: f64 = self.bits.iter().filter(is_other).map(|of| of.1).sum();
        let all: f64 = self.bits.iter().map(|of| of.1).sum();
        others <= OTHERS_MOST * all
    }

    fn row(&self, sent: &[Sent]) -> Row {
        let bits = |of: &Sent| {
            let own = self.bits.iter().find(|known| known.0 == of.station);
            own.map_or(0.0, |known| known.1 / self.seconds)
        };
        Row::new(
            self.turns,
            self.seconds,
            self.weight,
            sent.iter().map(bits).collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Duration = Duration::from_millis(100);
    /// Airtimes of a bit at MCS 9, 4 and 1 of 802.11ac at 80 MHz.
    const BPS: [f64; 3] = [390e6, 175.5e6, 58.5e6];

    fn sent(station: u32, bits: f64, told_bps: f64) -> Sent {
        Sent {
            station: StationId(station),
            bits,
            packets: bits / 12_000.0,
            answers: 0.0,
            at_once: true,
            turns: None,
            role: None,
            fewest: 0.0,
            bit_s: 1.0 / told_bps,
            spread: 0.7,
        }
    }

    /// Slots in which the stations take a fifth of the time each, swung by `swing`, while all seem to have 150 Mbit/s.
    fn found(slots: usize, swing: f64) -> Vec<BitAirtime> {
        let mut budget = TimeBudget::default();
        for slot in 0..slots {
            let sent: Vec<Sent> = (0..3)
                .map(|station| {
                    let sign = if slot >> station & 1 == 0 { 1.0 } else { -1.0 };
                    let bits = 0.02 * BPS[station] * (1.0 + swing * sign);
                    sent(station as u32, bits, 150e6)
                })
                .collect();
            let payload_s: f64 = sent.iter().zip(BPS).map(|(of, bps)| of.bits / bps).sum();
            let turns = (0.1 - payload_s) / TURN_S;
            budget.add(SLOT, turns, &sent);
            budget.solve(&sent, false);
        }
        (0..3)
            .filter_map(|station| budget.airtime(StationId(station)))
            .collect()
    }

    #[test]
    fn rates_that_vary_tell_the_airtime_of_each() {
        let found = found(80, 0.3);
        for (airtime, bps) in found.iter().zip(BPS) {
            let error = (airtime.seconds * bps).ln();
            assert!(error.abs() < 0.1, "{} {bps}", 1.0 / airtime.seconds);
            assert!(airtime.spread < 0.12, "{}", airtime.spread);
        }
    }

    #[test]
    fn rates_that_do_not_vary_tell_what_all_take_together() {
        let found = found(80, 0.0);
        assert!(found.iter().all(|airtime| airtime.spread > 0.3));
        let payload: f64 = found
            .iter()
            .zip(BPS)
            .map(|(of, bps)| 0.02 * bps * of.seconds)
            .sum();
        assert!((payload / 0.06 - 1.0).abs() < 0.1, "{payload}");
    }

    #[test]
    fn a_station_that_stops_leaves_the_airtimes_of_the_others_as_they_are() {
        let mut budget = TimeBudget::default();
        for slot in 0..120 {
            let stations = if slot < 80 { 3 } else { 2 };
            let sent: Vec<Sent> = (0..stations)
                .map(|station| {
                    let sign = if slot >> station & 1 == 0 { 1.0 } else { -1.0 };
                    let bits = 0.02 * BPS[station] * (1.0 + 0.3 * sign);
                    sent(station as u32, bits, 150e6)
                })
                .collect();
            let payload_s: f64 = sent.iter().zip(BPS).map(|(of, bps)| of.bits / bps).sum();
            budget.add(SLOT, (0.1 - payload_s) / TURN_S, &sent);
            budget.solve(&sent, false);
        }
        for (station, bps) in BPS[..2].iter().enumerate() {
            let airtime = budget.airtime(StationId(station as u32)).unwrap();
            assert!((airtime.seconds * bps).ln().abs() < 0.15, "{airtime:?}");
        }
    }

    #[test]
    fn few_slots_and_many_stations_tell_nothing() {
        assert!(found(FEWEST_SLOTS - 1, 0.3).is_empty());
        let mut budget = TimeBudget::default();
        let many: Vec<Sent> = (0..=MOST_STATIONS as u32)
            .map(|station| sent(station, 1e5, 1e8))
            .collect();
        for _ in 0..2 * FEWEST_SLOTS {
            budget.add(SLOT, 50.0, &many);
        }
        budget.solve(&many, false);
        assert_eq!(budget.airtime(StationId(0)), None);
    }

    #[test]
    fn turns_are_counted_by_stations_that_answer_each_frame() {
        let mut budget = TimeBudget::default();
        let [fast, slow, other] = [(0, 40), (1, 8), (2, 6)].map(|(station, packets)| Sent {
            packets: f64::from(packets * 10),
            answers: 10.0,
            ..sent(station, 1e6, 1e8)
        });
        // Nobody is known to answer once for all that it reads.
        let seldom = Sent {
            at_once: false,
            ..slow
        };
        assert_eq!(budget.turns(&[fast, slow]), None);
        for _ in 0..3 {
            budget.note_clients(SLOT, &[fast, seldom]);
        }
        // The second may answer every tenth packet, and has as many turns as the first.
        assert_eq!(budget.turns(&[fast, seldom]), Some(20.0));
        let few = Sent {
            packets: 4.0,
            answers: 0.0,
            ..seldom
        };
        assert_eq!(budget.turns(&[fast, few]), Some(14.0));
        let often = Sent {
            packets: 10.0,
            answers: 4.9,
            ..seldom
        };
        assert!((budget.turns(&[fast, often]).unwrap() - 17.0).abs() < 1e-9);
        let known = Sent {
            turns: Some(12.0),
            ..other
        };
        assert_eq!(budget.turns(&[fast, known]), Some(22.0));
        budget.remove(StationId(0));
        assert_eq!(budget.turns(&[fast, seldom]), None);
    }

    /// The budget after slots of a single station at 390 Mbit/s that is sent about a tenth of the time, swung by 0.4, where a turn
    /// takes `turn_s`.
    fn single(slots: usize, turn_s: f64) -> TimeBudget {
        let mut budget = TimeBudget::default();
        for slot in 0..slots {
            let sign = if slot & 1 == 0 { 1.0 } else { -1.0 };
            let part = 0.1 * (1.0 + 0.4 * sign);
            let of = sent(0, part * 0.1 * BPS[0], 150e6);
            let sent = [Sent { spread: 1.2, ..of }];
            budget.add(SLOT, 0.1 * (1.0 - part) / turn_s, &sent);
            budget.solve(&sent, true);
        }
        budget
    }

    #[test]
    fn turns_that_hardly_depend_on_what_is_sent_show_other_networks() {
        let budget = single(20, 4e-3);
        assert!(budget.has_others() && !budget.is_alone());
        assert!(
            (budget.turn_s() / 4e-3 - 1.0).abs() < 0.15,
            "{}",
            budget.turn_s()
        );
        // Turns that are longer by nine times leave less to payload.
        let most = budget.load_most(0.78);
        assert!((0.4..0.6).contains(&most), "{most}");
        assert!(!budget.is_doubtful());
    }

    #[test]
    fn long_turns_are_found_within_ten_slots() {
        let budget = single(10, 8e-3);
        assert!(budget.has_others());
        let error = (budget.turn_s() / 8e-3).ln();
        assert!(error.abs() < 0.2, "{}", budget.turn_s());
    }

    #[test]
    fn airtimes_are_told_beside_networks_that_always_send_and_beside_some_that_take_a_share() {
        let swings = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)];
        for (share, turn_s) in [(0.0, 4e-3), (0.2, 2e-3), (0.3, 1e-3)] {
            let mut budget = TimeBudget::default();
            for (first, second) in swings.into_iter().cycle().take(40) {
                let parts = [0.15 * (1.0 + 0.4 * first), 0.15 * (1.0 + 0.4 * second)];
                let sent = [0, 1].map(|idx: u32| {
                    let bps = BPS[idx as usize];
                    let of = sent(idx, parts[idx as usize] * 0.1 * bps, bps / 3.0);
                    Sent { spread: 1.2, ..of }
                });
                let left = 1.0 - share - parts[0] - parts[1];
                budget.add(SLOT, 0.1 * left / turn_s, &sent);
                budget.solve(&sent, true);
            }
            assert!(budget.has_others(), "{share} {turn_s}");
            for (station, bps) in (0..).zip(&BPS[..2]) {
                let told = budget.airtime(StationId(station)).unwrap().seconds * bps;
                // By longer turns alone, the last ones were too long by 0.36.
                assert!(told.ln().abs() < 0.25, "{share} {turn_s}: {told}");
            }
        }
    }

    #[test]
    fn turns_of_the_usual_length_show_none() {
        let budget = single(20, TURN_S);
        assert!(!budget.has_others() && budget.is_alone());
        assert_eq!(budget.load_most(0.78), 0.78);
        assert!(!single(SLOTS_SHOW - 1, TURN_S).is_alone());
    }

    #[test]
    fn other_networks_are_forgotten_with_the_slots_that_showed_them() {
        let mut budget = single(20, 4e-3);
        budget.forget_slots();
        assert!(!budget.has_others() && (budget.turn_s() / TURN_S - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_witness_counts_the_turns_of_those_that_answer_nothing() {
        let witness = Sent {
            answers: 20.0,
            turns: Some(20.0),
            role: Some(Role::Witness),
            fewest: 2.5,
            at_once: false,
            ..sent(0, 1_200_000.0, 1e8)
        };
        let mute = Sent {
            role: Some(Role::Mute),
            ..sent(1, 600_000.0, 1e8)
        };
        let mut budget = TimeBudget::default();
        assert_eq!(budget.turns(&[witness, mute]), Some(20.0 + 0.6 * 20.0));
        let few = Sent {
            packets: 5.0,
            answers: 1.0,
            ..mute
        };
        let turns = budget.turns(&[witness, few]).unwrap();
        assert!((turns - (20.0 + 0.6 * 5.0 + 0.4)).abs() < 1e-9, "{turns}");
        assert!(!TimeBudget::is_short(&[witness, mute]));
        let short = Sent {
            packets: 40.0,
            ..witness
        };
        assert!(TimeBudget::is_short(&[short, mute]));
        // 1.2 frames of 64 packets for each turn are on the air, and the access point holds the rest.
        let many = Sent {
            packets: 3_072.0,
            bits: 3e7,
            ..mute
        };
        assert!((TimeBudget::on_air(&many, &[witness, many]) - 1.5e7).abs() < 1.0);
        budget.add(SLOT, 30.0, &[witness, mute]);
        budget.forget_slots();
        assert!(budget.slots.is_empty() && !budget.is_doubtful());
    }
}
