//! A node's queues towards the radio.

use airpace_config::choice::Choice;
use airpace_config::document::KeyError;
use airpace_config::quantity::{Packets, Rate, Size, Span};
use airpace_config::section;
use airpace_core::queue::{Backlog, DrainEstimate, Leaving};
use airpace_sim::mac::{Driver, QueueScope, Schedule, Scheme};

section! {
    /// A node's queues towards the radio. Each key holds for some schemes only, which its meaning
    /// names first.
    NodeQueue as "queue" {
        /// The path that packets take.
        scheme: Choice<Scheme> = default("per-station"),
        /// per-station: packets that the queue holds.
        limit: Option<Packets> = optional("1000 packets", "1 packet", "10000000 packets"),
        /// per-station: whether receivers share the limit.
        sharing: Option<Choice<QueueScope>> = optional("separate"),
        /// per-station: whether packets in flight count towards the limit until they are
        /// acknowledged.
        in_flight: Option<bool> = optional("true if the limit is shared, as in ns-3"),
        /// Driver whose rules for frames hold, and whose depth of the hardware's queue: `ath9k`, `mt76`,
        /// `closed` or `broadcom`.
        driver: Option<Choice<Driver>> = optional("frames as 802.11 allows; the scheme's depth"),
        /// All but airtime: in which order receivers are served.
        schedule: Option<Choice<Schedule>> = optional("round-robin"),
        /// fifo, codel, fq-codel: packets that the queueing discipline holds.
        qdisc_limit: Option<Packets> = optional("1000 packets (txqueuelen); fq-codel: 10240 packets", "1 packet", "10000000 packets"),
        /// fifo, codel, fq-codel, wqm, wqm-fq: packets that the driver holds for all receivers of
        /// an access category before the queueing discipline must wait.
        driver_limit: Option<Packets> = optional("123 packets, as ath9k", "1 packet", "1000000 packets"),
        /// Aggregates per access category that are composed ahead, the one on the air included;
        /// with 0 each is composed when the channel is won.
        hardware_queue: Option<u16> = optional("2, as ath9k; per-station: 0; with aql: 64, so that the airtime limit decides", "0", "64"),
        /// fq-codel, fq-mac, airtime, wqm-fq: queues that flows are hashed to.
        flow_queues: Option<u32> = optional("1024; fq-mac, airtime: 4096 for all receivers together", "1", "65536"),
        /// fq-codel, fq-mac, airtime, wqm-fq: bytes that a flow may send per turn.
        quantum: Option<Size> = optional("1514 B; fq-mac, airtime: 300 B", "256 B", "1 MB"),
        /// fq-mac, airtime: packets that all flow queues may hold together.
        packet_limit: Option<Packets> = optional("8192 packets", "1 packet", "10000000 packets"),
        /// fq-codel, fq-mac, airtime, wqm-fq: bytes that all flow queues may hold together.
        memory_limit: Option<Size> = optional("32 MiB; fq-mac, airtime: 16 MiB", "1 kB", "1 TB"),
        /// fq-codel, wqm-fq: when an empty flow queue leaves the lists; `at-once` is RFC 8290.
        leaving: Option<Choice<Leaving>> = optional("after-idle-round"),
        /// fq-codel, wqm-fq: what must hold more than a packet before CoDel drops: the flow's own
        /// queue, or, as in Linux, all of them together.
        backlog: Option<Choice<Backlog>> = optional("flow"),
        /// codel, fq-codel, fq-mac, airtime, wqm-fq: when packets are dropped or marked.
        codel: CodelQueue = nested,
        /// fq-mac, airtime: when packets to slow receivers are dropped or marked.
        slow: SlowStations = nested,
        /// airtime: airtime that a receiver may use per turn.
        airtime_quantum: Option<Span> = optional("300 us", "1 us", "100 ms"),
        /// airtime: whether receivers that had nothing waiting are served first.
        sparse: Option<bool> = optional("true"),
        /// fq-mac, airtime: the airtime queue limit that Linux added in 5.5; true for Linux's
        /// values.
        aql: Option<AirtimeQueueLimit> = optional("none"),
        /// wqm, wqm-fq: how the limit follows rate and load.
        wqm: WqmQueue = nested,
    }
}

section! {
    /// CoDel's parameters.
    CodelQueue as "codel" {
        /// Acceptable standing delay.
        target: Option<Span> = optional("5 ms; fq-mac, airtime: 20 ms", "1 us", "10 s"),
        /// Time for which the delay must stay above the target before the first drop.
        interval: Option<Span> = optional("100 ms", "10 us", "4 s"),
        /// Nothing is dropped while this many bytes or fewer stay in the queue; for slow receivers too.
        /// In mac80211 it is 0: its queues drop as soon as one more packet waits.
        mtu: Option<Size> = optional("1514 B", "0 B", "1 MB"),
    }
}

section! {
    /// CoDel's parameters for receivers with a low expected throughput.
    SlowStations as "slow" {
        /// Expected throughput below which a receiver is slow; with 0 bit/s none is.
        below: Option<Rate> = optional("12 Mbit/s", "0 bit/s", "100 Gbit/s"),
        /// Acceptable standing delay.
        target: Option<Span> = optional("50 ms", "1 us", "10 s"),
        /// Time for which the delay must stay above the target before the first drop.
        interval: Option<Span> = optional("300 ms", "10 us", "4 s"),
        /// Least time between two changes of a receiver from slow to fast or back.
        hysteresis: Option<Span> = optional("2 s", "0 s", "1000 s"),
    }
}

section! {
    /// The airtime queue limit: how much airtime may be composed ahead. Short form: true or false.
    AirtimeQueueLimit as "aql" or AirtimeQueueLimit::parse {
        /// Whether there is a limit.
        on: bool = default("true"),
        /// Airtime that each receiver may always have under way.
        low: Option<Span> = optional("5 ms", "10 us", "10 s"),
        /// Airtime that a receiver may have under way while all receivers together are below
        /// `threshold`.
        high: Option<Span> = optional("12 ms", "10 us", "10 s"),
        /// Airtime under way to all receivers together at which the limit of each falls from `high`
        /// to `low`.
        threshold: Option<Span> = optional("24 ms", "0 s", "100 s"),
    }
}

section! {
    /// WQM's parameters.
    WqmQueue as "wqm" {
        /// Time that the backlog may take to send.
        limit: Option<Span> = optional("2.5 ms", "10 us", "10 s"),
        /// Time between measurements.
        interval: Option<Span> = optional("100 ms", "1 ms", "10 s"),
        /// How the time that the backlog takes to send is estimated.
        drain: Option<Choice<DrainEstimate>> = optional("with-overhead"),
        /// Factor by which the limit shrinks after two measurements above `limit`.
        decrease: Option<f64> = optional("0.5", "0.01", "0.99"),
        /// Packets by which the limit grows after two measurements below `limit`.
        increase: Option<u32> = optional("1", "1", "1000"),
    }
}

impl AirtimeQueueLimit {
    /// The table that a short form stands for.
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

impl NodeQueue {
    /// Refuses keys that the scheme does not have; `at` is the path of the table.
    pub(super) fn check(&self, at: &str) -> Result<(), KeyError> {
        for (key, given, schemes) in self.keys() {
            if !given || schemes.contains(&self.scheme.0) {
                continue;
            }
            let words: Vec<&str> = schemes.iter().map(|scheme| scheme.name()).collect();
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

    /// Every key that some schemes do not have, whether it is given, and the schemes that have it.
    fn keys(&self) -> [(&'static str, bool, &'static [Scheme]); 18] {
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
            ("leaving", self.leaving.is_some(), &[FqCodel, WqmFq]),
            ("backlog", self.backlog.is_some(), &[FqCodel, WqmFq]),
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

    /// The key that probably does for this scheme what the user expected of `key`.
    fn remedy(&self, key: &str) -> &'static str {
        match (key, self.scheme.0) {
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
