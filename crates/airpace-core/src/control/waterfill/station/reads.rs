//! What the law reads from the estimate of a station.

use super::super::super::AirEstimate;
use super::super::super::roster::packet_airtime_s;
use super::super::config::WaterfillConfig;
use super::super::heard::Heard;
use super::super::overhead;
use super::{EVERY_ROUND_LEVEL, StationEstimate};

/// So many packets do not meet in a frame by chance.
const CROWDED_LEVEL: f64 = 2.0;
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

    /// The same with frames that aggregate although they were not meant to: others hold the channel.
    pub(in crate::control::waterfill) fn round_observer(&self) -> Option<Heard> {
        self.round_witness().or(self
            .heard
            .filter(|heard| self.paced && heard.level >= CROWDED_LEVEL))
    }

    /// The last measurements, unless they have expired.
    pub(in crate::control::waterfill) fn heard(&self) -> Option<Heard> {
        self.heard
    }

    /// Packets per second that are on the air: those in frames, or, where no sensor sees the frames,
    /// those sent.
    pub(in crate::control::waterfill) fn on_air_pps(&self) -> f64 {
        match self.heard {
            // Packets that were sent, are not queued, and were not lost must have been on the air.
            Some(heard) => heard
                .frame_pps
                .min(self.credible_pps)
                .max(self.concealed_pps),
            None => self.unseen_pps,
        }
    }

    /// Frames per round of `round_s` seconds, one at most.
    pub(in crate::control::waterfill) fn turns(&self, round_s: f64) -> f64 {
        match self.heard {
            Some(heard) => overhead::turns(round_s, heard.gap_s),
            // Packets that come further apart than rounds have frames of their own.
            None => (self.unseen_pps * round_s).min(1.0),
        }
    }

    /// 95th percentile of the waiting time in seconds, averaged over slots, if it is measured.
    pub(in crate::control::waterfill) fn wait_p95_s(&self) -> Option<f64> {
        self.wait_p95_s
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

    /// Share of the time that this takes.
    pub(in crate::control::waterfill) fn answer_share(&self) -> f64 {
        self.answer_s() * self.received_pps
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
        self.airtime_s * self.credit.known_factor()
    }

    /// The same as the allocation counts it, with what queues have shown beyond the estimate.
    pub(in crate::control::waterfill) fn strained_airtime_s(&self) -> f64 {
        self.airtime_s * self.credit.paced_factor() * (1.0 + self.strain)
    }

    /// Bits per second sent in the last slot, as airtimes of [`Credit`](super::Credit) count them.
    pub(in crate::control::waterfill) fn sent_bps(&self) -> f64 {
        self.sent_pps * packet_airtime_s(self.packet_bytes, 1.0)
    }

    /// Airtime per packet at the PHY rate that is assumed of a station that has not told of frames,
    /// seconds.
    pub(in crate::control::waterfill) fn assumed_airtime_s(&self, config: &WaterfillConfig) -> f64 {
        packet_airtime_s(self.packet_bytes, config.assumed_phy_bps)
    }

    /// Mean packet size in bytes.
    pub(in crate::control::waterfill) fn packet_bytes(&self) -> f64 {
        self.packet_bytes
    }
}
