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

    /// Whether both are about the same peer, key or address.
    fn has_same_cause(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::UnknownKey { key: a, .. }, Self::UnknownKey { key: b, .. }) => a == b,
            (Self::OldHandshake { peer: a, .. }, Self::OldHandshake { peer: b, .. })
            | (Self::NoAnswer { peer: a, .. }, Self::NoAnswer { peer: b, .. })
            | (
                Self::UnreadableResponse { peer: a, .. },
                Self::UnreadableResponse { peer: b, .. },
            ) => a == b,
            (Self::OtherVersion { from: a, .. }, Self::OtherVersion { from: b, .. })
            | (Self::OtherKey { from: a }, Self::OtherKey { from: b })
            | (Self::UnreadableInitiation { from: a }, Self::UnreadableInitiation { from: b }) => {
                a.ip() == b.ip()
            }
            _ => false,
        }
    }
}

const KINDS: usize = 7;

/// Least time between two warnings of a kind.
const INTERVAL: Duration = Duration::from_secs(60);

/// Warnings that were not taken yet. Kinds do not displace each other, so that nobody can hide one
/// behind another; and of a kind, the next one told has another cause if there was one, so that a
/// station that keeps trying does not hide the next station.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    waiting: [Option<Warning>; KINDS],
    /// The last one of each kind that was told.
    told: [Option<Warning>; KINDS],
    /// The first one since then with another cause.
    other: [Option<Warning>; KINDS],
    /// When each kind may come again.
    next: [Time; KINDS],
}

impl Warnings {
    /// Keeps a warning. Within a minute of one of its kind it waits, if its cause is another, until a
    /// later warning of the kind is raised.
    pub(super) fn raise(&mut self, now: Time, warning: Warning) {
        let kind = warning.kind();
        if now >= self.next[kind] {
            let next = self.other[kind].take().unwrap_or(warning);
            self.next[kind] = now + INTERVAL;
            self.told[kind] = Some(next);
            self.waiting[kind] = Some(next);
        }
        let is_told = |told: &Warning| told.has_same_cause(&warning);
        if self.other[kind].is_none() && !self.told[kind].as_ref().is_some_and(is_told) {
            self.other[kind] = Some(warning);
        }
    }

    pub(super) fn poll(&mut self) -> Option<Warning> {
        self.waiting.iter_mut().find_map(Option::take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_keeps_trying_does_not_hide_another_one() {
        let from = SocketAddr::from(([192, 0, 2, 7], 40_000));
        let unknown = |key: u8| Warning::UnknownKey {
            key: StaticPublicKey([key; 32]),
            from,
        };
        let mut warnings = Warnings::default();
        let mut told = Vec::new();
        for second in 0..200 {
            let now = Time::from_millis(1000 * second);
            warnings.raise(now, unknown(1));
            if second % 50 == 5 {
                warnings.raise(now, unknown(2));
            }
            told.extend(warnings.poll().map(|warning| (second, warning)));
        }
        assert_eq!(
            told,
            [
                (0, unknown(1)),
                (60, unknown(2)),
                (120, unknown(1)),
                (180, unknown(2))
            ],
            "both in turn, one a minute"
        );
    }
}
