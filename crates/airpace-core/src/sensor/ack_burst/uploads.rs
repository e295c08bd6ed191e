//! How fast a station uploads.

use super::transit::{TRANSIT_COMMON, Transits};
use core::time::Duration;

/// Bytes that count as a segment, and what they are on the air: LLC/SNAP 8, QoS data header 26, FCS 4, A-MPDU
/// delimiter 4, padding 2 (IEEE 802.11-2020, 9.2.4, 9.7.1).
pub(super) const SEGMENT_BYTES: u32 = 1500;
const SEGMENT_AIR_BYTES: f64 = 1544.0;
/// What lies between a station's upload and the burst before it besides the payload, if no frame of the access
/// point came between: SIFS and block ack of the former, AIFS, back-off and preamble of the latter. In simulations
/// the lower half of the times has 130 to 200 µs.
const UPLOAD_COMMON: Duration = Duration::from_micros(160);
/// The peak about which many frames agree is a fifth of their time wide to either side. Of longer frames it takes in
/// those that came after longer back-offs too. They add this part of the time on average, up to [`TRANSIT_COMMON`].
const LATER_PART: f64 = 0.05;
/// Least density of what many frames agree about, relative to the greatest. Beside downloads most uploads follow a
/// frame of the access point or two, and seem three times as long. None seems shorter than it is.
const PEAK_LEAST: f64 = 0.25;
/// Slots that are remembered: of a station that downloads too, a slot may have one such frame or none.
const REMEMBERED_SLOTS: u64 = 30;
/// Fewest segments of a frame whose airtime is not mostly back-off and preamble.
const SEGMENTS_LEAST: u32 = 4;

/// The frames in which a station uploads.
///
/// Such a frame was on the air after the burst of any station that came before it: at once, or after a frame
/// of the access point. So the time between is that of the frame and what surrounds it, which is
/// less than around a frame of the access point and its answer. The lowest time per segment about which many
/// frames agree is that without the access point's.
#[derive(Clone, Debug)]
pub(super) struct Uploads {
    times: Transits,
    /// Time per segment as the last slots have shown it, seconds.
    segment_s: Option<f64>,
}

impl Default for Uploads {
    fn default() -> Self {
        Self {
            times: Transits::over(REMEMBERED_SLOTS),
            segment_s: None,
        }
    }
}

impl Uploads {
    /// Adds a frame with so many segments, which came by `time` later than the burst of any station before
    /// it.
    pub(super) fn add(&mut self, time: Duration, segments: u32) {
        if segments >= SEGMENTS_LEAST {
            let common = TRANSIT_COMMON.min(UPLOAD_COMMON + time.mul_f64(LATER_PART));
            self.times.add(time + (TRANSIT_COMMON - common), segments);
        }
    }

    /// How long so many segments in a frame take; `None` if that is not known.
    pub(super) fn time_of(&self, segments: u32) -> Option<Duration> {
        if segments == 0 {
            return Some(Duration::ZERO);
        }
        Duration::try_from_secs_f64(self.segment_s? * f64::from(segments)).ok()
    }

    /// Whether the station uploads so much that the last slots told how fast.
    pub(super) const fn are_seen(&self) -> bool {
        self.segment_s.is_some()
    }

    /// Ends the slot: the PHY rate of the frames, bit/s, if enough were seen.
    pub(super) fn close(&mut self) -> Option<f64> {
        self.segment_s = self.times.close(PEAK_LEAST).map(|told| told.per_segment_s);
        Some(8.0 * SEGMENT_AIR_BYTES / self.segment_s?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rate after frames of so many packets, `between_us` after the burst before.
    fn rate_bps(frames: impl IntoIterator<Item = (u64, u32)>) -> Option<f64> {
        let mut uploads = Uploads::default();
        for (between_us, packets) in frames {
            uploads.add(Duration::from_micros(between_us), packets);
        }
        uploads.close()
    }

    /// Microseconds of so many packets at 58.5 Mbit/s, and what surrounds a frame.
    fn upload_us(packets: u32) -> u64 {
        200 + u64::from(packets) * 211
    }

    fn is_mcs_1(found: Option<f64>) {
        let found = found.unwrap();
        assert!((found / 58.5e6 - 1.0).abs() < 0.03, "{found}");
    }

    #[test]
    fn frames_of_the_access_point_between_uploads_do_not_make_these_seem_slow() {
        is_mcs_1(rate_bps((0..40).map(|n| {
            let access_point_us = if n % 2 == 0 { 2_300 } else { 0 };
            (upload_us(25) + access_point_us, 25)
        })));
    }

    #[test]
    fn the_rate_is_told_also_if_only_a_fifth_of_the_uploads_follow_no_frame_of_the_access_point() {
        is_mcs_1(rate_bps((0..40).map(|n| {
            let access_point_us = if n % 5 == 0 { 0 } else { 4_000 + 500 * (n % 7) };
            (upload_us(25) + access_point_us, 25)
        })));
    }

    #[test]
    fn frames_of_all_sizes_tell_the_rate() {
        is_mcs_1(rate_bps((0..40).map(|n| {
            let packets = 4 + n * 7 % 21;
            (upload_us(packets), packets)
        })));
    }

    #[test]
    fn short_frames_and_few_tell_nothing() {
        assert_eq!(rate_bps((0..40).map(|_| (500, 1))), None);
        assert_eq!(rate_bps((0..4).map(|_| (upload_us(25), 25))), None);
    }
}
