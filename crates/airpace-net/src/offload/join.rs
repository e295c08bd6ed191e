//! From packets to super-packets.

use super::packet::{Layout, TCP, word32};
use super::{HEADER_BYTES, Header, Segmentation};

/// Joins consecutive packets of the same flows, so that the kernel takes them in one write.
///
/// A few flows are held open at once; whatever order they come in, each flow's packets leave in their order, and a packet that
/// cannot be joined leaves after those of its flow before it. Nothing is held back beyond [`Joiner::flush`].
#[derive(Debug)]
pub struct Joiner {
    open: Vec<Open>,
    spare: Vec<Vec<u8>>,
    join_udp: bool,
}

/// A super-packet in the making.
#[derive(Debug)]
struct Open {
    /// Room for the offload header, then the packet.
    frame: Vec<u8>,
    layout: Layout,
    segment_bytes: usize,
    n: usize,
    next_sequence: u32,
    /// A short or pushed segment ends a super-packet.
    closed: bool,
}

const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
/// Largest IP packet whose length still fits its header.
const MAX_PACKET: usize = 65_535;

impl Joiner {
    /// Flows held open. More than that at once and the oldest is written out.
    const FLOWS: usize = 8;

    /// A joiner for TCP, and for UDP if `join_udp` (see [`crate::tun::Tun::udp_offload`]).
    #[must_use]
    pub fn new(join_udp: bool) -> Self {
        Self {
            open: Vec::with_capacity(Self::FLOWS),
            spare: Vec::new(),
            join_udp,
        }
    }

    /// Takes one packet; frames that are finished by this go to `write`, offload header first.
    pub fn push(&mut self, packet: &[u8], mut write: impl FnMut(&[u8])) {
        let layout = Layout::of(packet)
            .filter(|l| (l.protocol == TCP || self.join_udp) && l.length_fits(packet));
        let Some(layout) = layout else {
            // Fragments and other protocols: keep them behind whatever came first.
            self.flush(&mut write);
            return self.write_alone(packet, &mut write);
        };
        let place = self
            .open
            .iter()
            .position(|open| open.same_flow(&layout, packet));
        let joinable = is_joinable(&layout, packet);
        if let Some(i) = place {
            if joinable && self.open[i].try_append(packet) {
                return;
            }
            self.finish(i, &mut write);
        }
        if !joinable {
            return self.write_alone(packet, &mut write);
        }
        if self.open.len() == Self::FLOWS {
            self.finish(0, &mut write);
        }
        let frame = self.new_frame(packet);
        self.open.push(Open::new(frame, layout));
    }

    /// Writes out everything held.
    pub fn flush(&mut self, mut write: impl FnMut(&[u8])) {
        while !self.open.is_empty() {
            self.finish(0, &mut write);
        }
    }

    fn finish(&mut self, i: usize, write: &mut impl FnMut(&[u8])) {
        let mut open = self.open.remove(i);
        open.seal();
        write(&open.frame);
        self.spare.push(open.frame);
    }

    fn write_alone(&mut self, packet: &[u8], write: &mut impl FnMut(&[u8])) {
        let frame = self.new_frame(packet);
        write(&frame);
        self.spare.push(frame);
    }

    /// A frame with an empty offload header and the packet.
    fn new_frame(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut frame = self.spare.pop().unwrap_or_default();
        frame.clear();
        frame.extend([0; HEADER_BYTES]);
        frame.extend(packet);
        frame
    }
}

/// Whether a packet may begin or continue a super-packet: it has payload, nothing but ACK and PSH is set, and its checksum is
/// right, because the kernel will trust the joined packet's.
fn is_joinable(layout: &Layout, packet: &[u8]) -> bool {
    let transport = &packet[layout.transport..];
    let plain = if layout.protocol == TCP {
        transport[13] & !PSH == ACK
    } else {
        transport[6..8] != [0, 0]
    };
    plain
        && packet.len() > layout.payload
        && layout
            .pseudo_header(packet, packet.len())
            .bytes(transport)
            .is_valid()
}

impl Open {
    fn new(frame: Vec<u8>, layout: Layout) -> Self {
        let packet = &frame[HEADER_BYTES..];
        let segment_bytes = packet.len() - layout.payload;
        let tcp = layout.protocol == TCP;
        // A packet has at most 65,535 bytes.
        let next_sequence = if tcp {
            word32(packet, layout.transport + 4).wrapping_add(segment_bytes as u32)
        } else {
            0
        };
        let closed = tcp && packet[layout.transport + 13] & PSH != 0;
        Self {
            frame,
            layout,
            segment_bytes,
            n: 1,
            next_sequence,
            closed,
        }
    }

    fn packet(&self) -> &[u8] {
        &self.frame[HEADER_BYTES..]
    }

    fn same_flow(&self, layout: &Layout, packet: &[u8]) -> bool {
        let (mine, ports) = (self.packet(), layout.transport..layout.transport + 4);
        self.layout.v4 == layout.v4
            && self.layout.protocol == layout.protocol
            && mine[layout.addresses()] == packet[layout.addresses()]
            && mine[ports.clone()] == packet[ports]
    }

    /// Appends the payload of a joinable packet of the same flow, if it continues this one in every respect.
    fn try_append(&mut self, packet: &[u8]) -> bool {
        let layout = self.layout;
        let payload = packet.len() - layout.payload.min(packet.len());
        let fits = !self.closed
            && payload <= self.segment_bytes
            && self.packet().len() + payload <= MAX_PACKET
            && self.n < super::super::udp::MAX_SEGMENTS;
        if !fits || !self.headers_continue(packet) {
            return false;
        }
        self.frame.extend_from_slice(&packet[layout.payload..]);
        self.n += 1;
        self.closed = payload < self.segment_bytes;
        if layout.protocol == TCP {
            self.next_sequence = self.next_sequence.wrapping_add(payload as u32);
            let flags = packet[layout.transport + 13];
            self.frame[HEADER_BYTES + layout.transport + 13] |= flags & PSH;
            self.closed |= flags & PSH != 0;
        }
        true
    }

    /// Whether everything but lengths, checksums, identification, sequence number and PSH is equal.
    fn headers_continue(&self, packet: &[u8]) -> bool {
        let (layout, mine) = (&self.layout, self.packet());
        let same = |range: core::ops::Range<usize>| mine[range.clone()] == packet[range];
        // Class; then fragment flags, hop limit and protocol (IPv4), or flow label and hop limit (IPv6).
        let ip = if layout.v4 {
            same(0..2) && same(6..10)
        } else {
            same(0..4) && same(6..8)
        };
        if layout.protocol != TCP {
            return ip;
        }
        let at = layout.transport;
        // Layout::of has found the same data offset in both, or the byte with it differs.
        ip && word32(packet, at + 4) == self.next_sequence
            && same(at + 8..at + 13)
            && same(at + 14..at + 16)
            && same(at + 18..layout.payload)
    }

    /// Writes the headers of the whole. A single packet stays as it came.
    fn seal(&mut self) {
        if self.n == 1 {
            return;
        }
        let layout = self.layout;
        let packet = &mut self.frame[HEADER_BYTES..];
        let total = packet.len();
        layout.set_length(packet, total);
        let field = layout.transport + layout.checksum_offset();
        let sum = layout.pseudo_header(packet, total).partial();
        packet[field..field + 2].copy_from_slice(&sum);
        let segmentation = match (layout.protocol == TCP, layout.v4) {
            (true, true) => Segmentation::Tcp4,
            (true, false) => Segmentation::Tcp6,
            (false, _) => Segmentation::Udp,
        };
        // All lengths are below 65,536: Layout and MAX_PACKET bound them.
        let header = Header {
            needs_checksum: true,
            segmentation,
            header_bytes: layout.payload as u16,
            segment_bytes: self.segment_bytes as u16,
            checksum_start: layout.transport as u16,
            checksum_offset: layout.checksum_offset() as u16,
        };
        header.write(&mut self.frame);
    }
}

#[cfg(test)]
mod tests;
