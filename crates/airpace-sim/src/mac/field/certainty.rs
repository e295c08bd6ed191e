//! What becomes of frames that a radio overhears without interference: remembered, because it depends
//! on the kind of frame and on the ratio of its signal to the noise alone.
//!
//! Most radios are so near to a sender that the chance of an error is negligible, or so far away for
//! its rate that the chance of decoding anything is. Both chances rise and fall with the ratio, so
//! one computation settles all ratios beyond it. For those between, the chances themselves are kept.

use super::reception::NEGLIGIBLE;
use super::{Content, Heard, Signal};
use core::time::Duration;

/// Kinds of frames that are remembered: a power of two.
const KINDS: usize = 1024;
/// Chances that are remembered: a power of two.
const CHANCES: usize = 4096;

/// What is known of frames that were overheard before.
#[derive(Debug)]
pub(super) struct Certainties {
    kinds: Vec<Option<(Kind, Ratios)>>,
    chances: Vec<Option<Known>>,
}

/// A kind of frame.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Kind {
    content: Content,
    airtime: Duration,
}

/// Ratios of signal to noise beyond which nothing need be computed or drawn for a frame without
/// interference.
#[derive(Clone, Copy, Debug)]
pub(in crate::mac) struct Ratios {
    /// From this on the header is decoded.
    pub(super) header_from: f64,
    /// From this on at least one MPDU is decoded, if the header is.
    pub(super) mpdu_from: f64,
    /// Up to this no MPDU is decoded.
    pub(super) lost_up_to: f64,
}

/// The chances of a frame without interference at one ratio of signal to noise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chances {
    /// That its header is lost.
    pub(super) header_lost: f64,
    /// That all of its MPDUs are, if its header is not.
    pub(super) mpdus_lost: f64,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    kind: Kind,
    snr: f64,
    chances: Chances,
}

impl Kind {
    fn of(signal: &Signal) -> Self {
        Self {
            content: signal.content,
            airtime: signal.end.since(signal.begun),
        }
    }

    /// A number that spreads kinds over a table.
    fn mixed(&self) -> u64 {
        let content = &self.content;
        let number = u64::from(content.bytes) << 24
            ^ u64::from(content.mpdus) << 8
            ^ u64::from(content.rate.mcs())
            ^ self.airtime.as_nanos() as u64;
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl Ratios {
    /// Nothing is known.
    const UNKNOWN: Self = Self {
        header_from: f64::INFINITY,
        mpdu_from: f64::INFINITY,
        lost_up_to: f64::NEG_INFINITY,
    };

    /// What a radio makes of the frame that is on it at the ratio `snr`; `None` if that must be
    /// computed.
    #[inline]
    pub(super) fn heard(&self, snr: f64) -> Option<Heard> {
        if snr < self.header_from {
            None
        } else if snr >= self.mpdu_from {
            Some(Heard::Decoded)
        } else if snr <= self.lost_up_to {
            Some(Heard::Undecoded)
        } else {
            None
        }
    }
}

impl Default for Certainties {
    fn default() -> Self {
        Self {
            kinds: vec![None; KINDS],
            chances: vec![None; CHANCES],
        }
    }
}

impl Certainties {
    /// What is certain of frames like this one.
    pub(super) fn of(&self, signal: &Signal) -> Ratios {
        let kind = Kind::of(signal);
        match &self.kinds[place(kind.mixed(), KINDS)] {
            Some((known, ratios)) if *known == kind => *ratios,
            _ => Ratios::UNKNOWN,
        }
    }

    /// The chances of a frame like this one at the ratio `snr`, if they were computed before.
    pub(super) fn known(&self, signal: &Signal, snr: f64) -> Option<Chances> {
        let kind = Kind::of(signal);
        let known = self.chances[place(kind.mixed_with(snr), CHANCES)].as_ref()?;
        (known.kind == kind && known.snr == snr).then_some(known.chances)
    }

    /// Remembers the chances of a frame like this one at the ratio `snr`.
    pub(super) fn learn(&mut self, signal: &Signal, snr: f64, chances: Chances) {
        let kind = Kind::of(signal);
        self.chances[place(kind.mixed_with(snr), CHANCES)] = Some(Known { kind, snr, chances });
        let entry = &mut self.kinds[place(kind.mixed(), KINDS)];
        let (known, ratios) = entry.get_or_insert((kind, Ratios::UNKNOWN));
        if *known != kind {
            (*known, *ratios) = (kind, Ratios::UNKNOWN);
        }
        if chances.header_lost < NEGLIGIBLE {
            ratios.header_from = ratios.header_from.min(snr);
        }
        if chances.mpdus_lost < NEGLIGIBLE {
            ratios.mpdu_from = ratios.mpdu_from.min(snr);
        } else if chances.mpdus_lost > 1.0 - NEGLIGIBLE {
            ratios.lost_up_to = ratios.lost_up_to.max(snr);
        }
    }
}

impl Kind {
    fn mixed_with(&self, snr: f64) -> u64 {
        (self.mixed() ^ snr.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// The place of a number in a table of `size` entries, a power of two: its highest bits.
const fn place(mixed: u64, size: usize) -> usize {
    (mixed >> (64 - size.trailing_zeros())) as usize
}
