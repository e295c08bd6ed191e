//! Pings to many stations in turn, from one socket, and what became of them.

use super::announce::{Announcements, Subject};
use crate::stats::Samples;
use crate::tool::Stop;
use airpace_net::clock::Clock;
use airpace_net::netns::{Namespace, NamespaceError};
use airpace_net::poll::{Interest, Poller};
use anyhow::{Context, Result};
use serde::Serialize;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Port at which stations answer.
pub(super) const ECHO_PORT: u16 = 7_007;
/// Marks pings.
const MAGIC: [u8; 8] = *b"airsoak1";
/// Payload of a ping in bytes, that of the `ping` program.
const PAYLOAD: usize = 56;
/// Age at which an unanswered ping counts as lost.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often threads look whether they are to end.
const WAKE: Duration = Duration::from_millis(50);
/// Priority under SCHED_FIFO, without which pings would measure how long their own threads wait for
/// a processor. It is below that of proxy and box.
const PRIORITY: u8 = 1;

/// What became of pings.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct PingFigures {
    /// Pings whose fate is known.
    pub pings: u64,
    /// Median round-trip time outside of announced interruptions, ms.
    pub p50_ms: f64,
    /// 99th percentile of the same, ms.
    pub p99_ms: f64,
    /// Pings that were lost within announced interruptions.
    pub lost_announced: u64,
    /// Pings that were lost outside of them.
    pub lost: u64,
    /// Stations that answered their last pings.
    pub answering: usize,
    /// Stations that are pinged.
    pub stations: usize,
}

impl core::fmt::Display for PingFigures {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "p50 {:.2} p99 {:.2} ms, lost {} and {} announced, up {}/{}",
            self.p50_ms, self.p99_ms, self.lost, self.lost_announced, self.answering, self.stations
        )
    }
}

/// The pings of a minute, or of the whole run.
#[derive(Default)]
struct Tally {
    answered: u64,
    lost_announced: u64,
    lost: u64,
    rtts: Samples,
}

/// What the pinging thread and the reader of its figures share.
struct Shared {
    minute: Tally,
    whole: Tally,
    /// For each station when the last ping was sent that it has answered.
    last_answered: Vec<Option<Instant>>,
    /// Pings that were lost outside of announced interruptions, as text, since they were last taken.
    unexplained: Vec<String>,
}

/// Pings to stations, all the time. Dropping this ends it.
pub(super) struct Pinger {
    shared: Arc<Mutex<Shared>>,
    /// Time between two pings to one station.
    interval: Duration,
    stop: Stop,
    threads: Vec<JoinHandle<Result<Result<()>, NamespaceError>>>,
}

impl Pinger {
    /// Pings each of the addresses once in an `interval` from a namespace; the stations' echo
    /// sockets are in `echoes`. `subject` tells of whom a station's index is.
    pub(super) fn start(
        from: &Namespace,
        addresses: &[IpAddr],
        echoes: Vec<UdpSocket>,
        interval: Duration,
        announcements: &Announcements,
        subject: fn(Option<usize>) -> Subject,
    ) -> Result<Self> {
        let stop = Stop::default();
        let shared = Arc::new(Mutex::new(Shared {
            minute: Tally::default(),
            whole: Tally::default(),
            last_answered: vec![None; addresses.len()],
            unexplained: Vec::new(),
        }));
        let mut pinging = Pinging {
            stations: addresses
                .iter()
                .map(|&address| SocketAddr::new(address, ECHO_PORT))
                .collect(),
            announcements: announcements.clone(),
            subject,
            shared: Arc::clone(&shared),
            waiting: VecDeque::new(),
            next: 0,
        };
        let pinger_stop = stop.clone();
        let pause = interval / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        let pinger = from.spawn_thread("pinger", move || pinging.run(pause, &pinger_stop))?;
        let echo_stop = stop.clone();
        let echo = from.spawn_thread("echo", move || echo(&echoes, &echo_stop))?;
        Ok(Self {
            shared,
            interval,
            stop,
            threads: vec![pinger, echo],
        })
    }

    /// How many stations answer.
    pub(super) fn answering(&self) -> usize {
        self.answering_in(&lock(&self.shared))
    }

    fn answering_in(&self, shared: &Shared) -> usize {
        // Two pings may be under way, or one lost.
        let recent = 3 * self.interval + Duration::from_secs(1);
        let is_recent = |at: &&Option<Instant>| at.is_some_and(|at| at.elapsed() < recent);
        shared.last_answered.iter().filter(is_recent).count()
    }

    /// Whether all stations answer.
    pub(super) fn all_answer(&self) -> bool {
        let shared = lock(&self.shared);
        self.answering_in(&shared) == shared.last_answered.len()
    }

    /// Forgets the figures up to now.
    pub(super) fn forget(&self) {
        let mut shared = lock(&self.shared);
        shared.minute = Tally::default();
        shared.whole = Tally::default();
        shared.unexplained.clear();
    }

    /// The figures since the last call.
    pub(super) fn end_minute(&self) -> PingFigures {
        let mut shared = lock(&self.shared);
        let minute = core::mem::take(&mut shared.minute);
        self.figures(&shared, &minute)
    }

    /// The figures of the whole run.
    pub(super) fn whole_run(&self) -> PingFigures {
        let shared = lock(&self.shared);
        self.figures(&shared, &shared.whole)
    }

    fn figures(&self, shared: &Shared, tally: &Tally) -> PingFigures {
        let quantiles = tally.rtts.quantiles();
        PingFigures {
            pings: tally.answered + tally.lost_announced + tally.lost,
            p50_ms: quantiles.p50,
            p99_ms: quantiles.p99,
            lost_announced: tally.lost_announced,
            lost: tally.lost,
            answering: self.answering_in(shared),
            stations: shared.last_answered.len(),
        }
    }

    /// The losses that no announced interruption explains, since the last call.
    pub(super) fn unexplained(&self) -> Vec<String> {
        core::mem::take(&mut lock(&self.shared).unexplained)
    }

    /// Waits until the fate of all pings sent so far is known.
    pub(super) fn wait_for_stragglers(&self) {
        std::thread::sleep(PATIENCE + WAKE);
    }
}

impl Drop for Pinger {
    fn drop(&mut self) {
        self.stop.raise();
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(Ok(Ok(()))) => {}
                Ok(Ok(Err(error))) => tracing::error!(%error, "pings"),
                Ok(Err(error)) => tracing::error!(%error, "pings"),
                Err(_) => tracing::error!("a thread of the pings panicked"),
            }
        }
    }
}

/// The figures stay usable after a thread has panicked.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A ping whose fate is unknown, or that waits for older ones to be forgotten.
struct Waiting {
    number: u64,
    station: usize,
    sent: Instant,
    is_answered: bool,
}

/// The pinging thread.
struct Pinging {
    stations: Vec<SocketAddr>,
    announcements: Announcements,
    subject: fn(Option<usize>) -> Subject,
    shared: Arc<Mutex<Shared>>,
    waiting: VecDeque<Waiting>,
    next: u64,
}

impl Pinging {
    fn run(&mut self, pause: Duration, stop: &Stop) -> Result<()> {
        use_real_time_priority();
        let socket =
            UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).context("opening a socket for pings")?;
        socket.set_nonblocking(true)?;
        let clock = Clock::start();
        let mut poller = Poller::new()?;
        poller.add(&socket, 0, Interest::Read)?;
        let mut next = clock.now();
        while !stop.is_raised() {
            let now = clock.now();
            if now >= next {
                self.send(&socket);
                // After a delay at most a few pings are sent late, not all that were missed.
                next = next.saturating_add(pause).max(now);
            }
            self.expire();
            let wake = next.min(now.saturating_add(WAKE));
            poller.wait(&clock, Some(wake))?;
            self.receive(&socket);
        }
        Ok(())
    }

    fn send(&mut self, socket: &UdpSocket) {
        let station = (self.next % self.stations.len() as u64) as usize;
        let mut payload = [0; PAYLOAD];
        payload[..8].copy_from_slice(&MAGIC);
        payload[8..16].copy_from_slice(&self.next.to_be_bytes());
        self.waiting.push_back(Waiting {
            number: self.next,
            station,
            sent: Instant::now(),
            is_answered: false,
        });
        self.next += 1;
        // A ping that the kernel refuses counts as lost.
        if let Err(error) = socket.send_to(&payload, self.stations[station]) {
            tracing::debug!(%error, station, "a ping was not sent");
        }
    }

    fn receive(&mut self, socket: &UdpSocket) {
        let mut buffer = [0; 2048];
        // An error is an empty socket, or an ICMP message about an earlier ping.
        while let Ok((n, _)) = socket.recv_from(&mut buffer) {
            let number = buffer[..n]
                .strip_prefix(&MAGIC)
                .and_then(|rest| rest.first_chunk::<8>());
            if let Some(number) = number {
                self.on_answer(u64::from_be_bytes(*number));
            }
        }
    }

    fn on_answer(&mut self, number: u64) {
        // The pings that wait have consecutive numbers.
        let Some(oldest) = self.waiting.front().map(|ping| ping.number) else {
            return;
        };
        let index = number.checked_sub(oldest).map(|index| index as usize);
        let Some(ping) = index.and_then(|index| self.waiting.get_mut(index)) else {
            return;
        };
        if core::mem::replace(&mut ping.is_answered, true) {
            return;
        }
        let rtt_ms = ping.sent.elapsed().as_secs_f64() * 1e3;
        let is_undisturbed = !self
            .announcements
            .excuse((self.subject)(Some(ping.station)), ping.sent);
        let mut shared = lock(&self.shared);
        shared.last_answered[ping.station] = Some(ping.sent);
        for tally in shared.tallies() {
            tally.answered += 1;
            if is_undisturbed {
                tally.rtts.add_ms(rtt_ms);
            }
        }
    }

    /// Forgets the oldest pings, whose fate is known by now.
    fn expire(&mut self) {
        while let Some(ping) = self.waiting.front() {
            if !ping.is_answered {
                if ping.sent.elapsed() < PATIENCE {
                    return;
                }
                self.count_lost(ping);
            }
            self.waiting.pop_front();
        }
    }

    fn count_lost(&self, ping: &Waiting) {
        let station = (self.subject)(Some(ping.station));
        let is_excused = self.announcements.excuse(station, ping.sent);
        let mut shared = lock(&self.shared);
        for tally in shared.tallies() {
            if is_excused {
                tally.lost_announced += 1;
            } else {
                tally.lost += 1;
            }
        }
        if !is_excused && shared.unexplained.len() < MOST_TOLD {
            let when = self.announcements.last_before(station, ping.sent);
            let station = ping.station;
            let line = format!("a ping to station {station} was lost, {when}");
            shared.unexplained.push(line);
        }
    }
}

/// Most losses that are told one by one in a minute.
const MOST_TOLD: usize = 10;

impl Shared {
    fn tallies(&mut self) -> [&mut Tally; 2] {
        [&mut self.minute, &mut self.whole]
    }
}

/// Opens the echo socket of a station, in its namespace.
pub(super) fn echo_socket(station: &Namespace) -> Result<UdpSocket> {
    let socket = station.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, ECHO_PORT)))?;
    let socket = socket.context("opening an echo server")?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Answers all pings at all sockets.
fn echo(sockets: &[UdpSocket], stop: &Stop) -> Result<()> {
    use_real_time_priority();
    let clock = Clock::start();
    let mut poller = Poller::new()?;
    for (index, socket) in sockets.iter().enumerate() {
        poller.add(socket, index as u64, Interest::Read)?;
    }
    let mut buffer = [0; 2048];
    while !stop.is_raised() {
        poller.wait(&clock, Some(clock.now().saturating_add(WAKE)))?;
        for ready in poller.ready() {
            let socket = &sockets[ready.token as usize];
            while let Ok((n, from)) = socket.recv_from(&mut buffer) {
                if buffer[..n].starts_with(&MAGIC) {
                    // An answer that the kernel refuses is a lost ping.
                    let _ = socket.send_to(&buffer[..n], from);
                }
            }
        }
    }
    Ok(())
}

fn use_real_time_priority() {
    if let Err(error) = airpace_net::realtime::try_fifo(PRIORITY) {
        tracing::debug!(%error, "pings run without real-time priority");
    }
}
