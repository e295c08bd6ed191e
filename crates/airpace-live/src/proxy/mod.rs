//! The proxy: it paces what each station is sent, so that the queue builds up here and not in the
//! access point.
//!
//! [`PacketProxy`] decides, without input or output of its own; [`run_proxy`] carries packets
//! between it, the interface and the socket.

mod addresses;
mod packets;
mod run;
pub(crate) mod settings;

pub use airpace_edge::proxy::Mode;
pub use packets::PacketProxy;
pub use run::run_proxy;

use crate::packet::PacketBuf;
use airpace_core::phy::AccessCategory;
use airpace_edge::tunnel;

/// What the proxy wants sent to a station.
#[derive(Debug)]
pub enum Output {
    /// A packet. The caller returns its buffer to [`PacketProxy::pool`].
    Packet {
        /// The station.
        station: usize,
        /// The packet.
        packet: PacketBuf,
        /// The access category to send it in; `None` sends it as its own code point says.
        priority: Option<AccessCategory>,
    },
    /// A datagram of load, whose content has no meaning.
    Load {
        /// The station.
        station: usize,
        /// Length of its payload in bytes.
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
    /// Authentic reports that were malformed or repeated.
    pub bad_reports: u64,
    /// Reports that claimed what contradicts the standard or what was sent, and were corrected.
    pub corrected_reports: u64,
    /// Reports that did not count because more than one per half slot came.
    pub surplus_reports: u64,
}

/// What a proxy counted from its start to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Datagrams, by what was done with them.
    pub tunnel: tunnel::Counts,
    /// What was dropped before it reached a queue.
    pub core: Counts,
    /// Packets from a station whose source is not one of its own addresses.
    pub spoofed: u64,
}

/// Why a proxy cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// The parameters of the law are invalid.
    #[error("control: {0}")]
    Edge(airpace_edge::proxy::ProxyError),
    /// The law does not support the weight of a station.
    #[error(
        "station `{station}`: the law `{law}` does not support this weight; `waterfill` takes 0.001 to 1000"
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
