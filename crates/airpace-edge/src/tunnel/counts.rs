//! Why datagrams are dropped, and how many were.

/// Why a datagram was dropped. None of them is answered, except [`Reason::Unproven`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// Too short or too long for its kind.
    Length,
    /// Not a kind of datagram that this end accepts.
    Kind,
    /// Of another version of the tunnel.
    Version,
    /// A handshake message with a wrong check.
    Check,
    /// A handshake message whose sender must first prove its address; it was sent a cookie.
    Unproven,
    /// A handshake message beyond the number that is processed per second.
    Limited,
    /// A handshake message that was not made for this key, with another preshared key, or was
    /// altered.
    Handshake,
    /// An authentic handshake message from a key that is not configured.
    Stranger,
    /// An authentic handshake message that is not newer than the last: a replay, or a peer whose
    /// clock went back.
    OldHandshake,
    /// A datagram for a session that does not exist or has ended.
    Session,
    /// Data that was received before, or is too old to tell.
    Replayed,
    /// Data with a wrong authentication tag.
    Forged,
}

impl Reason {
    /// All reasons, in the order of their declaration.
    pub const ALL: [Self; 12] = [
        Self::Length,
        Self::Kind,
        Self::Version,
        Self::Check,
        Self::Unproven,
        Self::Limited,
        Self::Handshake,
        Self::Stranger,
        Self::OldHandshake,
        Self::Session,
        Self::Replayed,
        Self::Forged,
    ];

    /// A short name for logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Length => "wrong length",
            Self::Kind => "unknown kind",
            Self::Version => "other version of the tunnel",
            Self::Check => "wrong handshake check",
            Self::Unproven => "address not proven yet",
            Self::Limited => "too many handshakes",
            Self::Handshake => "handshake not authentic",
            Self::Stranger => "unknown key",
            Self::OldHandshake => "replayed handshake",
            Self::Session => "no such session",
            Self::Replayed => "replayed data",
            Self::Forged => "data not authentic",
        }
    }
}

/// What was received so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Authentic data datagrams, keepalives included.
    pub data: u64,
    /// Handshakes completed. The responder counts a handshake when data confirms it.
    pub handshakes: u64,
    dropped: [u64; Reason::ALL.len()],
}

impl Counts {
    pub(super) fn drop_for(&mut self, reason: Reason) {
        self.dropped[reason as usize] += 1;
    }

    /// Datagrams dropped for `reason`.
    #[must_use]
    pub const fn dropped_for(&self, reason: Reason) -> u64 {
        self.dropped[reason as usize]
    }

    /// Datagrams dropped for any reason.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }
}
