//! Layout of the datagrams. All integers are little-endian.
//!
//! | kind | layout |
//! |---|---|
//! | 1, initiation | kind 1, cipher 1, zero 2, sender's index 4, Noise IK message 1 (32 + 48 + 8 + 16), MAC 16 |
//! | 2, response | kind 1, zero 3, sender's index 4, receiver's index 4, Noise IK message 2 (32 + 16), MAC 16 |
//! | 4, data | kind 1, content 1, zero 2, receiver's index 4, counter 8, sealed: send time 4 (µs, wrapping), payload; tag 16 |

/// Bytes of the header that is authenticated but not encrypted.
pub(super) const DATA_HEADER: usize = 16;
/// Bytes in front of a payload that [`super::Tunnel::seal`] fills: the header and the send time.
pub const SEAL_HEAD: usize = DATA_HEADER + SEND_TIME;
/// Bytes behind a payload that [`super::Tunnel::seal`] fills: the authentication tag.
pub const SEAL_TAIL: usize = 16;
/// Bytes of the send time within the sealed part.
pub(super) const SEND_TIME: usize = 4;
/// Bytes of the keyed check in front of the expensive part of a handshake.
pub(super) const MAC: usize = 16;
/// Bytes of the payload of the first handshake message: the initiator's time stamp.
pub(super) const STAMP: usize = 8;
/// Bytes of a Noise IK message 1 with a payload of [`STAMP`] bytes.
pub(super) const NOISE_1: usize = 32 + 48 + STAMP + 16;
/// Bytes of a Noise IK message 2 without payload.
pub(super) const NOISE_2: usize = 32 + 16;
pub(super) const INITIATION: usize = 8 + NOISE_1 + MAC;
pub(super) const RESPONSE: usize = 12 + NOISE_2 + MAC;

pub(super) const KIND_INITIATION: u8 = 1;
pub(super) const KIND_RESPONSE: u8 = 2;
pub(super) const KIND_DATA: u8 = 4;

/// What a sealed payload is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Content {
    /// An IP packet.
    Packet = 0,
    /// A report of the agent's meter.
    Report = 1,
    /// Load without meaning.
    Load = 2,
    /// Nothing: the sender is alive.
    Keepalive = 3,
}

impl Content {
    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Packet, Self::Report, Self::Load, Self::Keepalive].into_iter().find(|&c| c as u8 == byte)
    }
}

/// The parts of a datagram, lengths checked, nothing authenticated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frame {
    Initiation { cipher: u8, sender: u32 },
    Response { sender: u32, receiver: u32 },
    Data(DataHeader),
}

/// The header of a data datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DataHeader {
    pub(super) content: Content,
    pub(super) receiver: u32,
    pub(super) counter: u64,
}

/// Why a datagram has none of the three layouts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Malformed {
    Length,
    Kind,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Reads the outer layout. Reserved bytes must be zero.
pub(super) fn parse(bytes: &[u8]) -> Result<Frame, Malformed> {
    let kind = *bytes.first().ok_or(Malformed::Length)?;
    match kind {
        KIND_DATA => parse_data(bytes),
        KIND_INITIATION if bytes.len() != INITIATION => Err(Malformed::Length),
        KIND_INITIATION if bytes[2..4] != [0, 0] => Err(Malformed::Kind),
        KIND_INITIATION => Ok(Frame::Initiation { cipher: bytes[1], sender: u32_at(bytes, 4) }),
        KIND_RESPONSE if bytes.len() != RESPONSE => Err(Malformed::Length),
        KIND_RESPONSE if bytes[1..4] != [0, 0, 0] => Err(Malformed::Kind),
        KIND_RESPONSE => Ok(Frame::Response { sender: u32_at(bytes, 4), receiver: u32_at(bytes, 8) }),
        _ => Err(Malformed::Kind),
    }
}

fn parse_data(bytes: &[u8]) -> Result<Frame, Malformed> {
    if bytes.len() < SEAL_HEAD + SEAL_TAIL {
        return Err(Malformed::Length);
    }
    let content = Content::from_byte(bytes[1]).filter(|_| bytes[2..4] == [0, 0]).ok_or(Malformed::Kind)?;
    let counter = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
    Ok(Frame::Data(DataHeader { content, receiver: u32_at(bytes, 4), counter }))
}

/// Writes the header of a data datagram.
pub(super) fn write_data_header(header: DataHeader, bytes: &mut [u8]) {
    bytes[..4].copy_from_slice(&[KIND_DATA, header.content as u8, 0, 0]);
    bytes[4..8].copy_from_slice(&header.receiver.to_le_bytes());
    bytes[8..16].copy_from_slice(&header.counter.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_headers_survive_the_wire() {
        let header = DataHeader { content: Content::Report, receiver: 0xdead_beef, counter: 1 << 40 };
        let mut bytes = [0; SEAL_HEAD + SEAL_TAIL];
        write_data_header(header, &mut bytes);
        assert_eq!(parse(&bytes), Ok(Frame::Data(header)));
        assert_eq!(parse(&bytes[..35]), Err(Malformed::Length));
        bytes[2] = 1;
        assert_eq!(parse(&bytes), Err(Malformed::Kind));
        assert_eq!(parse(&[]), Err(Malformed::Length));
        assert_eq!(parse(&[9; 100]), Err(Malformed::Kind));
    }
}
