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

/// A transit counts fully from this much beyond [`TRANSIT_COMMON`] on, seconds, and in proportion below: there
/// the back-off is most of it. If a station's answer directly follows another's, its frame came before
/// both, and the transit is that short however long the frame was.
const TELLING_S: f64 = 150e-6;
/// Least density of the transits that many bursts agree about, relative to the greatest.
pub(super) const PEAK_LEAST: f64 = 0.6;
/// The same near the station's usual time. Where each of three stations answers after two frames or three in most
/// cases, the peak of the own frame falls below [`PEAK_LEAST`] for a second or two. On the emulated access point
/// 10 % of the slots then told a time that was wrong by more than a third; with this, 1.5 %.
const USUAL_PEAK_LEAST: f64 = 0.35;
/// A transit agrees with the densest peak if it differs by less than this from what its frame takes by it, seconds, and this part of
/// what the payload takes: back-off before the frame and before its answer is uniform over 0 to 135 µs each, so their sum is
/// within 135 µs of its mean.
const AGREES_S: f64 = 200e-6;
const AGREES_PART: f64 = 0.05;
/// Fewest transits of which it is told how many agree.
const FEWEST_AGREE: usize = 30;
/// A peak within so many bins of the usual time is near it: 0.2 on the logarithmic scale.
const USUAL_WIDTH: usize = 5;
/// The usual time is the median over so many slots: five seconds at 100 ms, of which a swing takes less than half.
const USUAL_SLOTS: usize = 50;
/// Fewest slots that tell what is usual. The first ones of a download, whose frames are short, are wrong by a
/// factor of five and more.
const USUAL_FEWEST: usize = 20;

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

    /// Seconds per segment beyond [`TRANSIT_COMMON`].
    pub(crate) const fn per_segment_s(self) -> f64 {
        self.per_segment_s
    }

    /// The transit of a frame of `level` packets.
    #[must_use]
    pub fn of_frame(self, level: f64) -> Duration {
        let beyond = Duration::try_from_secs_f64(self.per_segment_s * level);
        TRANSIT_COMMON.saturating_add(beyond.unwrap_or_default())
    }
}

/// What the transits of the last slots tell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Told {
    /// Time per segment beyond [`TRANSIT_COMMON`], seconds.
    pub(super) per_segment_s: f64,
    /// Share of the transits that agree with the densest peak, 0 to 1; `None` if there are too few.
    pub(super) agreement: Option<f64>,
}

/// The transits of the last slots.
#[derive(Clone, Debug)]
pub(super) struct Transits {
    /// Slots that are remembered.
    remembered_slots: u64,
    bursts: VecDeque<BurstTransit>,
    slot: u64,
    in_slot: usize,
    /// What the last slots told by themselves, seconds per segment. What they told with the help of the usual time
    /// would confirm it, however wrong it is.
    told_s: VecDeque<f64>,
}

/// The transit of one burst.
#[derive(Clone, Copy, Debug)]
struct BurstTransit {
    /// Number of its slot.
    slot: u64,
    /// Time beyond [`TRANSIT_COMMON`] per segment, seconds. Transits of whole frames cannot be
    /// compared: the sizes of the frames to one station vary by 60 % (standard deviation over mean).
    per_segment_s: f64,
    segments: u32,
    /// Between 0 and 1.
    weight: f64,
}

impl Default for Transits {
    fn default() -> Self {
        Self::over(REMEMBERED_SLOTS)
    }
}

impl Transits {
    /// No transits yet. The bursts of the last `remembered_slots` slots count.
    pub(super) const fn over(remembered_slots: u64) -> Self {
        Self {
            remembered_slots,
            bursts: VecDeque::new(),
            slot: 0,
            in_slot: 0,
            told_s: VecDeque::new(),
        }
    }

    /// Adds the transit of a burst that acknowledges so many segments.
    pub(super) fn add(&mut self, transit: Duration, segments: u32) {
        let beyond_s = transit.as_secs_f64() - TRANSIT_COMMON.as_secs_f64();
        // Infinite without segments.
        let per_segment_s = beyond_s / f64::from(segments);
        if self.in_slot < MOST && (RANGE_S.0..RANGE_S.1).contains(&per_segment_s) {
            self.in_slot += 1;
            self.bursts.push_back(BurstTransit {
                slot: self.slot,
                per_segment_s,
                segments,
                weight: (beyond_s / TELLING_S).min(1.0),
            });
        }
    }

    /// Ends the slot: what the transits tell, unless too few were seen. Many agree about a time if its density is at least
    /// `peak_least`, relative to the greatest.
    pub(super) fn close(&mut self, peak_least: f64) -> Option<Told> {
        self.slot += 1;
        self.in_slot = 0;
        let oldest = self.slot.saturating_sub(self.remembered_slots);
        while self.bursts.front().is_some_and(|burst| burst.slot < oldest) {
            self.bursts.pop_front();
        }
        if self.bursts.len() < FEWEST {
            return None;
        }
        let density = self.density();
        let densest_s = self.mean_at(Self::lowest_peak(&density, 1.0, None));
        let can_agree = self.bursts.len() >= FEWEST_AGREE;
        Some(Told {
            per_segment_s: self.agreed_s(&density, peak_least),
            agreement: can_agree.then(|| self.share_that_agrees(densest_s)),
        })
    }

    /// The share of the transits that agree with a time per segment of `agreed_s`. Frames of other networks stand in many of those
    /// that do not.
    fn share_that_agrees(&self, agreed_s: f64) -> f64 {
        let (mut agree, mut all) = (0.0, 0.0);
        for burst in &self.bursts {
            let segments = f64::from(burst.segments);
            let late_s = (burst.per_segment_s - agreed_s) * segments;
            all += burst.weight;
            if late_s.abs() < AGREES_S + AGREES_PART * agreed_s * segments {
                agree += burst.weight;
            }
        }
        if all > 0.0 { agree / all } else { 0.0 }
    }

    /// The lowest time per segment about which many bursts agree, or fewer if it is the usual one.
    ///
    /// A burst whose frame began when the transit did tells the time per segment exactly. If the answer
    /// before came so late that it is passed over, the transit holds the frame before as well, and tells
    /// twice the time or more; bursts that answer several frames, and answers that were late for other
    /// reasons, tell anything below it. How many there are of each depends on the order in which the
    /// stations answer, so that quantiles are wrong by up to a third for seconds.
    fn agreed_s(&mut self, density: &[f64], peak_least: f64) -> f64 {
        let usual_s = self.usual_s();
        let told_s = self.mean_at(Self::lowest_peak(density, peak_least, None));
        if self.told_s.len() == USUAL_SLOTS {
            self.told_s.pop_front();
        }
        self.told_s.push_back(told_s);
        match usual_s {
            Some(usual_s) => {
                let usual = bin_of(usual_s) + HALF_WIDTH;
                self.mean_at(Self::lowest_peak(density, peak_least, Some(usual)))
            }
            None => told_s,
        }
    }

    /// The median of what the last slots told, if they are enough.
    fn usual_s(&self) -> Option<f64> {
        if self.told_s.len() < USUAL_FEWEST {
            return None;
        }
        let mut told_s: Vec<f64> = self.told_s.iter().copied().collect();
        let middle = told_s.len() / 2;
        Some(*told_s.select_nth_unstable_by(middle, f64::total_cmp).1)
    }

    /// The weight of the bursts in each bin of time per segment, smoothed.
    fn density(&self) -> Vec<f64> {
        // At most 265.
        let bins = (BINS_PER_E * (RANGE_S.1 / RANGE_S.0).ln()).ceil() as usize;
        let mut density = vec![0.0; bins + 2 * HALF_WIDTH];
        for burst in &self.bursts {
            let bin = bin_of(burst.per_segment_s);
            for (distance, near) in density[bin..=bin + 2 * HALF_WIDTH].iter_mut().enumerate() {
                let height = 1.0 - distance.abs_diff(HALF_WIDTH) as f64 / (HALF_WIDTH + 1) as f64;
                *near += burst.weight * height;
            }
        }
        density
    }

    /// The lowest bin with a peak of at least `peak_least`, relative to the highest. Near the bin `usual`, a lower peak is enough.
    fn lowest_peak(density: &[f64], peak_least: f64, usual: Option<usize>) -> usize {
        let densest = density.iter().copied().fold(0.0, f64::max);
        let is_peak = |&at: &usize| {
            let around = at.saturating_sub(HALF_WIDTH)..(at + HALF_WIDTH + 1).min(density.len());
            let is_usual = usual.is_some_and(|usual| usual.abs_diff(at) <= USUAL_WIDTH);
            let least = if is_usual {
                peak_least.min(USUAL_PEAK_LEAST)
            } else {
                peak_least
            };
            density[at] >= least * densest
                && density[around].iter().all(|&other| other <= density[at])
        };
        (0..density.len()).find(is_peak).unwrap_or_default()
    }

    /// The mean time per segment of the bursts in the bins around `peak`.
    fn mean_at(&self, peak: usize) -> f64 {
        let is_near = |burst: &&BurstTransit| {
            (bin_of(burst.per_segment_s) + HALF_WIDTH).abs_diff(peak) <= HALF_WIDTH
        };
        let (mut sum, mut weights) = (0.0, 0.0);
        for burst in self.bursts.iter().filter(is_near) {
            sum += burst.weight * burst.per_segment_s.ln();
            weights += burst.weight;
        }
        f64::exp(sum / weights)
    }
}

/// The bin of a time per segment within [`RANGE_S`].
fn bin_of(per_segment_s: f64) -> usize {
    (BINS_PER_E * (per_segment_s / RANGE_S.0).ln()) as usize
}

/// The transit of a frame of `segments` segments that take `segment_s` seconds each.
pub(crate) fn transit_of(segment_s: f64, segments: f64) -> Option<Duration> {
    let beyond = Duration::try_from_secs_f64(segment_s * segments).ok()?;
    Some(TRANSIT_COMMON.saturating_add(beyond))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(transits: &mut Transits, segments: f64) -> Option<Duration> {
        transit_of(transits.close(PEAK_LEAST)?.per_segment_s, segments)
    }

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// The time per packet at 390 Mbit/s, and what surrounds a frame in the emulator.
    const PACKET_US: u64 = 31;
    const AROUND_US: u64 = 310;

    fn closed(transits: &[(u64, u32)], segments: f64) -> Option<Duration> {
        let mut kept = Transits::default();
        for &(transit_us, burst) in transits {
            kept.add(us(transit_us), burst);
        }
        close(&mut kept, segments)
    }

    fn within(found: Option<Duration>, expected_us: u64, part: f64) {
        let found_us = found.unwrap().as_secs_f64() * 1e6;
        let error = found_us / expected_us as f64 - 1.0;
        assert!(error.abs() <= part, "{found_us} µs, not {expected_us}");
    }

    #[test]
    fn few_transits_tell_nothing_and_those_of_former_slots_count() {
        let mut transits = Transits::default();
        for _ in 0..FEWEST / 2 {
            transits.add(us(1_310), 10);
        }
        assert_eq!(close(&mut transits, 10.0), None);
        for _ in 0..FEWEST / 2 {
            transits.add(us(1_310), 10);
        }
        within(close(&mut transits, 10.0), 1_310, 1e-6);
        for _ in 3..REMEMBERED_SLOTS {
            close(&mut transits, 10.0);
        }
        within(close(&mut transits, 10.0), 1_310, 1e-6);
        assert_eq!(close(&mut transits, 10.0), None);
    }

    #[test]
    fn short_frames_among_long_ones_do_not_shorten_the_transit_of_a_mean_one() {
        let frames = [5, 40, 12, 33, 8, 60, 21, 21];
        let transits = frames.map(|n| (AROUND_US + PACKET_US * u64::from(n), n));
        within(closed(&transits, 25.0), AROUND_US + PACKET_US * 25, 1e-6);
    }

    #[test]
    fn transits_that_hold_the_frame_before_as_well_are_left_aside() {
        // Half of the answers before came so late that they are passed over.
        let mut transits = Vec::new();
        for n in 20..40_u32 {
            let noise_us = u64::from(n * 7 % 60);
            let own_us = PACKET_US * u64::from(n) + noise_us;
            transits.push((AROUND_US + own_us, n));
            transits.push((AROUND_US + own_us + 1_100, n));
        }
        within(
            closed(&transits, 30.0),
            AROUND_US + PACKET_US * 30 + 30,
            0.05,
        );
    }

    #[test]
    fn the_usual_time_counts_even_while_most_transits_hold_the_frames_before_as_well() {
        let mut transits = Transits::default();
        let mut told = Vec::new();
        for slot in 0..60_u64 {
            // In slots 30 to 49 seven of ten answers before came too late, else two.
            let late = if (30..50).contains(&slot) { 7 } else { 2 };
            for n in 0..10_u64 {
                let others_us = if n < late { 1_240 } else { 0 };
                let noise_us = (n * 37 + slot * 13) % 60;
                let own_us = PACKET_US * 40 + noise_us;
                transits.add(us(AROUND_US + own_us + others_us), 40);
            }
            let transit = close(&mut transits, 40.0).unwrap();
            told.push((transit.as_secs_f64() * 1e6 - AROUND_US as f64) / 40.0);
        }
        let expected_us = PACKET_US as f64;
        let are_right = |&told: &f64| (told / expected_us - 1.0).abs() < 0.1;
        assert!(told.iter().all(are_right), "{told:?}");
    }

    #[test]
    fn another_rate_is_told_within_a_second_whatever_was_usual() {
        for (before_us, after_us) in [(31, 70), (70, 31), (31, 42), (42, 31)] {
            let mut transits = Transits::default();
            let mut told_us = 0.0;
            for slot in 0..60 {
                let packet_us = if slot < 50 { before_us } else { after_us };
                for n in 30..40 {
                    transits.add(us(AROUND_US + packet_us * u64::from(n)), n);
                }
                let transit = close(&mut transits, 40.0).unwrap();
                told_us = (transit.as_secs_f64() * 1e6 - AROUND_US as f64) / 40.0;
            }
            let error = told_us / after_us as f64 - 1.0;
            assert!(error.abs() < 0.05, "{before_us} {after_us} {told_us}");
        }
    }

    #[test]
    fn bursts_that_answer_several_frames_are_left_aside() {
        // A quarter of the bursts answers two frames of which only the last came within the transit.
        let mut transits = Vec::new();
        for n in 20..60_u32 {
            let own_us = PACKET_US * u64::from(n);
            let segments = if n % 4 == 0 { 2 * n } else { n };
            transits.push((AROUND_US + own_us, segments));
        }
        within(closed(&transits, 30.0), AROUND_US + PACKET_US * 30, 0.03);
    }

    #[test]
    fn answers_that_follow_those_of_another_station_do_not_make_frames_seem_short() {
        // Three of four answers come as soon as the channel is free after another's; the transits of the others scatter.
        let mut transits = Vec::new();
        for n in 20..40_u32 {
            let noise_us = u64::from(n * 37 % 200);
            transits.push((AROUND_US + PACKET_US * u64::from(n) + noise_us, n));
            for after_us in [2, 20, 60] {
                transits.push((AROUND_US + after_us + u64::from(n % 4), n));
            }
        }
        within(
            closed(&transits, 30.0),
            AROUND_US + PACKET_US * 30 + 100,
            0.1,
        );
    }

    #[test]
    fn transits_agree_unless_frames_of_other_networks_stand_in_them() {
        let share = |foreign: u64| {
            let mut transits = Transits::default();
            for n in 0..60_u64 {
                let segments = 20 + n % 20;
                let noise_us = (n * 37) % 200;
                let foreign_us = if n % 4 < foreign {
                    400 + 300 * (n % 7)
                } else {
                    0
                };
                let transit_us = AROUND_US + PACKET_US * segments + noise_us + foreign_us;
                transits.add(us(transit_us), u32::try_from(segments).unwrap());
            }
            transits.close(PEAK_LEAST).unwrap().agreement.unwrap()
        };
        assert!(share(0) > 0.95, "{}", share(0));
        let shares = [share(0), share(1), share(2)];
        assert!(shares.is_sorted_by(|more, less| more > less), "{shares:?}");
    }

    #[test]
    fn few_transits_do_not_tell_how_many_agree() {
        let mut transits = Transits::default();
        for _ in 1..FEWEST_AGREE {
            transits.add(us(1_310), 10);
        }
        assert_eq!(transits.close(PEAK_LEAST).unwrap().agreement, None);
        transits.add(us(1_310), 10);
        assert_eq!(transits.close(PEAK_LEAST).unwrap().agreement, Some(1.0));
    }

    #[test]
    fn transits_without_segments_or_shorter_than_what_surrounds_a_frame_are_ignored() {
        let transits = [(0, 10), (AROUND_US, 10), (2_000, 0), (u64::MAX / 2, 1)];
        assert_eq!(closed(&transits.repeat(FEWEST), 10.0), None);
    }
}
