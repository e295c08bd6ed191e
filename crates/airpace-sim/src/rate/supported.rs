//! The rates that a station supports.

use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};

const WIDTHS: [Width; 4] = [Width::Mhz20, Width::Mhz40, Width::Mhz80, Width::Mhz160];
const GUARD_INTERVALS: [GuardInterval; 4] = [
    GuardInterval::Ns3200,
    GuardInterval::Ns1600,
    GuardInterval::Ns800,
    GuardInterval::Ns400,
];
/// Most spatial streams of any PHY (clauses 21.5 and 27.5).
const MAX_STREAMS: u8 = 8;
/// HT has MCS 0 to 31, the others fewer.
const MAX_MCS: u8 = 31;

/// Every rate of `standard` at which a station with these capabilities can receive: channels up to
/// `width`, up to `streams` spatial streams, and guard intervals of `shortest` or longer.
/// Combinations that the standard excludes are left out. DSSS and OFDM rates always have 20 MHz,
/// one stream and 800 ns.
///
/// ```
/// use airpace_core::phy::{GuardInterval, Standard, Width};
/// use airpace_sim::rate::rates_up_to;
///
/// // MCS 0 to 9 at 80 and 40 MHz, and 0 to 8 at 20 MHz, where VHT excludes MCS 9.
/// assert_eq!(rates_up_to(Standard::Vht, Width::Mhz80, 1, GuardInterval::Ns800).len(), 29);
/// ```
#[must_use]
pub fn rates_up_to(
    standard: Standard,
    width: Width,
    streams: u8,
    shortest: GuardInterval,
) -> Vec<TxRate> {
    let mut rates = Vec::new();
    for w in WIDTHS.into_iter().filter(|&w| w <= width) {
        for gi in GUARD_INTERVALS.into_iter().filter(|&gi| gi >= shortest) {
            for nss in 1..=streams.min(MAX_STREAMS) {
                // `TxRate::new` refuses what the standard excludes.
                rates.extend(
                    (0..=MAX_MCS).filter_map(|mcs| TxRate::new(standard, w, nss, mcs, gi).ok()),
                );
            }
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_keep_to_the_capabilities_of_the_station() {
        let ht = rates_up_to(Standard::Ht, Width::Mhz20, 2, GuardInterval::Ns400);
        assert_eq!(ht.len(), 2 * 2 * 8);
        assert!(
            ht.iter()
                .all(|rate| rate.nss() <= 2 && rate.width() == Width::Mhz20)
        );
        let he = rates_up_to(Standard::He, Width::Mhz40, 1, GuardInterval::Ns1600);
        assert_eq!(he.len(), 2 * 2 * 12);
        assert!(he.iter().all(|rate| rate.gi() >= GuardInterval::Ns1600));
        let legacy = [Standard::Dsss, Standard::Ofdm]
            .map(|standard| rates_up_to(standard, Width::Mhz80, 4, GuardInterval::Ns400).len());
        assert_eq!(legacy, [4, 8]);
        assert!(rates_up_to(Standard::Vht, Width::Mhz160, 0, GuardInterval::Ns400).is_empty());
    }
}
