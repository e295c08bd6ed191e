//! How a sender behaves.

use airpace_core::packet::Ecn;
use core::time::Duration;
use strum::{
    Display, EnumIter, EnumMessage, EnumString, IntoStaticStr, VariantArray, VariantNames,
};

/// Congestion control algorithm. In text it has the name by which Linux knows it, as in `sysctl
/// net.ipv4.tcp_available_congestion_control`.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    Display,
    EnumIter,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
    VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Algorithm {
    /// Cubic (RFC 9438) with HyStart, Linux's default.
    #[default]
    Cubic,
    /// Reno: additive increase, multiplicative decrease (RFC 5681, RFC 6582).
    Reno,
    /// BBR version 1, as Linux has had it since 4.9.
    Bbr,
    /// Prague: a scalable control for L4S, with ECT(1) and accurate ECN feedback. It is not in
    /// Linux itself but in the L4S team's.
    Prague,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: &[Self] = <Self as VariantArray>::VARIANTS;

    /// The name by which Linux knows it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How a sender behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderConfig {
    /// Congestion control (default Cubic).
    pub algorithm: Algorithm,
    /// Payload of a full segment, bytes (default 1448: packets of 1500 bytes with timestamps).
    pub segment_bytes: u32,
    /// Send buffer: most bytes in flight, whatever the windows allow (default 6 MB).
    pub send_buffer: u64,
    /// Most bytes of IP packets that may wait, or be on the air, at the sender's own radio (Linux's TCP
    /// small queues, `tcp_limit_output_bytes`), at least two packets; whoever drives the sender keeps
    /// to it. `None` (default): no limit. It means nothing if the sender's first hop is a wire.
    pub small_queue: Option<u64>,
    /// Whether a full queue at the sender's own radio refuses a segment (default no: it drops it),
    /// as the queueing disciplines of Linux do with packets that come from the host itself.
    /// Whoever drives the sender then calls [`Sender::on_refused`](super::Sender::on_refused).
    /// What a queue drops later, as CoDel does, is lost in any case.
    pub refusals: bool,
    /// Initial congestion window, segments (default 10, RFC 6928).
    pub initial_window: u32,
    /// Whether segments are ECN-capable (default no): ECT(0). Prague always sends ECT(1).
    pub ecn: bool,
    /// Whether to open the connection with a SYN (default yes). Without it the peer is taken to
    /// have opened the connection, as for the response of a server.
    pub handshake: bool,
    /// Whether BBR enlarges its window for aggregated acknowledgements, as Linux does since 5.1
    /// (default yes). ns-3 3.44 in effect does not, because it abandons the measurement after 4096
    /// bytes.
    pub allow_for_bunches: bool,
    /// Prague behaves as if the round-trip time were at least this (default 25 ms); zero: it takes
    /// the real one.
    pub virtual_rtt: Duration,
    /// Seed of the few random draws that an algorithm makes (the first phase of BBR); give each
    /// connection its own.
    pub seed: u64,
}

impl SenderConfig {
    /// A sender with `algorithm` and the default of each other field.
    #[must_use]
    pub const fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            segment_bytes: 1_448,
            send_buffer: 6_000_000,
            small_queue: None,
            refusals: false,
            initial_window: 10,
            ecn: false,
            handshake: true,
            allow_for_bunches: true,
            virtual_rtt: Duration::from_millis(25),
            seed: 0,
        }
    }

    /// The codepoint of segments with data.
    #[must_use]
    pub const fn codepoint(&self) -> Ecn {
        match self.algorithm {
            Algorithm::Prague => Ecn::Ect1,
            _ if self.ecn => Ecn::Ect0,
            _ => Ecn::NotEct,
        }
    }

    /// The codepoint of retransmissions. They are not ECN-capable (RFC 3168, section 6.1.5), except
    /// those of a scalable sender (RFC 8311, section 4.3), whose segments must all wait in the same
    /// queue.
    #[must_use]
    pub const fn codepoint_of_retransmissions(&self) -> Ecn {
        match self.codepoint() {
            Ecn::Ect1 => Ecn::Ect1,
            _ => Ecn::NotEct,
        }
    }
}
