//! How long frames take, from the moment at which they can be on the air to their answer.

use crate::report::SlotReport;
use core::time::Duration;

/// What a transit holds besides the payload of its frame: preamble, SIFS and block ack of the frame,
/// AIFS, back-off and preamble of the acknowledgements (simulation of two to nine stations with frames of
/// 0.1 to 1 ms: 220 to 400 µs, whatever the number of stations; the emulated access point with
/// hosts of their own: 370 to 520 µs).
pub(crate) const TRANSIT_COMMON: Duration = Duration::from_micros(310);
/// The quantile that is reported. Acknowledgements at times wait behind the frame to the next station;
/// in the lower quarter they hardly do.
const QUARTILE: f64 = 0.25;
/// Fewest transits for a quantile.
const FEWEST: usize = 6;
/// Most transits kept per slot.
const MOST: usize = 4_096;

/// How long frames to a station take, for frames of any size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SegmentTransit {
    /// Seconds per segment beyond [`TRANSIT_COMMON`], at least 0.
    per_segment_s: f64,
}

impl SegmentTransit {
    /// What the bursts of a slot have shown; `None` if the report has no frames or no transit.
    #[must_use]
    pub fn of(report: &SlotReport) -> Option<Self> {
        let (level, transit) = report.level().zip(report.transit)?;
        let beyond_s = transit.saturating_sub(TRANSIT_COMMON).as_secs_f64();
        Some(Self {
            per_segment_s: beyond_s / level,
        })
    }

    /// The transit of a frame of `level` packets.
    #[must_use]
    pub fn of_frame(self, level: f64) -> Duration {
        let beyond = Duration::try_from_secs_f64(self.per_segment_s * level);
        TRANSIT_COMMON.saturating_add(beyond.unwrap_or_default())
    }
}

/// The event at which a transit begins: the later one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Begin {
    /// Another station answered a frame. All frames that the burst answers came since, or only the
    /// last of them if that answer came between them.
    AnswerOfOthers,
    /// The last packet was handed over, and only the last of the frames that the burst answers came
    /// since.
    HandedOver,
}

/// The transits of one slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Transits {
    /// Of each burst the time beyond [`TRANSIT_COMMON`] per segment, seconds. A quantile of the
    /// transits themselves would be that of the shorter frames, and these are much shorter: the sizes of
    /// the frames to one station vary by 60 % (standard deviation over mean).
    per_segment_s: Vec<(f64, Begin)>,
}

impl Transits {
    /// Adds the transit of a burst that acknowledges so many segments.
    pub(super) fn add(&mut self, transit: Duration, segments: u32, begin: Begin) {
        if self.per_segment_s.len() < MOST && segments > 0 {
            let beyond_s = transit.as_secs_f64() - TRANSIT_COMMON.as_secs_f64();
            let per_segment_s = beyond_s / f64::from(segments);
            self.per_segment_s.push((per_segment_s, begin));
        }
    }

    /// Ends the slot: the transit of a frame of `segments` segments, unless too few were seen. Few are
    /// kept for the next slot. A burst answers `frames_per_burst` frames on average.
    pub(super) fn close(&mut self, segments: f64, frames_per_burst: f64) -> Option<Duration> {
        if self.per_segment_s.len() < FEWEST {
            return None;
        }
        let of_last_frame = |(per_segment_s, begin): (f64, Begin)| match begin {
            // Halfway between 1 and the full factor. Beside a station with an agent, two others of
            // different rates had 85 and 103 % of what agents give them with the former, 98 and 88 %
            // with the latter (emulated access point).
            Begin::AnswerOfOthers => per_segment_s * frames_per_burst.sqrt(),
            Begin::HandedOver => per_segment_s * frames_per_burst,
        };
        let mut per_segment_s: Vec<f64> = self.per_segment_s.drain(..).map(of_last_frame).collect();
        // A quarter of at most 4,096.
        let rank = (per_segment_s.len() as f64 * QUARTILE) as usize;
        let (_, &mut quartile_s, _) = per_segment_s.select_nth_unstable_by(rank, f64::total_cmp);
        let transit_s = TRANSIT_COMMON.as_secs_f64() + quartile_s * segments;
        Some(Duration::from_secs_f64(transit_s.max(0.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn the_lower_quartile_is_reported_once_there_are_enough() {
        let mut transits = Transits::default();
        for late_us in [400, 0, 100] {
            transits.add(us(1_310 + late_us), 10, Begin::AnswerOfOthers);
        }
        assert_eq!(transits.close(10.0, 1.0), None);
        for late_us in [200, 0, 300, 0, 500] {
            transits.add(us(1_310 + late_us), 10, Begin::AnswerOfOthers);
        }
        assert_eq!(transits.close(10.0, 1.0), Some(us(1_310)));
        assert_eq!(transits.close(10.0, 1.0), None);
    }

    #[test]
    fn short_frames_among_long_ones_do_not_shorten_the_transit_of_a_mean_one() {
        let mut transits = Transits::default();
        for segments in [5, 40, 12, 33, 8, 60, 21, 21] {
            let transit = us(310 + 31 * u64::from(segments));
            transits.add(transit, segments, Begin::AnswerOfOthers);
        }
        assert_eq!(transits.close(25.0, 1.0), Some(us(310 + 31 * 25)));
    }

    #[test]
    fn of_a_burst_that_answers_several_frames_the_transit_is_that_of_the_last() {
        let mut transits = Transits::default();
        for _ in 0..FEWEST {
            transits.add(us(310 + 31 * 20), 30, Begin::HandedOver);
        }
        assert_eq!(transits.close(20.0, 1.5), Some(us(310 + 31 * 20)));
    }
}
