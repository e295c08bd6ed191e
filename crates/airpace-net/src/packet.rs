//! Reading whole frames of an interface, for example of a Wi-Fi monitor.

use crate::sys;
use crate::udp::{ReceiveBatch, set_buffer};
use core::time::Duration;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A packet socket (`packet(7)`) that receives what arrives on one interface. Reading never blocks.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
}

/// One frame.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// The first bytes of the frame, from its link-layer header on.
    pub bytes: &'a [u8],
    /// Length of the whole frame in bytes.
    pub length: usize,
    /// When the kernel got it, on the wall clock, as time since the Unix epoch.
    pub stamp: Option<Duration>,
}

/// Frames counted by the kernel since the last time they were asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CaptureStatistics {
    /// Frames that came, the dropped ones included.
    pub received: u32,
    /// Frames for which the buffer had no room.
    pub dropped: u32,
}

impl PacketSocket {
    /// Listens to `interface` in the calling thread's namespace with a buffer of `buffer_bytes`.
    ///
    /// # Errors
    /// Without CAP_NET_RAW, or when there is no such interface.
    pub fn open(interface: &str, buffer_bytes: usize) -> io::Result<Self> {
        let index = nix::net::if_::if_nametoindex(interface)?;
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        // Without a protocol it hears nothing until it is bound to its interface.
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        let fd = socket.as_fd();
        set_buffer(fd, buffer_bytes, (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF))?;
        sys::set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        // Kernels before 4.20 do not know it; a monitor transmits nothing anyway.
        let _ = sys::set_option(fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
        sys::bind_to_interface(fd, index)?;
        Ok(Self { socket })
    }

    /// Receives what is there, up to the size of `batch`, whose slots are the snap length; returns the number of frames.
    ///
    /// # Errors
    /// `NetworkDown` when the interface went down or away.
    pub fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<usize> {
        batch.fill(self.as_fd())
    }

    /// Counts since the last call.
    ///
    /// # Errors
    /// When the kernel refuses to tell, which only a bug can cause.
    pub fn statistics(&self) -> io::Result<CaptureStatistics> {
        let (received, dropped) = sys::packet_statistics(self.as_fd())?;
        Ok(CaptureStatistics { received, dropped })
    }
}

/// `PACKET_IGNORE_OUTGOING` of `linux/if_packet.h`.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl ReceiveBatch {
    /// The frames received from a [`PacketSocket`].
    pub fn frames(&self) -> impl ExactSizeIterator<Item = Captured<'_>> {
        (0..self.n).map(|i| Captured {
            bytes: self.bytes(i),
            length: self.filled[i].bytes,
            stamp: self.facts(i).stamp,
        })
    }
}
