//! A record of all frames of a run: the truth with which sensors are compared.

use crate::engine::Observer;
use airpace_sim::mac::{Direction, DropReason, FrameRecord};
use airpace_units::{StationId, Time};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

/// An observer that keeps the record of every frame: time, station, packets, bytes, retries. Clones
/// share the records, so that one can be given to [`crate::Emulator::start`] and the other asked.
///
/// A record has about 100 bytes; a busy cell sends a thousand frames per second.
#[derive(Clone, Debug, Default)]
pub struct FrameLog {
    frames: Arc<Mutex<Vec<FrameRecord>>>,
}

/// What the access point really sent to one station in an interval.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct TrueLevel {
    /// Frames of which the station decoded anything.
    pub frames: u32,
    /// Packets in those frames that had not been sent before.
    pub packets: u32,
    /// MPDUs in those frames that had been sent before.
    pub retries: u32,
    /// MPDUs decoded.
    pub decoded: u32,
    /// Mean packets per frame, retransmissions included; `None` without frames.
    pub level: Option<f64>,
    /// Mean time from the end of one frame to the end of the next; `None` with fewer than two.
    pub round: Option<Duration>,
}

impl FrameLog {
    /// Returns a log without records.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes all records so far, in the order in which the frames ended.
    #[must_use]
    pub fn take(&self) -> Vec<FrameRecord> {
        core::mem::take(&mut *self.frames.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns what the access point sent to `station` in frames that ended from `from` on and
    /// before `to`.
    #[must_use]
    pub fn level(&self, station: StationId, from: Time, to: Time) -> TrueLevel {
        let frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        TrueLevel::of(&frames, station, from, to)
    }
}

impl TrueLevel {
    /// Returns the same for records in order of time, for example those that [`FrameLog::take`] has
    /// returned.
    #[must_use]
    pub fn of(frames: &[FrameRecord], station: StationId, from: Time, to: Time) -> Self {
        let mut sum = Self::default();
        let mut packets = 0;
        let (mut first, mut last) = (None, None);
        for frame in frames {
            let is_inside = from <= frame.end && frame.end < to;
            let is_downlink = frame.direction() == Direction::Down && frame.station() == station;
            if !is_inside || !is_downlink || frame.decoded == 0 {
                continue;
            }
            sum.frames += 1;
            sum.packets += frame.packets.saturating_sub(frame.retries.into());
            sum.retries += u32::from(frame.retries);
            sum.decoded += u32::from(frame.decoded);
            packets += frame.packets;
            first = first.or(Some(frame.end));
            last = Some(frame.end);
        }
        if sum.frames > 0 {
            sum.level = Some(f64::from(packets) / f64::from(sum.frames));
        }
        if let (Some(first), Some(last)) = (first, last)
            && sum.frames > 1
        {
            sum.round = Some(last.saturating_since(first) / (sum.frames - 1));
        }
        sum
    }
}

impl Observer for FrameLog {
    fn on_frame(&mut self, frame: &FrameRecord) {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        frames.push(*frame);
    }

    fn on_dropped(&mut self, _: Time, _: StationId, _: Direction, _: DropReason) {}
}
