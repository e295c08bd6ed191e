//! A frame of which more may arrive.

use super::FrameHints;
use super::sequence::{LONGEST_FRAME, Place, mac_distance};
use crate::report::LevelSource;
use airpace_units::{BitRate, Time};
use core::time::Duration;

/// Arrivals further apart than this never belong to one frame, whatever reference the radio reports.
/// A frame lasts 5.484 ms at most; the rest is for receivers that are delayed while they read it.
const REFERENCE_AGE_NS: u64 = 50_000_000;
/// MPDUs whose MAC timestamps are further apart than this never belong to one frame, microseconds:
/// the longest PPDU (5.484 ms, IEEE 802.11-2020 table 19-25) and the granularity of timestamps.
pub(super) const LONGEST_PPDU_US: u64 = 6_000;
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
pub(super) enum Key {
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
    #[inline]
    pub(super) const fn of(hints: &FrameHints) -> Self {
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

    pub(super) const fn source(self) -> LevelSource {
        match self {
            Self::Ampdu(_) | Self::Single => LevelSource::AmpduReference,
            Self::Unnumbered | Self::Tsft(_) => LevelSource::Tsft,
            Self::Gap => LevelSource::SocketTimestamps,
        }
    }
}

/// A frame of which more may arrive.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenFrame {
    pub(super) key: Key,
    pub(super) first: Time,
    pub(super) last: Time,
    /// MAC timestamps of the first and of the latest MPDU, microseconds.
    tsft: Option<(u64, u64)>,
    /// MAC sequence numbers of the first and of the latest MPDU.
    sequence: Option<(u16, u16)>,
    tid: Option<u8>,
    pub(super) rate: Option<BitRate>,
    /// First transmissions, received or skipped in the sequence numbers.
    pub(super) fresh: u32,
    /// Retransmissions of MPDUs not received before, and the numbers skipped before them: they were
    /// in an earlier frame.
    carried: u32,
    /// Retransmissions that filled holes which were not counted yet.
    filled: u32,
    /// Packets with a number below the latest.
    pub(super) late: u32,
    /// MPDUs received.
    pub(super) received: u32,
    /// Packets in them.
    pub(super) packets: u32,
    pub(super) bytes: u64,
    /// Whether it is known which of them are retransmissions.
    retries_known: bool,
}

impl OpenFrame {
    pub(super) fn new(arrival: &Arrival) -> Self {
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
    #[inline(always)]
    pub(super) fn takes(
        &self,
        arrival: &Arrival,
        gap: Duration,
        starts_frame: Option<bool>,
    ) -> bool {
        let key = Key::of(&arrival.hints);
        if key != self.key {
            return false;
        }
        let is_recent = arrival.at.saturating_nanos_since(self.first) < REFERENCE_AGE_NS;
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
    #[inline]
    fn is_apart(&self, arrival: &Arrival, gap: Duration) -> bool {
        arrival.at.saturating_since(self.last) >= gap
    }

    /// Whether `arrival` can be in the same A-MPDU as the MPDUs of this frame, if the reference is
    /// the same.
    ///
    /// A counter of few bits returns to the same value within a few frames (rtw89 counts PPDUs in
    /// three bits), so the traffic identifier, the block-ack window and the MAC timestamps must
    /// agree too. Timestamps need not be equal: some radios take one for each MPDU.
    #[inline]
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
        // Most radios give all MPDUs of a frame one timestamp.
        now == first || self.may_be_stamped(first, latest, now, span)
    }

    /// Whether an MPDU of the same A-MPDU, `span` numbers after the first, may have the timestamp `now`, where
    /// the first has `first` and the one before has `latest`, microseconds.
    fn may_be_stamped(&self, first: u64, latest: u64, now: u64, span: u16) -> bool {
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

    #[inline(always)]
    pub(super) fn add(&mut self, arrival: &Arrival) {
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
    pub(super) fn is_sample(&self, previous: u32) -> bool {
        let tail_of_last =
            !self.retries_known && self.late > 0 && self.fresh.saturating_mul(4) <= previous;
        self.fresh > 0 && !tail_of_last
    }

    /// First transmissions to count: those in this frame, and those in earlier frames that became
    /// known only now.
    pub(super) fn first_transmissions(&self, previous: u32) -> u32 {
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
