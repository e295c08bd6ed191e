//! The frames of an exchange as a radio nearby hears them: the control frames before and after a
//! data frame, byte by byte, and the radiotap headers that a monitor interface puts before frames.
//!
//! The MAC ([`crate::mac`]) reports data frames only. What belongs to them follows from their
//! records: RTS and CTS, if the exchange was protected, and the acknowledgement, which says what
//! its sender has received so far ([`Scoreboard`]).

mod beacon;
mod scoreboard;

pub use beacon::beacon;
pub use scoreboard::Scoreboard;

use crate::mac::{ControlKind, ControlRecord, FrameRecord};
use airpace_core::phy::{ACK_BYTES, LegacyRate, Response, SIFS, TxRate, control_rate};
use airpace_core::wire::control::{BlockAck, write_block_ack_request};
use airpace_core::wire::ieee80211::MacAddr;
use airpace_core::wire::radiotap::{Ampdu, Channel, Flags, Radiotap};
use airpace_units::Time;
use core::time::Duration;

/// Signal at the antenna in dBm: a strong one. Losses are decided elsewhere.
const SIGNAL_DBM: i8 = -50;

/// Centre frequency of channel 36, the primary channel of the lowest 5 GHz channel of every width.
const PRIMARY_MHZ: u16 = 5180;

/// Length of an RTS with its frame check sequence (9.3.1.2). A CTS is as long as an ack.
const RTS_BYTES: u32 = 20;

/// First byte of the frame control field of control frames (9.2.4.1.3).
const RTS: u8 = 0xb4;
const CTS: u8 = 0xc4;
const ACK: u8 = 0xd4;

/// The hardware addresses of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExchangeEnds {
    /// Who sends the data.
    pub sender: MacAddr,
    /// Who receives them.
    pub receiver: MacAddr,
}

/// A control frame of an exchange.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControlOnAir {
    /// Beginning of its PPDU.
    pub at: Time,
    /// Its rate.
    pub rate: LegacyRate,
    /// Whether the sender of the data sends it (an RTS), rather than their receiver.
    pub from_sender: bool,
    /// The frame, without its frame check sequence.
    pub bytes: Vec<u8>,
}

/// Returns RTS and CTS before a data frame; `None` if it was sent without.
#[must_use]
pub fn protection(record: &FrameRecord, ends: ExchangeEnds) -> Option<[ControlOnAir; 2]> {
    let rate = control_rate(record.rate);
    let ppdu = record.end.since(record.start);
    let response = Response::to(record.rate, record.mpdus.into()).duration;
    let answer = if record.decoded > 0 {
        SIFS + response
    } else {
        Duration::ZERO
    };
    let (rts, cts) = (rate.duration(RTS_BYTES), rate.duration(ACK_BYTES));
    let protection = rts + SIFS + cts + SIFS;
    // The airtime of an exchange without protection is that of the data and the answer. The answer
    // may be a little longer than computed here, if retransmissions widen its bitmap.
    if record.airtime < ppdu + answer + protection {
        return None;
    }
    let rest = SIFS + ppdu + SIFS + response;
    let cts_start = record.start - (SIFS + cts);
    let rts_start = cts_start - (SIFS + rts);
    let mut bytes = frame_head(RTS, SIFS + cts + rest, ends.receiver);
    bytes.extend(ends.sender.0);
    let rts = ControlOnAir {
        at: rts_start,
        rate,
        from_sender: true,
        bytes,
    };
    let cts = ControlOnAir {
        at: cts_start,
        rate,
        from_sender: false,
        bytes: frame_head(CTS, rest, ends.sender),
    };
    Some([rts, cts])
}

/// Returns the (block) acknowledgement of a frame, after `scoreboard` has taken what was decoded of
/// it.
#[must_use]
pub fn answer(record: &FrameRecord, ends: ExchangeEnds, scoreboard: &Scoreboard) -> ControlOnAir {
    let response = Response::to(record.rate, record.mpdus.into());
    let bytes = if response.block {
        let tid = record.category.user_priority();
        block_ack(ends.receiver, ends.sender, tid, record.mpdus, scoreboard)
    } else {
        frame_head(ACK, Duration::ZERO, ends.sender)
    };
    ControlOnAir {
        at: record.end + SIFS,
        rate: response.rate,
        from_sender: false,
        bytes,
    }
}

/// Returns the bytes of a control frame or beacon that the MAC has reported, without frame check
/// sequence. `from` and `to` are the addresses of its own ends, and `scoreboard` is that of the
/// sender of a block ack.
#[must_use]
pub fn control_bytes(
    record: &ControlRecord,
    from: MacAddr,
    to: MacAddr,
    scoreboard: &Scoreboard,
) -> Vec<u8> {
    let tid = record.category.user_priority();
    match record.kind {
        ControlKind::Rts => {
            let mut bytes = frame_head(RTS, record.remaining, to);
            bytes.extend(from.0);
            bytes
        }
        ControlKind::Cts | ControlKind::CtsToSelf => frame_head(CTS, record.remaining, to),
        ControlKind::Ack => frame_head(ACK, record.remaining, to),
        ControlKind::BlockAck { mpdus } => block_ack(from, to, tid, mpdus, scoreboard),
        ControlKind::BlockAckRequest { start } => {
            let mut bytes = Vec::with_capacity(20);
            write_block_ack_request(to, from, tid, start, &mut bytes);
            bytes
        }
        // A map of one byte in which nobody's bit is set; every beacon is a DTIM.
        ControlKind::Beacon => beacon(record.start, from, &[0, 1, 0, 0]),
    }
}

/// Returns the bytes of a block ack to a frame of `mpdus`.
fn block_ack(from: MacAddr, to: MacAddr, tid: u8, mpdus: u16, scoreboard: &Scoreboard) -> Vec<u8> {
    let (start, bitmap) = scoreboard.answer(mpdus);
    let mut bytes = Vec::with_capacity(64);
    BlockAck {
        receiver: to,
        transmitter: from,
        tid,
        start,
        bitmap: &bitmap,
    }
    .write(&mut bytes);
    bytes
}

/// Returns the radiotap header of a control frame or a beacon that begins at `at`.
#[must_use]
pub fn legacy_radiotap(at: Time, rate: LegacyRate) -> Radiotap {
    radiotap(at).with_rate(TxRate::legacy(rate))
}

/// Returns the radiotap header of an MPDU of a data frame. All MPDUs of an A-MPDU have the time of
/// the first, as with most drivers.
#[must_use]
pub fn data_radiotap(record: &FrameRecord, is_last: bool) -> Radiotap {
    // A single HT or legacy MPDU is not in an A-MPDU; a VHT or HE PPDU always carries an A-MPDU.
    let aggregated = record.mpdus > 1 || record.rate.standard().always_aggregates();
    Radiotap {
        ampdu: aggregated.then(|| Ampdu::new(record.ampdu, is_last)),
        ..radiotap(record.start)
    }
    .with_rate(record.rate)
}

/// Returns the fields that all radiotap headers have.
fn radiotap(at: Time) -> Radiotap {
    Radiotap {
        tsft_us: Some(at.as_nanos() / 1_000),
        flags: Some(Flags::default()),
        channel: Some(Channel {
            mhz: PRIMARY_MHZ,
            flags: Channel::OFDM_5GHZ,
        }),
        signal_dbm: Some(SIGNAL_DBM),
        antenna: Some(0),
        ..Radiotap::default()
    }
}

/// Returns frame control, duration and receiver of a frame that begins with the byte `kind`.
#[must_use]
pub fn frame_head(kind: u8, duration: Duration, receiver: MacAddr) -> Vec<u8> {
    // The field has 15 bits; an exchange takes less than 32 ms.
    let micros = duration.as_micros().min(32_767) as u16;
    let mut bytes = vec![kind, 0];
    bytes.extend(micros.to_le_bytes());
    bytes.extend(receiver.0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::RadioId;
    use airpace_core::phy::{AccessCategory, GuardInterval, Standard, Width};
    use airpace_core::wire::control::ControlFrame;

    const ENDS: ExchangeEnds = ExchangeEnds {
        sender: MacAddr([2, 0, 0, 0, 0, 1]),
        receiver: MacAddr([2, 0, 0, 0, 0, 2]),
    };

    /// A frame of 1 ms whose exchange has taken `rest` besides.
    fn frame(mpdus: u16, rest: Duration) -> FrameRecord {
        let start = Time::from_millis(5);
        let length = Duration::from_millis(1);
        FrameRecord {
            ampdu: 7,
            from: RadioId(0),
            to: RadioId(1),
            category: AccessCategory::BestEffort,
            start,
            end: start + length,
            rate: TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800).unwrap(),
            mpdus,
            packets: mpdus.into(),
            retries: 0,
            decoded: mpdus,
            psdu_bytes: 1_540 * u32::from(mpdus),
            airtime: length + rest,
            collided: false,
            queued: 0,
        }
    }

    #[test]
    fn a_frame_of_one_mpdu_is_acknowledged_and_a_longer_one_by_a_block_ack() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.receive(9);
        let single = answer(&frame(1, Duration::ZERO), ENDS, &scoreboard);
        assert!(matches!(
            ControlFrame::parse(&single.bytes),
            Ok(ControlFrame::Ack { receiver }) if receiver == ENDS.sender
        ));
        assert_eq!(single.at, Time::from_millis(6) + SIFS);
        let several = answer(&frame(2, Duration::ZERO), ENDS, &scoreboard);
        let Ok(ControlFrame::BlockAck(block_ack)) = ControlFrame::parse(&several.bytes) else {
            panic!("not a block ack: {:?}", several.bytes);
        };
        assert_eq!(block_ack.transmitter, ENDS.receiver);
        assert_eq!(block_ack.highest(), Some(9));
    }

    #[test]
    fn rts_and_cts_come_before_frames_whose_exchange_took_the_time_for_them() {
        let bare = SIFS + Response::to(frame(2, Duration::ZERO).rate, 2).duration;
        assert_eq!(protection(&frame(2, bare), ENDS), None);
        let record = frame(2, bare + Duration::from_micros(120));
        let [rts, cts] = protection(&record, ENDS).unwrap();
        assert!(rts.from_sender && !cts.from_sender);
        assert!(rts.at < cts.at && cts.at < record.start);
        assert!(matches!(
            ControlFrame::parse(&rts.bytes),
            Ok(ControlFrame::Rts { receiver, transmitter, .. })
                if receiver == ENDS.receiver && transmitter == ENDS.sender
        ));
        assert!(matches!(
            ControlFrame::parse(&cts.bytes),
            Ok(ControlFrame::Cts { receiver, .. }) if receiver == ENDS.sender
        ));
    }
}
