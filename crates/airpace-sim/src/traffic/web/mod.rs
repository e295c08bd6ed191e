//! Web pages: a name query, a document, and the objects that it names over several connections at
//! once.
//!
//! [`Browser`] is the client without any transport: it says which connections to open and what to
//! request on them, and is told what arrived. Each connection carries one request at a time, as in
//! HTTP/1.1 without pipelining (RFC 9112 §9.3). The document comes first, on one connection; then
//! up to [`BrowserConfig::connections`] connections fetch the objects, each taking the next one as
//! soon as it is free. The connections are closed when the page is complete.

mod page;

use super::{DelayStatistic, Period};
use crate::rng::Stream;
use airpace_units::Time;
use core::time::Duration;
pub use page::{NamedPage, Page, PageError};
use std::collections::VecDeque;

/// Configuration of a browser, which loads a page again and again.
#[derive(Clone, PartialEq, Debug)]
pub struct BrowserConfig {
    /// The page to load.
    pub page: Page,
    /// Most connections at a time; 4 by default, as in paper 004 §4.2.2. Zero counts as one.
    pub connections: u32,
    /// Size of a request with its headers in bytes; 300 by default.
    pub request_bytes: u32,
    /// UDP payload of the DNS query for the address of the server; 40 bytes by default.
    pub query_bytes: u32,
    /// UDP payload of the DNS answer; 120 bytes by default.
    pub answer_bytes: u32,
    /// Time after which an unanswered query is repeated; 5 s by default, as in resolv.conf(5). Zero
    /// counts as 1 ms.
    pub query_retry: Duration,
    /// Think time: from the end of a page to the start of the next; 1 s by default.
    pub think: Period,
    /// When the first page starts.
    pub start: Time,
    /// No page starts at this time or later.
    pub stop: Option<Time>,
    /// At most this many pages.
    pub limit: Option<u64>,
}

impl BrowserConfig {
    /// Loads `page` again and again from time zero on, with the default of each other field.
    #[must_use]
    pub const fn new(page: Page) -> Self {
        Self {
            page,
            connections: 4,
            request_bytes: 300,
            query_bytes: 40,
            answer_bytes: 120,
            query_retry: Duration::from_secs(5),
            think: Period::Fixed(Duration::from_secs(1)),
            start: Time::ZERO,
            stop: None,
            limit: None,
        }
    }
}

/// Number of a connection, counted from zero over all pages and never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(pub u64);

/// An event that the browser handles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// The time of [`Browser::deadline`] has come.
    Tick,
    /// The answer to the query has arrived.
    Answered,
    /// The connection is open: a request can be sent.
    Connected(ConnectionId),
    /// This many further bytes of the response have arrived in order.
    Received(ConnectionId, u64),
    /// The connection failed or the server closed it: the object that it was fetching is requested
    /// again on another.
    Lost(ConnectionId),
}

/// What the driver must do for the browser.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// Send a DNS query.
    Query {
        /// UDP payload of the query in bytes.
        bytes: u32,
        /// UDP payload of the answer in bytes.
        answer: u32,
    },
    /// Open a connection to the server.
    Open(ConnectionId),
    /// Send a request; the server sends the response once it has received the whole request.
    Request {
        /// The connection on which to send it.
        connection: ConnectionId,
        /// Index of the requested object in the page.
        object: usize,
        /// Size of the request in bytes.
        bytes: u32,
        /// Size of the response in bytes.
        response: u32,
    },
    /// Close the connection: nothing more is expected on it.
    Close(ConnectionId),
    /// A page is complete.
    Loaded(PageLoad),
}

/// A page that was loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageLoad {
    /// Number of the page, from zero.
    pub page: u64,
    /// When its query was sent.
    pub start: Time,
    /// When its last byte arrived.
    pub end: Time,
}

impl PageLoad {
    /// The page load time: from the query to the last byte.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.end.saturating_since(self.start)
    }
}

/// The client of web browsing; see the module.
#[derive(Clone, Debug)]
pub struct Browser {
    config: BrowserConfig,
    stream: Stream,
    stage: Stage,
    /// Start of the current page.
    start: Time,
    /// Number of complete pages.
    pages: u64,
    next_connection: u64,
    connections: Vec<Connection>,
    /// Objects still to request, the next first. All but the document are added when the document
    /// is complete.
    wanted: VecDeque<usize>,
    /// Number of objects of the current page that are not complete.
    missing: usize,
    outputs: VecDeque<Output>,
    load_times: DelayStatistic,
    stray: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// The next page starts at this time.
    Thinking(Time),
    /// The query is repeated at this time.
    Resolving(Time),
    Loading,
    Finished,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    id: ConnectionId,
    state: ConnectionState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ConnectionState {
    Opening,
    Idle,
    Fetching { object: usize, left: u64 },
}

impl Browser {
    /// A browser that has not loaded anything yet. Think times are drawn from `stream`.
    #[must_use]
    pub fn new(config: BrowserConfig, stream: Stream) -> Self {
        let stage = Stage::Thinking(config.start);
        let mut browser = Self {
            config,
            stream,
            stage,
            start: Time::ZERO,
            pages: 0,
            next_connection: 0,
            connections: Vec::new(),
            wanted: VecDeque::new(),
            missing: 0,
            outputs: VecDeque::new(),
            load_times: DelayStatistic::default(),
            stray: 0,
        };
        browser.rest_until(browser.config.start);
        browser
    }

    /// Handles an event. Events that do not fit the state, such as a second answer or bytes that
    /// were not requested, are only counted as stray.
    pub fn handle(&mut self, now: Time, input: Input) {
        match input {
            Input::Tick => self.on_tick(now),
            Input::Answered if matches!(self.stage, Stage::Resolving(_)) => {
                self.stage = Stage::Loading;
                self.wanted.push_back(0);
                self.open();
            }
            Input::Answered => self.stray += 1,
            Input::Connected(id) => match self.find(id) {
                Some(place) if self.connections[place].state == ConnectionState::Opening => {
                    self.fetch(place)
                }
                _ => self.stray += 1,
            },
            Input::Received(id, bytes) => self.on_received(now, id, bytes),
            Input::Lost(id) => self.on_lost(id),
        }
    }

    /// The next output. Drain this after each [`Browser::handle`].
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When the browser needs an [`Input::Tick`].
    #[must_use]
    pub const fn deadline(&self) -> Option<Time> {
        match self.stage {
            Stage::Thinking(at) | Stage::Resolving(at) => Some(at),
            Stage::Loading | Stage::Finished => None,
        }
    }

    /// Whether the browser will not load any further page.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.stage == Stage::Finished
    }

    /// Load times of the complete pages.
    #[must_use]
    pub const fn load_times(&self) -> &DelayStatistic {
        &self.load_times
    }

    /// Number of events that did not fit the state.
    #[must_use]
    pub const fn stray(&self) -> u64 {
        self.stray
    }

    fn on_tick(&mut self, now: Time) {
        match self.stage {
            Stage::Thinking(at) if now >= at => {
                self.start = now;
                self.missing = self.config.page.objects.len();
                self.query(now);
            }
            Stage::Resolving(at) if now >= at => self.query(now),
            _ => {}
        }
    }

    fn query(&mut self, now: Time) {
        let BrowserConfig {
            query_bytes,
            answer_bytes,
            query_retry,
            ..
        } = self.config;
        self.stage =
            Stage::Resolving(now.saturating_add(query_retry.max(Duration::from_millis(1))));
        self.outputs.push_back(Output::Query {
            bytes: query_bytes,
            answer: answer_bytes,
        });
    }

    fn on_received(&mut self, now: Time, id: ConnectionId, bytes: u64) {
        let Some(place) = self.find(id) else {
            self.stray += 1;
            return;
        };
        let ConnectionState::Fetching { object, left } = self.connections[place].state else {
            self.stray += 1;
            return;
        };
        // A server sends only what was requested: more than that is stray.
        self.stray += u64::from(bytes > left);
        if bytes < left {
            self.connections[place].state = ConnectionState::Fetching {
                object,
                left: left - bytes,
            };
            return;
        }
        self.missing -= 1;
        // The document names the other objects.
        if object == 0 {
            self.wanted.extend(1..self.config.page.objects.len());
        }
        if self.missing == 0 {
            self.finish_page(now);
            return;
        }
        self.fetch(place);
        self.open();
    }

    fn on_lost(&mut self, id: ConnectionId) {
        let Some(place) = self.find(id) else {
            self.stray += 1;
            return;
        };
        // The order of the connections does not matter: each takes the next object.
        let lost = self.connections.swap_remove(place);
        if let ConnectionState::Fetching { object, .. } = lost.state {
            self.wanted.push_front(object);
        }
        self.open();
    }

    /// Requests the next object on a free connection, if any is left.
    fn fetch(&mut self, place: usize) {
        let connection = &mut self.connections[place];
        let Some(object) = self.wanted.pop_front() else {
            connection.state = ConnectionState::Idle;
            return;
        };
        let response = self.config.page.objects[object];
        connection.state = ConnectionState::Fetching {
            object,
            left: u64::from(response),
        };
        let bytes = self.config.request_bytes;
        self.outputs.push_back(Output::Request {
            connection: connection.id,
            object,
            bytes,
            response,
        });
    }

    /// Requests wanted objects on idle connections, and opens connections for the objects that
    /// remain, up to the limit.
    fn open(&mut self) {
        for place in 0..self.connections.len() {
            if self.connections[place].state == ConnectionState::Idle && !self.wanted.is_empty() {
                self.fetch(place);
            }
        }
        let opening = self
            .connections
            .iter()
            .filter(|connection| connection.state == ConnectionState::Opening)
            .count();
        let room = (self.config.connections.max(1) as usize).saturating_sub(self.connections.len());
        for _ in 0..room.min(self.wanted.len().saturating_sub(opening)) {
            let id = ConnectionId(self.next_connection);
            self.next_connection += 1;
            self.connections.push(Connection {
                id,
                state: ConnectionState::Opening,
            });
            self.outputs.push_back(Output::Open(id));
        }
    }

    fn finish_page(&mut self, now: Time) {
        let closed = self
            .connections
            .drain(..)
            .map(|connection| Output::Close(connection.id));
        self.outputs.extend(closed);
        let load = PageLoad {
            page: self.pages,
            start: self.start,
            end: now,
        };
        self.load_times.record(load.duration());
        self.outputs.push_back(Output::Loaded(load));
        self.pages += 1;
        let think = self.config.think.draw_ns(&mut self.stream);
        self.rest_until(now.saturating_add(Duration::from_nanos(think)));
    }

    /// Waits until `at` for the next page, or finishes if no further page may start then.
    fn rest_until(&mut self, at: Time) {
        let limit_reached = self.config.limit.is_some_and(|limit| self.pages >= limit);
        let stopped = self.config.stop.is_some_and(|stop| at >= stop);
        self.stage = if limit_reached || stopped {
            Stage::Finished
        } else {
            Stage::Thinking(at)
        };
    }

    fn find(&self, id: ConnectionId) -> Option<usize> {
        self.connections
            .iter()
            .position(|connection| connection.id == id)
    }
}

#[cfg(test)]
mod tests;
