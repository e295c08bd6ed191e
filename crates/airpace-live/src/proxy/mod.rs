//! The proxy: paces what each station is sent, so that the queue stands here and not in the access point.
//!
//! [`ProxyCore`] decides, sans-IO; [`run_proxy`] carries packets between it, the interface and the socket.

mod beliefs;
mod core;
mod port;
mod record;
mod run;

pub use self::core::ProxyCore;
pub use run::run_proxy;

use crate::packet::PacketBuf;
use crate::tunnel;
use ::core::fmt;

/// How a station is sent to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Mode {
    /// There is no session: packets for it are dropped.
    Away,
    /// There is a session and no report yet: the initial rate.
    Starting,
    /// The law decides on the rate (or there is a fixed one, or none at all).
    Controlled,
    /// Reports have been missing for some slots: a conservative rate.
    Conservative,
    /// Reports have been missing for long: everything passes unshaped.
    Unshaped,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Away => "away",
            Self::Starting => "starting",
            Self::Controlled => "controlled",
            Self::Conservative => "conservative",
            Self::Unshaped => "unshaped",
        })
    }
}

/// What the proxy wants sent to a station.
#[derive(Debug)]
pub enum Output {
    /// A packet; its buffer is to be returned to [`ProxyCore::pool`].
    Packet {
        /// The station.
        station: usize,
        /// The packet.
        packet: PacketBuf,
    },
    /// Load without meaning, with a sealed body of so many bytes.
    Load {
        /// The station.
        station: usize,
        /// Bytes of the body.
        body: usize,
    },
}

/// What was dropped before it reached a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Packets for addresses that no station has.
    pub unroutable: u64,
    /// Packets for stations without a session.
    pub away: u64,
    /// Authentic reports that made no sense or were repeated.
    pub bad_reports: u64,
}

/// What a proxy counted from its start to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Datagrams, by fate.
    pub tunnel: tunnel::Counts,
    /// What was dropped before it reached a queue.
    pub core: Counts,
    /// Packets from stations under an address that is not theirs.
    pub spoofed: u64,
}

/// Why a proxy could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// The law refuses its parameters.
    #[error("control: {0}")]
    Law(#[from] airpace_core::control::ConfigError),
    /// A weight that the law does not follow.
    #[error(
        "station `{station}`: the law `{law}` follows no weights, or not this one; `waterfill` takes 0.001 to 1000"
    )]
    Weight {
        /// Name of the station.
        station: String,
        /// Name of the law.
        law: &'static str,
    },
}

#[cfg(test)]
mod tests;
