//! What the loops of proxy and agent share: waiting, the clock.

use airpace_edge::tunnel;
use airpace_net::clock::Clock;
use airpace_net::poll::{Interest, Poller};
use airpace_net::realtime;
use airpace_net::udp::UdpSocket;
use airpace_units::Time;
use core::time::Duration;
use std::os::fd::{AsFd, BorrowedFd};

/// A file that ends a loop when it becomes readable: [`airpace_net::signals::Signals`] in a
/// program, one end of a socket pair in a test's thread. Nothing is read from it.
pub type Stop<'a> = BorrowedFd<'a>;

/// How often a loop checks which sessions exist: they end without an event.
pub(crate) const SESSION_CHECK: Duration = Duration::from_millis(50);

/// Largest payload of a datagram, bytes: the MTU of the interface is at most 9000, and padding as
/// long.
pub(crate) const MAX_PAYLOAD: usize = 9_100;

/// Priority under SCHED_FIFO, if the configuration asks for it: above all ordinary processes, below
/// the threads of the kernel that handle interrupts (50).
const PRIORITY: u8 = 10;

const STOP: u64 = 0;
const DEVICE: u64 = 1;
const SOCKET: u64 = 2;
const MONITOR: u64 = 3;

/// The files of a loop that have become ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReadyFor {
    pub(crate) stop: bool,
    pub(crate) device: bool,
    pub(crate) socket: bool,
    pub(crate) monitor: bool,
}

/// Waits until a file of a loop is ready.
pub(crate) struct Loop {
    poller: Poller,
    clock: Clock,
    /// Whether the wait also ends when the socket can be written.
    writing: bool,
}

impl Loop {
    pub(crate) fn new(
        clock: Clock,
        realtime: bool,
        stop: Stop<'_>,
        device: &impl AsFd,
        socket: &UdpSocket,
    ) -> anyhow::Result<Self> {
        ask_for_real_time(realtime);
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

    /// Also waits for frames of a monitor interface, from now on until its file is closed.
    pub(crate) fn add_monitor(&mut self, monitor: &impl AsFd) -> anyhow::Result<()> {
        Ok(self.poller.add(monitor.as_fd(), MONITOR, Interest::Read)?)
    }

    /// Waits until a file is ready or the deadline passes. If `blocked`, the socket's send buffer
    /// is full, and room in it also ends the wait.
    pub(crate) fn wait(
        &mut self,
        socket: &UdpSocket,
        deadline: Option<Time>,
        blocked: bool,
    ) -> anyhow::Result<ReadyFor> {
        // Each change of the interest is a system call.
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

/// How soon a port is asked again that had no room for a frame.
pub(crate) const PORT_RETRY: Duration = Duration::from_micros(100);

/// Asks for real-time scheduling if it is `wanted`, and logs the answer.
pub(crate) fn ask_for_real_time(wanted: bool) {
    if !wanted {
        return;
    }
    match realtime::try_fifo(PRIORITY) {
        Ok(()) => tracing::info!(priority = PRIORITY, "real-time scheduling"),
        Err(error) => {
            tracing::warn!(%error, "the system refuses real-time scheduling, so timers will be less accurate");
        }
    }
}

/// The wall-clock time since 1970.
#[expect(clippy::disallowed_methods, reason = "only the loops read clocks")]
pub(crate) fn wall_clock() -> Duration {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
}

/// A clock that starts now, and the wall-clock time since 1970 at its origin.
pub(crate) fn start_clock() -> (Clock, Duration) {
    let clock = Clock::start();
    let epoch = wall_clock();
    (clock, epoch)
}

/// Logs how many datagrams were dropped for each reason.
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
