//! Waiting for a socket with a finer timer than `SO_RCVTIMEO`, and opening TCP connections with a
//! chosen congestion control.

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, getsockopt, setsockopt, socket,
    sockopt,
};
use nix::sys::time::TimeSpec;
use std::ffi::OsString;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Waits until `fd` can be read or `deadline` has passed; returns whether it can be read.
///
/// `SO_RCVTIMEO` counts in jiffies of up to 10 ms; `ppoll` uses a high-resolution timer.
pub(super) fn readable_until(fd: &impl AsFd, deadline: Instant) -> Result<bool> {
    ready_until(fd, PollFlags::POLLIN, deadline)
}

/// Waits until one of these events is there for `fd` or `deadline` has passed; returns whether it is.
pub(super) fn ready_until(fd: &impl AsFd, what: PollFlags, deadline: Instant) -> Result<bool> {
    let mut fds = [PollFd::new(fd.as_fd(), what)];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match ppoll(&mut fds, Some(TimeSpec::from_duration(left)), None) {
            Ok(n) => return Ok(n > 0),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error).context("waiting for a socket"),
        }
    }
}

/// Opens a TCP connection whose congestion control is set before the first segment. Gives up after
/// `patience`.
pub(super) fn connect_tcp(
    to: SocketAddr,
    congestion: Option<&str>,
    patience: Duration,
) -> Result<TcpStream> {
    let deadline = Instant::now() + patience;
    loop {
        match try_connect_tcp(to, congestion, deadline) {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() >= deadline => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// One attempt. The socket is non-blocking while it connects, because the kernel would try for two
/// minutes.
fn try_connect_tcp(
    to: SocketAddr,
    congestion: Option<&str>,
    deadline: Instant,
) -> Result<TcpStream> {
    let family = if to.is_ipv4() {
        AddressFamily::Inet
    } else {
        AddressFamily::Inet6
    };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket(family, SockType::Stream, flags, None).context("opening a TCP socket")?;
    if let Some(name) = congestion {
        setsockopt(&fd, sockopt::TcpCongestion, &OsString::from(name)).with_context(|| {
            format!("choosing congestion control {name:?}: see net.ipv4.tcp_available_congestion_control")
        })?;
    }
    match connect(fd.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) => {}
        Err(Errno::EINPROGRESS) => {
            finish_connect(&fd, deadline).with_context(|| format!("connecting to {to}"))?
        }
        Err(error) => return Err(error).with_context(|| format!("connecting to {to}")),
    }
    let stream = TcpStream::from(fd);
    stream
        .set_nonblocking(false)
        .context("making the connection blocking")?;
    Ok(stream)
}

fn finish_connect(fd: &OwnedFd, deadline: Instant) -> Result<()> {
    if !ready_until(fd, PollFlags::POLLOUT, deadline)? {
        return Err(Errno::ETIMEDOUT.into());
    }
    match getsockopt(fd, sockopt::SocketError)? {
        0 => Ok(()),
        error => Err(Errno::from_raw(error).into()),
    }
}
