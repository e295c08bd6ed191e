//! What a proxy hands out, and why it refuses.

use super::Mode;
use airpace_core::control::ConfigError;
use airpace_core::phy::AccessCategory;
use airpace_core::queue::DropReason;
use airpace_units::Time;
use core::time::Duration;

/// What the proxy wants sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output<P> {
    /// A packet.
    Packet {
        /// The station that it is for.
        station: usize,
        /// The packet.
        packet: P,
        /// How long it has waited at the proxy.
        waited: Duration,
        /// The access category to send it in; `None` sends it as it is. See
        /// [`ProxyConfig::interactive`](super::ProxyConfig::interactive).
        priority: Option<AccessCategory>,
    },
    /// A packet of load without meaning.
    Load {
        /// The station that it is for.
        station: usize,
        /// Its length, IP header and tunnel included.
        bytes: u32,
    },
}

/// A packet that the proxy gave up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DroppedPacket<P> {
    /// The station that it was for.
    pub station: usize,
    /// Why; `None` if the station is away.
    pub reason: Option<DropReason>,
    /// The packet, so that its buffer can be used again.
    pub packet: P,
}

/// An event that an operator should know of.
#[derive(Clone, PartialEq, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// A station is sent to in another way.
    ModeChanged {
        /// When.
        at: Time,
        /// The station.
        station: usize,
        /// The mode before.
        from: Mode,
        /// The mode from now on.
        to: Mode,
        /// Time since its last report, or since it connected.
        silence: Duration,
    },
    /// The delay target has become infeasible.
    DelayTargetInfeasible {
        /// The target (T̄).
        target: Duration,
        /// The smallest delay that is feasible, seconds.
        least_s: f64,
    },
    /// The latency that was asked for cannot be met.
    LatencyInfeasible {
        /// The least latency that seems feasible, seconds.
        least_s: f64,
    },
    /// Reports of a station were corrected or left out: they claim what cannot be, or too many come.
    ReportsRejected {
        /// The station.
        station: usize,
        /// How many so far.
        reports: u64,
    },
    /// More stations than before appear to have their bottleneck elsewhere than at the access
    /// point.
    BottleneckElsewhere {
        /// How many now.
        stations: u32,
    },
}

impl core::fmt::Display for Event {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::ModeChanged {
                station, from, to, ..
            } => write!(f, "station {station}: {from} becomes {to}"),
            Self::DelayTargetInfeasible { target, least_s } => write!(
                f,
                "the delay target of {:.1} ms is below {:.1} ms, the least that is feasible for these \
                 stations: running at that",
                target.as_secs_f64() * 1e3,
                least_s * 1e3
            ),
            Self::LatencyInfeasible { least_s } => write!(
                f,
                "the latency that was asked for cannot be met: 95 of 100 packets pass the access point \
                 within {:.1} ms, which seems to be the least; allow more, or set an aim instead",
                least_s * 1e3
            ),
            Self::ReportsRejected { station, reports } => write!(
                f,
                "station {station}: {reports} of its reports made impossible claims or came too often; \
                 they were corrected or ignored"
            ),
            Self::BottleneckElsewhere { stations } => write!(
                f,
                "stations whose bottleneck appears not to be the access point: {stations} (they are sent \
                 whatever arrives)"
            ),
        }
    }
}

/// Counts of rejected input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Packets for stations that are away.
    pub away: u64,
    /// Reports that were repeated or are of no station.
    pub bad_reports: u64,
    /// Reports that claimed what contradicts the standard or what was sent, and were corrected.
    pub corrected_reports: u64,
    /// Reports that did not count because more than one per half slot came.
    pub surplus_reports: u64,
}

/// Reports of one station that were rejected since it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RejectedReports {
    /// Those that claimed what contradicts the standard or what was sent, and were corrected.
    pub corrected: u64,
    /// Those that did not count because more than one per half slot came.
    pub surplus: u64,
}

/// Why a proxy cannot begin.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// The law refuses its parameters.
    #[error(transparent)]
    Law(#[from] ConfigError),
    /// The law does not follow the weight of a station.
    #[error(
        "the law `{law}` follows no weights, or not that of station {station}; `waterfill` takes 0.001 to 1000"
    )]
    Weight {
        /// The station.
        station: usize,
        /// Name of the law.
        law: &'static str,
    },
}
