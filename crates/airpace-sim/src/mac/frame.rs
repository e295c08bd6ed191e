//! How a data frame is assembled, and what limits it.

use super::field::Content;
use super::{Monitoring, RadioConfig};
use airpace_core::packet::Packet;
use airpace_core::phy::{
    ACK_BYTES, AmpduLimits, BLOCK_ACK_256_BYTES, BLOCK_ACK_BYTES, DELIMITER_BYTES, Edca, FCS_BYTES,
    LLC_BYTES, LegacyRate, Medium, QOS_HEADER_BYTES, Response, Standard, Timing, TxRate,
    control_rate, mpdu_bytes, subframe_bytes,
};
use airpace_units::BitRate;
use core::time::Duration;

/// Header of a subframe of an A-MSDU: two addresses and a length (9.3.2.2.2).
const AMSDU_SUBFRAME_HEADER_BYTES: u32 = 14;
/// RTS with its FCS (9.3.1.2).
const RTS_BYTES: u32 = 20;
/// CTS with its FCS (9.3.1.3), as long as an ack.
const CTS_BYTES: u32 = ACK_BYTES;
/// Compressed block-ack request with its FCS (9.3.1.7).
const REQUEST_BYTES: u32 = 24;
/// Longest MPDU that an HT A-MPDU may contain (9.7.3).
const HT_AMPDU_MPDU_BYTES: u32 = 4_095;
/// Longest MPDU of VHT and HE (tables 9-25 and 9-26).
const VHT_MPDU_BYTES: u32 = 11_454;

/// The window of a block-ack agreement unless a longer one is asked for (10.25.2).
const BLOCK_ACK_WINDOW: u16 = 64;

/// What holds for all frames of a MAC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) medium: Medium,
    pub(super) timing: Timing,
    pub(super) retry_limit: u8,
    pub(super) block_ack_requests: bool,
    pub(super) endless_retries: bool,
    pub(super) monitor: Monitoring,
    pub(super) controls: bool,
    pub(super) in_order: bool,
}

/// The limits of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Limits {
    /// Most MPDUs in a frame.
    pub(super) mpdus: usize,
    /// Most sequence numbers in flight: the window of the block-ack agreement.
    pub(super) window: usize,
    /// Largest PSDU.
    pub(super) bytes: u32,
    /// Largest A-MSDU; 0 for none.
    pub(super) amsdu: u32,
    /// Whether MPDUs that are sent again go in frames of their own.
    pub(super) lone_retries: bool,
    /// Whether nothing is sent if not even one MPDU keeps the limits. Otherwise the first MPDU is
    /// always sent.
    pub(super) strict: bool,
}

/// An MPDU that can be put together of waiting packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MpduSize {
    /// Its length, headers and FCS included.
    pub(super) bytes: u32,
    /// Packets in it: more than one in an A-MSDU.
    pub(super) packets: u16,
}

/// A frame as it goes on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Built {
    /// Tells it from other frames of its window that are not settled; see
    /// [`super::window::Window::build`].
    pub(super) number: u8,
    pub(super) rate: TxRate,
    pub(super) mpdus: u16,
    /// MPDUs that were sent before.
    pub(super) retries: u16,
    pub(super) packets: u32,
    /// Bytes of all MPDUs, without delimiters and padding.
    pub(super) mpdu_bytes: u32,
    pub(super) psdu_bytes: u32,
    pub(super) ppdu: Duration,
    /// Duration of the (block) acknowledgement.
    pub(super) response: Duration,
}

impl Rules {
    /// Duration of a control frame that belongs to data sent at `rate`.
    fn control(&self, rate: TxRate, bytes: u32) -> Duration {
        let control: LegacyRate = control_rate(rate);
        self.medium.control_airtime(control, bytes)
    }

    /// Airtime of a frame and its answer.
    pub(super) fn estimate(&self, built: &Built) -> Duration {
        built.ppdu + self.medium.sifs() + built.response
    }

    pub(super) fn rts(&self, rate: TxRate) -> Duration {
        self.control(rate, RTS_BYTES)
    }

    pub(super) fn cts(&self, rate: TxRate) -> Duration {
        self.control(rate, CTS_BYTES)
    }

    /// The longest time that what may precede a frame at `rate` takes: RTS and CTS, or a CTS of the radio
    /// to itself.
    pub(super) fn protection(&self, radio: &RadioConfig, rate: TxRate) -> Duration {
        let sifs = self.medium.sifs();
        let by_rts = radio
            .rts_threshold
            .map(|_| self.rts(rate) + self.cts(rate) + 2 * sifs);
        let by_own = radio.own_cts(rate).map(|cts| self.cts_to_self(cts) + sifs);
        by_rts.max(by_own).unwrap_or_default()
    }

    /// Duration of a CTS to itself at `rate`.
    pub(super) fn cts_to_self(&self, rate: LegacyRate) -> Duration {
        self.medium.control_airtime(rate, CTS_BYTES)
    }

    pub(super) fn cts_to_self_content(rate: LegacyRate) -> Content {
        Content::single(TxRate::legacy(rate), CTS_BYTES)
    }

    pub(super) fn rts_content(&self, rate: TxRate) -> Content {
        Content::single(TxRate::legacy(control_rate(rate)), RTS_BYTES)
    }

    pub(super) fn cts_content(&self, rate: TxRate) -> Content {
        Content::single(TxRate::legacy(control_rate(rate)), CTS_BYTES)
    }

    /// The (block) acknowledgement of a frame.
    pub(super) fn answer_content(&self, built: &Built) -> Content {
        let bytes = match built.mpdus {
            0 | 1 => ACK_BYTES,
            2..=BLOCK_ACK_WINDOW => BLOCK_ACK_BYTES,
            _ => BLOCK_ACK_256_BYTES,
        };
        Content::single(TxRate::legacy(control_rate(built.rate)), bytes)
    }

    pub(super) fn request(&self, rate: TxRate) -> Duration {
        self.control(rate, REQUEST_BYTES)
    }

    pub(super) fn request_content(&self, rate: TxRate) -> Content {
        Content::single(TxRate::legacy(control_rate(rate)), REQUEST_BYTES)
    }

    /// Duration of the answer to `mpdus` MPDUs with consecutive sequence numbers.
    fn answer(&self, rate: TxRate, mpdus: u32) -> Duration {
        let response = Response::to(rate, mpdus);
        response.duration + self.medium.signal_extension(response.rate.standard())
    }
}

/// Longest IP packet over Ethernet, with which expected throughputs are computed.
const PACKET_BYTES: u32 = 1_500;

impl Limits {
    /// The throughput of a receiver when nobody else sends and all frames are as long as they may
    /// be, by which queues choose their parameters.
    pub(super) fn expected_throughput(&self, rate: TxRate, edca: &Edca, rules: &Rules) -> BitRate {
        let mpdu = MpduSize {
            bytes: mpdu_bytes(PACKET_BYTES),
            packets: 1,
        };
        let mut frame = Assembly::default();
        while frame.add(usize::from(frame.mpdus), mpdu, self) {}
        let Some(built) = frame.finish(0, rate, rules) else {
            return BitRate::ZERO;
        };
        let medium = &rules.medium;
        let access =
            medium.sifs() + medium.slot() * (u32::from(edca.aifsn) + u32::from(edca.cw_min) / 2);
        let exchange = access + built.ppdu + medium.sifs() + built.response;
        let bits = f64::from(built.packets) * 8.0 * f64::from(PACKET_BYTES);
        BitRate::from_bps_f64(bits / exchange.as_secs_f64())
    }

    /// The limits of frames at `rate` from a radio, TXOP apart.
    pub(super) fn of(rate: TxRate, radio: &RadioConfig, rules: &Rules) -> Self {
        let standard = AmpduLimits::of(rate.standard());
        let driver = &radio.path.driver;
        let duration = standard.duration.min(radio.max_duration);
        let duration = driver
            .max_duration
            .map_or(duration, |most| most.min(duration));
        let bytes = standard
            .bytes
            .min(radio.max_bytes)
            .min(rate.max_psdu(duration, rules.timing));
        let amsdu = match rate.standard() {
            Standard::Dsss | Standard::Ofdm => 0,
            Standard::Ht => HT_AMPDU_MPDU_BYTES - QOS_HEADER_BYTES - FCS_BYTES,
            Standard::Vht | Standard::He => VHT_MPDU_BYTES - QOS_HEADER_BYTES - FCS_BYTES,
        };
        let most_mpdus = driver.max_mpdus.unwrap_or(u16::MAX).min(radio.max_mpdus);
        let mpdus = usize::from(standard.window.min(most_mpdus.max(1)));
        // A sender of short frames still agrees on a window of 64, so that two frames can be under
        // way; it asks for a longer one only if its frames are longer.
        // Frames that are acknowledged one by one may wait in the hardware without an agreement.
        let window = standard.window.min(radio.max_mpdus.max(BLOCK_ACK_WINDOW));
        let window = usize::from(window.max(driver.lone_ahead));
        Self {
            mpdus,
            window,
            bytes,
            amsdu: amsdu.min(radio.max_amsdu),
            lone_retries: driver.lone_retries,
            strict: false,
        }
    }

    /// The same limits within `room` of a TXOP, in which the whole exchange must lie (10.23.2.9),
    /// the `protection` before the frame included.
    pub(super) fn within(
        self,
        room: Duration,
        rate: TxRate,
        rules: &Rules,
        protection: Duration,
    ) -> Self {
        // How long the answer is depends on the MPDUs that are still to be chosen: it is at most
        // that to a full window.
        let answer = rules.medium.sifs()
            + rules.answer(rate, u32::try_from(self.window).unwrap_or(u32::MAX));
        let overhead = answer + protection + rules.medium.signal_extension(rate.standard());
        let bytes = rate.max_psdu(room.saturating_sub(overhead), rules.timing);
        Self {
            bytes: self.bytes.min(bytes),
            ..self
        }
    }
}

/// A PSDU to which MPDUs are added.
#[derive(Default, Debug)]
pub(super) struct Assembly {
    mpdus: u16,
    packets: u32,
    mpdu_bytes: u32,
    /// Bytes so far, the last subframe without its padding.
    psdu: u32,
    /// Bytes so far, the last subframe padded.
    padded: u32,
    /// Offsets in the window of its first and its last MPDU.
    first: usize,
    last: usize,
}

impl Assembly {
    /// Adds the MPDU at `offset` in the window if the frame stays within the limits; returns
    /// whether it did. The first MPDU is always added, because nothing shorter can be sent, unless
    /// the limits are strict.
    pub(super) fn add(&mut self, offset: usize, mpdu: MpduSize, limits: &Limits) -> bool {
        let MpduSize { bytes, packets } = mpdu;
        let psdu = self
            .padded
            .saturating_add(DELIMITER_BYTES)
            .saturating_add(bytes);
        let fits = usize::from(self.mpdus) < limits.mpdus && psdu <= limits.bytes;
        if !fits && (self.mpdus > 0 || limits.strict) {
            return false;
        }
        if self.mpdus == 0 {
            self.first = offset;
        }
        self.last = offset;
        self.mpdus += 1;
        self.packets += u32::from(packets);
        self.mpdu_bytes = self.mpdu_bytes.saturating_add(bytes);
        self.psdu = psdu;
        self.padded = self.padded.saturating_add(subframe_bytes(bytes));
        true
    }

    /// The longest that the next MPDU may be, in bytes.
    pub(super) fn room(&self, limits: &Limits) -> u32 {
        limits
            .bytes
            .saturating_sub(self.padded.saturating_add(DELIMITER_BYTES))
    }

    /// The frame at `rate`, of which `retries` MPDUs were sent before; `None` if it is empty.
    pub(super) fn finish(&self, retries: u16, rate: TxRate, rules: &Rules) -> Option<Built> {
        if self.mpdus == 0 {
            return None;
        }
        let psdu_bytes = self.psdu_bytes(rate.standard(), rules.timing);
        // The bitmap of a block ack spans the sequence numbers from the first to the last MPDU; at
        // most a window of 256.
        let numbers = (self.last - self.first + 1) as u32;
        Some(Built {
            number: 0,
            rate,
            mpdus: self.mpdus,
            retries,
            packets: self.packets,
            mpdu_bytes: self.mpdu_bytes,
            psdu_bytes,
            ppdu: rules.medium.airtime(rate, psdu_bytes, rules.timing),
            response: rules.answer(rate, numbers),
        })
    }

    /// An HT MPDU that is sent alone has no delimiter, as in [`airpace_core::phy::psdu_bytes`];
    /// ns-3 sends an A-MPDU of one. DSSS and OFDM have no A-MPDU.
    fn psdu_bytes(&self, standard: Standard, timing: Timing) -> u32 {
        let plain = match standard {
            Standard::Dsss | Standard::Ofdm => true,
            Standard::Ht => timing == Timing::Standard,
            Standard::Vht | Standard::He => false,
        };
        if self.mpdus == 1 && plain {
            self.psdu - DELIMITER_BYTES
        } else {
            self.psdu
        }
    }
}

/// The next MPDU of the packets at the head of a queue. Several packets form an A-MSDU, which must
/// keep its own limit and fit `room` bytes.
pub(super) fn next_mpdu<'a, P: Packet + 'a>(
    packets: impl Iterator<Item = &'a P>,
    limits: &Limits,
    room: u32,
) -> Option<MpduSize> {
    let mut packets = packets.map(Packet::bytes);
    let first = packets.next()?;
    let subframe = |bytes: u32| bytes.saturating_add(AMSDU_SUBFRAME_HEADER_BYTES + LLC_BYTES);
    let longest = limits
        .amsdu
        .min(room.saturating_sub(QOS_HEADER_BYTES + FCS_BYTES));
    let (mut amsdu, mut count) = (subframe(first), 1_u16);
    for bytes in packets {
        let longer = amsdu.next_multiple_of(4).saturating_add(subframe(bytes));
        if longer > longest || count == u16::MAX {
            break;
        }
        (amsdu, count) = (longer, count + 1);
    }
    // A single packet is sent as a plain MPDU, without the header of a subframe.
    let bytes = if count == 1 {
        mpdu_bytes(first)
    } else {
        amsdu + QOS_HEADER_BYTES + FCS_BYTES
    };
    Some(MpduSize {
        bytes,
        packets: count,
    })
}
