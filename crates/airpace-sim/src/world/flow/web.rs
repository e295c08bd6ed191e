//! Web pages: a browser at one end, a server at the other, TCP connections between them.
//!
//! A connection is two streams, requests in one direction and responses in the other, each with its
//! sender and receiver. Unlike a host's, acknowledgements of the one are not piggybacked on data of
//! the other, which costs some 52 bytes more per request.

use super::Departure;
use crate::rng::Stream;
use crate::traffic::DelaySummary;
use crate::traffic::web::{self, Browser, BrowserConfig, ConnectionId};
use crate::transport::tcp::{AckSegment, DataSegment, Receiver, Sender, SenderConfig};
use crate::world::TcpConfig;
use crate::world::parcel::{Parcel, Payload};
use airpace_core::packet::Ecn;
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES;
use airpace_units::Time;
use std::collections::VecDeque;

/// A packet between browser and server; its direction says which of them sent it.
#[derive(Clone, Debug)]
pub(in crate::world) enum PagePacket {
    /// A query for an address, and the bytes of UDP payload of its answer.
    Query { answer: u32 },
    /// The answer.
    Answer,
    /// Data on this connection.
    Data(ConnectionId, DataSegment),
    /// An acknowledgement on this connection.
    Ack(ConnectionId, AckSegment),
}

/// One end of a connection: what it sends and what it receives.
#[derive(Debug)]
struct End {
    sender: Sender,
    receiver: Receiver,
    delivered: u64,
}

/// Both ends of one connection.
#[derive(Debug)]
struct Connection {
    id: ConnectionId,
    client: End,
    server: End,
    request: Option<Request>,
}

/// A request that the client has written and the server has not answered.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// Where in the client's stream it ends.
    ends_at: u64,
    /// Bytes of the response to it.
    response: u32,
}

/// The browser, the server and what is between them.
#[derive(Debug)]
pub(super) struct WebEnds {
    browser: Browser,
    tcp: TcpConfig,
    connections: Vec<Connection>,
    /// Queries and answers to send.
    datagrams: VecDeque<Departure>,
}

impl WebEnds {
    pub(super) fn new(
        config: BrowserConfig,
        tcp: TcpConfig,
        start: Time,
        stop: Option<Time>,
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
        self.carry_out_requests();
        if let Some(datagram) = self.datagrams.pop_front() {
            return Some(datagram);
        }
        // Connections opened earlier go first.
        for connection in &mut self.connections {
            if let Some(departure) = connection.poll(now) {
                return Some(departure);
            }
        }
        None
    }

    /// Carries out what the browser asks for.
    fn carry_out_requests(&mut self) {
        while let Some(output) = self.browser.poll() {
            match output {
                web::Output::Query { bytes, answer } => {
                    self.datagrams.push_back(departure(
                        true,
                        bytes.saturating_add(IPV4_UDP_HEADER_BYTES),
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
                        connection.request(bytes, response);
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

    /// Takes a packet that has arrived at the server (`forward`) or at the client. Returns the
    /// bytes handed to the browser, and whether the flow must be polled.
    pub(super) fn receive(&mut self, now: Time, parcel: &mut Parcel, forward: bool) -> (u64, bool) {
        let marked = parcel.ecn == Ecn::Ce;
        let Payload::Page(packet) = core::mem::take(&mut parcel.payload) else {
            return (0, false);
        };
        match *packet {
            PagePacket::Query { answer } => {
                self.datagrams.push_back(departure(
                    false,
                    answer.saturating_add(IPV4_UDP_HEADER_BYTES),
                    PagePacket::Answer,
                ));
            }
            PagePacket::Answer => self.browser.handle(now, web::Input::Answered),
            PagePacket::Data(id, segment) => {
                return (self.on_data(now, id, &segment, forward, marked), true);
            }
            PagePacket::Ack(id, ack) => self.on_ack(now, id, &ack, forward),
        }
        (0, true)
    }

    fn on_data(
        &mut self,
        now: Time,
        id: ConnectionId,
        segment: &DataSegment,
        forward: bool,
        marked: bool,
    ) -> u64 {
        // The connection may have been closed while the segment was in flight.
        let Some(connection) = self.find(id) else {
            return 0;
        };
        let new = connection.end(!forward).take(now, segment, marked);
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

    /// Load times of the pages; `None` if none was loaded.
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
        // The two senders of a connection have random streams of their own.
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
    fn request(&mut self, bytes: u32, response: u32) {
        self.client.sender.write(u64::from(bytes));
        // It begins where the request before it ends, which may not have arrived yet.
        let before = self.request.map_or(0, |request| request.ends_at);
        let begins_at = before.max(self.server.delivered);
        self.request = Some(Request {
            ends_at: begins_at + u64::from(bytes),
            response,
        });
    }

    /// The server writes the response once it has the whole request.
    fn answer(&mut self) {
        if let Some(request) = self.request
            && self.server.delivered >= request.ends_at
        {
            self.request = None;
            self.server.sender.write(u64::from(request.response));
        }
    }

    fn poll(&mut self, now: Time) -> Option<Departure> {
        if let Some((bytes, packet)) = self.client.poll(now, self.id) {
            return Some(departure(true, bytes, packet));
        }
        let (bytes, packet) = self.server.poll(now, self.id)?;
        Some(departure(false, bytes, packet))
    }

    fn deadline(&self) -> Option<Time> {
        let (client, server) = (&self.client, &self.server);
        let deadlines = [
            client.sender.deadline(),
            client.receiver.deadline(),
            server.sender.deadline(),
            server.receiver.deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }
}

impl End {
    /// Takes a segment; returns the bytes that became available in order with it.
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
    let ecn = match &packet {
        PagePacket::Data(_, segment) => segment.ecn,
        _ => Ecn::NotEct,
    };
    Departure {
        forward,
        bytes,
        ecn,
        payload: Payload::Page(Box::new(packet)),
    }
}
