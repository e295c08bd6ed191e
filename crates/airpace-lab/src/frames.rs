//! The frame records of a cell, summed per station and slot: the truth that agents' reports are compared with.

use airpace_sim::mac::{Direction, FrameRecord};
use airpace_units::{StationId, Time};
use std::time::Duration;

/// Frames to the stations, in slots counted from an origin.
#[derive(Clone, Debug)]
pub struct FrameLog {
    origin: Time,
    slot: Duration,
    stations: Vec<Vec<SlotCount>>,
}

/// What one station was sent in one slot, or in several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlotCount {
    /// Frames that carried new packets.
    pub frames: u32,
    /// Packets in them that had not been sent before.
    pub packets: u64,
    /// Time that the station's frames, also those of retransmissions, kept the channel.
    pub airtime: Duration,
    /// The same of the station's own frames.
    pub up_airtime: Duration,
    /// Beginning of the first and of the last frame counted.
    pub span: Option<(Time, Time)>,
    /// Packets waiting at the access point when the last frame was composed.
    pub queued: Option<u32>,
    /// Packets dropped: buffer full or retry limit reached.
    pub dropped: u64,
}

impl SlotCount {
    /// Mean new packets per frame.
    #[must_use]
    pub fn level(&self) -> Option<f64> {
        (self.frames > 0).then(|| self.packets as f64 / f64::from(self.frames))
    }

    /// Mean time between frames.
    #[must_use]
    pub fn round(&self) -> Option<Duration> {
        let (first, last) = self.span?;
        (self.frames > 1).then(|| last.saturating_since(first) / (self.frames - 1))
    }

    /// Dropped packets as a share of all that ended either way.
    #[must_use]
    pub fn loss(&self) -> f64 {
        let all = self.packets + self.dropped;
        if all == 0 {
            0.0
        } else {
            self.dropped as f64 / all as f64
        }
    }

    fn add_frame(&mut self, frame: &FrameRecord) {
        self.airtime += frame.airtime;
        self.queued = Some(frame.queued);
        let new = u64::from(frame.mpdus.saturating_sub(frame.retries));
        if new > 0 {
            self.frames += 1;
            self.packets += new;
            let first = self.span.map_or(frame.start, |(first, _)| first);
            self.span = Some((first, frame.start));
        }
    }

    fn add(&mut self, later: &Self) {
        self.frames += later.frames;
        self.packets += later.packets;
        self.airtime += later.airtime;
        self.up_airtime += later.up_airtime;
        self.dropped += later.dropped;
        self.queued = later.queued.or(self.queued);
        self.span = match (self.span, later.span) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (a, b) => a.or(b),
        };
    }
}

impl FrameLog {
    /// A log of `stations` in slots of length `slot` from `origin`; what is earlier is not counted.
    #[must_use]
    pub fn new(stations: usize, origin: Time, slot: Duration) -> Self {
        Self {
            origin,
            slot,
            stations: vec![Vec::new(); stations],
        }
    }

    /// Counts a frame; of uplink frames their airtime alone.
    pub fn on_frame(&mut self, frame: &FrameRecord) {
        let Some(slot) = self.slot_at(frame.station(), frame.start) else {
            return;
        };
        match frame.direction() {
            Direction::Down => slot.add_frame(frame),
            Direction::Up => slot.up_airtime += frame.airtime,
        }
    }

    /// Counts a packet for `station` that the access point gave up.
    pub fn on_drop(&mut self, station: StationId, at: Time) {
        if let Some(slot) = self.slot_at(station, at) {
            slot.dropped += 1;
        }
    }

    /// The slots of a station, from the origin.
    #[must_use]
    pub fn slots(&self, station: usize) -> &[SlotCount] {
        self.stations.get(station).map_or(&[], Vec::as_slice)
    }

    /// The whole slots within `from..to` after the origin, as one.
    #[must_use]
    pub fn sum(&self, station: usize, from: Duration, to: Duration) -> SlotCount {
        let first = from.as_nanos().div_ceil(self.slot.as_nanos()) as usize;
        let end = (to.as_nanos() / self.slot.as_nanos()) as usize;
        let mut sum = SlotCount::default();
        self.slots(station)
            .iter()
            .take(end)
            .skip(first)
            .for_each(|slot| sum.add(slot));
        sum
    }

    fn slot_at(&mut self, station: StationId, at: Time) -> Option<&mut SlotCount> {
        let index = (at.checked_since(self.origin)?.as_nanos() / self.slot.as_nanos()) as usize;
        let slots = self.stations.get_mut(station.index())?;
        if index >= slots.len() {
            slots.resize(index + 1, SlotCount::default());
        }
        Some(&mut slots[index])
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use airpace_core::phy::{AccessCategory, GuardInterval, Standard, TxRate, Width};
    use airpace_sim::mac;

    /// A downlink frame with `mpdus` MPDUs, `retries` of them sent before, on the air from `start_ms` for one millisecond.
    pub(crate) fn frame(station: u32, start_ms: u64, mpdus: u16, retries: u16) -> FrameRecord {
        let start = Time::from_millis(start_ms);
        FrameRecord {
            ampdu: 0,
            from: mac::ends(StationId(station), Direction::Down).0,
            to: mac::ends(StationId(station), Direction::Down).1,
            category: AccessCategory::BestEffort,
            start,
            end: start + Duration::from_micros(900),
            rate: TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800).unwrap(),
            mpdus,
            packets: mpdus.into(),
            retries,
            decoded: mpdus,
            psdu_bytes: 1_540 * u32::from(mpdus),
            airtime: Duration::from_millis(1),
            collided: false,
            queued: 5,
        }
    }

    fn log() -> FrameLog {
        FrameLog::new(1, Time::from_millis(1_000), Duration::from_millis(100))
    }

    #[test]
    fn retransmissions_take_airtime_but_are_no_sample_of_the_level() {
        let mut log = log();
        for record in [
            frame(0, 1_000, 32, 0),
            frame(0, 1_010, 34, 2),
            frame(0, 1_020, 3, 3),
            frame(0, 1_030, 32, 0),
        ] {
            log.on_frame(&record);
        }
        let sum = log.sum(0, Duration::ZERO, Duration::from_millis(100));
        assert_eq!(
            (sum.frames, sum.packets, sum.airtime),
            (3, 96, Duration::from_millis(4))
        );
        assert_eq!(sum.level(), Some(32.0));
        assert_eq!(sum.round(), Some(Duration::from_millis(15)));
    }

    #[test]
    fn a_sum_spans_its_slots_and_leaves_out_partial_ones() {
        let mut log = log();
        for ms in (1_000..1_400).step_by(10) {
            log.on_frame(&frame(0, ms, 10, 0));
        }
        let sum = log.sum(0, Duration::from_millis(50), Duration::from_millis(350));
        assert_eq!(
            (sum.frames, sum.round()),
            (20, Some(Duration::from_millis(10)))
        );
    }

    #[test]
    fn what_is_foreign_or_early_is_not_counted_and_of_the_uplink_airtime_alone() {
        let mut log = log();
        log.on_frame(&frame(0, 999, 10, 0));
        log.on_frame(&frame(7, 1_000, 10, 0));
        let down = frame(0, 1_000, 10, 0);
        log.on_drop(StationId(7), Time::from_millis(1_000));
        assert_eq!(
            log.sum(0, Duration::ZERO, Duration::from_secs(9)),
            SlotCount::default()
        );
        log.on_frame(&FrameRecord {
            from: down.to,
            to: down.from,
            ..down
        });
        let airtime_alone = SlotCount {
            up_airtime: Duration::from_millis(1),
            ..SlotCount::default()
        };
        assert_eq!(
            log.sum(0, Duration::ZERO, Duration::from_secs(9)),
            airtime_alone
        );
    }

    #[test]
    fn loss_is_the_share_of_what_was_dropped() {
        let mut log = log();
        log.on_frame(&frame(0, 1_000, 9, 0));
        log.on_drop(StationId(0), Time::from_millis(1_001));
        assert!((log.sum(0, Duration::ZERO, Duration::from_secs(1)).loss() - 0.1).abs() < 1e-12);
    }
}
