//! When the segments that a burst answers were handed over.

use airpace_units::Time;
use core::time::Duration;

/// The segments that have arrived with the frames that a burst answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HandedOver {
    pub(super) segments: u32,
    /// When the last was handed over.
    pub(super) last: Time,
    /// The longest time between one and the next, and the segments after it.
    gap: Duration,
    after_gap: u32,
}

impl HandedOver {
    pub(super) fn add(&mut self, at: Time) {
        let gap = at.saturating_since(self.last);
        if self.segments > 0 && gap > self.gap {
            (self.gap, self.after_gap) = (gap, 0);
        }
        self.segments += 1;
        self.after_gap += 1;
        // Connections are acknowledged one after the other.
        self.last = self.last.max(at);
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

    #[test]
    fn a_segment_long_before_the_others_was_in_a_frame_of_its_own() {
        let mut segments = HandedOver::default();
        for us in [1_000, 9_000, 9_100, 9_200] {
            segments.add(Time::from_micros(us));
        }
        assert_eq!(segments.in_last_frame(Duration::from_millis(2)), 3);
        assert_eq!(segments.in_last_frame(Duration::from_millis(20)), 4);
    }
}
