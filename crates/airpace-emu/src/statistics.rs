//! Counts what happens in a run, and measures how late the emulator was.

mod report;

#[cfg(test)]
mod tests;

use crate::packet::EmulatedPacket;
use crate::series;
use airpace_api::emulation::{DirectionTotals, EmulationSlot, QueueDrops, Stray};
use airpace_core::packet::Packet as _;
use airpace_core::phy::TxRate;
use airpace_core::queue;
use airpace_sim::mac::{Direction, DropReason, FrameRecord, FrameTally};
use airpace_units::{StationId, Time};
use core::time::Duration;
use hdrhistogram::Histogram;

pub(crate) use report::RunDescription;

/// 99th percentile of the lag above which a run cannot be trusted: a sixth of the longest frame,
/// and less than any delay that is measured through the cell.
pub const TRUSTED_LAG: Duration = Duration::from_millis(1);

/// The statistics of a run.
#[derive(Debug)]
pub(crate) struct Statistics {
    stations: Vec<StationCounts>,
    /// In nanoseconds.
    lag: Histogram<u64>,
    /// Length of the slots of the time series.
    slot: Duration,
    slot_begin: Time,
    /// Most slots of each station's series; `None` if no series is kept.
    max_slots: Option<usize>,
    /// Whether slots have been merged.
    merged: bool,
    pub(crate) stray: Stray,
}

/// The queues of one station at the end of a slot, in packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StationQueues {
    /// Length of that at the access point.
    pub(crate) length: usize,
    /// The most that it had within the slot.
    pub(crate) peak: usize,
    /// The most that the station's own queue had within the slot.
    pub(crate) uplink_peak: usize,
}

/// The counts of one station.
#[derive(Debug, Default)]
struct StationCounts {
    down: DirectionCounts,
    up: DirectionCounts,
    /// Rate of the last downlink frame.
    rate: Option<TxRate>,
    /// The counts of the present slot.
    current: SlotCounts,
    /// The slots that have ended.
    slots: Vec<EmulationSlot>,
}

/// The counts of one station in one slot.
#[derive(Debug, Default)]
struct SlotCounts {
    down: FrameTally,
    up: FrameTally,
    /// Bytes delivered to the station.
    bytes: u64,
    /// Bytes delivered by the station.
    up_bytes: u64,
    /// Downlink packets dropped.
    dropped: u32,
}

/// The counts of one station in one direction.
#[derive(Clone, Copy, Debug, Default)]
struct DirectionCounts {
    frames: FrameTally,
    /// The counts of packets; the fields about frames are filled in for the report.
    totals: DirectionTotals,
}

impl Statistics {
    pub(crate) fn new(stations: usize, slot: Duration, max_slots: Option<usize>) -> Self {
        // Up to a minute, with two significant digits. A longer lag counts as a minute.
        let lag = Histogram::new_with_bounds(1, 60_000_000_000, 2).expect("these bounds are valid");
        let stations = (0..stations).map(|_| StationCounts::default()).collect();
        Self {
            stations,
            lag,
            slot,
            slot_begin: Time::ZERO,
            max_slots,
            merged: false,
            stray: Stray::default(),
        }
    }

    /// Returns when the present slot ends.
    pub(crate) fn slot_end(&self) -> Time {
        self.slot_begin + self.slot
    }

    /// Ends the present slot. `queues` returns the queues of a station.
    pub(crate) fn end_slot(&mut self, mut queues: impl FnMut(StationId) -> StationQueues) {
        for (index, station) in self.stations.iter_mut().enumerate() {
            let queues = queues(StationId::from_index(index));
            let slot = core::mem::take(&mut station.current);
            let (down, up) = (&mut station.down.totals, &mut station.up.totals);
            down.queue_max = down.queue_max.max(queues.peak as u64);
            up.queue_max = up.queue_max.max(queues.uplink_peak as u64);
            if self.max_slots.is_some() {
                let slot = slot.finish(self.slot_begin, queues.length, queues.peak);
                station.slots.push(slot);
            }
        }
        self.slot_begin += self.slot;
        // All stations have the same number of slots.
        let n = self.stations.first().map_or(0, |s| s.slots.len());
        if self.max_slots.is_some_and(|max| n >= max) {
            self.merge_slots();
        }
    }

    /// Halves the resolution of the time series, from now on too.
    fn merge_slots(&mut self) {
        for station in &mut self.stations {
            series::halve(&mut station.slots);
        }
        self.slot *= 2;
        self.merged = true;
    }

    /// Adds the counts of another cell with the same stations, of the same time.
    pub(crate) fn add(&mut self, other: Self) {
        for (station, other) in self.stations.iter_mut().zip(other.stations) {
            station.add(other);
        }
        // The bounds of the histograms are the same.
        let _ = self.lag.add(other.lag);
        self.stray.unroutable += other.stray.unroutable;
        self.stray.oversized += other.stray.oversized;
        self.stray.group_lost += other.stray.group_lost;
        self.stray.unassociated += other.stray.unassociated;
        self.stray.unheard += other.stray.unheard;
    }

    /// Counts how late an event was handled.
    pub(crate) fn on_lag(&mut self, lag: Duration) {
        self.lag
            .saturating_record(u64::try_from(lag.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Counts a frame that has left the air.
    pub(crate) fn on_frame(&mut self, frame: &FrameRecord) {
        let Some(station) = self.stations.get_mut(frame.station().index()) else {
            return;
        };
        station.counts(frame.direction()).frames.on_frame(frame);
        if frame.direction() == Direction::Down {
            station.rate = Some(frame.rate);
            station.current.down.on_frame(frame);
        } else {
            station.current.up.on_frame(frame);
        }
    }

    /// Counts a packet that its receiver has released.
    pub(crate) fn on_delivered(
        &mut self,
        station: StationId,
        direction: Direction,
        packet: &EmulatedPacket,
    ) {
        let Some(station) = self.stations.get_mut(station.index()) else {
            return;
        };
        let bytes = u64::from(packet.bytes());
        if direction == Direction::Down {
            station.current.bytes += bytes;
        } else {
            station.current.up_bytes += bytes;
        }
        let totals = &mut station.counts(direction).totals;
        totals.packets += 1;
        totals.marked += u64::from(packet.is_marked());
        totals.bytes += bytes;
    }

    /// Counts a packet that has been dropped.
    pub(crate) fn on_dropped(
        &mut self,
        station: StationId,
        direction: Direction,
        reason: DropReason,
    ) {
        let Some(station) = self.stations.get_mut(station.index()) else {
            // The station behind the last stands for all of them.
            self.stray.group_lost += 1;
            return;
        };
        station.current.dropped += u32::from(direction == Direction::Down);
        let totals = &mut station.counts(direction).totals;
        match reason {
            DropReason::RetryLimit => totals.dropped_retries += 1,
            DropReason::Queue(reason) => count_drop(&mut totals.drops, reason),
            _ => totals.drops.other += 1,
        }
    }

    /// Counts downlink packets that were dropped because their station was absent, or slept for too
    /// long.
    pub(crate) fn on_undelivered(&mut self, station: StationId, packets: u64) {
        match self.stations.get_mut(station.index()) {
            Some(station) => {
                let dropped = u32::try_from(packets).unwrap_or(u32::MAX);
                station.current.dropped = station.current.dropped.saturating_add(dropped);
                station.down.totals.drops.gone += packets;
            }
            None => self.stray.group_lost += packets,
        }
    }
}

impl StationCounts {
    /// Adds what another cell has counted of the same station.
    fn add(&mut self, other: Self) {
        self.rate = self.rate.or(other.rate);
        self.down.add(&other.down);
        self.up.add(&other.up);
        for (slot, other) in self.slots.iter_mut().zip(&other.slots) {
            *slot = series::sum(slot, other);
        }
    }

    /// Returns the counts of one direction.
    fn counts(&mut self, direction: Direction) -> &mut DirectionCounts {
        match direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }
}

impl DirectionCounts {
    /// Adds what another cell has counted.
    fn add(&mut self, other: &Self) {
        self.frames.append(&other.frames);
        let (to, from) = (&mut self.totals, &other.totals);
        to.packets += from.packets;
        to.bytes += from.bytes;
        to.marked += from.marked;
        to.dropped_retries += from.dropped_retries;
        to.queue_max = to.queue_max.max(from.queue_max);
        to.drops.full += from.drops.full;
        to.drops.codel += from.drops.codel;
        to.drops.longest_flow += from.drops.longest_flow;
        to.drops.gone += from.drops.gone;
        to.drops.other += from.drops.other;
    }
}

/// Counts a packet that a queue has dropped.
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
