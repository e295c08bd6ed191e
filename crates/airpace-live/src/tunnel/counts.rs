//! Why datagrams are dropped, and how many were.

/// Why a datagram was dropped without an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// Too short or too long for its kind.
    Length,
    /// No kind of datagram that there is.
    Kind,
    /// A handshake whose keyed check is wrong.
    Check,
    /// A handshake beyond what is computed per second.
    Limited,
    /// A handshake that was not made for this key, or was altered.
    Handshake,
    /// An authentic handshake of a key that is not configured.
    Stranger,
    /// An authentic handshake that is not newer than the last: a replay, or a peer whose clock went back.
    OldHandshake,
    /// Data for a session that is not there, or is over.
    Session,
    /// Data that came before, or too late to know.
    Replayed,
    /// Data whose tag is wrong.
    Forged,
}

impl Reason {
    /// All reasons, in the order in which [`Counts`] lists them.
    pub const ALL: [Self; 10] = [
        Self::Length,
        Self::Kind,
        Self::Check,
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
            Self::Check => "handshake check wrong",
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

/// What has come in, by fate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Data accepted, keepalives included.
    pub data: u64,
    /// Handshakes completed.
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

    /// Datagrams dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }
}
