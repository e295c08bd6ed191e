//! The performance anomaly: throughput of stations of different rates with and without airtime
//! fairness (004 §2.2.1).
//!
//! The constants are those printed in 004, so that the model reproduces its Table 1. [`crate::phy`]
//! follows the standard instead; there a block ack, for example, is sent at a legacy rate and not
//! at the data rate.

/// The frame that the access point sends to one station in each turn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Aggregate {
    /// Mean packets per frame (n), a measured input.
    pub packets: f64,
    /// Bytes of a packet (l).
    pub packet_bytes: f64,
    /// PHY rate in bit/s (r).
    pub phy_rate_bps: f64,
}

/// One station's share.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share {
    /// Share of the airtime, 0 to 1 (T(i)).
    pub airtime: f64,
    /// Rate if it were alone, in bit/s (R).
    pub base_bps: f64,
    /// Rate in bit/s (R(i)).
    pub rate_bps: f64,
}

/// PHY header (T_phy).
const PHY_HEADER_S: f64 = 32e-6;
/// DIFS, SIFS and mean back-off (T_DIFS, T_SIFS, T_BO).
const ACCESS_S: f64 = 34e-6 + 16e-6 + 68e-6;
/// SIFS before the block ack. 004 counts it in T_ack as well as in T_oh.
const SIFS_S: f64 = 16e-6;
/// Bytes of the block ack with its PHY header.
const BLOCK_ACK_BYTES: f64 = 58.0;

impl Aggregate {
    /// Bytes on the air (L). Each packet adds a delimiter of 4, a MAC header of 34, an FCS of 4 and
    /// padding to 4 bytes.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        let padded = ((self.packet_bytes + 4.0 + 34.0 + 4.0) / 4.0).ceil() * 4.0;
        self.packets * padded
    }

    /// Duration of the data frame in seconds (T_data).
    #[must_use]
    pub fn data_s(&self) -> f64 {
        PHY_HEADER_S + 8.0 * self.bytes() / self.phy_rate_bps
    }

    /// Overhead of a transmission in seconds (T_oh).
    #[must_use]
    pub fn overhead_s(&self) -> f64 {
        ACCESS_S + SIFS_S + 8.0 * BLOCK_ACK_BYTES / self.phy_rate_bps
    }

    /// Rate of the station if it were alone, in bit/s (R).
    #[must_use]
    pub fn base_bps(&self) -> f64 {
        8.0 * self.packets * self.packet_bytes / (self.data_s() + self.overhead_s())
    }
}

/// The stations' shares when each is sent one aggregate in turn, or when all get the same airtime
/// (`fair`).
#[must_use]
pub fn shares(aggregates: &[Aggregate], fair: bool) -> Vec<Share> {
    let total: f64 = aggregates.iter().map(Aggregate::data_s).sum();
    let share = |aggregate: &Aggregate| {
        let airtime = if fair {
            1.0 / aggregates.len() as f64
        } else {
            aggregate.data_s() / total
        };
        let base_bps = aggregate.base_bps();
        Share {
            airtime,
            base_bps,
            rate_bps: airtime * base_bps,
        }
    };
    aggregates.iter().map(share).collect()
}

/// Largest number of packets of `packet_bytes` in a frame of at most `limit_s` (4 ms in ath9k); at
/// least one.
#[must_use]
pub fn packets_within(packet_bytes: f64, phy_rate_bps: f64, limit_s: f64) -> f64 {
    let one = Aggregate {
        packets: 1.0,
        packet_bytes,
        phy_rate_bps,
    };
    ((limit_s - PHY_HEADER_S) * phy_rate_bps / (8.0 * one.bytes()))
        .floor()
        .max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 1: packets per frame, PHY Mbit/s, airtime in %, base rate and rate in Mbit/s as
    /// printed.
    type Row = (f64, f64, f64, f64, f64);
    const FIFO: [Row; 3] = [
        (4.47, 144.4, 10.0, 97.3, 9.7),
        (5.08, 144.4, 11.0, 101.1, 11.4),
        (1.89, 7.2, 79.0, 6.5, 5.1),
    ];
    const FAIR: [Row; 3] = [
        (18.44, 144.4, 33.0, 126.7, 42.2),
        (18.52, 144.4, 33.0, 126.8, 42.3),
        (1.89, 7.2, 33.0, 6.5, 2.2),
    ];

    fn table(rows: &[Row], fair: bool) -> Vec<Share> {
        let aggregate = |row: &Row| Aggregate {
            packets: row.0,
            packet_bytes: 1_500.0,
            phy_rate_bps: row.1 * 1e6,
        };
        shares(&rows.iter().map(aggregate).collect::<Vec<_>>(), fair)
    }

    #[test]
    fn table_1_is_reproduced_within_rounding() {
        for (rows, fair) in [(FIFO, false), (FAIR, true)] {
            for (share, row) in table(&rows, fair).iter().zip(rows) {
                assert!((share.airtime * 100.0 - row.2).abs() < 0.8, "{share:?}");
                assert!((share.base_bps / 1e6 - row.3).abs() <= 0.15, "{share:?}");
                assert!((share.rate_bps / 1e6 - row.4).abs() <= 0.2, "{share:?}");
            }
        }
    }

    #[test]
    fn base_rates_agree_to_the_last_digit() {
        let base = |rows, fair| -> Vec<f64> {
            table(rows, fair)
                .iter()
                .map(|s| (s.base_bps / 1e5).round() / 10.0)
                .collect()
        };
        assert_eq!(base(&FIFO, false), [97.2, 101.0, 6.5]);
        assert_eq!(base(&FAIR, true), [126.7, 126.7, 6.5]);
    }

    #[test]
    fn the_slow_station_is_held_to_two_packets_by_the_duration_limit() {
        // 1.89 packets per frame were measured at 7.2 Mbit/s: two full-sized ones fit 4 ms, three
        // do not.
        assert_eq!(packets_within(1_500.0, 7.2e6, 4e-3), 2.0);
        assert_eq!(packets_within(1_500.0, 1e6, 4e-3), 1.0);
    }
}
