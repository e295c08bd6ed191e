//! What a report says once it has been checked.

use crate::report::SlotReport;
use airpace_units::Time;

/// Levels above this are no A-MPDU of any standard (EHT: 1024 MPDUs, each an A-MSDU of at most a few packets).
const LEVEL_MAX: f64 = 4096.0;
/// Gaps between frames longer than this are not a round of a working access point.
const ROUND_MAX_S: f64 = 30.0;
/// PHY rates outside this range are not 802.11 (1 Mbit/s to 46 Gbit/s).
const PHY_RANGE_BPS: (f64, f64) = (0.5e6, 100e9);

/// The figures of a report that contradicts itself nowhere.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sample {
    /// Length of the slot in seconds.
    pub(super) length_s: f64,
    /// Frames counted.
    pub(super) frames: f64,
    /// Packets per frame; `None` without frames.
    pub(super) level: Option<f64>,
    /// Seconds between frames; `None` with fewer than two.
    pub(super) round_s: Option<f64>,
    /// Arrival of the last frame, on the station's clock.
    pub(super) last: Option<Time>,
    /// The station's number of the slot.
    pub(super) slot: u64,
    /// Packets received per second.
    pub(super) received_pps: f64,
    /// Packets that never came, per second.
    pub(super) lost_pps: f64,
    /// Packets sent per second, if the sender filled that in.
    pub(super) sent_pps: Option<f64>,
    /// Share of the packets that came late, that is, were sent more than once.
    pub(super) late_share: f64,
    /// Mean packet size in bytes, if packets came.
    pub(super) packet_bytes: Option<f64>,
    /// Harmonic mean PHY rate in bit/s, if it is known.
    pub(super) phy_bps: Option<f64>,
    /// Whether packets waited at the sender.
    pub(super) backlogged: bool,
}

impl Sample {
    /// Reads a report; `None` if it contradicts itself.
    pub(super) fn read(report: &SlotReport) -> Option<Self> {
        let length_s = report.length.as_secs_f64();
        let credible = length_s > 0.0
            && report.packets >= report.frames
            && (report.frames > 0 || report.packets == 0);
        let level = report.level();
        let round_s = report.round_s();
        let forward = report.span.is_none_or(|(first, last)| last >= first);
        let plausible =
            level.is_none_or(|l| l <= LEVEL_MAX) && round_s.is_none_or(|d| d < ROUND_MAX_S);
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
            late_share: (f64::from(report.late) / f64::from(report.packets.max(1))).min(1.0),
            packet_bytes: mean_packet_bytes(report),
            phy_bps: report
                .phy_rate_bps()
                .filter(|r| (PHY_RANGE_BPS.0..=PHY_RANGE_BPS.1).contains(r)),
            backlogged: report.sender.backlogged,
        })
    }
}

/// Packets received per second, whatever frames they came in.
///
/// The report's packets are those of frames that are samples of the level: frames that were sent again as a whole, as after each collision,
/// are not among them. A balance of what was sent and what came needs them, and the bytes have them.
fn received_pps(report: &SlotReport) -> f64 {
    let by_bytes = mean_packet_bytes(report)
        .map(|mean| report.bytes as f64 / mean / report.length.as_secs_f64());
    by_bytes.unwrap_or(0.0).max(report.received_pps())
}

/// Mean size of the packets, if it is a size that an IP packet can have: the sender knows it exactly, the station but for losses.
fn mean_packet_bytes(report: &SlotReport) -> Option<f64> {
    let (bytes, packets) = match report.sender.sent_packets {
        0 => (report.bytes, report.packets),
        sent => (report.sender.sent_bytes, sent),
    };
    let mean = bytes as f64 / f64::from(packets.max(1));
    (20.0..=65_535.0).contains(&mean).then_some(mean)
}
