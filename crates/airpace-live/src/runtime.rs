//! What the two loops share: waiting, the clock, telemetry files.

use crate::tunnel;
use airpace_net::clock::Clock;
use airpace_net::poll::{Interest, Poller};
use airpace_net::realtime;
use airpace_net::udp::UdpSocket;
use airpace_units::Time;
use anyhow::Context as _;
use core::net::IpAddr;
use core::time::Duration;
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// A file whose becoming readable ends a loop: [`airpace_net::signals::Signals`] in a program, one end of a socket pair in a
/// thread of a test. Nothing is read from it.
pub type Stop<'a> = BorrowedFd<'a>;

/// How often sessions are looked at.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Priority under SCHED_FIFO, if it is asked for: above everything ordinary, below the kernel's own threads (50).
const PRIORITY: u8 = 10;

const STOP: u64 = 0;
const DEVICE: u64 = 1;
const SOCKET: u64 = 2;
const MONITOR: u64 = 3;

/// What has become ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReadyFor {
    pub(crate) stop: bool,
    pub(crate) device: bool,
    pub(crate) socket: bool,
    pub(crate) monitor: bool,
}

/// Waits for the files of a loop.
pub(crate) struct Loop {
    poller: Poller,
    clock: Clock,
    writing: bool,
}

impl Loop {
    pub(crate) fn new(
        clock: Clock,
        realtime: bool,
        stop: Stop<'_>,
        (device, socket): (&impl AsFd, &UdpSocket),
    ) -> anyhow::Result<Self> {
        if realtime && let Err(error) = realtime::try_fifo(PRIORITY) {
            tracing::warn!(%error, "real-time scheduling is refused: deadlines will be met less well");
        }
        let poller = Poller::new()?;
        poller.add(stop, STOP, Interest::Read)?;
        poller.add(device.as_fd(), DEVICE, Interest::Read)?;
        poller.add(socket, SOCKET, Interest::Read)?;
        Ok(Self { poller, clock, writing: false })
    }

    /// Also waits for frames of a monitor interface.
    pub(crate) fn add_monitor(&mut self, monitor: &impl AsFd) -> anyhow::Result<()> {
        Ok(self.poller.add(monitor.as_fd(), MONITOR, Interest::Read)?)
    }

    pub(crate) fn remove_monitor(&mut self, monitor: &impl AsFd) -> anyhow::Result<()> {
        Ok(self.poller.remove(monitor.as_fd())?)
    }

    /// Waits for a file or the deadline; `blocked` tells that the socket's buffer is full, so that room in it ends the wait.
    pub(crate) fn wait(
        &mut self,
        socket: &UdpSocket,
        deadline: Option<Time>,
        blocked: bool,
    ) -> anyhow::Result<ReadyFor> {
        if blocked != self.writing {
            self.writing = blocked;
            let interest = if blocked { Interest::Both } else { Interest::Read };
            self.poller.modify(socket, SOCKET, interest)?;
        }
        self.poller.wait(&self.clock, deadline)?;
        let mut ready = ReadyFor::default();
        for file in self.poller.ready() {
            match file.token {
                STOP => ready.stop = true,
                DEVICE => ready.device = true,
                SOCKET => ready.socket |= file.readable,
                _ => ready.monitor = true,
            }
        }
        Ok(ready)
    }
}

/// A clock that starts now, and the wall-clock time since 1970 at its origin.
#[expect(clippy::disallowed_methods, reason = "the loops are where clocks are read")]
pub(crate) fn start_clock() -> (Clock, Duration) {
    let clock = Clock::start();
    let epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (clock, epoch)
}

/// Randomness for keys of hash functions.
pub(crate) fn random_key() -> [u8; 16] {
    use ring::rand::SecureRandom as _;
    let mut key = [0; 16];
    ring::rand::SystemRandom::new().fill(&mut key).expect("Linux has a source of randomness");
    key
}

/// Telemetry: one JSON object per line, or nothing.
pub(crate) struct Journal {
    file: Option<BufWriter<File>>,
    dirty: bool,
}

impl Journal {
    /// Appends to the file at `path`, if there is one.
    pub(crate) fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        let open = |path: &Path| {
            let file = File::options().create(true).append(true).open(path);
            file.with_context(|| format!("telemetry file {}", path.display()))
        };
        Ok(Self { file: path.map(open).transpose()?.map(BufWriter::new), dirty: false })
    }

    pub(crate) fn write(&mut self, record: &impl Serialize) -> anyhow::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        serde_json::to_writer(&mut *file, record)?;
        file.write_all(b"\n")?;
        self.dirty = true;
        Ok(())
    }

    /// Makes what was written visible to readers.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        if let Some(file) = self.file.as_mut().filter(|_| self.dirty) {
            file.flush().context("writing telemetry")?;
            self.dirty = false;
        }
        Ok(())
    }
}

/// The source of an IP packet.
pub(crate) fn source(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => packet.get(12..16).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()).map(IpAddr::from),
        6 => packet.get(8..24).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok()).map(IpAddr::from),
        _ => None,
    }
}

/// Tells why datagrams were dropped, if any were.
pub(crate) fn log_drops(counts: &tunnel::Counts) {
    for reason in tunnel::Reason::ALL {
        let dropped = counts.dropped_for(reason);
        if dropped > 0 {
            tracing::info!(dropped, reason = reason.name(), "datagrams dropped unanswered");
        }
    }
}
