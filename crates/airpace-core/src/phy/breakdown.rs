use super::{
    ACK_BYTES, AccessCategory, AmpduLimits, BLOCK_ACK_256_BYTES, BLOCK_ACK_BYTES, DELIMITER_BYTES,
    FCS_BYTES, LLC_BYTES, LegacyRate, Medium, PreambleField, QOS_HEADER_BYTES, Standard, Timing,
    TxRate, control_rate, mpdu_bytes, psdu_bytes, subframe_bytes,
};
use crate::wire::ip::IPV4_UDP_HEADER_BYTES;
use airpace_units::BitRate;
use core::time::Duration;
use thiserror::Error;

/// The longest MSDU, which is LLC/SNAP and IP packet (9.2.4.8: 2304 bytes).
const MAX_MSDU_BYTES: u32 = 2_304;

/// The parts of one saturated frame exchange: channel access, data PPDU, SIFS, response.
#[derive(Clone, PartialEq, Debug)]
pub struct Breakdown {
    /// The data rate.
    pub rate: TxRate,
    /// MPDUs in the frame.
    pub mpdus: u32,
    /// The parts of one MPDU.
    pub mpdu: MpduBytes,
    /// Length of the PSDU, that is, of all subframes.
    pub psdu_bytes: u32,
    /// Fields of the preamble in the order of transmission.
    pub preamble: Vec<PreambleField>,
    /// Data symbols.
    pub symbols: u32,
    /// Time from the last symbol to the end of the PPDU (with the short guard interval, PPDUs are
    /// padded to multiples of 4 µs).
    pub symbol_padding: Duration,
    /// The data PPDU, preamble included, signal extension not.
    pub ppdu: Duration,
    /// Signal extension of the data PPDU at 2.4 GHz; the response has its own.
    pub signal_extension: Duration,
    /// Between the data and its response.
    pub sifs: Duration,
    /// Idle time before back-off.
    pub aifs: Duration,
    /// Mean back-off of a first try.
    pub mean_backoff: Duration,
    /// The ack or block ack.
    pub response: Response,
    /// The whole exchange: access, PPDU, SIFS and response, signal extensions included.
    pub cycle: Duration,
    /// UDP payload per second if exchanges follow each other.
    pub goodput: BitRate,
    /// Goodput over PHY rate, 0 to 1.
    pub efficiency: f64,
}

/// Bytes of one MPDU of an A-MPDU; the last one of the frame has no padding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MpduBytes {
    /// UDP payload.
    pub payload: u32,
    /// IPv4 and UDP headers.
    pub ip_udp: u32,
    /// LLC/SNAP header.
    pub llc: u32,
    /// QoS data header.
    pub header: u32,
    /// Frame check sequence.
    pub fcs: u32,
    /// MPDU delimiter; none if a single MPDU is sent outside an A-MPDU.
    pub delimiter: u32,
    /// Padding to 4 bytes.
    pub padding: u32,
}

/// The response to the data after SIFS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Response {
    /// Whether it is a block ack (more than one MPDU) or an ack.
    pub block: bool,
    /// Its rate.
    pub rate: LegacyRate,
    /// Its length.
    pub bytes: u32,
    /// Its duration, without the signal extension of 2.4 GHz.
    pub duration: Duration,
}

/// Why a frame cannot be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum BreakdownError {
    /// A frame has at least one MPDU.
    #[error("a frame has at least one MPDU")]
    NoMpdus,
    /// The payload does not fit an MSDU.
    #[error("{payload} bytes of payload do not fit one MPDU: at most {max}")]
    Payload {
        /// The requested payload.
        payload: u32,
        /// The largest payload.
        max: u32,
    },
    /// More MPDUs than a block ack covers.
    #[error("{mpdus} MPDUs exceed the block-ack window of {standard}: at most {max}")]
    Window {
        /// The requested number of MPDUs.
        mpdus: u32,
        /// The standard.
        standard: Standard,
        /// The window.
        max: u32,
    },
    /// The rate does not exist on the medium.
    #[error("there is no {standard} on {medium}: choose another band")]
    Band {
        /// The requested standard.
        standard: Standard,
        /// The requested medium.
        medium: Medium,
    },
    /// The A-MPDU is too long in bytes or in time.
    #[error(
        "{mpdus} MPDUs exceed the A-MPDU limit in {what}: at most {max} MPDUs of this size at this rate"
    )]
    Length {
        /// The requested number of MPDUs.
        mpdus: u32,
        /// `bytes` or `duration`.
        what: &'static str,
        /// The most MPDUs that fit; zero if not even one does.
        max: u32,
    },
}

impl Breakdown {
    /// The exchange of `mpdus` UDP packets of `payload_bytes` each, sent as `category` by the only,
    /// saturated transmitter: at 2.4 GHz with long slots for DSSS, at 5 GHz otherwise
    /// ([`Medium::of`]).
    ///
    /// # Errors
    /// [`BreakdownError`] if such a frame cannot be sent, with the limit that it exceeds.
    pub fn new(
        rate: TxRate,
        mpdus: u32,
        payload_bytes: u32,
        category: AccessCategory,
        timing: Timing,
    ) -> Result<Self, BreakdownError> {
        Self::on(
            Medium::of(rate.standard()),
            rate,
            mpdus,
            payload_bytes,
            category,
            timing,
        )
    }

    /// Like [`Breakdown::new`], on a given medium: `mpdus` packets of `payload_bytes` each, sent as
    /// `category` with the conventions of `timing`.
    ///
    /// # Errors
    /// [`BreakdownError`] if such a frame cannot be sent, with the limit that it exceeds; also if
    /// `rate` does not exist on `medium`.
    pub fn on(
        medium: Medium,
        rate: TxRate,
        mpdus: u32,
        payload_bytes: u32,
        category: AccessCategory,
        timing: Timing,
    ) -> Result<Self, BreakdownError> {
        if !medium.carries(rate.standard()) {
            return Err(BreakdownError::Band {
                standard: rate.standard(),
                medium,
            });
        }
        let mpdu = MpduBytes::new(rate.standard(), mpdus, payload_bytes)?;
        check_limits(rate, mpdus, mpdu.mpdu(), timing)?;
        let psdu_bytes = psdu_bytes(rate.standard(), mpdus, mpdu.mpdu());
        let ppdu = rate.ppdu_duration(psdu_bytes, timing);
        let preamble = rate.preamble_fields(timing);
        let symbols = rate.symbols(psdu_bytes, timing);
        let response = Response::to(rate, mpdus);
        let edca = medium.edca(category);
        let (aifs, mean_backoff) = (medium.aifs(edca), medium.mean_backoff(edca));
        let extension = medium.signal_extension(rate.standard());
        let answer =
            medium.sifs() + response.duration + medium.signal_extension(response.rate.standard());
        let cycle = aifs + mean_backoff + ppdu + extension + answer;
        let bits = 8.0 * f64::from(mpdus) * f64::from(payload_bytes);
        let goodput = BitRate::from_bps_f64(bits / cycle.as_secs_f64());
        Ok(Self {
            symbol_padding: ppdu - rate.preamble(timing) - rate.symbol() * symbols,
            signal_extension: extension,
            sifs: medium.sifs(),
            aifs,
            mean_backoff,
            efficiency: goodput.as_bps_f64() / rate.rate().as_bps_f64(),
            rate,
            mpdus,
            mpdu,
            psdu_bytes,
            preamble,
            symbols,
            ppdu,
            response,
            cycle,
            goodput,
        })
    }
}

impl MpduBytes {
    fn new(standard: Standard, mpdus: u32, payload: u32) -> Result<Self, BreakdownError> {
        let max = MAX_MSDU_BYTES - LLC_BYTES - IPV4_UDP_HEADER_BYTES;
        if payload > max {
            return Err(BreakdownError::Payload { payload, max });
        }
        if mpdus == 0 {
            return Err(BreakdownError::NoMpdus);
        }
        let mpdu = mpdu_bytes(payload + IPV4_UDP_HEADER_BYTES);
        // Only subframes before the last are padded (9.7.1).
        let padding = if mpdus > 1 {
            subframe_bytes(mpdu) - mpdu - DELIMITER_BYTES
        } else {
            0
        };
        // HT and older send a single MPDU as it is, without A-MPDU.
        let delimiter = if mpdus == 1 && !standard.always_aggregates() {
            0
        } else {
            DELIMITER_BYTES
        };
        Ok(Self {
            payload,
            ip_udp: IPV4_UDP_HEADER_BYTES,
            llc: LLC_BYTES,
            header: QOS_HEADER_BYTES,
            fcs: FCS_BYTES,
            delimiter,
            padding,
        })
    }

    /// The MPDU: from the MAC header to the FCS.
    #[must_use]
    pub const fn mpdu(self) -> u32 {
        self.payload + self.ip_udp + self.llc + self.header + self.fcs
    }
}

impl Response {
    /// The response to a frame of `mpdus` with consecutive sequence numbers sent at `rate`: an ack,
    /// or a block ack with 64 or 256 bits. A DSSS response has the preamble of the data if its rate
    /// allows it.
    #[must_use]
    pub fn to(rate: TxRate, mpdus: u32) -> Self {
        let block = mpdus > 1;
        let bytes = match mpdus {
            0 | 1 => ACK_BYTES,
            2..=64 => BLOCK_ACK_BYTES,
            65.. => BLOCK_ACK_256_BYTES,
        };
        let control = control_rate(rate);
        Self {
            block,
            rate: control,
            bytes,
            duration: control.duration_like(bytes, rate.dsss_preamble()),
        }
    }
}

fn check_limits(rate: TxRate, mpdus: u32, mpdu: u32, timing: Timing) -> Result<(), BreakdownError> {
    let limits = AmpduLimits::of(rate.standard());
    let max = u32::from(limits.window);
    if mpdus > max {
        return Err(BreakdownError::Window {
            mpdus,
            standard: rate.standard(),
            max,
        });
    }
    let by_time = rate.max_psdu(limits.duration, timing);
    for (limit, what) in [(limits.bytes, "bytes"), (by_time, "duration")] {
        let fits = |n: u32| psdu_bytes(rate.standard(), n, mpdu) <= limit;
        if !fits(mpdus) {
            let max = (1..mpdus).rev().find(|&n| fits(n)).unwrap_or(0);
            return Err(BreakdownError::Length { mpdus, what, max });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{GuardInterval, SIFS, Width};

    fn vht80(nss: u8, mcs: u8) -> TxRate {
        TxRate::new(Standard::Vht, Width::Mhz80, nss, mcs, GuardInterval::Ns800).unwrap()
    }

    fn best_effort(rate: TxRate, mpdus: u32, timing: Timing) -> Result<Breakdown, BreakdownError> {
        Breakdown::new(rate, mpdus, 1_470, AccessCategory::BestEffort, timing)
    }

    #[test]
    fn a_full_cycle_lasts_as_long_as_in_ns3() {
        let one = best_effort(vht80(1, 9), 32, Timing::Ns3).unwrap();
        assert_eq!(
            (one.ppdu.as_micros(), one.cycle),
            (1_048, Duration::from_nanos(1_206_500))
        );
        let two = best_effort(vht80(2, 9), 32, Timing::Ns3).unwrap();
        assert_eq!(
            (two.ppdu.as_micros(), two.cycle),
            (548, Duration::from_nanos(706_500))
        );
    }

    #[test]
    fn the_parts_add_up() {
        let sgi = TxRate::new(Standard::Ht, Width::Mhz20, 2, 15, GuardInterval::Ns400).unwrap();
        let all = best_effort(sgi, 40, Timing::Standard).unwrap();
        let preamble: Duration = all.preamble.iter().map(|f| f.duration).sum();
        assert_eq!(
            all.ppdu,
            preamble + sgi.symbol() * all.symbols + all.symbol_padding
        );
        assert_eq!(
            all.cycle,
            all.aifs + all.mean_backoff + all.ppdu + SIFS + all.response.duration
        );
        let subframe = all.mpdu.mpdu() + all.mpdu.delimiter + all.mpdu.padding;
        assert_eq!(all.psdu_bytes, 40 * subframe - all.mpdu.padding);
        assert!(all.efficiency > 0.85 && all.efficiency < 1.0);
    }

    #[test]
    fn one_ht_mpdu_goes_without_delimiter_and_gets_an_ack() {
        let ht = TxRate::new(Standard::Ht, Width::Mhz20, 1, 7, GuardInterval::Ns800).unwrap();
        let single = best_effort(ht, 1, Timing::Standard).unwrap();
        assert_eq!(
            (
                single.mpdu.delimiter,
                single.response.block,
                single.psdu_bytes
            ),
            (0, false, 1_536)
        );
        assert_eq!(
            best_effort(vht80(1, 9), 1, Timing::Standard)
                .unwrap()
                .mpdu
                .delimiter,
            4
        );
    }

    #[test]
    fn more_than_64_mpdus_are_answered_with_the_larger_bitmap() {
        let he = TxRate::new(Standard::He, Width::Mhz80, 1, 11, GuardInterval::Ns800).unwrap();
        let answer = |mpdus| Response::to(he, mpdus);
        assert_eq!(
            (answer(64).bytes, answer(64).duration),
            (32, Duration::from_micros(32))
        );
        // 16 + 448 + 6 bits in symbols of 96 after 20 µs.
        assert_eq!(
            (answer(65).bytes, answer(65).duration),
            (56, Duration::from_micros(40))
        );
    }

    #[test]
    fn frames_that_cannot_be_sent_are_refused_with_the_limit() {
        let error = |rate, mpdus| best_effort(rate, mpdus, Timing::Standard).unwrap_err();
        assert_eq!(error(vht80(1, 9), 0), BreakdownError::NoMpdus);
        assert_eq!(
            error(vht80(1, 9), 65),
            BreakdownError::Window {
                mpdus: 65,
                standard: Standard::Vht,
                max: 64
            }
        );
        assert_eq!(
            error(vht80(1, 0), 64),
            BreakdownError::Length {
                mpdus: 64,
                what: "duration",
                max: 12
            }
        );
        let ht = TxRate::new(Standard::Ht, Width::Mhz40, 4, 31, GuardInterval::Ns400).unwrap();
        assert_eq!(
            error(ht, 64),
            BreakdownError::Length {
                mpdus: 64,
                what: "bytes",
                max: 42
            }
        );
        let huge = Breakdown::new(
            vht80(1, 9),
            1,
            u32::MAX,
            AccessCategory::BestEffort,
            Timing::Standard,
        );
        assert_eq!(
            huge.unwrap_err(),
            BreakdownError::Payload {
                payload: u32::MAX,
                max: 2_268
            }
        );
    }

    #[test]
    fn an_exchange_at_one_megabit_by_hand() {
        let slowest = best_effort(TxRate::legacy(LegacyRate::Mbps1), 1, Timing::Standard).unwrap();
        // DIFS would be 50 µs; AIFSN 3 makes it 10 + 3 · 20. Back-off 31 · 20 / 2. Ack of 14 bytes
        // at 1 Mbit/s.
        assert_eq!(
            [slowest.aifs.as_micros(), slowest.mean_backoff.as_micros()],
            [70, 310]
        );
        assert_eq!(slowest.ppdu.as_micros(), 192 + 8 * 1_536);
        assert_eq!(
            slowest.cycle.as_micros(),
            70 + 310 + 192 + 12_288 + 10 + 304
        );
        let two = best_effort(TxRate::legacy(LegacyRate::Mbps1), 2, Timing::Standard).unwrap_err();
        assert_eq!(
            two,
            BreakdownError::Window {
                mpdus: 2,
                standard: Standard::Dsss,
                max: 1
            }
        );
    }

    #[test]
    fn the_signal_extension_of_erp_makes_up_for_the_shorter_sifs() {
        let rate = TxRate::legacy(LegacyRate::Mbps54);
        let breakdown = |medium, rate| {
            let (category, timing) = (AccessCategory::BestEffort, Timing::Standard);
            Breakdown::on(medium, rate, 1, 1_470, category, timing)
        };
        let low = breakdown(Medium::GHZ_2_4, rate).unwrap();
        let high = breakdown(Medium::GHZ_5, rate).unwrap();
        // AIFS is 6 µs shorter, data and response are 6 µs longer, SIFS is 6 µs shorter.
        assert_eq!(low.cycle, high.cycle);
        assert_eq!(
            low.ppdu + low.signal_extension + low.sifs,
            high.ppdu + high.sifs
        );
        let dsss = TxRate::legacy(LegacyRate::Mbps1);
        let refused = breakdown(Medium::GHZ_5, dsss).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "there is no DSSS on 5 GHz: choose another band"
        );
    }
}
