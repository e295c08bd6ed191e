//! The law's estimate of one station: its rounds, its airtime per packet, and the packets queued
//! for it.

use super::super::roster::packet_airtime_s;
use super::super::sample::Sample;
use super::config::WaterfillConfig;
use super::elsewhere::{Elsewhere, SlotTraffic};
use super::plateau::Plateau;
use super::share::Demand;
use airpace_units::Time;

/// Frames above this share of the longest count as full: the access point had more packets waiting.
const FULL_SHARE: f64 = 0.9;
/// Slots without a report after which a station's last measurements no longer count.
const SILENT_SLOTS: u8 = 3;
/// Largest target level as a share of the longest frame, so that varying frames stay below the
/// longest: 48 of 64 as in 002.
const TARGET_SHARE: f64 = 0.75;
/// The gap across the boundary of two slots counts if it is at most this many times the mean gap
/// within the slot.
const FIRST_GAP_MAX: f64 = 2.5;
/// From this mean level on, a paced station has a packet waiting at every turn, so the gaps between
/// its frames are rounds.
pub(super) const EVERY_ROUND_LEVEL: f64 = 1.05;
/// If less than this share of the granted rate was sent, the source was idle for a part of the
/// slot.
const PACED_SHARE: f64 = 0.9;
/// Share of the balance of queued packets that is kept from slot to slot, so that rounding errors
/// do not accumulate.
const QUEUED_KEPT: f64 = 0.985;
/// The packets that can be in flight are those sent in this many gaps between frames ...
const IN_FLIGHT_GAPS: f64 = 3.0;
/// ... and in this time on the path before the access point, seconds.
const IN_FLIGHT_S: f64 = 0.03;
/// From this share of the packets that can be in flight on, missing packets count as a queue that
/// builds up slowly.
const TRIM_FROM: f64 = 0.5;
/// Largest share of the rate that is held back to drain such a queue. A path that falls short by
/// more is capped, and packets that were lost unnoticed cost no more than this.
const TRIM_MOST: f64 = 0.06;
/// Number of frames that can be counted in the neighbouring slot.
const EDGE_FRAMES: f64 = 1.5;
/// Largest part of its fair share that a station is sent to keep its reports coming, although its
/// backlog calls for less.
const FLOOR_SHARE: f64 = 0.25;
/// Packets per slot to a station from which no frame has been reported yet.
const PROBE_PACKETS: f64 = 4.0;
/// Weight of one slot in [`StationEstimate::repeats`]: for noise and for a change.
const REPEATS_GAINS: [f64; 2] = [0.1, 0.6];
/// Upper bound of [`StationEstimate::repeats`]. If more than every other frame is lost, the counts
/// are not reliable.
const REPEATS_MAX: f64 = 2.0;
/// Weight of one slot in the mean packet size.
const SIZE_GAIN: f64 = 0.3;

/// Measurements of a slot in which frames arrived.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Heard {
    /// Frames counted.
    pub(super) frames: f64,
    /// Packets per frame.
    pub(super) level: f64,
    /// Mean time between frames, seconds.
    pub(super) gap_s: f64,
    /// Packets per second: level / gap, plus the packets of frames that are not samples of the
    /// level.
    pub(super) frame_pps: f64,
}

/// How much of the estimated queue is drained in the next slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Drain {
    /// Frames are below the longest and the path carries what is sent: hardly any packets are
    /// queued.
    Not,
    /// The path falls short. Missing packets may be lost rather than queued, so the rate is halved
    /// at most.
    Half,
    /// Frames are full: the missing packets are queued in the access point.
    Whole,
}

/// The estimate of one station.
#[derive(Clone, Copy, Debug)]
pub(super) struct StationEstimate {
    heard: Option<Heard>,
    /// Whether a frame was ever reported; until then the PHY rate is unknown.
    met: bool,
    /// Arrival of the last frame of the last slot reported, and that slot's number.
    last: Option<(Time, u64)>,
    /// Packets per second received in the last slot, over the whole slot.
    received_pps: f64,
    phy_bps: f64,
    packet_bytes: f64,
    /// Transmissions on the air per packet received, from the share of late packets.
    transmissions: f64,
    /// Packets received per packet that the level counts. It exceeds 1 where whole frames are lost,
    /// as in collisions, and sent again.
    repeats: f64,
    airtime_s: f64,
    backlogged: bool,
    /// Whether the source kept up with its rate through the whole slot.
    paced: bool,
    silent_slots: u8,
    /// Packets sent that were neither received nor reported lost: they are queued or in flight.
    queued: f64,
    /// Largest number of them that can be in flight.
    in_flight: f64,
    drain: Drain,
    slot_s: f64,
    plateau: Plateau,
    pub(super) elsewhere: Elsewhere,
    pub(super) target_level: f64,
    pub(super) rate_pps: f64,
}

impl StationEstimate {
    /// The estimate of a new station, from the configuration.
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
            queued: 0.0,
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

    /// Begins a slot. Measurements of a station that stays silent expire.
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
        // One packet of tolerance: it may have been counted in the neighbouring slot.
        let due = PACED_SHARE * self.rate_pps - 1.0 / sample.length_s;
        self.paced = sample.backlogged && sample.sent_pps.is_none_or(|sent| sent >= due);
        self.met |= sample.frames > 0.0;
        self.received_pps = sample.received_pps;
        self.phy_bps = sample.phy_bps.unwrap_or(self.phy_bps);
        // Without a backlog, packets are acknowledgements and pings, which are smaller than the
        // packets that will fill frames.
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
            // At a slot boundary a frame may be counted in one slot and its bytes in the other; a
            // larger difference is a change.
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

    /// Mean gap from the last frame of the previous slot to the last frame of this one.
    ///
    /// Then every frame of the slot ends exactly one gap, and levels and gaps belong to the same
    /// rounds. Within the slot alone the first frame has no gap, and in slots of few frames that
    /// causes most of the noise in the overhead.
    fn whole_gap_s(&self, sample: &Sample) -> Option<f64> {
        let (before, slot) = self.last.filter(|_| sample.frames > 0.0)?;
        let whole_s = sample.last?.checked_since(before)?.as_secs_f64();
        // A first gap unlike the others belongs to the previous slot, in which the rate was
        // different.
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

    /// Keeps the balance of packets sent and received. While frames are full, the difference is
    /// queued in the access point; while the path falls short, it is queued somewhere before it.
    fn account(&mut self, sample: &Sample, config: &WaterfillConfig) {
        let Some(level) = sample.level else { return };
        let sent_pps = sample.sent_pps.unwrap_or(if sample.backlogged {
            self.rate_pps
        } else {
            sample.received_pps
        });
        let full = level >= FULL_SHARE * self.longest_frame(config);
        // While frames are full the access point is the bottleneck, so the gaps are rounds even if
        // the source is idle at times.
        self.paced |= full && sample.backlogged;
        // Packets that were sent and neither received nor lost are in flight or queued.
        let missing = (sent_pps - sample.received_pps - sample.lost_pps) * sample.length_s;
        self.queued = (QUEUED_KEPT * self.queued + missing).max(0.0);
        let all_came =
            sample.received_pps >= 0.95 * sent_pps && sample.received_pps <= 1.05 * sent_pps;
        if self.drain == Drain::Half && all_came {
            // The rate was reduced to drain a queue, but no more packets arrived than were sent. So
            // there is no queue: the missing packets were lost unnoticed.
            self.queued = 0.0;
        }
        self.plateau.observe(level, self.queued, sample);
        let in_flight_s = sample.round_s.map_or(0.0, |gap_s| IN_FLIGHT_GAPS * gap_s) + IN_FLIGHT_S;
        self.in_flight = sent_pps * in_flight_s;
        if sample.backlogged {
            self.elsewhere.observe(&SlotTraffic {
                sent_pps,
                received_pps: sample.received_pps,
                edge_pps: (EDGE_FRAMES * level + 2.0) / sample.length_s,
                full,
                queued: self.queued > self.in_flight,
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

    /// Largest number of packets in a frame to this station: limited by the window, the duration,
    /// or the longest frame seen.
    pub(super) fn longest_frame(&self, config: &WaterfillConfig) -> f64 {
        let by_duration = config.frame_duration.as_secs_f64() * self.transmissions / self.airtime_s;
        let seen = self.plateau.longest().unwrap_or(f64::INFINITY);
        config
            .frame_level
            .min(by_duration.floor())
            .min(seen)
            .max(1.0)
    }

    /// Largest level that the law may aim at.
    pub(super) fn level_limit(&self, config: &WaterfillConfig) -> f64 {
        let below_longest = (TARGET_SHARE * self.longest_frame(config)).max(1.0);
        config
            .level_limit
            .map_or(below_longest, |limit| limit.min(below_longest))
    }

    /// Turns a fair share into a rate: reduced so that the queue drains within a slot, and capped
    /// at what the path carries.
    pub(super) fn grant(&mut self, level: f64, fair_pps: f64, floor_pps: f64) {
        self.elsewhere.release_above(fair_pps);
        let open = self
            .elsewhere
            .cap_pps()
            .map_or(fair_pps, |cap| fair_pps.min(cap));
        let excess = self.queued / self.slot_s;
        let capped = match self.drain {
            Drain::Not => {
                let slow = (self.queued - TRIM_FROM * self.in_flight).max(0.0) / self.slot_s;
                open - slow.min(TRIM_MOST * open)
            }
            Drain::Half => (open - excess).max(open / 2.0),
            Drain::Whole => open - excess,
        };
        // The floor keeps reports coming, but it must not overload a network of many slow stations.
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

    /// How many packets the station can use.
    pub(super) fn demand(&self) -> Demand {
        match (self.met, self.backlogged) {
            (false, _) => Demand::Probed(PROBE_PACKETS / self.slot_s),
            (true, true) => Demand::Greedy,
            (true, false) => Demand::Limited(self.received_pps),
        }
    }

    /// The last measurements, if the gaps between frames are rounds: the source sent at the granted
    /// rate all the time, and that rate was meant to aggregate. Otherwise two packets meet in a
    /// frame by chance, and the gaps are those between packets.
    pub(super) fn round_witness(&self) -> Option<Heard> {
        self.heard
            .filter(|_| self.paced && self.target_level >= EVERY_ROUND_LEVEL)
    }

    /// The last measurements, unless they have expired.
    pub(super) fn heard(&self) -> Option<Heard> {
        self.heard
    }

    /// Packets to send for each packet that the level counts.
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
