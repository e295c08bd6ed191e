//! Virtual time: a rate controller in closed loop with the MAC.
//!
//! Each station has a source that always has packets and the live system's pacer, which lets them go to the access point; the live system's meter,
//! which hears what a monitor interface would show of the station's MPDUs; and a place in the controller's slot. All is driven by one queue of events
//! in the total order time, class, node, sequence; a run is a function of its configuration.

mod node;
mod record;
#[cfg(test)]
mod tests;

pub use record::{SlotRecord, StationSlot, mean_over, mean_round_s};

use crate::mac::{self, CellConfig, Direction, Input, Mac, Neighbours, Output};
use airpace_core::control::{self, LawConfig, RateController};
use airpace_core::packet::Packet;
use airpace_core::phy::TxRate;
use airpace_core::report::{Allocation, SlotReport};
use airpace_units::{StationId, Time};
use core::cmp::Reverse;
use core::hash::Hasher;
use core::time::Duration;
use node::Node;
use std::collections::BinaryHeap;
use thiserror::Error;

/// Bytes of IP and UDP headers, the difference between a packet and its payload.
const HEADER_BYTES: u32 = 28;

/// A closed loop.
#[derive(Clone, Debug)]
pub struct LoopConfig {
    /// The cell, with every station that will ever take part.
    pub mac: CellConfig,
    /// The law.
    pub law: LawConfig,
    /// Length of a slot (Δ).
    pub slot: Duration,
    /// Bytes of a packet with its IP header (default 1498, the papers' 1470 bytes of payload).
    pub packet_bytes: u32,
    /// Bytes with IP header of a report that each station sends over the air once per slot; `None` sends none. What the controller learns is the
    /// same: on the air a report is load.
    pub report_bytes: Option<u32>,
    /// Stations that take part from the start; the others join by [`Change::Join`].
    pub joined: usize,
    /// Seed of every draw.
    pub seed: u64,
}

impl LoopConfig {
    /// A loop in which every station takes part and reports cost nothing.
    #[must_use]
    pub fn new(mac: CellConfig, law: LawConfig, slot: Duration) -> Self {
        let joined = mac.stations.len();
        Self {
            mac,
            law,
            slot,
            packet_bytes: 1_498,
            report_bytes: None,
            joined,
            seed: 1,
        }
    }
}

/// Why a loop cannot be built.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum LoopError {
    /// The cell is refused.
    #[error(transparent)]
    Mac(#[from] mac::ConfigError),
    /// The law is refused.
    #[error(transparent)]
    Law(#[from] control::ConfigError),
    /// A slot of no length.
    #[error("the slot must be longer than zero")]
    Slot,
}

/// Something that happens to the cell while the loop runs.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// A station's rate changes.
    Rate(StationId, TxRate),
    /// A station's MPDU loss probability changes.
    Loss(StationId, f64),
    /// Neighbouring networks come, change or go.
    Neighbours(Neighbours),
    /// A station starts to take part.
    Join(StationId),
    /// Packets for a station arrive all at once, beside its paced source's.
    Burst(StationId, u32),
}

/// The packets of paced sources and of reports.
#[derive(Clone, Copy, Debug)]
struct Probe {
    station: StationId,
    sequence: u64,
    sent: Time,
    bytes: u32,
}

impl Packet for Probe {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.station.0);
    }

    fn mark_ce(&mut self) -> bool {
        false
    }
}

/// What an event is, in the order in which events of one instant happen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Class {
    Change,
    Slot,
    Report,
    Packet,
}

/// Key of an event: time, class, node, sequence.
type Event = (Time, Class, usize, u64);

/// A controller and a cell in virtual time.
pub struct ClosedLoop {
    mac: Mac<Probe>,
    law: Box<dyn RateController + Send>,
    nodes: Vec<Node>,
    events: BinaryHeap<Reverse<Event>>,
    changes: Vec<Change>,
    slot: u64,
    slot_length: Duration,
    packet_bytes: u32,
    report_bytes: Option<u32>,
    records: Vec<SlotRecord>,
    frames: Option<Vec<mac::FrameRecord>>,
}

impl ClosedLoop {
    /// A loop at time zero. The first rates are those that the law gives to stations of which it knows nothing.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn new(config: LoopConfig) -> Result<Self, LoopError> {
        if config.slot.is_zero() {
            return Err(LoopError::Slot);
        }
        let stations = config.mac.stations.len();
        let nodes = (0..stations).map(|idx| Node::new(idx, &config)).collect();
        // The meters hear what a monitor interface would show.
        let cell = CellConfig {
            monitor: true,
            ..config.mac
        };
        let mut this = Self {
            mac: Mac::cell(&cell, config.seed)?,
            law: config.law.build()?,
            nodes,
            events: BinaryHeap::new(),
            changes: Vec::new(),
            slot: 0,
            slot_length: config.slot,
            packet_bytes: config.packet_bytes,
            report_bytes: config.report_bytes,
            records: Vec::new(),
            frames: None,
        };
        for idx in 0..config.joined.min(stations) {
            this.join(Time::ZERO, idx);
        }
        // Reports of nothing make the stations known.
        let reports: Vec<_> = this
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.joined)
            .map(|(idx, _)| SlotReport::silent(StationId::from_index(idx), config.slot))
            .collect();
        let allocations = this.law.on_slot(Time::ZERO, &reports).to_vec();
        this.apply(Time::ZERO, &allocations);
        this.push(Time::ZERO + config.slot, Class::Slot, 0, 0);
        Ok(this)
    }

    /// Keeps every downlink frame record from now on, for [`ClosedLoop::take_frames`].
    pub fn keep_frames(&mut self) {
        self.frames.get_or_insert_default();
    }

    /// The downlink frame records kept since this was last called.
    pub fn take_frames(&mut self) -> Vec<mac::FrameRecord> {
        self.frames
            .as_mut()
            .map(core::mem::take)
            .unwrap_or_default()
    }

    /// Makes `change` happen at `at`; changes of one instant happen in the order in which they were scheduled.
    pub fn schedule(&mut self, at: Time, change: Change) {
        let index = self.changes.len();
        self.changes.push(change);
        self.push(at, Class::Change, index, 0);
    }

    /// Runs `slots` whole slots and returns their records.
    pub fn run(&mut self, slots: usize) -> &[SlotRecord] {
        let begin = self.records.len();
        while self.records.len() < begin + slots {
            // The next slot's end is always scheduled.
            let Some(Reverse(event)) = self.events.pop() else {
                break;
            };
            self.handle(event);
        }
        &self.records[begin..]
    }

    /// Every slot so far.
    #[must_use]
    pub fn records(&self) -> &[SlotRecord] {
        &self.records
    }

    fn push(&mut self, at: Time, class: Class, node: usize, sequence: u64) {
        self.events.push(Reverse((at, class, node, sequence)));
    }

    fn handle(&mut self, (now, class, node, sequence): Event) {
        match class {
            Class::Change => self.change(now, node),
            Class::Slot => self.end_slot(now),
            Class::Report => self.send_report(now, node),
            Class::Packet if self.nodes[node].epoch == sequence => self.send_packet(now, node),
            // The rate has changed since; the source's new event is in the queue.
            Class::Packet => {}
        }
    }

    fn change(&mut self, now: Time, index: usize) {
        match self.changes[index] {
            Change::Rate(station, rate) => {
                Input::station_rate(station, rate)
                    .into_iter()
                    .for_each(|input| self.mac.handle(now, input));
            }
            Change::Loss(station, probability) => {
                Input::station_loss(station, probability)
                    .into_iter()
                    .for_each(|input| self.mac.handle(now, input));
            }
            Change::Neighbours(neighbours) => {
                self.mac.handle(now, Input::SetNeighbours(neighbours))
            }
            Change::Join(station) => self.join(now, station.index()),
            Change::Burst(station, packets) => {
                (0..packets).for_each(|_| self.enqueue(now, station.index()))
            }
        }
        self.drain();
    }

    fn join(&mut self, now: Time, idx: usize) {
        let Some(node) = self.nodes.get_mut(idx) else {
            return;
        };
        if !core::mem::replace(&mut node.joined, true) && self.report_bytes.is_some() {
            let at = now + node.report_phase;
            self.push(at, Class::Report, idx, 0);
        }
    }

    fn send_report(&mut self, now: Time, idx: usize) {
        let Some(bytes) = self.report_bytes else {
            return;
        };
        let station = StationId::from_index(idx);
        self.mac.handle(
            now,
            Input::up(
                station,
                Probe {
                    station,
                    sequence: 0,
                    sent: now,
                    bytes,
                },
            ),
        );
        self.drain();
        self.push(now + self.slot_length, Class::Report, idx, 0);
    }

    fn send_packet(&mut self, now: Time, idx: usize) {
        // The event stands for the first packet that may go; the pacer decides on any that may go with it.
        while self.nodes[idx].pacer.release(now, self.packet_bytes) {
            self.enqueue(now, idx);
        }
        self.drain();
        self.await_release(now, idx);
    }

    /// Puts the station's next release into the queue of events.
    fn await_release(&mut self, now: Time, idx: usize) {
        let node = &self.nodes[idx];
        let event = node
            .pacer
            .next_release()
            .map(|due| Reverse((due.max(now), Class::Packet, idx, node.epoch)));
        self.events.extend(event);
    }

    fn enqueue(&mut self, now: Time, idx: usize) {
        let Some(node) = self.nodes.get_mut(idx) else {
            return;
        };
        let station = StationId::from_index(idx);
        let packet = Probe {
            station,
            sequence: node.sequence,
            sent: now,
            bytes: self.packet_bytes,
        };
        node.sequence += 1;
        node.sent += 1;
        self.mac.handle(now, Input::down(station, packet));
    }

    /// Hands what the cell did to the meters.
    fn drain(&mut self) {
        while let Some(output) = self.mac.poll() {
            match output {
                Output::Frame(frame) if frame.direction() == Direction::Down => {
                    self.nodes[frame.station().index()].frame = Some(frame);
                    if let Some(frames) = &mut self.frames {
                        frames.push(frame);
                    }
                }
                Output::Heard { mpdu, packet } if mpdu.direction() == Direction::Down => {
                    self.nodes[mpdu.station().index()].hear(&mpdu, &packet);
                }
                Output::Delivered { at, mpdu, packet } if mpdu.direction() == Direction::Down => {
                    self.nodes[mpdu.station().index()].receive(at, &packet);
                }
                // Losses are seen by the station, as holes; the uplink is load only.
                Output::Frame(_)
                | Output::Delivered { .. }
                | Output::Heard { .. }
                | Output::Dropped { .. } => {}
            }
        }
    }

    fn end_slot(&mut self, now: Time) {
        self.mac.handle(now, Input::Tick);
        self.drain();
        let stations = self.control(now);
        let diagnostics = self.law.diagnostics();
        self.records.push(SlotRecord {
            slot: self.slot,
            end: now,
            stations,
            diagnostics,
        });
        self.slot += 1;
        self.push(now + self.slot_length, Class::Slot, 0, 0);
    }

    /// Closes the meters, lets the law decide and sets the pacers; returns what the slot was.
    fn control(&mut self, now: Time) -> Vec<StationSlot> {
        let mut reports = Vec::with_capacity(self.nodes.len());
        let mut stations = Vec::with_capacity(self.nodes.len());
        for (idx, node) in self.nodes.iter_mut().enumerate() {
            let id = StationId::from_index(idx);
            let (report, mut station) = node.close(now, self.packet_bytes);
            let (from, to) = mac::ends(id, Direction::Down);
            (station.queue, station.queue_peak) = (
                self.mac.queued(from, to),
                self.mac.take_queue_peak(from, to),
            );
            stations.push(station);
            reports.extend(node.joined.then_some(report));
        }
        let allocations = self.law.on_slot(now, &reports).to_vec();
        self.apply(now, &allocations);
        stations
    }

    fn apply(&mut self, now: Time, allocations: &[Allocation]) {
        for allocation in allocations {
            let idx = allocation.station.index();
            let start = self.nodes[idx].grant(now, allocation);
            self.await_release(start, idx);
        }
    }
}
