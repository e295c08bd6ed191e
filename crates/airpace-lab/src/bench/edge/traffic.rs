//! UDP packets of 1500 bytes from a server to a station: as many as possible, or at a rate.

use airpace_net::clock::Clock;
use airpace_net::netns::Namespace;
use airpace_net::poll::{Interest, Poller};
use airpace_net::realtime;
use airpace_net::udp::{ReceiveBatch, TrafficClass, Transmit, UdpOptions, UdpSocket};
use airpace_units::Time;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use hdrhistogram::Histogram;
use std::io::IoSlice;

/// Length of the IP packets.
pub const PACKET_BYTES: usize = 1500;
/// Payload of such a UDP packet over IPv4.
const PAYLOAD_BYTES: usize = PACKET_BYTES - 28;
/// Packets sent by one system call: many to find the throughput, few to measure the delay.
const LONG_BURST: usize = 32;
const SHORT_BURST: usize = 4;

/// What arrived of a run.
#[derive(Debug)]
pub struct Arrivals {
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Received IP packets in Gbit/s.
    pub gbps: f64,
    /// Time from the system call that sent a packet to the one that received it, ns.
    pub delays_ns: Histogram<u64>,
    /// Longest time between two arrivals.
    pub longest_gap: Duration,
    /// When the last packet arrived, on [`Clock::since_boot`].
    pub last: Time,
}

/// A socket from which packets are sent, and one at which they arrive.
#[derive(Debug)]
pub struct Traffic {
    sender: UdpSocket,
    receiver: UdpSocket,
    to: SocketAddr,
}

impl Traffic {
    /// Opens the sockets.
    ///
    /// # Errors
    /// If an address is taken.
    pub fn open(
        from: (&Namespace, SocketAddr),
        to: (&Namespace, SocketAddr),
    ) -> anyhow::Result<Self> {
        let open = |(namespace, address): (&Namespace, SocketAddr)| -> anyhow::Result<UdpSocket> {
            let options = UdpOptions {
                stamp: false,
                ..UdpOptions::default()
            };
            Ok(namespace.run(|| UdpSocket::bind(address, options))??)
        };
        Ok(Self {
            sender: open(from)?,
            receiver: open(to)?,
            to: to.1,
        })
    }

    /// Sends for `span`, at `gbps` or as fast as possible. Calls `meanwhile` in the calling thread.
    ///
    /// # Errors
    /// Of the system, and those of `meanwhile`.
    pub fn run(
        &self,
        span: Duration,
        gbps: Option<f64>,
        meanwhile: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<Arrivals> {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let receiving = scope.spawn(|| {
                stand_out();
                receive(&self.receiver, &is_over)
            });
            let sending = scope.spawn(|| send(&self.sender, self.to, span, gbps));
            let other = meanwhile();
            let sent = sending.join().expect("the sender does not panic");
            // What is still on the way arrives within this time.
            super::testbed::pause(Duration::from_millis(50));
            is_over.store(true, Ordering::Relaxed);
            let arrivals = receiving.join().expect("the receiver does not panic");
            other?;
            let (sent, mut arrivals) = (sent?, arrivals?);
            arrivals.sent = sent;
            let bits = arrivals.received as f64 * (PACKET_BYTES * 8) as f64;
            arrivals.gbps = bits / span.as_secs_f64() / 1e9;
            Ok(arrivals)
        })
    }
}

/// Asks for real-time scheduling below that of the box, so that other programs of the machine do not
/// show in the figures. Without the right to it they do.
fn stand_out() {
    if let Err(error) = realtime::try_fifo(1) {
        tracing::warn!(%error, "other programs of this machine will show in the figures");
    }
}

/// Sends bursts of stamped packets and returns how many packets the kernel took.
fn send(
    socket: &UdpSocket,
    to: SocketAddr,
    span: Duration,
    gbps: Option<f64>,
) -> anyhow::Result<u64> {
    let burst = match gbps {
        Some(_) => SHORT_BURST,
        None => LONG_BURST,
    };
    let clock = Clock::since_boot();
    let mut payload = vec![0; PAYLOAD_BYTES * burst];
    let mut timer = Poller::new()?;
    let mut room = Poller::new()?;
    room.add(socket, 0, Interest::Write)?;
    let end = clock.now() + span;
    let mut next = clock.now();
    let mut sent = 0;
    while clock.now() < end {
        if let Some(gbps) = gbps {
            next += Duration::from_secs_f64((burst * PACKET_BYTES * 8) as f64 / (gbps * 1e9));
            timer.wait(&clock, Some(next))?;
        }
        let now = clock.now().as_nanos().to_ne_bytes();
        for packet in payload.chunks_exact_mut(PAYLOAD_BYTES) {
            packet[..8].copy_from_slice(&now);
        }
        let message = Transmit {
            to: Some(to),
            parts: &[IoSlice::new(&payload)],
            segment: Some(PAYLOAD_BYTES as u16),
            class: TrafficClass::DEFAULT,
        };
        if socket.send(&[message])? == 1 {
            sent += burst as u64;
        } else {
            room.wait(&clock, Some(end))?;
        }
    }
    Ok(sent)
}

/// Receives until told to stop.
fn receive(socket: &UdpSocket, stop: &AtomicBool) -> anyhow::Result<Arrivals> {
    let clock = Clock::since_boot();
    let mut poller = Poller::new()?;
    poller.add(socket, 0, Interest::Read)?;
    let mut batch = ReceiveBatch::new(64, 65_536);
    let mut arrivals = Arrivals {
        sent: 0,
        received: 0,
        gbps: 0.0,
        delays_ns: Histogram::new_with_bounds(1, 10_000_000_000, 3)?,
        longest_gap: Duration::ZERO,
        last: Time::ZERO,
    };
    while !stop.load(Ordering::Relaxed) {
        poller.wait(&clock, Some(clock.now() + Duration::from_millis(10)))?;
        while socket.receive(&mut batch)? > 0 {
            let now = clock.now();
            if arrivals.received > 0 {
                let gap = now.saturating_since(arrivals.last);
                arrivals.longest_gap = arrivals.longest_gap.max(gap);
            }
            arrivals.last = now;
            for datagram in batch.iter() {
                for packet in datagram.segments() {
                    let stamp = packet.first_chunk().map(|&stamp| u64::from_ne_bytes(stamp));
                    let stamp = stamp.unwrap_or(now.as_nanos());
                    let delay = now.as_nanos().saturating_sub(stamp).max(1);
                    arrivals.delays_ns.saturating_record(delay);
                    arrivals.received += 1;
                }
            }
        }
    }
    Ok(arrivals)
}
