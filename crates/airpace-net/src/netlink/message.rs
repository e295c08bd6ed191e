//! Building and reading rtnetlink messages (`linux/netlink.h`, `linux/rtnetlink.h`).

use std::io;

/// A request: its type, and its body of a fixed header and attributes.
#[derive(Debug)]
pub(super) struct Message {
    kind: u16,
    body: Vec<u8>,
}

/// `struct ifinfomsg` with `flags` as (values, mask).
pub(super) fn link_header(index: u32, flags: (u32, u32)) -> Vec<u8> {
    let mut body = vec![0; 4];
    for word in [index, flags.0, flags.1] {
        body.extend(word.to_ne_bytes());
    }
    body
}

impl Message {
    pub(super) fn link(kind: u16, index: u32, flags: (u32, u32)) -> Self {
        Self {
            kind,
            body: link_header(index, flags),
        }
    }

    /// `struct ifaddrmsg`.
    pub(super) fn address(kind: u16, family: u8, prefix: u8, index: u32) -> Self {
        let mut body = vec![family, prefix, 0, libc::RT_SCOPE_UNIVERSE];
        body.extend(index.to_ne_bytes());
        Self { kind, body }
    }

    /// `struct rtmsg` in the main table.
    pub(super) fn route(kind: u16, family: u8, prefix: u8, scope: u8) -> Self {
        let mut body = vec![
            family,
            prefix,
            0,
            0,
            libc::RT_TABLE_MAIN,
            libc::RTPROT_STATIC,
            scope,
            libc::RTN_UNICAST,
        ];
        body.extend(0_u32.to_ne_bytes());
        Self { kind, body }
    }

    /// Adds an attribute.
    pub(super) fn with(mut self, kind: u16, value: &[u8]) -> Self {
        attribute::push(&mut self.body, kind, value);
        self
    }

    /// The message with its `struct nlmsghdr`.
    pub(super) fn finish(self, flags: libc::c_int, sequence: u32) -> Vec<u8> {
        // Requests are built here and are a few hundred bytes; flags are 16 bits.
        let length = (HEADER_BYTES + self.body.len()) as u32;
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(self.kind.to_ne_bytes());
        bytes.extend((flags as u16).to_ne_bytes());
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend(0_u32.to_ne_bytes());
        bytes.extend(self.body);
        bytes
    }
}

/// Size of `struct nlmsghdr`.
pub(super) const HEADER_BYTES: usize = 16;

/// Size of `struct ifinfomsg`.
pub(super) const LINK_HEADER_BYTES: usize = 16;

/// Finds the answer to request `sequence` in a datagram: a message, an acknowledgement, or an error.
pub(super) fn answer(mut datagram: &[u8], sequence: u32) -> Option<io::Result<&[u8]>> {
    while datagram.len() >= HEADER_BYTES {
        let length = usize::try_from(word(datagram, 0)?)
            .ok()?
            .clamp(HEADER_BYTES, datagram.len());
        let (message, rest) = datagram.split_at(length);
        if word(message, 8)? == sequence {
            return Some(verdict(message));
        }
        datagram = rest
            .get(length.next_multiple_of(4) - length..)
            .unwrap_or_default();
    }
    None
}

fn verdict(message: &[u8]) -> io::Result<&[u8]> {
    let kind = u16::from_ne_bytes([message[4], message[5]]);
    if libc::c_int::from(kind) != libc::NLMSG_ERROR {
        return Ok(message);
    }
    match word(message, HEADER_BYTES) {
        Some(0) => Ok(message),
        // The kernel sends the negated error number.
        Some(code) => Err(io::Error::from_raw_os_error((code as i32).wrapping_neg())),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..at + 4)?
        .try_into()
        .ok()
        .map(u32::from_ne_bytes)
}

/// Attributes: length, type, value, padding to four bytes.
pub(super) mod attribute {
    use std::net::IpAddr;

    pub(in super::super) fn push(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
        // Values are names, addresses and nested attributes of at most a few hundred bytes.
        body.extend(((4 + value.len()) as u16).to_ne_bytes());
        body.extend(kind.to_ne_bytes());
        body.extend(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }

    /// The value of the first attribute `kind` in `body`.
    pub(in super::super) fn find(mut body: &[u8], kind: u16) -> Option<&[u8]> {
        loop {
            let &[a, b, c, d] = body.first_chunk()?;
            let length = usize::from(u16::from_ne_bytes([a, b]));
            let value = body.get(4..length)?;
            if u16::from_ne_bytes([c, d]) == kind {
                return Some(value);
            }
            body = body.get(length.next_multiple_of(4)..)?;
        }
    }

    /// A name with its terminating zero.
    pub(in super::super) fn text(name: &str) -> Vec<u8> {
        let mut bytes = name.as_bytes().to_vec();
        bytes.push(0);
        bytes
    }

    pub(in super::super) fn address(address: IpAddr) -> Vec<u8> {
        match address {
            IpAddr::V4(v4) => v4.octets().to_vec(),
            IpAddr::V6(v6) => v6.octets().to_vec(),
        }
    }

    pub(in super::super) fn family(address: IpAddr) -> u8 {
        // Both constants are below 256.
        (if address.is_ipv4() {
            libc::AF_INET
        } else {
            libc::AF_INET6
        }) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_but_not_counted_so() {
        let bytes = Message::link(16, 0, (0, 0)).with(3, b"abc").finish(1, 9);
        assert_eq!(bytes.len(), 16 + 16 + 8);
        assert_eq!(
            u32::from_ne_bytes(bytes[..4].try_into().unwrap()) as usize,
            bytes.len()
        );
        assert_eq!(&bytes[32..34], 7_u16.to_ne_bytes());
    }

    #[test]
    fn attributes_are_found_and_malformed_ones_are_not() {
        let mut body = Vec::new();
        attribute::push(&mut body, 3, b"abc");
        attribute::push(&mut body, 4, b"de");
        assert_eq!(attribute::find(&body, 4), Some(&b"de"[..]));
        assert_eq!(attribute::find(&body, 5), None);
        for length in [0_u8, 3, 200] {
            body[0] = length;
            assert_eq!(attribute::find(&body, 4), None, "{length}");
        }
    }

    #[test]
    fn malformed_answers_are_no_answers() {
        for n in 0..40 {
            let mut bytes = vec![0xff; n];
            if n >= 12 {
                bytes[8..12].copy_from_slice(&5_u32.to_ne_bytes());
            }
            let _ = answer(&bytes, 5);
            let _ = answer(&bytes, 6);
            let _ = answer(&vec![0; n], 6);
        }
    }
}
