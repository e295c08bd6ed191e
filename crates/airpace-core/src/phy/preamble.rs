use super::params::{DsssPreamble, GuardInterval, Standard, Timing};
use super::rate::TxRate;
use core::time::Duration;

/// A field of the preamble, or a run of equal ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PreambleField {
    /// The name in the standard, for example `VHT-LTF`.
    pub name: &'static str,
    /// Number of consecutive fields.
    pub count: u8,
    /// Duration of all of them.
    pub duration: Duration,
}

/// L-STF 8 µs, L-LTF 8 µs, L-SIG 4 µs (19.3.2, 21.3.2, 27.3.4).
const LEGACY_NS: u64 = 20_000;
/// HT-SIG, VHT-SIG-A and HE-SIG-A take two symbols of 4 µs.
const SIG_NS: u64 = 8_000;
/// HT-STF, VHT-STF, HE-STF, one HT-LTF, one VHT-LTF, VHT-SIG-B and RL-SIG take 4 µs each.
const FIELD_NS: u64 = 4_000;

impl TxRate {
    /// Everything before the first data symbol.
    #[must_use]
    pub fn preamble(self, timing: Timing) -> Duration {
        Duration::from_nanos(self.preamble_ns(timing))
    }

    /// The fields of the preamble in the order of transmission.
    #[must_use]
    pub fn preamble_fields(self, timing: Timing) -> Vec<PreambleField> {
        let one = |name, ns| PreambleField {
            name,
            count: 1,
            duration: Duration::from_nanos(ns),
        };
        let ltf = |name| PreambleField {
            name,
            count: self.training_fields(),
            duration: Duration::from_nanos(
                u64::from(self.training_fields()) * self.training_field_ns(),
            ),
        };
        if self.standard() == Standard::Dsss {
            let (sync, header) = self.dsss_fields_ns();
            return vec![one("PLCP preamble", sync), one("PLCP header", header)];
        }
        let legacy = [
            one("L-STF", 8_000),
            one("L-LTF", 8_000),
            one("L-SIG", FIELD_NS),
        ];
        let mut fields = legacy.to_vec();
        match self.standard() {
            Standard::Dsss | Standard::Ofdm => {}
            Standard::Ht => fields.extend([
                one("HT-SIG", SIG_NS),
                one("HT-STF", FIELD_NS),
                ltf("HT-LTF"),
            ]),
            Standard::Vht => {
                fields.extend([
                    one("VHT-SIG-A", SIG_NS),
                    one("VHT-STF", FIELD_NS),
                    ltf("VHT-LTF"),
                ]);
                fields.extend((timing == Timing::Standard).then(|| one("VHT-SIG-B", FIELD_NS)));
            }
            Standard::He => {
                let signals = [one("RL-SIG", FIELD_NS), one("HE-SIG-A", SIG_NS)];
                fields.extend(signals);
                fields.extend([one("HE-STF", FIELD_NS), ltf("HE-LTF")]);
            }
        }
        fields
    }

    /// The sum of [`TxRate::preamble_fields`] without building the list, because the MAC needs it
    /// for each frame.
    pub(super) fn preamble_ns(self, timing: Timing) -> u64 {
        let fields = match (self.standard(), timing) {
            (Standard::Dsss, _) => {
                let (sync, header) = self.dsss_fields_ns();
                return sync + header;
            }
            (Standard::Ofdm, _) => return LEGACY_NS,
            // HT-STF or VHT-STF.
            (Standard::Ht, _) | (Standard::Vht, Timing::Ns3) => FIELD_NS,
            // VHT-STF and VHT-SIG-B; RL-SIG and HE-STF.
            (Standard::Vht, Timing::Standard) | (Standard::He, _) => 2 * FIELD_NS,
        };
        LEGACY_NS + SIG_NS + fields + u64::from(self.training_fields()) * self.training_field_ns()
    }

    /// PLCP preamble and header of DSSS (16.2.2).
    fn dsss_fields_ns(self) -> (u64, u64) {
        match self.dsss_preamble() {
            DsssPreamble::Long => (144_000, 48_000),
            DsssPreamble::Short => (72_000, 24_000),
        }
    }

    /// Long training fields (N_LTF) for this number of streams, by the same rule in all three PHYs
    /// (19.3.9.4.6, 21.3.8.3.5, 27.3.11.10).
    fn training_fields(self) -> u8 {
        match self.nss() {
            1 => 1,
            2 => 2,
            3 | 4 => 4,
            5 | 6 => 6,
            _ => 8,
        }
    }

    /// One long training field. HE here uses the 2x field (6.4 µs) with the guard intervals 800 and
    /// 1600 ns and the 4x field (12.8 µs) with 3200 ns, each after its guard interval: the
    /// combinations that every HE device must support (27.3.11.10).
    fn training_field_ns(self) -> u64 {
        match (self.standard(), self.gi()) {
            (Standard::He, GuardInterval::Ns3200) => 12_800 + 3_200,
            (Standard::He, gi) => 6_400 + u64::from(gi.nanos()),
            _ => FIELD_NS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::Width;

    #[test]
    fn fields_add_up_to_the_preamble() {
        for (standard, mcs) in [(Standard::Ht, 0), (Standard::Vht, 0), (Standard::He, 11)] {
            for nss in 1..=if standard == Standard::Ht { 4 } else { 8 } {
                let mcs = if standard == Standard::Ht {
                    8 * (nss - 1)
                } else {
                    mcs
                };
                let rate =
                    TxRate::new(standard, Width::Mhz40, nss, mcs, GuardInterval::Ns800).unwrap();
                for timing in [Timing::Standard, Timing::Ns3] {
                    let sum: Duration = rate
                        .preamble_fields(timing)
                        .iter()
                        .map(|f| f.duration)
                        .sum();
                    assert_eq!(sum, rate.preamble(timing), "{rate} {timing:?}");
                }
            }
        }
    }

    #[test]
    fn preambles_grow_with_the_streams() {
        let micros = |standard, nss, gi| {
            let mcs = if standard == Standard::Ht {
                8 * (nss - 1)
            } else {
                0
            };
            let rate = TxRate::new(standard, Width::Mhz20, nss, mcs, gi).unwrap();
            rate.preamble(Timing::Standard).as_nanos() as f64 / 1e3
        };
        let by_streams = |standard, gi| [1, 2, 3, 4].map(|nss| micros(standard, nss, gi));
        // HT-mixed: 32 µs and 4 µs per HT-LTF. VHT: 36 µs with VHT-SIG-B, and 4 µs per VHT-LTF.
        assert_eq!(
            by_streams(Standard::Ht, GuardInterval::Ns400),
            [36.0, 40.0, 48.0, 48.0]
        );
        assert_eq!(
            by_streams(Standard::Vht, GuardInterval::Ns800),
            [40.0, 44.0, 52.0, 52.0]
        );
        // HE: 36 µs, and 7.2, 8 or 16 µs per HE-LTF.
        assert_eq!(
            by_streams(Standard::He, GuardInterval::Ns800),
            [43.2, 50.4, 64.8, 64.8]
        );
        assert_eq!(micros(Standard::He, 1, GuardInterval::Ns1600), 44.0);
        assert_eq!(
            micros(Standard::He, 8, GuardInterval::Ns3200),
            36.0 + 8.0 * 16.0
        );
    }
}
