//! Sealed datagrams on their way to the socket, in groups that the kernel cuts into datagrams
//! (GSO).

use crate::crypto::Tunnel;
use airpace_edge::tunnel::{self, InnerKind, PeerIdx, SEAL_HEAD, SEAL_TAIL, SealError};
use airpace_net::udp::{MAX_SEGMENTS, TrafficClass, Transmit, UdpSocket};
use airpace_units::Time;
use core::net::SocketAddr;
use std::io::{self, IoSlice};

/// Bytes that a batch holds by default: two groups of the largest size, which fit into the
/// processor's cache.
const CAPACITY: usize = 128 << 10;
/// Bytes that a group holds at most: the kernel takes a group as one UDP datagram over IPv4, which
/// has a 16-bit length.
const GROUP_BYTES: usize = 65_507;
/// Groups that a batch holds at most.
const MAX_GROUPS: usize = 64;

/// Datagrams of equal size and traffic class to one receiver, the last possibly shorter.
#[derive(Clone, Copy, Debug)]
struct Group {
    to: SocketAddr,
    class: TrafficClass,
    start: usize,
    len: usize,
    segment: usize,
    /// Number of datagrams.
    count: usize,
    /// The last datagram is shorter than the others, so the group takes no more.
    closed: bool,
}

/// Collects datagrams, sealing them in place, and hands them to the socket.
#[derive(Debug)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    capacity: usize,
    groups: Vec<Group>,
    /// Groups at the front that the socket has already taken.
    sent: usize,
    /// Probes of the path, which must not be cut into fragments.
    probes: Vec<(SocketAddr, Vec<u8>)>,
    /// Datagrams that the network refused.
    pub(crate) refused: u64,
}

impl Batch {
    /// A batch of the default capacity.
    pub(crate) fn new() -> Self {
        Self::with_capacity(CAPACITY)
    }

    /// A batch that is full once it holds `capacity` bytes.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(capacity),
            capacity,
            groups: Vec::with_capacity(MAX_GROUPS),
            sent: 0,
            probes: Vec::new(),
            refused: 0,
        }
    }

    /// Whether there is room for another datagram with a payload of `len` bytes.
    pub(crate) fn has_room(&self, len: usize) -> bool {
        let datagram = SEAL_HEAD + len + SEAL_TAIL;
        // An empty batch takes a datagram of any length: it could otherwise never be sent.
        let fits = self.bytes.len() + datagram <= self.capacity.max(datagram);
        fits && self.groups.len() < MAX_GROUPS
    }

    /// Seals a payload for a peer into the batch, and returns the length of the datagram in bytes.
    pub(crate) fn seal(
        &mut self,
        now: Time,
        tunnel: &mut Tunnel,
        peer: PeerIdx,
        kind: InnerKind,
        payload: &[u8],
        class: TrafficClass,
    ) -> Result<usize, SealError> {
        let start = self.bytes.len();
        let len = SEAL_HEAD + payload.len() + SEAL_TAIL;
        self.bytes.resize(start + SEAL_HEAD, 0);
        self.bytes.extend_from_slice(payload);
        self.bytes.resize(start + len, 0);
        match tunnel.seal(now, peer, kind, &mut self.bytes[start..]) {
            Ok(to) => self.add(to, class, start, len),
            Err(error) => {
                self.bytes.truncate(start);
                return Err(error);
            }
        }
        Ok(len)
    }

    /// Adds a datagram of the tunnel's own.
    pub(crate) fn push(&mut self, datagram: tunnel::Transmit) {
        if datagram.in_one_piece {
            self.probes.push((datagram.to, datagram.bytes));
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&datagram.bytes);
        let class = TrafficClass::DEFAULT;
        self.add(datagram.to, class, start, datagram.bytes.len());
    }

    /// Adds a datagram whose bytes are in the batch already to the last group, or to a new one.
    fn add(&mut self, to: SocketAddr, class: TrafficClass, start: usize, len: usize) {
        // The kernel cuts a group into segments of equal length, of which only the last may be
        // shorter, and gives all of them the same header.
        if let Some(last) = self.groups.last_mut()
            && last.to == to
            && last.class == class
            && !last.closed
            && len <= last.segment
            && last.count < MAX_SEGMENTS
            && last.len + len <= GROUP_BYTES
        {
            last.len += len;
            last.count += 1;
            last.closed = len < last.segment;
            return;
        }
        self.groups.push(Group {
            to,
            class,
            start,
            len,
            segment: len,
            count: 1,
            closed: false,
        });
    }

    /// Hands everything to the socket. Returns `false` if the socket's buffer is full and something
    /// is left.
    pub(crate) fn flush(&mut self, socket: &UdpSocket) -> bool {
        for (to, probe) in self.probes.drain(..) {
            // One that is too long for the interface, or finds no room, counts as lost.
            let _ = socket.send_in_one_piece(to, &probe);
        }
        while self.sent < self.groups.len() {
            match send(socket, &self.bytes, &self.groups[self.sent..]) {
                Ok(0) => return false,
                Ok(groups) => self.sent += groups,
                Err(_) => self.send_singly(socket),
            }
        }
        self.bytes.clear();
        self.groups.clear();
        self.sent = 0;
        true
    }

    /// Sends the datagrams of the first group one at a time, after the kernel has refused the
    /// group, and drops those that are refused again.
    ///
    /// A group is refused, for instance, if its datagrams exceed the interface's MTU: the kernel
    /// fragments single datagrams but not the segments of a group.
    fn send_singly(&mut self, socket: &UdpSocket) {
        let group = self.groups[self.sent];
        for datagram in self.bytes[group.start..group.start + group.len].chunks(group.segment) {
            let sent = socket.send_one(group.to, datagram, group.class);
            if !sent.unwrap_or(false) {
                self.refused += 1;
            }
        }
        self.sent += 1;
    }
}

/// Hands groups to the socket; returns how many it took.
fn send(socket: &UdpSocket, bytes: &[u8], groups: &[Group]) -> io::Result<usize> {
    let parts: Vec<[IoSlice<'_>; 1]> = groups
        .iter()
        .map(|group| [IoSlice::new(&bytes[group.start..group.start + group.len])])
        .collect();
    let messages: Vec<Transmit<'_>> = groups
        .iter()
        .zip(&parts)
        .map(|(group, parts)| transmit(group, parts))
        .collect();
    socket.send(&messages)
}

fn transmit<'a>(group: &Group, parts: &'a [IoSlice<'a>]) -> Transmit<'a> {
    // A segment is at most GROUP_BYTES long, which fits 16 bits.
    let segment = (group.count > 1).then(|| u16::try_from(group.segment).unwrap_or(u16::MAX));
    Transmit {
        to: Some(group.to),
        parts,
        segment,
        class: group.class,
    }
}
