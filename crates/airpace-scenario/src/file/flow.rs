//! Traffic.

use airpace_config::choice;
use airpace_config::quantity::{Rate, Size, Span};
use airpace_config::section;

choice! {
    /// What a flow is.
    FlowKind:
    /// UDP at a constant rate.
    UdpCbr = "udp-cbr",
    /// UDP with exponential gaps.
    UdpPoisson = "udp-poisson",
    /// Video or VR: a burst of packets per picture.
    Burst = "burst",
    /// TCP, bulk.
    Tcp = "tcp",
    /// Echo requests and their answers.
    Ping = "ping",
    /// G.711, 20 ms, with its MOS by ITU-T G.107.
    Voip = "voip",
    /// Web pages: DNS first, several connections, a list of objects.
    Web = "web",
    /// As much UDP as the sender is let: the rate that a proxy allots, or else a queue that is never empty.
    Saturate = "saturate",
}

choice! {
    /// Access category, also the marking of the packets.
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

choice! {
    /// TCP's congestion control.
    Congestion:
    /// Cubic (RFC 9438), Linux's default.
    Cubic = "cubic",
    /// Reno (RFC 5681, RFC 6582).
    Reno = "reno",
    /// BBR.
    Bbr = "bbr",
}

choice! {
    /// A web page.
    Page:
    /// 56 KB in 3 requests.
    Small = "small",
    /// 3 MB in 110 requests.
    Large = "large",
}

section! {
    /// A flow, or one per station.
    Flow as "[[flow]]" {
        /// Name; the default is its kind. One per station: NAME@STATION.
        name: Option<String> = optional,
        /// Sender (for "web": the server): a node; "each station"; or the name of several nodes for one flow each. The default is the
        /// only host, or without one the access point.
        from: Option<String> = optional,
        /// Receiver (for "web": the client): a node; "each station"; or the name of several nodes for one flow each.
        to: String = default("each station"),
        /// What it is.
        kind: FlowKind = required("udp-cbr"),
        /// How many of it between each pair; 0: the flow is left out.
        count: u32 = default("1", "0", "1000"),
        /// Access category of its packets.
        category: Category = default("best-effort"),
        /// When it starts.
        start: Span = default("0 s", "0 s", "1000000 s"),
        /// When it stops; the default is the end.
        stop: Option<Span> = optional("0 s", "1000000 s"),
        /// Time it is on before each pause, if there are pauses.
        on: Option<Span> = optional("1 us", "1000000 s"),
        /// Length of each pause.
        off: Option<Span> = optional("1 us", "1000000 s"),
        /// Rate of payload, for udp-cbr, udp-poisson and burst.
        rate: Option<Rate> = optional("1 bit/s", "100 Gbit/s"),
        /// UDP payload of a packet, for udp-cbr, udp-poisson and saturate, default 1470 B; most of a packet for burst, default 1470 B;
        /// bytes after the header of a ping, default 56 B.
        payload: Option<Size> = optional("1 B", "8972 B"),
        /// Time between bursts, default 16667 us (60 pictures a second); between pings, default 1 s; from the end of a web page to the
        /// next request for it, default none: the page is loaded once.
        interval: Option<Span> = optional("10 us", "1000000 s"),
        /// Standard deviation over mean of the bursts' sizes, default 0.
        spread: Option<f64> = optional("0", "2"),
        /// TCP: congestion control, default cubic.
        congestion: Option<Congestion> = optional,
        /// TCP: whether ECN is negotiated; default no.
        ecn: Option<bool> = optional,
        /// TCP: largest segment's payload; default 1448 B.
        mss: Option<Size> = optional("64 B", "8948 B"),
        /// TCP: bytes to transfer; without it, as much as goes.
        bytes: Option<Size> = optional("1 B", "1000000 GB"),
        /// TCP: the receiver's buffer, default 6 MB.
        window: Option<Size> = optional("2 kB", "1 GB"),
        /// TCP: the sender's buffer, default 6 MB.
        send_buffer: Option<Size> = optional("2 kB", "1 GB"),
        /// Web: the page; default small.
        page: Option<Page> = optional,
        /// Web: connections at a time; default 4.
        connections: Option<u32> = optional("1", "64"),
    }
}

/// Stands for all nodes of kind station, as an end of a flow.
pub const EACH_STATION: &str = "each station";

impl Flow {
    /// What the flow goes by.
    #[must_use]
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(self.kind.word())
    }
}
