//! One flow: what its two ends do, and what has become of its packets.

mod ping;
mod tcp;
mod udp;
mod web;

use super::event::Alarm;
use super::outcome::FlowSummary;
use super::parcel::{Ecn, Parcel, Payload};
use super::statistics::{DirectionCounts, FlowCounts, Loss};
use super::{FlowConfig, NodeId, Traffic, WorldError};
use crate::rng::Stream;
use crate::traffic::{DelaySummary, Emission, PingReport, Rate, VoipReport};
use airpace_core::phy::AccessCategory;
use airpace_units::Time;
use core::time::Duration;
use ping::PingEnds;
use tcp::TcpEnds;
pub use tcp::TcpReport;
use udp::{Open, Saturating};
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
    /// Numbers of the next packets forward and backward.
    sequences: [u64; 2],
    /// Statistics begin here.
    begin: Time,
    counts: FlowCounts,
    payload_bytes: u64,
}

/// A packet that one of the ends sends.
#[derive(Debug)]
pub(super) struct Departure {
    /// Whether from `from` to `to`.
    pub(super) forward: bool,
    pub(super) bytes: u32,
    pub(super) ecn: Ecn,
    pub(super) payload: Payload,
}

#[derive(Debug)]
enum Ends {
    Open(Box<Open>),
    Saturating(Saturating),
    Tcp(Box<TcpEnds>),
    Ping(Box<PingEnds>),
    Web(Box<WebEnds>),
}

/// What a kind of traffic tells beside packets and delays.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Details {
    /// Nothing.
    #[default]
    None,
    /// A TCP connection.
    Tcp(TcpReport),
    /// Echo requests.
    Ping(PingReport),
    /// One direction of a call.
    Voip(VoipReport),
    /// Load times of the pages that were loaded whole, over the whole run; `None` if none was.
    Web(Option<DelaySummary>),
}

impl Flow {
    pub(super) fn new(
        index: u32,
        config: FlowConfig,
        (key, seed, begin): (u64, u64, Time),
    ) -> Result<Self, WorldError> {
        let FlowConfig {
            from,
            to,
            category,
            traffic,
            start,
            stop,
        } = config;
        let refused = |error| WorldError::Source { flow: index, error };
        let stream = |name| Stream::new(seed, name, key);
        let ends = match traffic {
            Traffic::Udp(mut source) => {
                (source.start, source.stop) = (start, stop);
                Ends::Open(Box::new(
                    Open::udp(source, stream("source")).map_err(refused)?,
                ))
            }
            Traffic::Voip(sink) => Ends::Open(Box::new(
                Open::voip(sink, (start, stop, begin), stream("call")).map_err(refused)?,
            )),
            Traffic::Saturating { payload, window } => {
                Ends::Saturating(Saturating::new(payload, window, start, stop))
            }
            Traffic::Tcp(config) => {
                let draws = u64::from(stream("tcp").up_to(u32::MAX));
                Ends::Tcp(Box::new(TcpEnds::new(
                    config,
                    (start, stop),
                    (draws, begin),
                )))
            }
            Traffic::Web { browser, tcp } => Ends::Web(Box::new(WebEnds::new(
                browser,
                tcp,
                (start, stop),
                stream("browser"),
            ))),
            Traffic::Ping(mut ping) => {
                (ping.start, ping.stop) = (start, stop);
                Ends::Ping(Box::new(
                    PingEnds::new(ping, stream("ping"), begin).map_err(refused)?,
                ))
            }
        };
        let (sequences, counts) = ([0; 2], FlowCounts::default());
        Ok(Self {
            index,
            from,
            to,
            category,
            ends,
            alarm: Alarm::default(),
            sequences,
            begin,
            counts,
            payload_bytes: 0,
        })
    }

    /// The next packet that leaves now, with the node that it leaves from.
    pub(super) fn poll(&mut self, now: Time) -> Option<(NodeId, Parcel)> {
        let departure = match &mut self.ends {
            Ends::Open(open) => open.poll(now),
            Ends::Saturating(saturating) => saturating.poll(now),
            Ends::Tcp(tcp) => tcp.poll(now),
            Ends::Ping(ping) => ping.poll(now),
            Ends::Web(web) => web.poll(now),
        }?;
        Some(self.dispatch(now, departure))
    }

    /// A packet of a flow that always has one, made because there is room for it.
    pub(super) fn pull(&mut self, now: Time) -> Option<Parcel> {
        let Ends::Saturating(saturating) = &mut self.ends else {
            return None;
        };
        let departure = saturating.pull(now)?;
        Some(self.dispatch(now, departure).1)
    }

    /// Leaves it to a proxy when packets are sent, which then takes them with [`Flow::pull`]; returns whether the flow is of
    /// that kind.
    pub(super) fn hand_to_proxy(&mut self) -> bool {
        let Ends::Saturating(saturating) = &mut self.ends else {
            return false;
        };
        saturating.hand_to_proxy();
        true
    }

    /// Has a flow that a proxy takes packets from begin no earlier than `phase` after the start of the run.
    pub(super) fn postpone(&mut self, phase: Duration) {
        if let Ends::Saturating(saturating) = &mut self.ends {
            saturating.postpone(phase);
        }
    }

    /// Whether a flow that a proxy takes packets from begins now. It does so once.
    pub(super) fn begins_to_be_taken(&mut self, now: Time) -> bool {
        match &mut self.ends {
            Ends::Saturating(saturating) => saturating.begins_to_be_taken(now),
            _ => false,
        }
    }

    /// Whether a proxy takes packets from the flow now.
    pub(super) fn is_taken(&self, now: Time) -> bool {
        match &self.ends {
            Ends::Saturating(saturating) => saturating.is_taken(now),
            _ => false,
        }
    }

    /// IP bytes of the packets of a flow that always has one.
    pub(super) fn packet_bytes(&self) -> Option<u32> {
        match &self.ends {
            Ends::Saturating(saturating) => Some(saturating.packet_bytes()),
            _ => None,
        }
    }

    fn dispatch(&mut self, now: Time, departure: Departure) -> (NodeId, Parcel) {
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
        (
            node,
            Parcel {
                flow,
                sequence,
                sent: now,
                bytes,
                to,
                category,
                ecn,
                tunnel: None,
                payload,
            },
        )
    }

    /// A packet has arrived; tells whether the flow has something to do now.
    pub(super) fn receive(&mut self, now: Time, parcel: Parcel) -> bool {
        let forward = parcel.to == self.to;
        if now >= self.begin {
            self.direction(forward).on_received(now, &parcel);
        }
        let (payload_bytes, busy) = match &mut self.ends {
            Ends::Open(open) => (open.receive(now, &parcel), false),
            Ends::Saturating(saturating) => saturating.receive(),
            Ends::Tcp(tcp) => tcp.receive(now, parcel),
            Ends::Ping(ping) => ping.receive(now, parcel),
            Ends::Web(web) => web.receive(now, parcel, forward),
        };
        if now >= self.begin {
            self.payload_bytes += payload_bytes;
        }
        busy
    }

    /// A packet was lost; tells whether the flow has something to do now.
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

    /// When the flow must be polled next, if nothing arrives before.
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

    fn direction(&mut self, forward: bool) -> &mut DirectionCounts {
        if forward {
            &mut self.counts.forward
        } else {
            &mut self.counts.backward
        }
    }

    pub(super) fn summary(&mut self, now: Time) -> FlowSummary {
        let details = match &mut self.ends {
            Ends::Open(open) => open.details(),
            Ends::Saturating(_) => Details::None,
            Ends::Tcp(tcp) => Details::Tcp(tcp.report()),
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

/// Whether an emission is due.
fn due(emission: Option<Emission>, now: Time) -> bool {
    emission.is_some_and(|emission| emission.at <= now)
}
