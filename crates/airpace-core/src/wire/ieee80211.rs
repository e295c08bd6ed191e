//! 802.11 data frames as a monitor interface delivers them (IEEE 802.11-2020 §9.2.4, §9.3.2.1),
//! with the LLC/SNAP header of IP.

use super::cursor::Cursor;
use thiserror::Error;

/// A MAC address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MacAddr(pub [u8; 6]);

/// Length of a QoS data header from or to an access point: no fourth address, no HT control.
pub const QOS_HEADER_BYTES: usize = 26;
/// Length of the LLC/SNAP header (IEEE 802.2; RFC 1042).
pub const SNAP_BYTES: usize = 8;
/// Length of the frame check sequence.
pub const FCS_BYTES: usize = 4;
/// EtherType of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub const ETHERTYPE_IPV6: u16 = 0x86dd;

/// LLC with SNAP, unnumbered information, organisation 0 (encapsulated Ethernet).
const SNAP_PREFIX: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

/// Bits of the first byte of frame control: version (0–1), type (2–3), subtype (4–7).
mod kind {
    pub(super) const VERSION: u8 = 0x03;
    pub(super) const TYPE: u8 = 0x0c;
    pub(super) const DATA: u8 = 0x08;
    /// Subtype bit: the frame has a QoS control field.
    pub(super) const QOS: u8 = 0x80;
    /// Subtype bit: the frame has no body.
    pub(super) const NULL: u8 = 0x40;
}

/// Bits of the second byte of frame control.
mod flag {
    pub(super) const TO_DS: u8 = 0x01;
    pub(super) const FROM_DS: u8 = 0x02;
    pub(super) const MORE_FRAGMENTS: u8 = 0x04;
    pub(super) const RETRY: u8 = 0x08;
    pub(super) const PROTECTED: u8 = 0x40;
    pub(super) const ORDER: u8 = 0x80;
}

/// QoS control: the body is an A-MSDU.
const QOS_AMSDU: u16 = 0x0080;

/// Why bytes are not a data frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The bytes end before the header does.
    #[error("the 802.11 header is cut off: capture more bytes per packet")]
    Truncated,
    /// The protocol version is not 0.
    #[error("the 802.11 protocol version is {0}, not 0")]
    Version(u8),
    /// A management, control or extension frame, by its type bits. The meter ignores it.
    #[error("the 802.11 frame is of type {0}, not a data frame")]
    NotData(u8),
}

/// Direction of a data frame, by the To-DS and From-DS bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Between stations, without an access point.
    Direct,
    /// From a station to its access point (uplink).
    ToDs,
    /// From an access point to a station (downlink).
    FromDs,
    /// Between access points; the frame has four addresses.
    Bridge,
}

/// Header of a data frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataHeader {
    /// Direction of the frame.
    pub direction: Direction,
    /// Receiver (address 1): on the downlink the station.
    pub receiver: MacAddr,
    /// Transmitter (address 2): on the downlink the access point (BSSID).
    pub transmitter: MacAddr,
    /// Address 3: on the downlink the source, on the uplink the destination.
    pub third: MacAddr,
    /// Sequence number, 0 to 4095. The transmitter counts it for each receiver and TID.
    pub sequence: u16,
    /// Fragment number, 0 to 15.
    pub fragment: u8,
    /// Whether more fragments of this MSDU follow.
    pub more_fragments: bool,
    /// Whether this MPDU was sent before.
    pub retry: bool,
    /// Whether the body is encrypted.
    pub protected: bool,
    /// Traffic identifier of a QoS data frame, 0 to 15.
    pub tid: Option<u8>,
    /// Whether the body is an A-MSDU.
    pub amsdu: bool,
    /// Whether the subtype has no body (QoS Null, Null).
    pub null: bool,
}

impl DataHeader {
    /// The header of a downlink best-effort QoS data frame (TID 0).
    ///
    /// `sequence` is taken modulo 4096.
    #[must_use]
    pub const fn downlink(station: MacAddr, bssid: MacAddr, sequence: u16, retry: bool) -> Self {
        Self {
            direction: Direction::FromDs,
            receiver: station,
            transmitter: bssid,
            third: bssid,
            sequence: sequence & 0x0fff,
            fragment: 0,
            more_fragments: false,
            retry,
            protected: false,
            tid: Some(0),
            amsdu: false,
            null: false,
        }
    }

    /// Reads the header at the start of `frame`. Returns the header and its length in bytes.
    ///
    /// # Errors
    /// If the frame is cut off within the header or is not a data frame.
    pub fn parse(frame: &[u8]) -> Result<(Self, usize), FrameError> {
        let &[control, flags, ..] = frame else {
            return Err(FrameError::Truncated);
        };
        if control & kind::VERSION != 0 {
            return Err(FrameError::Version(control & kind::VERSION));
        }
        if control & kind::TYPE != kind::DATA {
            return Err(FrameError::NotData((control & kind::TYPE) >> 2));
        }
        Self::read(frame, control, flags).ok_or(FrameError::Truncated)
    }

    fn read(frame: &[u8], control: u8, flags: u8) -> Option<(Self, usize)> {
        let mut cursor = Cursor::new(frame);
        // Frame control and duration.
        cursor.skip(4);
        let (receiver, transmitter, third) = (cursor.mac()?, cursor.mac()?, cursor.mac()?);
        let sequence_control = cursor.u16()?;
        let direction = Direction::of(flags);
        if direction == Direction::Bridge {
            cursor.mac()?;
        }
        let qos = if control & kind::QOS != 0 {
            Some(cursor.u16()?)
        } else {
            None
        };
        if qos.is_some() && flags & flag::ORDER != 0 {
            // In a QoS data frame the order bit means that HT control follows (9.2.4.1.10).
            cursor.u32()?;
        }
        let header = Self {
            direction,
            receiver,
            transmitter,
            third,
            sequence: sequence_control >> 4,
            fragment: (sequence_control & 0x0f) as u8,
            more_fragments: flags & flag::MORE_FRAGMENTS != 0,
            retry: flags & flag::RETRY != 0,
            protected: flags & flag::PROTECTED != 0,
            tid: qos.map(|q| (q & 0x0f) as u8),
            amsdu: qos.is_some_and(|q| q & QOS_AMSDU != 0),
            null: control & kind::NULL != 0,
        };
        Some((header, frame.len() - cursor.rest().len()))
    }

    /// Appends the header to `out`: [`QOS_HEADER_BYTES`] with a TID, and two bytes fewer without. A
    /// fourth address is written as zeros.
    pub fn write(&self, out: &mut Vec<u8>) {
        let qos = if self.tid.is_some() { kind::QOS } else { 0 };
        let null = if self.null { kind::NULL } else { 0 };
        out.extend_from_slice(&[kind::DATA | qos | null, self.flags(), 0, 0]);
        for address in [self.receiver, self.transmitter, self.third] {
            out.extend_from_slice(&address.0);
        }
        let sequence_control = (self.sequence << 4) | u16::from(self.fragment & 0x0f);
        out.extend_from_slice(&sequence_control.to_le_bytes());
        if self.direction == Direction::Bridge {
            out.extend_from_slice(&[0; 6]);
        }
        if let Some(tid) = self.tid {
            let qos = u16::from(tid & 0x0f) | if self.amsdu { QOS_AMSDU } else { 0 };
            out.extend_from_slice(&qos.to_le_bytes());
        }
    }

    fn flags(&self) -> u8 {
        let mut flags = self.direction.flags();
        for (set, bit) in [
            (self.more_fragments, flag::MORE_FRAGMENTS),
            (self.retry, flag::RETRY),
            (self.protected, flag::PROTECTED),
        ] {
            if set {
                flags |= bit;
            }
        }
        flags
    }
}

impl Direction {
    const fn of(flags: u8) -> Self {
        match flags & (flag::TO_DS | flag::FROM_DS) {
            0 => Self::Direct,
            flag::TO_DS => Self::ToDs,
            flag::FROM_DS => Self::FromDs,
            _ => Self::Bridge,
        }
    }

    const fn flags(self) -> u8 {
        match self {
            Self::Direct => 0,
            Self::ToDs => flag::TO_DS,
            Self::FromDs => flag::FROM_DS,
            Self::Bridge => flag::TO_DS | flag::FROM_DS,
        }
    }
}

impl Cursor<'_> {
    pub(super) fn mac(&mut self) -> Option<MacAddr> {
        self.take().map(MacAddr)
    }
}

/// Appends a whole data frame: `header`, LLC/SNAP, the IP packet and, with `with_fcs`, the frame
/// check sequence.
///
/// The EtherType follows from the packet's IP version.
pub fn write_frame(header: &DataHeader, ip_packet: &[u8], with_fcs: bool, out: &mut Vec<u8>) {
    let start = out.len();
    header.write(out);
    let version = ip_packet.first().map_or(4, |b| b >> 4);
    let ethertype = if version == 6 {
        ETHERTYPE_IPV6
    } else {
        ETHERTYPE_IPV4
    };
    out.extend_from_slice(&SNAP_PREFIX);
    out.extend_from_slice(&ethertype.to_be_bytes());
    out.extend_from_slice(ip_packet);
    if with_fcs {
        let fcs = fcs(&out[start..]);
        out.extend_from_slice(&fcs.to_le_bytes());
    }
}

/// Splits the body of a data frame into EtherType and payload. Returns `None` without the LLC/SNAP
/// header of Ethernet, for example if the body is encrypted or an A-MSDU.
#[must_use]
pub fn split_snap(body: &[u8]) -> Option<(u16, &[u8])> {
    let (&[hi, lo], payload) = body.strip_prefix(&SNAP_PREFIX)?.split_first_chunk()?;
    Some((u16::from_be_bytes([hi, lo]), payload))
}

/// The frame check sequence of `frame` (IEEE 802.11-2020 §9.2.4.8: CRC-32, sent in little-endian
/// order).
#[must_use]
pub fn fcs(frame: &[u8]) -> u32 {
    !frame.iter().fold(u32::MAX, |crc, &byte| {
        // The low byte of the running CRC selects the entry.
        CRC_TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8)
    })
}

/// CRC-32 of each byte, for the reflected polynomial 0xEDB88320.
const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut round = 0;
        while round < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xEDB8_8320
            } else {
                crc >> 1
            };
            round += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

#[cfg(test)]
mod tests;
