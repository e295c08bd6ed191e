//! How the tunnel fills the layouts of [`airpace_core::wire::data`].
//!
//! The Noise message of a handshake is followed by a check of [`CHECK_BYTES`]. The first message
//! carries a time stamp, and behind its check a proof of the sender's address of as many bytes, which
//! is zero if the sender has no cookie.

use super::{HandshakeCheck, Reason};
use airpace_core::wire::data::{self, SessionIndex};

/// Bytes in front of a payload that [`Tunnel::seal`](super::Tunnel::seal) fills.
pub const SEAL_HEAD: usize = data::TRANSPORT_HEADER_BYTES + data::INNER_HEADER_BYTES;
/// Bytes behind a payload that [`Tunnel::seal`](super::Tunnel::seal) fills: the authentication tag.
pub const SEAL_TAIL: usize = data::SEAL_BYTES;
/// Bytes of the check behind the Noise message of a handshake.
pub const CHECK_BYTES: usize = 16;
/// Bytes of a cookie.
pub const COOKIE_BYTES: usize = 16;
/// Bytes of the nonce with which a cookie is sealed.
pub const COOKIE_NONCE_BYTES: usize = 12;
/// Bytes of a sealed cookie: the cookie and its authentication tag.
pub const SEALED_COOKIE_BYTES: usize = COOKIE_BYTES + TAG_BYTES;
/// Bytes of the payload of the first Noise message: the initiator's time stamp.
pub const STAMP_BYTES: usize = 8;
/// Bytes of a Curve25519 public key (`DHLEN` of Noise).
const KEY_BYTES: usize = 32;
/// Bytes of an authentication tag within a Noise message.
const TAG_BYTES: usize = 16;
/// Bytes of the first Noise message: ephemeral key, sealed static key, sealed time stamp.
pub const INITIATION_NOISE_BYTES: usize =
    KEY_BYTES + (KEY_BYTES + TAG_BYTES) + (STAMP_BYTES + TAG_BYTES);
/// Bytes of the second Noise message: ephemeral key and the tag of an empty payload.
pub const RESPONSE_NOISE_BYTES: usize = KEY_BYTES + TAG_BYTES;

/// Bytes of the shortest data datagram.
const LEAST_DATA_BYTES: usize = SEAL_HEAD + SEAL_TAIL;

/// A datagram of a valid layout, in parts. Nothing is authenticated yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frame<'a> {
    Initiation(InitiationFrame<'a>),
    Response(ResponseFrame<'a>),
    Data(DataHeader),
    Cookie(CookieFrame<'a>),
}

/// The first handshake message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InitiationFrame<'a> {
    /// The session at the initiator.
    pub(super) sender: SessionIndex,
    pub(super) noise: &'a [u8; INITIATION_NOISE_BYTES],
    pub(super) checked: Checked<'a>,
    /// Shows that the sender receives what is sent to its address.
    pub(super) proof: &'a [u8; CHECK_BYTES],
}

/// The second handshake message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ResponseFrame<'a> {
    /// The session at the responder.
    pub(super) sender: SessionIndex,
    /// The session at the initiator.
    pub(super) receiver: SessionIndex,
    pub(super) noise: &'a [u8; RESPONSE_NOISE_BYTES],
    pub(super) checked: Checked<'a>,
}

/// Answers an initiation whose sender is to prove its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CookieFrame<'a> {
    /// The session at the initiator.
    pub(super) receiver: SessionIndex,
    pub(super) nonce: &'a [u8; COOKIE_NONCE_BYTES],
    pub(super) sealed: &'a [u8; SEALED_COOKIE_BYTES],
}

/// A handshake datagram as its check sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Checked<'a> {
    /// Everything in front of the check.
    pub(super) message: &'a [u8],
    pub(super) check: &'a [u8; CHECK_BYTES],
}

/// The header of a data datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DataHeader {
    /// The session at the receiver.
    pub(super) receiver: SessionIndex,
    pub(super) counter: u64,
}

/// Reads the outer layout and checks the length.
///
/// # Errors
/// [`Reason::Length`], [`Reason::Kind`] or [`Reason::Version`].
pub(super) fn parse(datagram: &[u8]) -> Result<Frame<'_>, Reason> {
    let message = data::Message::parse(datagram).map_err(|error| match error {
        data::DataError::Truncated => Reason::Length,
        data::DataError::Version(_) => Reason::Version,
        _ => Reason::Kind,
    })?;
    match message {
        data::Message::FirstHandshake { sender, noise } => {
            let (datagram, proof) = datagram.split_last_chunk().ok_or(Reason::Length)?;
            let (noise, _) = noise
                .split_last_chunk::<CHECK_BYTES>()
                .ok_or(Reason::Length)?;
            let (noise, checked) = split_check(datagram, noise)?;
            Ok(Frame::Initiation(InitiationFrame {
                sender,
                noise,
                checked,
                proof,
            }))
        }
        data::Message::SecondHandshake {
            sender,
            receiver,
            noise,
        } => {
            let (noise, checked) = split_check(datagram, noise)?;
            Ok(Frame::Response(ResponseFrame {
                sender,
                receiver,
                noise,
                checked,
            }))
        }
        data::Message::Transport {
            receiver, counter, ..
        } if datagram.len() >= LEAST_DATA_BYTES => {
            Ok(Frame::Data(DataHeader { receiver, counter }))
        }
        data::Message::Transport { .. } => Err(Reason::Length),
        data::Message::Cookie { receiver, body } => {
            let (nonce, sealed) = body.split_first_chunk().ok_or(Reason::Length)?;
            let sealed = sealed.try_into().map_err(|_| Reason::Length)?;
            Ok(Frame::Cookie(CookieFrame {
                receiver,
                nonce,
                sealed,
            }))
        }
    }
}

/// Splits the end of a handshake `datagram`, which follows its header, into a Noise message of
/// exactly `N` bytes and the check.
fn split_check<'a, const N: usize>(
    datagram: &'a [u8],
    end: &'a [u8],
) -> Result<(&'a [u8; N], Checked<'a>), Reason> {
    let (noise, _) = end
        .split_last_chunk::<CHECK_BYTES>()
        .ok_or(Reason::Length)?;
    let noise = noise.try_into().map_err(|_| Reason::Length)?;
    let (message, check) = datagram
        .split_last_chunk::<CHECK_BYTES>()
        .ok_or(Reason::Length)?;
    Ok((noise, Checked { message, check }))
}

/// Puts a handshake datagram together and appends its check, which is returned as well.
pub(super) fn handshake<C: HandshakeCheck>(
    header: &[u8],
    noise: &[u8],
    check: &C,
    suite: C::Suite,
) -> (Vec<u8>, [u8; CHECK_BYTES]) {
    let mut datagram = Vec::with_capacity(header.len() + noise.len() + 2 * CHECK_BYTES);
    datagram.extend_from_slice(header);
    datagram.extend_from_slice(noise);
    let check = check.compute(suite, &datagram);
    datagram.extend_from_slice(&check);
    (datagram, check)
}

/// Splits a handshake datagram of another version before its check.
///
/// Messages of version 1 end with it. `None` if the datagram is too short.
pub(super) fn of_other_version(datagram: &[u8]) -> Option<Checked<'_>> {
    let (message, check) = datagram.split_last_chunk::<CHECK_BYTES>()?;
    Some(Checked { message, check })
}
