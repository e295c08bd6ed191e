//! Makes the report of a run from its counts.

use super::{DirectionCounts, SlotCounts, StationCounts, Statistics, TRUSTED_LAG};
use crate::address::station_address;
use airpace_api::emulation::{
    DirectionTotals, EMULATION_FORMAT, EmulationReport, EmulationSlot, Lag, StationEmulation, Stray,
};
use airpace_core::model::jain;
use airpace_sim::mac::FrameTally;
use airpace_units::Time;
use core::time::Duration;

/// What the report says besides counts.
pub(crate) struct RunDescription {
    pub(crate) seed: u64,
    pub(crate) duration: Duration,
    /// Whether the emulator's thread had real-time priority.
    pub(crate) realtime: bool,
    /// Why the system refused real-time priority; `None` if it was granted or not asked for.
    pub(crate) no_realtime: Option<String>,
    /// Name of the access point's queueing scheme.
    pub(crate) access_point: String,
}

impl Statistics {
    /// Returns the report of a run. Its series does not include the present slot, which has not
    /// ended.
    pub(crate) fn report(self, run: RunDescription) -> EmulationReport {
        let duration_s = run.duration.as_secs_f64();
        let lag = self.lag();
        let mut warnings = warnings(&lag, &self.stray, run.no_realtime);
        if self.merged {
            warnings.push(format!(
                "The run was long: the slots of the time series were merged to {:?}.",
                self.slot
            ));
        }
        let is_late = lag.p99_ms > TRUSTED_LAG.as_secs_f64() * 1e3;
        let trusted = !is_late && self.stray.refused == 0 && self.stray.overflowed == 0;
        let mut stations = Vec::new();
        for (index, station) in self.stations.into_iter().enumerate() {
            stations.push(station.report(index, duration_s));
        }
        let airtimes: Vec<f64> = stations.iter().map(|station| station.airtime).collect();
        EmulationReport {
            format: EMULATION_FORMAT,
            seed: run.seed,
            duration_s,
            trusted,
            warnings,
            lag,
            realtime: run.realtime,
            access_point: run.access_point,
            jain_airtime: jain(&airtimes),
            stations,
            stray: self.stray,
            slot_s: self.slot.as_secs_f64(),
        }
    }

    /// Returns how late the emulator was.
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

/// Returns what the user must know before using the figures.
fn warnings(lag: &Lag, stray: &Stray, no_realtime: Option<String>) -> Vec<String> {
    let mut warnings = Vec::new();
    if lag.p99_ms > TRUSTED_LAG.as_secs_f64() * 1e3 {
        warnings.push(format!(
            "The emulator was {:.1} ms late at the 99th percentile: do not trust these figures; \
             use a less busy machine, fewer stations or lower rates.",
            lag.p99_ms
        ));
    }
    if stray.refused > 0 {
        warnings.push(format!(
            "The system did not accept {} packets that the cell delivered: do not trust these \
             figures.",
            stray.refused
        ));
    }
    if stray.overflowed > 0 {
        warnings.push(format!(
            "The emulator did not read {} packets before the system dropped them: do not trust \
             these figures; use a less busy machine, or send less than the machine can carry.",
            stray.overflowed
        ));
    }
    if let Some(reason) = no_realtime {
        warnings.push(format!("No real-time priority: {reason}."));
    }
    warnings
}

impl StationCounts {
    fn report(self, index: usize, duration_s: f64) -> StationEmulation {
        let down = self.down.totals(duration_s);
        let up = self.up.totals(duration_s);
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

impl SlotCounts {
    /// Returns the slot of the time series; the queue's length and peak are in packets.
    pub(super) fn finish(&self, begin: Time, queue: usize, queue_max: usize) -> EmulationSlot {
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

impl DirectionCounts {
    /// Returns the totals of the direction over a run of `duration_s`.
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

/// Converts a count of things in memory, which is far below 2^32.
fn count32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
