//! Nodes, wires and routes.

use super::queue::NodeQueue;
use super::rate::RateChoice;
use airpace_config::choice;
use airpace_config::point::Point;
use airpace_config::quantity::{Decibels, Length, Packets, Power, Rate, Span};
use airpace_config::section;

choice! {
    /// What a node is.
    NodeKind:
    /// A client of an access point.
    Station = "station",
    /// An access point.
    Ap = "ap",
    /// A host that has wires only.
    Host = "host",
    /// A node that forwards by radio: a client of the node above it and an access point for those
    /// below.
    Relay = "relay",
}

section! {
    /// A node, or several alike.
    Node as "[[node]]" {
        /// Name. With `count` above 1 the nodes are called NAME-1, NAME-2, ….
        name: Option<String> = optional("its `kind`"),
        /// Kind of node.
        kind: NodeKind = required("station"),
        /// Number of such nodes.
        count: u32 = default("1", "1", "2000"),
        /// Name of the access point (or relay) that it is associated with.
        ap: Option<String> = optional("the only access point"),
        /// Names of the channels that it is on. A relay may be on two: that of its own access
        /// point, and that on which it serves its clients.
        channel: Vec<String> = nested("that of its access point, else the first"),
        /// Rate of frames to it, and from it if `uplink_rate` is left out. A list gives each of
        /// `count` nodes its own.
        rate: Vec<RateChoice> = default("mcs 9"),
        /// Rate of frames from it.
        uplink_rate: Vec<RateChoice> = nested,
        /// Probability that an MPDU to or from it is not decoded, in place of the error model. A
        /// list gives each node its own.
        loss: Vec<f64> = list("0", "0.999"),
        /// The same of an MPDU from it alone, in place of `loss`.
        uplink_loss: Vec<f64> = list("0", "0.999"),
        /// Distance from its access point, if it has no `position`.
        distance: Length = default("2 m", "0 m", "1000 km"),
        /// Coordinates.
        position: Option<Point> = optional,
        /// Side of a square around the access point in which it is placed at random, if it has no
        /// `position`.
        within: Option<Length> = optional("0 m", "1000 km"),
        /// When it goes to which other access points.
        roam: Roam = nested,
        /// Transmit power, antenna gain included.
        tx_power: Power = default("16 dBm", "-50 dBm", "60 dBm"),
        /// Time at which it joins the network.
        joins: Span = default("0 s", "0 s", "1000000 s"),
        /// Its queues towards the radio.
        queue: NodeQueue = nested,
        /// Whether its agent has a monitor interface. Without one the agent tells frames apart by
        /// arrival times, and reports no PHY rate.
        monitor: bool = default("true"),
        /// Whether an agent reports of it beside a proxy with reports = "observed" or "radio", which
        /// observes the others.
        agent: bool = default("false"),
        /// Its weight in the sharing of airtime, relative to others, if its access point has scheme
        /// = "airtime"; 256 as in Linux.
        airtime_weight: u16 = default("256", "1", "65535"),
    }
}

section! {
    /// When a station goes from its access point to another one. It scans all channels of these
    /// access points with probes, and joins one that is enough stronger.
    Roam as "roam" {
        /// Names of the access points between which it goes, besides its own; the name of a group
        /// stands for all of it.
        to: Vec<String> = nested("none: it stays with its own"),
        /// It scans when beacons of its access point are weaker than this.
        scan_below: Power = default("-70 dBm", "-120 dBm", "60 dBm"),
        /// By how much another access point must be stronger.
        better_by: Decibels = default("8 dB", "0 dB", "100 dB"),
        /// It joins no access point that is weaker than this.
        least: Power = default("-82 dBm", "-120 dBm", "60 dBm"),
        /// Least time from one scan to the next, and so between two hand-overs.
        scan_interval: Span = default("10 s", "100 ms", "1000 s"),
        /// How long it listens on a channel after its probe request.
        dwell: Span = default("30 ms", "5 ms", "1 s"),
        /// Beacons of its access point in a row that it must miss to take it for lost.
        lost_beacons: u32 = default("7", "1", "1000"),
    }
}

section! {
    /// A wire between two nodes, the same both ways.
    Wire as "[[wire]]" {
        /// Name of one end.
        a: String = required("server"),
        /// Name of the other end.
        b: String = required("ap"),
        /// Rate each way.
        rate: Rate = default("1 Gbit/s", "1 kbit/s", "1000 Gbit/s"),
        /// Delay each way.
        delay: Span = default("0 s", "0 s", "1000 s"),
        /// Queue in front of each direction.
        queue: Packets = default("1000 packets", "1 packet", "10000000 packets"),
    }
}

section! {
    /// A static route, in place of the shortest one.
    Route as "[[route]]" {
        /// Node that forwards the packets.
        at: String = required("gateway"),
        /// Node that the packets are addressed to.
        to: String = required("station"),
        /// Neighbour that the packets are forwarded to.
        via: String = required("relay"),
    }
}

impl Node {
    /// The name of the node, or of the group if there are several.
    #[must_use]
    pub fn group(&self) -> &str {
        self.name.as_deref().unwrap_or(self.kind.word())
    }

    /// The name of each node.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        let several = self.count > 1;
        (1..=self.count).map(move |n| {
            if several {
                format!("{}-{n}", self.group())
            } else {
                self.group().to_owned()
            }
        })
    }
}
