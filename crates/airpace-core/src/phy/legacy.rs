use super::TxRate;
use super::rate::constellation;
use airpace_units::BitRate;
use core::fmt;
use core::time::Duration;

/// A rate of the OFDM PHY in 20 MHz (clause 17), which control frames use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LegacyRate {
    /// 6 Mbit/s, BPSK 1/2; in the basic set.
    Mbps6,
    /// 9 Mbit/s, BPSK 3/4.
    Mbps9,
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

impl LegacyRate {
    /// All rates, slowest first.
    pub const ALL: [Self; 8] =
        [Self::Mbps6, Self::Mbps9, Self::Mbps12, Self::Mbps18, Self::Mbps24, Self::Mbps36, Self::Mbps48, Self::Mbps54];

    /// The rate in Mbit/s.
    #[must_use]
    pub const fn mbps(self) -> u32 {
        match self {
            Self::Mbps6 => 6,
            Self::Mbps9 => 9,
            Self::Mbps12 => 12,
            Self::Mbps18 => 18,
            Self::Mbps24 => 24,
            Self::Mbps36 => 36,
            Self::Mbps48 => 48,
            Self::Mbps54 => 54,
        }
    }

    /// The rate.
    #[must_use]
    pub const fn rate(self) -> BitRate {
        BitRate::from_mbps(self.mbps() as u64)
    }

    /// Duration of a PPDU with `psdu_bytes`: 20 µs of preamble and SIGNAL, then 4 µs symbols of SERVICE, PSDU and tail (eq. 17-29).
    #[must_use]
    pub fn duration(self, psdu_bytes: u32) -> Duration {
        let bits_per_symbol = u64::from(self.mbps() * 4);
        let bits = 16 + 8 * u64::from(psdu_bytes) + 6;
        Duration::from_micros(20 + 4 * bits.div_ceil(bits_per_symbol))
    }
}

impl fmt::Display for LegacyRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mbit/s", self.mbps())
    }
}

/// The rate of the ack or block ack that answers `data`: the highest of the basic set 6, 12, 24 Mbit/s that is not above the
/// non-HT reference rate of the data's constellation and code (10.6.6.5.2, 10.6.11 table 10-10), not its data rate.
///
/// So every MCS 0 is answered at 6 Mbit/s however wide the channel is, QPSK at 12 and everything from 16-QAM on at 24.
#[must_use]
pub fn control_rate(data: TxRate) -> LegacyRate {
    match constellation(data.standard(), data.mcs()) {
        0 => LegacyRate::Mbps6,
        // QPSK 1/2 refers to 12 Mbit/s and QPSK 3/4 to 18, below the next basic rate.
        1 | 2 => LegacyRate::Mbps12,
        _ => LegacyRate::Mbps24,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{ACK_BYTES, BLOCK_ACK_BYTES, GuardInterval, Standard, Width};

    #[test]
    fn control_frames_last_what_ns3_measured() {
        let micros = |rate: LegacyRate, bytes| rate.duration(bytes).as_micros();
        assert_eq!(micros(LegacyRate::Mbps24, ACK_BYTES), 28);
        assert_eq!(micros(LegacyRate::Mbps6, ACK_BYTES), 44);
        assert_eq!(micros(LegacyRate::Mbps24, BLOCK_ACK_BYTES), 32);
        assert_eq!(micros(LegacyRate::Mbps6, BLOCK_ACK_BYTES), 68);
    }

    #[test]
    fn responses_follow_the_constellation() {
        let rates = [0, 1, 2, 3, 9].map(|mcs| {
            let data = TxRate::new(Standard::Vht, Width::Mhz80, 1, mcs, GuardInterval::Ns800).unwrap();
            control_rate(data).mbps()
        });
        assert_eq!(rates, [6, 12, 12, 24, 24]);
        let ht = TxRate::new(Standard::Ht, Width::Mhz20, 2, 8, GuardInterval::Ns400).unwrap();
        assert_eq!(control_rate(ht), LegacyRate::Mbps6);
    }
}
