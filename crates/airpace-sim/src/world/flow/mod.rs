//! One flow: its two ends and the counts of its packets.

mod ping;
mod tcp;
mod udp;
mod web;

use super::event::Alarm;
use super::outcome::FlowSummary;
use super::parcel::{Parcel, Payload, Spares};
use super::statistics::{DirectionCounts, FlowCounts, Loss};
use super::{FlowConfig, NodeId, Traffic, WorldError};
use crate::rng::Stream;
use crate::traffic::{DelaySummary, Emission, PingReport, Rate, SourceError, VoipReport};
use airpace_core::packet::Ecn;
use airpace_core::phy::AccessCategory;
use airpace_units::Time;
use core::time::Duration;
use ping::PingEnds;
use std::collections::BTreeMap;
use tcp::TcpEnds;
pub use tcp::TcpReport;
use udp::{OpenLoop, Saturating};
pub(super) use web::PagePacket;
use web::WebEnds;

/// A flow and its ends.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) index: u32,
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    category: AccessCategory,
    ends: Ends,
    pub(super) alarm: Alarm,
    /// Sequence numbers of the next packets forward and backward.
    sequences: [u64; 2],
    /// When the statistics begin.
    begin: Time,
    counts: FlowCounts,
    /// Of a multicast flow the number after that of the last packet of which a copy was counted;
    /// `None` for others.
    copied: Option<u64>,
    /// Payload handed to the application at `to` since the statistics began.
    payload_bytes: u64,
}

/// A packet that one of the ends sends.
#[derive(Debug)]
pub(super) struct Departure {
    /// Whether it goes from `from` to `to`; otherwise it goes back.
    pub(super) forward: bool,
    pub(super) bytes: u32,
    pub(super) ecn: Ecn,
    pub(super) payload: Payload,
}

/// The two ends, by the kind of traffic.
#[derive(Debug)]
enum Ends {
    Open(Box<OpenLoop>),
    Saturating(Saturating),
    Tcp(Box<TcpEnds>),
    Ping(Box<PingEnds>),
    Web(Box<WebEnds>),
}

/// Results of a flow that only its kind of traffic has.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Details {
    /// There are none.
    #[default]
    None,
    /// A TCP connection.
    Tcp(Box<TcpReport>),
    /// Echo requests.
    Ping(PingReport),
    /// One direction of a call.
    Voip(VoipReport),
    /// Load times of the pages that were loaded completely in the whole run; `None` if there were
    /// none.
    Web(Option<DelaySummary>),
}

impl Flow {
    /// A flow. Its random streams derive from `seed` and `key`; its statistics begin at `begin`.
    pub(super) fn new(
        index: u32,
        config: &FlowConfig,
        key: u64,
        seed: u64,
        begin: Time,
    ) -> Result<Self, WorldError> {
        let ends = Ends::new(config, key, seed, begin);
        Ok(Self {
            index,
            from: config.from,
            to: config.to,
            category: config.category,
            ends: ends.map_err(|error| WorldError::Source { flow: index, error })?,
            alarm: Alarm::default(),
            sequences: [0; 2],
            begin,
            counts: FlowCounts::default(),
            copied: matches!(config.traffic, Traffic::Multicast(_)).then_some(0),
            payload_bytes: 0,
        })
    }

    /// The next packet to send now, and the node that sends it.
    #[inline]
    pub(super) fn poll(&mut self, now: Time, spares: &mut Spares) -> Option<(NodeId, Box<Parcel>)> {
        let departure = match &mut self.ends {
            Ends::Open(open) => open.poll(now),
            Ends::Saturating(saturating) => saturating.poll(now),
            Ends::Tcp(tcp) => tcp.poll(now),
            Ends::Ping(ping) => ping.poll(now),
            Ends::Web(web) => web.poll(now),
        }?;
        Some(self.dispatch(now, departure, spares))
    }

    /// A packet of a saturating flow for the proxy that pulls it; `None` before the flow starts,
    /// after it has stopped, and for other kinds of traffic.
    pub(super) fn pull(&mut self, now: Time, spares: &mut Spares) -> Option<Box<Parcel>> {
        let Ends::Saturating(saturating) = &mut self.ends else {
            return None;
        };
        let departure = saturating.pull(now)?;
        Some(self.dispatch(now, departure, spares).1)
    }

    /// Leaves it to a proxy when packets are sent, which then pulls them with [`Flow::pull`].
    /// Returns whether the flow is saturating; others are left as they are.
    pub(super) fn hand_to_proxy(&mut self) -> bool {
        let Ends::Saturating(saturating) = &mut self.ends else {
            return false;
        };
        saturating.hand_to_proxy();
        true
    }

    /// Returns `true` once: when the flow has started and the proxy may begin to pull its packets.
    pub(super) fn start_pulling(&mut self, now: Time) -> bool {
        match &mut self.ends {
            Ends::Saturating(saturating) => saturating.start_pulling(now),
            _ => false,
        }
    }

    /// Whether a proxy pulls packets from the flow now.
    pub(super) fn is_pulled(&self, now: Time) -> bool {
        match &self.ends {
            Ends::Saturating(saturating) => saturating.is_pulled(now),
            _ => false,
        }
    }

    /// IP bytes of the packets of a saturating flow.
    pub(super) fn packet_bytes(&self) -> Option<u32> {
        match &self.ends {
            Ends::Saturating(saturating) => Some(saturating.packet_bytes()),
            _ => None,
        }
    }

    /// Addresses and numbers a packet, and counts it as sent.
    #[inline]
    fn dispatch(
        &mut self,
        now: Time,
        departure: Departure,
        spares: &mut Spares,
    ) -> (NodeId, Box<Parcel>) {
        let Departure {
            forward,
            bytes,
            ecn,
            payload,
        } = departure;
        let (node, to) = if forward {
            (self.from, self.to)
        } else {
            (self.to, self.from)
        };
        let next = &mut self.sequences[usize::from(!forward)];
        let sequence = *next;
        *next += 1;
        if now >= self.begin {
            self.direction(forward).sent += 1;
        }
        let (flow, category) = (self.index, self.category);
        let spin = match &self.ends {
            Ends::Tcp(tcp) => tcp.spin_bit(forward),
            _ => None,
        };
        let at_source = forward && matches!(&self.ends, Ends::Tcp(tcp) if tcp.attends_to_source());
        (
            node,
            spares.fill(Parcel {
                flow,
                sequence,
                sent: now,
                bytes,
                to,
                category,
                ecn,
                spin,
                queued: now,
                at_source,
                tunnel: None,
                payload,
            }),
        )
    }

    /// Takes a packet that has arrived; returns whether the flow must be polled.
    #[inline]
    pub(super) fn receive(&mut self, now: Time, parcel: &mut Parcel) -> bool {
        let forward = parcel.to == self.to;
        if now >= self.begin {
            self.direction(forward).on_received(now, parcel);
        }
        let (payload_bytes, must_poll) = match &mut self.ends {
            Ends::Open(open) => (open.receive(now, parcel), false),
            Ends::Saturating(saturating) => saturating.receive(),
            Ends::Tcp(tcp) => tcp.receive(now, parcel),
            Ends::Ping(ping) => ping.receive(now, parcel),
            Ends::Web(web) => web.receive(now, parcel, forward),
        };
        if now >= self.begin {
            self.payload_bytes += payload_bytes;
        }
        must_poll
    }

    /// Whether it answers each packet before the next one is looked at, also those of one frame: a
    /// sender whose own queue refuses segments. Which of several flows finds the queue full is then
    /// decided packet by packet, as on a host, which hands packets to its connections one by one.
    #[inline]
    pub(super) fn answers_each(&self) -> bool {
        matches!(&self.ends, Ends::Tcp(tcp) if tcp.refusals())
    }

    /// Whether its packets go to all stations of an access point.
    #[inline]
    pub(super) const fn is_multicast(&self) -> bool {
        self.copied.is_some()
    }

    /// A copy of a packet has reached a station or not. Returns whether it is a further copy, which
    /// then counts as sent.
    pub(super) fn on_copy(&mut self, now: Time, parcel: &Parcel) -> bool {
        let next = parcel.sequence + 1;
        let is_further = self.copied.replace(next) == Some(next);
        if is_further && now >= self.begin {
            self.direction(true).sent += 1;
        }
        is_further
    }

    /// Notes that a packet left a proxy at which it had waited.
    pub(super) fn on_left_proxy(&mut self, now: Time, parcel: &Parcel, waited: Duration) {
        if now >= self.begin {
            let wait = &mut self.direction(parcel.to == self.to).proxy_wait;
            wait.get_or_insert_default().record(waited);
        }
    }

    /// Notes that a packet was lost; returns whether the flow must be polled. Only saturating
    /// sources learn of a loss: all others find out for themselves, or never.
    pub(super) fn lose(&mut self, now: Time, loss: Loss, parcel: &Parcel) -> bool {
        if now >= self.begin {
            self.direction(parcel.to == self.to).lost.add(loss);
        }
        match &mut self.ends {
            Ends::Saturating(saturating) => saturating.lose(now),
            Ends::Open(open) => {
                open.lose();
                false
            }
            Ends::Tcp(_) | Ends::Ping(_) | Ends::Web(_) => false,
        }
    }

    /// Notes that one of its packets has left its source's radio, or was lost there; returns
    /// whether the flow must be polled.
    pub(super) fn on_left_source(&mut self) -> bool {
        match &mut self.ends {
            Ends::Tcp(tcp) => tcp.on_left_source(),
            _ => false,
        }
    }

    /// The queue at its source's own radio was full; returns whether the packet was refused and not
    /// dropped, so that the flow must be polled.
    pub(super) fn refuse(&mut self, now: Time, parcel: &Parcel) -> bool {
        match &mut self.ends {
            Ends::Tcp(tcp) => tcp.refuse(now, parcel),
            _ => false,
        }
    }

    /// When the flow must be polled next, unless a packet arrives earlier.
    #[inline(always)]
    pub(super) fn deadline(&self) -> Option<Time> {
        match &self.ends {
            Ends::Open(open) => open.deadline(),
            Ends::Saturating(saturating) => saturating.deadline(),
            Ends::Tcp(tcp) => tcp.deadline(),
            Ends::Ping(ping) => ping.deadline(),
            Ends::Web(web) => web.deadline(),
        }
    }

    /// Changes the rate of an open-loop source.
    pub(super) fn set_rate(&mut self, now: Time, rate: Rate) {
        if let Ends::Open(open) = &mut self.ends {
            open.set_rate(now, rate);
        }
    }

    #[inline]
    fn direction(&mut self, forward: bool) -> &mut DirectionCounts {
        if forward {
            &mut self.counts.forward
        } else {
            &mut self.counts.backward
        }
    }

    /// The results so far.
    pub(super) fn summary(&mut self, now: Time) -> FlowSummary {
        let details = match &mut self.ends {
            Ends::Open(open) => open.details(),
            Ends::Saturating(_) => Details::None,
            Ends::Tcp(tcp) => Details::Tcp(Box::new(tcp.report())),
            Ends::Ping(ping) => Details::Ping(ping.report(now)),
            Ends::Web(web) => Details::Web(web.load_times()),
        };
        let Self {
            from,
            to,
            payload_bytes,
            ..
        } = *self;
        FlowSummary {
            from,
            to,
            counts: self.counts.clone(),
            payload_bytes,
            details,
        }
    }
}

impl Ends {
    fn new(config: &FlowConfig, key: u64, seed: u64, begin: Time) -> Result<Self, SourceError> {
        // Each kind of traffic draws from a stream of its own name.
        let stream = |name| Stream::new(seed, name, key);
        let (start, stop) = (config.start, config.stop);
        Ok(match config.traffic.clone() {
            Traffic::Udp(mut source) | Traffic::Multicast(mut source) => {
                (source.start, source.stop) = (start, stop);
                Self::Open(Box::new(OpenLoop::udp(source, stream("source"))?))
            }
            Traffic::Voip(sink) => {
                let call = OpenLoop::voip(sink, start, stop, begin, stream("call"))?;
                Self::Open(Box::new(call))
            }
            Traffic::Saturating { payload, window } => {
                Self::Saturating(Saturating::new(payload, window, start, stop))
            }
            Traffic::Tcp(tcp) => {
                let sender_seed = u64::from(stream("tcp").up_to(u32::MAX));
                Self::Tcp(Box::new(TcpEnds::new(tcp, start, stop, sender_seed, begin)))
            }
            Traffic::Web { browser, tcp } => {
                let draws = stream("browser");
                Self::Web(Box::new(WebEnds::new(browser, tcp, start, stop, draws)))
            }
            Traffic::Ping(mut ping) => {
                (ping.start, ping.stop) = (start, stop);
                Self::Ping(Box::new(PingEnds::new(ping, stream("ping"), begin)?))
            }
        })
    }
}

/// Whether an emission is due.
fn due(emission: Option<Emission>, now: Time) -> bool {
    emission.is_some_and(|emission| emission.at <= now)
}

/// The flows, each with random streams of its own.
pub(super) fn flows(
    configs: &[FlowConfig],
    keys: &[u64],
    seed: u64,
    begin: Time,
) -> Result<Vec<Flow>, WorldError> {
    let mut flows = Vec::with_capacity(configs.len());
    let mut pair_counts: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
    for (index, config) in (0..).zip(configs) {
        // Flows between the same nodes are told apart by their order.
        let count = pair_counts.entry((config.from, config.to)).or_insert(0);
        let from = keys.get(config.from.0 as usize);
        let to = keys.get(config.to.0 as usize);
        let key = match (from, to) {
            (Some(from), Some(to)) => (from.rotate_left(1) ^ to).wrapping_add(*count),
            // Without keys of nodes, flows draw by their number.
            _ => u64::from(index),
        };
        *count += 1;
        flows.push(Flow::new(index, config, key, seed, begin)?);
    }
    Ok(flows)
}
