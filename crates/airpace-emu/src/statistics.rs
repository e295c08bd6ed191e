//! Counts of a run, and how late the emulator was.

use crate::address::station_address;
use airpace_api::emulation::{
    DirectionTotals, EMULATION_FORMAT, EmulationReport, EmulationSlot, Lag, StationEmulation, Stray,
};
use airpace_core::phy::TxRate;
use airpace_sim::mac::{Direction, DropReason, FrameRecord};
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
    pub(crate) stray: Stray,
}

#[derive(Debug, Default)]
struct Station {
    down: Counters,
    up: Counters,
    rate: Option<TxRate>,
    current: EmulationSlot,
    slots: Vec<EmulationSlot>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    totals: DirectionTotals,
    new_packets: u64,
    airtime: Duration,
    /// Ends of the first and the last frame with new packets.
    span: Option<(Time, Time)>,
}

/// What the report says besides counts.
pub(crate) struct Circumstances {
    pub(crate) seed: u64,
    pub(crate) duration: Duration,
    /// Why there was no real-time priority; `None` if there was, or none was asked for.
    pub(crate) no_realtime: Option<String>,
    pub(crate) realtime: bool,
}

impl Statistics {
    pub(crate) fn new(stations: usize, slot: Duration) -> Self {
        // A minute of lag in steps of two significant digits; more is counted as a minute.
        let lag = Histogram::new_with_bounds(1, 60_000_000_000, 2).expect("these bounds are valid");
        let stations = (0..stations).map(|_| Station::default()).collect();
        Self { stations, lag, slot, slot_begin: Time::ZERO, stray: Stray::default() }
    }

    /// When the present slot ends.
    pub(crate) fn slot_end(&self) -> Time {
        self.slot_begin + self.slot
    }

    /// Ends the present slot; `queue` tells the length of a station's queue and its peak within the slot.
    pub(crate) fn end_slot(&mut self, mut queue: impl FnMut(StationId) -> (usize, usize)) {
        for (index, station) in self.stations.iter_mut().enumerate() {
            let (now, peak) = queue(StationId::from_index(index));
            let mut slot = core::mem::take(&mut station.current);
            slot.at_s = self.slot_begin.as_secs_f64();
            slot.level = level(slot.packets.into(), slot.frames.into());
            (slot.queue, slot.queue_max) = (count32(now), count32(peak));
            station.down.totals.queue_max = station.down.totals.queue_max.max(peak as u64);
            station.slots.push(slot);
        }
        self.slot_begin += self.slot;
    }

    pub(crate) fn on_lag(&mut self, lag: Duration) {
        self.lag.saturating_record(u64::try_from(lag.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn on_frame(&mut self, frame: &FrameRecord) {
        let Some(station) = self.stations.get_mut(frame.station.index()) else { return };
        let new = frame.mpdus.saturating_sub(frame.retries);
        let airtime_s = frame.airtime.as_secs_f64();
        let sample = u32::from(new > 0);
        if frame.direction == Direction::Down {
            station.rate = Some(frame.rate);
            station.current.frames += sample;
            station.current.packets += u32::from(new);
            station.current.retries += u32::from(frame.retries);
            station.current.airtime_s += airtime_s;
        } else {
            station.current.up_frames += sample;
            station.current.up_airtime_s += airtime_s;
        }
        station.counters(frame.direction).on_frame(frame, new);
    }

    pub(crate) fn on_delivered(&mut self, station: StationId, direction: Direction, bytes: u32) {
        let Some(station) = self.stations.get_mut(station.index()) else { return };
        let in_slot =
            if direction == Direction::Down { &mut station.current.bytes } else { &mut station.current.up_bytes };
        *in_slot += u64::from(bytes);
        let totals = &mut station.counters(direction).totals;
        totals.packets += 1;
        totals.bytes += u64::from(bytes);
    }

    pub(crate) fn on_dropped(&mut self, station: StationId, direction: Direction, reason: DropReason) {
        let Some(station) = self.stations.get_mut(station.index()) else {
            self.stray.unroutable += 1;
            return;
        };
        station.current.dropped += u32::from(direction == Direction::Down);
        let totals = &mut station.counters(direction).totals;
        match reason {
            DropReason::RetryLimit => totals.dropped_retries += 1,
            _ => totals.dropped_queue += 1,
        }
    }

    /// The report of a run; the present slot, which is not over, is left out of the series.
    pub(crate) fn report(self, about: Circumstances) -> EmulationReport {
        let duration_s = about.duration.as_secs_f64();
        let lag = self.lag();
        let warnings = warnings(&lag, &self.stray, about.no_realtime);
        let trusted = lag.p99_ms <= TRUSTED_LAG.as_secs_f64() * 1e3 && self.stray.refused == 0;
        let stations = self.stations.into_iter().enumerate();
        EmulationReport {
            format: EMULATION_FORMAT,
            seed: about.seed,
            duration_s,
            trusted,
            warnings,
            lag,
            realtime: about.realtime,
            stations: stations.map(|(index, station)| station.report(index, duration_s)).collect(),
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
        warnings.push(format!("The system did not take {} packets that the cell delivered.", stray.refused));
    }
    if let Some(reason) = no_realtime {
        warnings.push(format!("No real-time priority: {reason}."));
    }
    warnings
}

impl Station {
    fn counters(&mut self, direction: Direction) -> &mut Counters {
        if direction == Direction::Down { &mut self.down } else { &mut self.up }
    }

    fn report(self, index: usize, duration_s: f64) -> StationEmulation {
        StationEmulation {
            station: count32(index),
            address: station_address(index).to_string(),
            rate: self.rate.map(|rate| rate.to_string()).unwrap_or_default(),
            down: self.down.totals(duration_s),
            up: self.up.totals(duration_s),
            slots: self.slots,
        }
    }
}

impl Counters {
    fn on_frame(&mut self, frame: &FrameRecord, new: u16) {
        self.totals.retries += u64::from(frame.retries);
        self.totals.collisions += u64::from(frame.collided);
        self.airtime += frame.airtime;
        if new == 0 {
            self.totals.retry_frames += 1;
            return;
        }
        self.totals.frames += 1;
        self.new_packets += u64::from(new);
        self.span = Some((self.span.map_or(frame.end, |(first, _)| first), frame.end));
    }

    fn totals(&self, duration_s: f64) -> DirectionTotals {
        let per_second = |x: f64| if duration_s > 0.0 { x / duration_s } else { 0.0 };
        let gaps = self.totals.frames.saturating_sub(1);
        let round = self.span.filter(|_| gaps > 0);
        DirectionTotals {
            goodput_mbps: per_second(self.totals.bytes as f64 * 8e-6),
            level: level(self.new_packets, self.totals.frames),
            round_ms: round.map(|(first, last)| last.saturating_since(first).as_secs_f64() * 1e3 / gaps as f64),
            airtime: per_second(self.airtime.as_secs_f64()),
            ..self.totals
        }
    }
}

fn level(packets: u64, frames: u64) -> Option<f64> {
    (frames > 0).then(|| packets as f64 / frames as f64)
}

/// Counts of things in memory are far below 2³².
fn count32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
