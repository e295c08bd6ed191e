//! UDP in batches: many datagrams per system call, and many per trip through the kernel's stack.
//!
//! Measured on loopback with 1200-byte datagrams: one `sendmsg` each 150,000 packets per second, 32 to a `sendmmsg` 171,000,
//! eight segments to a message 980,000, thirty-two 2.7 million. So group datagrams for one receiver into segments first.

pub(crate) mod control;
mod receive;

pub use receive::{Datagram, DatagramMut, ReceiveBatch};

use crate::sys;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Explicit congestion notification (RFC 3168): the two low bits of the traffic class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ecn(pub u8);

impl Ecn {
    /// The transport does not take part.
    pub const NOT_ECT: Self = Self(0);
    /// ECT(1).
    pub const ECT_1: Self = Self(1);
    /// ECT(0).
    pub const ECT_0: Self = Self(2);
    /// Congestion experienced.
    pub const CE: Self = Self(3);
}

/// What a socket is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpOptions {
    /// Receive buffer in bytes of payload and bookkeeping (the kernel counts twice this). Default 4 MiB.
    pub receive_buffer: usize,
    /// Send buffer, likewise. Default 4 MiB.
    pub send_buffer: usize,
    /// Let the kernel join datagrams of one sender into one (GRO): far fewer system calls, but one arrival stamp for all.
    /// Default on.
    pub join: bool,
    /// Stamp datagrams on arrival with the wall clock. Default on.
    pub stamp: bool,
}

impl Default for UdpOptions {
    fn default() -> Self {
        Self {
            receive_buffer: 4 << 20,
            send_buffer: 4 << 20,
            join: true,
            stamp: true,
        }
    }
}

/// One message to send: one datagram, or several of equal size to one receiver.
#[derive(Clone, Copy, Debug)]
pub struct Transmit<'a> {
    /// The receiver; `None` for a connected socket.
    pub to: Option<SocketAddr>,
    /// The bytes, in pieces that the kernel joins.
    pub parts: &'a [IoSlice<'a>],
    /// Cut the bytes into datagrams of this size (the last may be shorter); at most [`MAX_SEGMENTS`] and 65,507 bytes in all.
    pub segment: Option<u16>,
    /// Marking of the datagrams.
    pub ecn: Ecn,
}

/// Datagrams in one message, `UDP_MAX_SEGMENTS` of Linux before 6.9.
pub const MAX_SEGMENTS: usize = 64;

/// Messages per system call.
pub const MAX_MESSAGES: usize = 64;

/// A UDP socket that never blocks.
#[derive(Debug)]
pub struct UdpSocket {
    inner: std::net::UdpSocket,
}

impl UdpSocket {
    /// Binds a socket in the calling thread's namespace; port 0 picks a free one.
    ///
    /// # Errors
    /// When the address is taken or not of this machine. Buffers that the system caps are not an error.
    pub fn bind(address: SocketAddr, options: UdpOptions) -> io::Result<Self> {
        let inner = std::net::UdpSocket::bind(address)?;
        inner.set_nonblocking(true)?;
        let socket = Self { inner };
        socket.apply(address, options)?;
        Ok(socket)
    }

    fn apply(&self, address: SocketAddr, options: UdpOptions) -> io::Result<()> {
        let fd = self.as_fd();
        set_buffer(
            fd,
            options.receive_buffer,
            (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
        )?;
        set_buffer(
            fd,
            options.send_buffer,
            (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
        )?;
        if options.stamp {
            sys::set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        }
        if options.join {
            // Kernels before 5.0 lack it; datagrams then come one by one.
            let _ = self.set_join(true);
        }
        if address.is_ipv4() {
            sys::set_option(fd, libc::IPPROTO_IP, libc::IP_RECVTOS, 1)
        } else {
            // A dual-stack socket receives the class of IPv4 datagrams too.
            let _ = sys::set_option(fd, libc::IPPROTO_IP, libc::IP_RECVTOS, 1);
            sys::set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)
        }
    }

    /// Lets the kernel join datagrams from now on, or no more (see [`UdpOptions::join`]). Read what is there before joining ends:
    /// of datagrams joined before, the kernel then no longer tells the size.
    ///
    /// # Errors
    /// On kernels before 5.0, which join none.
    pub fn set_join(&self, join: bool) -> io::Result<()> {
        sys::set_option(
            self.as_fd(),
            libc::SOL_UDP,
            libc::UDP_GRO,
            libc::c_int::from(join),
        )
    }

    /// Fixes the receiver, and refuses datagrams from others.
    ///
    /// # Errors
    /// When there is no route.
    pub fn connect(&self, to: SocketAddr) -> io::Result<()> {
        self.inner.connect(to)
    }

    /// The address it is bound to.
    ///
    /// # Errors
    /// When the kernel refuses to tell, which only a bug can cause.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    /// Receives what is there, up to the size of `batch`; returns the number of messages, zero when there is nothing.
    ///
    /// # Errors
    /// Errors that the network reported, such as `ConnectionRefused`; the socket remains usable.
    pub fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<usize> {
        batch.fill(self.as_fd())
    }

    /// Sends messages in order; returns how many were taken. Fewer than given means that the send buffer is full.
    ///
    /// # Errors
    /// Why the first message could not be sent; nothing was then.
    pub fn send(&self, messages: &[Transmit<'_>]) -> io::Result<usize> {
        let mut sent = 0;
        for chunk in messages.chunks(MAX_MESSAGES) {
            match sys::sendmmsg(self.as_fd(), chunk) {
                Ok(n) => sent += n,
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock
                        || error.raw_os_error() == Some(libc::ENOBUFS) =>
                {
                    break;
                }
                Err(error) if sent == 0 => return Err(error),
                // The caller sends the rest again and meets the error then.
                Err(_) => break,
            }
            if sent % MAX_MESSAGES != 0 {
                break;
            }
        }
        Ok(sent)
    }

    /// Sends one datagram; `false` when the send buffer is full.
    ///
    /// # Errors
    /// Why it could not be sent.
    pub fn send_one(&self, to: SocketAddr, bytes: &[u8], ecn: Ecn) -> io::Result<bool> {
        let parts = [IoSlice::new(bytes)];
        Ok(self.send(&[Transmit {
            to: Some(to),
            parts: &parts,
            segment: None,
            ecn,
        }])? == 1)
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl AsRawFd for UdpSocket {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.inner.as_raw_fd()
    }
}

/// Sets a buffer size beyond the system's cap where that is permitted, else up to the cap. `options`: (forced, ordinary).
pub(crate) fn set_buffer(
    fd: BorrowedFd<'_>,
    bytes: usize,
    options: (libc::c_int, libc::c_int),
) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    sys::set_option(fd, libc::SOL_SOCKET, options.0, bytes)
        .or_else(|_| sys::set_option(fd, libc::SOL_SOCKET, options.1, bytes))
}
