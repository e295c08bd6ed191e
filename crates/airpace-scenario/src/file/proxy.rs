//! The airpace proxy as a node's function, changes in the course of a run, and what is recorded.

use super::rate::RateChoice;
use airpace_config::choice;
use airpace_config::choice::{Choice, Extended};
use airpace_config::point::Point;
use airpace_config::quantity::{Packets, Rate, Size, Span};
use airpace_config::section;
use airpace_core::control::{Aim, Law};

choice! {
    /// What a proxy does instead of a rate control law.
    NoLaw:
    /// No law: packets pass unshaped and are only measured.
    None = "none",
}

/// A rate control law by its name, or none.
pub type ProxyLaw = Choice<Extended<Law, NoLaw>>;

choice! {
    /// How the law learns what the stations measured.
    Reports:
    /// By one packet per station and slot over the air.
    Air = "air",
    /// Directly at the end of each slot. The packets are sent all the same and cost airtime, as in
    /// the ns-3 runs.
    Told = "told",
    /// Directly at the end of each slot, and no packets are sent.
    Free = "free",
    /// Not at all: nothing is on the stations, and the proxy observes the acknowledgements that pass
    /// it.
    Observed = "observed",
    /// Not at all: nothing is on the stations. The proxy observes the acknowledgements that pass it,
    /// and a radio near the access point hears block acks on the channel of the proxy's first
    /// station.
    Radio = "radio",
}

choice! {
    /// Access category of the packets of sparse flows.
    Interactive:
    /// Video.
    Video = "video",
    /// Voice.
    Voice = "voice",
}

section! {
    /// An airpace proxy: a pacer and flow queues per station at a node, and the law that sets the
    /// rates.
    Proxy as "[[proxy]]" {
        /// Node at which it stands.
        at: Option<String> = optional("the access point's wired side"),
        /// The rate control law.
        law: ProxyLaw = default("waterfill"),
        /// What law waterfill aims at. `level` and `delay` without it pose the papers' problem, in
        /// which delay has no price.
        aim: Option<Choice<Aim>> = optional("balanced"),
        /// Price of delay (κ) of law waterfill, in place of `aim`.
        price: Option<f64> = optional("that of the aim", "0", "100"),
        /// Time within which law waterfill lets 95 of 100 packets pass the access point, waiting
        /// included. It moves the price.
        latency: Option<Span> = optional("none", "1 ms", "10 s"),
        /// Target of the level, or its limit, mean packets per frame (N_ε, N̄).
        level: Option<f64> = optional("32; for law waterfill as long as frames can be", "1", "1024"),
        /// Delay target: the round time not to be exceeded (T̄). Laws linear, linear-pf and dual
        /// ignore it.
        delay: Option<Span> = optional("none", "10 us", "100 s"),
        /// Length of a slot.
        slot: Option<Span> = optional("the scenario's", "1 ms", "100 s"),
        /// How the law learns what the stations measured.
        reports: Reports = default("air"),
        /// Probability that the radio of `reports = "radio"` misses a data frame. Data go out at high
        /// rates, in beams that point elsewhere.
        air_loss: Option<f64> = optional("1", "0", "1"),
        /// Probability that it misses a control frame, such as a block ack.
        air_loss_control: Option<f64> = optional("0", "0", "1"),
        /// Whether law waterfill counts the stations' own frames as at a box in the wire, where
        /// acknowledgements arrive as the stations send them.
        in_line: Option<bool> = optional("whether nothing is on the stations"),
        /// UDP payload of a report; a live one has 72 B without its tunnel.
        report_size: Size = default("72 B", "1 B", "1400 B"),
        /// Size of a packet that the law assumes, IP header included.
        packet: Option<Size> = optional("that of the first UDP flow", "64 B", "9000 B"),
        /// Gain K0 of linear and linear-pf, Mbit/s per packet; step of the multipliers of dual.
        gain: Option<f64> = optional("the law's", "0.000000001", "1000"),
        /// Inner gain K1 of nonlinear.
        inner_gain: Option<f64> = optional("the law's", "0.000001", "4"),
        /// Outer gain K2 of nonlinear.
        outer_gain: Option<f64> = optional("the law's", "0.000001", "4"),
        /// Gain β of nonlinear's estimate of the overhead.
        overhead_gain: Option<f64> = optional("the law's", "0", "1"),
        /// Overhead per frame that the law starts with.
        overhead: Option<Span> = optional("the law's", "1 us", "1 s"),
        /// Rate of a station before its first report.
        initial_rate: Option<Rate> = optional("the law's", "1 kbit/s", "100 Gbit/s"),
        /// Bytes that tunnelling adds to each packet.
        tunnel: Size = default("0 B", "0 B", "200 B"),
        /// How long the stations' agents may hold pure TCP acknowledgements to share a frame; 0 ms
        /// holds none.
        gather_acks: Span = default("5 ms", "0 ms", "20 ms"),
        /// Whether agents drop acknowledgements that are held together and tell their sender
        /// nothing that a later one does not.
        thin_acks: bool = default("true"),
        /// Access category in which packets of sparse flows leave, so that they pass the others at
        /// the access point.
        interactive: Option<Interactive> = optional("off"),
        /// Most airtime of those packets, of all stations together, as a share of the time.
        /// Only with `interactive`.
        interactive_budget: Option<f64> = optional("0.02", "0.001", "0.5"),
        /// Packets that the flow queues of each station hold.
        queue: Packets = default("10240 packets", "1 packet", "10000000 packets"),
        /// Whether its CoDel marks ECN-capable packets instead of dropping them.
        ecn: bool = default("true"),
        /// Whether packets with ECT(1), which `congestion = "prague"` sends, wait in a low-latency
        /// queue of their own (L4S, RFC 9332). It has no effect without `ecn`.
        l4s: bool = default("true"),
    }
}

choice! {
    /// Whether the agent of a station runs.
    AgentState:
    /// It runs: one that was stopped starts anew.
    Running = "running",
    /// It is stopped: it neither measures nor reports.
    Stopped = "stopped",
}

section! {
    /// A change in the course of the run.
    Change as "[[change]]" {
        /// Time at which it happens.
        at: Span = required("20 s", "0 s", "1000000 s"),
        /// Node or group that changes: its `rate`, `loss`, `position`, reports, `agent` or proxy.
        node: Option<String> = optional,
        /// New rate of frames to and from it.
        rate: Option<RateChoice> = optional,
        /// New probability that an MPDU is not decoded.
        loss: Option<f64> = optional("0", "0.999"),
        /// New coordinates, which decide about losses from then on. Who hears whom stays as it was.
        position: Option<Point> = optional,
        /// Probability that a report of the station is lost on its way to its proxy, besides the
        /// fate of its packet. The three `report_…` keys are set together.
        report_loss: Option<f64> = optional("0 with another `report_…` key", "0", "1"),
        /// Additional delay of its reports.
        report_delay: Option<Span> = optional("0 s with another `report_…` key", "0 s", "1000 s"),
        /// Copies in which each of its reports arrives.
        report_copies: Option<u8> = optional("1 with another `report_…` key", "1", "100"),
        /// Whether the station's agent runs.
        agent: Option<AgentState> = optional,
        /// Whether the proxy at the node restarts: it loses all packets and everything that it has
        /// learnt.
        proxy_restart: bool = default("false"),
        /// Flow whose rate changes.
        flow: Option<String> = optional,
        /// New rate of payload of that flow (udp-cbr, udp-poisson); 0 bit/s pauses it.
        flow_rate: Option<Rate> = optional("0 bit/s", "100 Gbit/s"),
        /// Channel whose `neighbours` change.
        channel: Option<String> = optional("the first"),
        /// New number of saturated transmitters of other networks.
        neighbours: Option<u16> = optional("0", "1000"),
    }
}

section! {
    /// What is recorded besides the summary, for `--out`.
    Record as "[record]" {
        /// Counts per link and slot.
        slots: bool = default("true"),
        /// Every frame on the air.
        frames: bool = default("false"),
        /// Every packet.
        packets: bool = default("false"),
        /// A radiotap capture of every frame that was received, control frames and beacons, without
        /// payload.
        pcap: bool = default("false"),
    }
}
