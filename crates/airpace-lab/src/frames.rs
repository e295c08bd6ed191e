//! The frame records of a cell, summed per station and slot. They are the truth that the agents'
//! reports are compared with.

use airpace_sim::mac::{Direction, FrameRecord, FrameTally};
use airpace_units::{StationId, Time};
use std::time::Duration;

/// Frames to and from the stations, in slots counted from an origin.
#[derive(Clone, Debug)]
pub struct FrameLog {
    origin: Time,
    slot: Duration,
    stations: Vec<Vec<StationFrames>>,
}

/// The frames of one station in one slot, or in several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StationFrames {
    /// Frames to the station.
    pub down: FrameTally,
    /// Airtime of the station's own frames.
    pub up_airtime: Duration,
    /// Packets to the station that the access point dropped: buffer full or retry limit reached.
    pub dropped: u64,
}

impl StationFrames {
    /// Dropped packets as a share of all that were either sent or dropped.
    #[must_use]
    pub fn loss(&self) -> f64 {
        let all = self.down.packets + self.dropped;
        if all == 0 {
            0.0
        } else {
            self.dropped as f64 / all as f64
        }
    }

    fn append(&mut self, later: &Self) {
        self.down.append(&later.down);
        self.up_airtime += later.up_airtime;
        self.dropped += later.dropped;
    }
}

impl FrameLog {
    /// A log of `stations` in slots of length `slot` from `origin`. Frames before the origin are
    /// not counted.
    #[must_use]
    pub fn new(stations: usize, origin: Time, slot: Duration) -> Self {
        Self {
            origin,
            slot,
            stations: vec![Vec::new(); stations],
        }
    }

    /// Counts a frame in the slot in which it began. Of uplink frames only the airtime is counted.
    pub fn on_frame(&mut self, frame: &FrameRecord) {
        let Some(slot) = self.slot_at(frame.station(), frame.start) else {
            return;
        };
        match frame.direction() {
            Direction::Down => slot.down.on_frame(frame),
            Direction::Up => slot.up_airtime += frame.airtime,
        }
    }

    /// Counts a packet for `station` that the access point dropped.
    pub fn on_drop(&mut self, station: StationId, at: Time) {
        if let Some(slot) = self.slot_at(station, at) {
            slot.dropped += 1;
        }
    }

    /// The slots of a station, from the origin.
    #[must_use]
    pub fn slots(&self, station: usize) -> &[StationFrames] {
        self.stations.get(station).map_or(&[], Vec::as_slice)
    }

    /// The sum of the whole slots within `from..to` after the origin.
    #[must_use]
    pub fn sum(&self, station: usize, from: Duration, to: Duration) -> StationFrames {
        let first = from.as_nanos().div_ceil(self.slot.as_nanos()) as usize;
        let end = (to.as_nanos() / self.slot.as_nanos()) as usize;
        let mut sum = StationFrames::default();
        for slot in self.slots(station).iter().take(end).skip(first) {
            sum.append(slot);
        }
        sum
    }

    /// `None` for unknown stations and for times before the origin.
    fn slot_at(&mut self, station: StationId, at: Time) -> Option<&mut StationFrames> {
        let index = (at.checked_since(self.origin)?.as_nanos() / self.slot.as_nanos()) as usize;
        let slots = self.stations.get_mut(station.index())?;
        if index >= slots.len() {
            slots.resize(index + 1, StationFrames::default());
        }
        Some(&mut slots[index])
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use airpace_core::phy::{AccessCategory, GuardInterval, Standard, TxRate, Width};
    use airpace_sim::mac;

    /// A downlink frame with `mpdus` MPDUs, `retries` of them sent before. It begins at `start_ms`
    /// and takes one millisecond of airtime.
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
    fn a_frame_of_retransmissions_takes_airtime_but_does_not_count_for_the_level() {
        let mut log = log();
        for record in [
            frame(0, 1_000, 32, 0),
            frame(0, 1_010, 34, 2),
            frame(0, 1_020, 3, 3),
            frame(0, 1_030, 32, 0),
        ] {
            log.on_frame(&record);
        }
        let down = log.sum(0, Duration::ZERO, Duration::from_millis(100)).down;
        assert_eq!(
            (down.frames, down.packets, down.airtime),
            (3, 96, Duration::from_millis(4))
        );
        assert_eq!(down.level(), Some(32.0));
        assert_eq!(down.round(), Some(Duration::from_millis(15)));
    }

    #[test]
    fn a_sum_leaves_out_partial_slots() {
        let mut log = log();
        for ms in (1_000..1_400).step_by(10) {
            log.on_frame(&frame(0, ms, 10, 0));
        }
        let down = log
            .sum(0, Duration::from_millis(50), Duration::from_millis(350))
            .down;
        assert_eq!(
            (down.frames, down.round()),
            (20, Some(Duration::from_millis(10)))
        );
    }

    #[test]
    fn early_frames_and_unknown_stations_are_not_counted() {
        let mut log = log();
        log.on_frame(&frame(0, 999, 10, 0));
        log.on_frame(&frame(7, 1_000, 10, 0));
        log.on_drop(StationId(7), Time::from_millis(1_000));
        assert_eq!(
            log.sum(0, Duration::ZERO, Duration::from_secs(9)),
            StationFrames::default()
        );
    }

    #[test]
    fn of_uplink_frames_only_the_airtime_is_counted() {
        let mut log = log();
        let down = frame(0, 1_000, 10, 0);
        log.on_frame(&FrameRecord {
            from: down.to,
            to: down.from,
            ..down
        });
        let airtime_alone = StationFrames {
            up_airtime: Duration::from_millis(1),
            ..StationFrames::default()
        };
        assert_eq!(
            log.sum(0, Duration::ZERO, Duration::from_secs(9)),
            airtime_alone
        );
    }

    #[test]
    fn loss_is_the_share_of_dropped_packets() {
        let mut log = log();
        log.on_frame(&frame(0, 1_000, 9, 0));
        log.on_drop(StationId(0), Time::from_millis(1_001));
        assert!((log.sum(0, Duration::ZERO, Duration::from_secs(1)).loss() - 0.1).abs() < 1e-12);
    }
}
