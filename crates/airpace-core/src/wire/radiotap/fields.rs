/// Bit 3 of radiotap: channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Channel {
    /// Centre frequency of the primary channel in MHz.
    pub mhz: u16,
    /// Flags, see [`Channel::OFDM_5GHZ`].
    pub flags: u16,
}

impl Channel {
    /// OFDM (0x0040) in the 5 GHz band (0x0100).
    pub const OFDM_5GHZ: u16 = 0x0140;
    /// Dynamic CCK-OFDM (0x0400) in the 2.4 GHz band (0x0080).
    pub const DYNAMIC_2GHZ: u16 = 0x0480;
}

/// Bit 19 of radiotap: HT rate. A field is valid only if its bit of `known` is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HtMcs {
    /// Which of the fields are known.
    pub known: u8,
    /// Bandwidth (bits 0–1), short guard interval (bit 2), greenfield (bit 3), LDPC (bit 4), STBC
    /// streams (bits 5–6).
    pub flags: u8,
    /// MCS index, 0 to 31 for equal modulation.
    pub mcs: u8,
}

impl HtMcs {
    pub(super) const KNOWN_BANDWIDTH: u8 = 0x01;
    pub(super) const KNOWN_MCS: u8 = 0x02;
    pub(super) const KNOWN_GI: u8 = 0x04;
    pub(super) const BANDWIDTH: u8 = 0x03;
    pub(super) const BANDWIDTH_40: u8 = 0x01;
    pub(super) const SHORT_GI: u8 = 0x04;
}

/// Bit 20 of radiotap: A-MPDU status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ampdu {
    /// The same for all MPDUs of one A-MPDU, and different from that of the previous A-MPDU.
    pub reference: u32,
    /// See [`Ampdu::LAST_KNOWN`] and [`Ampdu::IS_LAST`].
    pub flags: u16,
}

impl Ampdu {
    /// The last subframe is known, for all subframes of this A-MPDU.
    pub const LAST_KNOWN: u16 = 0x0004;
    /// This is the last subframe.
    pub const IS_LAST: u16 = 0x0008;
    /// The EOF bit of the delimiter was set: nothing follows in this PPDU.
    pub const EOF: u16 = 0x0040;
    /// The value of the EOF bit is known.
    pub const EOF_KNOWN: u16 = 0x0080;

    /// A subframe of the A-MPDU `reference`, known to be the last or not.
    #[must_use]
    pub const fn new(reference: u32, is_last: bool) -> Self {
        let flags = if is_last {
            Self::LAST_KNOWN | Self::IS_LAST
        } else {
            Self::LAST_KNOWN
        };
        Self { reference, flags }
    }

    /// The EOF bit of the delimiter; `None` if it is not known.
    #[must_use]
    pub const fn eof(self) -> Option<bool> {
        if self.flags & Self::EOF_KNOWN != 0 {
            Some(self.flags & Self::EOF != 0)
        } else {
            None
        }
    }

    /// Whether this is known to be the last subframe.
    #[must_use]
    pub const fn is_last(self) -> bool {
        self.flags & Self::LAST_KNOWN != 0 && self.flags & Self::IS_LAST != 0
    }
}

/// Bit 21 of radiotap: VHT rate of the first user. The parser skips the other users of a multi-user
/// PPDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VhtUser {
    /// Which of the fields are known.
    pub known: u16,
    /// STBC (bit 0), short guard interval (bit 2), LDPC extra symbol (bit 4), beamformed (bit 5).
    pub flags: u8,
    /// 0: 20 MHz, 1: 40 MHz, 4: 80 MHz, 11: 160 MHz; the others are sidebands of these.
    pub bandwidth: u8,
    /// MCS in the upper and number of spatial streams in the lower four bits; 0 streams mean that
    /// there is no such user.
    pub mcs_nss: u8,
    /// 1: LDPC, 0: BCC.
    pub coding: u8,
    /// Group identifier.
    pub group_id: u8,
    /// Partial association identifier.
    pub partial_aid: u16,
}

impl VhtUser {
    pub(super) const KNOWN_GI: u16 = 0x0004;
    pub(super) const KNOWN_BANDWIDTH: u16 = 0x0040;
    pub(super) const SHORT_GI: u8 = 0x04;
}

/// Bit 23 of radiotap: HE rate, as the six data words of the field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeUser {
    /// `data1` to `data6`.
    pub data: [u16; 6],
}

impl HeUser {
    /// `data1`: PPDU format; 0 is single user, 1 extended range.
    pub(super) const FORMAT: u16 = 0x0003;
    /// `data1`: the MCS is known.
    pub(super) const KNOWN_MCS: u16 = 0x0020;
    /// `data1`: the coding is known.
    pub(super) const KNOWN_CODING: u16 = 0x0080;
    /// `data1`: the bandwidth is known.
    pub(super) const KNOWN_BANDWIDTH: u16 = 0x4000;
    /// `data2`: the guard interval is known.
    pub(super) const KNOWN_GI: u16 = 0x0002;
    /// `data3`: MCS.
    pub(super) const MCS_SHIFT: u32 = 8;
    /// `data3`: LDPC.
    pub(super) const LDPC: u16 = 0x2000;
    /// `data5`: guard interval, 0: 0.8 µs, 1: 1.6 µs, 2: 3.2 µs.
    pub(super) const GI_SHIFT: u32 = 4;
}
