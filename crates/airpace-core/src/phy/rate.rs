//! Transmit rates and the durations that follow from them.

mod error;
mod tables;

pub use error::RateError;

use super::legacy::LegacyRate;
use super::params::{DsssPreamble, GuardInterval, Standard, Timing, Width};
use airpace_units::BitRate;
use core::fmt;
use core::time::Duration;
use tables::{
    CONSTELLATIONS, HT_ENCODER_BITS, OFDM_CONSTELLATIONS, SERVICE_BITS, TAIL_BITS,
    VHT_ENCODER_BITS, VHT_RAISED,
};

/// A transmit rate that the standard allows, cheap to copy and to compare. See [`TxRate::new`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TxRate {
    n_dbps: u32,
    symbol_ns: u32,
    standard: Standard,
    width: Width,
    gi: GuardInterval,
    nss: u8,
    mcs: u8,
    /// Tail bits under [`Timing::Standard`].
    tail_bits: u8,
    /// Long unless the rate is a DSSS one with the short preamble.
    preamble: DsssPreamble,
}

impl TxRate {
    /// The rate of this combination. For HT, `mcs` is the HT index 0–31 and `nss` must be the
    /// number of streams that it implies. For DSSS and OFDM it is the index in [`LegacyRate::DSSS`]
    /// or [`LegacyRate::OFDM`]; [`TxRate::legacy`] is simpler for those.
    ///
    /// # Errors
    /// [`RateError`], with the reason, if the standard has no such combination.
    pub fn new(
        standard: Standard,
        width: Width,
        nss: u8,
        mcs: u8,
        gi: GuardInterval,
    ) -> Result<Self, RateError> {
        if standard.is_legacy() {
            return legacy(standard, width, nss, mcs, gi);
        }
        check_range(standard, width, nss, mcs, gi)?;
        let (bits, numerator, denominator) =
            CONSTELLATIONS[usize::from(constellation(standard, mcs))];
        let n_cbps = subcarriers(standard, width) * u32::from(nss) * bits;
        // HE rounds down where VHT excludes the combination (27.5: N_DBPS is the floor of N_CBPS ·
        // R).
        let n_dbps = n_cbps * numerator / denominator;
        let encoders = match standard {
            Standard::Dsss | Standard::Ofdm => 0,
            Standard::Ht => n_dbps.div_ceil(HT_ENCODER_BITS),
            Standard::Vht => vht_encoders(width, nss, mcs)?,
            // One BCC encoder up to 242 tones, 4 streams and MCS 9; LDPC, which has no tail, beyond
            // (27.3.12.5).
            Standard::He => u32::from(width == Width::Mhz20 && nss <= 4 && mcs <= 9),
        };
        let tail_bits = u8::try_from(encoders).expect("at most 12 encoders") * TAIL_BITS;
        let (symbol_ns, preamble) = (symbol_ns(standard, gi), DsssPreamble::Long);
        Ok(Self {
            n_dbps,
            symbol_ns,
            standard,
            width,
            gi,
            nss,
            mcs,
            tail_bits,
            preamble,
        })
    }

    /// A rate of the DSSS or the OFDM PHY; DSSS with the long preamble.
    #[must_use]
    pub fn legacy(rate: LegacyRate) -> Self {
        let (symbol_ns, tail_bits) = match rate.standard() {
            // 8 chips of 11 MHz, 727.27 ns (16.3.6); durations are counted in elevenths of µs
            // instead.
            Standard::Dsss if rate > LegacyRate::Mbps2 => (727, 0),
            Standard::Dsss => (1_000, 0),
            _ => (4_000, TAIL_BITS),
        };
        Self {
            n_dbps: rate.bits_per_symbol(),
            symbol_ns,
            standard: rate.standard(),
            width: Width::Mhz20,
            gi: GuardInterval::Ns800,
            nss: 1,
            mcs: rate.index(),
            tail_bits,
            preamble: DsssPreamble::Long,
        }
    }

    /// This rate with the short preamble of DSSS.
    ///
    /// # Errors
    /// [`RateError::ShortPreamble`] for 1 Mbit/s and for OFDM. Rates of HT, VHT and HE are returned
    /// as they are.
    pub fn with_short_preamble(self) -> Result<Self, RateError> {
        match self.legacy_rate() {
            None => Ok(self),
            Some(rate) if self.standard == Standard::Dsss && rate != LegacyRate::Mbps1 => {
                Ok(Self {
                    preamble: DsssPreamble::Short,
                    ..self
                })
            }
            Some(rate) => Err(RateError::ShortPreamble { rate }),
        }
    }

    /// The DSSS or OFDM rate; `None` for other standards.
    #[must_use]
    pub fn legacy_rate(self) -> Option<LegacyRate> {
        LegacyRate::of(self.standard, self.mcs)
    }

    /// The preamble of a DSSS rate; for other rates it has no meaning and is long.
    #[must_use]
    pub const fn dsss_preamble(self) -> DsssPreamble {
        self.preamble
    }

    /// The generation of the PHY.
    #[must_use]
    pub const fn standard(self) -> Standard {
        self.standard
    }

    /// The channel width.
    #[must_use]
    pub const fn width(self) -> Width {
        self.width
    }

    /// The receiver's noise bandwidth in MHz: the channel width, or for DSSS the 22 MHz of its
    /// spectrum's main lobe (16.3.7.4).
    #[must_use]
    pub fn bandwidth_mhz(self) -> f64 {
        if self.standard == Standard::Dsss {
            super::error::DSSS_MHZ
        } else {
            f64::from(self.width.mhz())
        }
    }

    /// Spatial streams (N_SS), 1 to 8.
    #[must_use]
    pub const fn nss(self) -> u8 {
        self.nss
    }

    /// The MCS index: 0–31 for HT, 0–9 for VHT, 0–11 for HE; for DSSS and OFDM the index among
    /// their rates, slowest first.
    #[must_use]
    pub const fn mcs(self) -> u8 {
        self.mcs
    }

    /// The guard interval; 800 ns for OFDM, and for DSSS too, which has none.
    #[must_use]
    pub const fn gi(self) -> GuardInterval {
        self.gi
    }

    /// Data bits per symbol (N_DBPS).
    #[must_use]
    pub const fn bits_per_symbol(self) -> u32 {
        self.n_dbps
    }

    /// Length of a data symbol with its guard interval, rounded down to 1 ns (727 ns for 5.5 and 11
    /// Mbit/s).
    #[must_use]
    pub const fn symbol(self) -> Duration {
        Duration::from_nanos(self.symbol_ns as u64)
    }

    /// The data rate, rounded down to 1 bit/s. As in the standard's tables it is that of N_CBPS
    /// times the code rate, which for some HE rates is a fraction of a bit per symbol above
    /// [`TxRate::bits_per_symbol`].
    #[must_use]
    pub fn rate(self) -> BitRate {
        if let Some(legacy) = self.legacy_rate() {
            return legacy.rate();
        }
        let (bits, numerator, denominator) = self.constellation();
        let n_cbps = u64::from(subcarriers(self.standard, self.width) * u32::from(self.nss) * bits);
        // At most 160,000 · 5 · 10^9 < 2^50.
        BitRate::from_bps(
            n_cbps * u64::from(numerator) * 1_000_000_000 / u64::from(denominator * self.symbol_ns),
        )
    }

    /// Data symbols (N_SYM) of a PSDU: SERVICE, PSDU and tail bits, in whole symbols (17.4.3,
    /// 19.4.3, 21.4.3, 27.4.3); DSSS has neither SERVICE nor tail in its data. Saturates at
    /// `u32::MAX`.
    #[must_use]
    pub fn symbols(self, psdu_bytes: u32, timing: Timing) -> u32 {
        u32::try_from(self.symbol_count(psdu_bytes, timing)).unwrap_or(u32::MAX)
    }

    /// [`TxRate::symbols`] without its bound: DSSS at 1 Mbit/s has one bit per symbol, so up to
    /// 2^35.
    fn symbol_count(self, psdu_bytes: u32, timing: Timing) -> u64 {
        let bits = self.service_bits() + 8 * u64::from(psdu_bytes) + self.tail_bits(timing);
        bits.div_ceil(u64::from(self.n_dbps))
    }

    /// Duration of the whole PPDU that carries `psdu_bytes` (TXTIME; 16.3.4, 17.4.3, 19.4.3,
    /// 21.4.3, 27.4.3). HE without packet extension; at 2.4 GHz without the signal extension, which
    /// [`super::Medium::airtime`] adds.
    #[must_use]
    pub fn ppdu_duration(self, psdu_bytes: u32, timing: Timing) -> Duration {
        let symbols = self.symbol_count(psdu_bytes, timing);
        if self.standard == Standard::Dsss {
            return Duration::from_nanos(
                self.preamble_ns(timing) + 1_000 * self.dsss_micros(symbols),
            );
        }
        // At most 2^35 bits over at least 24 per symbol of at most 16 µs: no overflow in 64 bits.
        let data = symbols * u64::from(self.symbol_ns);
        let data = if self.pads_to_4_us(timing) {
            data.next_multiple_of(4_000)
        } else {
            data
        };
        Duration::from_nanos(self.preamble_ns(timing) + data)
    }

    /// DSSS symbols in whole µs, as the LENGTH field counts them (16.3.4): 1 µs each at 1 and 2
    /// Mbit/s, 8/11 µs with CCK.
    fn dsss_micros(self, symbols: u64) -> u64 {
        if self.symbol_ns == 1_000 {
            symbols
        } else {
            (symbols * 8).div_ceil(11)
        }
    }

    /// The largest PSDU in bytes whose PPDU lasts at most `duration`; 0 if none does.
    ///
    /// This is the PHY's limit only; [`super::AmpduLimits`] has the MAC's.
    #[must_use]
    pub fn max_psdu(self, duration: Duration, timing: Timing) -> u32 {
        let whole = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let data = whole.saturating_sub(self.preamble_ns(timing));
        if let Some(legacy) = self
            .legacy_rate()
            .filter(|_| self.standard == Standard::Dsss)
        {
            let bytes = (data / 1_000).saturating_mul(legacy.half_mbps().into()) / 16;
            return u32::try_from(bytes).unwrap_or(u32::MAX);
        }
        let data = if self.pads_to_4_us(timing) {
            data - data % 4_000
        } else {
            data
        };
        let bits = (data / u64::from(self.symbol_ns)).saturating_mul(u64::from(self.n_dbps));
        let bytes = bits.saturating_sub(SERVICE_BITS + self.tail_bits(timing)) / 8;
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// Coded bits per subcarrier and stream, and the code rate. For DSSS, which has neither, the
    /// bits per symbol and rate 1.
    pub(super) fn constellation(self) -> (u32, u32, u32) {
        match self.standard {
            Standard::Dsss => (self.n_dbps, 1, 1),
            Standard::Ofdm => OFDM_CONSTELLATIONS[usize::from(self.mcs)],
            standard => CONSTELLATIONS[usize::from(constellation(standard, self.mcs))],
        }
    }

    fn service_bits(self) -> u64 {
        if self.standard == Standard::Dsss {
            0
        } else {
            SERVICE_BITS
        }
    }

    fn tail_bits(self, timing: Timing) -> u64 {
        let one_encoder =
            timing == Timing::Ns3 && matches!(self.standard, Standard::Ht | Standard::Vht);
        u64::from(if one_encoder {
            TAIL_BITS
        } else {
            self.tail_bits
        })
    }

    fn pads_to_4_us(self, timing: Timing) -> bool {
        timing == Timing::Standard && self.gi == GuardInterval::Ns400
    }
}

/// The DSSS or OFDM rate with this index, if the other parameters are the only ones possible.
fn legacy(
    standard: Standard,
    width: Width,
    nss: u8,
    mcs: u8,
    gi: GuardInterval,
) -> Result<TxRate, RateError> {
    if (width, nss, gi) != (Width::Mhz20, 1, GuardInterval::Ns800) {
        return Err(RateError::Legacy { standard });
    }
    let max = if standard == Standard::Dsss { 3 } else { 7 };
    LegacyRate::of(standard, mcs)
        .map(TxRate::legacy)
        .ok_or(RateError::Mcs { standard, mcs, max })
}

/// The row of the table of constellations for an MCS index of HT, VHT or HE. The HT index includes
/// the streams.
pub(super) fn constellation(standard: Standard, mcs: u8) -> u8 {
    if standard == Standard::Ht {
        mcs % 8
    } else {
        mcs
    }
}

fn check_range(
    standard: Standard,
    width: Width,
    nss: u8,
    mcs: u8,
    gi: GuardInterval,
) -> Result<(), RateError> {
    let (max_nss, max_mcs) = match standard {
        Standard::Dsss => (1, 3),
        Standard::Ofdm => (1, 7),
        Standard::Ht => (4, 31),
        Standard::Vht => (8, 9),
        Standard::He => (8, 11),
    };
    if standard == Standard::Ht && width > Width::Mhz40 {
        return Err(RateError::Width { standard, width });
    }
    if nss == 0 || nss > max_nss {
        return Err(RateError::Streams {
            standard,
            nss,
            max: max_nss,
        });
    }
    if mcs > max_mcs {
        return Err(RateError::Mcs {
            standard,
            mcs,
            max: max_mcs,
        });
    }
    let implied = mcs / 8 + 1;
    if standard == Standard::Ht && implied != nss {
        return Err(RateError::HtStreams { mcs, nss, implied });
    }
    let gi_exists = match standard {
        Standard::Dsss | Standard::Ofdm => gi == GuardInterval::Ns800,
        Standard::Ht | Standard::Vht => gi <= GuardInterval::Ns800,
        Standard::He => gi >= GuardInterval::Ns800,
    };
    if gi_exists {
        Ok(())
    } else {
        Err(RateError::GuardInterval { standard, gi })
    }
}

/// Data subcarriers (N_SD): 19.3.6, 21.3.6; for HE those of the resource unit that fills the
/// channel, of 242, 484, 996 or 2×996 tones: 27.3.7.
fn subcarriers(standard: Standard, width: Width) -> u32 {
    match (standard, width) {
        // One carrier, and 48 of them (17.3.2.3).
        (Standard::Dsss, _) => 1,
        (Standard::Ofdm, _) => 48,
        (Standard::Ht | Standard::Vht, Width::Mhz20) => 52,
        (Standard::Ht | Standard::Vht, Width::Mhz40) => 108,
        (Standard::Ht | Standard::Vht, Width::Mhz80) | (Standard::He, Width::Mhz20) => 234,
        (Standard::Ht | Standard::Vht, Width::Mhz160) | (Standard::He, Width::Mhz40) => 468,
        (Standard::He, Width::Mhz80) => 980,
        (Standard::He, Width::Mhz160) => 1_960,
    }
}

fn symbol_ns(standard: Standard, gi: GuardInterval) -> u32 {
    // Useful part of a symbol: 1 / 312.5 kHz, and 1 / 78.125 kHz for HE (19.3.6, 21.3.6, 27.3.7).
    let useful = if standard == Standard::He {
        12_800
    } else {
        3_200
    };
    useful + gi.nanos()
}

/// The number of BCC encoders (N_ES) of a VHT combination, or why it is excluded: data and coded
/// bits of a symbol must divide among the encoders, the latter in whole blocks of the punctured
/// code (21.5).
fn vht_encoders(width: Width, nss: u8, mcs: u8) -> Result<u32, RateError> {
    let (bits, numerator, denominator) = CONSTELLATIONS[usize::from(mcs)];
    let n_cbps = subcarriers(Standard::Vht, width) * u32::from(nss) * bits;
    if !(n_cbps * numerator).is_multiple_of(denominator) {
        return Err(RateError::FractionalBits {
            width,
            nss,
            mcs,
            numerator: n_cbps * numerator,
            denominator,
        });
    }
    let n_dbps = n_cbps * numerator / denominator;
    let divides = |n: u32| n_dbps.is_multiple_of(n) && n_cbps.is_multiple_of(n * denominator);
    let encoders = n_dbps.div_ceil(VHT_ENCODER_BITS);
    if divides(encoders) {
        return Ok(encoders);
    }
    let raised = VHT_RAISED
        .iter()
        .find(|row| (row.0, row.1, row.2) == (width, nss, mcs));
    raised.map(|row| row.3).ok_or(RateError::UnevenEncoders {
        width,
        nss,
        mcs,
        n_dbps,
        n_cbps,
        encoders,
    })
}

impl fmt::Display for TxRate {
    /// For example `VHT 80 MHz MCS 9 × 1, 800 ns`, `OFDM 6 Mbit/s`, `DSSS 11 Mbit/s, short
    /// preamble`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(rate) = self.legacy_rate() {
            let short = if self.preamble == DsssPreamble::Short {
                ", short preamble"
            } else {
                ""
            };
            return write!(f, "{} {rate}{short}", self.standard);
        }
        write!(
            f,
            "{} {} MCS {} × {}, {}",
            self.standard, self.width, self.mcs, self.nss, self.gi
        )
    }
}

#[cfg(test)]
mod tests;
