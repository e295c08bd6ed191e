//! What the operator should know.

use super::{PeerIdx, StaticPublicKey};
use airpace_units::Time;
use core::net::SocketAddr;
use core::time::Duration;

/// Something that the operator should know, each kind at most once a minute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Warning {
    /// A handshake message is older than the last one of the same peer and is not a repetition that
    /// this process has seen. Most likely the peer's clock went back, and it will be refused until
    /// its clock has passed its last handshake.
    OldHandshake {
        /// The peer that made it.
        peer: PeerIdx,
        /// Where it came from.
        from: SocketAddr,
    },
    /// An end that knows this end's public key uses another version of the tunnel.
    OtherVersion {
        /// Its version.
        version: u8,
        /// Where it is.
        from: SocketAddr,
    },
    /// A peer has not answered several initiations in a row.
    NoAnswer {
        /// The peer.
        peer: PeerIdx,
        /// Where the last initiation was sent to.
        to: SocketAddr,
    },
    /// A response to this end's initiation cannot be read. Most likely the two ends have different
    /// preshared keys.
    UnreadableResponse {
        /// The peer.
        peer: PeerIdx,
        /// Where it came from.
        from: SocketAddr,
    },
    /// An authentic initiation came from a key that is not configured: most likely a station whose key
    /// is missing here.
    UnknownKey {
        /// The key.
        key: StaticPublicKey,
        /// Where it came from.
        from: SocketAddr,
    },
    /// An initiation was made for another public key than this end's, or altered: most likely a station
    /// that is configured with another key of this end.
    OtherKey {
        /// Where it came from.
        from: SocketAddr,
    },
    /// An initiation was made for this end's public key, and cannot be decrypted.
    UnreadableInitiation {
        /// Where it came from.
        from: SocketAddr,
    },
}

impl Warning {
    /// The place of its kind.
    const fn kind(&self) -> usize {
        match self {
            Self::OldHandshake { .. } => 0,
            Self::OtherVersion { .. } => 1,
            Self::NoAnswer { .. } => 2,
            Self::UnreadableResponse { .. } => 3,
            Self::UnknownKey { .. } => 4,
            Self::OtherKey { .. } => 5,
            Self::UnreadableInitiation { .. } => 6,
        }
    }
}

const KINDS: usize = 7;

/// Least time between two warnings of a kind.
const INTERVAL: Duration = Duration::from_secs(60);

/// Warnings that were not taken yet. Kinds do not displace each other, so that nobody can hide one
/// behind another.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    waiting: [Option<Warning>; KINDS],
    /// When each kind may come again.
    next: [Time; KINDS],
}

impl Warnings {
    /// Keeps a warning, unless there was one of its kind within the last minute.
    pub(super) fn raise(&mut self, now: Time, warning: Warning) {
        let kind = warning.kind();
        if now >= self.next[kind] {
            self.next[kind] = now + INTERVAL;
            self.waiting[kind] = Some(warning);
        }
    }

    pub(super) fn poll(&mut self) -> Option<Warning> {
        self.waiting.iter_mut().find_map(Option::take)
    }
}
