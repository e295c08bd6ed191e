//! Frames of an interface: capture of those that it receives, and sending.

use crate::sys;
use crate::udp::control::PACKET_AUXDATA;
use crate::udp::{Buffer, ReceiveBatch, set_buffer};
use core::time::Duration;
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, send, socket};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A packet socket (`packet(7)`) that receives the frames arriving on one interface. Reading never
/// blocks.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
}

/// A VLAN tag (IEEE 802.1Q) that the kernel has taken out of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VlanTag {
    /// Tag protocol: 0x8100, or 0x88a8 for the outer one of two.
    pub protocol: u16,
    /// Priority, drop eligibility and VLAN number.
    pub control: u16,
}

/// One captured frame.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// The first bytes of the frame, starting with its link-layer header.
    pub bytes: &'a [u8],
    /// Length of the whole frame in bytes.
    pub length: usize,
    /// When the kernel received it: wall clock, as time since the Unix epoch.
    pub stamp: Option<Duration>,
    /// The outermost VLAN tag, which is then not among the bytes.
    pub vlan: Option<VlanTag>,
}

impl Captured<'_> {
    /// Returns the frame as it is on the wire, with its outermost VLAN tag.
    #[must_use]
    pub fn with_tag(&self) -> Vec<u8> {
        let mut frame = self.bytes.to_vec();
        if let Some(tag) = self.vlan
            && frame.len() >= TAG_OFFSET
        {
            let [p0, p1] = tag.protocol.to_be_bytes();
            let [c0, c1] = tag.control.to_be_bytes();
            frame.splice(TAG_OFFSET..TAG_OFFSET, [p0, p1, c0, c1]);
        }
        frame
    }
}

/// Where a VLAN tag is in a frame: behind the two addresses.
pub(crate) const TAG_OFFSET: usize = 12;

/// Frames that the kernel has counted since the previous query.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CaptureStatistics {
    /// Frames that arrived, including the dropped ones.
    pub received: u32,
    /// Frames dropped because the buffer was full.
    pub dropped: u32,
}

impl PacketSocket {
    /// Listens to `interface` in the calling thread's namespace, with a receive buffer of
    /// `buffer_bytes`.
    ///
    /// # Errors
    /// Without CAP_NET_RAW, or when the interface does not exist.
    pub fn open(interface: &str, buffer_bytes: usize) -> io::Result<Self> {
        Self::open_kind(interface, buffer_bytes, false)
    }

    /// Opens a port through which a process is the other side of `interface`: super-packets and
    /// incomplete checksums come with the offload header of [`crate::offload`] before each frame,
    /// and frames to be sent must have that header too. See [`crate::offload::SuperFrame`].
    ///
    /// # Errors
    /// As [`PacketSocket::open`].
    pub fn open_with_offload(interface: &str, buffer_bytes: usize) -> io::Result<Self> {
        Self::open_kind(interface, buffer_bytes, true)
    }

    fn open_kind(interface: &str, buffer_bytes: usize, offload: bool) -> io::Result<Self> {
        let index = nix::net::if_::if_nametoindex(interface)?;
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        // Without a protocol, the socket receives nothing until it is bound to its interface;
        // otherwise it would begin with frames of other interfaces.
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        let fd = socket.as_fd();
        set_buffer(fd, Buffer::Receive, buffer_bytes)?;
        sys::set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        sys::set_option(fd, libc::SOL_PACKET, PACKET_AUXDATA, 1)?;
        // Kernels before 4.20 do not have the option and also show what the interface sends.
        let _ = sys::set_option(fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
        if offload {
            sys::set_option(fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
            // A frame that does not fit the peer's queue is lost as on a wire, not queued here.
            sys::set_option(fd, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
        }
        sys::bind_to_interface(fd, index)?;
        Ok(Self { socket })
    }

    /// Returns the type of the headers with which the interface's frames begin (`ARPHRD_…` of
    /// `linux/if_arp.h`).
    ///
    /// # Errors
    /// When the kernel does not answer, which only a bug can cause.
    pub fn link_type(&self) -> io::Result<u16> {
        sys::link_type(self.as_fd())
    }

    /// Receives the frames that are waiting, up to the size of `batch`, and returns their number.
    /// The size of the batch's slots is the snap length.
    ///
    /// # Errors
    /// [`io::ErrorKind::NetworkDown`] when the interface went down or was removed.
    pub fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<usize> {
        batch.fill(self.as_fd())
    }

    /// Sends a frame out of the interface. Returns
    /// `false` if the kernel has no room for it.
    ///
    /// # Errors
    /// [`io::ErrorKind::NetworkDown`] when the interface is down, `EMSGSIZE` when the frame is
    /// longer than it allows.
    pub fn send(&self, frame: &[u8]) -> io::Result<bool> {
        match send(self.socket.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::ENOBUFS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the counts since the previous call.
    ///
    /// # Errors
    /// When the kernel does not answer, which only a bug can cause.
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
    /// Returns the frames received from a [`PacketSocket`].
    pub fn frames(&self) -> impl ExactSizeIterator<Item = Captured<'_>> {
        (0..self.n).map(|i| Captured {
            bytes: self.bytes(i),
            length: self.filled[i].bytes,
            stamp: self.metadata(i).stamp,
            vlan: self.metadata(i).vlan,
        })
    }
}
