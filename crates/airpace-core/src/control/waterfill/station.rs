//! What is known of one station.

use super::super::roster::packet_airtime_s;
use super::super::sample::Sample;
use super::config::WaterfillConfig;
use super::elsewhere::Elsewhere;

/// Frames longer than this share of the longest are full: the access point had more waiting.
const FULL_SHARE: f64 = 0.9;
/// Slots after which a silent station's last figures no longer count.
const SILENT_SLOTS: u8 = 3;
/// Share of the longest frame that a target may ask for, so that the spread of frames stays below the longest: 48 of 64 as in 002.
const TARGET_SHARE: f64 = 0.75;
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
    /// Packets per second inside frames, level / gap.
    pub(super) frame_pps: f64,
}

/// State of one station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Station {
    heard: Option<Heard>,
    /// Packets per second of the last slot, over the whole slot.
    received_pps: f64,
    phy_bps: f64,
    packet_bytes: f64,
    /// Packets sent on the air per packet received, from the share of late ones.
    transmissions: f64,
    airtime_s: f64,
    backlogged: bool,
    silent_slots: u8,
    backlog: f64,
    slot_s: f64,
    pub(super) elsewhere: Elsewhere,
    pub(super) target_level: f64,
    pub(super) rate_pps: f64,
}

impl Station {
    /// A station of which nothing is known.
    pub(super) fn new(config: &WaterfillConfig) -> Self {
        let mut station = Self {
            heard: None,
            received_pps: 0.0,
            phy_bps: config.assumed_phy_bps,
            packet_bytes: config.packet_bytes,
            transmissions: 1.0,
            airtime_s: 0.0,
            backlogged: true,
            silent_slots: 0,
            backlog: 0.0,
            slot_s: 1.0,
            elsewhere: Elsewhere::default(),
            target_level: 1.0,
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
        self.received_pps = sample.received_pps;
        self.phy_bps = sample.phy_bps.unwrap_or(self.phy_bps);
        if let Some(bytes) = sample.packet_bytes {
            self.packet_bytes += SIZE_GAIN * (bytes - self.packet_bytes);
        }
        self.transmissions += SIZE_GAIN * (1.0 / (1.0 - 0.9 * sample.late_share) - self.transmissions);
        self.update_airtime();
        self.heard = sample.level.zip(sample.round_s).map(|(level, gap_s)| Heard {
            frames: sample.frames,
            level,
            gap_s,
            frame_pps: level / gap_s,
        });
        self.account(sample, config);
    }

    fn update_airtime(&mut self) {
        self.airtime_s = packet_airtime_s(self.packet_bytes, self.phy_bps) * self.transmissions;
    }

    /// Keeps the balance of what was sent and what came: while frames are full the difference stands in the access point's queue.
    fn account(&mut self, sample: &Sample, config: &WaterfillConfig) {
        let Some(level) = sample.level else { return };
        let sent_pps = sample.sent_pps.unwrap_or(if sample.backlogged { self.rate_pps } else { sample.received_pps });
        let full = level >= FULL_SHARE * self.longest_frame(config);
        let standing = (sent_pps - sample.received_pps - sample.lost_pps) * sample.length_s;
        self.backlog = if full { (self.backlog + standing).max(0.0) } else { 0.0 };
        if sample.backlogged {
            self.elsewhere.observe(sent_pps, sample.received_pps, full);
        }
    }

    /// Most packets that one frame to this station can hold: the window or the duration limit.
    pub(super) fn longest_frame(&self, config: &WaterfillConfig) -> f64 {
        let by_duration = config.frame_duration.as_secs_f64() * self.transmissions / self.airtime_s;
        config.frame_level.min(by_duration.floor()).max(1.0)
    }

    /// The greatest level that may be aimed at.
    pub(super) fn level_limit(&self, config: &WaterfillConfig) -> f64 {
        config.level_limit.min((TARGET_SHARE * self.longest_frame(config)).max(1.0))
    }

    /// Turns a fair share into a rate: less what drains the backlog within a slot, and no more than the path before carries.
    pub(super) fn grant(&mut self, level: f64, fair_pps: f64, floor_pps: f64) {
        self.elsewhere.release_above(fair_pps);
        let drained = fair_pps - self.backlog / self.slot_s;
        let capped = self.elsewhere.cap_pps().map_or(drained, |cap| drained.min(cap));
        self.rate_pps = if capped.is_finite() { capped.max(floor_pps) } else { floor_pps };
        self.target_level = level;
    }

    /// What was heard in the last slots.
    pub(super) fn heard(&self) -> Option<Heard> {
        self.heard
    }

    /// Whether packets waited at the sender.
    pub(super) fn backlogged(&self) -> bool {
        self.backlogged
    }

    /// Airtime per packet received, retransmissions included, seconds (w).
    pub(super) fn airtime_s(&self) -> f64 {
        self.airtime_s
    }

    /// Packets per second of the last slot.
    pub(super) fn received_pps(&self) -> f64 {
        self.received_pps
    }

    /// Mean packet size in bytes.
    pub(super) fn packet_bytes(&self) -> f64 {
        self.packet_bytes
    }
}
