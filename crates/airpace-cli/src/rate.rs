//! PHY rates on the command line.

use crate::failure::bad_input;
use airpace_core::phy;
use clap::ValueEnum;
use serde::Serialize;

/// The rate that the arguments name, if the standard defines it.
pub(crate) fn checked(
    standard: Standard,
    width: phy::Width,
    nss: u8,
    mcs: u8,
    gi: phy::GuardInterval,
) -> anyhow::Result<phy::TxRate> {
    phy::TxRate::new(standard.into(), width, nss, mcs, gi).map_err(refusal)
}

/// The reason for a refusal, with a remedy where the reason does not imply one.
fn refusal(error: phy::RateError) -> anyhow::Error {
    let excluded = matches!(
        error,
        phy::RateError::FractionalBits { .. } | phy::RateError::UnevenEncoders { .. }
    );
    bad_input(if excluded {
        format!("{error}; choose another --mcs, --nss or --width")
    } else {
        error.to_string()
    })
}

/// Generation of the PHY.
#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Standard {
    /// Direct sequence of 802.11 and 802.11b; chosen by its rate, not by this name.
    #[value(skip)]
    Dsss,
    /// OFDM of 802.11a and 802.11g; chosen by its rate, not by this name.
    #[value(skip)]
    Ofdm,
    /// 802.11n.
    Ht,
    /// 802.11ac.
    Vht,
    /// 802.11ax, single user.
    He,
}

/// The band of the channel.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
pub(crate) enum Band {
    #[value(name = "2.4")]
    #[serde(rename = "2.4")]
    Ghz2_4,
    #[value(name = "5")]
    #[serde(rename = "5")]
    Ghz5,
}

impl From<Band> for phy::Band {
    fn from(band: Band) -> Self {
        match band {
            Band::Ghz2_4 => Self::Ghz2_4,
            Band::Ghz5 => Self::Ghz5,
        }
    }
}

/// The source whose conventions durations follow.
#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Timing {
    Standard,
    Ns3,
}

/// A channel width in MHz.
pub(crate) fn width(text: &str) -> Result<phy::Width, String> {
    text.parse()
        .ok()
        .and_then(phy::Width::from_mhz)
        .ok_or_else(|| "give 20, 40, 80 or 160".into())
}

/// A guard interval in ns.
pub(crate) fn guard_interval(text: &str) -> Result<phy::GuardInterval, String> {
    text.parse()
        .ok()
        .and_then(phy::GuardInterval::from_nanos)
        .ok_or_else(|| "give 400, 800, 1600 or 3200".into())
}

impl From<phy::Standard> for Standard {
    fn from(standard: phy::Standard) -> Self {
        match standard {
            phy::Standard::Dsss => Self::Dsss,
            phy::Standard::Ofdm => Self::Ofdm,
            phy::Standard::Ht => Self::Ht,
            phy::Standard::Vht => Self::Vht,
            phy::Standard::He => Self::He,
        }
    }
}

impl From<Standard> for phy::Standard {
    fn from(standard: Standard) -> Self {
        match standard {
            Standard::Dsss => Self::Dsss,
            Standard::Ofdm => Self::Ofdm,
            Standard::Ht => Self::Ht,
            Standard::Vht => Self::Vht,
            Standard::He => Self::He,
        }
    }
}

impl From<Timing> for phy::Timing {
    fn from(timing: Timing) -> Self {
        match timing {
            Timing::Standard => Self::Standard,
            Timing::Ns3 => Self::Ns3,
        }
    }
}
