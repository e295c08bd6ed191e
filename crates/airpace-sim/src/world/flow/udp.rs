//! UDP: open-loop sources, which send whatever happens, and a source that always has packets in
//! flight.

use super::{Departure, Details, due};
use crate::rng::Stream;
use crate::traffic::{
    Emission, Pattern, Rate, Source, SourceConfig, SourceError, VoipSink, VoipSinkConfig,
};
use crate::world::parcel::{Parcel, Payload};
use airpace_core::packet::{Ecn, Packet as _};
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES;
use airpace_units::Time;
use core::time::Duration;

/// How long a saturating source pauses after a loss.
const PAUSE_AFTER_LOSS: Duration = Duration::from_millis(1);

/// An open-loop source, and the receiver of a call if it is one.
#[derive(Debug)]
pub(super) struct OpenLoop {
    source: Source,
    next: Option<Emission>,
    sink: Option<VoipSink>,
    /// Packets sent since the start, or since the sink was restarted at the end of the warm-up.
    sent: u64,
    /// Packets that have neither arrived nor been lost.
    in_flight: u64,
    /// When the scoring of a call begins; `None` once it has begun.
    scoring_begins: Option<Time>,
}

impl OpenLoop {
    pub(super) fn udp(config: SourceConfig, stream: Stream) -> Result<Self, SourceError> {
        let mut source = Source::new(config, stream)?;
        let next = source.next();
        Ok(Self {
            source,
            next,
            sink: None,
            sent: 0,
            in_flight: 0,
            scoring_begins: None,
        })
    }

    /// One direction of a call from `start` to `stop`, scored from `scoring_begins` on.
    pub(super) fn voip(
        sink: VoipSinkConfig,
        start: Time,
        stop: Option<Time>,
        scoring_begins: Time,
        stream: Stream,
    ) -> Result<Self, SourceError> {
        let config = SourceConfig {
            start,
            stop,
            ..SourceConfig::new(Pattern::G711)
        };
        Ok(Self {
            sink: Some(VoipSink::new(sink)),
            scoring_begins: Some(scoring_begins),
            ..Self::udp(config, stream)?
        })
    }

    #[inline]
    pub(super) fn poll(&mut self, now: Time) -> Option<Departure> {
        if !due(self.next, now) {
            return None;
        }
        let emission = self.next?;
        self.next = self.source.next();
        if let Some(sink) = &mut self.sink
            && self.scoring_begins.is_some_and(|begins| now >= begins)
        {
            // The warm-up has ended: packets sent before do not count for the score.
            self.scoring_begins = None;
            sink.restart(self.sent);
            self.sent = 0;
        }
        self.sent += 1;
        self.in_flight += 1;
        Some(datagram(emission.payload_bytes))
    }

    #[inline]
    pub(super) fn deadline(&self) -> Option<Time> {
        self.next.map(|emission| emission.at)
    }

    pub(super) fn set_rate(&mut self, now: Time, rate: Rate) {
        self.source.set_rate(now, rate);
        // A source whose rate was zero has no next emission. Otherwise the one that was drawn
        // already stays.
        if self.next.is_none() {
            self.next = self.source.next();
        }
    }

    /// Takes a packet that has arrived; returns the bytes handed to the application.
    #[inline]
    pub(super) fn receive(&mut self, now: Time, parcel: &Parcel) -> u64 {
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(sink) = &mut self.sink {
            sink.on_packet(now, parcel.sequence, parcel.sent);
        }
        u64::from(parcel.bytes().saturating_sub(IPV4_UDP_HEADER_BYTES))
    }

    /// Notes that a packet was lost.
    pub(super) fn lose(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// How a call went. Packets still in flight do not count as lost.
    pub(super) fn details(&self) -> Details {
        let Some(sink) = &self.sink else {
            return Details::None;
        };
        Details::Voip(sink.report(self.sent.saturating_sub(self.in_flight)))
    }
}

/// A source that keeps a number of packets in flight, or from which a proxy pulls packets.
#[derive(Debug)]
pub(super) struct Saturating {
    payload: u32,
    window: u32,
    in_flight: u32,
    /// Nothing is sent before this: the start, or the end of the pause after a loss.
    start: Time,
    stop: Time,
    driver: Driver,
}

/// What decides when a saturating source sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Driver {
    /// Its own window.
    Window,
    /// A proxy, once the flow has started.
    ProxyLater,
    /// A proxy, which has begun to pull packets.
    Proxy,
}

impl Saturating {
    pub(super) fn new(payload: u32, window: u32, start: Time, stop: Option<Time>) -> Self {
        Self {
            payload,
            window,
            in_flight: 0,
            start,
            stop: stop.unwrap_or(Time::MAX),
            driver: Driver::Window,
        }
    }

    pub(super) fn hand_to_proxy(&mut self) {
        self.driver = Driver::ProxyLater;
    }

    pub(super) fn start_pulling(&mut self, now: Time) -> bool {
        let starts = self.driver == Driver::ProxyLater && (self.start..self.stop).contains(&now);
        if starts {
            self.driver = Driver::Proxy;
        }
        starts
    }

    pub(super) fn is_pulled(&self, now: Time) -> bool {
        self.driver == Driver::Proxy && now < self.stop
    }

    pub(super) fn packet_bytes(&self) -> u32 {
        self.payload.saturating_add(IPV4_UDP_HEADER_BYTES)
    }

    pub(super) fn pull(&mut self, now: Time) -> Option<Departure> {
        let is_running = (self.start..self.stop).contains(&now);
        is_running.then(|| datagram(self.payload))
    }

    #[inline]
    pub(super) fn poll(&mut self, now: Time) -> Option<Departure> {
        if self.driver != Driver::Window || self.in_flight >= self.window {
            return None;
        }
        let departure = self.pull(now)?;
        self.in_flight += 1;
        Some(departure)
    }

    #[inline]
    pub(super) fn deadline(&self) -> Option<Time> {
        let waits = match self.driver {
            Driver::Window => self.in_flight < self.window,
            Driver::ProxyLater => true,
            Driver::Proxy => false,
        };
        (waits && self.start < self.stop).then_some(self.start)
    }

    /// Takes a packet that has arrived. Returns the payload bytes handed over, and whether there is
    /// room to send another packet.
    pub(super) fn receive(&mut self) -> (u64, bool) {
        self.in_flight = self.in_flight.saturating_sub(1);
        (u64::from(self.payload), self.driver == Driver::Window)
    }

    /// Notes that a packet was lost; returns whether the flow must be polled. The source pauses
    /// before it sends again: a full queue would drop the next packet at the same instant, and the
    /// one after it, without end.
    pub(super) fn lose(&mut self, now: Time) -> bool {
        self.in_flight = self.in_flight.saturating_sub(1);
        let sends_itself = self.driver == Driver::Window;
        if sends_itself {
            self.start = self.start.max(now.saturating_add(PAUSE_AFTER_LOSS));
        }
        sends_itself
    }
}

/// A datagram from `from` to `to`.
fn datagram(payload_bytes: u32) -> Departure {
    let bytes = payload_bytes.saturating_add(IPV4_UDP_HEADER_BYTES);
    Departure {
        forward: true,
        bytes,
        ecn: Ecn::NotEct,
        payload: Payload::Plain,
    }
}
