//! Web pages: a browser at one end, a server at the other, TCP connections between them.
//!
//! A connection is two streams, requests one way and responses the other, each with its sender and receiver. Acknowledgements of the one do
//! not ride on data of the other, as a host's would: some 52 bytes more per request.

use super::Departure;
use crate::rng::Stream;
use crate::traffic::DelaySummary;
use crate::traffic::web::{self, Browser, BrowserConfig, ConnectionId};
use crate::transport::tcp::{AckSegment, DataSegment, Receiver, Sender, SenderConfig};
use crate::world::TcpConfig;
use crate::world::parcel::{Ecn, Parcel, Payload};
use airpace_units::Time;
use std::collections::VecDeque;

/// Bytes of IPv4 and UDP headers.
const UDP_HEADERS: u32 = 28;

/// What a packet of a browser's is; the direction tells from whom.
#[derive(Clone, Debug)]
pub(in crate::world) enum PagePacket {
    /// A query for an address, and the UDP payload of its answer.
    Query { answer: u32 },
    /// The answer.
    Answer,
    /// Data of the stream that its sender sends on this connection.
    Data(ConnectionId, DataSegment),
    /// An acknowledgement of the stream that its sender receives.
    Ack(ConnectionId, AckSegment),
}

/// One end of a connection: what it sends and what it receives.
#[derive(Debug)]
struct End {
    sender: Sender,
    receiver: Receiver,
    delivered: u64,
}

/// One connection with both ends.
#[derive(Debug)]
struct Connection {
    id: ConnectionId,
    client: End,
    server: End,
    /// Bytes of the request that is being sent and of the response to it, and where in the stream the request ends.
    request: Option<(u64, u32)>,
}

#[derive(Debug)]
pub(super) struct WebEnds {
    browser: Browser,
    tcp: TcpConfig,
    connections: Vec<Connection>,
    datagrams: VecDeque<Departure>,
}

impl WebEnds {
    pub(super) fn new(
        config: BrowserConfig,
        tcp: TcpConfig,
        (start, stop): (Time, Option<Time>),
        draws: Stream,
    ) -> Self {
        let browser = Browser::new(
            BrowserConfig {
                start,
                stop,
                ..config
            },
            draws,
        );
        Self {
            browser,
            tcp,
            connections: Vec::new(),
            datagrams: VecDeque::new(),
        }
    }

    pub(super) fn poll(&mut self, now: Time) -> Option<Departure> {
        if self.browser.deadline().is_some_and(|due| due <= now) {
            self.browser.handle(now, web::Input::Tick);
        }
        self.obey();
        self.datagrams.pop_front().or_else(|| {
            self.connections
                .iter_mut()
                .find_map(|connection| connection.poll(now))
        })
    }

    /// Does what the browser wants.
    fn obey(&mut self) {
        while let Some(output) = self.browser.poll() {
            match output {
                web::Output::Query { bytes, answer } => {
                    self.datagrams.push_back(departure(
                        true,
                        bytes.saturating_add(UDP_HEADERS),
                        PagePacket::Query { answer },
                    ));
                }
                web::Output::Open(id) => self.connections.push(Connection::new(id, &self.tcp)),
                web::Output::Request {
                    connection,
                    bytes,
                    response,
                    ..
                } => {
                    if let Some(connection) = self.find(connection) {
                        connection.ask(bytes, response);
                    }
                }
                web::Output::Close(id) => self.connections.retain(|connection| connection.id != id),
                web::Output::Loaded(_) => {}
            }
        }
    }

    fn find(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections
            .iter_mut()
            .find(|connection| connection.id == id)
    }

    /// A packet has arrived at the server (`forward`) or at the client; returns the bytes handed to the browser.
    pub(super) fn receive(&mut self, now: Time, parcel: Parcel, forward: bool) -> (u64, bool) {
        let marked = parcel.ecn == Ecn::Experienced;
        let Payload::Page(packet) = parcel.payload else {
            return (0, false);
        };
        match *packet {
            PagePacket::Query { answer } => {
                self.datagrams.push_back(departure(
                    false,
                    answer.saturating_add(UDP_HEADERS),
                    PagePacket::Answer,
                ));
            }
            PagePacket::Answer => self.browser.handle(now, web::Input::Answered),
            PagePacket::Data(id, segment) => {
                return (self.on_data(now, (id, segment), forward, marked), true);
            }
            PagePacket::Ack(id, ack) => self.on_ack(now, id, &ack, forward),
        }
        (0, true)
    }

    fn on_data(
        &mut self,
        now: Time,
        (id, segment): (ConnectionId, DataSegment),
        forward: bool,
        marked: bool,
    ) -> u64 {
        // Segments of a connection that has been closed are nobody's.
        let Some(connection) = self.find(id) else {
            return 0;
        };
        let new = connection.end(!forward).take(now, &segment, marked);
        if forward {
            connection.answer();
        } else if new > 0 {
            self.browser.handle(now, web::Input::Received(id, new));
            return new;
        }
        0
    }

    fn on_ack(&mut self, now: Time, id: ConnectionId, ack: &AckSegment, forward: bool) {
        let Some(connection) = self.find(id) else {
            return;
        };
        connection.end(!forward).sender.on_ack(now, ack);
        if ack.syn && !forward {
            self.browser.handle(now, web::Input::Connected(id));
        }
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.connections
            .iter()
            .filter_map(Connection::deadline)
            .chain(self.browser.deadline())
            .min()
    }

    /// Page load times.
    pub(super) fn load_times(&self) -> Option<DelaySummary> {
        self.browser.load_times().summary()
    }
}

impl Connection {
    fn new(id: ConnectionId, tcp: &TcpConfig) -> Self {
        let end = |handshake, seed| End {
            sender: Sender::new(SenderConfig {
                handshake,
                seed,
                ..tcp.sender
            }),
            receiver: Receiver::new(tcp.receiver),
            delivered: 0,
        };
        // The two senders of a connection draw apart.
        Self {
            id,
            client: end(true, 2 * id.0),
            server: end(false, 2 * id.0 + 1),
            request: None,
        }
    }

    fn end(&mut self, client: bool) -> &mut End {
        if client {
            &mut self.client
        } else {
            &mut self.server
        }
    }

    /// The client writes a request.
    fn ask(&mut self, bytes: u32, response: u32) {
        self.client.sender.write(u64::from(bytes));
        let before = self
            .request
            .map_or(0, |(until, _)| until)
            .max(self.server.delivered);
        self.request = Some((before + u64::from(bytes), response));
    }

    /// The server writes the response once it has the whole request.
    fn answer(&mut self) {
        if let Some((until, response)) = self.request
            && self.server.delivered >= until
        {
            self.request = None;
            self.server.sender.write(u64::from(response));
        }
    }

    fn poll(&mut self, now: Time) -> Option<Departure> {
        let id = self.id;
        let from_client = self.client.poll(now, id).map(|packet| (true, packet));
        let (forward, (bytes, packet)) =
            from_client.or_else(|| self.server.poll(now, id).map(|packet| (false, packet)))?;
        Some(departure(forward, bytes, packet))
    }

    fn deadline(&self) -> Option<Time> {
        let of = |end: &End| [end.sender.deadline(), end.receiver.deadline()];
        of(&self.client)
            .into_iter()
            .chain(of(&self.server))
            .flatten()
            .min()
    }
}

impl End {
    /// Takes a segment; returns the bytes that came in order with it.
    fn take(&mut self, now: Time, segment: &DataSegment, marked: bool) -> u64 {
        self.receiver.on_data(now, segment, marked);
        let delivered = self.receiver.delivered();
        delivered - core::mem::replace(&mut self.delivered, delivered)
    }

    /// The next packet to send, with its IP bytes.
    fn poll(&mut self, now: Time, id: ConnectionId) -> Option<(u32, PagePacket)> {
        if self.receiver.deadline().is_some_and(|due| due <= now) {
            self.receiver.on_timeout(now);
        }
        if let Some(ack) = self.receiver.poll_ack(now) {
            return Some((ack.packet_bytes(), PagePacket::Ack(id, ack)));
        }
        if self.sender.deadline().is_some_and(|due| due <= now) {
            self.sender.on_timeout(now);
        }
        let segment = self.sender.poll_transmit(now)?;
        Some((segment.packet_bytes(), PagePacket::Data(id, segment)))
    }
}

fn departure(forward: bool, bytes: u32, packet: PagePacket) -> Departure {
    Departure {
        forward,
        bytes,
        ecn: Ecn::NotCapable,
        payload: Payload::Page(Box::new(packet)),
    }
}
