//! How long frames take, from the moment at which they can be on the air to their answer.

use crate::report::SlotReport;
use core::time::Duration;
use std::collections::VecDeque;

/// What a transit holds besides the payload of its frame: preamble, SIFS and block ack of the frame,
/// AIFS, back-off and preamble of the acknowledgements (simulation of two to nine stations with frames of
/// 0.1 to 1 ms: 220 to 400 µs, whatever the number of stations; the emulated access point with
/// hosts of their own: 370 to 520 µs).
pub(crate) const TRANSIT_COMMON: Duration = Duration::from_micros(310);
/// Slots that are remembered: a slot alone has a dozen transits.
const REMEMBERED_SLOTS: u64 = 10;
/// Fewest transits that tell anything.
const FEWEST: usize = 6;
/// Most transits kept per slot.
const MOST: usize = 1_024;
/// Least and greatest time per segment that is counted, seconds: 1,500 bytes take 1 µs at 12 Gbit/s and
/// 12 ms at 1 Mbit/s.
const RANGE_S: (f64, f64) = (0.5e-6, 20e-3);
/// Bins of times per segment for each factor e.
const BINS_PER_E: f64 = 25.0;
/// Half the width of the triangle that smooths the bins: 0.2 on the logarithmic scale, some three
/// standard deviations of back-off and preamble per segment of a frame of 0.5 ms.
const HALF_WIDTH: usize = 5;

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

/// The transits of the last slots.
#[derive(Clone, Debug, Default)]
pub(super) struct Transits {
    /// Of each burst, the number of the slot, and the time beyond [`TRANSIT_COMMON`] per segment,
    /// seconds, with the number of segments. A mean of the transits themselves would be that of no
    /// frame: the sizes of the frames to one station vary by 60 % (standard deviation over mean).
    bursts: VecDeque<BurstTransit>,
    slot: u64,
    in_slot: usize,
}

#[derive(Clone, Copy, Debug)]
struct BurstTransit {
    slot: u64,
    per_segment_s: f64,
    segments: f64,
}

impl Transits {
    /// Adds the transit of a burst that acknowledges so many segments.
    pub(super) fn add(&mut self, transit: Duration, segments: u32) {
        let beyond_s = transit.as_secs_f64() - TRANSIT_COMMON.as_secs_f64();
        let segments = f64::from(segments);
        let per_segment_s = beyond_s / segments;
        if self.in_slot < MOST && (RANGE_S.0..RANGE_S.1).contains(&per_segment_s) {
            self.in_slot += 1;
            self.bursts.push_back(BurstTransit {
                slot: self.slot,
                per_segment_s,
                segments,
            });
        }
    }

    /// Ends the slot: the transit of a frame of `segments` segments, unless too few were seen.
    pub(super) fn close(&mut self, segments: f64) -> Option<Duration> {
        self.slot += 1;
        self.in_slot = 0;
        let oldest = self.slot.saturating_sub(REMEMBERED_SLOTS);
        while self.bursts.front().is_some_and(|burst| burst.slot < oldest) {
            self.bursts.pop_front();
        }
        if self.bursts.len() < FEWEST {
            return None;
        }
        let transit_s = TRANSIT_COMMON.as_secs_f64() + self.usual_s() * segments;
        Some(Duration::from_secs_f64(transit_s.max(0.0)))
    }

    /// The usual time per segment: where the times per segment are densest.
    ///
    /// A burst that answers one frame, and whose frame began when the transit did, tells the time per
    /// segment exactly. A burst that answers several frames tells less than it, one of which another
    /// frame came in between more, and one before which another station's answer was late may tell
    /// anything. Such bursts are many, and how many depends on the order in which the stations answer,
    /// so that quantiles are biased by up to a third. But they do not agree with each other.
    fn usual_s(&self) -> f64 {
        // At most 265.
        let bins = (BINS_PER_E * (RANGE_S.1 / RANGE_S.0).ln()).ceil() as usize;
        let mut weights = vec![0.0; bins + 2 * HALF_WIDTH];
        for burst in &self.bursts {
            let bin = bin_of(burst.per_segment_s);
            for (distance, weight) in weights[bin..=bin + 2 * HALF_WIDTH].iter_mut().enumerate() {
                let off = distance.abs_diff(HALF_WIDTH) as f64 / (HALF_WIDTH + 1) as f64;
                *weight += burst.segments * (1.0 - off);
            }
        }
        let densest = weights
            .iter()
            .enumerate()
            .max_by(|(_, a), (_, b)| a.total_cmp(b))
            .map_or(0, |(bin, _)| bin);
        let (mut sum, mut total) = (0.0, 0.0);
        for burst in &self.bursts {
            if (bin_of(burst.per_segment_s) + HALF_WIDTH).abs_diff(densest) <= HALF_WIDTH {
                sum += burst.segments * burst.per_segment_s.ln();
                total += burst.segments;
            }
        }
        (sum / total).exp()
    }
}

/// The bin of a time per segment within [`RANGE_S`].
fn bin_of(per_segment_s: f64) -> usize {
    (BINS_PER_E * (per_segment_s / RANGE_S.0).ln()) as usize
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
