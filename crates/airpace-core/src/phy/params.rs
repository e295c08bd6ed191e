use core::fmt;

/// The generation of the PHY, which decides subcarriers, symbol length and preamble.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Standard {
    /// Direct sequence, 1 and 2 Mbit/s (clause 15), and its high rates with complementary code
    /// keying, 5.5 and 11 Mbit/s (clause 16); 2.4 GHz only.
    Dsss,
    /// OFDM in 20 MHz, 6 to 54 Mbit/s: clause 17 at 5 GHz, the same as ERP at 2.4 GHz (clause 18).
    Ofdm,
    /// High throughput, 802.11n (clause 19), HT-mixed format.
    Ht,
    /// Very high throughput, 802.11ac (clause 21), single user.
    Vht,
    /// High efficiency, 802.11ax (clause 27), single user.
    He,
}

/// Channel width.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Width {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz; not HT.
    Mhz80,
    /// 160 MHz; not HT.
    Mhz160,
}

/// Guard interval between symbols.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GuardInterval {
    /// 400 ns, the short one of HT and VHT.
    Ns400,
    /// 800 ns.
    Ns800,
    /// 1600 ns; HE only.
    Ns1600,
    /// 3200 ns; HE only.
    Ns3200,
}

/// The conventions that durations follow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Timing {
    /// The standard: VHT-SIG-B in the VHT preamble, six tail bits per BCC encoder,
    /// short-guard-interval PPDUs padded to whole 4 µs (19.4.3, 21.4.3).
    #[default]
    Standard,
    /// The conventions of ns-3 3.44 for HT and VHT, for comparison: no VHT-SIG-B, always six tail
    /// bits, no rounding to 4 µs.
    Ns3,
}

/// The preamble of a DSSS PPDU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum DsssPreamble {
    /// 144 µs of synchronisation and 48 µs of header, all at 1 Mbit/s (16.2.2.2).
    #[default]
    Long,
    /// 72 µs at 1 Mbit/s and a header of 24 µs at 2 Mbit/s (16.2.2.3); not for 1 Mbit/s.
    Short,
}

impl Standard {
    /// Whether a PSDU of this PHY is an A-MPDU even if it holds one MPDU (VHT and HE: 9.7.1,
    /// 10.12.7).
    #[must_use]
    pub const fn always_aggregates(self) -> bool {
        matches!(self, Self::Vht | Self::He)
    }

    /// Whether this is one of the PHYs without A-MPDU (DSSS and non-HT OFDM).
    #[must_use]
    pub const fn is_legacy(self) -> bool {
        matches!(self, Self::Dsss | Self::Ofdm)
    }
}

impl Width {
    /// The width in MHz.
    #[must_use]
    pub const fn mhz(self) -> u32 {
        match self {
            Self::Mhz20 => 20,
            Self::Mhz40 => 40,
            Self::Mhz80 => 80,
            Self::Mhz160 => 160,
        }
    }

    /// The width of `mhz` MHz, if there is one.
    #[must_use]
    pub fn from_mhz(mhz: u32) -> Option<Self> {
        [Self::Mhz20, Self::Mhz40, Self::Mhz80, Self::Mhz160]
            .into_iter()
            .find(|w| w.mhz() == mhz)
    }
}

impl GuardInterval {
    /// The guard interval in ns.
    #[must_use]
    pub const fn nanos(self) -> u32 {
        match self {
            Self::Ns400 => 400,
            Self::Ns800 => 800,
            Self::Ns1600 => 1_600,
            Self::Ns3200 => 3_200,
        }
    }

    /// The guard interval of `nanos` ns, if there is one.
    #[must_use]
    pub fn from_nanos(nanos: u32) -> Option<Self> {
        [Self::Ns400, Self::Ns800, Self::Ns1600, Self::Ns3200]
            .into_iter()
            .find(|gi| gi.nanos() == nanos)
    }
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dsss => "DSSS",
            Self::Ofdm => "OFDM",
            Self::Ht => "HT",
            Self::Vht => "VHT",
            Self::He => "HE",
        })
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MHz", self.mhz())
    }
}

impl fmt::Display for GuardInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.nanos())
    }
}
