//! Constant-rate UDP with sequence numbers: a generator and a receiver that counts losses.

use super::socket::readable_until;
use super::{Bins, Stop, WAKE};
use airpace_net::udp::{MAX_SEGMENTS, ReceiveBatch, TrafficClass, Transmit, UdpOptions, UdpSocket};
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

/// Marks our datagrams. All others are ignored.
const MAGIC: [u8; 8] = *b"aircbr_1";

/// Bytes of the mark and the sequence number.
const HEADER: usize = 16;

/// Time between bursts of datagrams. A much shorter timer would be late on an ordinary machine.
const BURST_INTERVAL: Duration = Duration::from_micros(500);

/// A generator that was delayed catches up on at most this much time and skips the rest.
const CATCH_UP: Duration = Duration::from_millis(50);

/// Bytes of the largest UDP payload over IPv4.
const MAX_MESSAGE: usize = 65_507;

/// Configuration of a generator.
#[derive(Clone, Copy, Debug)]
pub struct CbrConfig {
    /// The receiver.
    pub to: SocketAddr,
    /// Payload bytes per datagram, at least 16.
    pub payload: usize,
    /// Payload rate in bits per second.
    pub rate_bps: f64,
    /// How long it sends.
    pub duration: Duration,
}

/// Statistics of a receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CbrReport {
    /// Datagrams received.
    pub received: u64,
    /// Datagrams that never arrived, among those with a lower sequence number than the highest
    /// received.
    pub lost: u64,
    /// Datagrams that arrived after one with a higher sequence number.
    pub late: u64,
    /// Payload bytes by time.
    pub bins: Bins,
}

impl CbrReport {
    /// Lost datagrams as a share of those sent before the last received one.
    #[must_use]
    pub fn loss(&self) -> f64 {
        let sent = self.received + self.lost;
        if sent == 0 {
            0.0
        } else {
            self.lost as f64 / sent as f64
        }
    }
}

/// Sends at the configured rate; returns how many datagrams were sent.
///
/// # Errors
/// If the payload cannot hold the header, the rate is not above zero, or the socket cannot be
/// opened.
pub fn generate(config: &CbrConfig, stop: &Stop) -> Result<u64> {
    ensure!(
        (HEADER..=MAX_MESSAGE).contains(&config.payload),
        "the payload must be 16 to 65507 bytes"
    );
    ensure!(
        config.rate_bps.is_finite() && config.rate_bps > 0.0,
        "the rate must be above zero"
    );
    let any = if config.to.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0), UdpOptions::default())
        .context("opening a UDP socket")?;
    socket
        .connect(config.to)
        .with_context(|| format!("connecting to {}", config.to))?;
    let per_second = config.rate_bps / (config.payload as f64 * 8.0);
    let mut burst = Burst::new(config.payload);
    let start = Instant::now();
    let (mut last, mut due) = (start, 0.0f64);
    while start.elapsed() < config.duration && !stop.is_raised() {
        let now = Instant::now();
        due += (now - last).min(CATCH_UP).as_secs_f64() * per_second;
        last = now;
        while due >= 1.0 {
            due -= burst.send(&socket, due as usize) as f64;
        }
        std::thread::sleep(BURST_INTERVAL);
    }
    Ok(burst.sequence)
}

/// Datagrams that are handed to the kernel in one message, which costs a tenth of a call for each.
struct Burst {
    bytes: Vec<u8>,
    payload: usize,
    /// Sequence number of the next datagram.
    sequence: u64,
}

impl Burst {
    fn new(payload: usize) -> Self {
        let most = (MAX_MESSAGE / payload).clamp(1, MAX_SEGMENTS);
        Self {
            bytes: vec![0; payload * most],
            payload,
            sequence: 0,
        }
    }

    /// Sends up to `due` datagrams; returns how many.
    fn send(&mut self, socket: &UdpSocket, due: usize) -> usize {
        let n = due.min(self.bytes.len() / self.payload);
        for datagram in self.bytes.chunks_exact_mut(self.payload).take(n) {
            datagram[..8].copy_from_slice(&MAGIC);
            datagram[8..HEADER].copy_from_slice(&self.sequence.to_be_bytes());
            self.sequence += 1;
        }
        let pieces = [std::io::IoSlice::new(&self.bytes[..n * self.payload])];
        let segment = u16::try_from(self.payload).ok();
        let message = Transmit {
            to: None,
            parts: &pieces,
            segment,
            class: TrafficClass::DEFAULT,
        };
        // The receiver sees refused datagrams as losses by their sequence numbers.
        let _refused = socket.send(&[message]).is_err();
        n
    }
}

/// Opens a socket for [`receive`] in the namespace of the calling thread.
///
/// # Errors
/// If the address cannot be bound.
pub fn listen(at: SocketAddr) -> Result<UdpSocket> {
    UdpSocket::bind(at, UdpOptions::default()).with_context(|| format!("listening at {at}"))
}

/// Counts datagrams until `stop` is raised; bins count from `start`.
///
/// # Errors
/// If waiting for the socket fails.
pub fn receive(socket: &UdpSocket, start: Instant, stop: &Stop) -> Result<CbrReport> {
    let mut report = CbrReport::default();
    let mut expected = 0u64;
    let mut batch = ReceiveBatch::new(16, 65_536);
    while !stop.is_raised() {
        if !readable_until(socket, Instant::now() + WAKE)? {
            continue;
        }
        if let Err(error) = socket.receive(&mut batch) {
            tracing::debug!(%error, "receiving datagrams");
            continue;
        }
        let at = start.elapsed();
        for datagram in batch.iter().flat_map(|message| message.segments()) {
            count(&mut report, &mut expected, at, datagram);
        }
    }
    Ok(report)
}

fn count(report: &mut CbrReport, expected: &mut u64, at: Duration, datagram: &[u8]) {
    let Some(sequence) = datagram
        .strip_prefix(&MAGIC)
        .and_then(|rest| rest.first_chunk::<8>())
    else {
        return;
    };
    let sequence = u64::from_be_bytes(*sequence);
    report.received += 1;
    report.bins.add(at, datagram.len() as u64);
    if sequence >= *expected {
        report.lost = report.lost.saturating_add(sequence - *expected);
        *expected = sequence.saturating_add(1);
    } else {
        report.late += 1;
        report.lost = report.lost.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(sequence: u64) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&sequence.to_be_bytes());
        bytes
    }

    #[test]
    fn holes_are_lost_until_they_are_filled_late() {
        let (mut report, mut expected) = (CbrReport::default(), 0);
        for sequence in [0, 1, 4, 3, 5] {
            count(
                &mut report,
                &mut expected,
                Duration::ZERO,
                &datagram(sequence),
            );
        }
        assert_eq!((report.received, report.lost, report.late), (5, 1, 1));
        assert!((report.loss() - 1.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn datagrams_without_the_mark_are_ignored() {
        let (mut report, mut expected) = (CbrReport::default(), 0);
        count(&mut report, &mut expected, Duration::ZERO, b"hello");
        count(&mut report, &mut expected, Duration::ZERO, &MAGIC);
        assert_eq!(report, CbrReport::default());
    }

    #[test]
    fn the_generator_keeps_its_rate_over_loopback() {
        let socket = listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let to = socket.local_addr().unwrap();
        let stop = Stop::default();
        let config = CbrConfig {
            to,
            payload: 1_000,
            rate_bps: 8e6,
            duration: Duration::from_millis(300),
        };
        let (sent, report) = std::thread::scope(|scope| {
            let receiving = scope.spawn(|| receive(&socket, Instant::now(), &stop));
            let sent = generate(&config, &Stop::default()).unwrap();
            std::thread::sleep(Duration::from_millis(50));
            stop.raise();
            (sent, receiving.join().unwrap().unwrap())
        });
        // 300 datagrams are asked for; a busy machine may lose time, never gain it.
        assert!((50..=301).contains(&sent), "{sent}");
        assert_eq!(report.received + report.lost, sent);
    }
}
