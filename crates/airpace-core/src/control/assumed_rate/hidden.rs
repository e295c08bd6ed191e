//! Stations whose answers hide what has arrived, such as QUIC clients that answer seldom: what their transits tell of the
//! airtime of a bit is a guess, which the number of frames that there is time for corrects.

use super::super::sample::{DEFAULT_BYTES, Sample};
use super::alike::{drawn_together, width_of};
use super::budget::{BitAirtime, FRAMES_PER_TURN, Sent, TimeBudget};
use super::recent::Recent;
use super::swing::{Swings, Witnessed};
use super::witness::{Role, USUAL_BPS, USUAL_SPREAD, Witness, cautious};
use super::{AssumeRates, RANGE_BPS, UPLOAD_BYTES_PER_S};
use crate::report::{Allocation, Answers, SlotReport};
use crate::sensor::ack_burst::{SegmentTransit, transit_of};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Standard deviations of the logarithms of airtimes by what tells them: a PHY rate that is reported, without collisions;
/// transits of frames whose packets are known; transits of QUIC that answers seldom; and nothing.
const KNOWN_SPREAD: f64 = 0.1;
const SEEN_SPREAD: f64 = 0.5;
const HIDDEN_SPREAD: f64 = 0.7;
const UNSEEN_SPREAD: f64 = 1.0;
/// Airtimes with a larger spread are not used where transits tell none.
const USED_SPREAD: f64 = 0.3;
/// Answers that were seldom within this time are so still. Where frames hold two or three packets, they seem to be for
/// every second.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Fewest stations whose answers are seldom for which airtimes are corrected: of one, waits tell what it may be sent, or the
/// rounds of the others.
const FEWEST: usize = 2;

/// Largest part of the time that payload may take by the rates, in a cell with a witness. After a survey, in which rounds are
/// short, the law permits more for some slots, and the queue that the access point then holds would stay: what a mute station is
/// sent would tell nothing. With 0.82 it stayed in one run of two on the emulated access point, with 0.8 in three of three, and with
/// 0.78 in one of eighteen, of four cells; agents have 0.75 there.
const LOAD_MOST: f64 = 0.78;
const LOAD_LEAST: f64 = 0.2;
/// A station that was sent this part of what it might be needs it all; otherwise it is taken to be sent this multiple of what it was.
const USED_LEAST: f64 = 0.8;
const USED_RISE: f64 = 1.1;
/// Standard deviation of the logarithms of airtimes while turns seem to take an unusual time, so that a survey begins.
const DOUBTED_SPREAD: f64 = 0.5;

/// What is known of such stations.
#[derive(Clone, Debug, Default)]
pub(super) struct Hidden {
    budget: TimeBudget,
    swings: Swings,
    /// When each station's answers were last seldom.
    seldom: Recent,
    /// Who counts the turns of mute stations.
    witness: Witness,
    /// What the stations of a cell with a witness may be sent.
    grants: Vec<Grant>,
}

#[derive(Clone, Copy, Debug)]
struct Grant {
    station: StationId,
    /// Least rate in the current slot, bit/s.
    bps: f64,
    /// What was sent in the last slot, bit/s, and whether that was nearly all that might be.
    sent_bps: f64,
    is_used: bool,
}

impl Hidden {
    pub(super) fn remove(&mut self, station: StationId) {
        self.seldom.remove(station);
        self.witness.remove(station);
        self.grants.retain(|grant| grant.station != station);
        self.budget.remove(station);
    }

    /// Whether stations are sent less than they could be, so that the channel is idle at times.
    pub(super) const fn is_surveyed(&self) -> bool {
        self.swings.is_survey()
    }

    /// Notes whose answers are seldom, and forgets those whose answers have not been for long.
    fn note(&mut self, now: Time, reports: &[SlotReport]) {
        self.seldom.forget(now, REMEMBERED);
        for report in reports {
            let is_seldom = matches!(report.answers, Answers::Seldom | Answers::AtOnce);
            // An agent or a radio tells frames apart, and so do TCP's answers.
            let is_seen = report.answers == Answers::Tell && report.frames > 0;
            if is_seldom {
                self.seldom.note(now, report.station);
            } else if is_seen {
                self.seldom.remove(report.station);
            }
        }
    }

    /// Whether the station's answers hide how long its frames take.
    fn hides(&self, station: StationId) -> bool {
        self.seldom.has(station) || self.witness.role(station).is_some()
    }

    /// Whether the turns of the cell tell airtimes.
    fn is_on(&self) -> bool {
        self.witness.station().is_some() || self.seldom.len() >= FEWEST
    }

    /// The rate to assume of a station for which `assumed_bps` was assumed before. `None` without a witness, and if nothing is
    /// known outside a survey.
    fn witnessed_bps(&self, station: StationId, assumed_bps: f64) -> Option<f64> {
        let role = self.witness.role(station)?;
        let known = self.budget.airtime(station);
        let known = known.filter(|known| known.spread < used_spread(role));
        let bps = match (known, role) {
            (Some(known), Role::Witness { .. }) => 1.0 / known.seconds,
            (Some(known), Role::Mute) => 1.0 / cautious(known.seconds, known.spread),
            (None, _) if self.is_surveyed() => assumed_bps.min(USUAL_BPS),
            (None, _) => return None,
        };
        Some(bps.clamp(RANGE_BPS.0, RANGE_BPS.1))
    }

    /// Learns from a slot of so many `turns`, if they are known.
    fn take(&mut self, now: Time, length: Duration, turns: Option<f64>, sent: &[Sent]) {
        let witness = self.witness.station();
        let witnessed = witness.is_some().then(|| Witnessed {
            by: &self.witness,
            // Outside a survey, the channel is idle at times unless packets to the witness wait.
            is_short: TimeBudget::is_short(sent)
                || !self.swings.is_survey() && !self.witness.waits(),
        });
        let tells = self.swings.on_slot(now, length, turns, witnessed);
        if let Some(turns) = turns.filter(|_| tells) {
            self.budget.add(length, turns, sent);
        }
        self.budget.solve(sent);
        let known = witness.and_then(|station| self.budget.airtime(station));
        self.witness.note_spread(known.map(|known| known.spread));
    }

    /// The airtime of a bit to a station. Those of two stations that cannot be told apart are drawn together.
    fn airtime(&self, station: StationId) -> Option<BitAirtime> {
        let own = self.budget.airtime(station)?;
        let others = self.budget.others(station);
        Some(BitAirtime {
            seconds: drawn_together(own.seconds, others, width_of(own.spread)),
            ..own
        })
    }
}

impl AssumeRates {
    /// Corrects what this slot's reports say of the airtimes of stations whose answers hide what has arrived.
    pub(super) fn correct_hidden(&mut self, now: Time) {
        self.hidden.note(now, &self.reports);
        let samples: Vec<Sample> = self.reports.iter().filter_map(Sample::read).collect();
        let uploads: f64 = samples.iter().map(|sample| sample.upload_bytes_per_s).sum();
        let has_upload = uploads >= UPLOAD_BYTES_PER_S;
        self.hidden.witness.note(now, &self.reports);
        if has_upload {
            // How long uploads take is not known.
            self.hidden.witness.interrupt(now);
        }
        if !self.hidden.is_on() {
            if self.hidden.witness.is_remembered() {
                self.hidden.swings.break_off(now);
                return;
            }
            self.hidden = Hidden {
                seldom: core::mem::take(&mut self.hidden.seldom),
                witness: core::mem::take(&mut self.hidden.witness),
                ..Hidden::default()
            };
            return;
        }
        let passive = samples.iter().filter(|sample| sample.is_passive);
        let length_s = passive.map(|sample| sample.length_s).fold(0.0, f64::max);
        let length = Duration::try_from_secs_f64(length_s).unwrap_or_default();
        if length.is_zero() {
            return;
        }
        let has_waited = samples.iter().any(Sample::has_waited);
        let sent = self.sent(length_s);
        self.hidden.budget.note_clients(length, &sent);
        // Without packets that wait, the channel is idle at times.
        let turns = self.hidden.budget.turns(&sent);
        let turns = turns.filter(|_| has_waited && !has_upload);
        self.hidden.take(now, length, turns, &sent);
        for of in sent.iter().filter(|of| of.role.is_none()) {
            let mut reports = self.reports.iter_mut();
            let report = reports
                .find(|report| report.station == of.station && self.hidden.hides(of.station));
            if let Some((report, airtime)) = report.zip(self.hidden.airtime(of.station)) {
                correct(report, airtime, of.bits / of.packets);
            }
        }
    }

    /// What the stations were sent in a slot of `length_s`, seconds, if they were sent as much as in the slots of their reports.
    fn sent(&mut self, length_s: f64) -> Vec<Sent> {
        let mut sent = Vec::new();
        for idx in 0..self.reports.len() {
            let assumed_bps = self.assumed(self.reports[idx].station).bps;
            let report = &self.reports[idx];
            let Some((sample, sent_pps)) =
                Sample::read(report).and_then(|sample| Some((sample, sample.sent_pps?)))
            else {
                continue;
            };
            let hides = self.hidden.hides(report.station);
            let is_seen = sample.frames > 0.0 && !hides;
            let role = self.hidden.witness.role(report.station);
            let (bit_s, spread) = match (sample.phy_bps, told_bit_s(report, &sample)) {
                // What is assumed of these follows from the budget itself.
                _ if role.is_some() => (1.0 / USUAL_BPS, USUAL_SPREAD),
                (Some(bps), _) => (1.0 / bps, KNOWN_SPREAD),
                (None, Some(bit_s)) if hides => (bit_s, HIDDEN_SPREAD),
                (None, _) if is_seen => (1.0 / assumed_bps, SEEN_SPREAD),
                (None, _) => (1.0 / assumed_bps, UNSEEN_SPREAD),
            };
            let packets = sent_pps * length_s;
            let answers = sample.uplink_frames_per_s * length_s;
            let is_agent = sample.frames > 0.0 && !sample.is_passive;
            // An agent holds acknowledgements, so that one answers many frames.
            let turns = if is_agent {
                sample.frames / sample.length_s * length_s / FRAMES_PER_TURN
            } else {
                answers
            };
            let is_witness = matches!(role, Some(Role::Witness { .. }));
            let is_counted = is_witness || is_seen && report.answers == Answers::Tell;
            sent.push(Sent {
                station: report.station,
                bits: packets * sample.packet_bits(),
                packets,
                answers,
                at_once: report.answers == Answers::AtOnce,
                turns: is_counted.then_some(turns),
                role,
                bit_s,
                spread,
            });
        }
        sent
    }

    /// The rate to assume of a station in a cell with a witness, bit/s, instead of what its frames tell.
    pub(super) fn witnessed_bps(&mut self, station: StationId) -> Option<f64> {
        let assumed_bps = self.assumed(station).bps;
        self.hidden.witnessed_bps(station, assumed_bps)
    }

    /// Notes which stations have been sent as much in the last slot as they might.
    pub(super) fn note_use(&mut self) {
        for grant in &mut self.hidden.grants {
            let mut reports = self.reports.iter();
            let report = reports.find(|of| of.station == grant.station);
            grant.sent_bps = report.map_or(0.0, |report| {
                8.0 * report.sender.sent_bytes as f64 / report.length.as_secs_f64()
            });
            grant.is_used = grant.sent_bps >= USED_LEAST * grant.bps;
        }
    }

    /// Lowers the rates of a cell with a witness if packets would take too much of the time by them. A station that has used less
    /// than it was granted is taken to go on doing so.
    pub(super) fn limit_load(&mut self) {
        let (mut limited, mut load, mut others) = (Vec::new(), 0.0, 0.0);
        for idx in 0..self.allocations.len() {
            let allocation = &self.allocations[idx];
            let (station, bps) = (allocation.station, 8.0 * allocation.rate_bytes_per_s);
            let Some(assumed_bps) = self.witnessed_bps(station).filter(|_| bps.is_finite()) else {
                continue;
            };
            let mut grants = self.hidden.grants.iter();
            let grant = grants.find(|grant| grant.station == station);
            if let Some(grant) = grant.filter(|grant| !grant.is_used) {
                others += (USED_RISE * grant.sent_bps).min(bps) / assumed_bps;
            } else {
                load += bps / assumed_bps;
                limited.push(idx);
            }
        }
        let factor = (LOAD_MOST - others).max(LOAD_LEAST) / load;
        for idx in limited {
            self.allocations[idx].rate_pps *= factor.min(1.0);
            self.allocations[idx].rate_bytes_per_s *= factor.min(1.0);
        }
    }

    /// Notes what the stations of a cell with a witness may be sent, from a slot's end on or in the course of one.
    pub(super) fn note_grants(&mut self, is_slot: bool) {
        if is_slot {
            let role = |of: &&Allocation| self.hidden.witness.role(of.station).is_some();
            let allocations = self.allocations.iter().filter(role);
            let before = core::mem::take(&mut self.hidden.grants);
            let of = |of: &Allocation| {
                let same = before.iter().find(|grant| grant.station == of.station);
                Grant {
                    station: of.station,
                    bps: 8.0 * of.rate_bytes_per_s,
                    sent_bps: same.map_or(0.0, |grant| grant.sent_bps),
                    is_used: same.is_none_or(|grant| grant.is_used),
                }
            };
            self.hidden.grants = allocations.map(of).collect();
            return;
        }
        for grant in &mut self.hidden.grants {
            let mut allocations = self.allocations.iter();
            let now = allocations.find(|of| of.station == grant.station);
            grant.bps = now.map_or(grant.bps, |of| grant.bps.min(8.0 * of.rate_bytes_per_s));
        }
    }

    /// Swings the rates of stations whose answers hide what has arrived, so that their airtimes become known. A survey swings
    /// those of all stations, or the others would take the time that it leaves.
    pub(super) fn swing(&mut self, now: Time) {
        if !self.hidden.swings.are_useful(now) {
            return;
        }
        let (mut hidden, mut spread) = (0, 0.0_f64);
        let mut swung = Vec::new();
        let (mut load, mut swung_load) = (0.0, 0.0);
        for idx in 0..self.allocations.len() {
            let (station, rate) = (
                self.allocations[idx].station,
                self.allocations[idx].rate_bytes_per_s,
            );
            let report = self.reports.iter().find(|of| of.station == station);
            let is_surveyed =
                self.hidden.is_surveyed() && self.hidden.witness.role(station).is_some();
            let waits = is_surveyed || report.is_some_and(|of| of.sender.backlogged);
            if !waits || !rate.is_finite() {
                continue;
            }
            let hides = self.hidden.hides(station);
            let share = rate / self.assumed(station).bps;
            if hides {
                hidden += 1;
                let known = self.hidden.budget.airtime(station);
                spread = spread.max(known.map_or(UNSEEN_SPREAD, |known| known.spread));
            }
            if hides || self.hidden.swings.is_survey() {
                let sign = Swings::sign(now, swung.len());
                load += share;
                swung_load += share * sign;
                swung.push((idx, sign));
            }
        }
        if hidden < FEWEST || load <= 0.0 {
            return;
        }
        let mean = swung_load / load;
        for (idx, sign) in swung {
            let allocation = &self.allocations[idx];
            let (station, rate) = (allocation.station, allocation.rate_bytes_per_s);
            let role = self.hidden.witness.role(station);
            let factor = match (role, self.hidden.swings.survey_parts()) {
                (Some(role), Some(parts)) if rate > 0.0 => {
                    let known = self.hidden.budget.airtime(station);
                    let known = known.filter(|known| known.spread < used_spread(role));
                    let bps = known.map_or(USUAL_BPS, |known| 1.0 / known.seconds);
                    let bit_s = 1.0 / bps.clamp(RANGE_BPS.0, RANGE_BPS.1);
                    let witness = &self.hidden.witness;
                    witness.bytes_per_s(parts, role, bit_s, sign) / rate
                }
                _ => self.hidden.swings.factor(sign, mean),
            };
            self.allocations[idx].rate_pps *= factor;
            self.allocations[idx].rate_bytes_per_s *= factor;
        }
        let is_doubted =
            self.hidden.witness.station().is_some() && self.hidden.budget.is_doubtful();
        if is_doubted {
            spread = spread.max(DOUBTED_SPREAD);
        }
        let was_surveyed = self.hidden.is_surveyed();
        self.hidden.swings.decide(now, spread);
        if is_doubted && self.hidden.is_surveyed() && !was_surveyed {
            // A rate has fallen, or the access point holds packets: slots from before would tell the same again.
            self.hidden.budget.forget_slots();
        }
    }
}

/// Airtimes with a larger spread are not used in a cell with a witness. What is sent to mute stations is best guessed by what is
/// known.
fn used_spread(role: Role) -> f64 {
    match role {
        Role::Witness { .. } => USED_SPREAD,
        Role::Mute => UNSEEN_SPREAD,
    }
}

/// Writes the airtime of a bit into a report whose packets have `packet_bits` on the air: by the transit of its frames, or
/// without frames as it is.
fn correct(report: &mut SlotReport, airtime: BitAirtime, packet_bits: f64) {
    let packet_s = packet_bits * airtime.seconds;
    if let Some((level, _)) = report.level().zip(report.transit) {
        report.transit = transit_of(packet_s, level).or(report.transit);
    } else if report.frames == 0 && (report.airtime_bps.is_some() || airtime.spread < USED_SPREAD) {
        let ip_bits = 8.0 * report.sender.sent_bytes as f64 / f64::from(report.sender.sent_packets);
        report.airtime_bps = Some(ip_bits / packet_s);
    }
}

/// The airtime of a bit on the air that the slot's transits tell, seconds.
fn told_bit_s(report: &SlotReport, sample: &Sample) -> Option<f64> {
    let of_frames =
        SegmentTransit::of(report).map(|transit| transit.per_segment_s() / sample.packet_bits());
    let of_packet = || {
        let ip_bits = 8.0 * sample.packet_bytes.unwrap_or(DEFAULT_BYTES);
        Some(ip_bits / (sample.airtime_bps? * sample.packet_bits()))
    };
    of_frames
        .or_else(of_packet)
        .filter(|&bit_s| bit_s > 0.0 && bit_s.is_finite())
}
