//! What a receiver decodes of a frame, part by part.

use super::certainty::{Chances, Ratios};
use super::{Decoding, Field, Heard, Signal};
use airpace_core::phy::error::{BitHazard, ErrorModel};
use airpace_core::phy::{LegacyRate, TxRate, subframe_bytes};
use airpace_units::Time;
use core::time::Duration;

/// Where L-SIG is, after the training fields (17.3.2).
pub(super) const LEGACY_HEADER: Place = Place {
    from: Duration::from_micros(16),
    until: Duration::from_micros(20),
};
/// Bits of the headers per microsecond: 24 per symbol of 4 µs (17.3.4, 21.3.8.3.3).
const HEADER_BITS_PER_US: f64 = 6.0;
/// Probabilities of loss below this are taken for 0, and those above 1 less this for 1, so that
/// nothing need be drawn.
pub(super) const NEGLIGIBLE: f64 = 1e-12;
/// Entries of the table of hazards: a power of two, more than the ratios that one network has.
const HAZARDS: usize = 1024;

/// A part of a frame in which interference is constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    from: Time,
    until: Time,
    interference_mw: f64,
    /// The hazard that was last computed for it.
    known: Option<Hazard>,
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

/// A field of a frame, by the times since its beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) from: Duration,
    pub(super) until: Duration,
}

impl Place {
    /// When the field of a frame is on the air.
    pub(super) fn of(self, signal: &Signal) -> Span {
        Span {
            from: signal.begun + self.from,
            until: signal.begun + self.until,
        }
    }
}

/// The time that one MPDU, or a field of a header, is on the air.
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
        let from = self.at(self.bytes);
        self.bytes += u64::from(subframe_bytes(bytes));
        Span {
            from,
            until: self.at(self.bytes),
        }
    }

    /// The time of the MPDU of this number, if all have `bytes`.
    fn number(&self, number: u16, bytes: u32) -> Span {
        let length = u64::from(subframe_bytes(bytes));
        let before = length * u64::from(number);
        Span {
            from: self.at(before),
            until: self.at(before + length),
        }
    }

    /// When this many bytes have been on the air.
    fn at(&self, bytes: u64) -> Time {
        self.begins + Duration::from_nanos((bytes as f64 * self.ns_per_byte).round() as u64)
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

impl Hazard {
    fn is_for(&self, model: ErrorModel, rate: TxRate, ratio: f64) -> bool {
        self.rate == rate && self.ratio == ratio && self.model == model
    }
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
        let slot = &mut self.table[(mixed >> (64 - HAZARDS.trailing_zeros())) as usize];
        match slot {
            Some(known) if known.is_for(model, rate, ratio) => known.bits,
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
    pub(in crate::mac) fn begin_decoding(&mut self, index: usize, signal: &Signal) -> bool {
        self.decoding = None;
        self.pieces.clear();
        if !self.is_on(index, signal.id) {
            return false;
        }
        let wanted = self.wanted(index, signal);
        let is_disturbed = self.find_overlaps(index, signal) >= wanted.noise_mw;
        self.decoding = Some(Decoding {
            wanted,
            is_disturbed,
        });
        let lost = self.header_lost(index, &wanted, signal);
        !self.draw(index, lost)
    }

    /// The last frame was one for many, whose receivers decode it as a whole.
    pub(in crate::mac) fn end_decoding(&mut self) {
        self.decoding = None;
        self.pieces.clear();
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

    /// Finds what overlaps a frame at a receiver. Returns the most interference in mW.
    pub(super) fn find_overlaps(&mut self, index: usize, wanted: &Signal) -> f64 {
        self.pieces.clear();
        let overlaps = self.receivers[index].audible.iter().filter(|other| {
            other.id != wanted.id && other.begun < wanted.end && other.end > wanted.begun
        });
        let bounds = &mut self.bounds;
        bounds.clear();
        bounds.extend([wanted.begun, wanted.end]);
        for other in overlaps.clone() {
            bounds.push(other.begun.clamp(wanted.begun, wanted.end));
            bounds.push(other.end.clamp(wanted.begun, wanted.end));
        }
        bounds.sort_unstable();
        bounds.dedup();
        let mut most_mw = 0.0_f64;
        for bound in bounds.windows(2) {
            let (from, until) = (bound[0], bound[1]);
            let present = overlaps
                .clone()
                .filter(|other| other.begun <= from && other.end >= until);
            let interference_mw = present.map(|other| other.power_mw).sum();
            most_mw = most_mw.max(interference_mw);
            self.pieces.push(Piece {
                from,
                until,
                interference_mw,
                known: None,
            });
        }
        most_mw
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
        for piece in &mut self.pieces {
            let (from, until) = (piece.from.max(span.from), piece.until.min(span.until));
            if until <= from || (!noise && piece.interference_mw <= 0.0) {
                continue;
            }
            let part = until.since(from).as_nanos() as f64 / whole_ns;
            let ratio = wanted.snr / (1.0 + piece.interference_mw / wanted.noise_mw);
            // The MPDUs of a frame are asked for one after the other.
            let is_known = |known: &Hazard| known.is_for(wanted.model, wanted.rate, ratio);
            let hazard = match piece.known.filter(is_known) {
                Some(known) => known.bits,
                None => {
                    let bits = self.hazards.of(wanted.model, wanted.rate, ratio);
                    piece.known = Some(Hazard {
                        rate: wanted.rate,
                        ratio,
                        model: wanted.model,
                        bits,
                    });
                    bits
                }
            };
            events += hazard.events(bits * part);
        }
        events
    }

    /// Everything before the first bit of data.
    pub(in crate::mac) fn preamble(&self, rate: TxRate) -> Duration {
        rate.preamble(self.timing)
    }

    /// A frame as a receiver gets it, by the mean power.
    pub(super) fn wanted(&self, index: usize, signal: &Signal) -> Wanted {
        let receiver = &self.receivers[index];
        let noise_mw = receiver.noise_mw_per_mhz * signal.content.rate.bandwidth_mhz();
        Wanted {
            rate: signal.content.rate,
            snr: receiver.power_mw(signal.id) / noise_mw,
            noise_mw,
            model: ErrorModel::default(),
        }
    }

    /// The probability that a receiver that is on a frame does not decode its header, given what
    /// was last found to overlap it.
    fn header_lost(&mut self, index: usize, wanted: &Wanted, signal: &Signal) -> f64 {
        let lock = self.receivers[index].locked;
        let from = match lock {
            Some(lock) if lock.has_legacy_header => LEGACY_HEADER.until,
            _ => LEGACY_HEADER.from,
        };
        let header = Place {
            from,
            until: wanted.rate.preamble(self.timing).max(from),
        };
        BitHazard::loss(self.header_events(wanted, header.of(signal)))
    }

    /// Expected errors in the part of a header that is on the air for `span`.
    pub(super) fn header_events(&mut self, wanted: &Wanted, span: Span) -> f64 {
        let header = Wanted {
            rate: TxRate::legacy(LegacyRate::Mbps6),
            ..*wanted
        };
        let bits = span.until.since(span.from).as_nanos() as f64 * 1e-3 * HEADER_BITS_PER_US;
        self.events(&header, span, bits, true)
    }

    /// Whether anything was found to overlap a frame in this part of it.
    pub(super) fn is_disturbed_in(&self, span: Span) -> bool {
        self.pieces.iter().any(|piece| {
            piece.interference_mw > 0.0 && piece.from < span.until && piece.until > span.from
        })
    }

    /// What a receiver that a frame is not meant for makes of it, or any receiver of a control
    /// frame. `certain` says what is known of frames of its kind, by [`Field::certain`].
    #[inline]
    pub(in crate::mac) fn overhear(
        &mut self,
        index: usize,
        signal: &Signal,
        certain: &Ratios,
    ) -> Heard {
        let receiver = &self.receivers[index];
        if !receiver.is_on(signal.id) {
            return Heard::Nothing;
        }
        if let [only] = &receiver.audible[..] {
            let mhz = signal.content.rate.bandwidth_mhz();
            let snr = only.power_mw / (receiver.noise_mw_per_mhz * mhz);
            if let Some(heard) = certain.heard(snr) {
                return heard;
            }
        }
        self.try_to_overhear(index, signal)
    }

    /// What [`Field::overhear`] returns where it is not known before.
    fn try_to_overhear(&mut self, index: usize, signal: &Signal) -> Heard {
        let wanted = self.wanted(index, signal);
        let is_alone = self.receivers[index].audible.len() == 1;
        let known = self.certainties.known(signal, wanted.snr);
        let chances = match known.filter(|_| is_alone) {
            Some(chances) => chances,
            None => {
                self.find_overlaps(index, signal);
                let chances = Chances {
                    header_lost: self.header_lost(index, &wanted, signal),
                    mpdus_lost: self.nothing_decoded(&wanted, signal),
                };
                if is_alone {
                    self.certainties.learn(signal, wanted.snr, chances);
                }
                chances
            }
        };
        if self.draw(index, chances.header_lost) || self.draw(index, chances.mpdus_lost) {
            Heard::Undecoded
        } else {
            Heard::Decoded
        }
    }

    /// What is certain of frames like this one, if nothing interferes with them.
    pub(in crate::mac) fn certain(&mut self, signal: &Signal) -> Ratios {
        self.certainties.of(signal)
    }

    /// The probability that none of the MPDUs of a frame is decoded, given what was last found to
    /// overlap it. All are taken to be of one length.
    fn nothing_decoded(&mut self, wanted: &Wanted, signal: &Signal) -> f64 {
        let content = signal.content;
        let bytes = content.bytes / u32::from(content.mpdus.max(1));
        let bits = f64::from(bytes) * 8.0;
        let begins = signal.begun + content.rate.preamble(self.timing);
        let mut clock = MpduClock::new(begins, content.rate);
        let last = clock.number(content.mpdus.max(1) - 1, bytes);
        // Without interference all MPDUs are lost with one probability.
        let alike = match &self.pieces[..] {
            [piece] if last.until <= piece.until && last.from < last.until => {
                Some(BitHazard::loss(self.events(wanted, last, bits, true)))
            }
            _ => None,
        };
        let mut nothing = 1.0;
        for _ in 0..content.mpdus.max(1) {
            nothing *= match alike {
                Some(lost) => lost,
                None => {
                    let span = clock.next(bytes);
                    BitHazard::loss(self.events(wanted, span, bits, true))
                }
            };
            if nothing < NEGLIGIBLE {
                break;
            }
        }
        nothing
    }

    /// Whether an event of this probability happens at a receiver.
    pub(super) fn draw(&mut self, index: usize, probability: f64) -> bool {
        if probability < NEGLIGIBLE {
            false
        } else if probability > 1.0 - NEGLIGIBLE {
            true
        } else {
            self.receivers[index].draws.happens(probability)
        }
    }
}
