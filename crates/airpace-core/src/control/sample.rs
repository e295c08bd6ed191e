//! Checks reports and converts them to the quantities that laws use.

use super::roster::packet_airtime_s;
use crate::report::claims::{LEVEL_MAX, PHY_RANGE_BPS};
use crate::report::{LevelSource, Sensor, SlotReport};
use airpace_units::Time;

/// IP bytes of a packet if nothing tells its size.
pub(super) const DEFAULT_BYTES: f64 = 1500.0;
/// Bytes of acknowledgements per byte sent, at the most: a segment of 1448 bytes is answered with 66
/// bytes, usually every other one.
const ACKNOWLEDGEMENTS: f64 = 0.1;
/// Rounds longer than this do not occur at a working access point, seconds.
const ROUND_MAX_S: f64 = 30.0;
/// The last frames' rate counts if it differs by more than this factor from the slot's mean.
const RATE_CHANGE: f64 = 1.2;
/// Largest share of late packets that counts. An access point lowers the PHY rate before so many
/// packets have to be sent again.
const LATE_MOST: f64 = 0.75;
/// Reports of slots outside this range are ignored, seconds. In less than the lower bound hardly a
/// frame ends, so rates per second mean nothing; an agent's first slot can be that short. Slots
/// longer than the upper bound do not come from an agent: it extends a slot to four times its length
/// at most, and slots are at most 100 s long in scenarios (10 s live).
const LENGTH_RANGE_S: (f64, f64) = (0.5e-3, 400.0);

/// The quantities of a consistent report.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sample {
    /// Length of the slot in seconds.
    pub(super) length_s: f64,
    /// Number of frames.
    pub(super) frames: f64,
    /// Packets per frame; `None` without frames.
    pub(super) level: Option<f64>,
    /// Seconds between frames; `None` with fewer than two.
    pub(super) round_s: Option<f64>,
    /// Arrival of the last frame, on the station's clock.
    pub(super) last: Option<Time>,
    /// Slot number, counted by the station.
    pub(super) slot: u64,
    /// Packets received per second.
    pub(super) received_pps: f64,
    /// Packets lost per second.
    pub(super) lost_pps: f64,
    /// Packets sent per second, if the sender filled that in.
    pub(super) sent_pps: Option<f64>,
    /// Packets per second that had to wait for the sender's pacer.
    pub(super) held_pps: f64,
    /// Share of the packets that arrived late, that is, were sent more than once.
    pub(super) late_share: f64,
    /// Mean packet size in bytes; `None` without packets.
    pub(super) packet_bytes: Option<f64>,
    /// Harmonic mean PHY rate in bit/s, if it is known.
    pub(super) phy_bps: Option<f64>,
    /// Whether packets waited at the sender.
    pub(super) backlogged: bool,
    /// Whether the sender's low-latency queue marked packets.
    pub(super) marked: bool,
    /// Frames per second that came from the station.
    pub(super) uplink_frames_per_s: f64,
    /// Bytes per second in them.
    pub(super) uplink_bytes_per_s: f64,
    /// Those of them that are not the acknowledgements of what was sent.
    pub(super) upload_bytes_per_s: f64,
    /// Whether the radio told frames apart, so that two close frames are not taken for one.
    pub(super) frames_told: bool,
    /// Packets in the longest frame, if that is known.
    pub(super) longest_frame: Option<f64>,
    /// Whether a box has observed the station, rather than its agent, or the agent could not tell
    /// frames apart.
    pub(super) is_passive: bool,
    /// Whether a radio near the access point heard the answers to the frames. Frames that were lost
    /// as a whole have none.
    pub(super) is_overheard: bool,
    /// Waiting time of the packets, if it was measured.
    pub(super) wait: Option<Wait>,
    /// Seconds from a frame's last packet to the station's answer, if they were measured.
    pub(super) transit_s: Option<f64>,
    /// IP bits per second of airtime, if they were measured although frames could not be told apart.
    pub(super) airtime_bps: Option<f64>,
    /// PHY rate at which the station uploads in bit/s, if it was measured.
    pub(super) upload_bps: Option<f64>,
}

/// Waiting time of a slot's packets, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Wait {
    pub(super) mean_s: f64,
    pub(super) median_s: f64,
    pub(super) p95_s: f64,
}

/// Of the packets received the share that was sent before in frames of which all were lost, where
/// `repeats` packets are received per packet that the level counts.
pub(super) fn lost_with_frames(repeats: f64) -> f64 {
    1.0 - 1.0 / repeats
}

impl Sample {
    /// Reads a report; `None` if it contradicts itself.
    pub(super) fn read(report: &SlotReport) -> Option<Self> {
        let length_s = report.length.as_secs_f64();
        let credible = (LENGTH_RANGE_S.0..=LENGTH_RANGE_S.1).contains(&length_s)
            && report.packets >= report.frames
            && (report.frames > 0 || report.packets == 0);
        let level = report.level();
        let round_s = report.round_s();
        let forward = report.span.is_none_or(|(first, last)| last >= first);
        let plausible = level.is_none_or(|l| l <= f64::from(LEVEL_MAX))
            && round_s.is_none_or(|d| d < ROUND_MAX_S);
        (credible && forward && plausible).then(|| Self {
            length_s,
            frames: f64::from(report.frames),
            level,
            round_s: round_s.filter(|&d| d > 0.0),
            last: report.span.map(|(_, last)| last),
            slot: report.slot,
            received_pps: received_pps(report),
            lost_pps: f64::from(report.lost) / length_s,
            sent_pps: (report.sender.sent_packets > 0)
                .then(|| f64::from(report.sender.sent_packets) / length_s),
            held_pps: f64::from(report.sender.held_packets) / length_s,
            late_share: (f64::from(report.late) / f64::from(report.packets.max(1))).min(LATE_MOST),
            packet_bytes: mean_packet_bytes(report),
            phy_bps: current_phy_bps(report)
                .filter(|r| (PHY_RANGE_BPS.0..=PHY_RANGE_BPS.1).contains(r)),
            backlogged: report.sender.backlogged,
            marked: report.sender.marked,
            uplink_frames_per_s: f64::from(report.sender.uplink_frames) / length_s,
            uplink_bytes_per_s: report.sender.uplink_bytes as f64 / length_s,
            upload_bytes_per_s: (report.sender.uplink_bytes as f64
                - ACKNOWLEDGEMENTS * report.sender.sent_bytes as f64)
                .max(0.0)
                / length_s,
            frames_told: report.source <= LevelSource::Tsft,
            is_passive: report.sensor != Sensor::Agent || report.is_unsure() && report.frames == 0,
            is_overheard: report.sensor == Sensor::BlockAck,
            longest_frame: (report.longest_frame > 0).then(|| f64::from(report.longest_frame)),
            wait: report.wait.map(|wait| Wait {
                mean_s: wait.mean.as_secs_f64(),
                median_s: wait.p50.as_secs_f64(),
                p95_s: wait.p95.as_secs_f64(),
            }),
            transit_s: report.transit.map(|transit| transit.as_secs_f64()),
            airtime_bps: report
                .airtime_bps
                .filter(|bps| bps.is_finite() && *bps > 0.0),
            upload_bps: report
                .upload_bps
                .filter(|bps| bps.is_finite() && *bps > 0.0),
        })
    }
}

impl Sample {
    /// Whether most packets to the station have waited for the sender's pacer, or some still do.
    pub(super) fn has_waited(&self) -> bool {
        self.backlogged || self.sent_pps.is_some_and(|sent| self.held_pps > 0.5 * sent)
    }

    /// Bits of the slot's mean packet on the air, that is, its airtime in seconds at 1 bit/s.
    pub(super) fn packet_bits(&self) -> f64 {
        packet_airtime_s(self.packet_bytes.unwrap_or(DEFAULT_BYTES), 1.0)
    }

    /// Whether packets were sent to the station, and nothing has told their frames apart.
    pub(super) fn is_unseen(&self) -> bool {
        self.is_passive && self.frames == 0.0 && self.sent_pps.is_some()
    }
}

/// The PHY rate of the slot, or that of its last frames if it has changed in the course of the
/// slot.
fn current_phy_bps(report: &SlotReport) -> Option<f64> {
    let recent = 1.0 / report.recent_inverse_rate;
    // Without frames that were seen there may still be an assumption.
    let Some(mean) = report.phy_rate_bps() else {
        return (report.frames == 0 && recent.is_finite()).then_some(recent);
    };
    let changed =
        recent.is_finite() && !(1.0 / RATE_CHANGE..=RATE_CHANGE).contains(&(recent / mean));
    Some(if changed { recent } else { mean })
}

/// Packets received per second in all frames.
///
/// The report's packet count covers only frames that are samples of the level. Frames that were
/// sent again as a whole, as after a collision, are not among them, but the balance of packets sent
/// and received needs them. The byte count includes them.
fn received_pps(report: &SlotReport) -> f64 {
    let by_bytes = mean_packet_bytes(report)
        .map(|mean| report.bytes as f64 / mean / report.length.as_secs_f64());
    by_bytes.unwrap_or(0.0).max(report.received_pps())
}

/// Mean packet size in bytes, if an IP packet can have that size. The sender knows it exactly, the
/// station except for losses.
fn mean_packet_bytes(report: &SlotReport) -> Option<f64> {
    let (bytes, packets) = match report.sender.sent_packets {
        0 => (report.bytes, report.packets),
        sent => (report.sender.sent_bytes, sent),
    };
    let mean = bytes as f64 / f64::from(packets.max(1));
    (20.0..=65_535.0).contains(&mean).then_some(mean)
}
