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
use std::io::{self, BufWriter, Write as _};
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
        if realtime {
            match realtime::try_fifo(PRIORITY) {
                Ok(()) => tracing::info!(priority = PRIORITY, "real-time scheduling"),
                Err(error) => {
                    tracing::warn!(%error, "real-time scheduling is refused: deadlines will be met less well")
                }
            }
        }
        let poller = Poller::new()?;
        poller.add(stop, STOP, Interest::Read)?;
        poller.add(device.as_fd(), DEVICE, Interest::Read)?;
        poller.add(socket, SOCKET, Interest::Read)?;
        Ok(Self {
            poller,
            clock,
            writing: false,
        })
    }

    /// Also waits for frames of a monitor interface, until its file is closed.
    pub(crate) fn add_monitor(&mut self, monitor: &impl AsFd) -> anyhow::Result<()> {
        Ok(self.poller.add(monitor.as_fd(), MONITOR, Interest::Read)?)
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
            let interest = if blocked {
                Interest::Both
            } else {
                Interest::Read
            };
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
#[expect(
    clippy::disallowed_methods,
    reason = "the loops are where clocks are read"
)]
pub(crate) fn start_clock() -> (Clock, Duration) {
    let clock = Clock::start();
    let epoch = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    (clock, epoch)
}

/// Randomness for keys of hash functions.
pub(crate) fn random_key() -> [u8; 16] {
    use ring::rand::SecureRandom as _;
    let mut key = [0; 16];
    ring::rand::SystemRandom::new()
        .fill(&mut key)
        .expect("Linux has a source of randomness");
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
        Ok(Self {
            file: path.map(open).transpose()?.map(BufWriter::new),
            dirty: false,
        })
    }

    pub(crate) fn write(&mut self, record: &impl Serialize) {
        let Some(file) = &mut self.file else { return };
        self.dirty = true;
        let written = serde_json::to_writer(&mut *file, record)
            .map_err(io::Error::from)
            .and_then(|()| file.write_all(b"\n"));
        self.go_on_without(written);
    }

    /// Makes what was written visible to readers.
    pub(crate) fn flush(&mut self) {
        if let Some(file) = self.file.as_mut().filter(|_| self.dirty) {
            self.dirty = false;
            let flushed = file.flush();
            self.go_on_without(flushed);
        }
    }

    /// A full disk ends the telemetry and not the datapath.
    fn go_on_without(&mut self, result: io::Result<()>) {
        let Err(error) = result else { return };
        tracing::warn!(%error, "telemetry cannot be written and ends here; packets go on");
        if let Some(file) = self.file.take() {
            // What is left in the buffer would be tried once more.
            let _ = file.into_parts();
        }
    }

    /// Whether records are still written.
    #[cfg(test)]
    pub(crate) const fn is_open(&self) -> bool {
        self.file.is_some()
    }
}

/// The source of an IP packet.
pub(crate) fn source(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => packet
            .get(12..16)
            .and_then(|bytes| <[u8; 4]>::try_from(bytes).ok())
            .map(IpAddr::from),
        6 => packet
            .get(8..24)
            .and_then(|bytes| <[u8; 16]>::try_from(bytes).ok())
            .map(IpAddr::from),
        _ => None,
    }
}

/// Tells why datagrams were dropped, if any were.
pub(crate) fn log_drops(counts: &tunnel::Counts) {
    for reason in tunnel::Reason::ALL {
        let dropped = counts.dropped_for(reason);
        if dropped > 0 {
            tracing::info!(
                dropped,
                reason = reason.name(),
                "datagrams dropped unanswered"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_ends_telemetry_and_nothing_else() {
        let mut journal = Journal::open(Some(Path::new("/dev/full"))).unwrap();
        journal.write(&"a record");
        assert!(journal.is_open(), "it is buffered");
        journal.flush();
        assert!(!journal.is_open());
        journal.write(&"another");
        journal.flush();
    }
}
