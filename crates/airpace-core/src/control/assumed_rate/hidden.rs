//! Stations whose answers hide what has arrived, such as QUIC clients that answer seldom: what their transits tell of the
//! airtime of a bit is a guess, which the number of frames that there is time for corrects.

use super::super::sample::{DEFAULT_BYTES, Sample};
use super::alike::{drawn_together, width_of};
use super::budget::{BitAirtime, FRAMES_PER_TURN, Sent, TimeBudget};
use super::swing::Swings;
use super::{AssumeRates, UPLOAD_BYTES_PER_S};
use crate::report::{Answers, SlotReport};
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

/// What is known of such stations.
#[derive(Clone, Debug, Default)]
pub(super) struct Hidden {
    budget: TimeBudget,
    swings: Swings,
    /// When each station's answers were last seldom.
    seldom: Vec<(StationId, Time)>,
}

impl Hidden {
    pub(super) fn remove(&mut self, station: StationId) {
        self.seldom.retain(|known| known.0 != station);
        self.budget.remove(station);
    }

    /// Whether stations are sent less than they could be, so that the channel is idle at times.
    pub(super) const fn is_surveyed(&self) -> bool {
        self.swings.is_survey()
    }

    /// Notes whose answers are seldom, and forgets those whose answers have not been for long.
    fn note(&mut self, now: Time, reports: &[SlotReport]) {
        self.seldom
            .retain(|known| now.saturating_since(known.1) < REMEMBERED);
        for report in reports {
            let is_seldom = matches!(report.answers, Answers::Seldom | Answers::AtOnce);
            // An agent or a radio tells frames apart, and so do TCP's answers.
            let is_seen = report.answers == Answers::Tell && report.frames > 0;
            if is_seldom || is_seen {
                self.seldom.retain(|known| known.0 != report.station);
            }
            if is_seldom {
                self.seldom.push((report.station, now));
            }
        }
    }

    /// Whether the station's answers hide how long its frames take.
    fn hides(&self, station: StationId) -> bool {
        self.seldom.iter().any(|known| known.0 == station)
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
        if self.hidden.seldom.len() < FEWEST {
            self.hidden = Hidden {
                seldom: core::mem::take(&mut self.hidden.seldom),
                ..Hidden::default()
            };
            return;
        }
        let samples: Vec<Sample> = self.reports.iter().filter_map(Sample::read).collect();
        let passive = samples.iter().filter(|sample| sample.is_passive);
        let length_s = passive.map(|sample| sample.length_s).fold(0.0, f64::max);
        let length = Duration::try_from_secs_f64(length_s).unwrap_or_default();
        if length.is_zero() {
            return;
        }
        let has_waited = samples.iter().any(Sample::has_waited);
        let uploads: f64 = samples.iter().map(|sample| sample.upload_bytes_per_s).sum();
        let sent = self.sent(length_s);
        self.hidden.budget.note_clients(length, &sent);
        // Without packets that wait, the channel is idle at times, and how long uploads take is not known.
        let turns = self.hidden.budget.turns(&sent);
        let turns = turns.filter(|_| has_waited && uploads < UPLOAD_BYTES_PER_S);
        let tells = self.hidden.swings.on_slot(now, length, turns);
        if let Some(turns) = turns.filter(|_| tells) {
            self.hidden.budget.add(length, turns, &sent);
        }
        self.hidden.budget.solve(&sent);
        for of in sent {
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
            let (bit_s, spread) = match (sample.phy_bps, told_bit_s(report, &sample)) {
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
            let is_counted = is_seen && report.answers == Answers::Tell;
            sent.push(Sent {
                station: report.station,
                bits: packets * sample.packet_bits(),
                packets,
                answers,
                at_once: report.answers == Answers::AtOnce,
                turns: is_counted.then_some(turns),
                bit_s,
                spread,
            });
        }
        sent
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
            let waits = report.is_some_and(|of| of.sender.backlogged);
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
        for (idx, sign) in swung {
            let factor = self.hidden.swings.factor(sign, swung_load / load);
            self.allocations[idx].rate_pps *= factor;
            self.allocations[idx].rate_bytes_per_s *= factor;
        }
        self.hidden.swings.decide(now, spread);
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
