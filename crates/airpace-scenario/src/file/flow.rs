//! Traffic.

use airpace_config::choice;
use airpace_config::choice::Choice;
use airpace_config::quantity::{Rate, Size, Span};
use airpace_config::section;
use airpace_sim::traffic::web::NamedPage;
use airpace_sim::transport::tcp::Algorithm;

choice! {
    /// What a flow is.
    FlowKind:
    /// UDP at a constant rate.
    UdpCbr = "udp-cbr",
    /// UDP as a Poisson process: exponential gaps between packets.
    UdpPoisson = "udp-poisson",
    /// Video or VR: a burst of UDP packets per picture.
    Burst = "burst",
    /// A bulk transfer by TCP.
    Tcp = "tcp",
    /// Echo requests and their answers.
    Ping = "ping",
    /// A call: G.711 with a packet every 20 ms; its MOS is computed by ITU-T G.107.
    Voip = "voip",
    /// Web pages: a DNS query first, then a list of objects over several connections.
    Web = "web",
    /// UDP at a constant rate to all stations of the access point `to`: each packet is sent once, at
    /// the lowest basic rate and without acknowledgement. Figures count the copy of each station.
    Multicast = "multicast",
    /// Saturating UDP: the rate that a proxy allots, or, without a proxy, a queue that is never
    /// empty.
    Saturate = "saturate",
}

choice! {
    /// Access category, from which the DSCP of the packets follows.
    Category:
    /// Best effort.
    BestEffort = "best-effort",
    /// Background.
    Background = "background",
    /// Video.
    Video = "video",
    /// Voice.
    Voice = "voice",
}

section! {
    /// A flow, or one per station.
    Flow as "[[flow]]" {
        /// Name. Flows to or from several nodes are called NAME@NODE.
        name: Option<String> = optional("its `kind`"),
        /// Sender (of web pages: the server): a node, or a group or "each station" for one flow
        /// each.
        from: Option<String> = optional("the only host, or else the access point"),
        /// Receiver (of web pages: the client): a node, or a group or "each station" for one flow
        /// each. Of multicast the access point.
        to: String = default("each station"),
        /// Kind of flow.
        kind: FlowKind = required("udp-cbr"),
        /// Number of such flows between each pair of nodes; 0 leaves the flow out.
        count: u32 = default("1", "0", "1000"),
        /// Access category of its packets.
        category: Category = default("best-effort"),
        /// Time at which it starts.
        start: Span = default("0 s", "0 s", "1000000 s"),
        /// Time at which it stops.
        stop: Option<Span> = optional("the end of the run", "0 s", "1000000 s"),
        /// Time for which it sends before each pause of length `off`.
        on: Option<Span> = optional("no pauses", "1 us", "1000000 s"),
        /// Length of the pauses; needs `on`.
        off: Option<Span> = optional("1 us", "1000000 s"),
        /// Rate of payload of udp-cbr, udp-poisson, burst and multicast, which need it.
        rate: Option<Rate> = optional("1 bit/s", "100 Gbit/s"),
        /// UDP payload of a packet of udp-cbr, udp-poisson, multicast and saturate; largest payload of burst;
        /// bytes after the ICMP header of ping.
        payload: Option<Size> = optional("1470 B; ping: 56 B", "1 B", "8972 B"),
        /// Time between bursts or between pings; time from the end of a web page to the next
        /// request for it.
        interval: Option<Span> = optional("burst: 16667 us (60 a second); ping: 1 s; web: the page is loaded once", "10 us", "1000000 s"),
        /// Standard deviation of the bursts' sizes over their mean (log-normal).
        spread: Option<f64> = optional("0", "0", "2"),
        /// Congestion control of tcp and web.
        congestion: Option<Choice<Algorithm>> = optional("cubic"),
        /// Whether tcp and web negotiate ECN.
        ecn: Option<bool> = optional("false"),
        /// Whether packets of tcp look like those of QUIC: a box in front of the access point sees no more of
        /// them than the spin bit.
        quic: Option<bool> = optional("false"),
        /// Full segments after which tcp's receiver acknowledges without delay. Chromium's QUIC waits for ten.
        ack_every: Option<u32> = optional("2", "1", "64"),
        /// Whether tcp's receiver acknowledges what arrives in one frame as one, as with generic receive offload, or
        /// QUIC stacks that read all packets at a time.
        merge: Option<bool> = optional("false"),
        /// Payload of the largest segment of tcp and web.
        mss: Option<Size> = optional("1448 B", "64 B", "8948 B"),
        /// Bytes that tcp transfers.
        bytes: Option<Size> = optional("as much as it can until it stops", "1 B", "1000000 GB"),
        /// Receive buffer of tcp and web.
        window: Option<Size> = optional("6 MB", "2 kB", "1 GB"),
        /// Send buffer of tcp and web.
        send_buffer: Option<Size> = optional("6 MB", "2 kB", "1 GB"),
        /// Most bytes of tcp at the sender's own radio (TCP small queues).
        small_queue: Option<Size> = optional("no limit", "3 kB", "1 GB"),
        /// Whether a full queue at tcp's own radio refuses segments: they count as not sent and the
        /// window is reduced, as in Linux. Otherwise they are lost.
        refusals: Option<bool> = optional("false"),
        /// The page that web loads.
        page: Option<Choice<NamedPage>> = optional("small"),
        /// Connections that web opens at a time.
        connections: Option<u32> = optional("4", "1", "64"),
    }
}

/// As an end of a flow: every node of kind station.
pub const EACH_STATION: &str = "each station";

impl Flow {
    /// The name of the flow.
    #[must_use]
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(self.kind.word())
    }
}
