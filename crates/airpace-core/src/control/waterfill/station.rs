//! What is known of one station.

use super::super::roster::packet_airtime_s;
use super::super::sample::Sample;
use super::config::WaterfillConfig;
use super::elsewhere::{Elsewhere, Passage};
use super::plateau::Plateau;
use super::share::Demand;
use airpace_units::Time;

/// Frames longer than this share of the longest are full: the access point had more waiting.
const FULL_SHARE: f64 = 0.9;
/// Slots after which a silent station's last figures no longer count.
const SILENT_SLOTS: u8 = 3;
/// Share of the longest frame that a target may ask for, so that the spread of frames stays below the longest: 48 of 64 as in 002.
const TARGET_SHARE: f64 = 0.75;
/// The gap between two slots' frames is of the same round as the slot's own gaps if it is no more than this many of them.
const FIRST_GAP_MAX: f64 = 2.5;
/// From this mean level on, a paced station has a packet waiting at every turn, so that the gaps between its frames are rounds.
pub(super) const EVERY_ROUND_LEVEL: f64 = 1.05;
/// Less than this share of its rate sent: the source had nothing to send for a part of the slot.
const PACED_SHARE: f64 = 0.9;
/// Share of the standing packets remembered from slot to slot.
const STANDING_KEPT: f64 = 0.985;
/// Packets in flight are those of this many gaps between frames and of this time on the way.
const IN_FLIGHT_GAPS: f64 = 3.0;
const IN_FLIGHT_S: f64 = 0.03;
/// Share of those from which on what is missing is taken for a queue that builds up slowly, and the most of the rate that is held back for it: a
/// path that falls short by more is found out otherwise, and what was lost unnoticed costs no more than this.
const TRIM_FROM: f64 = 0.5;
const TRIM_MOST: f64 = 0.06;
/// Frames that may fall on the wrong side of the slot's edges.
const EDGE_FRAMES: f64 = 1.5;
/// Most of its fair share that a station is sent although nothing should be.
const FLOOR_SHARE: f64 = 0.25;
/// Packets per slot sent to a station that was never heard of.
const PROBE_PACKETS: f64 = 4.0;
/// Weight of a slot in [`Station::repeats`], of noise and of a change.
const REPEATS_GAINS: [f64; 2] = [0.1, 0.6];
/// Beyond every other frame lost, what is counted is not to be trusted.
const REPEATS_MAX: f64 = 2.0;
/// Weight of a slot in the mean packet size.
const SIZE_GAIN: f64 = 0.3;

/// A slot in which frames came.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Heard {
    /// Frames counted.
    pub(super) frames: f64,
    /// Packets per frame.
    pub(super) level: f64,
    /// Mean time between frames, seconds.
    pub(super) gap_s: f64,
    /// Packets per second inside frames: level / gap, and what came in frames that are no samples of the level.
    pub(super) frame_pps: f64,
}

/// How much of what stands is drained in the next slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Drain {
    /// Frames are below their longest and the path carries what it is sent: little stands, if anything.
    Not,
    /// The path falls short. What is missing may be lost and not stand anywhere: the rate is at most halved for it.
    Half,
    /// Frames are full: it stands in the access point.
    Whole,
}

/// State of one station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Station {
    heard: Option<Heard>,
    /// Whether a frame was ever heard of; until then nothing is known of the PHY rate.
    met: bool,
    /// Arrival of the last frame of the last slot reported, and that slot's number.
    last: Option<(Time, u64)>,
    /// Packets per second of the last slot, over the whole slot.
    received_pps: f64,
    phy_bps: f64,
    packet_bytes: f64,
    /// Packets sent on the air per packet received, from the share of late ones.
    transmissions: f64,
    /// Packets that came per packet that the level counts: more than one where frames are lost whole, as in collisions, and sent again.
    repeats: f64,
    airtime_s: f64,
    backlogged: bool,
    /// Whether the source kept up with its rate through the whole slot.
    paced: bool,
    silent_slots: u8,
    /// Packets sent that have neither come nor are known to be lost.
    standing: f64,
    /// Those of them that can be in flight, if any gap between frames was seen.
    in_flight: f64,
    drain: Drain,
    slot_s: f64,
    plateau: Plateau,
    pub(super) elsewhere: Elsewhere,
    pub(super) target_level: f64,
    pub(super) rate_pps: f64,
}

impl Station {
    /// A station of which nothing is known.
    pub(super) fn new(config: &WaterfillConfig) -> Self {
        let mut station = Self {
            heard: None,
            met: false,
            last: None,
            received_pps: 0.0,
            phy_bps: config.assumed_phy_bps,
            packet_bytes: config.packet_bytes,
            transmissions: 1.0,
            repeats: 1.0,
            airtime_s: 0.0,
            backlogged: true,
            paced: true,
            silent_slots: 0,
            standing: 0.0,
            in_flight: f64::INFINITY,
            drain: Drain::Not,
            slot_s: 1.0,
            plateau: Plateau::default(),
            elsewhere: Elsewhere::default(),
            target_level: 0.0,
            rate_pps: 0.0,
        };
        station.update_airtime();
        station
    }

    /// Begins a slot: what was heard before grows old.
    pub(super) fn age(&mut self) {
        self.silent_slots = self.silent_slots.saturating_add(1);
        if self.silent_slots > SILENT_SLOTS {
            self.heard = None;
            self.received_pps = 0.0;
        }
    }

    /// Takes the slot's report.
    pub(super) fn observe(&mut self, sample: &Sample, config: &WaterfillConfig) {
        self.silent_slots = 0;
        self.slot_s = sample.length_s;
        self.backlogged = sample.backlogged;
        // A packet more or less is the slot's edge.
        let due = PACED_SHARE * self.rate_pps - 1.0 / sample.length_s;
        self.paced = sample.backlogged && sample.sent_pps.is_none_or(|sent| sent >= due);
        self.met |= sample.frames > 0.0;
        self.received_pps = sample.received_pps;
        self.phy_bps = sample.phy_bps.unwrap_or(self.phy_bps);
        // Without a backlog they are acknowledgements and pings, which tell nothing of the packets that will fill frames.
        if let Some(bytes) = sample.packet_bytes.filter(|_| sample.backlogged) {
            self.packet_bytes += SIZE_GAIN * (bytes - self.packet_bytes);
        }
        self.transmissions +=
            SIZE_GAIN * (1.0 / (1.0 - 0.9 * sample.late_share) - self.transmissions);
        self.update_airtime();
        if let Some(counted_pps) = sample
            .level
            .map(|level| level * sample.frames / sample.length_s)
        {
            let repeats = (sample.received_pps / counted_pps).clamp(1.0, REPEATS_MAX);
            // A frame at the slot's edge may be counted in one slot and its bytes in another; more than that is a change.
            let change = (repeats - self.repeats).abs() > EDGE_FRAMES / sample.frames;
            self.repeats += REPEATS_GAINS[usize::from(change)] * (repeats - self.repeats);
        }
        let gap_s = self.whole_gap_s(sample).or(sample.round_s);
        self.heard = sample.level.zip(gap_s).map(|(level, gap_s)| Heard {
            frames: sample.frames,
            level,
            gap_s,
            frame_pps: self.repeats * level / gap_s,
        });
        self.last = sample
            .last
            .map(|at| (at, sample.slot))
            .or(self.last.map(|(at, _)| (at, sample.slot)));
        self.account(sample, config);
    }

    /// Mean gap from the last frame of the slot before to the last of this one.
    ///
    /// Every frame of the slot then ends exactly one of the gaps, so levels and gaps are of the same rounds; within the slot alone
    /// the first frame has no gap, which in slots of few frames is most of the noise of the overhead.
    fn whole_gap_s(&self, sample: &Sample) -> Option<f64> {
        let (before, slot) = self.last.filter(|_| sample.frames > 0.0)?;
        let whole_s = sample.last?.checked_since(before)?.as_secs_f64();
        // A first gap unlike the others is of the slot before, in which the rate was another.
        let (first_gap_s, usual_s) = match sample.round_s {
            Some(within_s) => (whole_s - within_s * (sample.frames - 1.0), within_s),
            None => (whole_s, sample.length_s),
        };
        let alike = first_gap_s > 0.0 && first_gap_s < FIRST_GAP_MAX * usual_s;
        (alike && slot.checked_add(1) == Some(sample.slot)).then_some(whole_s / sample.frames)
    }

    fn update_airtime(&mut self) {
        self.airtime_s = packet_airtime_s(self.packet_bytes, self.phy_bps) * self.transmissions;
    }

    /// Keeps the balance of what was sent and what came: while frames are full the difference stands in the access point's queue, and while the
    /// path falls short it stands somewhere.
    fn account(&mut self, sample: &Sample, config: &WaterfillConfig) {
        let Some(level) = sample.level else { return };
        let sent_pps = sample.sent_pps.unwrap_or(if sample.backlogged {
            self.rate_pps
        } else {
            sample.received_pps
        });
        let full = level >= FULL_SHARE * self.longest_frame(config);
        // While frames are full the access point is the bottleneck, so its rounds are seen whatever the source does.
        self.paced |= full && sample.backlogged;
        // What was sent and neither came nor was lost is in flight, or stands in a queue. Sums of rounding are forgotten slowly.
        let missing = (sent_pps - sample.received_pps - sample.lost_pps) * sample.length_s;
        self.standing = (STANDING_KEPT * self.standing + missing).max(0.0);
        let all_came =
            sample.received_pps >= 0.95 * sent_pps && sample.received_pps <= 1.05 * sent_pps;
        if self.drain == Drain::Half && all_came {
            // Less was sent so that what stands could come, and nothing came beside what was sent: it was lost unnoticed.
            self.standing = 0.0;
        }
        self.plateau.observe(level, self.standing, sample);
        let in_flight_s = sample.round_s.map_or(0.0, |gap_s| IN_FLIGHT_GAPS * gap_s) + IN_FLIGHT_S;
        self.in_flight = sent_pps * in_flight_s;
        if sample.backlogged {
            let stands = self.standing > self.in_flight;
            let edge_pps = (EDGE_FRAMES * level + 2.0) / sample.length_s;
            let received_pps = sample.received_pps;
            self.elsewhere.observe(&Passage {
                sent_pps,
                received_pps,
                edge_pps,
                full,
                stands,
            });
        }
        self.drain = if full {
            Drain::Whole
        } else if self.elsewhere.is_short() {
            Drain::Half
        } else {
            Drain::Not
        };
    }

    /// Most packets that one frame to this station can hold: the window, the duration limit, or what was seen.
    pub(super) fn longest_frame(&self, config: &WaterfillConfig) -> f64 {
        let by_duration = config.frame_duration.as_secs_f64() * self.transmissions / self.airtime_s;
        let seen = self.plateau.longest().unwrap_or(f64::INFINITY);
        config
            .frame_level
            .min(by_duration.floor())
            .min(seen)
            .max(1.0)
    }

    /// The greatest level that may be aimed at.
    pub(super) fn level_limit(&self, config: &WaterfillConfig) -> f64 {
        config
            .level_limit
            .min((TARGET_SHARE * self.longest_frame(config)).max(1.0))
    }

    /// Turns a fair share into a rate: less what drains the backlog within a slot, and no more than the path before carries.
    pub(super) fn grant(&mut self, level: f64, fair_pps: f64, floor_pps: f64) {
        self.elsewhere.release_above(fair_pps);
        let open = self
            .elsewhere
            .cap_pps()
            .map_or(fair_pps, |cap| fair_pps.min(cap));
        let excess = self.standing / self.slot_s;
        let capped = match self.drain {
            Drain::Not => {
                let slow = (self.standing - TRIM_FROM * self.in_flight).max(0.0) / self.slot_s;
                open - slow.min(TRIM_MOST * open)
            }
            Drain::Half => (open - excess).max(open / 2.0),
            Drain::Whole => open - excess,
        };
        // The floor keeps reports coming; it must not be what overloads many slow stations.
        let floor_pps = if fair_pps.is_finite() {
            floor_pps.min(FLOOR_SHARE * fair_pps)
        } else {
            floor_pps
        };
        self.rate_pps = if capped.is_finite() {
            capped.max(floor_pps)
        } else {
            floor_pps
        };
        self.target_level = level;
    }

    /// What the station has use for.
    pub(super) fn demand(&self) -> Demand {
        match (self.met, self.backlogged) {
            (false, _) => Demand::Probed(PROBE_PACKETS / self.slot_s),
            (true, true) => Demand::Greedy,
            (true, false) => Demand::Limited(self.received_pps),
        }
    }

    /// What was heard in the last slot, if it shows rounds: packets were sent at the station's rate all the time, and that rate was meant to aggregate.
    /// Otherwise two packets in a frame are chance, and the gaps are between packets.
    pub(super) fn round_witness(&self) -> Option<Heard> {
        self.heard
            .filter(|_| self.paced && self.target_level >= EVERY_ROUND_LEVEL)
    }

    /// What was heard in the last slots.
    pub(super) fn heard(&self) -> Option<Heard> {
        self.heard
    }

    /// Packets that are to be sent for each packet that the level counts.
    pub(super) fn repeats(&self) -> f64 {
        self.repeats
    }

    /// Airtime per packet received, retransmissions included, seconds (w).
    pub(super) fn airtime_s(&self) -> f64 {
        self.airtime_s
    }

    /// Mean packet size in bytes.
    pub(super) fn packet_bytes(&self) -> f64 {
        self.packet_bytes
    }
}
