//! Sums over frames.

use super::FrameRecord;
use airpace_units::Time;
use core::time::Duration;

/// The frames of one station and direction, added up: level, round time and airtime as the sender
/// measures them.
///
/// Level and round time are over frames with new packets: a frame of retransmissions alone repeats
/// one that was counted. Its airtime is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameTally {
    /// Frames that carried new packets.
    pub frames: u64,
    /// New packets in them, decoded or not.
    pub packets: u64,
    /// Frames of retransmissions alone.
    pub retry_frames: u64,
    /// MPDUs sent again.
    pub retries: u64,
    /// Frames that collided with others.
    pub collisions: u64,
    /// Time for which the exchanges of all frames occupied the channel.
    pub airtime: Duration,
    /// Ends of the first and the last frame with new packets.
    pub span: Option<(Time, Time)>,
    /// Packets left in the sender's queue when the last frame was composed; `None` without frames.
    pub queued: Option<u32>,
}

impl FrameTally {
    /// Counts a frame. Frames come in the order of their ends.
    pub fn on_frame(&mut self, frame: &FrameRecord) {
        let new = frame.mpdus.saturating_sub(frame.retries);
        self.retries += u64::from(frame.retries);
        self.collisions += u64::from(frame.collided);
        self.airtime += frame.airtime;
        self.queued = Some(frame.queued);
        if new == 0 {
            self.retry_frames += 1;
            return;
        }
        self.frames += 1;
        self.packets += u64::from(new);
        self.span = Some((self.span.map_or(frame.end, |(first, _)| first), frame.end));
    }

    /// Adds a tally of frames that came after all frames of this one.
    pub fn append(&mut self, later: &Self) {
        self.frames += later.frames;
        self.packets += later.packets;
        self.retry_frames += later.retry_frames;
        self.retries += later.retries;
        self.collisions += later.collisions;
        self.airtime += later.airtime;
        self.queued = later.queued.or(self.queued);
        self.span = match (self.span, later.span) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (a, b) => a.or(b),
        };
    }

    /// Mean new packets per frame (aggregation level N); `None` without frames.
    #[must_use]
    pub fn level(&self) -> Option<f64> {
        (self.frames > 0).then(|| self.packets as f64 / self.frames as f64)
    }

    /// Mean time between the ends of frames (round T); `None` with fewer than two.
    #[must_use]
    pub fn round(&self) -> Option<Duration> {
        let gaps = self.frames.checked_sub(1).filter(|&gaps| gaps > 0)?;
        let (first, last) = self.span?;
        Some(last.saturating_since(first).div_f64(gaps as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::RadioId;
    use airpace_core::phy::{AccessCategory, GuardInterval, Standard, TxRate, Width};

    fn frame(end_ms: u64, mpdus: u16, retries: u16) -> FrameRecord {
        let end = Time::from_millis(end_ms);
        FrameRecord {
            ampdu: 0,
            from: RadioId(0),
            to: RadioId(1),
            category: AccessCategory::BestEffort,
            start: end,
            end,
            rate: TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800).unwrap(),
            mpdus,
            packets: mpdus.into(),
            retries,
            decoded: mpdus,
            psdu_bytes: 1_540,
            airtime: Duration::from_millis(1),
            collided: retries > 0,
            queued: u32::from(mpdus),
        }
    }

    #[test]
    fn level_and_round_are_of_new_packets_airtime_is_of_all() {
        let mut tally = FrameTally::default();
        assert_eq!(
            (tally.level(), tally.round(), tally.queued),
            (None, None, None)
        );
        tally.on_frame(&frame(10, 4, 0));
        assert_eq!((tally.level(), tally.round()), (Some(4.0), None));
        tally.on_frame(&frame(12, 3, 3));
        tally.on_frame(&frame(16, 6, 2));
        assert_eq!(
            (tally.level(), tally.round()),
            (Some(4.0), Some(Duration::from_millis(6)))
        );
        assert_eq!(
            (
                tally.frames,
                tally.retry_frames,
                tally.retries,
                tally.collisions
            ),
            (2, 1, 5, 2)
        );
        assert_eq!(
            (tally.airtime, tally.queued),
            (Duration::from_millis(3), Some(6))
        );
    }

    #[test]
    fn parts_appended_are_the_whole() {
        let frames = [
            frame(1, 4, 0),
            frame(3, 2, 2),
            frame(4, 9, 1),
            frame(9, 1, 0),
        ];
        let tally = |frames: &[FrameRecord]| {
            let mut tally = FrameTally::default();
            frames.iter().for_each(|frame| tally.on_frame(frame));
            tally
        };
        for cut in 0..=frames.len() {
            let mut sum = tally(&frames[..cut]);
            sum.append(&tally(&frames[cut..]));
            assert_eq!(sum, tally(&frames));
        }
    }
}
