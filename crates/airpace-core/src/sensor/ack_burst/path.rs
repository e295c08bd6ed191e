//! The delay between the box and the air, there and back.

use airpace_units::Time;
use core::time::Duration;

/// Frames are told apart by the powers of two of their segments: 1, 2 to 3, …, 128 and more.
const CLASSES: usize = 8;
/// For so long, and up to twice as long, the least time of a class counts.
const WINDOW: Duration = Duration::from_secs(10);
/// What the least times hold besides the payload and the way: preamble, SIFS and block ack of the frame, AIFS and
/// preamble of the acknowledgements, without back-off. It is less than `TRANSIT_COMMON`, which is what typical times
/// hold. Simulated, box at the access point, MCS 9 beside MCS 4 under UDP and three downloads at MCS 9: 120 to 260 µs.
const LEAST_COMMON: Duration = Duration::from_micros(200);
/// Most that is taken off for the payload of the shortest frames where the line does not tell it. Without it, a station
/// at MCS 0, where a segment takes 420 µs, had 1.16 of its share and one under UDP at MCS 9 beside it 0.74; with it, 1.00
/// and 0.93 (simulated, the box 1 ms away).
const UNTOLD_MOST_S: f64 = 110e-6;
/// The line does not tell it if its slope is less than this part of a segment's time.
const FLAT: f64 = 0.5;
/// Fewest bursts of a class of which the least counts.
const ENOUGH: u32 = 10;

/// The least time of the frames of a class from hand-over to answer.
#[derive(Clone, Copy, Debug)]
struct Least {
    time_s: f64,
    segments: f64,
    /// How many there were.
    bursts: u32,
}

/// What packets and answers take on the way between the box and the access point's radio: cables, switches,
/// the processor of the access point.
///
/// A transit that begins with another station's answer does not contain it, since both answers have come
/// the same way. One that begins when a packet is handed over does. The least times from hand-over to
/// answer of frames of different lengths lie on a line: its slope is the time per segment, and what is left
/// for a frame without segments, beyond [`LEAST_COMMON`], is the way.
#[derive(Clone, Debug, Default)]
pub(super) struct PathDelay {
    least: [Least; CLASSES],
    /// The same of the window before.
    before: [Least; CLASSES],
    began: Time,
}

impl PathDelay {
    /// A burst that ends `now` answers so many segments, the last of them `time` after its hand-over.
    pub(super) fn add(&mut self, now: Time, time: Duration, segments: u32) {
        let Some(class) = segments.checked_ilog2() else {
            return;
        };
        if now.saturating_since(self.began) >= WINDOW {
            (self.before, self.began) = (core::mem::take(&mut self.least), now);
        }
        let least = &mut self.least[(class as usize).min(CLASSES - 1)];
        *least = least.joined(Least {
            time_s: time.as_secs_f64(),
            segments: f64::from(segments),
            bursts: 1,
        });
    }

    /// The delay, unless too few frames of two classes have been seen lately.
    ///
    /// The shortest frames tell it: bursts of many segments may answer several frames. Where two segments are often
    /// answered together although each had a frame of its own, even the shortest times hardly depend on the
    /// segments, and the payload of the shortest follows from what a segment takes: `segment_s`, in seconds.
    pub(super) fn delay(&self, now: Time, segment_s: f64) -> Option<Duration> {
        if now.saturating_since(self.began) >= 2 * WINDOW {
            return None;
        }
        let classes = self.least.iter().zip(&self.before);
        let mut least = classes
            .map(|(new, before)| new.joined(*before))
            .filter(|least| least.bursts >= ENOUGH);
        let (first, second) = (least.next()?, least.next()?);
        let slope_s = (second.time_s - first.time_s) / (second.segments - first.segments);
        let slope_s = slope_s.max(0.0);
        let untold_s = if slope_s < FLAT * segment_s {
            (segment_s - slope_s) * first.segments
        } else {
            0.0
        };
        let empty_s = (first.time_s - slope_s * first.segments).min(second.time_s);
        let empty_s = empty_s - untold_s.min(UNTOLD_MOST_S);
        let empty = Duration::try_from_secs_f64(empty_s).unwrap_or_default();
        Some(empty.saturating_sub(LEAST_COMMON))
    }
}

impl Least {
    fn joined(self, other: Self) -> Self {
        let lesser = if other.time_s < self.time_s {
            other
        } else {
            self
        };
        Self {
            bursts: self.bursts.saturating_add(other.bursts),
            ..lesser
        }
    }
}

impl Default for Least {
    fn default() -> Self {
        Self {
            time_s: f64::INFINITY,
            segments: 0.0,
            bursts: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delay after frames of 1 to 60 segments, of so many microseconds each, that wait for up to a
    /// millisecond, over a way of `way_us`.
    fn delay_us(way_us: u64, segment_us: u64) -> u128 {
        let mut path = PathDelay::default();
        for n in 0..2_000_u32 {
            let segments = 1 + n * 7 % 60;
            let wait_us = u64::from(n * 13 % 1_000);
            let us = 200 + way_us + segment_us * u64::from(segments) + wait_us;
            path.add(Time::ZERO, Duration::from_micros(us), segments);
        }
        path.delay(Time::ZERO, 0.0).unwrap().as_micros()
    }

    #[test]
    fn the_way_is_told_from_the_time_of_the_frames() {
        for segment_us in [10, 31, 211, 1_850] {
            let near = delay_us(0, segment_us);
            assert!(near < 150, "{segment_us}: {near}");
            let far = delay_us(2_000, segment_us);
            assert!((1_900..2_150).contains(&far), "{segment_us}: {far}");
        }
    }

    #[test]
    fn of_pairs_of_frames_that_are_answered_together_a_part_of_the_payload_is_taken_off() {
        let way_us = |segment_us: u64, told_us: f64| {
            let mut path = PathDelay::default();
            for segments in [1, 2].repeat(20) {
                // The last frame held one segment.
                let us = 2_200 + segment_us;
                path.add(Time::ZERO, Duration::from_micros(us), segments);
            }
            path.delay(Time::ZERO, told_us * 1e-6).unwrap().as_micros()
        };
        assert_eq!((way_us(31, 0.0), way_us(31, 31.0)), (2_031, 2_000));
        assert_eq!((way_us(420, 0.0), way_us(420, 420.0)), (2_420, 2_310));
    }

    #[test]
    fn a_line_that_tells_the_payload_is_believed_whatever_a_segment_seemed_to_take() {
        let mut path = PathDelay::default();
        for segments in [1, 3].repeat(20) {
            let us = 2_200 + 100 * u64::from(segments);
            path.add(Time::ZERO, Duration::from_micros(us), segments);
        }
        for told_us in [0.0, 50.0, 100.0, 190.0] {
            let way = path.delay(Time::ZERO, told_us * 1e-6);
            assert_eq!(way, Some(Duration::from_millis(2)), "{told_us}");
        }
    }

    #[test]
    fn frames_of_one_length_tell_nothing() {
        let mut path = PathDelay::default();
        for _ in 0..100 {
            path.add(Time::ZERO, Duration::from_micros(2_200), 1);
        }
        assert_eq!(path.delay(Time::ZERO, 0.0), None);
    }

    #[test]
    fn a_way_that_has_become_longer_is_noticed_after_two_windows() {
        let mut path = PathDelay::default();
        for second in 0..40_u64 {
            let way_us = if second < 10 { 0 } else { 2_000 };
            for segments in [1, 10, 40].repeat(10) {
                let us = 200 + way_us + 31 * u64::from(segments);
                path.add(
                    Time::from_millis(1_000 * second),
                    Duration::from_micros(us),
                    segments,
                );
            }
        }
        let delay = path.delay(Time::from_millis(39_000), 0.0);
        assert_eq!(delay, Some(Duration::from_millis(2)));
        // One that is old tells nothing.
        assert_eq!(path.delay(Time::from_millis(60_000), 0.0), None);
    }
}
