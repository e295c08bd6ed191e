//! The thread that serves: it takes connections, reads requests and writes answers, and never
//! waits for a client.

use crate::guard::Token;
use crate::http::{Parsed, Request, Response, parse};
use crate::service::{Service, Site};
use airpace_api::config::EdgeConfig;
use airpace_api::operator::{EdgeReply, EdgeRequest};
use airpace_net::clock::Clock;
use airpace_net::poll::{Interest, Poller};
use airpace_units::Time;
use anyhow::Context as _;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

/// Asks the box. It may take some seconds, and only clients of the page and of metrics wait for it.
pub type Ask = Box<dyn Fn(&EdgeRequest) -> anyhow::Result<EdgeReply> + Send>;

/// Most connections at once; a further one takes the place of the oldest.
const MOST_CONNECTIONS: usize = 32;
/// How long a request may take to come.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// How long an answer may take to leave: an hour of many stations over a slow radio.
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// How long new connections wait after the system has refused one: it is out of files.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

const STOP: u64 = 0;
const FIRST_LISTENER: u64 = 1;
const FIRST_CONNECTION: u64 = 16;

/// The thread that serves. Dropping it ends the thread.
#[derive(Debug)]
pub struct Server {
    /// Closed to end the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
    metrics: Option<SocketAddr>,
    web: Option<SocketAddr>,
}

/// Opens the addresses that `config` names and begins to serve there, in the network namespace of the
/// calling thread. `ask` asks the box.
///
/// # Errors
/// An address is taken or not of this machine, or the token cannot be read.
pub fn start(config: &EdgeConfig, ask: Ask) -> anyhow::Result<Server> {
    let clock = Clock::start();
    let mut service = Service::new(ask);
    let mut listeners = Vec::new();
    let (mut metrics, mut web) = (None, None);
    if let Some(wanted) = &config.metrics {
        let listener = listen("metrics", wanted.listen)?;
        let address = listener.local_addr()?;
        metrics = Some(address);
        let any_host = !address.ip().is_loopback();
        listeners.push((Site::Metrics { any_host }, listener));
    }
    if let Some(wanted) = &config.web {
        let token = wanted.token_file.as_deref().map(Token::read).transpose()?;
        let listener = listen("web", wanted.listen)?;
        web = Some(listener.local_addr()?);
        listeners.push((Site::Web, listener));
        service.serve_page(clock.now(), token, wanted.hosts.clone());
    }
    let (stop, stopped) = UnixStream::pair()?;
    let serving = Loop::new(clock, service, listeners, stopped)?;
    let thread = thread::Builder::new()
        .name("web".to_owned())
        .spawn(move || serving.run())?;
    for (what, address) in [("metrics", metrics), ("web page", web)] {
        if let Some(address) = address {
            tracing::info!(event = "web-served", %address, "{what} served");
        }
    }
    Ok(Server {
        stop: Some(stop),
        thread: Some(thread),
        metrics,
        web,
    })
}

impl Server {
    /// Where metrics are served.
    #[must_use]
    pub const fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Where the page is served.
    #[must_use]
    pub const fn web_address(&self) -> Option<SocketAddr> {
        self.web
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed.
            let _ = thread.join();
        }
    }
}

fn listen(table: &str, address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).with_context(|| {
        format!("{table}.listen = \"{address}\": give a free port and an address of this machine")
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The thread's state.
struct Loop {
    clock: Clock,
    service: Service,
    poller: Poller,
    listeners: Vec<(Site, TcpListener)>,
    stopped: UnixStream,
    connections: Vec<Option<Connection>>,
    /// When connections are taken again after the system has refused one.
    resumes: Option<Time>,
}

impl Loop {
    fn new(
        clock: Clock,
        service: Service,
        listeners: Vec<(Site, TcpListener)>,
        stopped: UnixStream,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.add(&stopped, STOP, Interest::Read)?;
        for (token, (_, listener)) in (FIRST_LISTENER..).zip(&listeners) {
            poller.add(listener, token, Interest::Read)?;
        }
        Ok(Self {
            clock,
            service,
            poller,
            listeners,
            stopped,
            connections: Vec::new(),
            resumes: None,
        })
    }

    fn run(mut self) {
        if let Err(error) = self.serve() {
            tracing::error!(event = "web-failed", %error, "metrics and web page are no longer served; packets are still forwarded");
        }
        drop(self.stopped);
    }

    fn serve(&mut self) -> io::Result<()> {
        loop {
            self.poller.wait(&self.clock, self.deadline())?;
            let ready: Vec<u64> = self.poller.ready().map(|file| file.token).collect();
            if ready.contains(&STOP) {
                return Ok(());
            }
            let now = self.clock.now();
            self.service.on_time(now);
            self.close_late(now);
            self.resume(now)?;
            for token in ready {
                if token < FIRST_CONNECTION {
                    self.accept(now, token)?;
                } else {
                    self.progress((token - FIRST_CONNECTION) as usize);
                }
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        let connections = self.connections.iter().flatten();
        let latest = connections.map(|connection| connection.deadline);
        latest
            .chain(self.service.deadline())
            .chain(self.resumes)
            .min()
    }

    fn close_late(&mut self, now: Time) {
        for slot in &mut self.connections {
            if slot.as_ref().is_some_and(|late| late.deadline <= now) {
                // Closing the stream takes it out of the poller.
                *slot = None;
            }
        }
    }

    fn accept(&mut self, now: Time, token: u64) -> io::Result<()> {
        let Some((site, listener)) = self.listeners.get((token - FIRST_LISTENER) as usize) else {
            return Ok(());
        };
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if is_of_one_connection(&error) => return Ok(()),
            Err(error) => {
                tracing::debug!(event = "web-connection-refused", %error, "no connection can be taken");
                for (_, listener) in &self.listeners {
                    self.poller.remove(listener)?;
                }
                self.resumes = Some(now.saturating_add(REFUSED_PAUSE));
                return Ok(());
            }
        };
        let connection = Connection {
            stream,
            site: *site,
            deadline: now.saturating_add(REQUEST_TIME),
            state: State::Reads(Vec::new()),
        };
        let index = self.free_slot();
        let is_ready = connection.stream.set_nonblocking(true).is_ok()
            && self
                .poller
                .add(
                    &connection.stream,
                    FIRST_CONNECTION + index as u64,
                    Interest::Read,
                )
                .is_ok();
        if is_ready {
            self.connections[index] = Some(connection);
        }
        Ok(())
    }

    /// Takes connections again when the pause after a refusal is over.
    fn resume(&mut self, now: Time) -> io::Result<()> {
        if self.resumes.is_some_and(|at| at <= now) {
            self.resumes = None;
            for (token, (_, listener)) in (FIRST_LISTENER..).zip(&self.listeners) {
                self.poller.add(listener, token, Interest::Read)?;
            }
        }
        Ok(())
    }

    /// A place for a connection, if need be that of the one that must end first.
    fn free_slot(&mut self) -> usize {
        if let Some(index) = self.connections.iter().position(Option::is_none) {
            return index;
        }
        if self.connections.len() < MOST_CONNECTIONS {
            self.connections.push(None);
            return self.connections.len() - 1;
        }
        let mut first = 0;
        for index in 1..self.connections.len() {
            let deadline = |at: usize| self.connections[at].as_ref().map(|one| one.deadline);
            if deadline(index) < deadline(first) {
                first = index;
            }
        }
        self.connections[first] = None;
        first
    }

    /// Reads or writes what is possible now.
    fn progress(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return;
        };
        let was_reading = matches!(connection.state, State::Reads(_));
        let service = &mut self.service;
        let clock = &self.clock;
        let answer = |site, request: &Request| service.respond(clock.now(), site, request);
        let went = connection.progress(answer);
        if matches!(went, Ok(Progress::Done) | Err(_)) {
            self.connections[index] = None;
            return;
        }
        if was_reading && matches!(connection.state, State::Writes { .. }) {
            connection.deadline = self.clock.now().saturating_add(ANSWER_TIME);
            let token = FIRST_CONNECTION + index as u64;
            if self
                .poller
                .modify(&connection.stream, token, Interest::Write)
                .is_err()
            {
                self.connections[index] = None;
            }
        }
    }
}

/// Whether an error of accepting concerns only the connection that would have been taken.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
    )
}

/// A connection, which carries one request.
struct Connection {
    stream: TcpStream,
    site: Site,
    /// When it is closed at the latest.
    deadline: Time,
    state: State,
}

enum State {
    /// What has come of the request.
    Reads(Vec<u8>),
    /// The answer, and how much of it has left.
    Writes { answer: Vec<u8>, written: usize },
}

enum Progress {
    /// The socket must become ready first.
    Waits,
    /// The answer has left.
    Done,
}

impl Connection {
    fn progress(
        &mut self,
        answer: impl FnOnce(Site, &Request) -> Response,
    ) -> io::Result<Progress> {
        if let State::Reads(bytes) = &mut self.state {
            let Some(written) = read_request(&mut self.stream, bytes, |request| {
                answer(self.site, request)
            })?
            else {
                return Ok(Progress::Waits);
            };
            self.state = State::Writes {
                answer: written,
                written: 0,
            };
        }
        self.write()
    }

    fn write(&mut self) -> io::Result<Progress> {
        let State::Writes { answer, written } = &mut self.state else {
            return Ok(Progress::Waits);
        };
        while *written < answer.len() {
            match self.stream.write(&answer[*written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => *written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Progress::Waits);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let _ = self.stream.shutdown(Shutdown::Write);
        Ok(Progress::Done)
    }
}

/// Reads what has come of a request; returns the answer's bytes once it is complete.
fn read_request(
    stream: &mut TcpStream,
    bytes: &mut Vec<u8>,
    answer: impl FnOnce(&Request) -> Response,
) -> io::Result<Option<Vec<u8>>> {
    let mut chunk = [0; 4096];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        // The lengths of head and body are bounded, so the bytes are.
        match parse(bytes) {
            Parsed::Incomplete => {}
            Parsed::Complete(request) => {
                let response = answer(&request);
                return Ok(Some(response.to_bytes(request.method != "HEAD")));
            }
            Parsed::Refused(response) => return Ok(Some(response.to_bytes(true))),
        }
    }
}

impl fmt::Debug for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loop").finish_non_exhaustive()
    }
}
