//! A source and a sink of datagrams that measure how long each takes.

use airpace_net::clock::Clock;
use airpace_net::poll::{Interest, Poller};
use airpace_net::udp::{ReceiveBatch, TrafficClass, Transmit, UdpOptions, UdpSocket};
use airpace_units::Time;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use hdrhistogram::Histogram;
use std::io::{self, IoSlice};
use std::net::SocketAddr;

/// How the source sends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Pattern {
    /// This many packets per second, in groups of at most [`GROUP`] at even intervals.
    Paced(f64),
    /// At most this many packets in flight: as fast as the path carries them.
    Window(u64),
}

/// Datagrams handed to the kernel at once.
const GROUP: usize = 8;
/// Bytes of the timestamp and the number at the beginning of each datagram.
const STAMP: usize = 16;
/// If nothing arrives for this long, the packets in flight count as lost.
const GIVE_UP: Duration = Duration::from_millis(50);

/// State that source and sink share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Packets that the sink has received.
    pub(super) received: AtomicU64,
    /// Whether the source has ended.
    pub(super) end: AtomicBool,
}

/// Sends datagrams of `payload` bytes for `span`; returns how many were sent.
pub(super) fn send(
    to: SocketAddr,
    payload: usize,
    pattern: Pattern,
    span: Duration,
    shared: &Shared,
) -> io::Result<u64> {
    let socket = UdpSocket::bind(SocketAddr::from(([0, 0, 0, 0], 0)), UdpOptions::default())?;
    let clock = Clock::since_boot();
    let mut source = Source {
        socket,
        clock,
        to,
        payload,
        buffer: vec![0; payload * GROUP],
        sent: 0,
    };
    match pattern {
        Pattern::Paced(pps) => source.paced(pps, span)?,
        Pattern::Window(window) => source.windowed(window, span, shared)?,
    }
    Ok(source.sent)
}

struct Source {
    socket: UdpSocket,
    clock: Clock,
    to: SocketAddr,
    payload: usize,
    buffer: Vec<u8>,
    sent: u64,
}

impl Source {
    fn paced(&mut self, pps: f64, span: Duration) -> io::Result<()> {
        let mut poller = Poller::new()?;
        let start = self.clock.now();
        // The smallest groups that a timer of 100 µs permits.
        let group = ((pps * 100e-6).round() as usize).clamp(1, GROUP);
        let interval = Duration::from_secs_f64(group as f64 / pps);
        let mut at = start;
        while at < start + span {
            poller.wait(&self.clock, Some(at))?;
            self.send_group(group)?;
            at += interval;
        }
        Ok(())
    }

    fn windowed(&mut self, window: u64, span: Duration, shared: &Shared) -> io::Result<()> {
        let mut poller = Poller::new()?;
        let end = self.clock.now() + span;
        let (mut lost, mut last_received, mut progress_at) = (0, 0, self.clock.now());
        loop {
            let now = self.clock.now();
            if now >= end {
                return Ok(());
            }
            let received = shared.received.load(Ordering::Relaxed);
            if received != last_received {
                (last_received, progress_at) = (received, now);
            } else if now.saturating_since(progress_at) > GIVE_UP {
                lost = self.sent - received;
                progress_at = now;
            }
            if self.sent + GROUP as u64 <= received + lost + window {
                self.send_group(GROUP)?;
            } else {
                poller.wait(&self.clock, Some(now + Duration::from_micros(20)))?;
            }
        }
    }

    /// Sends `n` datagrams.
    fn send_group(&mut self, n: usize) -> io::Result<()> {
        let now = self.clock.now().as_nanos();
        let bytes = &mut self.buffer[..n * self.payload];
        for (idx, datagram) in (self.sent..).zip(bytes.chunks_mut(self.payload)) {
            datagram[..8].copy_from_slice(&now.to_le_bytes());
            datagram[8..STAMP].copy_from_slice(&idx.to_le_bytes());
        }
        let parts = [IoSlice::new(bytes)];
        // The plan allows at most 1420 bytes.
        let segment = (n > 1).then_some(self.payload as u16);
        let message = Transmit {
            to: Some(self.to),
            parts: &parts,
            segment,
            class: TrafficClass::DEFAULT,
        };
        if self.socket.send(&[message])? == 1 {
            self.sent += n as u64;
        }
        Ok(())
    }
}

/// The datagrams that arrived.
pub(super) struct Arrived {
    pub(super) packets: u64,
    pub(super) delay_ns: Histogram<u64>,
    /// Time between the first and the last arrival.
    pub(super) span: Duration,
}

/// Opens the socket of a sink.
pub(super) fn sink_socket(at: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind(
        at,
        UdpOptions {
            receive_buffer: 16 << 20,
            ..UdpOptions::default()
        },
    )
}

/// Receives until the source has ended and nothing has arrived for 100 ms.
pub(super) fn receive(socket: &UdpSocket, shared: &Shared) -> io::Result<Arrived> {
    let clock = Clock::since_boot();
    let mut poller = Poller::new()?;
    poller.add(socket, 0, Interest::Read)?;
    let mut batch = ReceiveBatch::new(16, 65_536);
    let delay_ns = Histogram::new_with_max(60_000_000_000, 3).expect("the bounds are valid");
    let mut arrived = Arrived {
        packets: 0,
        delay_ns,
        span: Duration::ZERO,
    };
    let mut first: Option<Time> = None;
    let mut last = clock.now();
    loop {
        poller.wait(&clock, Some(clock.now() + Duration::from_millis(20)))?;
        let n = socket.receive(&mut batch)?;
        let now = clock.now();
        for datagram in batch.iter().flat_map(|message| message.segments()) {
            let Some(stamp) = datagram.first_chunk::<8>() else {
                continue;
            };
            arrived.packets += 1;
            arrived
                .delay_ns
                .saturating_record(now.as_nanos().saturating_sub(u64::from_le_bytes(*stamp)));
        }
        shared.received.store(arrived.packets, Ordering::Relaxed);
        if n > 0 {
            last = now;
            arrived.span = now.saturating_since(*first.get_or_insert(now));
        } else if shared.end.load(Ordering::Acquire)
            && now.saturating_since(last) > Duration::from_millis(100)
        {
            return Ok(arrived);
        }
    }
}
