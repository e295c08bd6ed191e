//! 802.11 control frames (IEEE 802.11-2020 §9.3.1; multi-STA block acks and longer bitmaps: IEEE
//! 802.11ax-2021 and 802.11be): what a radio near an access point hears at legacy rates.
//!
//! ```
//! use airpace_core::wire::control::ControlFrame;
//!
//! // A compressed block ack of TID 0 from 04:…:04 to 02:…:02: start 100, MPDUs 100 to 107 arrived.
//! let frame = [
//!     0x94, 0, 0, 0, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 0x05, 0x00, // addresses, block ack control
//!     0x40, 0x06, 0xff, 0, 0, 0, 0, 0, 0, 0, // starting sequence control, bitmap
//! ];
//! let Ok(ControlFrame::BlockAck(block_ack)) = ControlFrame::parse(&frame) else {
//!     panic!("a block ack")
//! };
//! assert_eq!((block_ack.tid, block_ack.start, block_ack.highest()), (0, 100, Some(107)));
//! ```

use super::cursor::Cursor;
use super::ieee80211::MacAddr;
use thiserror::Error;

/// Sequence numbers count modulo 4096.
const MODULUS: u16 = 4096;
/// First byte of frame control: protocol version and type, of which a control frame has 1.
const VERSION_AND_TYPE: u8 = 0x0f;
const CONTROL: u8 = 0x04;

/// Subtypes of control frames (table 9-1).
mod subtype {
    pub(super) const BLOCK_ACK_REQUEST: u8 = 8;
    pub(super) const BLOCK_ACK: u8 = 9;
    pub(super) const RTS: u8 = 11;
    pub(super) const CTS: u8 = 12;
    pub(super) const ACK: u8 = 13;
}

/// Variants of block acks: bits 1 to 4 of the block ack control field (table 9-30).
mod variant {
    pub(super) const BASIC: u8 = 0;
    pub(super) const EXTENDED_COMPRESSED: u8 = 1;
    pub(super) const COMPRESSED: u8 = 2;
    pub(super) const MULTI_TID: u8 = 3;
    pub(super) const MULTI_STA: u8 = 11;
}

/// Why bytes are not a control frame that is understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The bytes end before the frame does.
    #[error("the control frame is cut off: capture more bytes per packet")]
    Truncated,
    /// The protocol version is not 0 or the type is not control.
    #[error("the frame is not a control frame of version 0")]
    NotControl,
    /// A control frame of another subtype.
    #[error("control frames of subtype {0} are not read")]
    Subtype(u8),
    /// A block ack of a variant, or with a bitmap, that is not read.
    #[error("block acks of variant {0} are not read")]
    Variant(u8),
}

/// A control frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlFrame<'a> {
    /// Request to send.
    Rts {
        /// Time that the exchange takes from the end of this frame on, microseconds.
        duration_us: u16,
        /// Who is asked.
        receiver: MacAddr,
        /// Who wants to send.
        transmitter: MacAddr,
    },
    /// Clear to send. Its sender is not named.
    Cts {
        /// Time that the exchange takes from the end of this frame on, microseconds.
        duration_us: u16,
        /// Who may send.
        receiver: MacAddr,
    },
    /// Acknowledgement of a single frame. Its sender is not named.
    Ack {
        /// Whose frame is acknowledged.
        receiver: MacAddr,
    },
    /// Block ack request.
    BlockAckRequest {
        /// Who is asked for a block ack.
        receiver: MacAddr,
        /// Who asks.
        transmitter: MacAddr,
        /// Traffic identifier.
        tid: u8,
        /// First sequence number asked about, 0 to 4095.
        start: u16,
    },
    /// Block ack of one traffic identifier.
    BlockAck(BlockAck<'a>),
    /// Block acks for several stations, from an access point.
    MultiStation(MultiStation<'a>),
}

/// A block ack: which MPDUs from `start` on have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockAck<'a> {
    /// Whose MPDUs are acknowledged.
    pub receiver: MacAddr,
    /// Who received them.
    pub transmitter: MacAddr,
    /// Traffic identifier.
    pub tid: u8,
    /// The sequence number of the first bit, 0 to 4095.
    pub start: u16,
    /// Bit i of byte j is the MPDU `start` + 8·j + i.
    pub bitmap: &'a [u8],
}

/// A multi-STA block ack (IEEE 802.11ax-2021 §9.3.1.8.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MultiStation<'a> {
    /// Its receiver, or broadcast.
    pub receiver: MacAddr,
    /// Who sent it.
    pub transmitter: MacAddr,
    /// One record after the other.
    records: &'a [u8],
}

/// One station's part of a multi-STA block ack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StationAck<'a> {
    /// Association identifier of the station.
    pub aid: u16,
    /// Traffic identifier; 14 with all of a frame acknowledged, 15 for management frames.
    pub tid: u8,
    /// Start and bitmap; `None` if the whole frame is acknowledged without them.
    pub bitmap: Option<(u16, &'a [u8])>,
}

impl<'a> ControlFrame<'a> {
    /// Reads the control frame at the start of `frame`. A frame check sequence may follow.
    ///
    /// # Errors
    /// If the frame is cut off, is not a control frame, or is of a kind that is not read.
    pub fn parse(frame: &'a [u8]) -> Result<Self, ControlError> {
        let &first = frame.first().ok_or(ControlError::Truncated)?;
        if first & VERSION_AND_TYPE != CONTROL {
            return Err(ControlError::NotControl);
        }
        let mut cursor = Cursor::new(frame);
        // Frame control.
        cursor.skip(2);
        let kind = first >> 4;
        match kind {
            subtype::RTS => Self::rts(cursor),
            subtype::CTS => Self::cts(cursor),
            subtype::ACK => Self::ack(cursor),
            subtype::BLOCK_ACK_REQUEST => return Self::block_ack_request(cursor),
            subtype::BLOCK_ACK => return Self::block_ack(cursor),
            _ => return Err(ControlError::Subtype(kind)),
        }
        .ok_or(ControlError::Truncated)
    }

    fn rts(mut from: Cursor<'_>) -> Option<Self> {
        Some(Self::Rts {
            duration_us: duration_us(from.u16()?),
            receiver: from.mac()?,
            transmitter: from.mac()?,
        })
    }

    fn cts(mut from: Cursor<'_>) -> Option<Self> {
        Some(Self::Cts {
            duration_us: duration_us(from.u16()?),
            receiver: from.mac()?,
        })
    }

    fn ack(mut from: Cursor<'_>) -> Option<Self> {
        from.u16()?;
        Some(Self::Ack {
            receiver: from.mac()?,
        })
    }

    fn block_ack_request(from: Cursor<'_>) -> Result<Self, ControlError> {
        let mut head = BlockAckHead::read(from).ok_or(ControlError::Truncated)?;
        if head.variant == variant::MULTI_TID {
            return Err(ControlError::Variant(head.variant));
        }
        let start = head.rest.u16().ok_or(ControlError::Truncated)? >> 4;
        Ok(Self::BlockAckRequest {
            receiver: head.receiver,
            transmitter: head.transmitter,
            tid: head.tid,
            start,
        })
    }

    fn block_ack(from: Cursor<'a>) -> Result<Self, ControlError> {
        let mut head = BlockAckHead::read(from).ok_or(ControlError::Truncated)?;
        match head.variant {
            variant::MULTI_STA => {
                return Ok(Self::MultiStation(MultiStation {
                    receiver: head.receiver,
                    transmitter: head.transmitter,
                    records: head.rest.rest(),
                }));
            }
            variant::COMPRESSED | variant::EXTENDED_COMPRESSED => {}
            // Basic ones have 16 bits per MPDU, for fragments; nobody uses them with A-MPDUs.
            variant::BASIC | variant::MULTI_TID => {
                return Err(ControlError::Variant(head.variant));
            }
            other => return Err(ControlError::Variant(other)),
        }
        let control = head.rest.u16().ok_or(ControlError::Truncated)?;
        let bytes = compressed_bitmap_bytes(control).ok_or(ControlError::Variant(head.variant))?;
        let bitmap = head
            .rest
            .rest()
            .get(..bytes)
            .ok_or(ControlError::Truncated)?;
        Ok(Self::BlockAck(BlockAck {
            receiver: head.receiver,
            transmitter: head.transmitter,
            tid: head.tid,
            start: control >> 4,
            bitmap,
        }))
    }
}

/// What block acks and requests for them begin with.
struct BlockAckHead<'a> {
    receiver: MacAddr,
    transmitter: MacAddr,
    variant: u8,
    tid: u8,
    rest: Cursor<'a>,
}

impl<'a> BlockAckHead<'a> {
    fn read(mut from: Cursor<'a>) -> Option<Self> {
        from.u16()?;
        let (receiver, transmitter, control) = (from.mac()?, from.mac()?, from.u16()?);
        Some(Self {
            receiver,
            transmitter,
            variant: (control >> 1 & 0x0f) as u8,
            tid: (control >> 12) as u8,
            rest: from,
        })
    }
}

/// A duration field; values with the highest bit set are no durations (§9.2.4.2).
const fn duration_us(field: u16) -> u16 {
    if field & 0x8000 == 0 { field } else { 0 }
}

/// Bytes of the bitmap of a compressed block ack, by the fragment number in its starting sequence
/// control (IEEE 802.11ax-2021 table 9-30b; 802.11be adds 512 and 1024 bits).
const fn compressed_bitmap_bytes(start_control: u16) -> Option<usize> {
    match start_control >> 1 & 0x07 {
        0 => Some(8),
        2 => Some(32),
        4 => Some(64),
        5 => Some(128),
        _ => None,
    }
}

/// The same of a record of a multi-STA block ack, which also has bitmaps of 32 and 128 bits.
const fn multi_station_bitmap_bytes(start_control: u16) -> Option<usize> {
    match start_control >> 1 & 0x07 {
        1 => Some(16),
        3 => Some(4),
        _ => compressed_bitmap_bytes(start_control),
    }
}

/// Appends a compressed block-ack request to `out`, without frame check sequence (§9.3.1.7): asks
/// which MPDUs of `tid` from `start`, 0 to 4095, on have arrived.
pub fn write_block_ack_request(
    receiver: MacAddr,
    transmitter: MacAddr,
    tid: u8,
    start: u16,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&[subtype::BLOCK_ACK_REQUEST << 4 | CONTROL, 0, 0, 0]);
    out.extend_from_slice(&receiver.0);
    out.extend_from_slice(&transmitter.0);
    let control = u16::from(tid & 0x0f) << 12 | u16::from(variant::COMPRESSED) << 1;
    out.extend_from_slice(&control.to_le_bytes());
    out.extend_from_slice(&(start << 4).to_le_bytes());
}

impl BlockAck<'_> {
    /// The highest sequence number that has arrived; `None` if none has.
    #[must_use]
    pub fn highest(&self) -> Option<u16> {
        let byte = self.bitmap.iter().rposition(|&byte| byte != 0)?;
        let bit = 7 - self.bitmap[byte].leading_zeros();
        // At most 1023 beyond the start.
        Some((self.start + 8 * byte as u16 + bit as u16) % MODULUS)
    }

    /// Whether the MPDU `sequence` has arrived; `None` if the bitmap does not reach it.
    #[must_use]
    pub fn has(&self, sequence: u16) -> Option<bool> {
        let offset = usize::from((sequence % MODULUS + MODULUS - self.start) % MODULUS);
        let byte = self.bitmap.get(offset / 8)?;
        Some(byte >> (offset % 8) & 1 == 1)
    }

    /// Appends a compressed block ack to `out`, without frame check sequence.
    ///
    /// The length of the bitmap must be 8, 32, 64 or 128 bytes; others are written as 8.
    pub fn write(&self, out: &mut Vec<u8>) {
        let fragment: u16 = match self.bitmap.len() {
            32 => 2 << 1,
            64 => 4 << 1,
            128 => 5 << 1,
            _ => 0,
        };
        out.extend_from_slice(&[subtype::BLOCK_ACK << 4 | CONTROL, 0, 0, 0]);
        out.extend_from_slice(&self.receiver.0);
        out.extend_from_slice(&self.transmitter.0);
        // No further acknowledgement is wanted.
        let control = u16::from(self.tid & 0x0f) << 12 | u16::from(variant::COMPRESSED) << 1 | 1;
        out.extend_from_slice(&control.to_le_bytes());
        out.extend_from_slice(&(self.start << 4 | fragment).to_le_bytes());
        let bytes = if fragment == 0 { 8 } else { self.bitmap.len() };
        for i in 0..bytes {
            out.push(self.bitmap.get(i).copied().unwrap_or(0));
        }
    }
}

impl<'a> MultiStation<'a> {
    /// The stations' parts, up to the first that is cut off or not understood.
    pub fn stations(&self) -> impl Iterator<Item = StationAck<'a>> + use<'a> {
        let mut cursor = Cursor::new(self.records);
        core::iter::from_fn(move || {
            let info = cursor.u16()?;
            let (aid, tid) = (info & 0x07ff, (info >> 12) as u8);
            // The ack type says that there is no bitmap: the whole frame, or a single MPDU, arrived.
            if info & 0x0800 != 0 || tid >= 8 {
                return Some(StationAck {
                    aid,
                    tid,
                    bitmap: None,
                });
            }
            let control = cursor.u16()?;
            let bytes = multi_station_bitmap_bytes(control)?;
            let bitmap = cursor.rest().get(..bytes)?;
            cursor.skip(bytes);
            Some(StationAck {
                aid,
                tid,
                bitmap: Some((control >> 4, bitmap)),
            })
        })
    }
}

#[cfg(test)]
mod tests;
