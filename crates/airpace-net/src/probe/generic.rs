//! Generic netlink (`linux/genetlink.h`), as far as a diagnosis asks.

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};
use std::io;

/// Lengths of `struct nlmsghdr`, `struct genlmsghdr` and `struct nlattr`.
const MESSAGE_HEADER: usize = 16;
const GENERIC_HEADER: usize = 4;
const ATTRIBUTE_HEADER: usize = 4;
/// `NLM_F_REQUEST`, `NLM_F_ACK` and `NLM_F_DUMP`.
const REQUEST: u16 = 1;
const ACK: u16 = 4;
const DUMP: u16 = 0x300;
/// `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `GENL_ID_CTRL`, `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_ID` and `CTRL_ATTR_FAMILY_NAME`.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER` are not part of an attribute's number.
const ATTRIBUTE_KIND: u16 = 0x3fff;

/// A family of messages, for example `nl80211`.
pub(super) struct Family {
    socket: Socket,
    id: u16,
    sequence: u32,
}

impl Family {
    /// Finds a family by its name. [`io::ErrorKind::NotFound`] says that the kernel lacks it.
    pub(super) fn open(name: &str) -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_GENERIC)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        let mut family = Self {
            socket,
            id: CONTROL,
            sequence: 0,
        };
        let wanted = attribute(FAMILY_NAME, format!("{name}\0").as_bytes());
        for answer in family.request(GET_FAMILY, &wanted, false)? {
            let id = Attributes(&answer).find(|(kind, _)| *kind == FAMILY_ID);
            if let Some(&bytes) = id.and_then(|(_, value)| value.first_chunk()) {
                family.id = u16::from_ne_bytes(bytes);
                return Ok(family);
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }

    /// Sends a request and returns the attributes of each message that answers it.
    pub(super) fn request(
        &mut self,
        command: u8,
        attributes: &[u8],
        is_list: bool,
    ) -> io::Result<Vec<Vec<u8>>> {
        self.sequence += 1;
        let length = MESSAGE_HEADER + GENERIC_HEADER + attributes.len();
        let length = u32::try_from(length).map_err(io::Error::other)?;
        let flags = REQUEST | if is_list { DUMP } else { ACK };
        let mut message = Vec::new();
        message.extend_from_slice(&length.to_ne_bytes());
        message.extend_from_slice(&self.id.to_ne_bytes());
        message.extend_from_slice(&flags.to_ne_bytes());
        message.extend_from_slice(&self.sequence.to_ne_bytes());
        message.extend_from_slice(&[0; 4]);
        message.extend_from_slice(&[command, 1, 0, 0]);
        message.extend_from_slice(attributes);
        self.socket.send(&message, 0)?;
        let mut answers = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            if take_answers(&datagram, self.sequence, &mut answers)? {
                return Ok(answers);
            }
        }
    }
}

/// Adds the attributes of the messages of a datagram that answer request `sequence`. Returns whether
/// the answer ends there.
fn take_answers(
    mut datagram: &[u8],
    sequence: u32,
    answers: &mut Vec<Vec<u8>>,
) -> io::Result<bool> {
    while let Some(header) = datagram.first_chunk::<MESSAGE_HEADER>() {
        let [l0, l1, l2, l3, k0, k1, _, _, s0, s1, s2, s3, ..] = *header;
        let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
        let kind = u16::from_ne_bytes([k0, k1]);
        let Some(body) = datagram.get(MESSAGE_HEADER..length) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        if u32::from_ne_bytes([s0, s1, s2, s3]) == sequence {
            if kind == ERROR || kind == DONE {
                let code = body
                    .first_chunk()
                    .map_or(0, |code| i32::from_ne_bytes(*code));
                return match code {
                    0 => Ok(true),
                    code => Err(io::Error::from_raw_os_error(code.saturating_abs())),
                };
            }
            answers.push(body.get(GENERIC_HEADER..).unwrap_or_default().to_vec());
        }
        datagram = datagram
            .get(length.next_multiple_of(4)..)
            .unwrap_or_default();
    }
    Ok(false)
}

/// An attribute with its padding.
pub(super) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    // The values here are names and numbers.
    let length = u16::try_from(ATTRIBUTE_HEADER + value.len()).unwrap_or(u16::MAX);
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The attributes of a message, or of another attribute: number and value.
pub(super) struct Attributes<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let [l0, l1, k0, k1] = *self.0.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([l0, l1]));
        let value = self.0.get(ATTRIBUTE_HEADER..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([k0, k1]) & ATTRIBUTE_KIND, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_and_malformed_ones_end_the_list() {
        let bytes = [attribute(1, b"abc"), attribute(0x8002, &[7])].concat();
        let read: Vec<_> = Attributes(&bytes).collect();
        assert_eq!(read, [(1, b"abc".as_slice()), (2, [7].as_slice())]);
        for cut in 0..bytes.len() {
            assert!(Attributes(&bytes[..cut]).count() <= 2);
        }
        // A length below that of its own header would never end.
        assert_eq!(Attributes(&[0, 0, 1, 0]).count(), 0);
    }

    #[test]
    fn a_family_that_the_kernel_lacks_is_not_found() {
        let error = Family::open("no-such").err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
