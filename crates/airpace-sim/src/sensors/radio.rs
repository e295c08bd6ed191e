//! Feeds the block-ack sensor with what a radio beside the access point hears.

use super::{Trial, close_slots, first_slot_end, station_of_flow};
use crate::mac::{Direction, FrameRecord};
use crate::rng::Stream;
use crate::world::{MpduRecord, Outcome, PassingHeader};
use airpace_core::phy::{ACK_BYTES, BLOCK_ACK_BYTES, SIFS, control_rate};
use airpace_core::report::SlotReport;
use airpace_core::sensor::block_ack::{BlockAckRadio, OnAir};
use airpace_core::wire::control::{BlockAck, ControlFrame};
use airpace_core::wire::ieee80211::{DataHeader, MacAddr};
use airpace_units::{StationId, Time};

/// Address of the access point.
const BSSID: MacAddr = MacAddr([2, 0, 0, 0, 0, 0]);
/// RTS with its FCS; a CTS is as long as an ack.
const RTS_BYTES: u32 = 20;
/// Sequence numbers count modulo 4096, and a receiver remembers this many.
const MODULUS: u16 = 4096;
const WINDOW: u16 = 64;

/// What happens in the cell, as far as the sensor is told, in order of time.
struct Ear<'a> {
    trial: &'a Trial,
    sensor: BlockAckRadio,
    draws: Stream,
    reports: Vec<Vec<SlotReport>>,
    next_slot: Time,
    /// What each station has received: the highest number, and the bits below it.
    scoreboards: Vec<Scoreboard>,
}

/// The receiver's end of a block-ack agreement.
#[derive(Clone, Copy, Debug, Default)]
struct Scoreboard {
    highest: Option<u16>,
    /// Bit i: `highest` − i has arrived.
    received: u64,
}

/// The reports of every station, slot by slot.
pub(super) fn observe(trial: &Trial, outcome: &Outcome) -> Vec<Vec<SlotReport>> {
    let mut ear = Ear {
        trial,
        sensor: BlockAckRadio::new(BSSID),
        draws: Stream::new(trial.seed, "radio", 0),
        reports: vec![Vec::new(); trial.stations as usize],
        next_slot: first_slot_end(),
        scoreboards: vec![Scoreboard::default(); trial.stations as usize],
    };
    let mut packets = outcome.passing.iter().peekable();
    let mut mpdus = outcome.mpdus.as_slice();
    for (_, frame) in &outcome.frames {
        while let Some(packet) = packets.next_if(|packet| packet.at <= frame.start) {
            if let PassingHeader::Data { .. } = packet.header {
                let address = address(station_of_flow(trial, packet.flow));
                ear.sensor.on_downlink(packet.at, address, packet.bytes);
            }
        }
        // MPDUs are recorded frame by frame, in the same order.
        let begin = mpdus.iter().position(|m| m.mpdu.ampdu == frame.ampdu);
        let own = match begin {
            Some(begin) => {
                let after = &mpdus[begin..];
                let end = after
                    .iter()
                    .take_while(|m| m.mpdu.ampdu == frame.ampdu)
                    .count();
                mpdus = &after[end..];
                &after[..end]
            }
            None => &[],
        };
        ear.hear(frame, own);
    }
    ear.reports
}

impl Ear<'_> {
    fn hear(&mut self, frame: &FrameRecord, mpdus: &[MpduRecord]) {
        close_slots(&mut self.next_slot, frame.end, |now| {
            for (station, reports) in (0..).zip(&mut self.reports) {
                reports.push(
                    self.sensor
                        .close_slot(now, address(station), StationId(station)),
                );
            }
            self.sensor.close_cell();
        });
        let station = frame.station().0;
        let is_down = frame.direction() == Direction::Down;
        if is_down && self.trial.hearing.rts && frame.psdu_bytes > 1_500 {
            self.hear_protection(frame, station);
        }
        if is_down && !frame.collided && self.draws.happens(self.trial.hearing.data) {
            self.hear_data(frame, station, mpdus);
        }
        if frame.decoded > 0 {
            self.hear_answer(frame, station, is_down, mpdus);
        }
    }

    /// RTS and CTS before the frame.
    fn hear_protection(&mut self, frame: &FrameRecord, station: u32) {
        let control = control_rate(frame.rate);
        let cts_end = frame.start - SIFS;
        let cts_start = cts_end - control.duration(ACK_BYTES);
        let rts_end = cts_start - SIFS;
        let rts_start = rts_end - control.duration(RTS_BYTES);
        let (receiver, transmitter) = (address(station), BSSID);
        let rts = ControlFrame::Rts {
            duration_us: 0,
            receiver,
            transmitter,
        };
        let rest =
            2 * SIFS + frame.end.saturating_since(frame.start) + control.duration(BLOCK_ACK_BYTES);
        let cts = ControlFrame::Cts {
            // At most 6 ms.
            duration_us: rest.as_micros() as u16,
            receiver: BSSID,
        };
        self.control(rts_start, rts_end, &rts);
        self.control(cts_start, cts_end, &cts);
    }

    fn hear_data(&mut self, frame: &FrameRecord, station: u32, mpdus: &[MpduRecord]) {
        let sequence = mpdus.first().map_or(0, |first| first.mpdu.sequence);
        let header = DataHeader::downlink(address(station), BSSID, sequence, false);
        let heard = OnAir {
            start: frame.start,
            end: frame.end,
        };
        self.sensor.on_data(heard, &header, Some(frame.rate.rate()));
    }

    fn hear_answer(
        &mut self,
        frame: &FrameRecord,
        station: u32,
        is_down: bool,
        mpdus: &[MpduRecord],
    ) {
        let control = control_rate(frame.rate);
        let start = frame.end + SIFS;
        if frame.mpdus == 1 {
            let receiver = if is_down { BSSID } else { address(station) };
            let end = start + control.duration(ACK_BYTES);
            if is_down {
                self.scoreboards[station as usize].receive(mpdus);
            }
            return self.control(start, end, &ControlFrame::Ack { receiver });
        }
        let end = start + control.duration(BLOCK_ACK_BYTES);
        let mut bytes = Vec::new();
        if is_down {
            let scoreboard = &mut self.scoreboards[station as usize];
            scoreboard.receive(mpdus);
            scoreboard.answer(
                address(station),
                mpdus,
                self.trial.hearing.single_bit,
                &mut bytes,
            );
        } else {
            let uplink = BlockAck {
                receiver: address(station),
                transmitter: BSSID,
                tid: 0,
                start: 0,
                bitmap: &[0xff; 8],
            };
            uplink.write(&mut bytes);
        }
        // The bytes pass the parser, as those of a real radio do.
        if let Ok(frame) = ControlFrame::parse(&bytes) {
            self.control(start, end, &frame);
        }
    }

    fn control(&mut self, start: Time, end: Time, frame: &ControlFrame<'_>) {
        if !self.draws.happens(self.trial.hearing.missed) {
            self.sensor.on_control(OnAir { start, end }, frame);
        }
    }
}

impl Scoreboard {
    fn receive(&mut self, mpdus: &[MpduRecord]) {
        for record in mpdus {
            let sequence = record.mpdu.sequence;
            let highest = *self.highest.get_or_insert(sequence);
            let ahead = (sequence + MODULUS - highest) % MODULUS;
            if ahead < MODULUS / 2 {
                self.highest = Some(sequence);
                self.received = self.received.checked_shl(u32::from(ahead)).unwrap_or(0) | 1;
            } else {
                let behind = u32::from(MODULUS - ahead);
                self.received |= 1_u64.checked_shl(behind).unwrap_or(0);
            }
        }
    }

    /// Appends the block ack that answers a frame with `mpdus`.
    fn answer(&self, station: MacAddr, mpdus: &[MpduRecord], single_bit: bool, out: &mut Vec<u8>) {
        let highest = self.highest.unwrap_or(0);
        let first = mpdus.first().map_or(highest, |first| first.mpdu.sequence);
        let (start, bits) = if single_bit {
            (first, 1)
        } else {
            let start = (highest + MODULUS - (WINDOW - 1)) % MODULUS;
            (start, self.received.reverse_bits())
        };
        let block_ack = BlockAck {
            receiver: BSSID,
            transmitter: station,
            tid: 0,
            start,
            bitmap: &bits.to_le_bytes(),
        };
        block_ack.write(out);
    }
}

/// Address of a station.
const fn address(station: u32) -> MacAddr {
    let [a, b, c, d] = station.to_be_bytes();
    MacAddr([4, 0, a, b, c, d])
}
