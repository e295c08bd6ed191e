//! The client: it loads the path, probes it, and says when what it measures is stable.

use super::server::{LOAD, PROBE, RECORD};
use super::{Interval, Report, Settings};
use crate::quality::{Grade, Probes};
use crate::stats::Samples;
use crate::tool::socket::{connect_tcp, readable_until};
use crate::tool::{Stop, WAKE};
use anyhow::{Context as _, Result, bail};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

/// How long the first connection is tried, and how long a probe waits for its answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most probes on connections of their own at a time: on a slow path they must not pile up.
const MOST_FOREIGN: u64 = 64;

/// Measures until goodput and responsiveness are stable, until the limit, or until `stop` is raised.
///
/// # Errors
/// The server cannot be reached, or closes the first connection. Connections and probes that fail later
/// count as lost.
pub fn measure(settings: &Settings, stop: &Stop) -> Result<Report> {
    let shared = Shared::default();
    // The first connection shows that there is a server.
    let first = LoadConnection::open(settings)?;
    let ended = Stop::default();
    thread::scope(|scope| {
        let client = Client {
            settings,
            shared: &shared,
            ended: &ended,
        };
        client.add(scope, first);
        scope.spawn(move || client.probe_until_ended(scope));
        let outcome = client.run(scope, stop);
        ended.raise();
        outcome
    })
}

/// What the threads of a measurement share.
#[derive(Default)]
struct Shared {
    /// Payload received on all load-generating connections.
    bytes: AtomicU64,
    connections: Mutex<Vec<Arc<LoadConnection>>>,
    /// Probes of the interval that runs.
    probes: Mutex<Probes>,
    lost: AtomicU64,
    sent: AtomicU64,
    foreign: AtomicU64,
}

/// A thread that panics ends the measurement anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection on which the server sends without end.
struct LoadConnection {
    stream: TcpStream,
    /// When the requests were sent that have no answer yet.
    asked: Mutex<VecDeque<Instant>>,
}

impl LoadConnection {
    fn open(settings: &Settings) -> Result<Arc<Self>> {
        let mut stream = connect_tcp(settings.to, None, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(WAKE))?;
        stream.write_all(&[LOAD]).context("asking for load")?;
        Ok(Arc::new(Self {
            stream,
            asked: Mutex::default(),
        }))
    }

    fn ask(&self) -> bool {
        let mut asked = lock(&self.asked);
        let is_sent = (&self.stream).write_all(&[1]).is_ok();
        if is_sent {
            asked.push_back(Instant::now());
        }
        is_sent
    }
}

#[derive(Clone, Copy)]
struct Client<'a> {
    settings: &'a Settings,
    shared: &'a Shared,
    ended: &'a Stop,
}

impl<'a> Client<'a> {
    /// Reads from a connection until the measurement ends.
    fn add<'scope>(self, scope: &'scope Scope<'scope, 'a>, connection: Arc<LoadConnection>) {
        lock(&self.shared.connections).push(Arc::clone(&connection));
        scope.spawn(move || self.read(&connection));
    }

    fn read(self, connection: &LoadConnection) {
        let mut chunk = vec![0; 8 * RECORD];
        // Where the next byte stands in its record.
        let mut place = 0;
        while !self.ended.is_raised() {
            let count = match (&connection.stream).read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if is_timeout(error.kind()) => continue,
                Err(error) => {
                    tracing::debug!(%error, "a load-generating connection ended");
                    break;
                }
            };
            self.shared.bytes.fetch_add(count as u64, Ordering::Relaxed);
            // The first byte of each record that begins in the chunk.
            let mut at = (RECORD - place) % RECORD;
            while at < count {
                for _ in 0..chunk[at] {
                    self.on_answer(connection);
                }
                at += RECORD;
            }
            place = (place + count) % RECORD;
        }
    }

    fn on_answer(self, connection: &LoadConnection) {
        if let Some(asked) = lock(&connection.asked).pop_front() {
            let ms = asked.elapsed().as_secs_f64() * 1e3;
            lock(&self.shared.probes).loaded_ms.push(ms);
        }
    }

    /// Sends probes of both kinds in turn.
    fn probe_until_ended<'scope>(self, scope: &'scope Scope<'scope, 'a>) {
        let pause = Duration::from_secs(1) / (2 * self.settings.probes_per_second.max(1));
        let mut turn = 0_usize;
        while !self.ended.is_raised() {
            if turn.is_multiple_of(2) {
                let connections = lock(&self.shared.connections);
                let chosen = connections.get(turn / 2 % connections.len().max(1));
                let chosen = chosen.map(Arc::clone);
                drop(connections);
                self.shared.sent.fetch_add(1, Ordering::Relaxed);
                if !chosen.is_some_and(|connection| connection.ask()) {
                    self.shared.lost.fetch_add(1, Ordering::Relaxed);
                }
            } else if self.shared.foreign.load(Ordering::Relaxed) < MOST_FOREIGN {
                self.shared.foreign.fetch_add(1, Ordering::Relaxed);
                scope.spawn(move || {
                    self.probe_apart();
                    self.shared.foreign.fetch_sub(1, Ordering::Relaxed);
                });
            }
            turn += 1;
            thread::sleep(pause);
        }
    }

    /// A probe on a connection of its own.
    fn probe_apart(self) {
        self.shared.sent.fetch_add(1, Ordering::Relaxed);
        match self.round_trips() {
            Ok(Some((connect, request))) => {
                let mut probes = lock(&self.shared.probes);
                probes.connect_ms.push(connect.as_secs_f64() * 1e3);
                probes.request_ms.push(request.as_secs_f64() * 1e3);
            }
            // The measurement has ended.
            Ok(None) => {
                self.shared.sent.fetch_sub(1, Ordering::Relaxed);
            }
            Err(error) => {
                tracing::debug!(%error, "a probe is lost");
                self.shared.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The durations of a handshake and of a request; `None` if the measurement ends in between.
    fn round_trips(self) -> Result<Option<(Duration, Duration)>> {
        let begin = Instant::now();
        let mut stream = connect_tcp(self.settings.to, None, PATIENCE)?;
        let connected = begin.elapsed();
        stream.set_nodelay(true)?;
        let asked = Instant::now();
        stream.write_all(&[PROBE, 1])?;
        while asked.elapsed() < PATIENCE {
            if self.ended.is_raised() {
                return Ok(None);
            }
            if readable_until(&stream, Instant::now() + WAKE)? {
                if stream.read(&mut [0])? == 0 {
                    bail!("the server has closed the connection");
                }
                return Ok(Some((connected, asked.elapsed())));
            }
        }
        bail!("no answer within {PATIENCE:?}")
    }

    /// Adds load and watches what happens, interval by interval.
    fn run<'scope>(self, scope: &'scope Scope<'scope, 'a>, stop: &Stop) -> Result<Report> {
        let begin = Instant::now();
        let mut progress = Progress::new(self.settings);
        let mut bytes_before = 0;
        let mut next = begin;
        while begin.elapsed() < self.settings.limit && !stop.is_raised() {
            next += self.settings.interval;
            while Instant::now() < next && !stop.is_raised() {
                thread::sleep(WAKE.min(next.saturating_duration_since(Instant::now())));
            }
            let bytes = self.shared.bytes.load(Ordering::Relaxed);
            let probes = core::mem::take(&mut *lock(&self.shared.probes));
            let seconds = (begin.elapsed().as_secs_f64() - progress.ended_s()).max(1e-9);
            let connections = lock(&self.shared.connections).len();
            let interval = Interval {
                at_s: begin.elapsed().as_secs_f64(),
                connections,
                goodput_mbps: (bytes - bytes_before) as f64 * 8e-6 / seconds,
                rpm: probes.responsiveness().rpm,
                request_ms: mean(&probes.request_ms),
            };
            bytes_before = bytes;
            progress.push(interval, probes);
            if progress.is_responsiveness_stable() {
                break;
            }
            // The draft adds connections at each interval, also when goodput is stable.
            if connections < self.settings.most_connections {
                match LoadConnection::open(self.settings) {
                    Ok(connection) => self.add(scope, connection),
                    Err(error) => tracing::debug!(%error, "no further connection"),
                }
            }
        }
        let lost = self.shared.lost.load(Ordering::Relaxed);
        let sent = self.shared.sent.load(Ordering::Relaxed);
        if progress.intervals.iter().all(|i| i.goodput_mbps == 0.0) {
            bail!(
                "the server at {} sends nothing: is it `airpace tool responsiveness-server`, of the same release?",
                self.settings.to
            );
        }
        Ok(progress.report(lost as f64 / sent.max(1) as f64))
    }
}

fn is_timeout(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// What was measured so far, and whether it still changes.
struct Progress<'a> {
    settings: &'a Settings,
    intervals: Vec<Interval>,
    /// The probes of the last intervals.
    recent: VecDeque<Probes>,
    /// Moving averages of goodput and responsiveness.
    goodput: Vec<f64>,
    responsiveness: Vec<f64>,
    was_goodput_stable: bool,
}

impl<'a> Progress<'a> {
    const fn new(settings: &'a Settings) -> Self {
        Self {
            settings,
            intervals: Vec::new(),
            recent: VecDeque::new(),
            goodput: Vec::new(),
            responsiveness: Vec::new(),
            was_goodput_stable: false,
        }
    }

    fn ended_s(&self) -> f64 {
        self.intervals.last().map_or(0.0, |interval| interval.at_s)
    }

    fn push(&mut self, interval: Interval, probes: Probes) {
        let span = self.settings.intervals_of_average.max(1);
        self.intervals.push(interval);
        self.recent.push_back(probes);
        if self.recent.len() > span {
            self.recent.pop_front();
        }
        let goodput: Vec<f64> = self.last_intervals().map(|i| i.goodput_mbps).collect();
        self.goodput.extend(mean(&goodput));
        self.was_goodput_stable |= self.is_stable(&self.goodput);
        if self.was_goodput_stable {
            let rpm: Vec<f64> = self.last_intervals().filter_map(|i| i.rpm).collect();
            self.responsiveness.extend(mean(&rpm));
        }
    }

    fn last_intervals(&self) -> impl Iterator<Item = &Interval> {
        let span = self.settings.intervals_of_average.max(1);
        self.intervals.iter().rev().take(span)
    }

    fn is_responsiveness_stable(&self) -> bool {
        self.is_stable(&self.responsiveness)
    }

    /// Whether the last averages differ from the newest by no more than the tolerance (standard
    /// deviation).
    fn is_stable(&self, averages: &[f64]) -> bool {
        let span = self.settings.intervals_of_average.max(1);
        let Some(newest) = averages.last().filter(|_| averages.len() >= span) else {
            return false;
        };
        let last = &averages[averages.len() - span..];
        let centre = last.iter().sum::<f64>() / span as f64;
        let variance = last.iter().map(|a| (a - centre).powi(2)).sum::<f64>() / span as f64;
        *newest > 0.0 && variance.sqrt() <= self.settings.tolerance * newest
    }

    fn report(self, probe_loss: f64) -> Report {
        let mut probes = Probes::default();
        for recent in &self.recent {
            probes.append(recent);
        }
        let goodput: Vec<f64> = self.last_intervals().map(|i| i.goodput_mbps).collect();
        let quantiles = |ms: &[f64]| ms.iter().copied().collect::<Samples>().quantiles();
        let requirement = &self.settings.requirement;
        let goodput_mbps = mean(&goodput).unwrap_or(0.0);
        let responsiveness = probes.responsiveness();
        Report {
            settings: self.settings.clone(),
            grade: responsiveness.rpm.map(Grade::of),
            responsiveness,
            is_stable: self.is_responsiveness_stable(),
            goodput_mbps,
            qoo: requirement.score(&probes.request_ms, probe_loss, Some(goodput_mbps)),
            probe_loss,
            connect_ms: quantiles(&probes.connect_ms),
            request_ms: quantiles(&probes.request_ms),
            loaded_ms: quantiles(&probes.loaded_ms),
            intervals: self.intervals,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::serve;
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn goodput_must_be_stable_before_responsiveness_counts() {
        let settings = Settings::new(([127, 0, 0, 1], 1).into());
        let mut progress = Progress::new(&settings);
        let interval = |goodput_mbps, rpm| Interval {
            goodput_mbps,
            rpm: Some(rpm),
            ..Interval::default()
        };
        for n in 0..6 {
            progress.push(interval(f64::from(1 << n), 900.0), Probes::default());
            assert!(!progress.was_goodput_stable, "{n}");
        }
        for _ in 0..7 {
            progress.push(interval(64.0, 900.0), Probes::default());
        }
        assert!(progress.was_goodput_stable);
        let mut more = 0;
        while !progress.is_responsiveness_stable() {
            progress.push(interval(64.0, 900.0), Probes::default());
            more += 1;
            assert!(more < 5);
        }
        assert!(progress.report(0.0).is_stable);
    }

    #[test]
    fn client_and_server_measure_loopback() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let settings = Settings {
            limit: Duration::from_millis(1_500),
            interval: Duration::from_millis(250),
            ..Settings::new(listener.local_addr().unwrap())
        };
        let stop = Stop::default();
        let (report, served) = thread::scope(|scope| {
            let serving = scope.spawn(|| serve(&listener, &stop));
            let report = measure(&settings, &Stop::default());
            stop.raise();
            (report.unwrap(), serving.join().unwrap().unwrap())
        });
        assert!(report.goodput_mbps > 0.0 && report.responsiveness.rpm > Some(0.0));
        assert!(report.request_ms.count > 0 && report.loaded_ms.count > 0);
        assert!(report.qoo.is_some_and(|qoo| (0.0..=100.0).contains(&qoo)));
        let most = report.intervals.iter().map(|i| i.connections).max();
        assert!(most > Some(1), "load grows: {:?}", report.intervals);
        assert!(served.answered > 0 && served.bytes > 0, "{served:?}");
    }

    #[test]
    fn a_server_that_is_none_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let settings = Settings {
            limit: Duration::from_millis(300),
            interval: Duration::from_millis(100),
            ..Settings::new(listener.local_addr().unwrap())
        };
        let error = measure(&settings, &Stop::default()).unwrap_err();
        assert!(error.to_string().contains("sends nothing"), "{error:#}");
    }
}
