//! The station's meter, fed from frame records: what `airpace_core::meter` makes of captured frames, without the detour through headers.

use super::Probe;
use crate::mac::FrameRecord;
use airpace_core::report::{LevelSource, SenderView, SlotReport};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// One station's slot in the making.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    station: StationId,
    frames: u32,
    packets: u32,
    bytes: u64,
    span: Option<(Time, Time)>,
    inverse_rate_sum: f64,
    lost: u32,
    late: u32,
    received: u32,
    delay_sum: Duration,
    delay_max: Duration,
    /// First transmissions in frames of which the station heard nothing, and which therefore count when they come again.
    unheard: u32,
    next_sequence: u64,
}

/// What a slot's delays and packets come to; the report carries the rest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) received: u32,
    pub(super) delay_mean: Duration,
    pub(super) delay_max: Duration,
}

impl Meter {
    pub(super) fn new(station: StationId) -> Self {
        Self {
            station,
            frames: 0,
            packets: 0,
            bytes: 0,
            span: None,
            inverse_rate_sum: 0.0,
            lost: 0,
            late: 0,
            received: 0,
            delay_sum: Duration::ZERO,
            delay_max: Duration::ZERO,
            unheard: 0,
            next_sequence: 0,
        }
    }

    /// A frame left the air.
    pub(super) fn frame(&mut self, frame: &FrameRecord) {
        let fresh = u32::from(frame.mpdus - frame.retries);
        if frame.decoded == 0 {
            self.unheard += fresh;
            return;
        }
        let first_heard = u32::from(frame.retries).min(core::mem::take(&mut self.unheard));
        self.late += u32::from(frame.retries) - first_heard;
        let packets = fresh + first_heard;
        if packets == 0 {
            return;
        }
        self.frames += 1;
        self.packets += packets;
        self.inverse_rate_sum += 1.0 / frame.rate.rate().as_bps_f64();
        self.span = Some((self.span.map_or(frame.end, |(first, _)| first), frame.end));
    }

    /// A packet was handed up.
    pub(super) fn packet(&mut self, at: Time, probe: &Probe) {
        self.received += 1;
        self.bytes += u64::from(probe.bytes);
        let missing = probe.sequence.saturating_sub(self.next_sequence);
        self.lost = self.lost.saturating_add(u32::try_from(missing).unwrap_or(u32::MAX));
        self.next_sequence = self.next_sequence.max(probe.sequence + 1);
        let delay = at.saturating_since(probe.sent);
        self.delay_sum += delay;
        self.delay_max = self.delay_max.max(delay);
    }

    /// Ends the slot.
    pub(super) fn close(&mut self, slot: u64, length: Duration, sender: SenderView) -> (SlotReport, Tally) {
        let report = SlotReport {
            station: self.station,
            slot,
            length,
            frames: self.frames,
            mpdus: self.packets,
            packets: self.packets,
            bytes: self.bytes,
            span: self.span,
            inverse_rate_sum: self.inverse_rate_sum,
            lost: self.lost,
            late: self.late,
            delay: None,
            source: LevelSource::AmpduReference,
            sender,
        };
        let delay_mean = self.delay_sum.checked_div(self.received).unwrap_or_default();
        let tally = Tally { received: self.received, delay_mean, delay_max: self.delay_max };
        *self = Self { unheard: self.unheard, next_sequence: self.next_sequence, ..Self::new(self.station) };
        (report, tally)
    }
}
