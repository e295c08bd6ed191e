//! What a slot's reports tell the time budget of the stations, and what that tells the law.

use super::super::sample::{DEFAULT_BYTES, Sample};
use super::AssumeRates;
use super::budget::{FRAMES_PER_TURN, Sent};
use super::witness::{Role, USUAL_BPS, USUAL_SPREAD};
use crate::report::{Answers, SlotReport};
use crate::sensor::USABLE;
use crate::sensor::ack_burst::SegmentTransit;
use airpace_units::{StationId, Time};

/// Standard deviations of the logarithms of airtimes by what tells them: a PHY rate that is reported, without collisions;
/// transits of frames whose packets are known; transits of QUIC that answers seldom; and nothing.
const KNOWN_SPREAD: f64 = 0.1;
const SEEN_SPREAD: f64 = 0.5;
const HIDDEN_SPREAD: f64 = 0.7;
pub(super) const UNSEEN_SPREAD: f64 = 1.0;
/// Frames per answer beyond the first, where one station answers, and by which power of their number there are fewer with several
/// (`ack_burst/estimate.rs`).
const FRAMES_BEYOND: f64 = 0.7;
const FRAMES_POWER: f64 = 1.2;

impl AssumeRates {
    /// What the stations were sent in a slot of `length_s`, seconds, if they were sent as much as in the slots of their reports.
    pub(super) fn sent(&mut self, length_s: f64) -> Vec<Sent> {
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
            let role = self.hidden.role(report.station);
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
            let is_client = role.is_some_and(Role::is_client);
            let is_counted = is_client || is_seen && report.answers == Answers::Tell;
            sent.push(Sent {
                station: report.station,
                bits: packets * sample.packet_bits(),
                packets,
                answers,
                at_once: report.answers == Answers::AtOnce,
                turns: is_counted.then_some(turns),
                role,
                fewest: self.hidden.clients.fewest_per_answer(report.station),
                bit_s,
                spread,
            });
        }
        sent
    }

    /// Tells the law of frames that the sensor is not sure of, where clients are known to answer each: what it knows of the overhead
    /// may be of a time with or without other networks.
    pub(super) fn tell_turns(&mut self, now: Time) {
        let clients: Vec<StationId> = self.hidden.clients.counting().collect();
        let contending = self.hidden.clients.all().count().max(1);
        let per_answer = 1.0 + FRAMES_BEYOND / (contending as f64).powf(FRAMES_POWER);
        let is_client = |report: &&mut SlotReport| clients.contains(&report.station);
        for report in self.reports.iter_mut().filter(is_client) {
            let (packets, answers) = (report.sender.sent_packets, report.sender.uplink_frames);
            let fewest = self.hidden.clients.fewest_per_answer(report.station);
            let is_long = f64::from(packets) >= fewest * f64::from(answers);
            if report.frames > 0 || answers < 2 || !is_long {
                continue;
            }
            // There are fewer than 2³² packets.
            let frames = ((per_answer * f64::from(answers)) as u32).min(packets);
            (report.frames, report.mpdus, report.packets) = (frames, packets, packets);
            report.bytes = report.sender.sent_bytes;
            let begun = Time::ZERO + now.saturating_since(Time::ZERO + report.length);
            report.span = Some((begun.saturating_add(report.length / frames), now));
            report.confidence = USABLE;
        }
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
