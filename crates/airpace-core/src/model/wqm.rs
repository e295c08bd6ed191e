//! Buffer sizes of an 802.11n node (003 §3.2), with the constants of its Table 1.
//!
//! Functions whose names end in `_of` take the number of bits of a data packet (`L_DATA`); the
//! others assume 12,000.

use crate::phy::AmpduLimits;
use core::time::Duration;

/// DIFS 34 µs, mean back-off (15 − 1) · 9/2 = 63 µs, two PHY headers of 33 µs, SIFS 16 µs, block
/// ack 240 bits at 6 Mbit/s.
const EXCHANGE_S: f64 = 63e-6 + 34e-6 + 2.0 * 33e-6 + 16e-6 + 40e-6;
/// MAC overhead of one MPDU (L_MAC).
const MAC_BITS: f64 = 304.0;
/// Data packet (L_DATA).
const DATA_BITS: f64 = 12_000.0;
/// TCP ack (L_TCP-ACK).
const ACK_BITS: f64 = 320.0;
/// Limits of an HT A-MPDU: MPDUs, bytes, and the frame duration of ath9k.
pub const AMPDU: AmpduLimits = AmpduLimits {
    window: 64,
    bytes: 65_535,
    duration: Duration::from_millis(4),
};

/// The limit on queueing delay that 003 states and uses, in seconds.
pub const PRINTED_LIMIT_S: f64 = 2.5e-3;
/// B_max as stated in 003, in packets.
pub const PRINTED_MAX_PACKETS: f64 = 95.0;
/// ARTT of a full A-MPDU at 600 Mbit/s as stated in 003, in seconds.
pub const PRINTED_ARTT_S: f64 = 1.9e-3;

/// Time to send an A-MPDU of `mpdus` data packets and to get its block ack, in seconds (eq. 6).
#[must_use]
pub fn frame_s(rate_bps: f64, mpdus: f64, data_bits: f64) -> f64 {
    EXCHANGE_S + mpdus * (MAC_BITS + data_bits) / rate_bps
}

/// Time to send an A-MPDU of `mpdus` data packets and the A-MPDU of half as many TCP acks that
/// answers it, in seconds (ARTT, eq. 6 and 7).
#[must_use]
pub fn artt_s(rate_bps: f64, mpdus: f64) -> f64 {
    artt_s_of(rate_bps, mpdus, DATA_BITS)
}

/// [`artt_s`] with packets of `data_bits`.
#[must_use]
pub fn artt_s_of(rate_bps: f64, mpdus: f64, data_bits: f64) -> f64 {
    frame_s(rate_bps, mpdus, data_bits) + frame_s(rate_bps, mpdus / 2.0, ACK_BITS)
}

/// Throughput in bit/s if frames of `mpdus` data packets follow each other.
#[must_use]
pub fn goodput_bps(rate_bps: f64, mpdus: f64, data_bits: f64) -> f64 {
    mpdus * data_bits / frame_s(rate_bps, mpdus, data_bits)
}

/// The largest buffer in packets: rate times ARTT (B_max, eq. 5), rounded down.
#[must_use]
pub fn max_packets(rate_bps: f64, mpdus: f64) -> f64 {
    max_packets_of(rate_bps, mpdus, DATA_BITS)
}

/// [`max_packets`] with packets of `data_bits`.
#[must_use]
pub fn max_packets_of(rate_bps: f64, mpdus: f64, data_bits: f64) -> f64 {
    (rate_bps / data_bits * artt_s_of(rate_bps, mpdus, data_bits)).floor()
}

/// The smallest buffer in packets (B_min): the longest A-MPDU at this rate, limited in MPDUs, bytes
/// and the 4 ms of ath9k.
#[must_use]
pub fn min_packets(rate_bps: f64) -> f64 {
    min_packets_of(rate_bps, &AMPDU, DATA_BITS)
}

/// [`min_packets`] with packets of `data_bits` and A-MPDUs within `limits`.
#[must_use]
pub fn min_packets_of(rate_bps: f64, limits: &AmpduLimits, data_bits: f64) -> f64 {
    let packet_bits = MAC_BITS + data_bits;
    let by_bytes = 8.0 * f64::from(limits.bytes) / packet_bits;
    let by_time = limits.duration.as_secs_f64() * rate_bps / packet_bits;
    by_bytes
        .min(by_time)
        .min(f64::from(limits.window))
        .floor()
        .max(1.0)
}

/// The initial buffer in packets: rate times the ARTT of one A-MPDU (B_initial, eq. 1), at least
/// B_min.
#[must_use]
pub fn initial_packets(rate_bps: f64) -> f64 {
    let longest = min_packets(rate_bps);
    max_packets(rate_bps, longest).max(longest)
}

/// The smallest useful limit on queueing delay in seconds: the time for one packet and its ack at
/// the lowest rate (eq. 6 and 7 with K = 1).
#[must_use]
pub fn least_limit_s(lowest_rate_bps: f64) -> f64 {
    artt_s(lowest_rate_bps, 1.0)
}

/// Drain time of a backlog in seconds if the channel is free for the share `free` of the time (eq.
/// 2); `None` if it is never free.
#[must_use]
pub fn drain_s(backlog_bits: f64, rate_bps: f64, free: f64) -> Option<f64> {
    (rate_bps > 0.0 && free > 0.0).then(|| backlog_bits / rate_bps / free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formulas_give_less_than_the_paper_prints() {
        assert!((artt_s(600e6, 64.0) - 1.784e-3).abs() < 0.5e-6);
        assert_eq!(max_packets(600e6, 64.0), 89.0);
        assert!((least_limit_s(6.5e6) - 2.379e-3).abs() < 0.5e-6);
        assert!(PRINTED_ARTT_S > artt_s(600e6, 64.0) && PRINTED_MAX_PACKETS > 89.0);
    }

    #[test]
    fn the_smallest_buffer_is_the_longest_aggregate() {
        // 42 packets by 65 535 bytes; 23 and 2 by 4 ms (ath9k sends single packets at 6.5 Mbit/s,
        // though two would fit).
        assert_eq!(min_packets(600e6), 42.0);
        assert_eq!(min_packets(72.2e6), 23.0);
        assert_eq!(min_packets(6.5e6), 2.0);
        assert_eq!(min_packets(1e6), 1.0);
    }

    #[test]
    fn the_first_buffer_lies_between_the_bounds() {
        for rate in [1e6, 6.5e6, 65e6, 144.4e6, 600e6] {
            let first = initial_packets(rate);
            assert!(
                first >= min_packets(rate)
                    && first <= max_packets(rate, 64.0).max(min_packets(rate)),
                "{rate}"
            );
        }
    }

    #[test]
    fn a_queue_drains_more_slowly_on_a_busy_channel() {
        assert_eq!(drain_s(1e6, 1e8, 0.5), Some(0.02));
        assert_eq!(drain_s(1e6, 1e8, 0.0), None);
        assert_eq!(drain_s(1e6, 0.0, 1.0), None);
    }
}
