//! Configuration of a tunnel, as plain values.

use super::{PresharedKey, StaticPublicKey};
use core::net::SocketAddr;
use core::time::Duration;

/// What one end of a tunnel is made from, besides its [`Crypto`](super::Crypto).
#[derive(Clone, Debug)]
pub struct TunnelConfig {
    /// The peers that may connect, or the one to connect to. At most [`MAX_PEERS`].
    pub peers: Vec<PeerConfig>,
    /// Where to connect to, which makes this end the initiator, with one peer; `None` for the
    /// responder.
    pub connect_to: Option<SocketAddr>,
    /// Wall-clock time since 1970 at [`Time::ZERO`](airpace_units::Time::ZERO). Initiations carry
    /// the wall-clock time, so that the responder can tell old ones from new ones. See
    /// [`Tunnel::set_epoch`](super::Tunnel::set_epoch).
    pub epoch: Duration,
    /// Length of a payload, in bytes, for which the path is probed: see
    /// [`Tunnel::longest_payload`](super::Tunnel::longest_payload). `None` sends no probes.
    pub probe_for: Option<u16>,
    /// When sessions are renewed and peers given up.
    pub timing: Timing,
}

/// A peer as an operator configures it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerConfig {
    /// Identifies the peer.
    pub public_key: StaticPublicKey,
    /// The secret that is shared with the peer, if any.
    pub preshared_key: PresharedKey,
}

impl From<StaticPublicKey> for PeerConfig {
    /// A peer without a preshared key.
    fn from(public_key: StaticPublicKey) -> Self {
        Self {
            public_key,
            preshared_key: PresharedKey::default(),
        }
    }
}

/// Peers that one tunnel can have: a session's index has 14 bits for the peer.
pub const MAX_PEERS: usize = 1 << 14;

/// When sessions are renewed and peers given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Age at which the initiator renews a session. Default 120 s (`REKEY-AFTER-TIME` of the
    /// WireGuard whitepaper, section 6.1).
    pub rekey_after: Duration,
    /// Age at which a session ends. Default 180 s (`REJECT-AFTER-TIME`, same section).
    pub reject_after: Duration,
    /// Messages in either direction after which the initiator renews a session. Default 2²⁴,
    /// rounded down from the limit of AES-GCM in RFC 8446, section 5.5 (2²⁴·⁵ full-size records). A
    /// session ends after sixteen times as many sent messages.
    pub rekey_after_messages: u64,
    /// Time between the first two attempts of a handshake; it doubles with each further one. An
    /// attempt that is answered with a cookie is repeated at once, with the cookie.
    /// Default 500 ms.
    pub retry: Duration,
    /// Longest time between attempts, to which up to a quarter is added at random. Default 8 s.
    /// Round trips must be shorter, because each attempt abandons the one before.
    pub retry_limit: Duration,
    /// Time without sending after which a keepalive is sent. Default 1 s.
    pub keepalive: Duration,
    /// Time without hearing from the peer after which the initiator starts a new handshake. Default
    /// 4 s.
    pub dead_after: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            rekey_after: Duration::from_secs(120),
            reject_after: Duration::from_secs(180),
            rekey_after_messages: 1 << 24,
            retry: Duration::from_millis(500),
            retry_limit: Duration::from_secs(8),
            keepalive: Duration::from_secs(1),
            dead_after: Duration::from_secs(4),
        }
    }
}
