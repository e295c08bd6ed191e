//! Feeds the block-ack sensor with what a radio beside the access point hears.

use super::{Trial, close_slots, first_slot_end, station_of_flow};
use crate::mac::{Direction, FrameRecord, RadioId};
use crate::overheard::{self, ControlOnAir, ExchangeEnds, Scoreboard};
use crate::rng::Stream;
use crate::world::{MpduRecord, Outcome, PassingHeader};
use airpace_core::phy::FCS_BYTES;
use airpace_core::report::SlotReport;
use airpace_core::sensor::block_ack::{BlockAckRadio, OnAir};
use airpace_core::wire::control::{BlockAck, ControlFrame};
use airpace_core::wire::ieee80211::{DataHeader, MacAddr};
use airpace_units::{StationId, Time};
use std::collections::BTreeMap;

/// Address of the access point.
const BSSID: MacAddr = MacAddr([2, 0, 0, 0, 0, 0]);
/// What happens in the cell, as far as the sensor is told, in order of time.
struct Ear<'a> {
    trial: &'a Trial,
    sensor: BlockAckRadio,
    draws: Stream,
    reports: Vec<Vec<SlotReport>>,
    next_slot: Time,
    /// What each receiver has of each sender.
    scoreboards: BTreeMap<(RadioId, RadioId), Scoreboard>,
}

/// The reports of every station, slot by slot.
pub(super) fn observe(trial: &Trial, outcome: &Outcome) -> Vec<Vec<SlotReport>> {
    let mut ear = Ear {
        trial,
        sensor: BlockAckRadio::new(BSSID),
        draws: Stream::new(trial.seed, "radio", 0),
        reports: vec![Vec::new(); trial.stations as usize],
        next_slot: first_slot_end(),
        scoreboards: BTreeMap::new(),
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
        let is_down = frame.direction() == Direction::Down;
        if let Some(controls) = overheard::protection(frame, ends(frame)) {
            for control in &controls {
                self.hear_control(control);
            }
        }
        if is_down && !frame.collided && self.draws.happens(self.trial.hearing.data) {
            self.hear_data(frame, mpdus);
        }
        if frame.decoded > 0 {
            self.hear_answer(frame, mpdus);
        }
    }

    fn hear_data(&mut self, frame: &FrameRecord, mpdus: &[MpduRecord]) {
        let ExchangeEnds { sender, receiver } = ends(frame);
        let sequence = mpdus.first().map_or(0, |first| first.mpdu.sequence);
        let header = DataHeader::downlink(receiver, sender, sequence, false);
        let heard = OnAir {
            start: frame.start,
            end: frame.end,
        };
        self.sensor.on_data(heard, &header, Some(frame.rate.rate()));
    }

    fn hear_answer(&mut self, frame: &FrameRecord, mpdus: &[MpduRecord]) {
        let scoreboard = self.scoreboards.entry((frame.from, frame.to)).or_default();
        for record in mpdus {
            scoreboard.receive(record.mpdu.sequence);
        }
        let mut answer = overheard::answer(frame, ends(frame), scoreboard);
        let is_down = frame.direction() == Direction::Down;
        if let Some(first) = mpdus.first()
            && is_down
            && frame.mpdus > 1
            && self.trial.hearing.single_bit
        {
            answer.bytes = single_bit(ends(frame), first.mpdu.sequence);
        }
        self.hear_control(&answer);
    }

    /// A control frame is on the air, which the radio may miss. Its bytes pass the parser, as those
    /// of a real radio do.
    fn hear_control(&mut self, control: &ControlOnAir) {
        if self.draws.happens(self.trial.hearing.missed) {
            return;
        }
        // A control frame has tens of bytes.
        let bytes = control.bytes.len() as u32 + FCS_BYTES;
        let heard = OnAir {
            start: control.at,
            end: control.at + control.rate.duration(bytes),
        };
        if let Ok(frame) = ControlFrame::parse(&control.bytes) {
            self.sensor.on_control(heard, &frame);
        }
    }
}

/// A block ack with the start of the frame and one bit, as some stations answer.
fn single_bit(ends: ExchangeEnds, start: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    BlockAck {
        receiver: ends.sender,
        transmitter: ends.receiver,
        tid: 0,
        start,
        bitmap: &1_u64.to_le_bytes(),
    }
    .write(&mut bytes);
    bytes
}

/// Addresses of the sender and the receiver of a frame.
fn ends(frame: &FrameRecord) -> ExchangeEnds {
    let station = address(frame.station().0);
    match frame.direction() {
        Direction::Down => ExchangeEnds {
            sender: BSSID,
            receiver: station,
        },
        Direction::Up => ExchangeEnds {
            sender: station,
            receiver: BSSID,
        },
    }
}

/// Address of a station.
const fn address(station: u32) -> MacAddr {
    let [a, b, c, d] = station.to_be_bytes();
    MacAddr([4, 0, a, b, c, d])
}
