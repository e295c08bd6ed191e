//! How fast a station uploads.

use super::transit::Transits;
use core::time::Duration;

/// Bytes that count as a segment, and what they are on the air: LLC/SNAP 8, QoS data header 26, FCS 4, A-MPDU
/// delimiter 4, padding 2 (IEEE 802.11-2020, 9.2.4, 9.7.1).
pub(super) const SEGMENT_BYTES: u32 = 1500;
const SEGMENT_AIR_BYTES: f64 = 1544.0;
/// Fewest segments of a frame whose airtime is not mostly back-off and preamble.
const SEGMENTS_LEAST: u32 = 4;

/// The frames in which a station uploads.
///
/// Such a frame was on the air after the burst of any station that came before it: at once, or after a frame
/// of the access point. So the time between is that of the frame and what surrounds it, which is much the
/// same as around the frames of the access point, or more. The lowest time per segment about which many
/// frames agree is that without the access point's.
#[derive(Clone, Debug, Default)]
pub(super) struct Uploads {
    times: Transits,
    /// Time per segment as the last slots have shown it, seconds.
    segment_s: Option<f64>,
}

impl Uploads {
    /// Adds a frame with so many segments, which came by `time` later than the burst of any station before
    /// it.
    pub(super) fn add(&mut self, time: Duration, segments: u32) {
        if segments >= SEGMENTS_LEAST {
            self.times.add(time, segments);
        }
    }

    /// How long so many segments in a frame take; `None` if that is not known.
    pub(super) fn time_of(&self, segments: u32) -> Option<Duration> {
        if segments == 0 {
            return Some(Duration::ZERO);
        }
        Duration::try_from_secs_f64(self.segment_s? * f64::from(segments)).ok()
    }

    /// Ends the slot: the PHY rate of the frames, bit/s, if enough were seen.
    pub(super) fn close(&mut self) -> Option<f64> {
        self.segment_s = self.times.close_per_segment_s();
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
        310 + u64::from(packets) * 211
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
