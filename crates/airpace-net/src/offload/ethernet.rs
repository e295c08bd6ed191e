//! Super-packets in Ethernet frames, as TAP devices and packet sockets exchange them with the
//! kernel.
//!
//! The offload header counts its offsets from the beginning of the Ethernet frame; [`SuperPacket`]
//! and [`Joiner`] count from that of the IP packet. The types of this module move the offsets and
//! put the Ethernet header before each packet.

use super::{HEADER_BYTES, Header, Joiner, OffloadError, Segmentation, SuperPacket};

/// Length of an Ethernet header without VLAN tag: two addresses and the EtherType.
pub const ETHERNET_HEADER_BYTES: usize = 14;

/// Length of a VLAN tag (IEEE 802.1Q).
const TAG_BYTES: usize = 4;

/// Longest link header: two VLAN tags.
const MAX_LINK_BYTES: usize = ETHERNET_HEADER_BYTES + 2 * TAG_BYTES;

/// An Ethernet frame that was read from a device with offload: one frame, or several joined.
#[derive(Clone, Copy, Debug)]
pub struct SuperFrame<'a> {
    /// The Ethernet header, with VLAN tags, that every frame begins with.
    link: [u8; MAX_LINK_BYTES],
    link_bytes: usize,
    /// What follows the Ethernet header.
    packet: SuperPacket<'a>,
}

impl<'a> SuperFrame<'a> {
    /// Parses a frame behind its offload header. If the kernel has left the checksum incomplete,
    /// completes it in place.
    ///
    /// # Errors
    /// [`OffloadError`]: the caller can only drop the frame.
    pub fn parse(frame: &'a mut [u8]) -> Result<Self, OffloadError> {
        let mut header = Header::parse(frame)?;
        let ethernet = frame.get(HEADER_BYTES..).unwrap_or_default();
        let link_bytes = link_header_bytes(ethernet).ok_or(OffloadError::Truncated)?;
        let mut link = [0; MAX_LINK_BYTES];
        link[..link_bytes].copy_from_slice(&ethernet[..link_bytes]);
        if header.needs_checksum {
            // At most MAX_LINK_BYTES.
            let moved = header.checksum_start.checked_sub(link_bytes as u16);
            header.checksum_start = moved.ok_or(OffloadError::Inconsistent)?;
        }
        // The offload header is written again directly before the packet, over the end of the link
        // header, which has been saved.
        let behind = &mut frame[link_bytes..];
        header.write(behind);
        Ok(Self {
            link,
            link_bytes,
            packet: SuperPacket::parse(behind)?,
        })
    }

    /// Returns the number of frames, at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.packet.count()
    }

    /// Writes frame `index` to the beginning of `out` and returns its length; `None` if there is no
    /// such frame, or `out` is too short for it.
    #[must_use]
    pub fn write(&self, index: usize, out: &mut [u8]) -> Option<usize> {
        let (link, behind) = out.split_at_mut_checked(self.link_bytes)?;
        let n = self.packet.write(index, behind)?;
        link.copy_from_slice(&self.link[..self.link_bytes]);
        Some(self.link_bytes + n)
    }
}

/// Returns the length of the Ethernet header at the beginning of `frame`, with up to two VLAN tags;
/// `None` if the frame ends within it.
fn link_header_bytes(frame: &[u8]) -> Option<usize> {
    let mut bytes = ETHERNET_HEADER_BYTES;
    while bytes < MAX_LINK_BYTES {
        let ethertype = u16::from_be_bytes([*frame.get(bytes - 2)?, *frame.get(bytes - 1)?]);
        if !matches!(ethertype, 0x8100 | 0x88a8) {
            break;
        }
        bytes += TAG_BYTES;
    }
    (bytes <= frame.len()).then_some(bytes)
}

/// Joins consecutive Ethernet frames of a flow, as [`Joiner`] does IP packets. Only frames with
/// equal Ethernet headers and without VLAN tags are joined; the order of the others is kept.
#[derive(Debug)]
pub struct FrameJoiner {
    joiner: Joiner,
    /// The Ethernet header of the frames that are being joined.
    link: [u8; ETHERNET_HEADER_BYTES],
    /// Buffer of the frame that is written.
    out: Vec<u8>,
}

impl FrameJoiner {
    /// Creates a joiner for TCP, and for UDP if `join_udp`: see [`crate::tun::Tun::udp_offload`].
    #[must_use]
    pub fn new(join_udp: bool) -> Self {
        Self {
            joiner: Joiner::new(join_udp),
            link: [0; ETHERNET_HEADER_BYTES],
            out: Vec::new(),
        }
    }

    /// Takes one Ethernet frame. Passes the frames that this completes to `write`, each with its
    /// offload header first.
    pub fn push(&mut self, frame: &[u8], mut write: impl FnMut(&[u8])) {
        let Some((link, packet)) = frame.split_first_chunk::<ETHERNET_HEADER_BYTES>() else {
            return;
        };
        if *link != self.link {
            self.flush(&mut write);
            self.link = *link;
        }
        if matches!(link[12..], [0x08, 0x00] | [0x86, 0xdd]) {
            let (link, out) = (&self.link, &mut self.out);
            self.joiner
                .push(packet, |joined| write_framed(link, joined, out, &mut write));
        } else {
            self.flush(&mut write);
            self.out.clear();
            self.out.extend([0; HEADER_BYTES]);
            self.out.extend(frame);
            write(&self.out);
        }
    }

    /// Writes all frames that are open.
    pub fn flush(&mut self, mut write: impl FnMut(&[u8])) {
        let (link, out) = (&self.link, &mut self.out);
        self.joiner
            .flush(|joined| write_framed(link, joined, out, &mut write));
    }
}

/// Writes `joined`, an offload header with an IP packet, with the Ethernet header `link` between
/// the two.
fn write_framed(
    link: &[u8; ETHERNET_HEADER_BYTES],
    joined: &[u8],
    out: &mut Vec<u8>,
    write: &mut impl FnMut(&[u8]),
) {
    let Ok(mut header) = Header::parse(joined) else {
        return;
    };
    // 14 more than the length of IP and transport headers.
    if header.needs_checksum {
        header.checksum_start += ETHERNET_HEADER_BYTES as u16;
    }
    if header.segmentation != Segmentation::None {
        header.header_bytes += ETHERNET_HEADER_BYTES as u16;
    }
    out.clear();
    out.extend([0; HEADER_BYTES]);
    header.write(out);
    out.extend(link);
    out.extend(&joined[HEADER_BYTES..]);
    write(out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::complete_checksum;
    use proptest::prelude::*;

    const LINK: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];

    /// A TCP segment over IPv4 in an Ethernet frame, with its checksum complete.
    fn segment(sequence: u32, payload: &[u8]) -> Vec<u8> {
        let mut frame = LINK.to_vec();
        let total = 40 + payload.len() as u16;
        frame.extend([0x45, 0]);
        frame.extend(total.to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0, 80, 0, 81]);
        frame.extend(sequence.to_be_bytes());
        frame.extend([0, 0, 0, 1, 0x50, 0x10, 1, 0]);
        // The sum of the pseudo-header, which complete_checksum then replaces.
        let pseudo = crate::offload::checksum::Sum::pseudo_header(
            &[10, 0, 0, 1, 10, 0, 0, 2],
            6,
            total - 20,
        );
        frame.extend(pseudo.partial());
        frame.extend([0, 0]);
        frame.extend(payload);
        assert!(complete_checksum(&mut frame));
        frame
    }

    fn split(mut frame: Vec<u8>) -> Vec<Vec<u8>> {
        let parsed = SuperFrame::parse(&mut frame).unwrap();
        let mut out = [0; 2_000];
        let mut frames = Vec::new();
        for index in 0..parsed.count() {
            let n = parsed.write(index, &mut out).unwrap();
            frames.push(out[..n].to_vec());
        }
        frames
    }

    #[test]
    fn joined_frames_come_apart_as_they_were() {
        let frames: Vec<_> = (0..4).map(|i| segment(100 * i, &[7; 100])).collect();
        let mut joiner = FrameJoiner::new(true);
        let mut written = Vec::new();
        for frame in &frames {
            joiner.push(frame, |super_frame| written.push(super_frame.to_vec()));
        }
        joiner.flush(|super_frame| written.push(super_frame.to_vec()));
        assert_eq!(written.len(), 1);
        let apart = split(written.remove(0));
        assert_eq!(apart.len(), 4);
        for (came, was) in apart.iter().zip(&frames) {
            // The header checksum of IPv4 and the identification are written anew.
            assert_eq!((&came[..14], &came[34..]), (&was[..14], &was[34..]));
        }
    }

    #[test]
    fn frames_that_cannot_be_joined_keep_their_order_and_bytes() {
        let mut tagged = segment(0, &[1; 10]);
        tagged.splice(12..12, [0x81, 0, 0, 7]);
        let mut arp = segment(0, &[]);
        arp[13] = 6;
        let mut other = segment(10, &[3; 10]);
        other[5] = 9;
        let frames = [segment(0, &[2; 10]), tagged, arp, other];
        let mut joiner = FrameJoiner::new(true);
        let mut written = Vec::new();
        for frame in &frames {
            joiner.push(frame, |frame| written.push(frame.to_vec()));
        }
        joiner.flush(|frame| written.push(frame.to_vec()));
        let apart: Vec<_> = written.into_iter().flat_map(split).collect();
        assert_eq!(apart, frames);
    }

    #[test]
    fn a_checksum_behind_vlan_tags_is_completed() {
        let complete = segment(0, &[5; 33]);
        let mut tagged = complete.clone();
        tagged.splice(12..12, [0x81, 0, 0, 7]);
        let pseudo =
            crate::offload::checksum::Sum::pseudo_header(&[10, 0, 0, 1, 10, 0, 0, 2], 6, 20 + 33);
        tagged[54..56].copy_from_slice(&pseudo.partial());
        let mut frame = vec![0; HEADER_BYTES];
        Header {
            needs_checksum: true,
            segmentation: Segmentation::None,
            header_bytes: 0,
            segment_bytes: 0,
            checksum_start: 38,
            checksum_offset: 16,
        }
        .write(&mut frame);
        frame.extend(tagged);
        let apart = split(frame).remove(0);
        assert_eq!(apart[50 + 4..52 + 4], complete[50..52]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let mut out = [0; 4_000];
            if let Ok(frame) = SuperFrame::parse(&mut bytes) {
                for index in 0..frame.count().min(100) {
                    let _ = frame.write(index, &mut out);
                }
            }
        }
    }
}
