//! The airtime of an MPDU where nothing of a frame is heard but its block ack.
//!
//! From the end of the frame before, whosever it was, to a block ack there is a back-off, the frame
//! itself and a SIFS. While the access point has something to send, nothing else is in between, so
//! frames of many MPDUs show how long one takes. Two things disturb that. Where the channel was idle,
//! or the frame before was not heard, the gap is too long. Where the block ack before was missed, the
//! advance covers two frames, and the airtime of one MPDU seems too short. A quantile leaves out
//! both.

use crate::phy::{AccessCategory, Edca, SIFS, SLOT};
use core::time::Duration;

/// Gaps that are remembered, and the fewest for an estimate.
const REMEMBERED: usize = 96;
const FEWEST: usize = 16;
/// Share of the gaps without idle time that is taken to be shorter than the chosen one.
const QUANTILE: f64 = 0.25;
/// The preamble of VHT and HE data frames.
const PREAMBLE: Duration = Duration::from_micros(44);
/// A frame of fewer MPDUs is hardly longer than the back-off before it.
const LEAST_ADVANCE: u16 = 4;
/// No exchange is longer: the longest frame (5.484 ms) with its back-off.
const LONGEST: Duration = Duration::from_micros(6_500);

/// Shortest frame, seconds, whose repetition is told from a long back-off by the gap.
const SHORTEST_TO_REPEAT_S: f64 = 200e-6;
/// After a collision the gap has the frame twice, and between both the time-out and a back-off from
/// twice the first window: at most so much, in seconds.
const MOST_BETWEEN_S: f64 = 600e-6;
/// Share of a usual frame's airtime from which a gap that is too long may hold a frame that was sent
/// again. It may have grown by then: what came in the meantime joins it.
const REPEATED_SHARE: f64 = 0.7;
/// Weight of a frame in the usual advance, and in the share of those that were sent again.
const REPEATED_GAIN: f32 = 0.01;
/// Largest share of frames sent again that is believed.
const REPEATED_MOST: f64 = 0.3;

/// Gaps before the block acks of a station.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameAirtime {
    /// Airtime of an MPDU as of the last slot, seconds.
    per_mpdu_s: Option<f64>,
    /// Share of the gaps that are long enough for the frame to have been sent twice.
    repeated: f32,
    /// MPDUs of a usual frame; 0 before the first.
    usual_advance: f32,
    /// Airtime of an MPDU in seconds, if each gap had the back-off of [`QUANTILE`].
    samples: Vec<f32>,
    next: usize,
}

impl FrameAirtime {
    /// A block ack began `gap` after the end of the frame before, and acknowledges `advance` MPDUs.
    pub(super) fn add(&mut self, gap: Duration, advance: u16) {
        let Some(frame) = gap.checked_sub(before_data() + SIFS) else {
            return;
        };
        if advance < LEAST_ADVANCE || gap > LONGEST {
            return;
        }
        if let Some(per_mpdu_s) = self.per_mpdu_s {
            self.look_for_repetition(frame, advance, per_mpdu_s);
        }
        let advance_mpdus = f32::from(advance);
        if self.usual_advance == 0.0 {
            self.usual_advance = advance_mpdus;
        }
        self.usual_advance += REPEATED_GAIN * (advance_mpdus - self.usual_advance);
        let sample = frame.as_secs_f32() / f32::from(advance);
        if self.samples.len() < REMEMBERED {
            self.samples.push(sample);
        } else {
            self.samples[self.next] = sample;
        }
        self.next = (self.next + 1) % REMEMBERED;
    }

    /// Counts whether a frame of `advance` MPDUs was sent twice in the time `frame`.
    fn look_for_repetition(&mut self, frame: Duration, advance: u16, per_mpdu_s: f64) {
        let airtime_s = per_mpdu_s * f64::from(advance);
        if airtime_s < SHORTEST_TO_REPEAT_S {
            return;
        }
        let excess_s = frame.as_secs_f64() - airtime_s;
        let usual_s = per_mpdu_s * f64::from(self.usual_advance);
        let range = REPEATED_SHARE * usual_s.min(airtime_s)..airtime_s + MOST_BETWEEN_S;
        let is_repeated = if range.contains(&excess_s) { 1.0 } else { 0.0 };
        self.repeated += REPEATED_GAIN * (is_repeated - self.repeated);
    }

    /// Share of the frames that had to be sent again as a whole, if `unheard` is the probability that a
    /// frame of somebody else before them was not heard, which makes as long a gap.
    pub(super) fn repeated(&self, unheard: f64) -> f64 {
        ((f64::from(self.repeated) - unheard) / (1.0 - unheard)).clamp(0.0, REPEATED_MOST)
    }

    /// Ends a slot: computes the airtime of an MPDU.
    pub(super) fn close_slot(&mut self, missed: f64) {
        self.per_mpdu_s = self.per_mpdu_s(missed);
    }

    /// Airtime of an MPDU in seconds, if the probability that a block ack is missed is `missed`.
    pub(super) fn per_mpdu_s(&self, missed: f64) -> Option<f64> {
        if self.samples.len() < FEWEST {
            return None;
        }
        let mut sorted = self.samples.clone();
        sorted.sort_by(f32::total_cmp);
        // After a missed block ack the sample is too small, so the quantile is that of the others.
        let rank = missed + QUANTILE * (1.0 - missed);
        let index = (rank * sorted.len() as f64) as usize;
        let sample = sorted[index.min(sorted.len() - 1)];
        (sample > 0.0).then(|| f64::from(sample))
    }
}

/// Time from the end of a frame to the first data of the next: AIFS, the back-off below which
/// [`QUANTILE`] of all lie, and the preamble.
fn before_data() -> Duration {
    let edca = Edca::of(AccessCategory::BestEffort);
    let backoff = SLOT.mul_f64(QUANTILE * f64::from(edca.cw_min));
    edca.aifs() + backoff + PREAMBLE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The estimate in µs for MPDUs of 32 µs in frames of 20, of which `missed` in ten follow a missed
    /// block ack and `idle` in ten an idle time.
    fn estimate(missed: u64, idle: u64) -> f64 {
        let mut airtime = FrameAirtime::default();
        for n in 0..96 {
            // Back-offs from 0 to 15 slots.
            let backoff = Duration::from_micros(9 * (n * 7 % 16));
            let busy = Duration::from_micros(43 + 40 + 20 * 32 + 16) + backoff;
            let kind = n * 3 % 10;
            if kind < missed {
                airtime.add(busy, 40);
            } else if kind < missed + idle {
                airtime.add(busy + Duration::from_micros(200 + 30 * n), 20);
            } else {
                airtime.add(busy, 20);
            }
        }
        airtime.per_mpdu_s(missed as f64 / 10.0).expect("enough") * 1e6
    }

    #[test]
    fn the_airtime_of_an_mpdu_survives_idle_times_and_missed_block_acks() {
        for (missed, idle) in [(0, 0), (0, 3), (2, 0), (2, 3)] {
            let airtime = estimate(missed, idle);
            assert!((airtime - 32.0).abs() < 2.0, "{missed} {idle}: {airtime}");
        }
    }

    #[test]
    fn frames_sent_twice_are_a_share_of_the_gaps_less_that_of_missed_frames() {
        let mut airtime = FrameAirtime::default();
        for n in 0..2_000 {
            let once = Duration::from_micros(43 + 40 + 20 * 32 + 16 + 9 * (n * 7 % 16));
            let again = Duration::from_micros(40 + 20 * 32 + 100 + 9 * (n % 32));
            airtime.add(if n % 10 == 0 { once + again } else { once }, 20);
            if n % 50 == 49 {
                airtime.close_slot(0.0);
            }
        }
        let share = airtime.repeated(0.0);
        assert!((share - 0.1).abs() < 0.03, "{share}");
        assert!(airtime.repeated(0.2) < 1e-9, "a radio that misses a fifth");
    }

    #[test]
    fn small_frames_and_few_of_them_give_no_airtime() {
        let mut airtime = FrameAirtime::default();
        for _ in 0..100 {
            airtime.add(Duration::from_micros(300), 2);
        }
        assert_eq!(airtime.per_mpdu_s(0.0), None);
    }
}
