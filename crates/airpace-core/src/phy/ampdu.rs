use super::params::{Standard, Timing};
use super::rate::TxRate;
use core::time::Duration;

/// LLC/SNAP header in front of an IP packet (802.2).
pub const LLC_BYTES: u32 = 8;
/// MAC header of a QoS data frame with three addresses: 24 bytes and QoS Control (9.3.2.1).
pub const QOS_HEADER_BYTES: u32 = 26;
/// Frame check sequence (9.2.4.8).
pub const FCS_BYTES: u32 = 4;
/// The longest QoS data frame without A-MSDU: an MSDU of 2304 bytes (table 9-25), header and FCS.
const LEGACY_MPDU_BYTES: u32 = 2_304 + QOS_HEADER_BYTES + FCS_BYTES;
/// MPDU delimiter in front of each subframe of an A-MPDU (9.7.1).
pub const DELIMITER_BYTES: u32 = 4;
/// Ack frame with its FCS (9.3.1.4).
pub const ACK_BYTES: u32 = 14;
/// Compressed BlockAck with a bitmap of 64 MPDUs, with its FCS (9.3.1.8.2).
pub const BLOCK_ACK_BYTES: u32 = 32;
/// Compressed BlockAck with a bitmap of 256 MPDUs, with its FCS (802.11ax-2021, 9.3.1.8.2). HE uses
/// it where the smaller bitmap does not suffice.
pub const BLOCK_ACK_256_BYTES: u32 = 56;

/// The MPDU that carries an IP packet of `msdu_ip_bytes`: LLC/SNAP, QoS header and FCS added, no
/// encryption header.
#[must_use]
pub const fn mpdu_bytes(msdu_ip_bytes: u32) -> u32 {
    msdu_ip_bytes.saturating_add(LLC_BYTES + QOS_HEADER_BYTES + FCS_BYTES)
}

/// The A-MPDU subframe that carries an MPDU: delimiter before it, padding to 4 bytes after it. The
/// last subframe of an A-MPDU has no padding.
#[must_use]
pub const fn subframe_bytes(mpdu: u32) -> u32 {
    mpdu.saturating_add(DELIMITER_BYTES + 3) & !3
}

/// An A-MPDU of `mpdus` equal MPDUs: subframes, the last without padding.
#[must_use]
pub const fn ampdu_bytes(mpdus: u32, mpdu: u32) -> u32 {
    if mpdus == 0 {
        return 0;
    }
    let last = mpdu.saturating_add(DELIMITER_BYTES);
    subframe_bytes(mpdu)
        .saturating_mul(mpdus - 1)
        .saturating_add(last)
}

/// The PSDU of a frame of `mpdus` equal MPDUs. DSSS, OFDM and HT send a single MPDU as it is; a VHT
/// or HE PSDU is always an A-MPDU, with one MPDU too (S-MPDU, 9.7.1, 10.12.7).
#[must_use]
pub const fn psdu_bytes(standard: Standard, mpdus: u32, mpdu: u32) -> u32 {
    match (standard, mpdus) {
        (Standard::Dsss | Standard::Ofdm | Standard::Ht, 1) => mpdu,
        _ => ampdu_bytes(mpdus, mpdu),
    }
}

/// The limits of an A-MPDU. A transmitter respects the limits that its receiver announces; these
/// are the largest of the standard.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AmpduLimits {
    /// Number of MPDUs that one block ack covers.
    pub window: u16,
    /// Bytes of the A-MPDU.
    pub bytes: u32,
    /// Duration of the PPDU.
    pub duration: Duration,
}

impl AmpduLimits {
    /// The limits of `standard`; DSSS and OFDM have no A-MPDU, so their window is one MPDU.
    #[must_use]
    pub const fn of(standard: Standard) -> Self {
        // aPPDUMaxTime is 5.484 ms in tables 19-25, 21-29 and 27-54; it is what L-SIG can announce.
        let duration = Duration::from_micros(5_484);
        match standard {
            // No A-MPDU. The LENGTH field of 16 bits counts µs (16.2.3.5).
            Standard::Dsss => Self {
                window: 1,
                bytes: LEGACY_MPDU_BYTES,
                duration: Duration::from_micros(65_535),
            },
            Standard::Ofdm => Self {
                window: 1,
                bytes: LEGACY_MPDU_BYTES,
                duration,
            },
            // Maximum A-MPDU Length Exponent 3: 2^16 − 1 (9.4.2.55.3).
            Standard::Ht => Self {
                window: 64,
                bytes: 65_535,
                duration,
            },
            // Maximum A-MPDU Length Exponent 7: 2^20 − 1 (9.4.2.157.2).
            Standard::Vht => Self {
                window: 64,
                bytes: 1_048_575,
                duration,
            },
            // Extension 3 would allow 2^23 − 1; the PSDU ends at 6 500 631 bytes (aPSDUMaxLength,
            // table 27-54; 9.4.2.248.2).
            Standard::He => Self {
                window: 256,
                bytes: 6_500_631,
                duration,
            },
        }
    }
}

/// The most MPDUs of `mpdu` bytes that one frame carries at `rate`: window, bytes and duration all
/// kept. Zero if not even one fits the duration.
#[must_use]
pub fn max_mpdus(rate: TxRate, mpdu: u32, limits: AmpduLimits, timing: Timing) -> u32 {
    let bytes = limits.bytes.min(rate.max_psdu(limits.duration, timing));
    let last = mpdu.saturating_add(DELIMITER_BYTES);
    match bytes.checked_sub(last) {
        Some(rest) => (1 + rest / subframe_bytes(mpdu)).min(u32::from(limits.window)),
        None => u32::from(psdu_bytes(rate.standard(), 1, mpdu) <= bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{GuardInterval, Width};

    #[test]
    fn overheads_of_the_reference_packet() {
        // 1470 bytes of UDP payload, as in the ns-3 runs: IP 1498, MPDU 1536, subframe 1540.
        assert_eq!(mpdu_bytes(1_498), 1_536);
        assert_eq!(subframe_bytes(1_536), 1_540);
        assert_eq!(subframe_bytes(1_538), 1_544);
        assert_eq!(ampdu_bytes(2, 1_538), 1_544 + 1_542);
        assert_eq!(ampdu_bytes(0, 1_538), 0);
        assert_eq!(psdu_bytes(Standard::Ht, 1, 1_538), 1_538);
        assert_eq!(psdu_bytes(Standard::Vht, 1, 1_538), 1_542);
    }

    #[test]
    fn each_limit_binds_somewhere() {
        let most = |standard, width, nss, mcs, gi| {
            let rate = TxRate::new(standard, width, nss, mcs, gi).unwrap();
            max_mpdus(rate, 1_538, AmpduLimits::of(standard), Timing::Ns3)
        };
        assert_eq!(
            most(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800),
            64
        );
        // As ns-3 sends them: 42 by bytes, 3 by duration.
        assert_eq!(
            most(Standard::Ht, Width::Mhz20, 2, 15, GuardInterval::Ns400),
            42
        );
        assert_eq!(
            most(Standard::Ht, Width::Mhz20, 1, 0, GuardInterval::Ns400),
            3
        );
        assert_eq!(
            most(Standard::He, Width::Mhz160, 2, 11, GuardInterval::Ns800),
            256
        );
    }

    #[test]
    fn the_most_mpdus_fit_and_one_more_does_not() {
        let limits = AmpduLimits {
            duration: Duration::from_millis(4),
            ..AmpduLimits::of(Standard::Vht)
        };
        for mcs in 0..=9 {
            let rate =
                TxRate::new(Standard::Vht, Width::Mhz40, 1, mcs, GuardInterval::Ns800).unwrap();
            for mpdu in [60, 1_536, 1_538, 11_454] {
                let most = max_mpdus(rate, mpdu, limits, Timing::Standard);
                let lasts = |n| rate.ppdu_duration(ampdu_bytes(n, mpdu), Timing::Standard);
                assert!(most == 0 || lasts(most) <= limits.duration);
                assert!(
                    most == 64 || lasts(most + 1) > limits.duration,
                    "{rate} {mpdu}"
                );
            }
        }
    }

    #[test]
    fn the_byte_limit_of_ht_holds_42_reference_packets() {
        let limit = AmpduLimits::of(Standard::Ht).bytes;
        assert!(ampdu_bytes(42, 1_538) <= limit && ampdu_bytes(43, 1_538) > limit);
    }
}
