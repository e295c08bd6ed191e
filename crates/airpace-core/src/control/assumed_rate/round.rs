//! Divides the payload of a round among the stations that share it.

use super::super::WaterfillConfig;
use super::super::sample::{Sample, lost_with_frames};
use super::super::waterfill::UPLINK_MOST;
use super::RANGE_BPS;
use super::alike::{self, drawn_together};
use super::means::{FrameMeans, Transit};
use super::remainder::SlotRemainder;
use crate::report::SlotReport;
use crate::sensor::ack_burst::TRANSIT_COMMON;
use airpace_units::StationId;

/// From this level on, the time between frames is the round rather than the time between packets.
const AGGREGATED_LEVEL: f64 = 1.2;
/// What a transit holds besides the frame's payload, at the least: preamble, SIFS and block ack of
/// the frame, AIFS, backoff and preamble of the acknowledgements, seconds.
const TRANSIT_LEAST_S: f64 = 200e-6;
/// What it holds usually, and is taken to hold by the sensor: where some stations' frames are not seen,
/// the payload of the round does not tell.
const TRANSIT_USUAL_S: f64 = TRANSIT_COMMON.as_secs_f64();
/// A packet waits for half a round on average until the frame in which it leaves. If it waits for
/// less than this share of the time between frames, that is not a round.
const WAITED_SHARE: f64 = 0.25;
/// A packet that waits for longer than this, seconds, may have waited for a frame to another station.
const AT_ONCE_S: f64 = 1e-3;
/// Largest share of a transit that is taken for the common part where the round does not tell.
const COMMON_MOST: f64 = 0.93;
/// Least payload of a frame as a part of the mean, where stations differ: a transit is not more
/// accurate.
const PAYLOAD_LEAST: f64 = 0.1;
/// The payload of the round as a multiple of what transits leave for it: in cells without neighbours
/// on average, and at most (simulation of one to ten stations: 1.0 to 1.3). What is beyond the former
/// is other networks' use of the channel if it is more than the latter.
const ROUND_OVER_TRANSITS: (f64, f64) = (1.15, 1.5);
/// The same where the scatter of transits shows that other networks send. With the numbers above, stations beside a network with 20 Mbit/s
/// had 0.73 to 0.94 of what agents give, with these 0.82 to 1.03 (simulated, one to three stations).
const ROUND_OVER_TRANSITS_AMONG_OTHERS: (f64, f64) = (1.05, 1.05);
/// Part of a frame's airtime that collisions cost beyond it, per frame that stations send for each of the
/// access point's: a station that wins the channel at the same time makes it send the frame again
/// (simulations of one to ten stations that are all seen, 0.6 to 1.1 such frames: 0.08 to 0.12).
const COLLISION_PART: f64 = 0.09;
/// Most that is taken for the cost of collisions.
const COLLISIONS_MOST: f64 = 0.25;
/// Part of the cost of collisions that is added to the assumed airtimes of stations that are seen, beside
/// others that are not. With all of it they had 4 to 15 % less than their share, and with none up to 10 %
/// more (simulated cells of two to six stations).
const COLLISIONS_CHARGED: f64 = 0.5;
/// Beside uploads, a round takes longer than they and the payload of the transits explain. This part of the
/// difference counts as payload, the rest as overhead. With all of it a slow download beside a fast one had 0.88 to 0.90 of
/// what agents give, and with none uploads had 0.90 to 0.94 (eight simulated cells, three seeds).
const BESIDE_UPLOAD_CHARGED: f64 = 0.5;
/// Largest difference that counts, as a part of that payload.
const BESIDE_UPLOAD_MOST: f64 = 0.3;
/// Most packets in a frame whose level nobody sees: as many MPDUs as a block ack of 802.11n and 802.11ac
/// covers. 802.11ax permits more; there the result is too much airtime rather than too little.
pub(super) const FRAME_MOST: f64 = 64.0;
/// Most packets received per packet that the level counts; more is an error of one of the counts.
const REPEATS_MOST: f64 = 1.5;
/// From this share of the time on, other networks' use of the channel is allowed for.
const FOREIGN_LEAST: f64 = 0.1;

/// One station's contribution to the round.
#[derive(Clone, Copy)]
pub(super) struct RoundPart {
    pub(super) station: StationId,
    pub(super) sample: Sample,
    pub(super) frame: FrameMeans,
}

/// What is sent to a station whose frames no sensor sees.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct UnseenPart {
    pub(super) station: StationId,
    /// Whether it is sent less in a dip.
    pub(super) may_dip: bool,
    /// Whether it sends more than it is sent.
    pub(super) is_uploader: bool,
    /// Whether a sensor tells the airtime of a packet, so that the round is not asked.
    pub(super) is_told: bool,
    /// Airtime of a packet over that of the mean packet, as far as dips have shown it.
    pub(super) weight: f64,
    /// Packets per second.
    pub(super) pps: f64,
    /// Airtime of one, seconds, at the assumed rate.
    pub(super) packet_s: f64,
    /// Bits of one on the air.
    pub(super) bits: f64,
    /// Frames per second that came from the station.
    pub(super) uplink_per_s: f64,
}

impl UnseenPart {
    /// A station that is sent so many packets per second, and for which more wait.
    #[cfg(test)]
    pub(super) const fn of_test(station: StationId, pps: f64) -> Self {
        Self {
            station,
            may_dip: true,
            is_uploader: false,
            is_told: false,
            weight: 1.0,
            pps,
            packet_s: 60e-6,
            bits: 1e4,
            uplink_per_s: 0.0,
        }
    }

    /// Frames per round of `time_s`.
    fn frames(&self, time_s: f64) -> f64 {
        (self.pps * time_s).min(1.0)
    }

    /// Packets that a round of `time_s` takes at most, in one frame. What is sent beyond them waits at the
    /// access point.
    pub(super) fn taken(&self, time_s: f64) -> f64 {
        (self.pps * time_s).min(FRAME_MOST)
    }
}

/// What takes air besides the frames that are seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Others<'a> {
    pub(super) unseen: &'a [UnseenPart],
    /// Whether stations upload.
    pub(super) has_upload: bool,
    /// Share of the time that uploads take, if all of them are known.
    pub(super) upload_share: Option<f64>,
    /// Whether transits show that other networks send.
    pub(super) others_send: bool,
    /// Share of the time in which other networks use the channel.
    pub(super) foreign_share: f64,
}

impl RoundPart {
    pub(super) fn of(report: &SlotReport) -> Option<Self> {
        let sample = Sample::read(report)?;
        let (level, round_s) = sample.level.zip(sample.round_s)?;
        Some(Self {
            station: report.station,
            sample,
            frame: FrameMeans {
                level,
                round_s,
                uplink_per_s: sample.uplink_frames_per_s,
                transit: sample.transit_s.map(|seconds| Transit { seconds, level }),
                wait_s: sample.wait.map(|wait| wait.median_s),
                repeats: sample.received_pps * sample.length_s / (level * sample.frames),
            },
        })
    }

    /// Whether a box has seen the frames, or how long they took. An agent may report of them besides.
    pub(super) fn is_observed(&self) -> bool {
        self.has_transit() || self.is_unknown() && self.sample.is_passive
    }

    fn is_unknown(&self) -> bool {
        self.sample.phy_bps.is_none()
    }

    fn has_transit(&self) -> bool {
        self.frame.transit.is_some()
    }

    fn is_aggregated(&self) -> bool {
        self.frame.level >= AGGREGATED_LEVEL
    }

    /// Bits of a packet on the air, that is, its airtime in seconds at 1 bit/s.
    pub(super) fn bits(&self) -> f64 {
        self.sample.packet_bits()
    }

    /// Airtime per bit of payload at the PHY rate that is known, seconds; `None` if it is unknown. Frames
    /// that are lost whole and sent again are in it, as they are in what transits and rounds tell of the
    /// stations of unknown rate.
    pub(super) fn known_bit_s(&self) -> Option<f64> {
        Some((1.0 + lost_with_frames(self.repeats())) / self.sample.phy_bps?)
    }

    /// Airtime of the payload in a round of `round_s` at the PHY rate that is known, seconds.
    fn known_in_round_s(&self, round_s: f64) -> Option<f64> {
        let bps = self.sample.phy_bps?;
        Some(self.bits() / bps * self.frame.level * self.repeats() * self.turns(round_s))
    }

    /// Packets received per packet that the level counts, if both can be right.
    fn repeats(&self) -> f64 {
        self.frame.repeats.clamp(1.0, REPEATS_MOST)
    }

    /// Frames to the station per round of `round_s`; one at most.
    fn turns(&self, round_s: f64) -> f64 {
        (round_s / self.frame.round_s).min(1.0)
    }
}

/// What the stations that are seen leave of the round for those that are not, and for other networks.
/// `usual_s` is what transits have in common, `usual_bit_s` the usual airtime of a bit. `None` without a
/// round to take it from.
pub(super) fn remainder(
    parts: &[RoundPart],
    others: &Others<'_>,
    overhead_s: f64,
    usual_s: Option<f64>,
    usual_bit_s: f64,
) -> Option<SlotRemainder> {
    let unseen = others.unseen;
    let asked = || unseen.iter().filter(|part| !part.is_told);
    let sent_pps: f64 = asked().map(|part| part.pps).sum();
    let Round { time_s, payload_s } = Round::of(parts, others, overhead_s, RoundPart::is_unknown)?;
    if is_idle(parts) || others.has_upload || sent_pps <= 0.0 {
        return None;
    }
    // What they were assumed to take is what is asked for.
    let assumed_s: f64 = asked().map(|part| part.pps * part.packet_s).sum();
    let left_s = payload_s + assumed_s * time_s;
    let usual_s = usual_s.unwrap_or(TRANSIT_USUAL_S);
    // What a seen frame takes beside its payload may be more than was assumed for it and its answer.
    let assumed_frame_s = (1.0 + WaterfillConfig::IN_LINE_UPLINK_PART) * overhead_s;
    let beyond_s = (usual_s - assumed_frame_s).max(0.0);
    let mut seen_s = 0.0;
    for part in parts.iter().filter(|part| part.is_unknown()) {
        let transit = part.frame.transit?;
        let packet_s = (transit.seconds - usual_s).max(0.0) / transit.level;
        seen_s += (packet_s * part.frame.level + beyond_s) * part.turns(time_s);
    }
    let known_s: f64 = parts
        .iter()
        .filter_map(|part| part.known_in_round_s(time_s))
        .sum();
    // The frames' own airtime, known or seen, does not contain what collisions cost.
    let collisions = collisions(parts, unseen, time_s);
    let collided_s = collisions * (seen_s + known_s);
    let left_s = left_s + others.foreign_share * time_s - seen_s - collided_s;
    let packets = asked().map(|part| part.weight * part.taken(time_s)).sum();
    let weighted_pps: f64 = asked().map(|part| part.weight * part.pps).sum();
    let bits: f64 = asked().map(|part| part.pps * part.bits).sum();
    // What is left to the others contains the whole cost of their collisions.
    let usual_bit_s = usual_bit_s * (1.0 + (1.0 - COLLISIONS_CHARGED) * collisions);
    Some(SlotRemainder {
        left_s,
        packets,
        unseen: asked().count() as f64,
        frames: frames_per_round(parts, unseen, time_s),
        round_s: time_s,
        foreign_s: others.foreign_share * time_s,
        usual_packet_s: usual_bit_s * bits / weighted_pps,
        slowest_packet_s: bits / (weighted_pps * RANGE_BPS.0),
        seen_s: seen_s + known_s,
    })
}

/// Frames of the access point in a round of `time_s`.
fn frames_per_round(parts: &[RoundPart], unseen: &[UnseenPart], time_s: f64) -> f64 {
    let seen_frames: f64 = parts.iter().map(|part| part.turns(time_s)).sum();
    let unseen_frames: f64 = unseen.iter().map(|part| part.frames(time_s)).sum();
    seen_frames + unseen_frames
}

/// Airtime that collisions cost, as a part of that of the access point's frames.
fn collisions(parts: &[RoundPart], unseen: &[UnseenPart], time_s: f64) -> f64 {
    let frames = frames_per_round(parts, unseen, time_s);
    let from_seen = parts.iter().map(|part| part.frame.uplink_per_s);
    let from_unseen = unseen.iter().map(|part| part.uplink_per_s);
    let uplink_frames = from_seen.chain(from_unseen).sum::<f64>() * time_s;
    (COLLISION_PART * uplink_frames / frames).min(COLLISIONS_MOST)
}

/// What the frames of a slot tell.
pub(super) struct Division {
    /// Airtime per packet, seconds, in the order of the parts: `None` where nothing follows because
    /// frames hold one packet each and no transit was seen, or where the PHY rate is known and no
    /// transit was seen. Where the PHY rate is known and a transit was seen, what would follow without
    /// the PHY rate: its error is that of the others.
    pub(super) packet_s: Vec<Option<f64>>,
    /// What all transits have in common, seconds, if the channel was loaded by stations that are seen.
    pub(super) common_s: Option<f64>,
    /// Whether the channel is idle at times.
    pub(super) is_idle: bool,
    /// Share of the time that neither the frames that are seen nor their overhead explain, if the
    /// channel was loaded by stations that are all seen.
    pub(super) foreign_share: Option<f64>,
}

/// Divides the payload of a round of which each frame takes `overhead_s` besides. `usual_s` is what
/// transits had in common before.
pub(super) fn divide(
    parts: &[RoundPart],
    others: &Others<'_>,
    overhead_s: f64,
    usual_s: Option<f64>,
) -> Division {
    let mut unknown = parts.iter().filter(|part| part.is_unknown());
    if unknown.all(RoundPart::has_transit) {
        let round = Round::of(parts, others, overhead_s, RoundPart::has_transit);
        divide_by_transits(parts, round, others, usual_s)
    } else {
        let round = Round::of(parts, others, overhead_s, RoundPart::is_unknown);
        Division {
            packet_s: divide_by_packets(parts, round),
            common_s: None,
            is_idle: is_idle(parts),
            foreign_share: None,
        }
    }
}

/// One PHY rate for all stations of unknown rate.
fn divide_by_packets(parts: &[RoundPart], round: Option<Round>) -> Vec<Option<f64>> {
    let Some(Round { time_s, payload_s }) = round else {
        return vec![None; parts.len()];
    };
    let bits: f64 = parts
        .iter()
        .filter(|part| part.is_unknown())
        .map(|part| part.bits() * part.frame.level * part.turns(time_s))
        .sum();
    // The assumed overhead alone may exceed the round; then the payload takes next to no time.
    let seconds_per_bit = (payload_s / bits).max(1.0 / RANGE_BPS.1);
    let packet_s = |part: &RoundPart| {
        (part.is_unknown() && part.is_aggregated()).then_some(part.bits() * seconds_per_bit)
    };
    parts.iter().map(packet_s).collect()
}

/// A transit is the payload of the station's frame and what is the same for all stations of the
/// access point: the rest of the frame, and how long acknowledgements wait for the channel. The
/// payload of the round tells the latter.
///
/// While the channel is idle at times, or some frames are not seen, it does not: then the common part
/// is what it usually is, at least, as rounds of a loaded channel have shown. Where packets do wait
/// and all frames are seen, transits that leave less than the payload of the round are too short, and
/// are scaled. If they leave far less, and for long, other networks use the channel between the frames:
/// most transits do not contain that, and the round does.
fn divide_by_transits(
    parts: &[RoundPart],
    round: Option<Round>,
    others: &Others<'_>,
    usual_s: Option<f64>,
) -> Division {
    let foreign_share = others.foreign_share;
    let has_unseen = others.has_upload || !others.unseen.is_empty();
    let time_s = round.map_or(f64::MAX, |round| round.time_s);
    // Frames per round, as long as those whose transits were seen, and the sum of their transits.
    let (mut frames, mut transits_s) = (0.0, 0.0);
    for part in parts {
        if let Some(transit) = part.frame.transit {
            let seen = part.turns(time_s) * part.frame.level / transit.level;
            frames += seen;
            transits_s += seen * transit.seconds;
        }
    }
    let is_idle = is_idle(parts);
    let is_told = round.is_some() && !is_idle && !has_unseen;
    // With other networks on the channel the round is known no better than the transits.
    let is_alone = foreign_share < FOREIGN_LEAST;
    let most_s = COMMON_MOST * transits_s / frames;
    let least_s = match usual_s {
        // Less would give a station with longer frames, by chance, the higher rate, and so longer ones.
        _ if is_told && is_alone => TRANSIT_USUAL_S.min(most_s),
        // Rounds have shown too little as long as the others were taken for payload.
        Some(usual_s) if !is_alone => usual_s.max(TRANSIT_USUAL_S).min(most_s),
        Some(usual_s) => usual_s.min(most_s),
        None if has_unseen || !is_alone => TRANSIT_USUAL_S,
        None => TRANSIT_LEAST_S,
    };
    let by_round_s = round.map_or(0.0, |round| (transits_s - round.payload_s) / frames);
    let common_s = by_round_s.max(least_s);
    let left_s = (transits_s - frames * common_s).max(0.0);
    let payload_least_s = PAYLOAD_LEAST * left_s / frames;
    let scale = match round {
        Some(round) if is_told && left_s > 0.0 => (round.payload_s / left_s).max(1.0),
        Some(round) if !is_idle && left_s > 0.0 && others.upload_share.is_some() => {
            let beyond = (round.payload_s / left_s - 1.0).clamp(0.0, BESIDE_UPLOAD_MOST);
            1.0 + BESIDE_UPLOAD_CHARGED * beyond
        }
        // With stations that nobody sees, the round does not tell what collisions cost.
        Some(round) if !is_idle && !others.has_upload => {
            1.0 + COLLISIONS_CHARGED * collisions(parts, others.unseen, round.time_s)
        }
        _ => 1.0,
    };
    let unexplained_share = |round: Round| {
        let all_s = round.payload_s + foreign_share * round.time_s;
        let (usual, most) = if others.others_send {
            ROUND_OVER_TRANSITS_AMONG_OTHERS
        } else {
            ROUND_OVER_TRANSITS
        };
        if all_s > most * left_s {
            (all_s - usual * left_s) / round.time_s
        } else {
            0.0
        }
    };
    let airtime_per_bit_s = |part: &RoundPart| {
        let transit = part.frame.transit?;
        let payload_s = scale * (transit.seconds - common_s).max(payload_least_s);
        let packet_s = payload_s / transit.level;
        Some((packet_s / part.bits()).max(1.0 / RANGE_BPS.1))
    };
    let per_bit_s: Vec<Option<f64>> = parts.iter().map(airtime_per_bit_s).collect();
    let packet_s = |(idx, part): (usize, &RoundPart)| {
        let own_s = per_bit_s[idx]?;
        let of_others = |other: usize| per_bit_s[other].filter(|_| other != idx);
        let others_s = (0..parts.len()).filter_map(of_others);
        Some(part.bits() * drawn_together(own_s, others_s, alike::WIDTH))
    };
    Division {
        packet_s: parts.iter().enumerate().map(packet_s).collect(),
        common_s: (is_told && is_alone && frames > 0.0).then_some(common_s),
        is_idle,
        foreign_share: round
            .filter(|_| is_told && frames > 0.0)
            .map(unexplained_share),
    }
}

/// Whether the channel is idle at times: packets do not wait for a round, so the time between frames
/// is that between packets, or bursts of them.
fn is_idle(parts: &[RoundPart]) -> bool {
    let waits = parts
        .iter()
        .filter(|part| (part.is_unknown() || part.has_transit()) && part.is_aggregated());
    !waits.into_iter().any(|part| {
        part.frame
            .wait_s
            .is_some_and(|wait_s| wait_s > WAITED_SHARE * part.frame.round_s)
    })
}

/// Whether packets to the stations that are seen go on the air at once. Then the access point holds none to
/// others either.
pub(super) fn is_seen_idle(parts: &[RoundPart]) -> bool {
    let goes_at_once = |part: &RoundPart| {
        let most_s = AT_ONCE_S.min(WAITED_SHARE * part.frame.round_s);
        part.frame.wait_s.is_some_and(|wait_s| wait_s < most_s)
    };
    !parts.is_empty() && parts.iter().all(goes_at_once)
}

/// The round that all stations share.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Round {
    /// The shortest time between frames to one station, seconds.
    time_s: f64,
    /// Payload in it to the stations among which it is to be divided, seconds.
    payload_s: f64,
}

impl Round {
    /// `is_divided` says among which stations the payload is to be divided. `None` while no frames
    /// aggregate.
    fn of(
        parts: &[RoundPart],
        others: &Others<'_>,
        overhead_s: f64,
        is_divided: fn(&RoundPart) -> bool,
    ) -> Option<Self> {
        let time_s = parts
            .iter()
            .filter(|part| part.is_aggregated())
            .map(|part| part.frame.round_s)
            .min_by(f64::total_cmp)?;
        let (mut frames_s, mut uplink, mut known_s) = (0.0, 0.0, 0.0);
        for part in parts {
            let turns = part.turns(time_s);
            let uplink_part = if part.sample.is_passive {
                WaterfillConfig::IN_LINE_UPLINK_PART
            } else {
                1.0
            };
            frames_s += turns * overhead_s;
            uplink += part.frame.uplink_per_s * uplink_part * overhead_s;
            if !is_divided(part) {
                known_s += part.known_in_round_s(time_s).unwrap_or(0.0);
            }
        }
        for part in others.unseen {
            frames_s += part.frames(time_s) * overhead_s;
            known_s += part.pps * time_s * part.packet_s;
            let uplink_part = WaterfillConfig::IN_LINE_UPLINK_PART;
            uplink += part.uplink_per_s * uplink_part * overhead_s;
        }
        let uploads = others.upload_share.unwrap_or(0.0);
        let taken = uplink.min(UPLINK_MOST) + uploads + others.foreign_share;
        let payload_s = time_s * (1.0 - taken) - frames_s - known_s;
        Some(Self { time_s, payload_s })
    }
}
