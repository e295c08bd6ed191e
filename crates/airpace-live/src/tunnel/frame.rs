//! How the tunnel fills the layouts of [`airpace_core::wire::data`].
//!
//! The Noise message of a handshake is followed by a keyed check of [`MAC`] bytes; the first carries a time stamp.

use airpace_core::wire::data;

/// Bytes in front of a payload that [`super::Tunnel::seal`] fills.
pub const SEAL_HEAD: usize = data::TRANSPORT_HEADER_BYTES + data::INNER_HEADER_BYTES;
/// Bytes behind a payload that [`super::Tunnel::seal`] fills: the authentication tag.
pub const SEAL_TAIL: usize = data::SEAL_BYTES;
/// Bytes of the keyed check behind the Noise message of a handshake.
pub(super) const MAC: usize = 16;
/// Bytes of the payload of the first handshake message: the initiator's time stamp.
pub(super) const STAMP: usize = 8;
/// Bytes of a first handshake: ephemeral key, sealed static key, sealed time stamp.
pub(super) const INITIATION: usize =
    data::FIRST_HANDSHAKE_HEADER_BYTES + 32 + 48 + STAMP + 16 + MAC;
/// Bytes of a second handshake: ephemeral key and a tag.
pub(super) const RESPONSE: usize = data::SECOND_HANDSHAKE_HEADER_BYTES + 32 + 16 + MAC;
/// Bytes of the shortest data datagram.
pub(super) const LEAST_DATA: usize = SEAL_HEAD + SEAL_TAIL;

/// The parts of a datagram, lengths checked, nothing authenticated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frame {
    Initiation { sender: u32 },
    Response { sender: u32, receiver: u32 },
    Data { receiver: u32, counter: u64 },
}

/// Why a datagram has none of the three layouts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Malformed {
    Length,
    Kind,
}

/// Reads the outer layout and checks the length.
pub(super) fn parse(bytes: &[u8]) -> Result<Frame, Malformed> {
    let message = data::Message::parse(bytes).map_err(|error| match error {
        data::DataError::Truncated => Malformed::Length,
        _ => Malformed::Kind,
    })?;
    let (frame, fits) = match message {
        data::Message::FirstHandshake { sender, .. } => (
            Frame::Initiation { sender: sender.0 },
            bytes.len() == INITIATION,
        ),
        data::Message::SecondHandshake {
            sender, receiver, ..
        } => (
            Frame::Response {
                sender: sender.0,
                receiver: receiver.0,
            },
            bytes.len() == RESPONSE,
        ),
        data::Message::Transport {
            receiver, counter, ..
        } => (
            Frame::Data {
                receiver: receiver.0,
                counter,
            },
            bytes.len() >= LEAST_DATA,
        ),
    };
    if fits {
        Ok(frame)
    } else {
        Err(Malformed::Length)
    }
}
