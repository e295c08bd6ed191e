//! UDP: sources that send whatever happens, and one that always has packets under way.

use super::{Departure, Details, due};
use crate::rng::Stream;
use crate::traffic::{
    Emission, Pattern, Rate, Source, SourceConfig, SourceError, VoipSink, VoipSinkConfig,
};
use crate::world::parcel::{Ecn, Parcel, Payload};
use airpace_core::packet::Packet as _;
use airpace_units::Time;
use core::time::Duration;

/// Bytes of IPv4 and UDP headers.
const HEADERS: u32 = 28;

/// Pause of a source that always has packets after one was lost.
const PAUSE: Duration = Duration::from_millis(1);

/// An open-loop source and what listens at its other end.
#[derive(Debug)]
pub(super) struct Open {
    source: Source,
    next: Option<Emission>,
    sink: Option<VoipSink>,
    /// Packets of a call since the sink's last restart, and those of the whole call that are neither there nor lost.
    sent: u64,
    under_way: u64,
    /// A call is scored from here on; `None` from then on.
    begin: Option<Time>,
}

impl Open {
    pub(super) fn udp(config: SourceConfig, stream: Stream) -> Result<Self, SourceError> {
        let mut source = Source::new(config, stream)?;
        let next = source.next();
        Ok(Self {
            source,
            next,
            sink: None,
            sent: 0,
            under_way: 0,
            begin: None,
        })
    }

    /// One direction of a call from `start` to `stop`, scored from `begin` on.
    pub(super) fn voip(
        sink: VoipSinkConfig,
        (start, stop, begin): (Time, Option<Time>, Time),
        stream: Stream,
    ) -> Result<Self, SourceError> {
        let config = SourceConfig {
            start,
            stop,
            ..SourceConfig::new(Pattern::G711)
        };
        Ok(Self {
            sink: Some(VoipSink::new(sink)),
            begin: Some(begin),
            ..Self::udp(config, stream)?
        })
    }

    pub(super) fn poll(&mut self, now: Time) -> Option<Departure> {
        if !due(self.next, now) {
            return None;
        }
        let emission = self.next?;
        self.next = self.source.next();
        if let Some(sink) = &mut self.sink
            && self.begin.take_if(|begin| now >= *begin).is_some()
        {
            sink.restart(self.sent);
            self.sent = 0;
        }
        self.sent += 1;
        self.under_way += 1;
        Some(plain(emission.payload_bytes))
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.next.map(|emission| emission.at)
    }

    pub(super) fn set_rate(&mut self, now: Time, rate: Rate) {
        self.source.set_rate(now, rate);
        // A silent source speaks again; what was drawn before stands.
        if self.next.is_none() {
            self.next = self.source.next();
        }
    }

    /// Returns the bytes handed to the application.
    pub(super) fn receive(&mut self, now: Time, parcel: &Parcel) -> u64 {
        self.under_way = self.under_way.saturating_sub(1);
        if let Some(sink) = &mut self.sink {
            sink.on_packet(now, parcel.sequence, parcel.sent);
        }
        payload(parcel)
    }

    pub(super) fn lose(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// What is still under way is not lost.
    pub(super) fn details(&self) -> Details {
        let sent = self.sent.saturating_sub(self.under_way);
        self.sink
            .as_ref()
            .map_or(Details::None, |sink| Details::Voip(sink.report(sent)))
    }
}

/// A source that keeps a number of packets under way, or that a proxy takes packets from.
#[derive(Debug)]
pub(super) struct Saturating {
    payload: u32,
    window: u32,
    under_way: u32,
    /// Nothing is sent before: the start, or the end of the pause after a loss.
    start: Time,
    stop: Time,
    sender: Sender,
}

/// Who decides when a saturating source sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sender {
    /// Its own window.
    Window,
    /// A proxy, from the start on.
    ProxyLater,
    /// A proxy, which takes packets by now.
    Proxy,
}

impl Saturating {
    pub(super) fn new(payload: u32, window: u32, start: Time, stop: Option<Time>) -> Self {
        Self {
            payload,
            window,
            under_way: 0,
            start,
            stop: stop.unwrap_or(Time::MAX),
            sender: Sender::Window,
        }
    }

    pub(super) fn hand_to_proxy(&mut self) {
        self.sender = Sender::ProxyLater;
    }

    pub(super) fn postpone(&mut self, phase: Duration) {
        self.start = self.start.max(Time::ZERO.saturating_add(phase));
    }

    pub(super) fn begins_to_be_taken(&mut self, now: Time) -> bool {
        let begins = self.sender == Sender::ProxyLater && (self.start..self.stop).contains(&now);
        if begins {
            self.sender = Sender::Proxy;
        }
        begins
    }

    pub(super) fn is_taken(&self, now: Time) -> bool {
        self.sender == Sender::Proxy && now < self.stop
    }

    pub(super) fn packet_bytes(&self) -> u32 {
        self.payload.saturating_add(HEADERS)
    }

    pub(super) fn pull(&mut self, now: Time) -> Option<Departure> {
        (self.start..self.stop)
            .contains(&now)
            .then(|| plain(self.payload))
    }

    pub(super) fn poll(&mut self, now: Time) -> Option<Departure> {
        if self.sender != Sender::Window || self.under_way >= self.window {
            return None;
        }
        let departure = self.pull(now)?;
        self.under_way += 1;
        Some(departure)
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        let waits = match self.sender {
            Sender::Window => self.under_way < self.window,
            Sender::ProxyLater => true,
            Sender::Proxy => false,
        };
        (waits && self.start < self.stop).then_some(self.start)
    }

    pub(super) fn receive(&mut self) -> (u64, bool) {
        self.under_way = self.under_way.saturating_sub(1);
        (u64::from(self.payload), self.sender == Sender::Window)
    }

    /// Waits before it sends again: what was dropped at once would be dropped again at once, without end.
    pub(super) fn lose(&mut self, now: Time) -> bool {
        self.under_way = self.under_way.saturating_sub(1);
        let sends_itself = self.sender == Sender::Window;
        if sends_itself {
            self.start = self.start.max(now.saturating_add(PAUSE));
        }
        sends_itself
    }
}

fn plain(payload_bytes: u32) -> Departure {
    let bytes = payload_bytes.saturating_add(HEADERS);
    Departure {
        forward: true,
        bytes,
        ecn: Ecn::NotCapable,
        payload: Payload::Plain,
    }
}

fn payload(parcel: &Parcel) -> u64 {
    u64::from(parcel.bytes().saturating_sub(HEADERS))
}
