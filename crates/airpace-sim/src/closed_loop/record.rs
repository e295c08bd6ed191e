//! The slots of a closed loop.

use super::{LoopConfig, station_node};
use crate::world::{NodeSlot, Outcome, ProxySlot};
use airpace_core::wire::ip::IPV4_UDP_HEADER_BYTES;
use airpace_units::{StationId, Time};
use core::time::Duration;

/// One slot of a closed loop.
#[derive(Clone, PartialEq, Debug)]
pub struct SlotRecord {
    /// Slot number, from zero.
    pub slot: u64,
    /// End of the slot.
    pub end: Time,
    /// The stations, in order; those that have not joined are all zero.
    pub stations: Vec<StationSlot>,
    /// The law's estimate of the overhead of a round after this slot, seconds.
    pub overhead_s: Option<f64>,
}

/// What one station received in a slot, and the rate decided for it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct StationSlot {
    /// Whether the station takes part.
    pub joined: bool,
    /// Its rate from the end of the slot on, packets per second.
    pub rate_pps: f64,
    /// Level that this rate aims at, packets per frame.
    pub target_level: f64,
    /// Frames that carried new packets.
    pub frames: u32,
    /// Mean packets per frame; 0 without frames.
    pub level: f64,
    /// Mean time between frames in seconds; 0 with fewer than two.
    pub round_s: f64,
    /// Mean one-way delay, from arrival at the access point to the end of the frame.
    pub delay_mean: Duration,
    /// Longest such delay.
    pub delay_max: Duration,
    /// Packets received per second.
    pub received_pps: f64,
    /// Payload received, Mbit/s.
    pub goodput_mbps: f64,
    /// Packets that never arrived, by sequence number.
    pub lost: u32,
    /// Packets waiting at the access point at the end of the slot.
    pub queue: usize,
}

impl LoopConfig {
    /// The slots of a run of this configuration.
    pub(super) fn records(&self, outcome: &Outcome) -> Vec<SlotRecord> {
        let mut decisions = outcome.decisions.first().map_or(&[][..], Vec::as_slice);
        let mut records = Vec::with_capacity(outcome.slots.len());
        for (slot, network) in (0..).zip(&outcome.slots) {
            // Reports reach the law at the end of the slot, so its decision has the same time.
            // Urgent reports cut a slot, and the law decides more often.
            let end = decisions.partition_point(|decision| decision.at <= network.end);
            let (decided, later) = decisions.split_at(end);
            decisions = later;
            let stations = (0..self.cell.stations.len()).map(|idx| {
                let station = StationId::from_index(idx);
                let node = station_node(station);
                let decisions = decided.iter().filter(|d| d.station == node);
                let mut slot = self.station_slot(&network.nodes[node.0 as usize], decisions);
                slot.joined = self.joined_by(station, network.end);
                // Each station has a link down and a link up.
                slot.queue = network.links[2 * idx].queued;
                slot
            });
            records.push(SlotRecord {
                slot,
                end: network.end,
                stations: stations.collect(),
                overhead_s: decided.last().and_then(|decision| decision.overhead_s),
            });
        }
        records
    }

    fn joined_by(&self, station: StationId, end: Time) -> bool {
        let late = self.joins.iter().find(|(late, _)| *late == station);
        late.is_none_or(|(_, at)| *at <= end)
    }

    fn station_slot<'a>(
        &self,
        received: &NodeSlot,
        decisions: impl Iterator<Item = &'a ProxySlot>,
    ) -> StationSlot {
        let mut last = None;
        // Of the parts of the slot, each as its report has it.
        let (mut frames, mut lost, mut packets, mut gaps_s) = (0, 0, 0.0, 0.0);
        for decision in decisions {
            last = Some(decision);
            frames += decision.frames;
            lost += decision.lost;
            packets += decision.level.unwrap_or_default() * f64::from(decision.frames);
            gaps_s += decision.round_s.unwrap_or_default() * f64::from(decision.frames);
        }
        let per_frame = |sum: f64| if frames > 0 { sum / f64::from(frames) } else { 0.0 };
        let seconds = self.slot.as_secs_f64();
        let received_pps = f64::from(received.received) / seconds;
        let payload_bytes = self.packet_bytes.saturating_sub(IPV4_UDP_HEADER_BYTES);
        StationSlot {
            joined: true,
            rate_pps: last.and_then(|d| d.rate_pps).unwrap_or_default(),
            target_level: last.map_or(0.0, |d| d.target_level),
            frames,
            level: per_frame(packets),
            round_s: per_frame(gaps_s),
            delay_mean: received
                .delay_sum
                .checked_div(received.received)
                .unwrap_or_default(),
            delay_max: received.delay_max,
            received_pps,
            goodput_mbps: received_pps * 8e-6 * f64::from(payload_bytes),
            lost,
            queue: 0,
        }
    }
}

/// Mean of `value` over the joined stations of `slots`; 0 if there are none.
#[must_use]
pub fn mean_over(slots: &[SlotRecord], value: impl Fn(&StationSlot) -> f64) -> f64 {
    let joined = || {
        slots
            .iter()
            .flat_map(|slot| &slot.stations)
            .filter(|station| station.joined)
    };
    let count = joined().count();
    if count == 0 {
        0.0
    } else {
        joined().map(value).sum::<f64>() / count as f64
    }
}

/// Mean round time in seconds over stations and slots, weighted by frames.
#[must_use]
pub fn mean_round_s(slots: &[SlotRecord]) -> f64 {
    let gaps = |s: &StationSlot| f64::from(s.frames.saturating_sub(1));
    let total = mean_over(slots, gaps);
    if total > 0.0 {
        mean_over(slots, |s| s.round_s * gaps(s)) / total
    } else {
        0.0
    }
}
