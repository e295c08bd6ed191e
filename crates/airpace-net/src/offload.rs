//! Super-packets, which a TUN device exchanges with the kernel when offload is on.
//!
//! The kernel passes up to 64 kB of one TCP connection (or of one UDP flow) as a single packet with
//! a `struct virtio_net_hdr` before it, in both directions, which saves most of the system calls.
//! [`SuperPacket`] cuts such a packet into ordinary ones with correct checksums; [`Joiner`] joins
//! ordinary packets into super-packets.
//!
//! `docs/design/libraries.md` has measurements, also of another implementation.

mod checksum;
mod complete;
mod ethernet;
mod join;
mod packet;
mod split;

pub use complete::complete_checksum;
pub use ethernet::{ETHERNET_HEADER_BYTES, FrameJoiner, SuperFrame};
pub use join::Joiner;
pub use split::SuperPacket;

/// Bytes before each packet of a device with offload: `struct virtio_net_hdr` of
/// `linux/virtio_net.h`.
pub const HEADER_BYTES: usize = 10;

/// Length of the longest packet that the kernel passes, with its header.
pub const MAX_FRAME_BYTES: usize = HEADER_BYTES + 65_535;

/// Why a frame that was read from a device is not a packet. The caller can only drop it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OffloadError {
    /// Shorter than its own headers.
    #[error("the frame is shorter than its headers")]
    Truncated,
    /// A kind of segmentation that the process has not asked for.
    #[error("unknown segmentation type {0}")]
    UnknownSegmentation(u8),
    /// Offsets or sizes in the offload header that contradict the packet.
    #[error("the offload header contradicts the packet")]
    Inconsistent,
}

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum field has the sum of the pseudo-header only.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_ECN`: the TCP segments may have the CWR flag.
const SEGMENT_ECN: u8 = 0x80;

/// What a super-packet is to be cut into (`VIRTIO_NET_HDR_GSO_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Segmentation {
    None,
    Tcp4,
    Tcp6,
    Udp,
}

impl Segmentation {
    const fn code(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Tcp4 => 1,
            Self::Tcp6 => 4,
            Self::Udp => 5,
        }
    }

    fn from_code(code: u8) -> Result<Self, OffloadError> {
        match code & !SEGMENT_ECN {
            0 => Ok(Self::None),
            1 => Ok(Self::Tcp4),
            4 => Ok(Self::Tcp6),
            5 => Ok(Self::Udp),
            other => Err(OffloadError::UnknownSegmentation(other)),
        }
    }
}

/// Returns the payload of each segment of a super-packet whose offload header begins `frame`, in
/// bytes; `None` if the frame is a single packet, or has no valid offload header.
#[must_use]
pub fn segment_payload(frame: &[u8]) -> Option<u16> {
    let header = Header::parse(frame).ok()?;
    let is_super = header.segmentation != Segmentation::None && header.segment_bytes > 0;
    is_super.then_some(header.segment_bytes)
}

/// `struct virtio_net_hdr`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Header {
    needs_checksum: bool,
    segmentation: Segmentation,
    /// Length of all headers before the payload (`hdr_len`).
    header_bytes: u16,
    /// Payload of each segment (`gso_size`).
    segment_bytes: u16,
    /// Where the bytes under the checksum begin (`csum_start`).
    checksum_start: u16,
    /// Where the checksum is, from there on (`csum_offset`).
    checksum_offset: u16,
}

impl Header {
    fn parse(frame: &[u8]) -> Result<Self, OffloadError> {
        let bytes: &[u8; HEADER_BYTES] = frame.first_chunk().ok_or(OffloadError::Truncated)?;
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Ok(Self {
            needs_checksum: bytes[0] & NEEDS_CHECKSUM != 0,
            segmentation: Segmentation::from_code(bytes[1])?,
            header_bytes: word(2),
            segment_bytes: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        })
    }

    fn write(self, frame: &mut [u8]) {
        frame[0] = if self.needs_checksum {
            NEEDS_CHECKSUM
        } else {
            0
        };
        frame[1] = self.segmentation.code();
        let words = [
            self.header_bytes,
            self.segment_bytes,
            self.checksum_start,
            self.checksum_offset,
        ];
        for (to, word) in frame[2..HEADER_BYTES].chunks_exact_mut(2).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
    }
}
