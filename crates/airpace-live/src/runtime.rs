//! What the loops of proxy and agent share: waiting, the clock.

use crate::crypto::Tunnel;
use crate::service::Service;
use airpace_api::config::TunConfig;
use airpace_core::wire::tcp;
use airpace_edge::tunnel::{self, SEAL_HEAD, SEAL_TAIL};
use airpace_net::clock::Clock;
use airpace_net::netlink::RouteEvents;
use airpace_net::poll::{Interest, Poller};
use airpace_net::realtime;
use airpace_net::signals::Signals;
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

/// How often a loop looks at what is known of the paths to its peers.
pub(crate) const PATH_CHECK: Duration = Duration::from_millis(200);

/// Bytes that the tunnel and the headers of IPv6 and UDP add to a packet.
const OVERHEAD_ON_IPV6: u16 = (SEAL_HEAD + SEAL_TAIL + 40 + 8) as u16;
/// Least MTU of IPv6 (RFC 8200, section 5).
const LEAST_IPV6_MTU: u16 = 1280;

/// Largest packet on the tunnel's interface, bytes.
pub(crate) fn mtu(tun: &TunConfig) -> u16 {
    // Validated to be at most 9000.
    u16::try_from(tun.mtu.0.0).unwrap_or(1420)
}

/// Lowers the largest segment that a SYN announces to what the path is known to take in one piece, if
/// that is less than the interface's `mtu`.
pub(crate) fn clamp_mss(packet: &mut [u8], path: Option<u16>, mtu: u16) {
    if let Some(path) = path.filter(|&path| path < mtu) {
        tcp::clamp_mss(packet, path);
    }
}

/// Has the socket cut datagrams over IPv6 to what the paths to the first `peers` peers take: routers of
/// IPv6 cut none. There is one limit for all of them.
///
/// A path of which nothing is known yet is taken to be as narrow as IPv6 allows, because datagrams
/// that are too long would vanish until the search has found that out.
pub(crate) fn limit_packets(socket: &UdpSocket, tunnel: &Tunnel, peers: usize, mtu: u16) {
    let mut least = None;
    for peer in 0..peers {
        let is_on_ipv6 = tunnel
            .endpoint(peer)
            .is_some_and(|endpoint| endpoint.ip().to_canonical().is_ipv6());
        if is_on_ipv6 {
            let path = tunnel.longest_payload(peer).unwrap_or(0).min(mtu);
            least = Some(path.min(least.unwrap_or(mtu)));
        }
    }
    // Without peers on IPv6 the limit affects nobody, and suits the first that comes.
    let least = least.unwrap_or(0);
    let limit = (least < mtu).then(|| least.saturating_add(OVERHEAD_ON_IPV6).max(LEAST_IPV6_MTU));
    // The limit is in the range that the kernel accepts.
    let _ = socket.limit_ipv6_packets(limit);
}

/// Priority under SCHED_FIFO, if the configuration asks for it: above all ordinary processes, below
/// the threads of the kernel that handle interrupts (50).
const PRIORITY: u8 = 10;

const STOP: u64 = 0;
const DEVICE: u64 = 1;
const SOCKET: u64 = 2;
const MONITOR: u64 = 3;
const ROUTES: u64 = 4;
const HANGUP: u64 = 5;

/// The files of a loop that have become ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReadyFor {
    pub(crate) stop: bool,
    pub(crate) device: bool,
    pub(crate) socket: bool,
    pub(crate) monitor: bool,
    pub(crate) routes: bool,
    pub(crate) hangup: bool,
}

/// Waits until a file of a loop is ready.
pub(crate) struct Loop {
    poller: Poller,
    clock: Clock,
    /// Whether the wait also ends when the socket can be written.
    writing: bool,
    service: Service,
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
            service: Service::begin(),
        })
    }

    /// Tells the service manager how the daemon stands.
    pub(crate) fn tell_status(&mut self, status: String) {
        self.service.status(status);
    }

    /// Also waits for the signal that asks for files to be opened again, if it is received.
    pub(crate) fn add_hangup(&mut self, hangup: Option<&Signals>) -> anyhow::Result<()> {
        if let Some(signals) = hangup {
            self.poller.add(signals, HANGUP, Interest::Read)?;
        }
        Ok(())
    }

    /// Also waits for changes of routes.
    pub(crate) fn add_route_events(&mut self, events: &RouteEvents) -> anyhow::Result<()> {
        Ok(self.poller.add(events, ROUTES, Interest::Read)?)
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
        self.service.turn(self.clock.now());
        let deadline = [deadline, self.service.deadline()]
            .into_iter()
            .flatten()
            .min();
        self.poller.wait(&self.clock, deadline)?;
        let mut ready = ReadyFor::default();
        for file in self.poller.ready() {
            match file.token {
                STOP => ready.stop = true,
                DEVICE => ready.device = true,
                SOCKET => ready.socket |= file.readable,
                ROUTES => ready.routes = true,
                HANGUP => ready.hangup = true,
                _ => ready.monitor = true,
            }
        }
        if ready.stop {
            self.service.stopping();
        }
        Ok(ready)
    }
}

/// Takes the signals that have arrived, and returns whether there were any.
pub(crate) fn was_hung_up(hangup: Option<&Signals>) -> anyhow::Result<bool> {
    let mut was_received = false;
    if let Some(signals) = hangup {
        // Several signals ask for the same.
        while signals.next()?.is_some() {
            was_received = true;
        }
    }
    Ok(was_received)
}

/// How soon a port is asked again that had no room for a frame.
pub(crate) const PORT_RETRY: Duration = Duration::from_micros(100);

/// Asks for real-time scheduling if it is `wanted`, and logs the answer.
pub(crate) fn ask_for_real_time(wanted: bool) {
    if !wanted {
        return;
    }
    match realtime::try_fifo(PRIORITY) {
        Ok(()) => tracing::info!(
            event = "realtime",
            priority = PRIORITY,
            "real-time scheduling"
        ),
        Err(error) => {
            tracing::warn!(event = "realtime-refused", %error, "the system refuses real-time scheduling, so timers will be less accurate");
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

/// A clock that starts now, and the wall-clock time since 1970 at its origin. It counts the time in
/// which the machine is suspended: keys age then, too, and the other end hears nothing.
pub(crate) fn start_clock() -> (Clock, Duration) {
    let clock = Clock::start_counting_suspends();
    let epoch = wall_clock();
    (clock, epoch)
}

/// Logs how many datagrams were dropped for each reason.
pub(crate) fn log_drops(counts: &tunnel::Counts) {
    for reason in tunnel::Reason::ALL {
        let dropped = counts.dropped_for(reason);
        if dropped > 0 {
            tracing::info!(
                event = "datagrams-dropped-in-all",
                dropped,
                reason = reason.name(),
                "datagrams dropped"
            );
        }
    }
}
