//! What the frames of the last slots have shown.

use super::super::sample::Sample;

/// Frames from which a slot's measurements stand by themselves. With fewer, those of the slots
/// before count too.
pub(super) const ENOUGH_FRAMES: f64 = 6.0;
/// Largest weight of the slots before.
const KEPT_MOST: f64 = 0.85;

/// What the frames of the last slot showed, or of the last few if there were few.
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

/// Frames of the last slots, counted until there are enough of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    frames: f64,
    packets: f64,
    /// Time that the frames took: one gap each, seconds.
    time_s: f64,
}

impl Tally {
    /// Adds the frames of a slot, which are `gap_s` apart on average and have `level` packets each.
    /// `repeats` is the number of packets received per packet that the level counts.
    pub(super) fn add(&mut self, frames: f64, level: f64, gap_s: f64, repeats: f64) -> Heard {
        let kept = (1.0 - frames / ENOUGH_FRAMES).clamp(0.0, KEPT_MOST);
        self.frames = kept * self.frames + frames;
        self.packets = kept * self.packets + level * frames;
        self.time_s = kept * self.time_s + gap_s * frames;
        Heard {
            frames: self.frames,
            level: self.packets / self.frames,
            gap_s: self.time_s / self.frames,
            frame_pps: repeats * self.packets / self.time_s,
        }
    }
}

/// Frames in a slot below which an agent may extend it.
const EXTENDED_BELOW: f64 = 4.0;
/// Times its length that an extended slot may have.
const EXTENSION_MOST: f64 = 4.0;
/// What is kept per report of the length of a whole slot, which urgent reports cut.
const SLOT_KEPT: f64 = 0.98;
/// A slot shorter than this share of a whole one was cut: the next report ends it.
const CUT_SHARE: f64 = 0.85;

/// The length of a station's slots, which its agent cuts when it has news and extends while it
/// receives little.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlotLength {
    /// Length of a slot that is neither cut nor extended, in seconds; 0 before the first report.
    pub(super) whole_s: f64,
    /// Time from the last report to the next one, seconds, if nothing happens.
    pub(super) until_next_s: f64,
}

impl SlotLength {
    /// Takes the length of a slot that was reported.
    pub(super) fn observe(&mut self, sample: &Sample) {
        let length_s = sample.length_s;
        let frames_per_slot = sample.frames * self.whole_s / length_s;
        let may_be_extended = frames_per_slot < EXTENDED_BELOW && self.whole_s > 0.0;
        let is_extended = length_s > self.whole_s && may_be_extended;
        self.whole_s = if is_extended {
            self.whole_s.max(length_s / EXTENSION_MOST)
        } else {
            length_s.max(SLOT_KEPT * self.whole_s)
        };
        self.until_next_s = if is_extended {
            // A station that receives little mostly goes on to do so.
            length_s
        } else if length_s < CUT_SHARE * self.whole_s {
            self.whole_s - length_s
        } else {
            self.whole_s
        };
    }

    /// The slot that runs, in seconds, unless it is cut.
    pub(super) fn longest_s(&self) -> f64 {
        self.whole_s.max(self.until_next_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::SlotReport;
    use airpace_units::StationId;
    use core::time::Duration;

    /// The lengths after slots of so many milliseconds with so many frames.
    fn after(slots: &[(u64, u32)]) -> SlotLength {
        let mut length = SlotLength::default();
        for &(ms, frames) in slots {
            let report = SlotReport {
                frames,
                packets: frames,
                ..SlotReport::silent(StationId(0), Duration::from_millis(ms))
            };
            length.observe(&Sample::read(&report).expect("the report is consistent"));
        }
        length
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 0.05, "{value} {expected}");
    }

    #[test]
    fn a_cut_slot_ends_soon_and_leaves_the_whole_one_as_it_was() {
        let length = after(&[(100, 20), (30, 6)]);
        assert_near(length.whole_s, 0.1);
        assert_near(length.until_next_s, 0.07);
    }

    #[test]
    fn an_extended_slot_is_no_whole_one_but_the_next_takes_as_long() {
        let length = after(&[(100, 20), (400, 3)]);
        assert_near(length.whole_s, 0.1);
        assert_near(length.until_next_s, 0.4);
        let length = after(&[(100, 20), (400, 3), (100, 20)]);
        assert_near(length.until_next_s, 0.1);
    }

    #[test]
    fn a_longer_slot_with_many_frames_is_a_whole_one() {
        assert_near(after(&[(100, 20), (500, 100)]).whole_s, 0.5);
    }

    #[test]
    fn a_first_slot_that_was_cut_is_corrected_by_the_next_ones() {
        assert_near(after(&[(20, 4), (80, 1), (400, 3)]).whole_s, 0.1);
        assert_near(after(&[(20, 4), (80, 16), (100, 20)]).whole_s, 0.1);
    }
}
