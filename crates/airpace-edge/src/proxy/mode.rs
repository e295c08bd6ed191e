//! How a station is sent to, and the rate that belongs to each way.

use super::station::PacedStation;
use super::{Fallback, Pacing, ProxyConfig, StartRate};
use airpace_core::report::Allocation;
use airpace_units::{BitRate, Time};
use core::time::Duration;
use strum::{Display, EnumIter, IntoStaticStr};

/// How a station is sent to.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Display, EnumIter, IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Mode {
    /// The station is not connected: packets for it are dropped.
    Away,
    /// The station is connected and has not reported yet: it has the start rate.
    Starting,
    /// The law sets the rate (or there is a fixed one, or none at all).
    Controlled,
    /// Reports have been missing for some slots: a conservative rate.
    Conservative,
    /// Reports have been missing for long: the station has the share of one that no sensor sees. A law
    /// that cannot tell it lets everything pass.
    Unshaped,
}

impl Mode {
    /// Whether a report of a station in this mode is awaited before the law decides.
    pub(super) const fn is_awaited(self) -> bool {
        matches!(self, Self::Starting | Self::Controlled)
    }

    /// Whether reports of a station in this mode are missing.
    pub(super) const fn is_unseen(self) -> bool {
        matches!(self, Self::Conservative | Self::Unshaped)
    }
}

/// Longest slot that a station may claim in its reports, as the configuration of agents has it. A
/// longer one would put off the fallback for as long as the station likes.
const LONGEST_SLOT: Duration = Duration::from_secs(10);

/// The mode that the station's reports, or their absence, ask for.
pub(super) fn wanted<P>(station: &PacedStation<P>, now: Time, config: &ProxyConfig) -> Mode {
    if !station.connected {
        return Mode::Away;
    }
    if !measures(&config.pacing) {
        return Mode::Controlled;
    }
    // A station whose slots are longer than ours reports as often as it can.
    let own_slot = match &station.last_report {
        Some(report) => report.length.min(LONGEST_SLOT),
        None => Duration::ZERO,
    };
    let slot = config.slot.max(own_slot);
    let silence = now.saturating_since(station.heard_at);
    let Fallback {
        conservative_after_slots,
        unshaped_after_slots,
        ..
    } = config.fallback;
    if silence >= slot.saturating_mul(unshaped_after_slots) {
        Mode::Unshaped
    } else if silence >= slot.saturating_mul(conservative_after_slots) {
        Mode::Conservative
    } else if station.last_report.is_some() {
        Mode::Controlled
    } else {
        Mode::Starting
    }
}

/// The rate that belongs to the station's mode; `None` if everything passes.
pub(super) fn granted<P>(station: &PacedStation<P>, config: &ProxyConfig) -> Option<Allocation> {
    if station.is_exempt {
        return None;
    }
    match station.mode {
        Mode::Away => None,
        // A law that is told what is sent to the station gives it a share. With any other law, and
        // until the first decision, everything passes.
        Mode::Unshaped => station.allocation,
        Mode::Starting => station.allocation.or_else(|| start(station, config)),
        Mode::Conservative => {
            let conservative = fixed(station, config.fallback.rate, config);
            // A station that the law had slower than that stays as slow.
            let slower = station
                .allocation
                .filter(|last| last.rate_bytes_per_s < conservative.rate_bytes_per_s);
            Some(slower.unwrap_or(conservative))
        }
        Mode::Controlled => match config.pacing {
            Pacing::Law(_) | Pacing::Custom(_) => {
                station.allocation.or_else(|| start(station, config))
            }
            Pacing::Fixed(rate) => Some(fixed(station, rate, config)),
            Pacing::Unpaced => None,
        },
    }
}

/// Whether the rates follow from reports: with a fixed rate, or none, nothing is expected of
/// reports.
pub(super) const fn measures(pacing: &Pacing) -> bool {
    matches!(pacing, Pacing::Law(_) | Pacing::Custom(_))
}

fn start<P>(station: &PacedStation<P>, config: &ProxyConfig) -> Option<Allocation> {
    match config.start {
        StartRate::Fixed(rate) => Some(fixed(station, rate, config)),
        // The law has not decided yet; until then nothing holds the packets back.
        StartRate::FromLaw => None,
    }
}

fn fixed<P>(station: &PacedStation<P>, rate: BitRate, config: &ProxyConfig) -> Allocation {
    let rate_bytes_per_s = rate.as_bps_f64() / 8.0;
    Allocation {
        station: station.id,
        rate_pps: rate_bytes_per_s / f64::from(config.packet_bytes.max(1)),
        rate_bytes_per_s,
        level: config.level,
        pause: Duration::ZERO,
    }
}
