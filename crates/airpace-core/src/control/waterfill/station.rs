//! The law's estimate of one station: its rounds, its airtime per packet, and what it can use.

mod account;
mod air;
mod grants;
mod reads;

use super::super::roster::packet_airtime_s;
use super::super::sample::{Sample, lost_with_frames};
use super::audit::Credit;
use super::backlog::Backlog;
use super::config::WaterfillConfig;
use super::elsewhere::Elsewhere;
use super::frame_limit::FrameLimit;
use super::granted::Granted;
use super::heard::{ENOUGH_FRAMES, Heard, SlotLength, Tally};
use air::OnAir;
use airpace_units::Time;

/// Slots without a report after which a station's last measurements no longer count. An agent that
/// has little to tell extends a slot to four.
const SILENT_SLOTS: f64 = 4.5;
/// Slots after which what a silent station was sent before no longer counts as on the air. Until then
/// the sender has told what it sends to it, or sends nothing.
const SENT_SLOTS: f64 = 7.0;
/// The gap across the boundary of two slots counts if it is at most this many times the mean gap
/// within the slot.
const FIRST_GAP_MAX: f64 = 2.5;
/// From this mean level on, a paced station has a packet waiting at every turn, so the gaps between
/// its frames are rounds.
pub(super) const EVERY_ROUND_LEVEL: f64 = 1.05;
/// If less than this share of the granted rate was sent, the source was idle for a part of the
/// slot.
const PACED_SHARE: f64 = 0.9;
/// From this share of the granted rate on a station uses it: a false PHY rate would show.
const USED_SHARE: f64 = 0.5;
/// Number of frames that can be counted in the neighbouring slot.
const EDGE_FRAMES: f64 = 1.5;
/// Weight of one slot in [`StationEstimate::repeats`]: for noise and for a change.
const REPEATS_GAINS: [f64; 2] = [0.1, 1.0];
/// Upper bound of [`StationEstimate::repeats`]. If more than every other frame is lost, the counts
/// are not reliable.
const REPEATS_MAX: f64 = 2.0;
/// Share of frames that collide with a station's answer to the frame before, if both wait for the
/// channel at the same time: they begin in the same slot of CWmin + 1 = 16 (802.11-2020 §10.23.2.2).
const COLLIDED_SHARE: f64 = 1.0 / 16.0;
/// Weight of one slot in the share of the time that uplink frames take.
const UPLINK_GAIN: f64 = 0.3;
/// Weight of one slot in the rate of the packets that need not wait.
const QUIET_GAIN: f64 = 0.3;
/// A station counts as one that uses all it is granted for this many slots after it did.
const GREEDY_SLOTS: u8 = 4;
/// What is kept per slot of the largest rate that a station has used.
const DEMAND_KEPT: f64 = 0.8;
/// A PHY rate that differs by more than this factor from that of the last slot has changed.
const RATE_CHANGE: f64 = 1.2;
/// Most bytes that a station sends for a packet that it receives. TCP acknowledges at least every second
/// full-sized segment (RFC 9293 §3.8.6.3), but acknowledgements that wait for their turn are dropped in part,
/// and the next one permits as much as all of them: 4,000 to 13,000 bytes beside a fast download, on the
/// emulated access point. Uploads that nothing to the station permits may have more.
const ANSWER_MOST: f64 = 15_000.0;
/// Least share of a slot that the frames of a backlogged station fill.
const FILLED_SHARE: f64 = 0.6;
/// Reports without frames, although packets were sent, after which those packets count as on the
/// air. A station asleep has fewer in a row.
const FRAMELESS_REPORTS: u8 = 4;
/// Weight of one slot in the mean packet size.
const SIZE_GAIN: f64 = 0.3;

/// The estimate of one station.
#[derive(Clone, Copy, Debug)]
pub(super) struct StationEstimate {
    heard: Option<Heard>,
    tally: Tally,
    /// Packets received, and those counted in samples of the level, over the last slots.
    repeats_of: (f64, f64),
    /// Whether the station needs no probe: a frame was reported, or a box observes the station.
    met: bool,
    /// Slots in which packets were sent to the station although no frame has been reported yet.
    probed_slots: u16,
    /// Arrival of the last frame of the last slot reported, and that slot's number.
    last: Option<(Time, u64)>,
    /// Packets per second received in the last slot, over the whole slot.
    received_pps: f64,
    /// Packets per second sent in the last slot.
    pub(super) sent_pps: f64,
    /// Packets per second sent to the station, if no sensor saw their frames.
    unseen_pps: f64,
    on_air: OnAir,
    /// Whether an agent tells of the station's frames. The PHY rate that it told holds while it is
    /// silent.
    pub(super) told_by_agent: bool,
    /// Consecutive reports without frames although packets were sent.
    frameless_reports: u8,
    /// Consecutive reports of frames that held far fewer packets than were sent.
    deficit_reports: u8,
    /// Packets per second sent to a station that conceals packets: it tells neither that it has
    /// received them, nor that they are lost or wait. 0 for all others.
    concealed_pps: f64,
    phy_bps: f64,
    pub(super) packet_bytes: f64,
    /// Transmissions on the air per packet received, from the share of late packets.
    transmissions: f64,
    /// Packets received per packet that the level counts. It exceeds 1 where whole frames are lost,
    /// as in collisions, and sent again.
    repeats: f64,
    /// Transmissions per packet received that were lost with a whole frame in a collision, where
    /// the sensor cannot see them.
    collided: f64,
    airtime_s: f64,
    /// Airtime per packet in the slot before, if the PHY rate has changed since; otherwise infinite,
    /// seconds.
    before_s: f64,
    /// What is believed of the airtime that the station claims.
    pub(super) credit: Credit,
    backlogged: bool,
    /// Whether the source kept up with its rate through the whole slot.
    paced: bool,
    /// When the last report came.
    heard_at: Time,
    /// Whether that is so long ago that it no longer counts.
    silent: bool,
    /// Whether the station has reported since the last grant.
    has_reported: bool,
    /// Slots for which the station still counts as one that uses all it is granted.
    greedy_slots: u8,
    /// What it has used lately at most, packets per second.
    demand_pps: f64,
    /// Packets per second that pass without waiting for the pacer: a call, or the beginnings of
    /// bursts.
    quiet_pps: f64,
    /// Whether packets wait for the pacer now.
    waiting: bool,
    backlog: Backlog,
    /// 95th percentile of the waiting time, averaged over slots, seconds.
    wait_p95_s: Option<f64>,
    /// The same in the last slot alone.
    slot_wait_s: Option<f64>,
    /// Time since the last slot in which a wait was measured, seconds; less of it where there were no frames.
    waitless_s: f64,
    /// Share of the time that the station's own frames take.
    uplink_share: f64,
    /// Bytes that the station sends for each packet that it receives.
    answer_bytes: f64,
    /// What the airtime per packet is above its estimate, as queues show that build up again and
    /// again: a share of it.
    strain: f64,
    /// Fair rate that was granted last, before anything was held back, packets per second.
    fair_pps: f64,
    granted: Granted,
    /// Whether frames are as long as they can be.
    full: bool,
    slot: SlotLength,
    /// Whether the PHY rate has just changed, so that the slot shows two rates mixed.
    rate_changed: bool,
    /// Whether the PHY rate is assumed because neither an agent nor a radio tells it.
    pub(super) rate_assumed: bool,
    pub(super) frame_limit: FrameLimit,
    /// Most packets per frame that other stations bear out.
    pub(super) frame_level_most: f64,
    pub(super) elsewhere: Elsewhere,
    pub(super) target_level: f64,
    pub(super) rate_pps: f64,
    /// Time for which nothing is to be sent after the last slot, seconds.
    pub(super) pause_s: f64,
}

impl StationEstimate {
    /// The estimate of a new station, from the configuration.
    pub(super) fn new(now: Time, config: &WaterfillConfig) -> Self {
        let mut station = Self {
            heard: None,
            tally: Tally::default(),
            repeats_of: (0.0, 0.0),
            met: false,
            probed_slots: 0,
            last: None,
            received_pps: 0.0,
            sent_pps: 0.0,
            unseen_pps: 0.0,
            on_air: OnAir::default(),
            told_by_agent: false,
            frameless_reports: 0,
            deficit_reports: 0,
            concealed_pps: 0.0,
            phy_bps: config.assumed_phy_bps,
            packet_bytes: config.packet_bytes,
            transmissions: 1.0,
            repeats: 1.0,
            collided: 0.0,
            airtime_s: 0.0,
            before_s: f64::INFINITY,
            credit: Credit::new(config.assumed_phy_bps),
            backlogged: true,
            paced: true,
            heard_at: now,
            silent: false,
            has_reported: false,
            greedy_slots: GREEDY_SLOTS,
            demand_pps: 0.0,
            quiet_pps: 0.0,
            waiting: false,
            backlog: Backlog::default(),
            full: false,
            wait_p95_s: None,
            slot_wait_s: None,
            waitless_s: 0.0,
            uplink_share: 0.0,
            answer_bytes: 0.0,
            strain: 0.0,
            fair_pps: 0.0,
            granted: Granted::since(now),
            slot: SlotLength::default(),
            rate_changed: false,
            rate_assumed: false,
            frame_limit: FrameLimit::new(config.frame_level),
            frame_level_most: f64::INFINITY,
            elsewhere: Elsewhere::default(),
            target_level: 0.0,
            rate_pps: 0.0,
            pause_s: 0.0,
        };
        station.update_airtime();
        station
    }

    /// Begins a slot. Measurements of a station that stays silent expire.
    pub(super) fn age(&mut self, now: Time) {
        self.pause_s = 0.0;
        self.silent = self.is_silent_for(now, SILENT_SLOTS);
        if self.silent {
            // Until lately it was sent as much as before.
            let on_air_pps = self.on_air_pps();
            self.on_air.forget();
            self.forget_frames();
            self.uplink_share = 0.0;
            (self.wait_p95_s, self.slot_wait_s) = (None, None);
            self.received_pps = 0.0;
            self.unseen_pps = if self.is_silent_for(now, SENT_SLOTS) {
                0.0
            } else {
                on_air_pps
            };
        }
    }

    fn forget_frames(&mut self) {
        self.heard = None;
        self.tally = Tally::default();
    }

    /// Whether reports have not come for so many slots.
    fn is_silent_for(&self, now: Time, slots: f64) -> bool {
        now.saturating_since(self.heard_at).as_secs_f64() > slots * self.slot.longest_s()
    }

    /// Takes the slot's report.
    pub(super) fn observe(&mut self, now: Time, sample: &Sample, config: &WaterfillConfig) {
        (self.heard_at, self.silent, self.has_reported) = (now, false, true);
        self.granted.close(now, self.rate_pps, self.fair_pps);
        self.demand_pps *= DEMAND_KEPT;
        self.slot.observe(sample);
        self.backlogged = sample.backlogged;
        // One packet of tolerance: it may have been counted in the neighbouring slot.
        let due = PACED_SHARE * self.granted.rate_pps - 1.0 / sample.length_s;
        self.paced = sample.backlogged && sample.sent_pps.is_none_or(|sent| sent >= due);
        // Probing keeps airtime free, and a station that is only observed may never answer.
        let is_new = !self.met;
        self.met |= sample.frames > 0.0 || sample.is_passive;
        if is_new && sample.frames == 0.0 && !sample.backlogged {
            // It has come, and nothing was for it: it takes nothing from the others until packets wait.
            self.greedy_slots = 0;
        }
        self.sent_pps = sample.sent_pps.unwrap_or(0.0);
        self.unseen_pps = sample
            .sent_pps
            .filter(|_| sample.is_unseen())
            .unwrap_or(0.0);
        if !self.met && sample.backlogged && sample.sent_pps.is_some() {
            self.probed_slots = self.probed_slots.saturating_add(1);
        }
        if sample.is_unseen() {
            self.forget_frames();
        }
        self.frameless_reports = if sample.frames == 0.0 && sample.sent_pps.is_some() {
            self.frameless_reports.saturating_add(1)
        } else {
            0
        };
        if self.frameless_reports > FRAMELESS_REPORTS {
            // What the station does not tell of may still take its time.
            self.forget_frames();
            self.wait_p95_s = None;
            self.unseen_pps = sample.sent_pps.unwrap_or(0.0);
        }
        self.slot_wait_s = sample.wait.map(|wait| wait.p95_s);
        self.received_pps = sample.received_pps;
        self.take_rate(sample, is_new);
        // Packets that do not wait are acknowledgements and pings, which are smaller than the packets that
        // will fill frames; but what permits an upload is nothing else.
        let are_usual = sample.has_waited() || self.answer_s() > 0.0;
        if let Some(bytes) = sample.packet_bytes.filter(|_| are_usual) {
            self.packet_bytes += SIZE_GAIN * (bytes - self.packet_bytes);
        }
        self.transmissions +=
            SIZE_GAIN * (1.0 / (1.0 - 0.9 * sample.late_share) - self.transmissions);
        if let Some(level) = sample.level {
            self.count_repeats(level * sample.frames, sample);
        }
        self.update_airtime();
        let gap_s = self.whole_gap_s(sample).or(sample.round_s);
        if let Some((level, gap_s)) = sample.level.zip(gap_s) {
            // Frames to a station with a backlog fill the slot, except for a pause.
            let is_filled = self.paced && sample.frames >= ENOUGH_FRAMES;
            let least_s = FILLED_SHARE * sample.length_s / sample.frames;
            let gap_s = if is_filled { gap_s.max(least_s) } else { gap_s };
            self.heard = Some(self.tally.add(sample.frames, level, gap_s, self.repeats));
        } else if sample.frames > 1.0 && sample.last.is_none() {
            // The times of the frames were not credible, but the packets were on the air.
            self.heard = None;
            self.unseen_pps = sample.received_pps;
        }
        self.last = sample
            .last
            .map(|at| (at, sample.slot))
            .or(self.last.map(|(at, _)| (at, sample.slot)));
        // Packets that no sensor saw arrive took airtime too.
        let used_pps = sample.received_pps.max(self.unseen_pps);
        self.demand_pps = self.demand_pps.max(used_pps);
        let quiet_pps = (used_pps - sample.held_pps).max(0.0);
        self.quiet_pps += QUIET_GAIN * (quiet_pps - self.quiet_pps);
        self.account_uplink(sample, config);
        self.account(sample, config);
        let told_pps = self.told_pps();
        self.on_air
            .observe(sample, told_pps, self.target_level, self.full);
    }

    /// Takes the PHY rate. A new station had none before.
    fn take_rate(&mut self, sample: &Sample, is_new: bool) {
        self.told_by_agent = if sample.frames > 0.0 {
            !sample.is_passive
        } else {
            self.told_by_agent
        };
        // What is assumed of a station that is silent for a while is worse than what its agent told.
        let is_kept = sample.is_unseen() && self.told_by_agent;
        let phy_bps = sample.phy_bps.filter(|_| !is_kept).unwrap_or(self.phy_bps);
        let phy_bps = if is_kept {
            phy_bps
        } else if is_new || sample.is_passive {
            // Nobody claims what the box itself has observed or assumed, and it varies.
            self.credit = Credit::new(phy_bps);
            phy_bps
        } else {
            let is_used = sample.backlogged
                && self.sent_pps >= USED_SHARE * self.granted.rate_pps
                && self.elsewhere.cap_pps().is_none();
            self.credit.claim(phy_bps, is_used)
        };
        let factor = (phy_bps / self.phy_bps).max(self.phy_bps / phy_bps);
        // Neither this slot nor the last shows one rate alone.
        self.rate_changed = factor > RATE_CHANGE;
        self.before_s = if self.rate_changed && !is_new && !sample.is_passive {
            self.airtime_s()
        } else {
            f64::INFINITY
        };
        self.phy_bps = phy_bps;
        self.rate_assumed = sample.is_passive && !sample.is_overheard && !is_kept;
    }

    /// Refuses the PHY rate that was claimed, `turn` times as long as usual.
    pub(super) fn refuse_rate(&mut self, turn: u16) {
        self.credit.refuse(turn);
        self.phy_bps = self.credit.believed_bps();
        self.update_airtime();
    }

    /// Updates what the station's own frames take: a share of the time, and bytes per packet that it
    /// receives.
    fn account_uplink(&mut self, sample: &Sample, config: &WaterfillConfig) {
        let answers_per_s = if config.answered {
            (sample.frames / sample.length_s).min(sample.uplink_frames_per_s)
        } else {
            0.0
        };
        let other_frames_per_s = sample.uplink_frames_per_s - answers_per_s;
        if sample.frames > 0.0 {
            let collided = if sample.is_overheard {
                COLLIDED_SHARE * answers_per_s * sample.length_s / sample.frames
            } else {
                0.0
            };
            self.collided += UPLINK_GAIN * (collided - self.collided);
        }
        let uplink_share =
            other_frames_per_s * config.uplink_part * config.frame_overhead.as_secs_f64()
                + 8.0 * sample.uplink_bytes_per_s / self.phy_bps;
        self.uplink_share += UPLINK_GAIN * (uplink_share - self.uplink_share);
        let answer_bytes = sample.uplink_bytes_per_s / self.downlink_pps().max(1.0);
        self.answer_bytes += UPLINK_GAIN * (answer_bytes.min(ANSWER_MOST) - self.answer_bytes);
    }

    /// Updates the packets received per packet that the level counts. Both are summed before they
    /// are divided: the ratios of single slots, which cannot be below 1, would be too large on
    /// average.
    fn count_repeats(&mut self, counted: f64, sample: &Sample) {
        let received = sample.received_pps * sample.length_s;
        let (all_received, all_counted) = self.repeats_of;
        let ratio = if counted > 0.0 {
            received / counted
        } else {
            1.0
        };
        // At a slot boundary a frame may be counted in one slot and its bytes in the other; a
        // larger difference is a change.
        let change = (ratio - self.repeats).abs() > EDGE_FRAMES / sample.frames;
        let gain = REPEATS_GAINS[usize::from(change && sample.frames >= ENOUGH_FRAMES)];
        let mix = |before: f64, new: f64| before + gain * (new - before);
        self.repeats_of = (mix(all_received, received), mix(all_counted, counted));
        let (all_received, all_counted) = self.repeats_of;
        self.repeats = (all_received / all_counted).clamp(1.0, REPEATS_MAX);
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
        let lost_frames = lost_with_frames(self.repeats);
        self.airtime_s = packet_airtime_s(self.packet_bytes, self.phy_bps)
            * (self.transmissions + lost_frames + self.collided);
    }

    /// Largest number of packets in a frame to this station: limited by the window, the duration,
    /// or the longest frame seen.
    pub(super) fn longest_frame(&self, config: &WaterfillConfig) -> f64 {
        self.frame_limit
            .packets(self.phy_bps, config.frame_level)
            .min(self.frame_level_most.max(config.frame_level))
            .min(self.packets_by_duration(config).floor())
            .max(1.0)
    }

    /// Packets in the longest PPDU.
    pub(super) fn packets_by_duration(&self, config: &WaterfillConfig) -> f64 {
        let raw_airtime_s = packet_airtime_s(self.packet_bytes, self.phy_bps);
        config.frame_duration.as_secs_f64() / raw_airtime_s
    }

    /// Largest level that the law may aim at.
    pub(super) fn level_limit(&self, config: &WaterfillConfig) -> f64 {
        let below_longest = (config.longest_share * self.longest_frame(config)).max(1.0);
        config
            .level_limit
            .map_or(below_longest, |limit| limit.min(below_longest))
    }
}
