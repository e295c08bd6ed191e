//! Groups arrivals into frames and counts them.

use super::classifier::{Model, TimestampClassifier};
use super::sequence::{LONGEST_FRAME, Place, mac_distance};
use super::{FrameHints, Grouping, MeterConfig};
use crate::report::LevelSource;
use crate::sensor::USABLE;
use airpace_units::{BitRate, Time};
use core::time::Duration;

/// Arrivals further apart than this never belong to one frame, whatever reference the radio reports.
/// A frame lasts 5.484 ms at most; the rest is for receivers that are delayed while they read it.
const REFERENCE_AGE: Duration = Duration::from_millis(50);
/// MPDUs whose MAC timestamps are further apart than this never belong to one frame, microseconds:
/// the longest PPDU (5.484 ms, IEEE 802.11-2020 table 19-25) and the granularity of timestamps.
const LONGEST_PPDU_US: u64 = 6_000;
/// What the time between the MAC timestamps of an A-MPDU's MPDUs may exceed their airtime by,
/// microseconds: the preamble, padding between MPDUs and the granularity of timestamps.
const TSFT_MARGIN_US: u64 = 200;

/// The arrival of one packet or MPDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) at: Time,
    pub(super) hints: FrameHints,
    pub(super) place: Place,
    /// Sequence number of the MAC, if it was seen.
    pub(super) sequence: Option<u16>,
    /// Traffic identifier, if it was seen.
    pub(super) tid: Option<u8>,
    pub(super) packets: u32,
    pub(super) bytes: u32,
}

/// What distinguishes a frame from the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Key {
    /// The A-MPDU reference. Some radios count it in few bits, so it is unique only within a short
    /// time.
    Ampdu(u32),
    /// The radio reports A-MPDU status without a reference. This is what a counter that passes zero
    /// looks like, and also a driver that has no counter.
    Unnumbered,
    /// The radio says that the MPDU was alone in its frame.
    Single,
    Tsft(u64),
    Gap,
}

impl Key {
    const fn of(hints: &FrameHints) -> Self {
        if hints.single {
            return Self::Single;
        }
        match (hints.ampdu, hints.tsft_us) {
            (Some(0), _) => Self::Unnumbered,
            (Some(reference), _) => Self::Ampdu(reference),
            (None, Some(us)) => Self::Tsft(us),
            (None, None) => Self::Gap,
        }
    }

    const fn source(self) -> LevelSource {
        match self {
            Self::Ampdu(_) | Self::Single => LevelSource::AmpduReference,
            Self::Unnumbered | Self::Tsft(_) => LevelSource::Tsft,
            Self::Gap => LevelSource::SocketTimestamps,
        }
    }
}

/// A frame of which more may arrive.
#[derive(Clone, Copy, Debug)]
struct OpenFrame {
    key: Key,
    first: Time,
    last: Time,
    /// MAC timestamps of the first and of the latest MPDU, microseconds.
    tsft: Option<(u64, u64)>,
    /// MAC sequence numbers of the first and of the latest MPDU.
    sequence: Option<(u16, u16)>,
    tid: Option<u8>,
    rate: Option<BitRate>,
    /// First transmissions, received or skipped in the sequence numbers.
    fresh: u32,
    /// Retransmissions of MPDUs not received before, and the numbers skipped before them: they were
    /// in an earlier frame.
    carried: u32,
    /// Retransmissions that filled holes which were not counted yet.
    filled: u32,
    /// Packets with a number below the latest.
    late: u32,
    /// MPDUs received.
    received: u32,
    /// Packets in them.
    packets: u32,
    bytes: u64,
    /// Whether it is known which of them are retransmissions.
    retries_known: bool,
}

impl OpenFrame {
    fn new(arrival: &Arrival) -> Self {
        Self {
            key: Key::of(&arrival.hints),
            first: arrival.at,
            last: arrival.at,
            tsft: arrival.hints.tsft_us.map(|us| (us, us)),
            sequence: arrival.sequence.map(|number| (number, number)),
            tid: arrival.tid,
            rate: None,
            fresh: 0,
            carried: 0,
            filled: 0,
            late: 0,
            received: 0,
            packets: 0,
            bytes: 0,
            retries_known: true,
        }
    }

    /// Whether `arrival` belongs to this frame. `gap` is the smallest time between frames, and
    /// `starts_frame` what the classifier says, if its times are all that is known of the arrival.
    fn takes(&self, arrival: &Arrival, gap: Duration, starts_frame: Option<bool>) -> bool {
        let key = Key::of(&arrival.hints);
        if key != self.key {
            return false;
        }
        let is_recent = arrival.at.saturating_since(self.first) < REFERENCE_AGE;
        match key {
            Key::Single => false,
            Key::Gap => is_recent && !starts_frame.unwrap_or_else(|| self.is_apart(arrival, gap)),
            Key::Tsft(_) => is_recent,
            Key::Ampdu(_) => is_recent && self.may_share_ampdu(arrival),
            Key::Unnumbered => {
                is_recent && self.may_share_ampdu(arrival) && self.follows(arrival, gap)
            }
        }
    }

    /// Whether `arrival` comes at least `gap` after the latest.
    fn is_apart(&self, arrival: &Arrival, gap: Duration) -> bool {
        arrival.at.saturating_since(self.last) >= gap
    }

    /// Whether `arrival` can be in the same A-MPDU as the MPDUs of this frame, if the reference is
    /// the same.
    ///
    /// A counter of few bits returns to the same value within a few frames (rtw89 counts PPDUs in
    /// three bits), so the traffic identifier, the block-ack window and the MAC timestamps must
    /// agree too. Timestamps need not be equal: some radios take one for each MPDU.
    fn may_share_ampdu(&self, arrival: &Arrival) -> bool {
        if arrival.tid != self.tid {
            return false;
        }
        let mut span = 0;
        if let (Some((first, _)), Some(number)) = (self.sequence, arrival.sequence) {
            span = mac_distance(first, number);
            if span >= LONGEST_FRAME {
                return false;
            }
        }
        let (Some((first, latest)), Some(now)) = (self.tsft, arrival.hints.tsft_us) else {
            return true;
        };
        if now == first {
            // Most radios give all MPDUs of a frame one timestamp.
            return true;
        }
        let (one, all) = (self.airtime_us(1), self.airtime_us(u64::from(span) + 1));
        let longest = match (one, all) {
            // The MPDUs so far have the time of the frame, so this one must have it too.
            (Some(one), _) if self.received > 1 && 2 * latest.abs_diff(first) < one => one / 2,
            // The MPDUs in between cannot have taken much longer than their airtime; a margin of
            // two is for MPDUs of unequal length.
            (_, Some(all)) => (2 * all + TSFT_MARGIN_US).min(LONGEST_PPDU_US),
            _ => LONGEST_PPDU_US,
        };
        now.abs_diff(first) <= longest
    }

    /// Whether `arrival` directly follows the latest MPDU on the air, so that no preamble and no
    /// acknowledgement lie between them. Decides where the radio gives no reference.
    fn follows(&self, arrival: &Arrival, gap: Duration) -> bool {
        let (Some((_, latest)), Some(now)) = (self.tsft, arrival.hints.tsft_us) else {
            return arrival.at.saturating_since(self.last) < gap;
        };
        let steps = match (self.sequence, arrival.sequence) {
            (Some((_, before)), Some(number)) => u64::from(mac_distance(before, number)).max(1),
            _ => 1,
        };
        // Timestamps are those of the beginnings of MPDUs, or the same for all MPDUs of a frame.
        let airtime = self.airtime_us(steps).unwrap_or(0);
        let gap_us = u64::try_from(gap.as_micros()).unwrap_or(u64::MAX);
        now.abs_diff(latest) < airtime.saturating_add(gap_us)
    }

    /// Airtime of `mpdus` MPDUs like those received so far, microseconds; `None` if the rate is not
    /// known.
    fn airtime_us(&self, mpdus: u64) -> Option<u64> {
        let rate = self.rate.filter(|rate| rate.bps() > 0)?;
        let bits = 8 * u128::from(self.bytes) * u128::from(mpdus);
        let us = bits * 1_000_000 / u128::from(rate.bps()) / u128::from(self.received.max(1));
        Some(u64::try_from(us).unwrap_or(u64::MAX).min(LONGEST_PPDU_US))
    }

    fn add(&mut self, arrival: &Arrival) {
        self.last = self.last.max(arrival.at);
        if let (Some((_, latest)), Some(us)) = (&mut self.tsft, arrival.hints.tsft_us) {
            *latest = us;
        }
        if let (Some((_, latest)), Some(number)) = (&mut self.sequence, arrival.sequence) {
            *latest = number;
        }
        self.rate = self.rate.or(arrival.hints.rate);
        self.retries_known &= arrival.hints.retry.is_some();
        let retry = arrival.hints.retry == Some(true);
        match arrival.place {
            Place::Ahead(n) if retry => self.carried = self.carried.saturating_add(n),
            Place::Ahead(n) => self.fresh = self.fresh.saturating_add(n),
            Place::Fill => {
                self.filled = self.filled.saturating_add(1);
                self.late = self.late.saturating_add(1);
            }
            Place::Behind => self.late = self.late.saturating_add(1),
            Place::Duplicate => return,
        }
        self.received = self.received.saturating_add(1);
        self.packets = self.packets.saturating_add(arrival.packets);
        self.bytes = self.bytes.saturating_add(u64::from(arrival.bytes));
    }

    /// Whether the frame is a sample of the level, given the number of first transmissions in the
    /// previous sample.
    ///
    /// If retries are unknown, a few new packets beside late ones are the end of the previous
    /// frame, retransmitted along with its holes. A frame that really carries both holds about as
    /// many new packets as the one before.
    fn is_sample(&self, previous: u32) -> bool {
        let tail_of_last =
            !self.retries_known && self.late > 0 && self.fresh.saturating_mul(4) <= previous;
        self.fresh > 0 && !tail_of_last
    }

    /// First transmissions to count: those in this frame, and those in earlier frames that became
    /// known only now.
    fn first_transmissions(&self, previous: u32) -> u32 {
        // It is rarer to lose more than half of a frame at its end than to lose a whole frame,
        // which is not counted.
        let tail = if self.carried.saturating_mul(2) <= previous {
            self.carried
        } else {
            0
        };
        self.fresh.saturating_add(self.filled).saturating_add(tail)
    }
}

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
    pub(super) const fn rate_has_changed(&self) -> bool {
        self.slower >= OTHER_FRAMES || self.faster >= OTHER_FRAMES
    }

    pub(super) fn on_arrival(&mut self, arrival: &Arrival) {
        self.tally.active = true;
        if let Some(fallback) = &mut self.fallback {
            fallback.on_arrival(arrival);
        }
        let starts_frame = match &mut self.classifier {
            Some(classifier) if Key::of(&arrival.hints) == Key::Gap => {
                Some(classifier.observe(arrival.at).starts_frame)
            }
            _ => None,
        };
        let open = self.open.as_ref();
        if !open.is_some_and(|frame| frame.takes(arrival, self.gap, starts_frame)) {
            self.finish();
        }
        self.open
            .get_or_insert_with(|| OpenFrame::new(arrival))
            .add(arrival);
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
