//! The proxy: paces what each station is sent, so that the queue stands here and not in the access point.
//!
//! [`PacketProxy`] decides, without input or output of its own; [`run_proxy`] carries packets between it, the interface and the socket.

mod packets;
mod run;
pub(crate) mod settings;

pub use airpace_edge::proxy::Mode;
pub use packets::PacketProxy;
pub use run::run_proxy;

use crate::packet::PacketBuf;
use airpace_edge::tunnel;

/// What the proxy wants sent to a station.
#[derive(Debug)]
pub enum Output {
    /// A packet; its buffer is to be returned to [`PacketProxy::pool`].
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
    Edge(airpace_edge::proxy::ProxyError),
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
