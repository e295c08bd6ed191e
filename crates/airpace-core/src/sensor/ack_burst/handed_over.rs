//! When the segments that a burst answers were handed over.

use airpace_units::Time;
use core::time::Duration;

/// Segments from which the times between them tell how long the last waited: a frame of fewer is composed soon after
/// the last has come, as a rule.
const FEWEST_GAPS: u32 = 5;
/// Until its frame is composed, the last segment waits for the time between two segments divided by this. If frames were
/// composed at random, it would be half of that time; with half, slow stations had up to 1.2 of their shares (simulated).
const WAITED_PART: u32 = 3;
/// It waits for no longer than this: with 100 µs a station at MCS 4 had 1.08 of its share beside one that is far faster.
const WAITED_MOST: Duration = Duration::from_micros(70);

/// The segments that have arrived with the frames that a burst answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HandedOver {
    pub(super) segments: u32,
    /// When the first and the last were handed over.
    first: Time,
    pub(super) last: Time,
    /// The longest time between one and the next, and the segments after it.
    gap: Duration,
    after_gap: u32,
}

impl HandedOver {
    pub(super) fn add(&mut self, at: Time) {
        let gap = at.saturating_since(self.last);
        if self.segments == 0 {
            self.first = at;
        } else if gap > self.gap {
            (self.gap, self.after_gap) = (gap, 0);
        }
        // Connections are acknowledged one after the other.
        self.first = self.first.min(at);
        self.segments += 1;
        self.after_gap += 1;
        self.last = self.last.max(at);
    }

    /// For how long the last waited on average until its frame was composed.
    pub(super) fn waited(&self) -> Duration {
        if self.segments < FEWEST_GAPS {
            return Duration::ZERO;
        }
        let gap = self.last.saturating_since(self.first) / (self.segments - 1);
        (gap / WAITED_PART).min(WAITED_MOST)
    }

    /// Segments in the last frame, which took `transit` since the last was handed over. One that came before a
    /// longer gap was in a frame of its own: a station that delays its acknowledgements leaves one segment
    /// unanswered until the next.
    pub(super) fn in_last_frame(&self, transit: Duration) -> u32 {
        if self.gap > transit && self.after_gap + 1 == self.segments {
            self.after_gap
        } else {
            self.segments
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handed_over(at_us: impl IntoIterator<Item = u64>) -> HandedOver {
        let mut handed_over = HandedOver::default();
        for us in at_us {
            handed_over.add(Time::from_micros(us));
        }
        handed_over
    }

    #[test]
    fn the_last_segment_waits_for_a_third_of_the_usual_gap_where_there_are_enough() {
        let waited_us = |segments: u64, gap_us| {
            let at_us = (0..segments).map(|number| 1_000 + number * gap_us);
            handed_over(at_us).waited().as_micros()
        };
        assert_eq!(waited_us(4, 90), 0);
        assert_eq!(waited_us(5, 90), 30);
        assert_eq!(waited_us(20, 90), 30);
        assert_eq!(waited_us(5, 5_000), WAITED_MOST.as_micros());
        // Those of another connection came between them.
        let mixed = handed_over([1_040, 1_120, 1_200, 1_000, 1_080, 1_160]);
        assert_eq!(mixed.waited().as_micros(), 13);
    }

    #[test]
    fn a_segment_long_before_the_others_was_in_a_frame_of_its_own() {
        let segments = handed_over([1_000, 9_000, 9_100, 9_200]);
        assert_eq!(segments.in_last_frame(Duration::from_millis(2)), 3);
        assert_eq!(segments.in_last_frame(Duration::from_millis(20)), 4);
    }
}
