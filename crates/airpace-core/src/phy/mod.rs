//! The airtime of frames: data rates, PPDU durations, A-MPDU overheads and limits, responses,
//! channel access.
//!
//! Everything is integer arithmetic on nanoseconds, bits and bytes, so that a simulated and an
//! emulated MAC agree to the nanosecond. Clauses are those of IEEE Std 802.11-2020 (DSSS 15 and 16,
//! OFDM 17, ERP 18, HT 19, VHT 21) and 802.11ax-2021 (HE 27).
//!
//! ```
//! use airpace_core::phy::{AmpduLimits, GuardInterval, Standard, Timing, TxRate, Width, ampdu_bytes, mpdu_bytes};
//!
//! let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800)?;
//! let psdu = ampdu_bytes(32, mpdu_bytes(1_498));
//! assert_eq!(rate.ppdu_duration(psdu, Timing::Standard).as_micros(), 1_052);
//! let limits = AmpduLimits::of(Standard::Vht);
//! assert!(psdu <= rate.max_psdu(limits.duration, Timing::Standard).min(limits.bytes));
//! # Ok::<(), airpace_core::phy::RateError>(())
//! ```

mod access;
mod ampdu;
mod breakdown;
pub mod error;
mod legacy;
mod medium;
mod params;
mod preamble;
mod rate;

pub use access::{AccessCategory, Edca, SIFS, SLOT};
pub use ampdu::{
    ACK_BYTES, AmpduLimits, BLOCK_ACK_256_BYTES, BLOCK_ACK_BYTES, DELIMITER_BYTES, FCS_BYTES,
    LLC_BYTES, QOS_HEADER_BYTES, ampdu_bytes, max_mpdus, mpdu_bytes, psdu_bytes, subframe_bytes,
};
pub use breakdown::{Breakdown, BreakdownError, MpduBytes, Response};
pub use legacy::{LegacyRate, UnknownLegacyRate, control_rate};
pub use medium::{Band, Medium};
pub use params::{DsssPreamble, GuardInterval, Standard, Timing, Width};
pub use preamble::PreambleField;
pub use rate::{RateError, TxRate};
