//! Means over the frames to a station.

use super::round::RoundPart;

/// A slot of this many frames weighs as much as all before it, where a box has observed them. The
/// levels, rounds and transits of a few dozen frames scatter by a tenth.
pub(super) const MEMORY_FRAMES: f64 = 40.0;

/// Means over the frames to a station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct FrameMeans {
    /// Packets per frame.
    pub(super) level: f64,
    /// Seconds between frames.
    pub(super) round_s: f64,
    /// Frames per second that came from the station.
    pub(super) uplink_per_s: f64,
    /// How long the frames took, if that was seen.
    pub(super) transit: Option<Transit>,
    /// Median wait of packets, seconds, if it was measured.
    pub(super) wait_s: Option<f64>,
    /// Packets received per packet that the level counts. It exceeds 1 where whole frames are lost in
    /// collisions and sent again.
    pub(super) repeats: f64,
}

/// How long frames of some level take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Transit {
    /// Seconds from the composition of a frame to the station's answer.
    pub(super) seconds: f64,
    /// Packets per frame in the same slots.
    pub(super) level: f64,
}

impl FrameMeans {
    /// The means with those of another slot.
    pub(super) fn with(self, part: &RoundPart) -> Self {
        let frames = part.sample.frames;
        let gain = frames / (frames + MEMORY_FRAMES);
        let mix = |before: f64, new: f64| before + gain * (new - before);
        let new = part.frame;
        Self {
            level: mix(self.level, new.level),
            round_s: mix(self.round_s, new.round_s),
            uplink_per_s: mix(self.uplink_per_s, new.uplink_per_s),
            // The median over slots already.
            transit: new.transit.or(self.transit),
            repeats: mix(self.repeats, new.repeats),
            wait_s: match (self.wait_s, new.wait_s) {
                (Some(before), Some(new)) => Some(mix(before, new)),
                (before, new) => before.or(new),
            },
        }
    }
}
