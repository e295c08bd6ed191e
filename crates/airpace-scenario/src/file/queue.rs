//! A node's queues towards the radio.

use airpace_config::choice;
use airpace_config::document::KeyError;
use airpace_config::quantity::{Packets, Rate, Size, Span};
use airpace_config::section;

choice! {
    /// By which path packets go from the network layer to the air: which queues there are, and in which order they are served.
    Scheme:
    /// One queue per receiver in the MAC and nothing above or below: the closed access point.
    PerStation = "per-station",
    /// Linux before 4.8: a first-in-first-out queueing discipline (pfifo) over the driver's shared queue.
    Fifo = "fifo",
    /// The same with CoDel (RFC 8289) as queueing discipline.
    Codel = "codel",
    /// The same with FQ-CoDel (RFC 8290) as queueing discipline.
    FqCodel = "fq-codel",
    /// FQ-CoDel within the MAC, per receiver (paper 004, Linux since 4.8): nothing above.
    FqMac = "fq-mac",
    /// The same with airtime shared equally among receivers (paper 004, Linux since 4.11).
    Airtime = "airtime",
    /// The path of "fifo", its limit following rate and load (paper 003, WQM).
    Wqm = "wqm",
    /// The path of "fq-codel", its limit following rate and load.
    WqmFq = "wqm-fq",
}

choice! {
    /// In which order a node serves those it sends to.
    Schedule:
    /// In turn: who was served goes to the end.
    RoundRobin = "round-robin",
    /// Whose first packet has waited longest.
    OldestFirst = "oldest-first",
}

choice! {
    /// Whom the limit of a queue is for.
    Sharing:
    /// Each receiver has the whole limit.
    Separate = "separate",
    /// All receivers share it.
    Shared = "shared",
}

choice! {
    /// How WQM estimates the time that the backlog takes.
    Drain:
    /// At the PHY rate less the overhead of frames of the mean A-MPDU length.
    WithOverhead = "with-overhead",
    /// At the PHY rate, as the paper's equation 2 has it.
    Published = "published",
}

section! {
    /// A node's queues towards the radio. Which keys there are depends on `scheme`.
    NodeQueue as "queue" {
        /// The path that packets take.
        scheme: Scheme = default("per-station"),
        /// per-station: packets it holds; default 1000.
        limit: Option<Packets> = optional("1 packet", "10000000 packets"),
        /// per-station: whom the limit is for; default separate.
        sharing: Option<Sharing> = optional,
        /// per-station: whether packets in flight count for the limit until they are acknowledged; the default is yes if it is shared, as in
        /// ns-3.
        in_flight: Option<bool> = optional,
        /// All but airtime: in which order receivers are served; default round-robin.
        schedule: Option<Schedule> = optional,
        /// fifo, codel, fq-codel: packets that the queueing discipline holds; default 1000 (txqueuelen), for fq-codel 10240.
        qdisc_limit: Option<Packets> = optional("1 packet", "10000000 packets"),
        /// fifo, codel, fq-codel, wqm, wqm-fq: packets that the driver holds for all receivers of an access category before the queueing
        /// discipline must wait; default 123, as ath9k.
        driver_limit: Option<Packets> = optional("1 packet", "1000000 packets"),
        /// Aggregates per access category that are composed ahead, the one on the air included; 0: each is composed when the channel is won.
        /// Default 2, as ath9k; for per-station 0; with aql 64, so that the airtime limit decides.
        hardware_queue: Option<u16> = optional("0", "64"),
        /// fq-codel, fq-mac, airtime, wqm-fq: queues that flows are hashed to; default 1024, for fq-mac and airtime 4096 shared by all
        /// receivers.
        flow_queues: Option<u32> = optional("1", "65536"),
        /// fq-codel, fq-mac, airtime, wqm-fq: bytes that a flow may send per turn; default 1514 B, for fq-mac and airtime 300 B.
        quantum: Option<Size> = optional("256 B", "1 MB"),
        /// fq-mac, airtime: packets that all flow queues may hold together; default 8192.
        packet_limit: Option<Packets> = optional("1 packet", "10000000 packets"),
        /// fq-codel, fq-mac, airtime, wqm-fq: bytes that all flow queues may hold together; default 32 MiB, for fq-mac and airtime 16 MiB.
        memory_limit: Option<Size> = optional("1 kB", "1 TB"),
        /// codel, fq-codel, fq-mac, airtime, wqm-fq: when packets are dropped or marked.
        codel: CodelQueue = nested,
        /// fq-mac, airtime: the same for receivers that are slow.
        slow: SlowStations = nested,
        /// airtime: airtime that a receiver may use per turn; default 300 us.
        airtime_quantum: Option<Span> = optional("1 us", "100 ms"),
        /// airtime: whether receivers that had nothing waiting are served first; default yes.
        sparse: Option<bool> = optional,
        /// fq-mac, airtime: the airtime queue limit that Linux added in 5.5; true for Linux's values, default none.
        aql: Option<AirtimeQueueLimit> = optional,
        /// wqm, wqm-fq: how the limit follows.
        wqm: WqmQueue = nested,
    }
}

section! {
    /// CoDel's parameters.
    CodelQueue as "codel" {
        /// Acceptable standing delay; default 5 ms, for fq-mac and airtime 20 ms.
        target: Option<Span> = optional("1 us", "10 s"),
        /// Time in which a standing queue must show; default 100 ms.
        interval: Option<Span> = optional("10 us", "4 s"),
    }
}

section! {
    /// CoDel's parameters for receivers of which little throughput is expected.
    SlowStations as "slow" {
        /// Expected throughput below which a receiver is slow; default 12 Mbit/s; 0 bit/s: none is.
        below: Option<Rate> = optional("0 bit/s", "100 Gbit/s"),
        /// Acceptable standing delay; default 50 ms.
        target: Option<Span> = optional("1 us", "10 s"),
        /// Time in which a standing queue must show; default 300 ms.
        interval: Option<Span> = optional("10 us", "4 s"),
        /// Least time between changes from one to the other; default 2 s.
        hysteresis: Option<Span> = optional("0 s", "1000 s"),
    }
}

section! {
    /// The airtime that may be composed ahead. Short form: true or false.
    AirtimeQueueLimit as "aql" or AirtimeQueueLimit::parse {
        /// Whether it holds.
        on: bool = default("true"),
        /// Airtime that each receiver may always have under way; default 5 ms.
        low: Option<Span> = optional("10 us", "10 s"),
        /// Airtime that a receiver may have under way as long as all together are below `threshold`; default 12 ms.
        high: Option<Span> = optional("10 us", "10 s"),
        /// Airtime of all together from which on `low` holds; default 24 ms.
        threshold: Option<Span> = optional("0 s", "100 s"),
    }
}

section! {
    /// WQM's parameters.
    WqmQueue as "wqm" {
        /// Time that the backlog may take to send; default 2.5 ms.
        limit: Option<Span> = optional("10 us", "10 s"),
        /// Time between measurements; default 100 ms.
        interval: Option<Span> = optional("1 ms", "10 s"),
        /// How the time that the backlog takes is estimated; default with-overhead.
        drain: Option<Drain> = optional,
        /// Factor by which the limit shrinks after two measurements above; default 0.5.
        decrease: Option<f64> = optional("0.01", "0.99"),
        /// Packets by which it grows after two measurements below; default 1.
        increase: Option<u32> = optional("1", "1000"),
    }
}

impl AirtimeQueueLimit {
    /// A short form.
    fn parse(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(on) => Ok(Self {
                on,
                ..Self::default()
            }),
            Err(_) => Err(format!(
                "`{text}` stands where true, false or a table is needed: aql {{ … }}"
            )),
        }
    }
}

impl Scheme {
    /// Whether a queueing discipline stands above the driver's queue.
    #[must_use]
    pub const fn has_qdisc(self) -> bool {
        matches!(
            self,
            Self::Fifo | Self::Codel | Self::FqCodel | Self::Wqm | Self::WqmFq
        )
    }
}

impl NodeQueue {
    /// Refuses keys that mean nothing for the scheme; `at` is the path of the table.
    pub(super) fn check(&self, at: &str) -> Result<(), KeyError> {
        for (key, given, schemes) in self.keys() {
            if !given || schemes.contains(&self.scheme) {
                continue;
            }
            let words: Vec<&str> = schemes.iter().map(|scheme| scheme.word()).collect();
            let message = format!(
                "`{key}` means nothing for scheme = \"{}\": it is for {}{}",
                self.scheme,
                words.join(", "),
                self.remedy(key)
            );
            return Err(KeyError {
                key: format!("{at}.{key}"),
                message,
            });
        }
        Ok(())
    }

    /// Every key that not all schemes have, whether it is given, and the schemes that have it.
    fn keys(&self) -> [(&'static str, bool, &'static [Scheme]); 16] {
        use Scheme::{Airtime, Codel, Fifo, FqCodel, FqMac, PerStation, Wqm, WqmFq};
        const DRIVER: &[Scheme] = &[Fifo, Codel, FqCodel, Wqm, WqmFq];
        const FLOWS: &[Scheme] = &[FqCodel, FqMac, Airtime, WqmFq];
        const MAC: &[Scheme] = &[FqMac, Airtime];
        const SIZED: &[Scheme] = &[Wqm, WqmFq];
        const IN_TURN: &[Scheme] = &[PerStation, Fifo, Codel, FqCodel, FqMac, Wqm, WqmFq];
        [
            ("limit", self.limit.is_some(), &[PerStation]),
            ("sharing", self.sharing.is_some(), &[PerStation]),
            ("in_flight", self.in_flight.is_some(), &[PerStation]),
            ("schedule", self.schedule.is_some(), IN_TURN),
            (
                "qdisc_limit",
                self.qdisc_limit.is_some(),
                &[Fifo, Codel, FqCodel],
            ),
            ("driver_limit", self.driver_limit.is_some(), DRIVER),
            ("flow_queues", self.flow_queues.is_some(), FLOWS),
            ("quantum", self.quantum.is_some(), FLOWS),
            ("packet_limit", self.packet_limit.is_some(), MAC),
            ("memory_limit", self.memory_limit.is_some(), FLOWS),
            (
                "codel",
                self.codel != CodelQueue::default(),
                &[Codel, FqCodel, FqMac, Airtime, WqmFq],
            ),
            ("slow", self.slow != SlowStations::default(), MAC),
            (
                "airtime_quantum",
                self.airtime_quantum.is_some(),
                &[Airtime],
            ),
            ("sparse", self.sparse.is_some(), &[Airtime]),
            ("aql", self.aql.is_some(), MAC),
            ("wqm", self.wqm != WqmQueue::default(), SIZED),
        ]
    }

    /// What would do what `key` was probably meant to do.
    fn remedy(&self, key: &str) -> &'static str {
        match (key, self.scheme) {
            ("limit", Scheme::Fifo | Scheme::Codel | Scheme::FqCodel) => {
                "; give `qdisc_limit` or `driver_limit`"
            }
            ("limit" | "qdisc_limit", Scheme::Wqm | Scheme::WqmFq) => {
                "; WQM sets the limit itself, see `wqm`"
            }
            ("limit" | "qdisc_limit", Scheme::FqMac | Scheme::Airtime) => "; give `packet_limit`",
            ("qdisc_limit" | "driver_limit" | "packet_limit", Scheme::PerStation) => {
                "; give `limit`"
            }
            ("packet_limit", _) => "; give `qdisc_limit`",
            ("schedule", _) => "; airtime decides the order",
            _ => "",
        }
    }
}
