//! Groups arrivals into frames and counts them.

use super::FrameHints;
use super::sequence::Place;
use crate::report::LevelSource;
use airpace_units::{BitRate, Time};
use core::time::Duration;

/// An A-MPDU reference or MAC timestamp identifies one frame for this long, so that a radio that
/// always reports the same value does not turn a slot into one frame. A frame lasts 5.484 ms at
/// most; the rest is for receivers that are delayed while they read it.
const REFERENCE_AGE: Duration = Duration::from_millis(50);

/// The arrival of one packet or MPDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) at: Time,
    pub(super) hints: FrameHints,
    pub(super) place: Place,
    pub(super) packets: u32,
    pub(super) bytes: u32,
}

/// What distinguishes a frame from the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Key {
    Ampdu(u32),
    Tsft(u64),
    Gap,
}

impl Key {
    fn of(hints: &FrameHints) -> Self {
        match (hints.ampdu, hints.tsft_us) {
            (Some(reference), _) => Self::Ampdu(reference),
            (None, Some(us)) => Self::Tsft(us),
            (None, None) => Self::Gap,
        }
    }

    const fn source(self) -> LevelSource {
        match self {
            Self::Ampdu(_) => LevelSource::AmpduReference,
            Self::Tsft(_) => LevelSource::Tsft,
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

    fn takes(&self, arrival: &Arrival, gap: Duration) -> bool {
        let key = Key::of(&arrival.hints);
        key == self.key
            && match key {
                Key::Gap => arrival.at.saturating_since(self.last) < gap,
                Key::Ampdu(_) | Key::Tsft(_) => {
                    arrival.at.saturating_since(self.first) < REFERENCE_AGE
                }
            }
    }

    fn add(&mut self, arrival: &Arrival) {
        self.last = self.last.max(arrival.at);
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
    /// Packets received in the frame that had the most.
    pub(super) longest_frame: u32,
    rated_frames: u32,
    inverse_rates: f64,
    /// Exponential mean of 1/R over the frames, s/bit; 0 until a rate is known.
    pub(super) recent_inverse_rate: f64,
}

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
    pub(super) fn new(gap: Duration) -> Self {
        Self {
            gap,
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
        if !self
            .open
            .is_some_and(|frame| frame.takes(arrival, self.gap))
        {
            self.finish();
        }
        self.open
            .get_or_insert_with(|| OpenFrame::new(arrival))
            .add(arrival);
    }

    /// Returns the counts since the last call. A frame that may still continue is left to the next
    /// call.
    pub(super) fn close(&mut self, now: Time) -> Tally {
        if self
            .open
            .is_some_and(|frame| now.saturating_since(frame.last) >= self.gap)
        {
            self.finish();
        }
        if self.tally.recent_inverse_rate > 0.0 {
            self.last_inverse_rate = self.tally.recent_inverse_rate;
        }
        (self.slower, self.faster) = (0, 0);
        core::mem::take(&mut self.tally)
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
