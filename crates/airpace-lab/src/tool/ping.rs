//! Ping over UDP: an echo server and a client that sends at a fixed interval and keeps every
//! round-trip time.
//!
//! It uses UDP instead of ICMP, because UDP needs no privileges and the kernel treats it like the
//! data beside it.

use super::socket::readable_until;
use super::{Stop, WAKE};
use anyhow::{Context, Result};
use nix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Payload of a ping in bytes, that of the `ping` program.
pub const PAYLOAD: usize = 56;

/// Marks our datagrams. All others are ignored.
const MAGIC: [u8; 8] = *b"airping1";
/// Where in a datagram is when it was sent, and when it came to the echo server: CLOCK_MONOTONIC in nanoseconds.
const SENT: std::ops::Range<usize> = 16..24;
const ECHOED: std::ops::Range<usize> = 24..32;

/// Configuration of a pinger.
#[derive(Clone, Copy, Debug)]
pub struct PingConfig {
    /// The echo server.
    pub to: SocketAddr,
    /// Time between pings.
    pub interval: Duration,
    /// How long pings are sent.
    pub duration: Duration,
    /// How long to wait for answers after the last ping.
    pub patience: Duration,
}

/// One ping.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ping {
    /// Time at which it was sent, seconds after the start of the experiment.
    pub at_s: f64,
    /// Round-trip time in milliseconds; `None` if no answer came.
    pub rtt_ms: Option<f64>,
    /// Time from the pinger to the echo server in milliseconds; `None` if no answer came, or the server
    /// runs on another host, whose clock has nothing to do with ours.
    pub one_way_ms: Option<f64>,
}

/// Answers every ping with itself until `stop` is raised; returns how many it answered.
///
/// # Errors
/// If waiting for the socket fails.
pub fn echo(socket: &UdpSocket, stop: &Stop) -> Result<u64> {
    let mut buffer = [0u8; 2048];
    let mut answered = 0;
    while !stop.is_raised() {
        if !readable_until(socket, Instant::now() + WAKE)? {
            continue;
        }
        match socket.recv_from(&mut buffer) {
            Ok((n, from)) if buffer[..n].starts_with(&MAGIC) => {
                if let Some(echoed) = buffer[..n].get_mut(ECHOED) {
                    echoed.copy_from_slice(&clock_ns().to_be_bytes());
                }
                // An answer that cannot be sent is lost, and the pinger counts it.
                answered += u64::from(socket.send_to(&buffer[..n], from).is_ok());
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "receiving a ping"),
        }
    }
    Ok(answered)
}

/// Sends pings at the interval, waits for the answers and returns the pings in the order in which
/// they were sent. Times count from `start`.
///
/// # Errors
/// If no socket can be opened, or the destination's address family is not available.
pub fn ping(config: &PingConfig, start: Instant, stop: &Stop) -> Result<Vec<Ping>> {
    let any: SocketAddr = if config.to.is_ipv4() {
        ([0, 0, 0, 0], 0).into()
    } else {
        (std::net::Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let socket = UdpSocket::bind(any).context("opening a UDP socket for pings")?;
    socket
        .connect(config.to)
        .with_context(|| format!("connecting to {}", config.to))?;
    socket
        .set_nonblocking(true)
        .context("making the ping socket non-blocking")?;
    let mut pinger = Pinger {
        socket,
        start,
        sent: Vec::new(),
    };
    pinger.send_all(config, stop)?;
    pinger.wait_for_stragglers(config.patience, stop)?;
    Ok(pinger.sent)
}

struct Pinger {
    socket: UdpSocket,
    start: Instant,
    sent: Vec<Ping>,
}

impl Pinger {
    fn send_all(&mut self, config: &PingConfig, stop: &Stop) -> Result<()> {
        let first = Instant::now();
        let end = first + config.duration;
        let mut next = first;
        while next < end && !stop.is_raised() {
            while readable_until(&self.socket, next)? {
                self.receive();
            }
            self.send();
            // A late wake-up does not shift later pings, so that the load they add stays constant.
            // After a long delay at most one ping is sent late.
            next = (next + config.interval).max(Instant::now() - config.interval);
        }
        Ok(())
    }

    fn send(&mut self) {
        let mut datagram = [0u8; PAYLOAD];
        datagram[..8].copy_from_slice(&MAGIC);
        datagram[8..16].copy_from_slice(&(self.sent.len() as u64).to_be_bytes());
        datagram[SENT].copy_from_slice(&clock_ns().to_be_bytes());
        self.sent.push(Ping {
            at_s: self.start.elapsed().as_secs_f64(),
            rtt_ms: None,
            one_way_ms: None,
        });
        // A ping that the kernel refuses counts as lost.
        if let Err(error) = self.socket.send(&datagram) {
            tracing::debug!(%error, "a ping was not sent");
        }
    }

    fn receive(&mut self) {
        let mut buffer = [0u8; 2048];
        loop {
            match self.socket.recv(&mut buffer) {
                Ok(n) => self.on_answer(&buffer[..n]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // ECONNREFUSED: an earlier ping found no listener.
                Err(_) => {}
            }
        }
    }

    fn on_answer(&mut self, datagram: &[u8]) {
        let now_s = self.start.elapsed().as_secs_f64();
        let Some(sequence) = datagram
            .strip_prefix(&MAGIC)
            .and_then(|rest| rest.first_chunk::<8>())
        else {
            return;
        };
        let index = usize::try_from(u64::from_be_bytes(*sequence)).unwrap_or(usize::MAX);
        // Only the first of several answers counts.
        if let Some(ping) = self.sent.get_mut(index)
            && ping.rtt_ms.is_none()
        {
            let rtt_ms = (now_s - ping.at_s) * 1e3;
            ping.rtt_ms = Some(rtt_ms);
            // On another host the difference is anything.
            ping.one_way_ms = one_way_ms(datagram).filter(|one_way_ms| *one_way_ms <= rtt_ms);
        }
    }

    fn wait_for_stragglers(&mut self, patience: Duration, stop: &Stop) -> Result<()> {
        let end = Instant::now() + patience;
        while self.sent.iter().any(|p| p.rtt_ms.is_none())
            && Instant::now() < end
            && !stop.is_raised()
        {
            if readable_until(&self.socket, end.min(Instant::now() + WAKE))? {
                self.receive();
            }
        }
        Ok(())
    }
}

/// CLOCK_MONOTONIC, which all programs of a host share, in nanoseconds.
fn clock_ns() -> u64 {
    // Linux always has this clock, which counts from the start of the host.
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
    now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// Time from the pinger to the echo server, if the answer says so.
fn one_way_ms(answer: &[u8]) -> Option<f64> {
    let read = |range: std::ops::Range<usize>| {
        Some(u64::from_be_bytes(answer.get(range)?.try_into().ok()?))
    };
    let (sent_ns, echoed_ns): (u64, u64) = (read(SENT)?, read(ECHOED)?);
    Some(Duration::from_nanos(echoed_ns.checked_sub(sent_ns)?).as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(to: SocketAddr) -> PingConfig {
        PingConfig {
            to,
            interval: Duration::from_millis(2),
            duration: Duration::from_millis(60),
            patience: Duration::from_millis(500),
        }
    }

    #[test]
    fn every_ping_over_loopback_is_answered() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = server.local_addr().unwrap();
        let stop = Stop::default();
        let pings = std::thread::scope(|scope| {
            scope.spawn(|| echo(&server, &stop));
            let pings = ping(&config(to), Instant::now(), &stop);
            stop.raise();
            pings.unwrap()
        });
        assert!(!pings.is_empty() && pings.len() <= 31, "{}", pings.len());
        assert!(pings.iter().all(|p| p.rtt_ms.is_some_and(|rtt| rtt >= 0.0)));
        assert!(pings.iter().all(|p| p.one_way_ms <= p.rtt_ms));
        assert!(pings.iter().any(|p| p.one_way_ms.is_some()));
        assert!(pings.is_sorted_by_key(|p| p.at_s));
    }

    #[test]
    fn pings_without_an_echo_server_count_as_lost() {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let config = PingConfig {
            patience: Duration::from_millis(20),
            ..config(silent.local_addr().unwrap())
        };
        let pings = ping(&config, Instant::now(), &Stop::default()).unwrap();
        assert!(!pings.is_empty() && pings.iter().all(|p| p.rtt_ms.is_none()));
    }

    #[test]
    fn an_answer_of_another_host_or_none_at_all_tells_no_one_way_time() {
        let mut answer = [0u8; PAYLOAD];
        answer[SENT].copy_from_slice(&5_000_000u64.to_be_bytes());
        assert_eq!(one_way_ms(&answer), None);
        answer[ECHOED].copy_from_slice(&7_000_000u64.to_be_bytes());
        assert_eq!(one_way_ms(&answer), Some(2.0));
        assert_eq!(one_way_ms(&answer[..20]), None);
    }
}
