//! Joins packets into super-packets.

use super::packet::{Layout, TCP, word32};
use super::{HEADER_BYTES, Header, Segmentation};

/// Joins consecutive packets of a flow, so that the kernel takes them in one write.
///
/// A few flows are open at once. Each flow's packets leave in the order in which they came,
/// including those that cannot be joined; flows may overtake each other. Nothing is held back after
/// [`Joiner::flush`].
#[derive(Debug)]
pub struct Joiner {
    /// The super-packets being built, the oldest first.
    open: Vec<OpenFrame>,
    /// Buffers to be reused.
    spare: Vec<Vec<u8>>,
    join_udp: bool,
}

/// A super-packet being built.
#[derive(Debug)]
struct OpenFrame {
    /// Room for the offload header, then the packet.
    frame: Vec<u8>,
    layout: Layout,
    /// Payload of each packet but the last.
    segment_bytes: usize,
    /// Number of packets.
    n: usize,
    /// Sequence number of the TCP segment that would continue it.
    next_sequence: u32,
    /// Whether its last packet was shorter than the others or pushed, so that none can follow.
    closed: bool,
}

const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
/// Longest packet whose length fits an IPv4 header.
const MAX_PACKET: usize = 65_535;

impl Joiner {
    /// Most flows that are open at once; a further one makes the oldest be written.
    const FLOWS: usize = 8;

    /// Creates a joiner for TCP, and for UDP if `join_udp`: see [`crate::tun::Tun::udp_offload`].
    #[must_use]
    pub fn new(join_udp: bool) -> Self {
        Self {
            open: Vec::with_capacity(Self::FLOWS),
            spare: Vec::new(),
            join_udp,
        }
    }

    /// Takes one packet. Passes the frames that this completes to `write`, each with its offload
    /// header first.
    pub fn push(&mut self, packet: &[u8], mut write: impl FnMut(&[u8])) {
        let layout = Layout::of(packet)
            .filter(|l| (l.protocol == TCP || self.join_udp) && l.length_fits(packet));
        let Some(layout) = layout else {
            // A fragment may belong to any open flow, so everything that came before it goes first.
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
        self.open.push(OpenFrame::new(frame, layout));
    }

    /// Writes all frames that are open.
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

    /// Returns a frame of an empty offload header and the packet.
    fn new_frame(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut frame = self.spare.pop().unwrap_or_default();
        frame.clear();
        frame.extend([0; HEADER_BYTES]);
        frame.extend(packet);
        frame
    }
}

/// Returns whether a packet may begin or continue a super-packet: it has payload, no TCP flags but
/// ACK and PSH, and a correct checksum. The kernel trusts the checksum of a super-packet, so a
/// corrupted packet must not get into one.
fn is_joinable(layout: &Layout, packet: &[u8]) -> bool {
    let transport = &packet[layout.transport..];
    let plain = if layout.protocol == TCP {
        transport[13] & !PSH == ACK
    } else {
        // Zero means that the sender has not computed a checksum.
        transport[6..8] != [0, 0]
    };
    plain
        && packet.len() > layout.payload
        && layout
            .pseudo_header(packet, packet.len())
            .bytes(transport)
            .is_valid()
}

impl OpenFrame {
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

    /// The packet behind the offload header.
    fn packet(&self) -> &[u8] {
        &self.frame[HEADER_BYTES..]
    }

    /// Returns whether a packet has the same addresses, protocol and ports.
    fn same_flow(&self, layout: &Layout, packet: &[u8]) -> bool {
        let mine = self.packet();
        let ports = layout.transport..layout.transport + 4;
        self.layout.v4 == layout.v4
            && self.layout.protocol == layout.protocol
            && mine[layout.addresses()] == packet[layout.addresses()]
            && mine[ports.clone()] == packet[ports]
    }

    /// Appends the payload of a joinable packet of the same flow if it continues the super-packet.
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

    /// Returns whether a packet's TCP sequence number follows, and its headers are otherwise equal
    /// but for lengths, checksums, identification and PSH.
    fn headers_continue(&self, packet: &[u8]) -> bool {
        let (layout, mine) = (&self.layout, self.packet());
        let same = |range: core::ops::Range<usize>| mine[range.clone()] == packet[range];
        // IPv4: traffic class; fragment flags, TTL and protocol. IPv6: traffic class and flow
        // label; next header and hop limit.
        let ip = if layout.v4 {
            same(0..2) && same(6..10)
        } else {
            same(0..4) && same(6..8)
        };
        if layout.protocol != TCP {
            return ip;
        }
        let at = layout.transport;
        // Acknowledgement number and data offset; window; urgent pointer and options. The data
        // offset is compared first, so the options have the same length.
        ip && word32(packet, at + 4) == self.next_sequence
            && same(at + 8..at + 13)
            && same(at + 14..at + 16)
            && same(at + 18..layout.payload)
    }

    /// Writes the headers of the super-packet. A single packet stays as it came.
    fn seal(&mut self) {
        if self.n == 1 {
            return;
        }
        let layout = self.layout;
        let packet = &mut self.frame[HEADER_BYTES..];
        let total = packet.len();
        layout.set_length(packet, total);
        let field = layout.transport + layout.checksum_offset();
        // The kernel completes the checksum of each segment that it cuts off.
        let sum = layout.pseudo_header(packet, total).partial();
        packet[field..field + 2].copy_from_slice(&sum);
        let segmentation = match (layout.protocol == TCP, layout.v4) {
            (true, true) => Segmentation::Tcp4,
            (true, false) => Segmentation::Tcp6,
            (false, _) => Segmentation::Udp,
        };
        // All of these are below 65,536, because the packet is at most MAX_PACKET long.
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
