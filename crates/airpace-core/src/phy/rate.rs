use airpace_units::BitRate;
use core::fmt;
use core::time::Duration;
use thiserror::Error;

/// The generation of the PHY, which decides subcarriers, symbol length and preamble.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Standard {
    /// High throughput, 802.11n (clause 19), HT-mixed format.
    Ht,
    /// Very high throughput, 802.11ac (clause 21), single user.
    Vht,
    /// High efficiency, 802.11ax (clause 27), single user.
    He,
}

/// Channel width.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Width {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz; not HT.
    Mhz80,
    /// 160 MHz; not HT.
    Mhz160,
}

/// Guard interval between symbols.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GuardInterval {
    /// 400 ns, the short one of HT and VHT.
    Ns400,
    /// 800 ns.
    Ns800,
    /// 1600 ns; HE only.
    Ns1600,
    /// 3200 ns; HE only.
    Ns3200,
}

/// Whose conventions durations follow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Timing {
    /// The standard: VHT-SIG-B in the VHT preamble, six tail bits per BCC encoder, short-guard-interval PPDUs padded to whole
    /// 4 µs (eq. 19-88 and 21-109).
    #[default]
    Standard,
    /// What ns-3 3.44 does for HT and VHT, for comparison: no VHT-SIG-B, always six tail bits, no rounding to 4 µs.
    Ns3,
}

/// Why a combination of standard, width, streams, MCS and guard interval is no rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum RateError {
    /// HT has 20 and 40 MHz only.
    #[error("{standard} has no {width} channels: choose 20 or 40 MHz")]
    Width {
        /// The standard asked for.
        standard: Standard,
        /// The width asked for.
        width: Width,
    },
    /// The number of spatial streams is out of range.
    #[error("{standard} has 1 to {max} spatial streams, not {nss}")]
    Streams {
        /// The standard asked for.
        standard: Standard,
        /// The streams asked for.
        nss: u8,
        /// The most streams of this standard.
        max: u8,
    },
    /// The MCS index is out of range.
    #[error("{standard} has MCS 0 to {max}, not {mcs}")]
    Mcs {
        /// The standard asked for.
        standard: Standard,
        /// The index asked for.
        mcs: u8,
        /// The largest index of this standard.
        max: u8,
    },
    /// An HT MCS index fixes its number of streams: index / 8 + 1.
    #[error("HT MCS {mcs} has {implied} spatial streams, not {nss}")]
    HtStreams {
        /// The index asked for.
        mcs: u8,
        /// The streams asked for.
        nss: u8,
        /// The streams that the index stands for.
        implied: u8,
    },
    /// The guard interval does not exist in this standard.
    #[error(
        "{standard} has no guard interval of {gi}: HT and VHT have 400 and 800 ns, HE has 800, 1600 and 3200 ns"
    )]
    GuardInterval {
        /// The standard asked for.
        standard: Standard,
        /// The guard interval asked for.
        gi: GuardInterval,
    },
    /// A symbol of this VHT combination would not hold a whole number of data bits (clause 21.5).
    #[error(
        "VHT excludes MCS {mcs} with {nss} streams at {width}: a symbol would hold {numerator}/{denominator} data bits, not a whole number"
    )]
    FractionalBits {
        /// The width asked for.
        width: Width,
        /// The streams asked for.
        nss: u8,
        /// The index asked for.
        mcs: u8,
        /// Coded bits of a symbol times the numerator of the code rate.
        numerator: u32,
        /// Denominator of the code rate.
        denominator: u32,
    },
    /// The bits of a symbol of this VHT combination cannot be shared out among its encoders (clause 21.5).
    #[error(
        "VHT excludes MCS {mcs} with {nss} streams at {width}: {n_dbps} data and {n_cbps} coded bits of a symbol do not divide among {encoders} encoders"
    )]
    UnevenEncoders {
        /// The width asked for.
        width: Width,
        /// The streams asked for.
        nss: u8,
        /// The index asked for.
        mcs: u8,
        /// Data bits per symbol.
        n_dbps: u32,
        /// Coded bits per symbol.
        n_cbps: u32,
        /// Encoders that the data rate calls for.
        encoders: u32,
    },
}

/// A transmit rate that the standard allows. Cheap to copy and to compare; made by [`TxRate::new`].
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
}

/// SERVICE field bits before the PSDU (tables 17-6, 19-24, 21-13, 27-…: 16 in every PHY here).
const SERVICE_BITS: u64 = 16;
/// Tail bits that flush one binary convolutional encoder.
const TAIL_BITS: u8 = 6;
/// Legacy training, legacy SIGNAL: L-STF 8 µs, L-LTF 8 µs, L-SIG 4 µs (figures 19-1, 21-4, 27-8).
const LEGACY_PREAMBLE_NS: u64 = 20_000;
/// HT-SIG, VHT-SIG-A and HE-SIG-A take two symbols of 4 µs.
const SIG_NS: u64 = 8_000;
/// HT-STF, VHT-STF, HE-STF, one HT-LTF, one VHT-LTF, VHT-SIG-B and RL-SIG take 4 µs each.
const FIELD_NS: u64 = 4_000;

/// Bits per subcarrier and stream, and code rate (numerator, denominator) of each constellation: tables 19-27 ff., 21-30 ff., 27-79 ff.
const CONSTELLATIONS: [(u32, u32, u32); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];

/// One VHT encoder serves at most 600 Mbit/s with the short guard interval, which is 2160 bits per 3.6 µs symbol (21.5).
const VHT_ENCODER_BITS: u32 = 2_160;
/// One HT encoder serves at most 300 Mbit/s with the long guard interval, which is 1200 bits per 4 µs symbol (19.5).
const HT_ENCODER_BITS: u32 = 1_200;

/// The VHT combinations (width, NSS, MCS) that keep their rate although the number of encoders that the rate calls for does not divide
/// the bits of a symbol: the standard's tables give them more encoders, the next number that divides (21.5, tables 21-44 ff.).
const VHT_RAISED: [(Width, u8, u8); 15] = [
    (Width::Mhz80, 7, 2),
    (Width::Mhz80, 7, 7),
    (Width::Mhz80, 7, 8),
    (Width::Mhz80, 8, 7),
    (Width::Mhz160, 4, 7),
    (Width::Mhz160, 5, 8),
    (Width::Mhz160, 6, 7),
    (Width::Mhz160, 7, 4),
    (Width::Mhz160, 7, 7),
    (Width::Mhz160, 7, 8),
    (Width::Mhz160, 7, 9),
    (Width::Mhz160, 8, 5),
    (Width::Mhz160, 8, 8),
    // The two rows below divide already; they stand here so that the table can be checked against the standard's row by row.
    (Width::Mhz160, 7, 3),
    (Width::Mhz160, 7, 5),
];

impl TxRate {
    /// The rate of this combination. For HT, `mcs` is the HT index 0–31 and `nss` must be what it stands for.
    ///
    /// # Errors
    /// [`RateError`] if the standard has no such combination, with the reason.
    pub fn new(
        standard: Standard,
        width: Width,
        nss: u8,
        mcs: u8,
        gi: GuardInterval,
    ) -> Result<Self, RateError> {
        check_range(standard, width, nss, mcs, gi)?;
        let constellation = usize::from(if standard == Standard::Ht {
            mcs % 8
        } else {
            mcs
        });
        let (bits, numerator, denominator) = CONSTELLATIONS[constellation];
        let n_cbps = subcarriers(standard, width) * u32::from(nss) * bits;
        // HE rounds down where VHT excludes the combination (27.3.12.… "N_DBPS = floor(N_CBPS · R)").
        let n_dbps = n_cbps * numerator / denominator;
        let encoders = match standard {
            Standard::Ht => n_dbps.div_ceil(HT_ENCODER_BITS),
            Standard::Vht => vht_encoders(width, nss, mcs)?,
            // One BCC encoder up to 242 tones, 4 streams and MCS 9; LDPC, which has no tail, beyond (27.3.12.5.1).
            Standard::He => u32::from(width == Width::Mhz20 && nss <= 4 && mcs <= 9),
        };
        let tail_bits = u8::try_from(encoders).expect("at most 12 encoders") * TAIL_BITS;
        Ok(Self {
            n_dbps,
            symbol_ns: symbol_ns(standard, gi),
            standard,
            width,
            gi,
            nss,
            mcs,
            tail_bits,
        })
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

    /// Spatial streams (N_SS), 1 to 8.
    #[must_use]
    pub const fn nss(self) -> u8 {
        self.nss
    }

    /// The MCS index: 0–31 for HT, 0–9 for VHT, 0–11 for HE.
    #[must_use]
    pub const fn mcs(self) -> u8 {
        self.mcs
    }

    /// The guard interval.
    #[must_use]
    pub const fn gi(self) -> GuardInterval {
        self.gi
    }

    /// Data bits per symbol (N_DBPS).
    #[must_use]
    pub const fn bits_per_symbol(self) -> u32 {
        self.n_dbps
    }

    /// Length of a data symbol with its guard interval.
    #[must_use]
    pub const fn symbol(self) -> Duration {
        Duration::from_nanos(self.symbol_ns as u64)
    }

    /// The data rate, rounded down to 1 bit/s.
    #[must_use]
    pub fn rate(self) -> BitRate {
        BitRate::from_bps(u64::from(self.n_dbps) * 1_000_000_000 / u64::from(self.symbol_ns))
    }

    /// Everything before the first data symbol.
    #[must_use]
    pub fn preamble(self, timing: Timing) -> Duration {
        Duration::from_nanos(self.preamble_ns(timing))
    }

    /// Data symbols (N_SYM) of a PSDU: SERVICE, PSDU and tail bits, in whole symbols (eq. 19-32, 21-62, 27-64).
    #[must_use]
    pub fn symbols(self, psdu_bytes: u32, timing: Timing) -> u32 {
        let bits = SERVICE_BITS + 8 * u64::from(psdu_bytes) + self.tail_bits(timing);
        // At most 2^35 bits over at least 26 per symbol: below 2^31.
        bits.div_ceil(u64::from(self.n_dbps)) as u32
    }

    /// Duration of the whole PPDU that carries `psdu_bytes` (TXTIME; 19.4.3, 21.4.3, 27.4.3). HE without packet extension.
    #[must_use]
    pub fn ppdu_duration(self, psdu_bytes: u32, timing: Timing) -> Duration {
        // Below 2^31 symbols of at most 16 µs: no overflow in 64 bits.
        let data = u64::from(self.symbols(psdu_bytes, timing)) * u64::from(self.symbol_ns);
        let data = if self.pads_to_4_us(timing) {
            data.next_multiple_of(4_000)
        } else {
            data
        };
        Duration::from_nanos(self.preamble_ns(timing) + data)
    }

    /// The largest PSDU in bytes whose PPDU lasts at most `duration`; 0 if none does.
    ///
    /// This is the PHY's limit only; [`super::AmpduLimits`] has the MAC's.
    #[must_use]
    pub fn max_psdu(self, duration: Duration, timing: Timing) -> u32 {
        let whole = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let data = whole.saturating_sub(self.preamble_ns(timing));
        let data = if self.pads_to_4_us(timing) {
            data - data % 4_000
        } else {
            data
        };
        let bits = (data / u64::from(self.symbol_ns)).saturating_mul(u64::from(self.n_dbps));
        let bytes = bits.saturating_sub(SERVICE_BITS + self.tail_bits(timing)) / 8;
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    fn tail_bits(self, timing: Timing) -> u64 {
        let one_encoder = timing == Timing::Ns3 && self.standard != Standard::He;
        u64::from(if one_encoder {
            TAIL_BITS
        } else {
            self.tail_bits
        })
    }

    fn pads_to_4_us(self, timing: Timing) -> bool {
        timing == Timing::Standard && self.gi == GuardInterval::Ns400
    }

    fn preamble_ns(self, timing: Timing) -> u64 {
        let fields = match (self.standard, timing) {
            // HT-STF or VHT-STF.
            (Standard::Ht, _) | (Standard::Vht, Timing::Ns3) => FIELD_NS,
            // VHT-STF and VHT-SIG-B; RL-SIG and HE-STF.
            (Standard::Vht, Timing::Standard) | (Standard::He, _) => 2 * FIELD_NS,
        };
        LEGACY_PREAMBLE_NS
            + SIG_NS
            + fields
            + u64::from(self.training_fields()) * self.training_field_ns()
    }

    /// Long training fields (N_LTF) for this number of streams (tables 19-13, 21-13, 27-…: the same rule).
    fn training_fields(self) -> u8 {
        match self.nss {
            1 => 1,
            2 => 2,
            3 | 4 => 4,
            5 | 6 => 6,
            _ => 8,
        }
    }

    /// One long training field. HE uses the 2x field (6.4 µs) with the guard intervals 800 and 1600 ns and the 4x field (12.8 µs) with
    /// 3200 ns, each preceded by the guard interval: the combinations every device must support (27.3.11.10, table 27-…).
    fn training_field_ns(self) -> u64 {
        match (self.standard, self.gi) {
            (Standard::He, GuardInterval::Ns3200) => 12_800 + 3_200,
            (Standard::He, gi) => 6_400 + u64::from(gi.nanos()),
            _ => FIELD_NS,
        }
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
        Standard::Ht | Standard::Vht => gi <= GuardInterval::Ns800,
        Standard::He => gi >= GuardInterval::Ns800,
    };
    if gi_exists {
        Ok(())
    } else {
        Err(RateError::GuardInterval { standard, gi })
    }
}

/// Data subcarriers (N_SD): tables 19-6, 21-5; for HE the RU that fills the channel (table 27-…: 242, 484, 996, 2×996 tones).
fn subcarriers(standard: Standard, width: Width) -> u32 {
    match (standard, width) {
        (Standard::Ht | Standard::Vht, Width::Mhz20) => 52,
        (Standard::Ht | Standard::Vht, Width::Mhz40) => 108,
        (Standard::Ht | Standard::Vht, Width::Mhz80) | (Standard::He, Width::Mhz20) => 234,
        (Standard::Ht | Standard::Vht, Width::Mhz160) | (Standard::He, Width::Mhz40) => 468,
        (Standard::He, Width::Mhz80) => 980,
        (Standard::He, Width::Mhz160) => 1_960,
    }
}

fn symbol_ns(standard: Standard, gi: GuardInterval) -> u32 {
    // Useful part of a symbol: 1 / 312.5 kHz, and 1 / 78.125 kHz for HE (tables 19-6, 21-5, 27-12).
    let useful = if standard == Standard::He {
        12_800
    } else {
        3_200
    };
    useful + gi.nanos()
}

/// The number of BCC encoders (N_ES) of a VHT combination, or why it is excluded: data and coded bits of a symbol must divide among
/// the encoders, the latter in whole blocks of the punctured code (21.5).
fn vht_encoders(width: Width, nss: u8, mcs: u8) -> Result<u32, RateError> {
    let (bits, numerator, denominator) = CONSTELLATIONS[usize::from(mcs)];
    let n_cbps = subcarriers(Standard::Vht, width) * u32::from(nss) * bits;
    if n_cbps * numerator % denominator != 0 {
        return Err(RateError::FractionalBits {
            width,
            nss,
            mcs,
            numerator: n_cbps * numerator,
            denominator,
        });
    }
    let n_dbps = n_cbps * numerator / denominator;
    let divides = |n: u32| n_dbps % n == 0 && n_cbps % (n * denominator) == 0;
    let encoders = n_dbps.div_ceil(VHT_ENCODER_BITS);
    if divides(encoders) {
        return Ok(encoders);
    }
    let raised = VHT_RAISED
        .contains(&(width, nss, mcs))
        .then(|| (encoders..=12).find(|&n| divides(n)))
        .flatten();
    raised.ok_or(RateError::UnevenEncoders {
        width,
        nss,
        mcs,
        n_dbps,
        n_cbps,
        encoders,
    })
}

impl Width {
    /// The width in MHz.
    #[must_use]
    pub const fn mhz(self) -> u32 {
        match self {
            Self::Mhz20 => 20,
            Self::Mhz40 => 40,
            Self::Mhz80 => 80,
            Self::Mhz160 => 160,
        }
    }

    /// The width of `mhz` MHz, if there is one.
    #[must_use]
    pub fn from_mhz(mhz: u32) -> Option<Self> {
        [Self::Mhz20, Self::Mhz40, Self::Mhz80, Self::Mhz160]
            .into_iter()
            .find(|w| w.mhz() == mhz)
    }
}

impl GuardInterval {
    /// The guard interval in ns.
    #[must_use]
    pub const fn nanos(self) -> u32 {
        match self {
            Self::Ns400 => 400,
            Self::Ns800 => 800,
            Self::Ns1600 => 1_600,
            Self::Ns3200 => 3_200,
        }
    }

    /// The guard interval of `nanos` ns, if there is one.
    #[must_use]
    pub fn from_nanos(nanos: u32) -> Option<Self> {
        [Self::Ns400, Self::Ns800, Self::Ns1600, Self::Ns3200]
            .into_iter()
            .find(|gi| gi.nanos() == nanos)
    }
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ht => "HT",
            Self::Vht => "VHT",
            Self::He => "HE",
        })
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MHz", self.mhz())
    }
}

impl fmt::Display for GuardInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.nanos())
    }
}

impl fmt::Display for TxRate {
    /// For example `VHT 80 MHz MCS 9 × 1, 800 ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} MCS {} × {}, {}",
            self.standard, self.width, self.mcs, self.nss, self.gi
        )
    }
}

#[cfg(test)]
mod tests;
