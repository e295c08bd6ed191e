//! A port of the bridge in user space: a packet socket that exchanges frames with offload headers.

use crate::netlink::{LinkError, Netlink};
use crate::offload::HEADER_BYTES;
use crate::packet::{PacketSocket, TAG_OFFSET};
use crate::sys;
use crate::udp::ReceiveBatch;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Room for the longest packet that the kernel passes, with all headers.
pub(super) const SLOT_BYTES: usize = HEADER_BYTES + 65_536 + 64;
/// Frames received by one system call.
const BATCH: usize = 16;
/// `PACKET_VNET_HDR` of `linux/if_packet.h`.
const PACKET_VNET_HDR: libc::c_int = 15;
/// Receive buffer in bytes: super-packets are large.
const BUFFER_BYTES: usize = 16 << 20;

/// A port.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) index: u32,
    socket: PacketSocket,
    batch: ReceiveBatch,
    /// Frames that the kernel dropped for want of buffer.
    dropped: u64,
}

/// Frames of a port, taken out of it so that they can be forwarded to other ports.
#[derive(Debug)]
pub(super) struct Waiting {
    batch: ReceiveBatch,
    n: usize,
}

impl Port {
    /// Opens `interface` and switches it to promiscuous mode until the socket is closed.
    pub(super) fn open(link: &mut Netlink, interface: &str) -> Result<Self, LinkError> {
        let index = link.index(interface)?;
        let open = || -> io::Result<PacketSocket> {
            let socket = PacketSocket::open(interface, BUFFER_BYTES)?;
            sys::set_option(socket.as_fd(), libc::SOL_PACKET, PACKET_VNET_HDR, 1)?;
            sys::join_promiscuous(socket.as_fd(), index)?;
            Ok(socket)
        };
        let socket = open().map_err(|source| LinkError {
            operation: format!("open a packet socket on {interface}"),
            source,
        })?;
        Ok(Self {
            index,
            socket,
            batch: ReceiveBatch::new(BATCH, SLOT_BYTES),
            dropped: 0,
        })
    }

    /// Receives what waits; [`Port::put_back`] returns the room.
    pub(super) fn take(&mut self) -> io::Result<Waiting> {
        let n = self.socket.receive(&mut self.batch)?;
        let batch = core::mem::replace(&mut self.batch, ReceiveBatch::empty());
        Ok(Waiting { batch, n })
    }

    pub(super) fn put_back(&mut self, waiting: Waiting) {
        self.batch = waiting.batch;
    }

    /// Sends a frame that begins with an offload header. Returns `false` if there is no room.
    pub(super) fn send(&self, frame: &[u8]) -> io::Result<bool> {
        self.socket.send(frame)
    }

    /// Sends an ordinary frame. Returns `false` if there is no room.
    pub(super) fn send_plain(&self, frame: &[u8]) -> io::Result<bool> {
        use nix::errno::Errno;
        use nix::sys::socket::{MsgFlags, sendmsg};
        // An offload header of zeroes: nothing is left to do.
        let parts = [IoSlice::new(&[0; HEADER_BYTES]), IoSlice::new(frame)];
        let fd = self.socket.as_fd().as_raw_fd();
        match sendmsg::<()>(fd, &parts, &[], MsgFlags::MSG_DONTWAIT, None) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::ENOBUFS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns how many frames the kernel has dropped since the port was opened.
    pub(super) fn dropped(&mut self) -> io::Result<u64> {
        self.dropped += u64::from(self.socket.statistics()?.dropped);
        Ok(self.dropped)
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Waiting {
    pub(super) const fn len(&self) -> usize {
        self.n
    }

    /// Copies frame `i` into `frame`, with its offload header and its outermost VLAN tag in place.
    /// Returns `false` if it is too short.
    pub(super) fn read(&self, i: usize, frame: &mut Vec<u8>) -> bool {
        frame.clear();
        frame.extend_from_slice(self.batch.bytes(i));
        let tag_at = HEADER_BYTES + TAG_OFFSET;
        if frame.len() < tag_at + 2 {
            return false;
        }
        if let Some(tag) = self.batch.metadata(i).vlan {
            let [p0, p1] = tag.protocol.to_be_bytes();
            let [c0, c1] = tag.control.to_be_bytes();
            frame.splice(tag_at..tag_at, [p0, p1, c0, c1]);
            shift_offsets(frame, 4);
        }
        true
    }
}

/// Moves the offsets of an offload header, which count from the beginning of the frame, by `bytes`.
/// Offsets that mean nothing stay zero.
pub(super) fn shift_offsets(frame: &mut [u8], bytes: i16) {
    // `hdr_len` and `csum_start` of `struct virtio_net_hdr`.
    for at in [2, 6] {
        let offset = u16::from_ne_bytes([frame[at], frame[at + 1]]);
        if offset != 0 {
            let moved = offset.saturating_add_signed(bytes);
            frame[at..at + 2].copy_from_slice(&moved.to_ne_bytes());
        }
    }
}
