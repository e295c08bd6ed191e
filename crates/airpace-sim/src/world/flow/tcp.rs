//! A TCP connection: the sender at one end, the receiver at the other.

use super::Departure;
use crate::traffic::{DelayStatistic, DelaySummary};
use crate::transport::tcp::{
    Receiver, ReceiverStatistics, Sender, SenderConfig, SenderInfo, SenderStatistics,
};
use crate::world::TcpConfig;
use crate::world::parcel::{Parcel, Payload};
use airpace_core::packet::Ecn;
use airpace_units::Time;

/// Bytes that an endless stream has written ahead of what was sent: enough for a burst, and so few
/// that the stream ends soon after its stop.
const WRITE_AHEAD: u64 = 256_000;

/// Headers of IPv4 and TCP with timestamps.
const HEADER_BYTES: u64 = 52;

/// Both ends of a connection that carries data in one direction.
#[derive(Debug)]
pub(super) struct TcpEnds {
    sender: Sender,
    receiver: Receiver,
    bytes: Option<u64>,
    start: Time,
    stop: Time,
    /// Most packets that may be at the sender's own radio, and how many are.
    small_queue: Option<u64>,
    at_source: u64,
    /// Whether a full queue at the sender's own radio refuses segments.
    refusals: bool,
    /// The spin bits of both ends, if its packets look like those of QUIC.
    spin: Option<SpinBits>,
    /// When the sender was last asked for a segment.
    polled: Time,
    /// Whether the application has begun to write.
    opened: bool,
    /// Whether the application has written everything.
    closed: bool,
    delivered: u64,
    /// When the statistics begin.
    begin: Time,
    round_trip: DelayStatistic,
    completed: Option<Time>,
}

/// What the ends of a QUIC connection set the spin bit to (RFC 9000 §17.4): the server, here the sender, to
/// the value of the latest packet from the client, and the client to the inverse of that from the server.
#[derive(Clone, Copy, Debug, Default)]
struct SpinBits {
    server: bool,
    client: bool,
}

/// How a connection went.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TcpReport {
    /// What the sender did, over the whole run.
    pub sender: SenderStatistics,
    /// What the receiver saw, over the whole run.
    pub receiver: ReceiverStatistics,
    /// Round-trip times from the timestamps that were echoed within the time of the statistics.
    pub round_trip: Option<DelaySummary>,
    /// When the last byte arrived, if the stream has an end.
    pub completed: Option<Time>,
    /// The sender's state now.
    pub info: SenderInfo,
}

impl TcpEnds {
    pub(super) fn new(
        config: TcpConfig,
        start: Time,
        stop: Option<Time>,
        seed: u64,
        begin: Time,
    ) -> Self {
        let packet_bytes = u64::from(config.sender.segment_bytes) + HEADER_BYTES;
        let small_queue = config.sender.small_queue;
        Self {
            small_queue: small_queue.map(|bytes| (bytes / packet_bytes).max(2)),
            at_source: 0,
            refusals: config.sender.refusals,
            spin: config.is_quic.then(SpinBits::default),
            polled: Time::ZERO,
            sender: Sender::new(SenderConfig {
                seed,
                ..config.sender
            }),
            receiver: Receiver::new(config.receiver),
            bytes: config.bytes,
            start,
            stop: stop.unwrap_or(Time::MAX),
            opened: false,
            closed: false,
            delivered: 0,
            begin,
            round_trip: DelayStatistic::default(),
            completed: None,
        }
    }

    pub(super) fn poll(&mut self, now: Time) -> Option<Departure> {
        if now < self.start {
            return None;
        }
        self.write(now);
        if self.receiver.deadline().is_some_and(|due| due <= now) {
            self.receiver.on_timeout(now);
        }
        if let Some(ack) = self.receiver.poll_ack(now) {
            let bytes = ack.packet_bytes();
            return Some(Departure {
                forward: false,
                bytes,
                ecn: Ecn::NotEct,
                payload: Payload::Ack(Box::new(ack)),
            });
        }
        if self.sender.deadline().is_some_and(|due| due <= now) {
            self.sender.on_timeout(now);
        }
        self.polled = now;
        if self.is_held_back() {
            return None;
        }
        let segment = self.sender.poll_transmit(now)?;
        self.at_source += u64::from(self.small_queue.is_some());
        Some(Departure {
            forward: true,
            bytes: segment.packet_bytes(),
            ecn: segment.ecn,
            payload: Payload::Data(Box::new(segment)),
        })
    }

    /// The spin bit of a packet from the sender, or to it.
    pub(super) fn spin_bit(&self, forward: bool) -> Option<bool> {
        let bits = self.spin?;
        Some(if forward { bits.server } else { bits.client })
    }

    /// Whether a full queue at the sender's own radio refuses segments.
    pub(super) const fn refusals(&self) -> bool {
        self.refusals
    }

    /// Whether it is told of packets that leave its own radio, or are refused there.
    pub(super) const fn attends_to_source(&self) -> bool {
        self.small_queue.is_some() || self.refusals
    }

    /// The queue at its own radio was full. Returns whether it refuses packets, so that the flow
    /// must be polled, and does not drop them.
    pub(super) fn refuse(&mut self, now: Time, parcel: &Parcel) -> bool {
        if let Payload::Data(segment) = &parcel.payload
            && self.refusals
        {
            self.sender.on_refused(now, segment);
            return true;
        }
        false
    }

    /// Whether so many packets are at the sender's own radio that it must not send more.
    fn is_held_back(&self) -> bool {
        self.small_queue.is_some_and(|most| self.at_source >= most)
    }

    /// A packet has left the sender's own radio. Returns whether the sender was held back.
    pub(super) fn on_left_source(&mut self) -> bool {
        let was_held_back = self.is_held_back();
        self.at_source = self.at_source.saturating_sub(1);
        was_held_back
    }

    /// Writes what the application has to send, and closes the stream when it is complete.
    fn write(&mut self, now: Time) {
        if self.closed {
            return;
        }
        self.opened = true;
        match self.bytes {
            Some(bytes) => self.sender.write(bytes),
            None if now < self.stop => {
                // An endless stream is kept a buffer ahead of what was sent.
                if self.sender.unsent() < WRITE_AHEAD {
                    self.sender.write(WRITE_AHEAD);
                }
                return;
            }
            None => {}
        }
        self.closed = true;
        self.sender.close();
    }

    /// Takes a packet that has arrived. Returns the bytes handed to the application, and whether
    /// the flow must be polled.
    pub(super) fn receive(&mut self, now: Time, parcel: &mut Parcel) -> (u64, bool) {
        if let (Some(bits), Some(spin)) = (&mut self.spin, parcel.spin) {
            match parcel.payload {
                Payload::Data(_) => bits.client = !spin,
                _ => bits.server = spin,
            }
        }
        match core::mem::take(&mut parcel.payload) {
            Payload::Data(segment) => {
                self.receiver.on_data(now, &segment, parcel.ecn == Ecn::Ce);
                let delivered = self.receiver.delivered();
                let new = delivered - core::mem::replace(&mut self.delivered, delivered);
                if self.receiver.is_complete() {
                    self.completed.get_or_insert(now);
                }
                (new, true)
            }
            Payload::Ack(ack) => {
                if now >= self.begin && !ack.syn {
                    self.round_trip.record(now.saturating_since(ack.echo));
                }
                self.sender.on_ack(now, &ack);
                (0, true)
            }
            _ => (0, false),
        }
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        if !self.opened {
            return Some(self.start);
        }
        let stop = (!self.closed && self.stop < Time::MAX).then_some(self.stop);
        // A sender that is held back is polled when a packet leaves, and not when its pacer would let it
        // send: that time has come already.
        let sender = self.sender.deadline();
        let sender = sender.filter(|&due| !self.is_held_back() || due > self.polled);
        [sender, self.receiver.deadline(), stop]
            .into_iter()
            .flatten()
            .min()
    }

    pub(super) fn report(&self) -> TcpReport {
        TcpReport {
            sender: self.sender.statistics(),
            receiver: self.receiver.statistics(),
            round_trip: self.round_trip.summary(),
            completed: self.completed,
            info: self.sender.info(),
        }
    }
}
