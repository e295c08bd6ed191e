//! What a receiver decodes of a frame, part by part.

use super::{Decoding, Field, Heard, SignalId};
use airpace_core::phy::error::{BitHazard, ErrorModel};
use airpace_core::phy::{LegacyRate, TxRate, subframe_bytes};
use airpace_units::Time;
use core::time::Duration;

/// Training fields before the first bit of a header (17.3.2).
const TRAINING: Duration = Duration::from_micros(16);
/// Bits of the headers per microsecond: 24 per symbol of 4 µs (17.3.4, 21.3.8.3.3).
const HEADER_BITS_PER_US: f64 = 6.0;
/// Probabilities of loss below this are taken for 0, and those above 1 less this for 1, so that
/// nothing need be drawn.
const NEGLIGIBLE: f64 = 1e-12;
/// Entries of the table of hazards: a power of two, more than the ratios that one network has.
const HAZARDS: usize = 256;

/// A part of a frame in which interference is constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    from: Time,
    until: Time,
    interference_mw: f64,
}

/// A frame as one receiver gets it.
#[derive(Clone, Copy, Debug)]
pub(in crate::mac) struct Wanted {
    pub(in crate::mac) rate: TxRate,
    /// Ratio of its signal to the noise.
    pub(in crate::mac) snr: f64,
    /// The noise over its width in mW.
    pub(in crate::mac) noise_mw: f64,
    pub(in crate::mac) model: ErrorModel,
}

/// When the MPDUs of a frame are on the air.
#[derive(Clone, Copy, Debug)]
pub(in crate::mac) struct MpduClock {
    begins: Time,
    bytes: u64,
    ns_per_byte: f64,
}

/// The time that one MPDU is on the air.
#[derive(Clone, Copy, Debug)]
pub(in crate::mac) struct Span {
    from: Time,
    until: Time,
}

impl MpduClock {
    /// The first MPDU of a frame at `rate` begins at `begins`.
    pub(in crate::mac) fn new(begins: Time, rate: TxRate) -> Self {
        Self {
            begins,
            bytes: 0,
            ns_per_byte: 8e9 / rate.rate().as_bps_f64(),
        }
    }

    /// The time of the next MPDU, of `bytes`.
    pub(in crate::mac) fn next(&mut self, bytes: u32) -> Span {
        let at = |count: u64| {
            self.begins + Duration::from_nanos((count as f64 * self.ns_per_byte).round() as u64)
        };
        let from = at(self.bytes);
        self.bytes += u64::from(subframe_bytes(bytes));
        Span {
            from,
            until: at(self.bytes),
        }
    }
}

/// Hazards that were computed before, by rate, ratio and model. Ratios are few, because radios do
/// not move while a MAC runs.
#[derive(Debug)]
pub(super) struct Hazards {
    table: Vec<Option<Hazard>>,
}

#[derive(Clone, Copy, Debug)]
struct Hazard {
    rate: TxRate,
    ratio: f64,
    model: ErrorModel,
    bits: BitHazard,
}

impl Default for Hazards {
    fn default() -> Self {
        Self {
            table: vec![None; HAZARDS],
        }
    }
}

impl Hazards {
    fn of(&mut self, model: ErrorModel, rate: TxRate, ratio: f64) -> BitHazard {
        let bits = ratio.to_bits();
        // The mantissa's bits spread ratios that are near each other over the table.
        let mixed = (bits ^ u64::from(rate.mcs())).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = &mut self.table[(mixed >> 56) as usize];
        match slot {
            Some(known) if known.rate == rate && known.ratio == ratio && known.model == model => {
                known.bits
            }
            _ => {
                let bits = model.bit_hazard(rate, 10.0 * ratio.log10());
                *slot = Some(Hazard {
                    rate,
                    ratio,
                    model,
                    bits,
                });
                bits
            }
        }
    }
}

impl Field {
    /// A data frame ends: finds what overlaps it. Returns whether its receiver was on it and has
    /// decoded the header.
    pub(in crate::mac) fn begin_decoding(&mut self, index: usize, id: SignalId) -> bool {
        self.decoding = None;
        self.pieces.clear();
        if !self.is_on(index, id) {
            return false;
        }
        let is_disturbed = self.find_overlaps(index, id);
        let wanted = self.wanted(index, id);
        self.decoding = wanted.map(|wanted| Decoding {
            wanted,
            is_disturbed,
        });
        self.decodes_header(index, id)
    }

    /// Whether the receiver of the last data frame was on it.
    pub(in crate::mac) const fn is_receiving(&self) -> bool {
        self.decoding.is_some()
    }

    /// Whether something as strong as the noise overlapped the last data frame, or its receiver was
    /// not on it.
    pub(in crate::mac) fn is_disturbed(&self) -> bool {
        self.decoding.is_none_or(|decoding| decoding.is_disturbed)
    }

    /// The last data frame as its receiver gets it by the mean power, if anything overlaps it.
    pub(in crate::mac) fn overlapped(&self) -> Option<Wanted> {
        let has_overlaps = self.pieces.iter().any(|piece| piece.interference_mw > 0.0);
        self.decoding
            .filter(|_| has_overlaps)
            .map(|decoding| decoding.wanted)
    }

    /// Finds what overlaps the frame `id` at a receiver, and whether that is at least as strong as
    /// the noise anywhere.
    pub(in crate::mac) fn find_overlaps(&mut self, index: usize, id: SignalId) -> bool {
        self.pieces.clear();
        let Some(wanted) = self.signals.iter().find(|signal| signal.id == id).copied() else {
            return false;
        };
        let mut bounds = vec![wanted.begun, wanted.end];
        let mut others = Vec::new();
        for other in &self.signals {
            let overlaps = other.begun < wanted.end && other.end > wanted.begun;
            let power = self.power_mw(other, index);
            if other.id != id && overlaps && power > 0.0 {
                bounds.push(other.begun.clamp(wanted.begun, wanted.end));
                bounds.push(other.end.clamp(wanted.begun, wanted.end));
                others.push((other.begun, other.end, power));
            }
        }
        bounds.sort_unstable();
        bounds.dedup();
        let mut most_mw = 0.0_f64;
        for bound in bounds.windows(2) {
            let (from, until) = (bound[0], bound[1]);
            let present = others
                .iter()
                .filter(|&&(begun, end, _)| begun <= from && end >= until);
            let interference_mw = present.map(|&(_, _, power)| power).sum();
            most_mw = most_mw.max(interference_mw);
            self.pieces.push(Piece {
                from,
                until,
                interference_mw,
            });
        }
        most_mw >= self.noise_mw(index, id)
    }

    /// Expected errors in `bits` that are on the air for `span`, at the receiver that was last
    /// looked at. Without `noise`, only those parts count that are interfered with.
    pub(in crate::mac) fn events(
        &mut self,
        wanted: &Wanted,
        span: Span,
        bits: f64,
        noise: bool,
    ) -> f64 {
        let whole_ns = span.until.saturating_since(span.from).as_nanos() as f64;
        let mut events = 0.0;
        for piece in &self.pieces {
            let (from, until) = (piece.from.max(span.from), piece.until.min(span.until));
            if until <= from || (!noise && piece.interference_mw <= 0.0) {
                continue;
            }
            let part = until.since(from).as_nanos() as f64 / whole_ns;
            let ratio = wanted.snr / (1.0 + piece.interference_mw / wanted.noise_mw);
            let hazard = self.hazards.of(wanted.model, wanted.rate, ratio);
            events += hazard.events(bits * part);
        }
        events
    }

    /// Everything before the first bit of data.
    pub(in crate::mac) fn preamble(&self, rate: TxRate) -> Duration {
        rate.preamble(self.timing)
    }

    /// The frame `id` as a receiver gets it, by the mean power.
    pub(in crate::mac) fn wanted(&self, index: usize, id: SignalId) -> Option<Wanted> {
        let signal = self.signals.iter().find(|signal| signal.id == id)?;
        let noise_mw = self.noise_mw(index, id);
        Some(Wanted {
            rate: signal.content.rate,
            snr: self.power_mw(signal, index) / noise_mw,
            noise_mw,
            model: ErrorModel::default(),
        })
    }

    /// Whether a receiver that is on the frame `id` decodes its header. Looks at what overlaps the
    /// frame.
    pub(in crate::mac) fn decodes_header(&mut self, index: usize, id: SignalId) -> bool {
        let Some(wanted) = self.wanted(index, id) else {
            return false;
        };
        let Some(begun) = self.begun(id) else {
            return false;
        };
        let header = Wanted {
            rate: TxRate::legacy(LegacyRate::Mbps6),
            ..wanted
        };
        let span = Span {
            from: begun + TRAINING,
            until: begun + wanted.rate.preamble(self.timing).max(TRAINING),
        };
        let bits = span.until.since(span.from).as_nanos() as f64 * 1e-3 * HEADER_BITS_PER_US;
        let lost = BitHazard::loss(self.events(&header, span, bits, true));
        !self.draw(index, lost)
    }

    /// What a receiver that the frame `id` is not meant for makes of it, or any receiver of a
    /// control frame.
    pub(in crate::mac) fn overhear(&mut self, index: usize, id: SignalId) -> Heard {
        if !self.is_on(index, id) {
            return Heard::Nothing;
        }
        self.find_overlaps(index, id);
        if !self.decodes_header(index, id) {
            return Heard::Undecoded;
        }
        let lost = self.nothing_decoded(index, id);
        if self.draw(index, lost) {
            Heard::Undecoded
        } else {
            Heard::Decoded
        }
    }

    /// The probability that none of the MPDUs of a frame is decoded. All are taken to be of one
    /// length.
    fn nothing_decoded(&mut self, index: usize, id: SignalId) -> f64 {
        let signal = self.signals.iter().find(|signal| signal.id == id).copied();
        let (Some(signal), Some(wanted)) = (signal, self.wanted(index, id)) else {
            return 1.0;
        };
        let content = signal.content;
        let bytes = content.bytes / u32::from(content.mpdus.max(1));
        let begins = signal.begun + content.rate.preamble(self.timing);
        let mut clock = MpduClock::new(begins, content.rate);
        let mut nothing = 1.0;
        for _ in 0..content.mpdus.max(1) {
            let span = clock.next(bytes);
            let events = self.events(&wanted, span, f64::from(bytes) * 8.0, true);
            nothing *= BitHazard::loss(events);
            if nothing < NEGLIGIBLE {
                break;
            }
        }
        nothing
    }

    fn begun(&self, id: SignalId) -> Option<Time> {
        let signal = self.signals.iter().find(|signal| signal.id == id);
        signal.map(|signal| signal.begun)
    }

    /// Whether an event of this probability happens at a receiver.
    fn draw(&mut self, index: usize, probability: f64) -> bool {
        if probability < NEGLIGIBLE {
            false
        } else if probability > 1.0 - NEGLIGIBLE {
            true
        } else {
            self.receivers[index].draws.happens(probability)
        }
    }
}
