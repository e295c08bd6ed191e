//! Conversion between rates and radiotap's rate fields.

use super::Flags;
use super::{HeUser, HtMcs, Radiotap, VhtUser};
use crate::phy::{DsssPreamble, GuardInterval, LegacyRate, Standard, TxRate, Width};

impl Radiotap {
    /// The header with `rate` in its legacy, HT, VHT or HE field and without the other three
    /// fields. If there is a flags field, it shows the short preamble of DSSS.
    #[must_use]
    pub fn with_rate(self, rate: TxRate) -> Self {
        let none = Self {
            legacy_rate: None,
            ht: None,
            vht: None,
            he: None,
            ..self
        };
        let short = if rate.dsss_preamble() == DsssPreamble::Short {
            Flags::SHORT_PREAMBLE
        } else {
            0
        };
        let none = Self {
            flags: self
                .flags
                .map(|f| Flags(f.0 & !Flags::SHORT_PREAMBLE | short)),
            ..none
        };
        match rate.standard() {
            // 108 units of 500 kbit/s at most.
            Standard::Dsss | Standard::Ofdm => Self {
                legacy_rate: rate.legacy_rate().map(|legacy| legacy.half_mbps() as u8),
                ..none
            },
            Standard::Ht => Self {
                ht: Some(HtMcs::of(rate)),
                ..none
            },
            Standard::Vht => Self {
                vht: Some(VhtUser::of(rate)),
                ..none
            },
            Standard::He => Self {
                he: Some(HeUser::of(rate)),
                ..none
            },
        }
    }

    /// The rate of the frame; `None` if the header does not determine it or the standard has no
    /// such rate. A legacy rate beside an HT, VHT or HE field is ignored.
    ///
    /// Multi-user and resource-unit transmissions of HE have no rate.
    #[must_use]
    pub fn rate(&self) -> Option<TxRate> {
        let he = self.he.and_then(HeUser::rate);
        let high = he
            .or_else(|| self.vht.and_then(VhtUser::rate))
            .or_else(|| self.ht.and_then(HtMcs::rate));
        let none = (self.ht, self.vht, self.he) == (None, None, None);
        high.or_else(|| {
            self.legacy_rate
                .filter(|_| none)
                .and_then(|units| self.legacy(units))
        })
    }

    fn legacy(&self, units: u8) -> Option<TxRate> {
        let rate = TxRate::legacy(LegacyRate::from_half_mbps(units.into())?);
        let short = self
            .flags
            .is_some_and(|flags| flags.0 & Flags::SHORT_PREAMBLE != 0);
        // Drivers set the flag for OFDM too, where it has no meaning.
        Some(if short {
            rate.with_short_preamble().unwrap_or(rate)
        } else {
            rate
        })
    }
}

impl HtMcs {
    fn of(rate: TxRate) -> Self {
        let bandwidth = if rate.width() == Width::Mhz20 {
            0
        } else {
            Self::BANDWIDTH_40
        };
        let gi = if rate.gi() == GuardInterval::Ns400 {
            Self::SHORT_GI
        } else {
            0
        };
        let known = Self::KNOWN_BANDWIDTH | Self::KNOWN_MCS | Self::KNOWN_GI;
        Self {
            known,
            flags: bandwidth | gi,
            mcs: rate.mcs(),
        }
    }

    fn rate(self) -> Option<TxRate> {
        let needed = Self::KNOWN_BANDWIDTH | Self::KNOWN_MCS;
        if self.known & needed != needed {
            return None;
        }
        // 2 and 3 are 20 MHz in one half of a 40 MHz channel.
        let width = if self.flags & Self::BANDWIDTH == Self::BANDWIDTH_40 {
            Width::Mhz40
        } else {
            Width::Mhz20
        };
        let short = self.known & Self::KNOWN_GI != 0 && self.flags & Self::SHORT_GI != 0;
        TxRate::new(
            Standard::Ht,
            width,
            self.mcs / 8 + 1,
            self.mcs,
            short_or_long(short),
        )
        .ok()
    }
}

impl VhtUser {
    fn of(rate: TxRate) -> Self {
        let bandwidth = match rate.width() {
            Width::Mhz20 => 0,
            Width::Mhz40 => 1,
            Width::Mhz80 => 4,
            Width::Mhz160 => 11,
        };
        Self {
            known: Self::KNOWN_GI | Self::KNOWN_BANDWIDTH,
            flags: if rate.gi() == GuardInterval::Ns400 {
                Self::SHORT_GI
            } else {
                0
            },
            bandwidth,
            // Neither is above 15 in VHT.
            mcs_nss: (rate.mcs() << 4) | rate.nss(),
            ..Self::default()
        }
    }

    fn rate(self) -> Option<TxRate> {
        if self.known & Self::KNOWN_BANDWIDTH == 0 {
            return None;
        }
        let width = match self.bandwidth {
            0 | 2 | 3 | 7..=10 | 18..=25 => Width::Mhz20,
            1 | 5 | 6 | 14..=17 => Width::Mhz40,
            4 | 12 | 13 => Width::Mhz80,
            11 => Width::Mhz160,
            _ => return None,
        };
        let short = self.known & Self::KNOWN_GI != 0 && self.flags & Self::SHORT_GI != 0;
        TxRate::new(
            Standard::Vht,
            width,
            self.mcs_nss & 0x0f,
            self.mcs_nss >> 4,
            short_or_long(short),
        )
        .ok()
    }
}

impl HeUser {
    fn of(rate: TxRate) -> Self {
        let width = match rate.width() {
            Width::Mhz20 => 0,
            Width::Mhz40 => 1,
            Width::Mhz80 => 2,
            Width::Mhz160 => 3,
        };
        let gi = match rate.gi() {
            GuardInterval::Ns400 | GuardInterval::Ns800 => 0,
            GuardInterval::Ns1600 => 1,
            GuardInterval::Ns3200 => 2,
        };
        let data1 = Self::KNOWN_MCS | Self::KNOWN_CODING | Self::KNOWN_BANDWIDTH;
        let data3 = (u16::from(rate.mcs()) << Self::MCS_SHIFT) | Self::LDPC;
        Self {
            data: [
                data1,
                Self::KNOWN_GI,
                data3,
                0,
                width | (gi << Self::GI_SHIFT),
                u16::from(rate.nss()),
            ],
        }
    }

    fn rate(self) -> Option<TxRate> {
        let [data1, data2, data3, _, data5, data6] = self.data;
        let needed = Self::KNOWN_MCS | Self::KNOWN_BANDWIDTH;
        if data1 & Self::FORMAT != 0 || data1 & needed != needed || data2 & Self::KNOWN_GI == 0 {
            return None;
        }
        let width = match data5 & 0x0f {
            0 => Width::Mhz20,
            1 => Width::Mhz40,
            2 => Width::Mhz80,
            3 => Width::Mhz160,
            _ => return None,
        };
        let gi = match (data5 >> Self::GI_SHIFT) & 0x03 {
            0 => GuardInterval::Ns800,
            1 => GuardInterval::Ns1600,
            2 => GuardInterval::Ns3200,
            _ => return None,
        };
        let [mcs, nss] = [data3 >> Self::MCS_SHIFT, data6].map(|word| (word & 0x0f) as u8);
        TxRate::new(Standard::He, width, nss, mcs, gi).ok()
    }
}

const fn short_or_long(short: bool) -> GuardInterval {
    if short {
        GuardInterval::Ns400
    } else {
        GuardInterval::Ns800
    }
}
