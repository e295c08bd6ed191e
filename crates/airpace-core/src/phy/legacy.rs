use super::rate::constellation;
use super::{DsssPreamble, Standard, TxRate};
use airpace_units::BitRate;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use thiserror::Error;

/// A rate of the PHYs before HT: DSSS (clauses 15 and 16) or OFDM in 20 MHz (clause 17). Control
/// frames use them too. Ordered by speed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LegacyRate {
    /// 1 Mbit/s, DBPSK with the Barker sequence.
    Mbps1,
    /// 2 Mbit/s, DQPSK with the Barker sequence.
    Mbps2,
    /// 5.5 Mbit/s, CCK with 4 bits per symbol.
    Mbps5Half,
    /// 6 Mbit/s, BPSK 1/2; in the basic set.
    Mbps6,
    /// 9 Mbit/s, BPSK 3/4.
    Mbps9,
    /// 11 Mbit/s, CCK with 8 bits per symbol.
    Mbps11,
    /// 12 Mbit/s, QPSK 1/2; in the basic set.
    Mbps12,
    /// 18 Mbit/s, QPSK 3/4.
    Mbps18,
    /// 24 Mbit/s, 16-QAM 1/2; in the basic set.
    Mbps24,
    /// 36 Mbit/s, 16-QAM 3/4.
    Mbps36,
    /// 48 Mbit/s, 64-QAM 2/3.
    Mbps48,
    /// 54 Mbit/s, 64-QAM 3/4.
    Mbps54,
}

/// The error of parsing a [`LegacyRate`] from another text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "legacy rates are dsss/1, dsss/2, dsss/5.5, dsss/11 and ofdm/6, 9, 12, 18, 24, 36, 48 or 54"
)]
pub struct UnknownLegacyRate;

impl LegacyRate {
    /// The DSSS rates, slowest first.
    pub const DSSS: [Self; 4] = [Self::Mbps1, Self::Mbps2, Self::Mbps5Half, Self::Mbps11];

    /// The OFDM rates, slowest first.
    pub const OFDM: [Self; 8] = [
        Self::Mbps6,
        Self::Mbps9,
        Self::Mbps12,
        Self::Mbps18,
        Self::Mbps24,
        Self::Mbps36,
        Self::Mbps48,
        Self::Mbps54,
    ];

    /// The rate of this standard with this index, slowest first; `None` for other standards or
    /// beyond the last.
    #[must_use]
    pub fn of(standard: Standard, index: u8) -> Option<Self> {
        match standard {
            Standard::Dsss => Self::DSSS.get(usize::from(index)).copied(),
            Standard::Ofdm => Self::OFDM.get(usize::from(index)).copied(),
            Standard::Ht | Standard::Vht | Standard::He => None,
        }
    }

    /// [`Standard::Dsss`] or [`Standard::Ofdm`].
    #[must_use]
    pub const fn standard(self) -> Standard {
        match self {
            Self::Mbps1 | Self::Mbps2 | Self::Mbps5Half | Self::Mbps11 => Standard::Dsss,
            _ => Standard::Ofdm,
        }
    }

    /// The index among the rates of its standard, slowest first.
    #[must_use]
    pub const fn index(self) -> u8 {
        match self {
            Self::Mbps1 | Self::Mbps6 => 0,
            Self::Mbps2 | Self::Mbps9 => 1,
            Self::Mbps5Half | Self::Mbps12 => 2,
            Self::Mbps11 | Self::Mbps18 => 3,
            Self::Mbps24 => 4,
            Self::Mbps36 => 5,
            Self::Mbps48 => 6,
            Self::Mbps54 => 7,
        }
    }

    /// The rate in units of 500 kbit/s, as management frames and radiotap count it.
    #[must_use]
    pub const fn half_mbps(self) -> u32 {
        match self {
            Self::Mbps1 => 2,
            Self::Mbps2 => 4,
            Self::Mbps5Half => 11,
            Self::Mbps6 => 12,
            Self::Mbps9 => 18,
            Self::Mbps11 => 22,
            Self::Mbps12 => 24,
            Self::Mbps18 => 36,
            Self::Mbps24 => 48,
            Self::Mbps36 => 72,
            Self::Mbps48 => 96,
            Self::Mbps54 => 108,
        }
    }

    /// The rate of `units` · 500 kbit/s, if there is one.
    #[must_use]
    pub fn from_half_mbps(units: u32) -> Option<Self> {
        Self::DSSS
            .into_iter()
            .chain(Self::OFDM)
            .find(|rate| rate.half_mbps() == units)
    }

    /// The rate in Mbit/s.
    #[must_use]
    pub const fn mbps(self) -> f64 {
        self.half_mbps() as f64 / 2.0
    }

    /// The rate.
    #[must_use]
    pub const fn rate(self) -> BitRate {
        BitRate::from_bps(self.half_mbps() as u64 * 500_000)
    }

    /// Data bits per symbol: of 1 µs (DSSS), 8/11 µs (CCK) or 4 µs (OFDM).
    pub(super) const fn bits_per_symbol(self) -> u32 {
        match self {
            Self::Mbps1 => 1,
            Self::Mbps2 => 2,
            Self::Mbps5Half => 4,
            Self::Mbps11 => 8,
            _ => 2 * self.half_mbps(),
        }
    }

    /// Duration of a PPDU with `psdu_bytes`, as [`TxRate::ppdu_duration`]: OFDM has 20 µs of
    /// preamble and SIGNAL, then 4 µs symbols of SERVICE, PSDU and tail (eq. 17-29); DSSS here has
    /// the long preamble.
    #[must_use]
    pub fn duration(self, psdu_bytes: u32) -> Duration {
        TxRate::legacy(self).ppdu_duration(psdu_bytes, super::Timing::Standard)
    }

    /// [`LegacyRate::duration`] with the preamble `like`, if this rate has a choice of preambles.
    #[must_use]
    pub(super) fn duration_like(self, psdu_bytes: u32, like: DsssPreamble) -> Duration {
        let long = TxRate::legacy(self);
        let rate = if like == DsssPreamble::Short {
            long.with_short_preamble().unwrap_or(long)
        } else {
            long
        };
        rate.ppdu_duration(psdu_bytes, super::Timing::Standard)
    }
}

impl fmt::Display for LegacyRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mbit/s", self.mbps())
    }
}

impl FromStr for LegacyRate {
    type Err = UnknownLegacyRate;

    /// Reads `dsss/5.5` or `ofdm/6`.
    fn from_str(text: &str) -> Result<Self, UnknownLegacyRate> {
        let (standard, mbps) = text.split_once('/').ok_or(UnknownLegacyRate)?;
        let rates: &[Self] = match standard {
            "dsss" => &Self::DSSS,
            "ofdm" => &Self::OFDM,
            _ => return Err(UnknownLegacyRate),
        };
        let mbps: f64 = mbps.parse().map_err(|_| UnknownLegacyRate)?;
        // Every rate is a multiple of one half, which a double represents exactly.
        rates
            .iter()
            .copied()
            .find(|rate| rate.mbps() == mbps)
            .ok_or(UnknownLegacyRate)
    }
}

/// The rate of the ack or block ack that answers `data`: the highest of the basic set 6, 12, 24
/// Mbit/s that is not above the non-HT reference rate of the data's constellation and code
/// (10.6.6.5.2, 10.6.11 table 10-10), not its data rate. DSSS data are answered at their own rate:
/// 1, 2, 5.5 and 11 Mbit/s are all basic rates here, as they are in ns-3.
///
/// So every MCS 0 is answered at 6 Mbit/s however wide the channel is, QPSK at 12 and everything
/// from 16-QAM on at 24.
#[must_use]
pub fn control_rate(data: TxRate) -> LegacyRate {
    let reference = match (
        data.legacy_rate(),
        constellation(data.standard(), data.mcs()),
    ) {
        (Some(rate), _) if data.standard() == Standard::Dsss => return rate,
        (Some(rate), _) => rate,
        (None, 0) => LegacyRate::Mbps6,
        // QPSK 1/2 refers to 12 Mbit/s and QPSK 3/4 to 18, below the next basic rate.
        (None, 1 | 2) => LegacyRate::Mbps12,
        (None, _) => LegacyRate::Mbps24,
    };
    let basic = [LegacyRate::Mbps24, LegacyRate::Mbps12];
    basic
        .into_iter()
        .find(|&rate| rate <= reference)
        .unwrap_or(LegacyRate::Mbps6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{
        ACK_BYTES, AmpduLimits, BLOCK_ACK_BYTES, GuardInterval, RateError, Timing, Width, max_mpdus,
    };

    #[test]
    fn control_frames_last_as_long_as_in_ns3() {
        let micros = |rate: LegacyRate, bytes| rate.duration(bytes).as_micros();
        assert_eq!(micros(LegacyRate::Mbps24, ACK_BYTES), 28);
        assert_eq!(micros(LegacyRate::Mbps6, ACK_BYTES), 44);
        assert_eq!(micros(LegacyRate::Mbps24, BLOCK_ACK_BYTES), 32);
        assert_eq!(micros(LegacyRate::Mbps6, BLOCK_ACK_BYTES), 68);
    }

    #[test]
    fn responses_follow_the_constellation() {
        let rates = [0, 1, 2, 3, 9].map(|mcs| {
            let data =
                TxRate::new(Standard::Vht, Width::Mhz80, 1, mcs, GuardInterval::Ns800).unwrap();
            control_rate(data).mbps()
        });
        assert_eq!(rates, [6.0, 12.0, 12.0, 24.0, 24.0]);
        let ht = TxRate::new(Standard::Ht, Width::Mhz20, 2, 8, GuardInterval::Ns400).unwrap();
        assert_eq!(control_rate(ht), LegacyRate::Mbps6);
    }

    #[test]
    fn legacy_data_are_answered_at_a_basic_rate_not_above_their_own() {
        let answer = |rate| control_rate(TxRate::legacy(rate)).mbps();
        assert_eq!(
            LegacyRate::OFDM.map(answer),
            [6.0, 6.0, 12.0, 12.0, 24.0, 24.0, 24.0, 24.0]
        );
        assert_eq!(LegacyRate::DSSS.map(answer), [1.0, 2.0, 5.5, 11.0]);
    }

    #[test]
    fn dsss_durations_by_hand() {
        // 16.3.4: preamble and header, then 8 · bytes / rate in whole µs. 1536 bytes at 11 Mbit/s:
        // 1117.1 µs.
        let micros = |rate: TxRate, bytes| rate.ppdu_duration(bytes, Timing::Standard).as_micros();
        let long = LegacyRate::DSSS.map(|rate| micros(TxRate::legacy(rate), 1_536));
        assert_eq!(long, [192 + 12_288, 192 + 6_144, 192 + 2_235, 192 + 1_118]);
        let ack = LegacyRate::DSSS.map(|rate| micros(TxRate::legacy(rate), ACK_BYTES));
        assert_eq!(ack, [304, 248, 213, 203]);
        let short = TxRate::legacy(LegacyRate::Mbps11)
            .with_short_preamble()
            .unwrap();
        assert_eq!(micros(short, 1_536), 96 + 1_118);
        assert_eq!(short.to_string(), "DSSS 11 Mbit/s, short preamble");
        let refused = TxRate::legacy(LegacyRate::Mbps1).with_short_preamble();
        assert_eq!(
            refused,
            Err(RateError::ShortPreamble {
                rate: LegacyRate::Mbps1
            })
        );
    }

    #[test]
    fn the_largest_legacy_psdu_within_a_duration_is_the_largest() {
        for rate in LegacyRate::DSSS
            .into_iter()
            .chain(LegacyRate::OFDM)
            .map(TxRate::legacy)
        {
            for micros in [500, 1_001, 5_484, 65_535] {
                let limit = Duration::from_micros(micros);
                let most = rate.max_psdu(limit, Timing::Standard);
                assert!(
                    rate.ppdu_duration(most, Timing::Standard) <= limit,
                    "{rate}"
                );
                assert!(
                    rate.ppdu_duration(most + 1, Timing::Standard) > limit,
                    "{rate}"
                );
            }
            let limits = AmpduLimits::of(rate.standard());
            assert_eq!(
                [1_536, 2_334, 2_335].map(|mpdu| max_mpdus(rate, mpdu, limits, Timing::Standard)),
                [1, 1, 0]
            );
            assert!(rate.ppdu_duration(u32::MAX, Timing::Ns3) > Duration::from_secs(600));
        }
    }

    #[test]
    fn names_are_read_back_and_others_refused() {
        for rate in LegacyRate::DSSS.into_iter().chain(LegacyRate::OFDM) {
            let name = format!(
                "{}/{}",
                rate.standard().to_string().to_lowercase(),
                rate.mbps()
            );
            assert_eq!(name.parse(), Ok(rate));
            assert_eq!(LegacyRate::of(rate.standard(), rate.index()), Some(rate));
            assert_eq!(LegacyRate::from_half_mbps(rate.half_mbps()), Some(rate));
            let again = TxRate::new(
                rate.standard(),
                Width::Mhz20,
                1,
                rate.index(),
                GuardInterval::Ns800,
            );
            assert_eq!(again, Ok(TxRate::legacy(rate)));
            assert_eq!(TxRate::legacy(rate).rate(), rate.rate());
        }
        for wrong in ["dsss/6", "ofdm/11", "ofdm", "ht/6", "ofdm/NaN", "dsss/"] {
            assert_eq!(
                wrong.parse::<LegacyRate>(),
                Err(UnknownLegacyRate),
                "{wrong}"
            );
        }
        let ordered: Vec<_> = LegacyRate::OFDM.map(LegacyRate::mbps).to_vec();
        assert!(ordered.is_sorted());
    }

    #[test]
    fn legacy_rates_have_no_other_width_streams_or_guard_interval() {
        let shape = |width, nss, gi| TxRate::new(Standard::Ofdm, width, nss, 0, gi).unwrap_err();
        let refused = RateError::Legacy {
            standard: Standard::Ofdm,
        };
        assert_eq!(shape(Width::Mhz40, 1, GuardInterval::Ns800), refused);
        assert_eq!(shape(Width::Mhz20, 2, GuardInterval::Ns800), refused);
        assert_eq!(shape(Width::Mhz20, 1, GuardInterval::Ns400), refused);
        let beyond =
            TxRate::new(Standard::Dsss, Width::Mhz20, 1, 4, GuardInterval::Ns800).unwrap_err();
        assert_eq!(beyond.to_string(), "DSSS has MCS 0 to 3, not 4");
    }
}
