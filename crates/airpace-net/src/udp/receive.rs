//! Receives many datagrams with one system call.

use super::control::{self, Control, Metadata};
use super::{MAX_MESSAGES, TrafficClass};
use crate::sys;
use core::time::Duration;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::BorrowedFd;

/// Room for a socket address of any family (`struct sockaddr_storage`).
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(crate) struct Name(pub(crate) [u8; 128]);

/// What the kernel filled in for one message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Filled {
    /// Length of the message in bytes. It may exceed that of the slot, which then has its
    /// beginning.
    pub(crate) bytes: usize,
    /// Length of the control messages in bytes.
    pub(crate) control_bytes: usize,
}

/// Reusable room for up to 64 messages.
#[derive(Debug)]
pub struct ReceiveBatch {
    pub(crate) buffer: Vec<u8>,
    pub(crate) slot_bytes: usize,
    pub(crate) names: Vec<Name>,
    pub(crate) controls: Vec<Control>,
    pub(crate) filled: Vec<Filled>,
    pub(crate) n: usize,
}

/// One received message: one datagram, or several of equal size that the kernel has joined.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// The sender.
    pub from: SocketAddr,
    /// The bytes, cut off at the size of the batch's slots.
    pub bytes: &'a [u8],
    /// Size in bytes of the joined datagrams (the last may be shorter). If there is only one, it is
    /// the length of the message.
    pub segment: usize,
    /// Arrival by the wall clock, as time since the Unix epoch; see
    /// [`crate::clock::Clock::realtime_map`].
    pub stamp: Option<Duration>,
    /// Traffic class of the datagram. The kernel joins only datagrams of equal class.
    pub class: TrafficClass,
}

/// One received message that can be changed (for example decrypted) in place; see [`Datagram`].
#[derive(Debug)]
pub struct DatagramMut<'a> {
    /// The sender.
    pub from: SocketAddr,
    /// The bytes, cut off at the size of the batch's slots.
    pub bytes: &'a mut [u8],
    /// Size in bytes of the joined datagrams (the last may be shorter). If there is only one, it is
    /// the length of the message.
    pub segment: usize,
    /// Arrival by the wall clock, as time since the Unix epoch; see
    /// [`crate::clock::Clock::realtime_map`].
    pub stamp: Option<Duration>,
    /// Traffic class of the datagram; see [`Datagram::class`].
    pub class: TrafficClass,
}

impl<'a> Datagram<'a> {
    /// Returns the datagrams one by one.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        self.bytes.chunks(self.segment.max(1))
    }
}

impl ReceiveBatch {
    /// Makes room for `slots` messages (1 to 64) of up to `slot_bytes` bytes each. If the kernel
    /// joins datagrams, give 65,536 bytes.
    #[must_use]
    pub fn new(slots: usize, slot_bytes: usize) -> Self {
        let slots = slots.clamp(1, MAX_MESSAGES);
        Self {
            buffer: vec![0; slots * slot_bytes],
            slot_bytes,
            names: vec![Name([0; 128]); slots],
            controls: vec![Control::new(); slots],
            filled: vec![Filled::default(); slots],
            n: 0,
        }
    }

    /// A batch without slots, to leave in the place of one that is in use elsewhere.
    pub(crate) const fn empty() -> Self {
        Self {
            buffer: Vec::new(),
            slot_bytes: 0,
            names: Vec::new(),
            controls: Vec::new(),
            filled: Vec::new(),
            n: 0,
        }
    }

    pub(crate) fn fill(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        self.n = 0;
        self.n = match sys::recvmmsg(socket, self) {
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        Ok(self.n)
    }

    /// Returns the number of messages that the last call received.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.n
    }

    /// Returns whether the last call received nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Returns the received messages, except those of unknown address families.
    pub fn iter(&self) -> impl Iterator<Item = Datagram<'_>> {
        (0..self.n).filter_map(|i| {
            let (bytes, metadata) = (self.bytes(i), self.metadata(i));
            let segment = metadata.segment.map_or(bytes.len(), usize::from).max(1);
            Some(Datagram {
                from: address(&self.names[i].0)?,
                bytes,
                segment,
                stamp: metadata.stamp,
                class: TrafficClass(metadata.traffic_class),
            })
        })
    }

    /// Returns the received messages so that they can be changed in place, except those of unknown
    /// address families.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = DatagramMut<'_>> {
        let slots = self.buffer.chunks_mut(self.slot_bytes.max(1)).take(self.n);
        slots
            .zip(&self.names)
            .zip(self.controls.iter().zip(&self.filled))
            .filter_map(|((slot, name), (control, filled))| {
                let n = filled.bytes.min(slot.len());
                let control_bytes = filled.control_bytes.min(control.0.len());
                let metadata = control::parse(&control.0[..control_bytes]);
                let segment = metadata.segment.map_or(n, usize::from).max(1);
                Some(DatagramMut {
                    from: address(&name.0)?,
                    bytes: &mut slot[..n],
                    segment,
                    stamp: metadata.stamp,
                    class: TrafficClass(metadata.traffic_class),
                })
            })
    }

    /// Returns message `i`, as far as its slot has room.
    pub(crate) fn bytes(&self, i: usize) -> &[u8] {
        let n = self.filled[i].bytes.min(self.slot_bytes);
        &self.buffer[i * self.slot_bytes..][..n]
    }

    pub(crate) fn metadata(&self, i: usize) -> Metadata {
        let control = &self.controls[i].0;
        control::parse(&control[..self.filled[i].control_bytes.min(control.len())])
    }
}

/// Reads a `struct sockaddr_in` or `struct sockaddr_in6`.
fn address(name: &[u8; 128]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes([name[0], name[1]]);
    let port = u16::from_be_bytes([name[2], name[3]]);
    match i32::from(family) {
        libc::AF_INET => Some((Ipv4Addr::new(name[4], name[5], name[6], name[7]), port).into()),
        libc::AF_INET6 => {
            let octets: [u8; 16] = name[8..24].try_into().ok()?;
            let scope = u32::from_ne_bytes(name[24..28].try_into().ok()?);
            Some(SocketAddrV6::new(Ipv6Addr::from(octets), port, 0, scope).into())
        }
        _ => None,
    }
}
