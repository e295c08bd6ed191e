//! Groups arrivals into frames and counts them.

use super::classifier::{Model, TimestampClassifier};
use super::open_frame::{Arrival, Key, LONGEST_PPDU_US, OpenFrame};
use super::{Grouping, MeterConfig};
use crate::report::LevelSource;
use crate::sensor::USABLE;
use airpace_units::Time;
use core::time::Duration;

/// The counts of one slot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Whether anything arrived.
    pub(super) active: bool,
    pub(super) frames: u32,
    pub(super) span: Option<(Time, Time)>,
    /// The best source among the frames.
    pub(super) source: Option<LevelSource>,
    pub(super) late: u32,
    pub(super) bytes: u64,
    first_transmissions: u32,
    received: u64,
    packets: u64,
    /// Packets in frames whose arrivals span more than the longest PPDU.
    too_long: u64,
    /// Packets received in the frame that had the most.
    pub(super) longest_frame: u32,
    rated_frames: u32,
    inverse_rates: f64,
    /// Exponential mean of 1/R over the frames, s/bit; 0 until a rate is known.
    pub(super) recent_inverse_rate: f64,
}

/// One packet in this many may be in a frame whose arrivals span more than the longest PPDU, because
/// a receiver may pause within a frame. Chosen by simulation: the accuracy that `airpace bench
/// classifier` prints is the same as without this limit.
const IMPOSSIBLE_SHARE: u64 = 20;
/// Weight of a frame in the mean of the last PHY rates.
const RECENT_GAIN: f64 = 0.25;

impl Tally {
    fn add(&mut self, frame: &OpenFrame, previous: u32) {
        let add = |count: &mut u32, n: u32| *count = count.saturating_add(n);
        add(
            &mut self.first_transmissions,
            frame.first_transmissions(previous),
        );
        add(&mut self.late, frame.late);
        self.bytes = self.bytes.saturating_add(frame.bytes);
        self.received = self.received.saturating_add(u64::from(frame.received));
        self.packets = self.packets.saturating_add(u64::from(frame.packets));
        if frame.last.saturating_since(frame.first).as_micros() > u128::from(LONGEST_PPDU_US) {
            self.too_long = self.too_long.saturating_add(u64::from(frame.packets));
        }
        // Late packets and bytes count in every frame; the level and the round only in samples.
        if !frame.is_sample(previous) {
            return;
        }
        add(&mut self.frames, 1);
        self.longest_frame = self.longest_frame.max(frame.packets);
        let (first, last) = self.span.unwrap_or((frame.first, frame.first));
        self.span = Some((first.min(frame.first), last.max(frame.first)));
        let source = frame.key.source();
        self.source = Some(self.source.map_or(source, |s| s.min(source)));
        if let Some(rate) = frame.rate.filter(|r| r.bps() > 0) {
            add(&mut self.rated_frames, 1);
            let inverse = 1.0 / rate.as_bps_f64();
            self.inverse_rates += inverse;
            self.recent_inverse_rate = if self.recent_inverse_rate > 0.0 {
                self.recent_inverse_rate + RECENT_GAIN * (inverse - self.recent_inverse_rate)
            } else {
                inverse
            };
        }
    }

    /// Whether too many packets are in frames that would have lasted longer than any frame does, so
    /// that the grouping must be wrong.
    const fn is_impossible(&self) -> bool {
        self.too_long.saturating_mul(IMPOSSIBLE_SHARE) > self.packets
    }

    /// MPDUs of the counted frames, and packets in them. Holes are assumed to hold as many packets
    /// per MPDU as the MPDUs received.
    pub(super) fn mpdus_and_packets(&self) -> (u32, u32) {
        if self.frames == 0 {
            return (0, 0);
        }
        // Each sample has at least one first transmission.
        let mpdus = self.first_transmissions.max(self.frames);
        // Saturated counts are below 2^64, so the product fits 128 bits.
        let packets =
            u128::from(mpdus) * u128::from(self.packets) / u128::from(self.received.max(1));
        (mpdus, u32::try_from(packets).unwrap_or(u32::MAX).max(mpdus))
    }

    /// Σ 1/R over the frames; a frame of unknown rate counts with the mean of the others.
    pub(super) fn inverse_rate_sum(&self) -> f64 {
        if self.rated_frames == 0 {
            return 0.0;
        }
        self.inverse_rates * f64::from(self.frames) / f64::from(self.rated_frames)
    }
}

/// Groups the arrivals of one feed.
#[derive(Clone, Debug)]
pub(super) struct FrameMeter {
    gap: Duration,
    /// Groups arrivals of which only the times are known, unless the gap alone does. Boxed, because
    /// it has 13 kB that most meters do not need.
    classifier: Option<Box<TimestampClassifier>>,
    /// Groups them by the gap alone, for slots in which the classifier cannot tell.
    fallback: Option<Box<Self>>,
    open: Option<OpenFrame>,
    /// First transmissions in the previous sample.
    previous: u32,
    tally: Tally,
    /// 1/R of the last frames of the last slot in which rates were known, s/bit; 0 before that.
    last_inverse_rate: f64,
    /// Consecutive frames whose rate is far below that, and far above.
    slower: u32,
    faster: u32,
}

/// A frame whose PHY rate differs by this factor from that of the last slot is a sign of a change.
const OTHER_RATE: f64 = 1.4;
/// Consecutive frames of another rate that make it a change: rate control probes with single ones.
const OTHER_FRAMES: u32 = 3;

impl FrameMeter {
    pub(super) fn new(config: &MeterConfig) -> Self {
        let is_trained = config.grouping == Grouping::Trained;
        Self {
            gap: config.frame_gap,
            classifier: is_trained.then(|| Box::new(TimestampClassifier::new(Model::TRAINED))),
            fallback: is_trained.then(|| {
                Box::new(Self::new(&MeterConfig {
                    grouping: Grouping::FixedGap,
                    ..*config
                }))
            }),
            open: None,
            previous: 0,
            tally: Tally::default(),
            last_inverse_rate: 0.0,
            slower: 0,
            faster: 0,
        }
    }

    /// The counts since the last call of [`FrameMeter::close`].
    pub(super) const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Whether the last frames had another PHY rate than those of the last slot.
    #[inline]
    pub(super) const fn rate_has_changed(&self) -> bool {
        self.slower >= OTHER_FRAMES || self.faster >= OTHER_FRAMES
    }

    #[inline(always)]
    pub(super) fn on_arrival(&mut self, arrival: &Arrival) {
        self.tally.active = true;
        let starts_frame = match &self.classifier {
            Some(_) => self.classify(arrival),
            None => None,
        };
        match &mut self.open {
            Some(open) if open.takes(arrival, self.gap, starts_frame) => open.add(arrival),
            _ => self.begin_frame(arrival),
        }
    }

    /// What the classifier says, if the times are all that is known of the arrival. The gap alone
    /// is told of all arrivals.
    #[inline(never)]
    fn classify(&mut self, arrival: &Arrival) -> Option<bool> {
        if let Some(fallback) = &mut self.fallback {
            fallback.on_arrival(arrival);
        }
        match &mut self.classifier {
            Some(classifier) if Key::of(&arrival.hints) == Key::Gap => {
                Some(classifier.observe(arrival.at).starts_frame)
            }
            _ => None,
        }
    }

    /// An arrival is the first of a frame.
    #[inline(never)]
    fn begin_frame(&mut self, arrival: &Arrival) {
        self.finish();
        let mut frame = OpenFrame::new(arrival);
        frame.add(arrival);
        self.open = Some(frame);
    }

    /// Returns the counts since the last call, and how far they can be relied upon, 0 to 1: those of
    /// the gap if the classifier cannot tell. A frame that may still continue is left to the next call.
    pub(super) fn close(&mut self, now: Time) -> (Tally, f64) {
        let by_gap = self.fallback.as_mut().map(|fallback| fallback.close(now).0);
        let tally = self.close_own(now);
        let confidence = self.confidence(&tally);
        match by_gap {
            Some(by_gap) if confidence < USABLE => (by_gap, confidence),
            _ => (tally, confidence),
        }
    }

    fn close_own(&mut self, now: Time) -> Tally {
        if self
            .open
            .is_some_and(|frame| now.saturating_since(frame.last) >= self.longest_gap(&frame))
        {
            self.finish();
        }
        if self.tally.recent_inverse_rate > 0.0 {
            self.last_inverse_rate = self.tally.recent_inverse_rate;
        }
        (self.slower, self.faster) = (0, 0);
        core::mem::take(&mut self.tally)
    }

    /// The longest gap within a frame.
    fn longest_gap(&self, frame: &OpenFrame) -> Duration {
        match &self.classifier {
            Some(classifier) if frame.key == Key::Gap => classifier.longest_gap().max(self.gap),
            _ => self.gap,
        }
    }

    /// How far the frames of `tally` can be relied upon, 0 to 1. References and MAC timestamps are
    /// certain.
    fn confidence(&self, tally: &Tally) -> f64 {
        match &self.classifier {
            Some(classifier) if tally.source == Some(LevelSource::SocketTimestamps) => {
                // The classifier judges by the last frames, and these may be few of the slot's.
                if tally.is_impossible() {
                    0.0
                } else {
                    classifier.confidence()
                }
            }
            _ => 1.0,
        }
    }

    fn finish(&mut self) {
        let Some(frame) = self.open.take() else {
            return;
        };
        self.tally.add(&frame, self.previous);
        // Only samples show how many packets a frame holds at present.
        if frame.is_sample(self.previous) {
            self.previous = frame.fresh;
        }
        let known = frame.rate.filter(|rate| rate.bps() > 0);
        if let Some(rate) = known.filter(|_| self.last_inverse_rate > 0.0) {
            let factor = 1.0 / rate.as_bps_f64() / self.last_inverse_rate;
            let count = |n: u32, seen: bool| if seen { n.saturating_add(1) } else { 0 };
            self.slower = count(self.slower, factor > OTHER_RATE);
            self.faster = count(self.faster, factor < 1.0 / OTHER_RATE);
        }
    }
}
