use crate::phy::legacy::LegacyRate;
use crate::phy::params::{GuardInterval, Standard, Width};
use thiserror::Error;

/// Why a combination of standard, width, streams, MCS and guard interval is not a rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum RateError {
    /// HT has 20 and 40 MHz only.
    #[error("{standard} has no {width} channels: choose 20 or 40 MHz")]
    Width {
        /// The standard requested.
        standard: Standard,
        /// The width requested.
        width: Width,
    },
    /// The number of spatial streams is out of range.
    #[error("{standard} has 1 to {max} spatial streams, not {nss}")]
    Streams {
        /// The standard requested.
        standard: Standard,
        /// The streams requested.
        nss: u8,
        /// The most streams of this standard.
        max: u8,
    },
    /// The MCS index is out of range.
    #[error("{standard} has MCS 0 to {max}, not {mcs}")]
    Mcs {
        /// The standard requested.
        standard: Standard,
        /// The index requested.
        mcs: u8,
        /// The largest index of this standard.
        max: u8,
    },
    /// An HT MCS index fixes its number of streams: index / 8 + 1.
    #[error("HT MCS {mcs} has {implied} spatial streams, not {nss}")]
    HtStreams {
        /// The index requested.
        mcs: u8,
        /// The streams requested.
        nss: u8,
        /// The streams that the index implies.
        implied: u8,
    },
    /// The guard interval does not exist in this standard.
    #[error(
        "{standard} has no guard interval of {gi}: HT and VHT have 400 and 800 ns, HE has 800, 1600 and 3200 ns"
    )]
    GuardInterval {
        /// The standard requested.
        standard: Standard,
        /// The guard interval requested.
        gi: GuardInterval,
    },
    /// DSSS and OFDM rates leave no choice but the index.
    #[error("{standard} rates have 20 MHz, one spatial stream and a guard interval of 800 ns only")]
    Legacy {
        /// The standard requested.
        standard: Standard,
    },
    /// The short preamble of DSSS is for 2 Mbit/s and above (16.2.2.3).
    #[error("{rate} has no short preamble: it is for DSSS 2, 5.5 and 11 Mbit/s")]
    ShortPreamble {
        /// The rate requested.
        rate: LegacyRate,
    },
    /// A symbol of this VHT combination would not hold a whole number of data bits (clause 21.5).
    #[error(
        "VHT excludes MCS {mcs}, NSS {nss} at {width}: a symbol would hold {numerator}/{denominator} data bits, not a whole number"
    )]
    FractionalBits {
        /// The width requested.
        width: Width,
        /// The streams requested.
        nss: u8,
        /// The index requested.
        mcs: u8,
        /// Coded bits of a symbol times the numerator of the code rate.
        numerator: u32,
        /// Denominator of the code rate.
        denominator: u32,
    },
    /// The bits of a symbol of this VHT combination cannot be shared out among its encoders (clause
    /// 21.5).
    #[error(
        "VHT excludes MCS {mcs}, NSS {nss} at {width}: {n_dbps} data and {n_cbps} coded bits of a symbol do not divide among {encoders} encoders"
    )]
    UnevenEncoders {
        /// The width requested.
        width: Width,
        /// The streams requested.
        nss: u8,
        /// The index requested.
        mcs: u8,
        /// Data bits per symbol.
        n_dbps: u32,
        /// Coded bits per symbol.
        n_cbps: u32,
        /// Encoders that the data rate calls for.
        encoders: u32,
    },
}
