//! Rate adaptation: the data rate of the next frame of a directed link.
//!
//! One [`RateAdaptation`] belongs to one directed link. The MAC asks it for a rate once per frame
//! and reports the result of the frame. It receives the time as an argument and draws from its own
//! random stream, so that a run is a function of its configuration.
//!
//! ```
//! use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
//! use airpace_sim::rate::{RateAdaptation, Trace};
//! use airpace_units::Time;
//!
//! let rate = |nss| TxRate::new(Standard::Vht, Width::Mhz80, nss, 9, GuardInterval::Ns800);
//! let mut trace = RateAdaptation::from(Trace::new(vec![(Time::ZERO, rate(2)?), (Time::from_millis(20_000), rate(1)?)])?);
//! assert_eq!(trace.choose(Time::from_millis(19_999), 0), rate(2)?);
//! assert_eq!(trace.choose(Time::from_millis(20_000), 0), rate(1)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ideal;
pub mod minstrel;
mod supported;
mod trace;

pub use ideal::Ideal;
pub use minstrel::{MinstrelHt, MinstrelHtConfig};
pub use supported::rates_up_to;
pub use trace::Trace;

use airpace_core::phy::TxRate;
use airpace_units::Time;
use strum::{
    Display, EnumDiscriminants, EnumIter, EnumMessage, EnumString, IntoStaticStr, VariantNames,
};
use thiserror::Error;

/// Why a rate adaptation is refused.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum AdaptationError {
    /// There is no rate to choose from.
    #[error("rate adaptation needs at least one rate")]
    NoRates,
    /// A threshold of [`Ideal`] is not a number.
    #[error("the SNR threshold of {rate} is {threshold_db} dB: give a finite number")]
    Threshold {
        /// The rate whose threshold it is.
        rate: TxRate,
        /// The given threshold in dB.
        threshold_db: f64,
    },
    /// The target loss of [`Ideal`] is out of range.
    #[error("the target loss is {target}: give a number above 0 and below 1")]
    Target {
        /// The given value.
        target: f64,
    },
    /// The weight of the past in the averages is out of range.
    #[error("the weight of the past is {weight}: give a number from 0 to below 1")]
    Weight {
        /// The given value.
        weight: f64,
    },
    /// The number of tries per frame is 0.
    #[error("rate adaptation needs at least one try per frame")]
    NoTries,
    /// The entries of a [`Trace`] are not in order of time.
    #[error(
        "entry {index} of the rate trace is at {at}, earlier than the entry before it: sort the trace by time"
    )]
    Unsorted {
        /// Index of the entry, from 0.
        index: usize,
        /// Its time.
        at: Time,
    },
}

/// The result of one data frame (PPDU) of the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameResult {
    /// The rate at which the frame was sent.
    pub rate: TxRate,
    /// MPDUs in the frame; a result with 0 is ignored.
    pub mpdus: u32,
    /// MPDUs that the response acknowledged; 0 if there was no response. More than `mpdus` counts
    /// as `mpdus`.
    pub acked: u32,
    /// Mean length of the MPDUs in bytes, with MAC header and FCS.
    pub mpdu_bytes: u32,
}

/// The rate adaptation of one directed link. `choose` and `on_result` take nanoseconds and do not
/// allocate.
#[derive(Clone, Debug, EnumDiscriminants)]
#[strum_discriminants(
    name(AdaptationKind),
    doc = "A [`RateAdaptation`] without its state, as configuration names it.",
    derive(PartialOrd, Ord, Hash, Default),
    derive(
        Display,
        EnumIter,
        EnumMessage,
        EnumString,
        IntoStaticStr,
        VariantNames
    ),
    strum(serialize_all = "kebab-case")
)]
pub enum RateAdaptation {
    /// Always the same rate.
    #[strum_discriminants(default)]
    Fixed(TxRate),
    /// The fastest rate whose error probability at the current signal-to-noise ratio (SNR) is
    /// small, as if the sender knew the channel.
    Ideal(Ideal),
    /// Minstrel-HT: rates chosen by measured delivery, as Linux does.
    MinstrelHt(Box<MinstrelHt>),
    /// Rates from a list of times.
    Trace(Trace),
}

impl RateAdaptation {
    /// The rate of the frame that is being built at `now`. Call this once per frame.
    ///
    /// `unanswered` is the number of consecutive frames of this link without response, which is the
    /// place in the retry chain.
    #[inline]
    pub fn choose(&mut self, now: Time, unanswered: u8) -> TxRate {
        match self {
            Self::Fixed(rate) => *rate,
            Self::Ideal(ideal) => ideal.best(),
            Self::Trace(trace) => trace.advance(now),
            Self::MinstrelHt(minstrel) => minstrel.choose(unanswered),
        }
    }

    /// The fastest rate that may ever be chosen.
    #[must_use]
    pub fn fastest(&self) -> TxRate {
        let mut rates = match self {
            Self::Fixed(rate) => vec![*rate],
            Self::Ideal(ideal) => ideal.rates().collect(),
            Self::Trace(trace) => trace.rates().collect(),
            Self::MinstrelHt(minstrel) => {
                minstrel.rates().map(|statistics| statistics.rate).collect()
            }
        };
        rates.sort_by_key(|rate| rate.rate());
        rates.pop().expect("no adaptation is made without rates")
    }

    /// The most MPDUs that the frame at the rate chosen last should carry; `None` without limit.
    /// Call this after [`RateAdaptation::choose`]. Only a [`MinstrelHt`] that samples single
    /// packets sets a limit, so a MAC without such links need not call it.
    #[inline]
    #[must_use]
    pub fn mpdu_limit(&self) -> Option<u32> {
        if let Self::MinstrelHt(minstrel) = self {
            minstrel.mpdu_limit()
        } else {
            None
        }
    }

    /// Whether the rate chosen last is tried only to learn about it. Call this after
    /// [`RateAdaptation::choose`].
    #[must_use]
    pub fn is_probing(&self) -> bool {
        matches!(self, Self::MinstrelHt(minstrel) if minstrel.is_probing())
    }

    /// The slowest of the rates at which the frame at the rate chosen last is tried in turn; `None`
    /// if it is tried at that rate alone.
    #[must_use]
    pub fn slowest_of_chain(&self) -> Option<TxRate> {
        match self {
            Self::MinstrelHt(minstrel) => Some(minstrel.slowest_of_chain()),
            _ => None,
        }
    }

    /// Takes the result of a frame. Call this once per frame sent, with or without response.
    #[inline]
    pub fn on_result(&mut self, now: Time, result: &FrameResult) {
        if let Self::MinstrelHt(minstrel) = self {
            minstrel.on_result(now, result);
        }
    }

    /// The rate of a first attempt if it does not sample another rate: the rate that queue limits
    /// and reports may assume.
    #[must_use]
    pub fn best(&self) -> TxRate {
        match self {
            Self::Fixed(rate) => *rate,
            Self::Ideal(ideal) => ideal.best(),
            Self::Trace(trace) => trace.current(),
            Self::MinstrelHt(minstrel) => minstrel.best(),
        }
    }

    /// Sets the current mean SNR of the link in dB. Only [`Ideal`] uses it.
    pub fn set_snr(&mut self, snr_db: f64) {
        if let Self::Ideal(ideal) = self {
            ideal.set_snr(snr_db);
        }
    }
}

impl From<TxRate> for RateAdaptation {
    fn from(rate: TxRate) -> Self {
        Self::Fixed(rate)
    }
}

impl From<Ideal> for RateAdaptation {
    fn from(ideal: Ideal) -> Self {
        Self::Ideal(ideal)
    }
}

impl From<Trace> for RateAdaptation {
    fn from(trace: Trace) -> Self {
        Self::Trace(trace)
    }
}

impl From<MinstrelHt> for RateAdaptation {
    fn from(minstrel: MinstrelHt) -> Self {
        Self::MinstrelHt(Box::new(minstrel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::VariantNames;

    #[test]
    fn kinds_of_adaptation_have_the_names_that_scenario_files_use() {
        assert_eq!(
            AdaptationKind::VARIANTS,
            ["fixed", "ideal", "minstrel-ht", "trace"]
        );
        assert_eq!("minstrel-ht".parse(), Ok(AdaptationKind::MinstrelHt));
        assert_eq!(AdaptationKind::default(), AdaptationKind::Fixed);
    }
}
