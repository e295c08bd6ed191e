//! Radiotap headers: what a receiver reports about a frame beside its bytes
//! (<https://www.radiotap.org/>, fields by bit number).
//!
//! [`Radiotap`] holds the fields that airpace uses, for reading and for writing. The parser skips
//! all other defined fields, vendor namespaces, and repeated namespaces (one per antenna). Of a
//! repeated field, the first value counts.

mod build;
mod fields;
mod parse;
mod rate;

#[cfg(test)]
mod tests;

pub use fields::{Ampdu, Channel, HeUser, HtMcs, VhtUser};
pub use parse::RadiotapError;

/// Type of network interfaces whose frames begin with a radiotap header
/// (`ARPHRD_IEEE80211_RADIOTAP` of `linux/if_arp.h`).
pub const INTERFACE_TYPE: u16 = 803;

/// Link type of capture files whose records begin with a radiotap header
/// (LINKTYPE_IEEE802_11_RADIOTAP).
pub const LINK_TYPE: u32 = 127;

/// Length of the longest header that [`Radiotap::write`] produces, in bytes.
pub const MAX_LENGTH: usize = 64;

/// The fields of a radiotap header that airpace reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Radiotap {
    /// Bit 0: the receiver's MAC timer (TSF) when the first bit of the MPDU arrived, in
    /// microseconds. With A-MPDU most drivers give all MPDUs the same value.
    pub tsft_us: Option<u64>,
    /// Bit 1: see [`Flags`].
    pub flags: Option<Flags>,
    /// Bit 2: legacy rate in 500 kbit/s.
    pub legacy_rate: Option<u8>,
    /// Bit 3.
    pub channel: Option<Channel>,
    /// Bit 5: signal at the antenna in dBm.
    pub signal_dbm: Option<i8>,
    /// Bit 11: antenna index.
    pub antenna: Option<u8>,
    /// Bit 19: HT rate.
    pub ht: Option<HtMcs>,
    /// Bit 20: which A-MPDU the MPDU was part of.
    pub ampdu: Option<Ampdu>,
    /// Bit 21: VHT rate, first user.
    pub vht: Option<VhtUser>,
    /// Bit 23: HE rate, single user.
    pub he: Option<HeUser>,
}

/// Bit 1 of radiotap, "Flags".
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// The frame had the short preamble of DSSS.
    pub const SHORT_PREAMBLE: u8 = 0x02;
    /// The frame ends with its frame check sequence.
    pub const FCS_AT_END: u8 = 0x10;
    /// The frame check sequence was wrong.
    pub const BAD_FCS: u8 = 0x40;

    /// Whether the frame ends with its frame check sequence.
    #[must_use]
    pub const fn fcs_at_end(self) -> bool {
        self.0 & Self::FCS_AT_END != 0
    }

    /// Whether the frame check sequence was wrong, so that nothing in the frame can be trusted.
    #[must_use]
    pub const fn bad_fcs(self) -> bool {
        self.0 & Self::BAD_FCS != 0
    }
}

/// Bits of the presence word.
mod bit {
    pub(super) const TSFT: u32 = 0;
    pub(super) const FLAGS: u32 = 1;
    pub(super) const RATE: u32 = 2;
    pub(super) const CHANNEL: u32 = 3;
    pub(super) const SIGNAL: u32 = 5;
    pub(super) const ANTENNA: u32 = 11;
    pub(super) const MCS: u32 = 19;
    pub(super) const AMPDU: u32 = 20;
    pub(super) const VHT: u32 = 21;
    pub(super) const HE: u32 = 23;
    pub(super) const RADIOTAP_NAMESPACE: u32 = 29;
    pub(super) const VENDOR_NAMESPACE: u32 = 30;
    pub(super) const MORE: u32 = 31;
}

/// Alignment and size in bytes of every defined field of the radiotap namespace, by bit number.
///
/// From the field list of radiotap.org, as in `rtap_namespace_sizes` of Linux's
/// net/wireless/radiotap.c (which stops at bit 22).
const LAYOUT: [(u8, u8); 28] = [
    (8, 8),  // 0 TSFT
    (1, 1),  // 1 flags
    (1, 1),  // 2 rate
    (2, 4),  // 3 channel
    (2, 2),  // 4 FHSS
    (1, 1),  // 5 antenna signal, dBm
    (1, 1),  // 6 antenna noise, dBm
    (2, 2),  // 7 lock quality
    (2, 2),  // 8 TX attenuation
    (2, 2),  // 9 TX attenuation, dB
    (1, 1),  // 10 TX power, dBm
    (1, 1),  // 11 antenna
    (1, 1),  // 12 antenna signal, dB
    (1, 1),  // 13 antenna noise, dB
    (2, 2),  // 14 RX flags
    (2, 2),  // 15 TX flags
    (1, 1),  // 16 RTS retries
    (1, 1),  // 17 data retries
    (4, 8),  // 18 extended channel
    (1, 3),  // 19 MCS
    (4, 8),  // 20 A-MPDU status
    (2, 12), // 21 VHT
    (8, 12), // 22 timestamp
    (2, 12), // 23 HE
    (2, 12), // 24 HE-MU
    (2, 6),  // 25 HE-MU, other user
    (1, 1),  // 26 zero-length PSDU
    (2, 4),  // 27 L-SIG
];
