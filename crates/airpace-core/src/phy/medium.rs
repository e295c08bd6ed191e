use super::{AccessCategory, Edca, LegacyRate, SIFS, SLOT, Standard, Timing, TxRate};
use core::fmt;
use core::time::Duration;

/// The band of a channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Band {
    /// 2.4 GHz.
    Ghz2_4,
    /// 5 GHz.
    #[default]
    Ghz5,
}

impl Band {
    /// Short interframe space: 10 µs at 2.4 GHz (tables 15-5, 16-4, 18-5, 19-25), 16 µs at 5 GHz.
    #[must_use]
    pub const fn sifs(self) -> Duration {
        match self {
            Self::Ghz2_4 => Duration::from_micros(10),
            Self::Ghz5 => SIFS,
        }
    }

    /// The slot of a network without DSSS stations: 9 µs in both bands (table 18-5: short slot).
    #[must_use]
    pub const fn slot(self) -> Duration {
        SLOT
    }

    /// The slot of a network with DSSS stations: 20 µs at 2.4 GHz (tables 15-5, 16-4); 5 GHz has
    /// none and keeps 9 µs.
    #[must_use]
    pub const fn long_slot(self) -> Duration {
        match self {
            Self::Ghz2_4 => Duration::from_micros(20),
            Self::Ghz5 => SLOT,
        }
    }

    /// Signal extension: 6 µs of silence at the end of an OFDM, HT or HE PPDU at 2.4 GHz, so that
    /// its receiver has as much time for decoding as with the SIFS of 5 GHz (aSignalExtension;
    /// 18.3.2.4, 19.3.2, 27.4.3). SIFS and AIFS begin after it. DSSS has none.
    #[must_use]
    pub const fn signal_extension(self, standard: Standard) -> Duration {
        match (self, standard) {
            (Self::Ghz5, _) | (_, Standard::Dsss) => Duration::ZERO,
            (Self::Ghz2_4, _) => Duration::from_micros(6),
        }
    }

    /// Whether PPDUs of this standard exist in the band: DSSS is at 2.4 GHz only, VHT at 5 GHz
    /// only.
    #[must_use]
    pub const fn carries(self, standard: Standard) -> bool {
        !matches!(
            (self, standard),
            (Self::Ghz5, Standard::Dsss) | (Self::Ghz2_4, Standard::Vht)
        )
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ghz2_4 => "2.4 GHz",
            Self::Ghz5 => "5 GHz",
        })
    }
}

/// The band, and whether the network has stations that support only DSSS. Channel access and
/// responses depend on both.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Medium {
    /// The band.
    pub band: Band,
    /// Whether some station supports only DSSS, so that the slot is long and the basic rates are
    /// those of DSSS. Ignored at 5 GHz.
    pub dsss_only: bool,
}

impl Default for Medium {
    /// 5 GHz.
    fn default() -> Self {
        Self::GHZ_5
    }
}

impl Medium {
    /// 5 GHz.
    pub const GHZ_5: Self = Self {
        band: Band::Ghz5,
        dsss_only: false,
    };
    /// 2.4 GHz with short slots.
    pub const GHZ_2_4: Self = Self {
        band: Band::Ghz2_4,
        dsss_only: false,
    };
    /// 2.4 GHz with stations that support only DSSS.
    pub const DSSS: Self = Self {
        band: Band::Ghz2_4,
        dsss_only: true,
    };

    /// The usual medium of a standard: 2.4 GHz with DSSS stations for DSSS, and 5 GHz for
    /// everything else.
    #[must_use]
    pub const fn of(standard: Standard) -> Self {
        if matches!(standard, Standard::Dsss) {
            Self::DSSS
        } else {
            Self::GHZ_5
        }
    }

    /// See [`Band::sifs`].
    #[must_use]
    pub const fn sifs(self) -> Duration {
        self.band.sifs()
    }

    /// 9 µs, or 20 µs at 2.4 GHz with stations that support only DSSS.
    #[must_use]
    pub const fn slot(self) -> Duration {
        if self.dsss_only {
            self.band.long_slot()
        } else {
            self.band.slot()
        }
    }

    /// See [`Band::signal_extension`].
    #[must_use]
    pub const fn signal_extension(self, standard: Standard) -> Duration {
        self.band.signal_extension(standard)
    }

    /// See [`Band::carries`].
    #[must_use]
    pub const fn carries(self, standard: Standard) -> bool {
        self.band.carries(standard)
    }

    /// The time for which a PPDU occupies the channel: its duration and the signal extension
    /// (TXTIME).
    #[must_use]
    pub fn airtime(self, rate: TxRate, psdu_bytes: u32, timing: Timing) -> Duration {
        rate.ppdu_duration(psdu_bytes, timing) + self.signal_extension(rate.standard())
    }

    /// The time for which a control frame of `bytes` occupies the channel. DSSS control frames have
    /// the long preamble.
    #[must_use]
    pub fn control_airtime(self, rate: LegacyRate, bytes: u32) -> Duration {
        self.airtime(TxRate::legacy(rate), bytes, Timing::Standard)
    }

    /// Default channel access parameters: those of DSSS if there are stations that support only
    /// DSSS.
    #[must_use]
    pub const fn edca(self, category: AccessCategory) -> Edca {
        if self.dsss_only && matches!(self.band, Band::Ghz2_4) {
            Edca::of_dsss(category)
        } else {
            Edca::of(category)
        }
    }

    /// The idle time before back-off starts: SIFS + AIFSN slots (10.3.2.3.6).
    #[must_use]
    pub fn aifs(self, edca: Edca) -> Duration {
        self.sifs() + self.slot() * u32::from(edca.aifsn)
    }

    /// Mean back-off of a first try, half the smallest contention window.
    #[must_use]
    pub fn mean_backoff(self, edca: Edca) -> Duration {
        self.slot() * u32::from(edca.cw_min) / 2
    }

    /// The basic rates, which every station of the network supports, slowest first: the mandatory
    /// rates of clauses 15 to 18. Beacons and other group-addressed frames use the first.
    #[must_use]
    pub const fn basic_rates(self) -> &'static [LegacyRate] {
        const OFDM: [LegacyRate; 3] = [LegacyRate::Mbps6, LegacyRate::Mbps12, LegacyRate::Mbps24];
        const ERP: [LegacyRate; 7] = [
            LegacyRate::Mbps1,
            LegacyRate::Mbps2,
            LegacyRate::Mbps5Half,
            LegacyRate::Mbps6,
            LegacyRate::Mbps11,
            LegacyRate::Mbps12,
            LegacyRate::Mbps24,
        ];
        match self.band {
            Band::Ghz5 => &OFDM,
            Band::Ghz2_4 if self.dsss_only => &LegacyRate::DSSS,
            Band::Ghz2_4 => &ERP,
        }
    }
}

impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.band.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{ACK_BYTES, control_rate};

    #[test]
    fn access_times_of_each_medium() {
        let micros = |medium: Medium| {
            let edca = medium.edca(AccessCategory::BestEffort);
            [medium.sifs(), medium.slot(), medium.aifs(edca)].map(|d| d.as_micros())
        };
        assert_eq!(micros(Medium::GHZ_5), [16, 9, 43]);
        assert_eq!(micros(Medium::GHZ_2_4), [10, 9, 37]);
        assert_eq!(micros(Medium::DSSS), [10, 20, 70]);
    }

    #[test]
    fn contention_windows_by_phy() {
        let windows = |medium: Medium| {
            [
                AccessCategory::BestEffort,
                AccessCategory::Video,
                AccessCategory::Voice,
            ]
            .map(|category| (medium.edca(category).cw_min, medium.edca(category).cw_max))
        };
        assert_eq!(windows(Medium::DSSS), [(31, 1_023), (15, 31), (7, 15)]);
        assert_eq!(windows(Medium::GHZ_2_4), [(15, 1_023), (7, 15), (3, 7)]);
    }

    #[test]
    fn an_ofdm_ack_at_2_4_ghz_lasts_6_us_longer() {
        let micros = |medium: Medium, rate| medium.control_airtime(rate, ACK_BYTES).as_micros();
        assert_eq!(micros(Medium::GHZ_5, LegacyRate::Mbps24), 28);
        assert_eq!(micros(Medium::GHZ_2_4, LegacyRate::Mbps24), 34);
        assert_eq!(micros(Medium::GHZ_2_4, LegacyRate::Mbps1), 304);
    }

    #[test]
    fn responses_are_at_the_highest_basic_rate_of_their_own_modulation_not_above_the_data() {
        for medium in [Medium::GHZ_5, Medium::GHZ_2_4, Medium::DSSS] {
            assert!(medium.basic_rates().is_sorted());
            for rate in LegacyRate::DSSS.into_iter().chain(LegacyRate::OFDM) {
                let known = medium.carries(rate.standard())
                    && !(medium.dsss_only && rate.standard() != Standard::Dsss);
                let alike =
                    |basic: &&LegacyRate| **basic <= rate && basic.standard() == rate.standard();
                let highest = medium.basic_rates().iter().rfind(alike);
                assert!(
                    !known || highest == Some(&control_rate(TxRate::legacy(rate))),
                    "{medium:?} {rate}"
                );
            }
        }
    }

    #[test]
    fn bands_carry_their_standards() {
        assert!(!Band::Ghz5.carries(Standard::Dsss) && !Band::Ghz2_4.carries(Standard::Vht));
        assert!(Band::Ghz2_4.carries(Standard::He) && Band::Ghz5.carries(Standard::Ofdm));
    }
}
