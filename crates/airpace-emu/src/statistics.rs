//! Counts of a run, and how late the emulator was.

use crate::address::station_address;
use crate::packet::EmulatedPacket;
use crate::series;
use airpace_api::emulation::{
    DirectionTotals, EMULATION_FORMAT, EmulationReport, EmulationSlot, Lag, QueueDrops,
    StationEmulation, Stray,
};
use airpace_core::model::jain;
use airpace_core::packet::Packet as _;
use airpace_core::phy::TxRate;
use airpace_core::queue;
use airpace_sim::mac::{Direction, DropReason, FrameRecord, FrameTally};
use airpace_units::{StationId, Time};
use core::time::Duration;
use hdrhistogram::Histogram;

/// 99th percentile of the lag above which a run is not to be trusted: a sixth of the longest frame, and less than any
/// delay that is measured through the cell.
pub const TRUSTED_LAG: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct Statistics {
    stations: Vec<Station>,
    lag: Histogram<u64>,
    slot: Duration,
    slot_begin: Time,
    /// Most slots of each station's series; `None` if there is to be none.
    max_slots: Option<usize>,
    merged: bool,
    pub(crate) stray: Stray,
}

#[derive(Debug, Default)]
struct Station {
    down: Counters,
    up: Counters,
    rate: Option<TxRate>,
    current: Slot,
    slots: Vec<EmulationSlot>,
}

/// The present slot.
#[derive(Debug, Default)]
struct Slot {
    down: FrameTally,
    up: FrameTally,
    bytes: u64,
    up_bytes: u64,
    dropped: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    frames: FrameTally,
    totals: DirectionTotals,
}

/// What the report says besides counts.
pub(crate) struct Circumstances {
    pub(crate) seed: u64,
    pub(crate) duration: Duration,
    /// Why there was no real-time priority; `None` if there was, or none was asked for.
    pub(crate) no_realtime: Option<String>,
    pub(crate) realtime: bool,
    /// How the access point queues.
    pub(crate) access_point: String,
}

impl Statistics {
    pub(crate) fn new(stations: usize, slot: Duration, max_slots: Option<usize>) -> Self {
        // A minute of lag in steps of two significant digits; more is counted as a minute.
        let lag = Histogram::new_with_bounds(1, 60_000_000_000, 2).expect("these bounds are valid");
        let stations = (0..stations).map(|_| Station::default()).collect();
        let stray = Stray::default();
        Self {
            stations,
            lag,
            slot,
            slot_begin: Time::ZERO,
            max_slots,
            merged: false,
            stray,
        }
    }

    /// When the present slot ends.
    pub(crate) fn slot_end(&self) -> Time {
        self.slot_begin + self.slot
    }

    /// Ends the present slot; `queue` tells the length of a station's queue and its peak within the slot.
    pub(crate) fn end_slot(&mut self, mut queue: impl FnMut(StationId) -> (usize, usize)) {
        for (index, station) in self.stations.iter_mut().enumerate() {
            let (now, peak) = queue(StationId::from_index(index));
            let slot = core::mem::take(&mut station.current);
            station.down.totals.queue_max = station.down.totals.queue_max.max(peak as u64);
            if self.max_slots.is_some() {
                station.slots.push(slot.finish(self.slot_begin, now, peak));
            }
        }
        self.slot_begin += self.slot;
        let n = self
            .stations
            .first()
            .map_or(0, |station| station.slots.len());
        if self.max_slots.is_some_and(|max| n >= max) {
            self.stations
                .iter_mut()
                .for_each(|station| series::halve(&mut station.slots));
            self.slot *= 2;
            self.merged = true;
        }
    }

    pub(crate) fn on_lag(&mut self, lag: Duration) {
        self.lag
            .saturating_record(u64::try_from(lag.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn on_frame(&mut self, frame: &FrameRecord) {
        let Some(station) = self.stations.get_mut(frame.station().index()) else {
            return;
        };
        station.counters(frame.direction()).frames.on_frame(frame);
        if frame.direction() == Direction::Down {
            station.rate = Some(frame.rate);
            station.current.down.on_frame(frame);
        } else {
            station.current.up.on_frame(frame);
        }
    }

    pub(crate) fn on_delivered(
        &mut self,
        station: StationId,
        direction: Direction,
        packet: &EmulatedPacket,
    ) {
        let bytes = packet.bytes();
        let Some(station) = self.stations.get_mut(station.index()) else {
            return;
        };
        let in_slot = if direction == Direction::Down {
            &mut station.current.bytes
        } else {
            &mut station.current.up_bytes
        };
        *in_slot += u64::from(bytes);
        let totals = &mut station.counters(direction).totals;
        totals.packets += 1;
        totals.marked += u64::from(packet.is_marked());
        totals.bytes += u64::from(bytes);
    }

    pub(crate) fn on_dropped(
        &mut self,
        station: StationId,
        direction: Direction,
        reason: DropReason,
    ) {
        let Some(station) = self.stations.get_mut(station.index()) else {
            self.stray.unroutable += 1;
            return;
        };
        station.current.dropped += u32::from(direction == Direction::Down);
        let totals = &mut station.counters(direction).totals;
        match reason {
            DropReason::RetryLimit => totals.dropped_retries += 1,
            DropReason::Queue(reason) => count_drop(&mut totals.drops, reason),
            _ => totals.drops.other += 1,
        }
    }

    /// The report of a run; the present slot, which is not over, is left out of the series.
    pub(crate) fn report(self, about: Circumstances) -> EmulationReport {
        let duration_s = about.duration.as_secs_f64();
        let lag = self.lag();
        let mut warnings = warnings(&lag, &self.stray, about.no_realtime);
        if self.merged {
            warnings.push(format!(
                "The run was long: the slots of the time series were merged to {:?}.",
                self.slot
            ));
        }
        let late = lag.p99_ms > TRUSTED_LAG.as_secs_f64() * 1e3;
        let trusted = !late && self.stray.refused == 0 && self.stray.overflowed == 0;
        let stations = self.stations.into_iter().enumerate();
        let stations: Vec<_> = stations
            .map(|(index, station)| station.report(index, duration_s))
            .collect();
        let airtimes: Vec<f64> = stations.iter().map(|station| station.airtime).collect();
        EmulationReport {
            format: EMULATION_FORMAT,
            seed: about.seed,
            duration_s,
            trusted,
            warnings,
            lag,
            realtime: about.realtime,
            access_point: about.access_point,
            jain_airtime: jain(&airtimes),
            stations,
            stray: self.stray,
            slot_s: self.slot.as_secs_f64(),
        }
    }

    pub(crate) fn lag(&self) -> Lag {
        let ms = |ns: u64| ns as f64 / 1e6;
        Lag {
            events: self.lag.len(),
            p50_ms: ms(self.lag.value_at_quantile(0.5)),
            p99_ms: ms(self.lag.value_at_quantile(0.99)),
            max_ms: ms(self.lag.max()),
        }
    }
}

fn warnings(lag: &Lag, stray: &Stray, no_realtime: Option<String>) -> Vec<String> {
    let mut warnings = Vec::new();
    if lag.p99_ms > TRUSTED_LAG.as_secs_f64() * 1e3 {
        warnings.push(format!(
            "The emulator was {:.1} ms late at the 99th percentile: do not trust these figures; give it a less busy machine, \
             fewer stations or lower rates.",
            lag.p99_ms
        ));
    }
    if stray.refused > 0 {
        warnings.push(format!(
            "The system did not take {} packets that the cell delivered.",
            stray.refused
        ));
    }
    if stray.overflowed > 0 {
        warnings.push(format!(
            "The emulator did not read {} packets before the system dropped them: do not trust these figures; give it a less \
             busy machine, or send less than the machine can carry.",
            stray.overflowed
        ));
    }
    if let Some(reason) = no_realtime {
        warnings.push(format!("No real-time priority: {reason}."));
    }
    warnings
}

impl Station {
    fn counters(&mut self, direction: Direction) -> &mut Counters {
        if direction == Direction::Down {
            &mut self.down
        } else {
            &mut self.up
        }
    }

    fn report(self, index: usize, duration_s: f64) -> StationEmulation {
        let (down, up) = (self.down.totals(duration_s), self.up.totals(duration_s));
        StationEmulation {
            station: count32(index),
            address: station_address(index).to_string(),
            rate: self.rate.map(|rate| rate.to_string()).unwrap_or_default(),
            airtime: down.airtime + up.airtime,
            down,
            up,
            slots: self.slots,
        }
    }
}

impl Slot {
    fn finish(&self, begin: Time, queue: usize, queue_max: usize) -> EmulationSlot {
        // A slot has far fewer than 2^32 frames and packets.
        let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        EmulationSlot {
            at_s: begin.as_secs_f64(),
            frames: count(self.down.frames),
            packets: count(self.down.packets),
            level: self.down.level(),
            bytes: self.bytes,
            queue: count32(queue),
            queue_max: count32(queue_max),
            airtime_s: self.down.airtime.as_secs_f64(),
            retries: count(self.down.retries),
            dropped: self.dropped,
            up_frames: count(self.up.frames),
            up_bytes: self.up_bytes,
            up_airtime_s: self.up.airtime.as_secs_f64(),
        }
    }
}

impl Counters {
    fn totals(&self, duration_s: f64) -> DirectionTotals {
        let per_second = |x: f64| {
            if duration_s > 0.0 {
                x / duration_s
            } else {
                0.0
            }
        };
        let FrameTally {
            frames,
            retry_frames,
            retries,
            collisions,
            airtime,
            ..
        } = self.frames;
        DirectionTotals {
            goodput_mbps: per_second(self.totals.bytes as f64 * 8e-6),
            frames,
            retry_frames,
            retries,
            collisions,
            level: self.frames.level(),
            round_ms: self.frames.round().map(|round| round.as_secs_f64() * 1e3),
            airtime: per_second(airtime.as_secs_f64()),
            dropped_queue: self.totals.drops.total(),
            ..self.totals
        }
    }
}

fn count_drop(drops: &mut QueueDrops, reason: queue::DropReason) {
    use queue::DropReason::{ByteLimit, FattestFlow, Gone, PacketLimit, Sojourn};
    *match reason {
        PacketLimit | ByteLimit => &mut drops.full,
        Sojourn => &mut drops.codel,
        FattestFlow => &mut drops.longest_flow,
        Gone => &mut drops.gone,
        _ => &mut drops.other,
    } += 1;
}

/// Counts of things in memory are far below 2³².
fn count32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(statistics: Statistics) -> EmulationReport {
        let duration = Duration::from_secs(1);
        let access_point = "fifo".to_owned();
        statistics.report(Circumstances {
            seed: 1,
            duration,
            no_realtime: None,
            realtime: true,
            access_point,
        })
    }

    fn packet(length: u8) -> EmulatedPacket {
        let mut bytes = vec![0; length.into()];
        (bytes[0], bytes[3]) = (0x45, length);
        EmulatedPacket::copy(&bytes).unwrap()
    }

    #[test]
    fn drops_have_their_reasons_and_airtime_its_index() {
        let mut statistics = Statistics::new(2, Duration::from_millis(100), None);
        let reasons = queue::DropReason::ALL
            .map(DropReason::Queue)
            .into_iter()
            .chain([DropReason::RetryLimit]);
        reasons.for_each(|reason| statistics.on_dropped(StationId(0), Direction::Down, reason));
        let report = report(statistics);
        let down = &report.stations[0].down;
        assert_eq!(
            (down.drops.full, down.drops.codel, down.drops.longest_flow),
            (2, 1, 1),
            "{down:?}"
        );
        assert_eq!(
            (down.dropped_queue, down.dropped_retries),
            (queue::DropReason::ALL.len() as u64, 1)
        );
        assert_eq!(
            (report.access_point.as_str(), report.jain_airtime),
            ("fifo", 1.0),
            "nothing was shared"
        );
    }

    #[test]
    fn a_long_series_is_merged_and_loses_nothing() {
        let mut statistics = Statistics::new(2, Duration::from_millis(100), Some(8));
        for slot in 0..21 {
            statistics.on_delivered(StationId(1), Direction::Down, &packet(100 + slot));
            statistics.on_dropped(StationId(1), Direction::Down, DropReason::RetryLimit);
            statistics.end_slot(|station| (slot as usize, 2 * slot as usize * station.index()));
            assert_eq!(statistics.slot_end().as_nanos() % 100_000_000, 0);
        }
        let report = report(statistics);
        let slots = &report.stations[1].slots;
        // Eight of 100 ms became four of 200; four more made eight and four of 400; four more, then four of 800; and so on.
        assert!(
            slots.len() < 8 && report.slot_s > 0.1,
            "{} slots of {} s",
            slots.len(),
            report.slot_s
        );
        assert_eq!(
            slots.iter().map(|slot| slot.bytes).sum::<u64>(),
            report.stations[1].down.bytes
        );
        assert_eq!(slots.iter().map(|slot| slot.dropped).sum::<u32>(), 21);
        assert_eq!(slots.iter().map(|slot| slot.queue_max).max(), Some(40));
        assert!(
            slots
                .windows(2)
                .all(|pair| (pair[1].at_s - pair[0].at_s - report.slot_s).abs() < 1e-9)
        );
        assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    }

    #[test]
    fn no_series_is_kept_unless_asked_for() {
        let mut statistics = Statistics::new(1, Duration::from_millis(100), None);
        for _ in 0..100 {
            statistics.end_slot(|_| (1, 7));
        }
        let report = report(statistics);
        assert_eq!(
            (
                report.stations[0].slots.len(),
                report.stations[0].down.queue_max
            ),
            (0, 7)
        );
        assert!(report.trusted && report.warnings.is_empty());
    }

    #[test]
    fn packets_that_were_not_read_make_a_run_untrustworthy() {
        let mut statistics = Statistics::new(1, Duration::from_millis(100), None);
        statistics.stray.overflowed = 3;
        let report = report(statistics);
        assert!(
            !report.trusted && report.warnings[0].contains("did not read 3 packets"),
            "{:?}",
            report.warnings
        );
    }

    #[test]
    fn every_number_of_stations_has_an_even_limit() {
        assert_eq!(series::limit(1), 36_000);
        assert!((1..=240).all(|n| series::limit(n).is_multiple_of(2) && series::limit(n) >= 1_500));
    }
}
