//! Cuts super-packets into packets.

use super::checksum::Sum;
use super::packet::{Layout, TCP, word32};
use super::{HEADER_BYTES, Header, OffloadError, Segmentation};

/// A frame that was read from a device with offload: one packet, or several joined.
#[derive(Clone, Copy, Debug)]
pub struct SuperPacket<'a> {
    /// The packet behind the offload header.
    packet: &'a [u8],
    /// How to cut it; `None` if it is an ordinary packet.
    segments: Option<Segments>,
}

#[derive(Clone, Copy, Debug)]
struct Segments {
    layout: Layout,
    /// Payload of each segment but the last.
    segment_bytes: usize,
    /// Number of segments.
    n: usize,
}

/// TCP flags that only the last segment keeps: FIN and PSH.
const LAST_ONLY: u8 = 0x01 | 0x08;

/// The TCP flag that only the first segment keeps: CWR (RFC 3168, section 6.1.2).
const FIRST_ONLY: u8 = 0x80;

impl<'a> SuperPacket<'a> {
    /// Parses a frame that [`crate::tun::Tun::read`] has read from a device with offload. If the
    /// kernel has left the checksum incomplete, completes it in place.
    ///
    /// # Errors
    /// [`OffloadError`]: the caller can only drop the frame.
    pub fn parse(frame: &'a mut [u8]) -> Result<Self, OffloadError> {
        let header = Header::parse(frame)?;
        let packet = &mut frame[HEADER_BYTES..];
        if header.segmentation == Segmentation::None {
            if header.needs_checksum {
                complete_checksum(packet, &header)?;
            }
            return Ok(Self {
                packet,
                segments: None,
            });
        }
        // The header's own length is not used: it may be that of the whole first packet when the
        // kernel forwards.
        let layout = Layout::of(packet).ok_or(OffloadError::Inconsistent)?;
        let is_tcp = layout.protocol == TCP;
        let payload = packet.len() - layout.payload;
        let segment_bytes = usize::from(header.segment_bytes);
        if is_tcp == (header.segmentation == Segmentation::Udp)
            || segment_bytes == 0
            || payload == 0
        {
            return Err(OffloadError::Inconsistent);
        }
        let n = payload.div_ceil(segment_bytes);
        Ok(Self {
            packet,
            segments: Some(Segments {
                layout,
                segment_bytes,
                n,
            }),
        })
    }

    /// Returns the number of packets, at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.segments.map_or(1, |s| s.n)
    }

    /// Returns the length of the longest packet in bytes.
    #[must_use]
    pub fn max_bytes(&self) -> usize {
        let whole = self.packet.len();
        match &self.segments {
            Some(segments) => whole.min(segments.layout.payload + segments.segment_bytes),
            None => whole,
        }
    }

    /// Writes packet `index` to the beginning of `out` and returns its length; `None` if there is
    /// no such packet, or `out` is too short for it.
    #[must_use]
    pub fn write(&self, index: usize, out: &mut [u8]) -> Option<usize> {
        let Some(segments) = &self.segments else {
            let out = out.get_mut(..self.packet.len()).filter(|_| index == 0)?;
            out.copy_from_slice(self.packet);
            return Some(self.packet.len());
        };
        let layout = &segments.layout;
        let start = layout.payload + index.checked_mul(segments.segment_bytes)?;
        let end = (start + segments.segment_bytes).min(self.packet.len());
        let payload = self.packet.get(start..end).filter(|p| !p.is_empty())?;
        let total = layout.payload + payload.len();
        let out = out.get_mut(..total)?;
        out[..layout.payload].copy_from_slice(&self.packet[..layout.payload]);
        out[layout.payload..].copy_from_slice(payload);
        segments.finish(out, index);
        Some(total)
    }
}

impl Segments {
    /// Turns the headers of the super-packet into those of its segment `index`.
    fn finish(&self, out: &mut [u8], index: usize) {
        let (layout, total) = (&self.layout, out.len());
        if layout.v4 {
            // The sender has reserved consecutive identifications, which wrap around; RFC 6864 lets
            // them repeat.
            let id = u16::from_be_bytes([out[4], out[5]]).wrapping_add(index as u16);
            out[4..6].copy_from_slice(&id.to_be_bytes());
        }
        layout.set_length(out, total);
        let at = layout.transport;
        if layout.protocol == TCP {
            // The offset within the super-packet is at most 65,535 bytes.
            let sequence = word32(out, at + 4).wrapping_add((index * self.segment_bytes) as u32);
            out[at + 4..at + 8].copy_from_slice(&sequence.to_be_bytes());
            if index + 1 < self.n {
                out[at + 13] &= !LAST_ONLY;
            }
            if index > 0 {
                out[at + 13] &= !FIRST_ONLY;
            }
        }
        let field = at + layout.checksum_offset();
        out[field..field + 2].fill(0);
        let sum = layout.pseudo_header(out, total).bytes(&out[at..]).finish();
        out[field..field + 2].copy_from_slice(&non_zero(sum));
    }
}

/// Replaces a checksum of zero, which means "no checksum" in UDP, by its other representation
/// (RFC 768). TCP accepts either.
fn non_zero(sum: [u8; 2]) -> [u8; 2] {
    if sum == [0, 0] { [0xff, 0xff] } else { sum }
}

/// Completes a checksum whose field has the sum of the pseudo-header.
fn complete_checksum(packet: &mut [u8], header: &Header) -> Result<(), OffloadError> {
    let start = usize::from(header.checksum_start);
    let field = start + usize::from(header.checksum_offset);
    if start >= packet.len() || field + 2 > packet.len() {
        return Err(OffloadError::Inconsistent);
    }
    let sum = Sum::default().bytes(&packet[start..]).finish();
    packet[field..field + 2].copy_from_slice(&non_zero(sum));
    Ok(())
}
