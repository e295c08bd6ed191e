//! The tunnel's datagrams.
//!
//! The outer layer is in the clear; all integers are little-endian:
//!
//! | message | bytes |
//! |---|---|
//! | first handshake | `1`, version, 0, 0, sender's index u32, Noise message, two checks |
//! | second handshake | `2`, version, 0, 0, sender's index u32, receiver's index u32, Noise message, check |
//! | transport | `3`, version, 0, 0, receiver's index u32, counter u64, sealed payload |
//! | cookie | `4`, version, 0, 0, receiver's index u32, nonce, sealed cookie |
//!
//! An index identifies a session at the end that chose it, so a datagram finds its keys from
//! whatever address it comes. The counter is the nonce of the seal and the sequence number in which
//! the meter finds holes. It starts at zero with every session.
//!
//! The sealed payload holds a kind u8, a send time u56 (ns, wraps every 2.28 years) and a body: an
//! IP packet, a report ([`super::report`]), padding that generates load, nothing (keepalive), or a
//! probe of the path's MTU and its answer.
//! The seal has no associated data. It does not need any: a changed index selects other keys or
//! none and a changed counter is a different nonce, so the seal fails, and a changed type or
//! version is refused before.

use super::cursor::Cursor;
use airpace_units::Time;
use core::time::Duration;
use thiserror::Error;

/// Version of all layouts here.
///
/// Version 1 had no cookies, no preshared keys and no probes of the path. Its ends and those of
/// version 2 refuse each other's datagrams.
pub const VERSION: u8 = 2;
/// Bytes before the Noise message of a first handshake.
pub const FIRST_HANDSHAKE_HEADER_BYTES: usize = 8;
/// Bytes before the Noise message of a second handshake.
pub const SECOND_HANDSHAKE_HEADER_BYTES: usize = 12;
/// Bytes before the nonce of a cookie message.
pub const COOKIE_HEADER_BYTES: usize = 8;
/// Bytes before the sealed payload of a transport message.
pub const TRANSPORT_HEADER_BYTES: usize = 16;
/// Bytes before the body within the sealed payload.
pub const INNER_HEADER_BYTES: usize = 8;
/// Bytes that the seal adds (Poly1305 and AES-GCM alike).
pub const SEAL_BYTES: usize = 16;
/// Bytes that the tunnel adds to a packet, without the IP and UDP headers of the datagram.
pub const OVERHEAD_BYTES: usize = TRANSPORT_HEADER_BYTES + INNER_HEADER_BYTES + SEAL_BYTES;

const FIRST_HANDSHAKE: u8 = 1;
const SECOND_HANDSHAKE: u8 = 2;
const TRANSPORT: u8 = 3;
const COOKIE: u8 = 4;

/// Send times count modulo this many nanoseconds: 56 bits.
const SEND_TIME_MODULUS: u64 = 1 << 56;

/// Index of a session, chosen at random by the end that receives with it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SessionIndex(pub u32);

/// Why bytes are not a valid datagram of the tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum DataError {
    /// The bytes end within the header.
    #[error("the datagram is cut off")]
    Truncated,
    /// The first byte is not a known type of message, or the reserved bytes are not zero.
    #[error("not a message of the tunnel")]
    Type,
    /// The other end uses a different version.
    #[error("the other end uses version {0} of the tunnel, and this end version {VERSION}")]
    Version(u8),
    /// The payload was authentic but its kind is unknown.
    #[error("the kind {0} of the inner message is unknown")]
    Kind(u8),
}

/// A datagram, split into its header and the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// Opens a session.
    FirstHandshake {
        /// The session at the end that opens it.
        sender: SessionIndex,
        /// The Noise message.
        noise: &'a [u8],
    },
    /// Answers a [`Message::FirstHandshake`].
    SecondHandshake {
        /// The session at the end that answers.
        sender: SessionIndex,
        /// The session at the end that opened it.
        receiver: SessionIndex,
        /// The Noise message.
        noise: &'a [u8],
    },
    /// Carries a packet, report, padding or keepalive.
    Transport {
        /// The session at the receiving end.
        receiver: SessionIndex,
        /// Nonce and sequence number.
        counter: u64,
        /// Holds an [`Inner`] once opened.
        sealed: &'a [u8],
    },
    /// Asks the sender of a [`Message::FirstHandshake`] to prove its address.
    Cookie {
        /// The session at the end that opened it.
        receiver: SessionIndex,
        /// The nonce and the sealed cookie.
        body: &'a [u8],
    },
}

impl<'a> Message<'a> {
    /// Splits a datagram.
    ///
    /// # Errors
    /// If it is none of the four messages. The result is not authenticated yet.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, DataError> {
        let mut cursor = Cursor::new(datagram);
        let [kind, version, reserved @ ..] = cursor.take::<4>().ok_or(DataError::Truncated)?;
        if !(FIRST_HANDSHAKE..=COOKIE).contains(&kind) || reserved != [0, 0] {
            return Err(DataError::Type);
        }
        if version != VERSION {
            return Err(DataError::Version(version));
        }
        Self::read(kind, cursor).ok_or(DataError::Truncated)
    }

    fn read(kind: u8, mut cursor: Cursor<'a>) -> Option<Self> {
        let index = SessionIndex(cursor.u32()?);
        Some(match kind {
            FIRST_HANDSHAKE => Self::FirstHandshake {
                sender: index,
                noise: cursor.rest(),
            },
            SECOND_HANDSHAKE => {
                let receiver = SessionIndex(cursor.u32()?);
                Self::SecondHandshake {
                    sender: index,
                    receiver,
                    noise: cursor.rest(),
                }
            }
            COOKIE => Self::Cookie {
                receiver: index,
                body: cursor.rest(),
            },
            _ => {
                let counter = cursor.u64()?;
                Self::Transport {
                    receiver: index,
                    counter,
                    sealed: cursor.rest(),
                }
            }
        })
    }
}

/// The header of a first handshake; the Noise message follows it.
#[must_use]
pub fn first_handshake_header(sender: SessionIndex) -> [u8; FIRST_HANDSHAKE_HEADER_BYTES] {
    let mut header = [0; FIRST_HANDSHAKE_HEADER_BYTES];
    header[..2].copy_from_slice(&[FIRST_HANDSHAKE, VERSION]);
    header[4..].copy_from_slice(&sender.0.to_le_bytes());
    header
}

/// The header of a second handshake; the Noise message follows it.
#[must_use]
pub fn second_handshake_header(
    sender: SessionIndex,
    receiver: SessionIndex,
) -> [u8; SECOND_HANDSHAKE_HEADER_BYTES] {
    let mut header = [0; SECOND_HANDSHAKE_HEADER_BYTES];
    header[..2].copy_from_slice(&[SECOND_HANDSHAKE, VERSION]);
    header[4..8].copy_from_slice(&sender.0.to_le_bytes());
    header[8..].copy_from_slice(&receiver.0.to_le_bytes());
    header
}

/// The header of a transport message; the sealed payload follows it.
#[must_use]
pub fn transport_header(receiver: SessionIndex, counter: u64) -> [u8; TRANSPORT_HEADER_BYTES] {
    let mut header = [0; TRANSPORT_HEADER_BYTES];
    header[..2].copy_from_slice(&[TRANSPORT, VERSION]);
    header[4..8].copy_from_slice(&receiver.0.to_le_bytes());
    header[8..].copy_from_slice(&counter.to_le_bytes());
    header
}

/// The header of a cookie message; the nonce and the sealed cookie follow it.
#[must_use]
pub fn cookie_header(receiver: SessionIndex) -> [u8; COOKIE_HEADER_BYTES] {
    let mut header = [0; COOKIE_HEADER_BYTES];
    header[..2].copy_from_slice(&[COOKIE, VERSION]);
    header[4..].copy_from_slice(&receiver.0.to_le_bytes());
    header
}

/// The kind of an opened payload's body.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InnerKind {
    /// An IP packet.
    Packet,
    /// A report of the meter.
    Report,
    /// Bytes that generate load and are discarded.
    Padding,
    /// Empty: shows that the sender is alive.
    Keepalive,
    /// Bytes without meaning, sent to learn whether a datagram of this length passes the path.
    Probe,
    /// Tells that a probe has arrived: the length of its body, u16.
    ProbeReply,
}

impl InnerKind {
    const ALL: [Self; 6] = [
        Self::Packet,
        Self::Report,
        Self::Padding,
        Self::Keepalive,
        Self::Probe,
        Self::ProbeReply,
    ];

    /// The byte on the wire, from 1.
    const fn byte(self) -> u8 {
        self as u8 + 1
    }
}

/// When a message was sent, by the sender's clock, modulo 2⁵⁶ ns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SendTime(u64);

impl SendTime {
    /// The send time of a message that leaves now.
    #[must_use]
    pub const fn of(now: Time) -> Self {
        Self(now.as_nanos() % SEND_TIME_MODULUS)
    }

    /// Time from sending to `arrival` in nanoseconds, between −2⁵⁵ and 2⁵⁵, without correcting for
    /// the offset between the two clocks. So it contains an unknown constant, and only differences
    /// between messages are meaningful.
    #[must_use]
    pub const fn offset_ns(self, arrival: Time) -> i64 {
        let difference = arrival.as_nanos().wrapping_sub(self.0) % SEND_TIME_MODULUS;
        // Extends the sign of the 56-bit difference: both shifts are by eight bits.
        (difference << 8).cast_signed() >> 8
    }

    /// Time from sending to `arrival` if both ends have the same clock; zero if it would be
    /// negative.
    #[must_use]
    pub fn elapsed(self, arrival: Time) -> Duration {
        Duration::from_nanos(u64::try_from(self.offset_ns(arrival)).unwrap_or(0))
    }
}

/// An opened payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inner<'a> {
    /// The kind of the body.
    pub kind: InnerKind,
    /// When it was sent.
    pub sent: SendTime,
    /// The body.
    pub body: &'a [u8],
}

impl<'a> Inner<'a> {
    /// Splits an opened payload.
    ///
    /// # Errors
    /// If it is too short or its kind is unknown.
    pub fn parse(payload: &'a [u8]) -> Result<Self, DataError> {
        let (header, body) = payload
            .split_first_chunk::<INNER_HEADER_BYTES>()
            .ok_or(DataError::Truncated)?;
        let kind = InnerKind::ALL
            .into_iter()
            .find(|k| k.byte() == header[0])
            .ok_or(DataError::Kind(header[0]))?;
        // The kind is the lowest byte, the send time the seven above.
        Ok(Self {
            kind,
            sent: SendTime(u64::from_le_bytes(*header) >> 8),
            body,
        })
    }
}

/// The header within the sealed payload; the body follows it.
#[must_use]
pub fn inner_header(kind: InnerKind, sent: SendTime) -> [u8; INNER_HEADER_BYTES] {
    // The send time is below 2^56, so the shift loses nothing.
    (sent.0 << 8 | u64::from(kind.byte())).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_round_trip() {
        let (a, b) = (SessionIndex(0x0102_0304), SessionIndex(u32::MAX));
        let with = |header: &[u8]| [header, b"rest"].concat();
        let first = with(&first_handshake_header(a));
        assert_eq!(
            Message::parse(&first),
            Ok(Message::FirstHandshake {
                sender: a,
                noise: b"rest"
            })
        );
        let second = with(&second_handshake_header(a, b));
        assert_eq!(
            Message::parse(&second),
            Ok(Message::SecondHandshake {
                sender: a,
                receiver: b,
                noise: b"rest"
            })
        );
        let data = with(&transport_header(b, u64::MAX - 1));
        let expected = Message::Transport {
            receiver: b,
            counter: u64::MAX - 1,
            sealed: b"rest",
        };
        assert_eq!(Message::parse(&data), Ok(expected));
        let cookie = with(&cookie_header(a));
        assert_eq!(
            Message::parse(&cookie),
            Ok(Message::Cookie {
                receiver: a,
                body: b"rest"
            })
        );
    }

    #[test]
    fn other_versions_and_types_are_refused() {
        let mut bytes = transport_header(SessionIndex(1), 2);
        for other in [VERSION - 1, VERSION + 1] {
            bytes[1] = other;
            assert_eq!(Message::parse(&bytes), Err(DataError::Version(other)));
        }
        bytes[0] = 5;
        assert_eq!(Message::parse(&bytes), Err(DataError::Type));
        let mut bytes = transport_header(SessionIndex(1), 2);
        bytes[3] = 1;
        assert_eq!(Message::parse(&bytes), Err(DataError::Type));
        assert_eq!(Message::parse(&bytes[..3]), Err(DataError::Truncated));
        assert_eq!(
            Inner::parse(&[9, 0, 0, 0, 0, 0, 0, 0]),
            Err(DataError::Kind(9))
        );
        assert_eq!(Inner::parse(&[0; 8]), Err(DataError::Kind(0)));
    }

    #[test]
    fn send_times_keep_differences_across_the_wrap() {
        let sent = SendTime::of(Time::from_nanos(SEND_TIME_MODULUS * 3 - 5));
        assert_eq!(
            sent.elapsed(Time::from_nanos(SEND_TIME_MODULUS * 3 + 7)),
            Duration::from_nanos(12)
        );
        assert_eq!(
            sent.offset_ns(Time::from_nanos(SEND_TIME_MODULUS * 3 - 6)),
            -1
        );
        assert_eq!(
            sent.elapsed(Time::from_nanos(SEND_TIME_MODULUS * 3 - 6)),
            Duration::ZERO
        );
    }

    proptest! {
        #[test]
        fn inner_messages_round_trip(kind in 0..InnerKind::ALL.len(), now: u64, body: Vec<u8>) {
            let (kind, sent) = (InnerKind::ALL[kind], SendTime::of(Time::from_nanos(now)));
            let payload = [&inner_header(kind, sent)[..], &body].concat();
            prop_assert_eq!(Inner::parse(&payload), Ok(Inner { kind, sent, body: &body }));
        }

        #[test]
        fn no_bytes_make_a_parser_panic(bytes: Vec<u8>, kind in 0..6u8) {
            let _ = (Message::parse(&bytes), Inner::parse(&bytes));
            let likely = [&[kind, VERSION, 0, 0][..], &bytes].concat();
            prop_assert!(Message::parse(&likely) != Err(DataError::Version(VERSION)));
        }
    }
}
