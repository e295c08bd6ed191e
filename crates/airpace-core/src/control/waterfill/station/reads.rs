//! What the law reads from the estimate of a station.

use super::super::super::AirEstimate;
use super::super::config::WaterfillConfig;
use super::super::heard::Heard;
use super::super::overhead;
use super::super::share::Demand;
use super::{EVERY_ROUND_LEVEL, StationEstimate};

/// Fewer bytes than this are acknowledgements of a download.
const ANSWER_LEAST: f64 = 300.0;

impl StationEstimate {
    /// The estimate for display, at an overhead of `frame_s` seconds per frame.
    pub(in crate::control::waterfill) fn air(
        &self,
        config: &WaterfillConfig,
        frame_s: f64,
    ) -> AirEstimate {
        AirEstimate {
            packet_s: self.airtime_s,
            frame_overhead_s: frame_s,
            uplink_share: self.uplink_share,
            // The rate that the configuration assumes says nothing about the station.
            phy_bps: (self.phy_bps != config.assumed_phy_bps).then_some(self.phy_bps),
            cap_pps: self.elsewhere.cap_pps(),
        }
    }

    /// The last measurements, if the gaps between frames are rounds: the source sent at the granted
    /// rate all the time, and that rate was meant to aggregate. Otherwise two packets meet in a
    /// frame by chance, and the gaps are those between packets.
    pub(in crate::control::waterfill) fn round_witness(&self) -> Option<Heard> {
        self.heard
            .filter(|_| self.paced && self.target_level >= EVERY_ROUND_LEVEL)
    }

    /// The last measurements, if the source sent at the granted rate all the time and frames have
    /// aggregated, whatever the rate was meant to do.
    pub(in crate::control::waterfill) fn paced_witness(&self) -> Option<Heard> {
        self.heard
            .filter(|heard| self.paced && heard.level >= EVERY_ROUND_LEVEL)
    }

    /// The last measurements, unless they have expired.
    pub(in crate::control::waterfill) fn heard(&self) -> Option<Heard> {
        self.heard
    }

    /// Packets per second that are on the air: those in frames, or, where no sensor sees the frames,
    /// those sent; as far as what was sent bears it out.
    pub(in crate::control::waterfill) fn on_air_pps(&self) -> f64 {
        self.on_air.bounded(self.told_pps())
    }

    /// The same as the station tells it.
    pub(super) fn told_pps(&self) -> f64 {
        match self.heard {
            // Packets that were sent, are not queued, and were not lost must have been on the air.
            Some(heard) => heard.frame_pps.max(self.concealed_pps),
            None => self.unseen_pps,
        }
    }

    /// Frames per round of `round_s` seconds, one at most.
    pub(in crate::control::waterfill) fn turns(&self, round_s: f64) -> f64 {
        match self.heard {
            Some(heard) => overhead::turns(round_s, heard.gap_s),
            // Packets that come further apart than rounds have frames of their own.
            None => (self.on_air_pps() * round_s).min(1.0),
        }
    }

    /// Whether the last rate was meant to have a packet waiting at every turn, and packets were sent
    /// at it.
    pub(in crate::control::waterfill) fn takes_all_turns(&self) -> bool {
        self.paced && self.target_level >= EVERY_ROUND_LEVEL && self.demand() == Demand::Greedy
    }

    /// 95th percentile of the waiting time in seconds, averaged over slots, if it is measured.
    pub(in crate::control::waterfill) fn wait_p95_s(&self) -> Option<f64> {
        self.wait_p95_s
    }

    /// The same in the last slot alone.
    pub(in crate::control::waterfill) fn slot_wait_s(&self) -> Option<f64> {
        self.slot_wait_s
    }

    /// Share of the time that the station's own frames take, without those that packets to it bring
    /// forth.
    pub(in crate::control::waterfill) fn uplink_share(&self) -> f64 {
        (self.uplink_share - self.answer_share()).max(0.0)
    }

    /// Airtime in seconds of what the station sends for each packet that it receives, if that is an
    /// upload: each acknowledgement to it permits further segments from it.
    pub(in crate::control::waterfill) fn answer_s(&self) -> f64 {
        if self.answer_bytes > ANSWER_LEAST {
            8.0 * self.answer_bytes / self.phy_bps
        } else {
            0.0
        }
    }

    /// Whether the station uploads, and no sensor sees the frames to it.
    pub(in crate::control::waterfill) fn uploads_unseen(&self) -> bool {
        self.heard.is_none() && self.unseen_pps > 0.0 && self.answer_s() > 0.0
    }

    /// Share of the time that this takes.
    pub(in crate::control::waterfill) fn answer_share(&self) -> f64 {
        self.answer_s() * self.downlink_pps()
    }

    /// Packets per second that reach the station. Of one that nobody sees only what it is sent is known.
    pub(super) fn downlink_pps(&self) -> f64 {
        self.received_pps.max(self.unseen_pps)
    }

    /// Whether the station has reported since the last grant.
    pub(in crate::control::waterfill) fn has_reported(&self) -> bool {
        self.has_reported
    }

    /// Whether the PHY rate changed between this slot and the last.
    pub(in crate::control::waterfill) fn rate_changed(&self) -> bool {
        self.rate_changed
    }

    /// Packets to send for each packet that the level counts.
    pub(in crate::control::waterfill) fn repeats(&self) -> f64 {
        self.repeats
    }

    /// Airtime per packet received, retransmissions included, seconds (w).
    pub(in crate::control::waterfill) fn airtime_s(&self) -> f64 {
        self.airtime_s
    }

    /// The same, or that of the last slot if it was less: the slot's packets were granted by it.
    pub(in crate::control::waterfill) fn least_airtime_s(&self) -> f64 {
        self.airtime_s().min(self.before_s)
    }

    /// The same as the allocation counts it, with what queues have shown beyond the estimate.
    pub(in crate::control::waterfill) fn strained_airtime_s(&self) -> f64 {
        self.airtime_s * (1.0 + self.strain)
    }

    /// Mean packet size in bytes.
    pub(in crate::control::waterfill) fn packet_bytes(&self) -> f64 {
        self.packet_bytes
    }
}
