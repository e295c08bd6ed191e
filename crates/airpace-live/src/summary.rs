//! Slots become rows of some seconds, so that telemetry can stay on for good.
//!
//! Nothing is thrown away by sampling: counts are added up, rates and estimates are averaged over
//! time, what concerns frames is averaged over frames, and backlogs and percentiles are the largest of
//! the slots' own. A percentile of all packets of a summary is at most that.

use airpace_core::control::Diagnostics;
use airpace_core::report::{Sensor, SlotReport};
use airpace_edge::proxy::SlotRecord;
use core::ops::RangeBounds;
use core::time::Duration;
use std::collections::BTreeMap;

/// Length of a summary during which there is traffic. With twenty stations, rows of this length are
/// about 100 MB a day.
pub(crate) const INTERVAL: Duration = Duration::from_secs(10);
/// Length after which a change of note ends a summary. Whatever changes how often, there are at most
/// twice as many rows.
pub(crate) const CHANGE_INTERVAL: Duration = Duration::from_secs(5);
/// Length of a summary during which nothing happens.
pub(crate) const IDLE_INTERVAL: Duration = Duration::from_secs(60);

/// A mean with weights.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    pub(crate) fn add(&mut self, value: Option<f64>, weight: f64) {
        if let Some(value) = value {
            self.sum += value * weight;
            self.weight += weight;
        }
    }

    /// `None` if there was no value.
    pub(crate) fn value(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }
}

/// Several slots of a station as one.
#[derive(Debug)]
pub(crate) struct Summary {
    /// The record of all slots. What is averaged is right after [`Summary::finish`].
    pub(crate) record: SlotRecord,
    /// Number of slots.
    pub(crate) slots: u32,
    /// Mean time between frames within slots, in seconds.
    pub(crate) round: Mean,
    /// Mean of what is known of the medium beside the record: the share of the air that others use.
    pub(crate) air_of_others: Mean,
    is_active: bool,
    level: Mean,
    rate_pps: Mean,
    rate_bytes: Mean,
    overhead: Mean,
    price: Mean,
    inverse_phy_rate: Mean,
}

impl Summary {
    fn new(record: SlotRecord, air_of_others: Option<f64>) -> Self {
        let mut summary = Self {
            slots: 0,
            round: Mean::default(),
            air_of_others: Mean::default(),
            is_active: false,
            level: Mean::default(),
            rate_pps: Mean::default(),
            rate_bytes: Mean::default(),
            overhead: Mean::default(),
            price: Mean::default(),
            inverse_phy_rate: Mean::default(),
            record,
        };
        let first = summary.record.clone();
        summary.average(&first, air_of_others);
        summary
    }

    /// Adds a later slot.
    fn append(&mut self, later: &SlotRecord, air_of_others: Option<f64>) {
        self.average(later, air_of_others);
        let whole = &mut self.record;
        whole.at = later.at;
        whole.mode = later.mode;
        whole.granted = later.granted.or(whole.granted);
        whole.report = match (whole.report.take(), &later.report) {
            (Some(mut first), Some(second)) => {
                first.append(second);
                first.sensor = second.sensor;
                Some(first)
            }
            (first, second) => first.or_else(|| second.clone()),
        };
        whole.diagnostics = joined(&whole.diagnostics, &later.diagnostics);
        whole.length = whole.length.saturating_add(later.length);
        whole.sent_bytes = whole.sent_bytes.saturating_add(later.sent_bytes);
        whole.backlog_packets = whole.backlog_packets.max(later.backlog_packets);
        whole.backlog_bytes = whole.backlog_bytes.max(later.backlog_bytes);
        whole.sojourn_p50 = whole.sojourn_p50.max(later.sojourn_p50);
        whole.sojourn_p95 = whole.sojourn_p95.max(later.sojourn_p95);
        whole.dropped = whole.dropped.saturating_add(later.dropped);
        whole.marked = whole.marked.saturating_add(later.marked);
        whole.rejected = later.rejected;
    }

    /// Takes a slot into the means.
    fn average(&mut self, slot: &SlotRecord, air_of_others: Option<f64>) {
        self.slots += 1;
        self.is_active |= has_traffic(slot);
        let seconds = slot.length.as_secs_f64().max(1e-9);
        let granted = slot.granted.as_ref();
        self.level
            .add(granted.map(|granted| granted.level), seconds);
        self.rate_pps
            .add(granted.map(|granted| granted.rate_pps), seconds);
        self.rate_bytes
            .add(granted.map(|granted| granted.rate_bytes_per_s), seconds);
        self.overhead.add(slot.diagnostics.overhead_s, seconds);
        self.price.add(slot.diagnostics.price, seconds);
        self.air_of_others.add(air_of_others, seconds);
        if let Some(report) = &slot.report {
            let frames = f64::from(report.frames);
            self.round.add(report.round_s(), frames);
            let rate = report.phy_rate_bps();
            self.inverse_phy_rate.add(rate.map(f64::recip), frames);
        }
    }

    /// Puts the means into the record.
    fn finish(mut self) -> Self {
        let whole = &mut self.record;
        if let Some(granted) = &mut whole.granted {
            granted.level = self.level.value().unwrap_or(granted.level);
            granted.rate_pps = self.rate_pps.value().unwrap_or(granted.rate_pps);
            granted.rate_bytes_per_s = self.rate_bytes.value().unwrap_or(granted.rate_bytes_per_s);
        }
        whole.diagnostics.overhead_s = self.overhead.value();
        whole.diagnostics.price = self.price.value();
        if let Some(report) = &mut whole.report {
            let inverse = self.inverse_phy_rate.value().unwrap_or(0.0);
            report.inverse_rate_sum = inverse * f64::from(report.frames);
        }
        self
    }

    fn sensor(&self) -> Option<Sensor> {
        sensor(&self.record)
    }
}

fn sensor(record: &SlotRecord) -> Option<Sensor> {
    record.report.as_ref().map(|report| report.sensor)
}

/// The diagnostics of both slots, without those that are averaged.
fn joined(first: &Diagnostics, later: &Diagnostics) -> Diagnostics {
    let larger = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    };
    Diagnostics {
        smallest_delay_s: larger(first.smallest_delay_s, later.smallest_delay_s),
        least_latency_s: larger(first.least_latency_s, later.least_latency_s),
        capped_elsewhere: first.capped_elsewhere.max(later.capped_elsewhere),
        ..*later
    }
}

/// Whether anything was sent to the station, or came from it, in its slot.
pub(crate) fn has_traffic(record: &SlotRecord) -> bool {
    let is_reported = record.report.as_ref().is_some_and(|report: &SlotReport| {
        report.frames > 0 || report.bytes > 0 || report.sender.uplink_frames > 0
    });
    let is_sent = record.sent_bytes > 0 || record.backlog_packets > 0;
    is_reported || is_sent || record.dropped > 0 || record.marked > 0
}

/// The summaries of all stations that have not ended, by what tells stations apart.
#[derive(Debug)]
pub(crate) struct Summaries<K> {
    pending: BTreeMap<K, Summary>,
}

impl<K> Default for Summaries<K> {
    fn default() -> Self {
        Self {
            pending: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Copy> Summaries<K> {
    /// Adds a slot of `station`. Returns the summary of those before, if it has ended.
    ///
    /// A summary ends when it is long enough, and sooner if the mode or the sensor changes or
    /// traffic begins.
    pub(crate) fn add(
        &mut self,
        station: K,
        record: SlotRecord,
        air_of_others: Option<f64>,
    ) -> Option<Summary> {
        let Some(pending) = self.pending.get_mut(&station) else {
            self.pending
                .insert(station, Summary::new(record, air_of_others));
            return None;
        };
        let length = pending.record.length;
        let has_new_sensor = matches!(
            (pending.sensor(), sensor(&record)),
            (Some(before), Some(now)) if before != now
        );
        let begins = !pending.is_active && has_traffic(&record);
        let has_changed = pending.record.mode != record.mode || has_new_sensor || begins;
        let whole = if pending.is_active {
            INTERVAL
        } else {
            IDLE_INTERVAL
        };
        if length >= whole || (has_changed && length >= CHANGE_INTERVAL) {
            let next = Summary::new(record, air_of_others);
            return Some(core::mem::replace(pending, next).finish());
        }
        pending.append(&record, air_of_others);
        None
    }

    /// Ends a summary of stations in this range in which something has happened; `None` when there are
    /// no more, and all of these stations are forgotten.
    pub(crate) fn end_in(&mut self, stations: &impl RangeBounds<K>) -> Option<(K, Summary)> {
        loop {
            let bounds = (stations.start_bound(), stations.end_bound());
            let (&station, _) = self.pending.range(bounds).next()?;
            let ended = self.pending.remove(&station)?;
            if ended.is_active {
                return Some((station, ended.finish()));
            }
        }
    }
}

#[cfg(test)]
mod tests;
