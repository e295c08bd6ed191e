//! How a sender behaves.

/// Congestion control algorithm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Algorithm {
    /// Additive increase, multiplicative decrease (RFC 5681).
    Reno,
    /// RFC 9438 with HyStart, Linux's default.
    #[default]
    Cubic,
    /// BBR version 1, as Linux has it since 4.9.
    Bbr,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 3] = [Self::Reno, Self::Cubic, Self::Bbr];

    /// The name by which Linux knows it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
        }
    }

    /// The algorithm that Linux calls `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
    }
}

/// How a sender behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderConfig {
    /// Congestion control (default Cubic).
    pub algorithm: Algorithm,
    /// Payload of a full segment, bytes (default 1448: packets of 1500 bytes with timestamps).
    pub segment_bytes: u32,
    /// Most bytes in flight, whatever the windows allow: the send buffer (default 6 MB).
    pub send_buffer: u64,
    /// Congestion window at the start, segments (default 10, RFC 6928).
    pub initial_window: u32,
    /// Whether segments are ECN-capable (default no).
    pub ecn: bool,
    /// Whether to open the connection with a SYN first (default yes). Without it the peer has opened it, as a server's response goes.
    pub handshake: bool,
    /// Whether BBR allows for acknowledgements that come in bunches, as Linux since 5.1 (default yes). ns-3 3.44 in effect does not: it gives its
    /// measurement up after 4096 bytes.
    pub allow_for_bunches: bool,
    /// Seed of the few draws that an algorithm makes (BBR's first phase); each connection needs its own.
    pub seed: u64,
}

impl SenderConfig {
    /// A sender with `algorithm` and the defaults named at each field.
    #[must_use]
    pub const fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            segment_bytes: 1_448,
            send_buffer: 6_000_000,
            initial_window: 10,
            ecn: false,
            handshake: true,
            allow_for_bunches: true,
            seed: 0,
        }
    }
}
