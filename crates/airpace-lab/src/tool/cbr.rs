//! Constant-rate UDP with sequence numbers: a generator and a receiver that counts losses.

use super::socket::readable_until;
use super::{Bins, Stop, WAKE};
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Marks our datagrams; everything else that arrives is ignored.
const MAGIC: [u8; 8] = *b"aircbr_1";

/// Magic and sequence number.
const HEADER: usize = 16;

/// Datagrams are sent in bursts this far apart: a timer below 100 µs would be late on an ordinary machine anyway.
const BURST_INTERVAL: Duration = Duration::from_micros(500);

/// Bursts are not made up for beyond this: a generator that was held up skips, as a paced sender does.
const CATCH_UP: Duration = Duration::from_millis(20);

/// What a generator is asked to do.
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

/// What a receiver counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CbrReport {
    /// Datagrams received.
    pub received: u64,
    /// Datagrams with a lower sequence number than the highest received that never came.
    pub lost: u64,
    /// Datagrams that came after one with a higher sequence number.
    pub late: u64,
    /// Payload bytes by time.
    pub bins: Bins,
}

impl CbrReport {
    /// Lost datagrams as a share of those sent before the last received one.
    #[must_use]
    pub fn loss(&self) -> f64 {
        let sent = self.received + self.lost;
        if sent == 0 { 0.0 } else { self.lost as f64 / sent as f64 }
    }
}

/// Sends at the configured rate; returns how many datagrams were sent.
///
/// # Errors
/// If the payload cannot hold the header, the rate is no rate, or the socket fails for good.
pub fn generate(config: &CbrConfig, stop: &Stop) -> Result<u64> {
    ensure!((HEADER..=65_507).contains(&config.payload), "the payload must be 16 to 65507 bytes");
    ensure!(config.rate_bps.is_finite() && config.rate_bps > 0.0, "the rate must be above zero");
    let any: SocketAddr =
        if config.to.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { (std::net::Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = UdpSocket::bind(any).context("opening a UDP socket")?;
    socket.connect(config.to).with_context(|| format!("connecting to {}", config.to))?;
    let per_second = config.rate_bps / (config.payload as f64 * 8.0);
    let mut datagram = vec![0u8; config.payload];
    datagram[..8].copy_from_slice(&MAGIC);
    let start = Instant::now();
    let (mut sequence, mut due) = (0u64, 0.0f64);
    let mut last = start;
    while start.elapsed() < config.duration && !stop.is_raised() {
        let now = Instant::now();
        due += (now - last).min(CATCH_UP).as_secs_f64() * per_second;
        last = now;
        while due >= 1.0 {
            datagram[8..16].copy_from_slice(&sequence.to_be_bytes());
            // A refused datagram is a loss that the receiver sees by its sequence number.
            let _refused = socket.send(&datagram).is_err();
            sequence += 1;
            due -= 1.0;
        }
        std::thread::sleep(BURST_INTERVAL);
    }
    Ok(sequence)
}

/// Counts datagrams until `stop` is raised; bins count from `start`.
///
/// # Errors
/// If waiting for the socket fails.
pub fn receive(socket: &UdpSocket, start: Instant, stop: &Stop) -> Result<CbrReport> {
    socket.set_nonblocking(true).context("making a UDP socket non-blocking")?;
    let mut report = CbrReport::default();
    let mut expected = 0u64;
    let mut buffer = vec![0u8; 65_536];
    while !stop.is_raised() {
        if !readable_until(socket, Instant::now() + WAKE)? {
            continue;
        }
        loop {
            match socket.recv(&mut buffer) {
                Ok(n) => count(&mut report, &mut expected, start.elapsed(), &buffer[..n]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => tracing::debug!(%error, "receiving a datagram"),
            }
        }
    }
    Ok(report)
}

fn count(report: &mut CbrReport, expected: &mut u64, at: Duration, datagram: &[u8]) {
    let Some(sequence) = datagram.strip_prefix(&MAGIC).and_then(|rest| rest.first_chunk::<8>()) else { return };
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
            count(&mut report, &mut expected, Duration::ZERO, &datagram(sequence));
        }
        assert_eq!((report.received, report.lost, report.late), (5, 1, 1));
        assert!((report.loss() - 1.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn foreign_datagrams_are_ignored() {
        let (mut report, mut expected) = (CbrReport::default(), 0);
        count(&mut report, &mut expected, Duration::ZERO, b"hello");
        count(&mut report, &mut expected, Duration::ZERO, &MAGIC);
        assert_eq!(report, CbrReport::default());
    }

    #[test]
    fn the_generator_keeps_its_rate_over_loopback() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = socket.local_addr().unwrap();
        let stop = Stop::default();
        let config = CbrConfig { to, payload: 1_000, rate_bps: 8e6, duration: Duration::from_millis(300) };
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
