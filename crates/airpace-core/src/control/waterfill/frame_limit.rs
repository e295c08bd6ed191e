//! Learns how many packets the access point's frames to a station can hold.

use super::super::sample::Sample;
use super::config::WaterfillConfig;
use super::station::StationEstimate;

/// Consecutive slots that must show the same longest frame before it counts as the limit.
const SLOTS: u8 = 2;
/// Least number of frames in a slot that counts.
const FRAMES: f64 = 4.0;
/// Below this number of packets, pacing alone can make frames equal by chance.
const LEAST: f64 = 4.0;
/// A mean level from this share of the longest frame on means that nearly every frame is as long as
/// frames can be.
const EQUAL_SHARE: f64 = 0.93;
/// A change of the PHY rate by more than this factor tells limits of duration from limits of count.
const OTHER_RATE: f64 = 1.2;

/// Largest number of packets per frame to a station.
///
/// It begins with the configured number. A longer frame proves that frames can be longer. If nearly
/// every frame is equally long while packets wait at the access point, then that length is the
/// limit: only a queue that always holds more than one frame causes this. The limit can be a
/// block-ack window, the 65,535 bytes of an 802.11n A-MPDU, or a duration; one of duration moves
/// with the PHY rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameLimit {
    packets: f64,
    /// PHY rate at which the limit was learned, bit/s; `None` while it is the configured one.
    learned_at_bps: Option<f64>,
    /// Whether the same limit was found at two different rates, so that it is one of count.
    is_count: bool,
    candidate: f64,
    slots: u8,
    /// Longest frame seen at the PHY rate `seen_at_bps`: the limit there is not below it.
    seen: f64,
    seen_at_bps: f64,
}

/// Stations of which one alone tells that frames are longer than configured is not believed.
const STATIONS_LEAST: usize = 3;
/// The longest frame of one station counts up to this factor above that of any other ...
const ALONE_FACTOR: f64 = 1.25;
/// ... that could have frames longer than configured by this factor, if it is as fast as it tells.
const ABLE_FACTOR: f64 = 1.5;

/// Limits the frames that one station alone tells of: how long frames can be is a property of the access
/// point, unless the others are too slow for it.
pub(super) fn limit_to_shared(stations: &mut [StationEstimate], config: &WaterfillConfig) {
    let able = |s: &StationEstimate| {
        s.packets_by_duration(config) >= ABLE_FACTOR * config.frame_level && s.heard().is_some()
    };
    let (mut longest, mut second, mut count) = (0.0_f64, 0.0_f64, 0);
    for station in stations.iter().filter(|s| able(s)) {
        let packets = station.frame_limit.packets;
        second = second.max(packets.min(longest));
        longest = longest.max(packets);
        count += 1;
    }
    let is_shared = count >= 2 && stations.len() >= STATIONS_LEAST;
    for station in stations {
        let is_alone = station.told_by_agent && station.frame_limit.packets >= longest;
        station.frame_level_most = if !is_shared || !is_alone {
            f64::INFINITY
        } else {
            ALONE_FACTOR * second
        };
    }
}

impl FrameLimit {
    pub(super) const fn new(packets: f64) -> Self {
        Self {
            packets,
            learned_at_bps: None,
            is_count: false,
            candidate: 0.0,
            slots: 0,
            seen: 0.0,
            seen_at_bps: 1.0,
        }
    }

    /// The limit in packets at `phy_bps`; at most `configured` unless longer frames were seen.
    pub(super) fn packets(&self, phy_bps: f64, configured: f64) -> f64 {
        match self.learned_at_bps {
            Some(at) if !self.is_count => {
                let scaled = self.packets * phy_bps / at;
                scaled.min(self.packets.max(configured))
            }
            _ => self.packets,
        }
    }

    /// Takes a slot; `queued` says whether packets wait at the access point for longer than its
    /// rounds explain.
    pub(super) fn observe(&mut self, sample: &Sample, phy_bps: f64, queued: bool) {
        let Some(level) = sample.level else { return };
        // Without the longest frame, a whole mean level shows that all frames were equal.
        let longest = sample
            .longest_frame
            .or((level.fract() == 0.0).then_some(level));
        let Some(longest) = longest else {
            self.slots = 0;
            return;
        };
        if longest > self.packets && sample.frames_told {
            self.packets = longest;
            self.learned_at_bps = self.learned_at_bps.map(|_| phy_bps);
        }
        let factor = (phy_bps / self.seen_at_bps).max(self.seen_at_bps / phy_bps);
        if factor > OTHER_RATE {
            (self.seen, self.seen_at_bps) = (0.0, phy_bps);
        }
        if sample.frames_told {
            self.seen = self.seen.max(longest);
        }
        let equal = longest >= self.seen
            && level >= EQUAL_SHARE * longest
            && longest >= LEAST
            && sample.frames >= FRAMES;
        if !(queued && equal) {
            self.slots = 0;
            return;
        }
        self.slots = if longest == self.candidate {
            self.slots.saturating_add(1)
        } else {
            1
        };
        self.candidate = longest;
        if self.slots >= SLOTS {
            self.learn(longest, phy_bps);
        }
    }

    fn learn(&mut self, packets: f64, phy_bps: f64) {
        if let Some(before) = self.learned_at_bps {
            let factor = (phy_bps / before).max(before / phy_bps);
            if factor > OTHER_RATE {
                self.is_count = packets == self.packets;
            }
        }
        self.packets = packets;
        self.learned_at_bps = Some(phy_bps);
    }
}
