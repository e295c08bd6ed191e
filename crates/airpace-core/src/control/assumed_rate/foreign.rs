//! How much of the time other networks use the channel.

use super::means::MEMORY_FRAMES;

/// Weight of a slot in the share.
pub(super) const GAIN: f64 = 0.1;
/// The share rises only after so many frames of each station have shown it: four times as many as
/// means are taken over. After a burst of short frames, as when ten downloads begin, transits are too
/// short for a while, but no longer than the means remember them.
const PATIENCE_FRAMES: f64 = 4.0 * MEMORY_FRAMES;
/// Largest share: four other networks that always send.
pub(super) const SHARE_MOST: f64 = 0.8;

/// What the rounds have shown so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Foreign {
    /// Share of the time in which other networks seem to use the channel.
    pub(super) share: f64,
    /// Frames per station for which rounds have shown a share without interruption.
    shown_frames: f64,
}

impl Foreign {
    /// Notes the share that a slot shows, with so many frames to each station.
    pub(super) fn observe(&mut self, share: f64, frames: f64) {
        if share > 0.0 {
            self.shown_frames += frames;
        } else {
            self.shown_frames = 0.0;
        }
        if share <= self.share || self.shown_frames > PATIENCE_FRAMES {
            self.share += GAIN * (share.min(SHARE_MOST) - self.share);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_counts_once_it_has_lasted() {
        let mut foreign = Foreign::default();
        for _ in 0..16 {
            foreign.observe(0.5, 10.0);
        }
        assert_eq!(foreign.share, 0.0);
        for _ in 0..40 {
            foreign.observe(0.5, 10.0);
        }
        assert!((foreign.share - 0.5).abs() < 0.01, "{}", foreign.share);
    }

    #[test]
    fn a_share_that_ends_is_forgotten_at_once_and_must_last_again() {
        let mut foreign = Foreign::default();
        for _ in 0..60 {
            foreign.observe(0.5, 10.0);
        }
        for _ in 0..40 {
            foreign.observe(0.0, 10.0);
        }
        assert!(foreign.share < 0.01, "{}", foreign.share);
        let before = foreign.share;
        foreign.observe(0.5, 100.0);
        assert_eq!(foreign.share, before);
    }
}
