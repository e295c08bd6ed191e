//! Frames that are too long to be paced.

use super::told::ToldCount;
use airpace_net::xsk::MAX_RECEIVED_BYTES;
use airpace_units::Time;
use core::time::Duration;

/// How often the kernel's count is read.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// For so long after such a frame, they are the reason why little of a station's traffic reaches the queues.
const LATELY: Duration = Duration::from_secs(5);

/// Watches the count of frames that pass unpaced because they are too long.
#[derive(Debug, Default)]
pub(super) struct LongFrames {
    counted: u64,
    next_look: Time,
    told: ToldCount,
    /// When the count was last seen to have grown.
    grown_at: Option<Time>,
}

impl LongFrames {
    /// Whether the count is to be read again.
    pub(super) fn is_due(&self, now: Time) -> bool {
        now >= self.next_look
    }

    /// Takes what has been counted since the start. Returns a sentence for the operator, once a minute at most.
    pub(super) fn take(&mut self, now: Time, counted: u64) -> Option<String> {
        self.next_look = now.saturating_add(LOOK_INTERVAL);
        if counted > self.counted {
            self.counted = counted;
            self.grown_at = Some(now);
        }
        let frames = self.told.increase(now, self.counted)?;
        Some(format!(
            "{frames} frames passed unpaced because they are longer than {MAX_RECEIVED_BYTES} bytes, or than the MTU that \
             the wan port had when the programs were attached: frames of at most 1500 bytes are paced"
        ))
    }

    /// Whether such frames have passed in the last seconds.
    pub(super) fn passed_lately(&self, now: Time) -> bool {
        self.grown_at
            .is_some_and(|at| now.saturating_since(at) < LATELY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_frames_are_told_once_a_minute_while_they_pass() {
        let mut long_frames = LongFrames::default();
        let told: Vec<u64> = (0..200)
            .filter(|&second| {
                let now = Time::from_millis(1_000 * second);
                assert!(long_frames.is_due(now));
                let counted = 7 * second.saturating_sub(10).min(100);
                let is_told = long_frames.take(now, counted).is_some();
                assert_eq!(
                    long_frames.passed_lately(now),
                    (11..115).contains(&second),
                    "{second}"
                );
                is_told
            })
            .collect();
        assert_eq!(told, [11, 71, 131]);
        assert!(!long_frames.is_due(Time::from_millis(199_500)));
    }

    #[test]
    fn the_sentence_has_how_many_and_what_to_do() {
        let mut long_frames = LongFrames::default();
        let told = long_frames.take(Time::from_millis(1), 12);
        let told = told.expect("there were some");
        assert!(told.starts_with("12 frames passed unpaced"), "{told}");
        assert!(told.contains("3840 bytes") && told.ends_with("1500 bytes are paced"));
    }
}
