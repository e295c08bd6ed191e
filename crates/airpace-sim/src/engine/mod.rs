//! Virtual time: a rate controller in closed loop with the MAC.
//!
//! Each station has a paced source that feeds the access point, a meter that turns frames into reports, and a place in the controller's slot. All
//! is driven by one queue of events in the total order time, class, node, sequence; a run is a function of its configuration.

mod meter;
mod record;
mod source;
#[cfg(test)]
mod tests;

pub use record::{SlotRecord, StationSlot, mean_over, mean_round_s};

use crate::mac::{self, Direction, Input, Mac, MacConfig, Neighbours, Output};
use crate::rng::Stream;
use airpace_core::control::{self, LawConfig, RateController};
use airpace_core::packet::Packet;
use airpace_core::phy::TxRate;
use airpace_core::report::{SenderView, SlotReport};
use airpace_units::{StationId, Time};
use core::cmp::Reverse;
use core::hash::Hasher;
use core::time::Duration;
use meter::Meter;
use source::Source;
use std::collections::BinaryHeap;
use thiserror::Error;

/// Bytes of IP and UDP headers, the difference between a packet and its payload.
const HEADER_BYTES: u32 = 28;

/// A closed loop.
#[derive(Clone, Debug)]
pub struct LoopConfig {
    /// The cell, with every station that will ever take part.
    pub mac: MacConfig,
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
    pub fn new(mac: MacConfig, law: LawConfig, slot: Duration) -> Self {
        let joined = mac.stations.len();
        Self { mac, law, slot, packet_bytes: 1_498, report_bytes: None, joined, seed: 1 }
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

struct Node {
    joined: bool,
    source: Source,
    /// Number of the source's valid event; older ones are stale.
    epoch: u64,
    meter: Meter,
    sequence: u64,
    sent: u32,
    rate_pps: f64,
    target_level: f64,
    /// Where within a slot the station's report is sent.
    report_phase: Duration,
}

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
        let mut this = Self {
            mac: Mac::new(config.mac, config.seed)?,
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
        this.control(Time::ZERO, Duration::ZERO);
        this.push(Time::ZERO + config.slot, Class::Slot, 0, 0);
        Ok(this)
    }

    /// Keeps every downlink frame record from now on, for [`ClosedLoop::take_frames`].
    pub fn keep_frames(&mut self) {
        self.frames.get_or_insert_default();
    }

    /// The downlink frame records kept since this was last called.
    pub fn take_frames(&mut self) -> Vec<mac::FrameRecord> {
        self.frames.as_mut().map(core::mem::take).unwrap_or_default()
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
            let Some(Reverse(event)) = self.events.pop() else { break };
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
            Change::Rate(station, rate) => self.mac.handle(now, Input::SetRate { station, rate }),
            Change::Loss(station, probability) => self.mac.handle(now, Input::SetLoss { station, probability }),
            Change::Neighbours(neighbours) => self.mac.handle(now, Input::SetNeighbours(neighbours)),
            Change::Join(station) => self.join(now, station.index()),
            Change::Burst(station, packets) => (0..packets).for_each(|_| self.enqueue(now, station.index())),
        }
        self.drain();
    }

    fn join(&mut self, now: Time, idx: usize) {
        let Some(node) = self.nodes.get_mut(idx) else { return };
        if !core::mem::replace(&mut node.joined, true) && self.report_bytes.is_some() {
            let at = now + node.report_phase;
            self.push(at, Class::Report, idx, 0);
        }
    }

    fn send_report(&mut self, now: Time, idx: usize) {
        let Some(bytes) = self.report_bytes else { return };
        let station = StationId::from_index(idx);
        self.mac.handle(now, Input::Uplink { station, packet: Probe { station, sequence: 0, sent: now, bytes } });
        self.drain();
        self.push(now + self.slot_length, Class::Report, idx, 0);
    }

    fn send_packet(&mut self, now: Time, idx: usize) {
        self.enqueue(now, idx);
        self.drain();
        let node = &mut self.nodes[idx];
        node.source.advance();
        let event = node.source.due().map(|due| Reverse((due, Class::Packet, idx, node.epoch)));
        self.events.extend(event);
    }

    fn enqueue(&mut self, now: Time, idx: usize) {
        let Some(node) = self.nodes.get_mut(idx) else { return };
        let station = StationId::from_index(idx);
        let packet = Probe { station, sequence: node.sequence, sent: now, bytes: self.packet_bytes };
        node.sequence += 1;
        node.sent += 1;
        self.mac.handle(now, Input::Downlink { station, packet });
    }

    /// Hands what the cell did to the meters.
    fn drain(&mut self) {
        while let Some(output) = self.mac.poll() {
            match output {
                Output::Frame(frame) if frame.direction == Direction::Down => {
                    self.nodes[frame.station.index()].meter.frame(&frame);
                    if let Some(frames) = &mut self.frames {
                        frames.push(frame);
                    }
                }
                Output::Delivered { at, mpdu, packet } if mpdu.direction == Direction::Down => {
                    self.nodes[mpdu.station.index()].meter.packet(at, &packet);
                }
                // Losses are seen by the station, as holes; the uplink is load only.
                Output::Frame(_) | Output::Delivered { .. } | Output::Heard { .. } | Output::Dropped { .. } => {}
            }
        }
    }

    fn end_slot(&mut self, now: Time) {
        self.mac.handle(now, Input::Tick);
        self.drain();
        let stations = self.control(now, self.slot_length);
        let diagnostics = self.law.diagnostics();
        self.records.push(SlotRecord { slot: self.slot, end: now, stations, diagnostics });
        self.slot += 1;
        self.push(now + self.slot_length, Class::Slot, 0, 0);
    }

    /// Closes the meters, lets the law decide and sets the sources; returns what the slot was.
    fn control(&mut self, now: Time, length: Duration) -> Vec<StationSlot> {
        let mut reports = Vec::with_capacity(self.nodes.len());
        let mut stations = Vec::with_capacity(self.nodes.len());
        for idx in 0..self.nodes.len() {
            let (report, station) = self.close(idx, length);
            stations.push(station);
            reports.extend(station.joined.then_some(report));
        }
        for allocation in self.law.on_slot(now, &reports) {
            let idx = allocation.station.index();
            let node = &mut self.nodes[idx];
            (node.rate_pps, node.target_level) = (allocation.rate_pps, allocation.level);
            node.source.set_rate(now, allocation.rate_pps);
            node.epoch += 1;
            let event = node.source.due().map(|due| Reverse((due, Class::Packet, idx, node.epoch)));
            self.events.extend(event);
        }
        stations
    }

    fn close(&mut self, idx: usize, length: Duration) -> (SlotReport, StationSlot) {
        let id = StationId::from_index(idx);
        let node = &mut self.nodes[idx];
        let sent = core::mem::take(&mut node.sent);
        let sent_bytes = u64::from(sent) * u64::from(self.packet_bytes);
        let sender = SenderView { backlogged: true, sent_packets: sent, sent_bytes };
        // A slot of no length, before the first one, only makes stations known.
        let reported = if length.is_zero() { self.slot_length } else { length };
        let (report, tally) = node.meter.close(self.slot, reported, sender);
        let received_pps = f64::from(tally.received) / reported.as_secs_f64();
        let station = StationSlot {
            joined: node.joined,
            rate_pps: node.rate_pps,
            target_level: node.target_level,
            frames: report.frames,
            level: report.level().unwrap_or_default(),
            round_s: report.round_s().unwrap_or_default(),
            delay_mean: tally.delay_mean,
            delay_max: tally.delay_max,
            received_pps,
            goodput_mbps: received_pps * 8e-6 * f64::from(self.packet_bytes.saturating_sub(HEADER_BYTES)),
            lost: report.lost,
            queue: self.mac.queued(id),
            queue_peak: self.mac.take_queue_peak(id),
        };
        (report, station)
    }
}

impl Node {
    fn new(idx: usize, config: &LoopConfig) -> Self {
        let phase = |name| Stream::new(config.seed, name, idx as u64).unit();
        Self {
            joined: false,
            source: Source::new(phase("source phase")),
            epoch: 0,
            meter: Meter::new(StationId::from_index(idx)),
            sequence: 0,
            sent: 0,
            rate_pps: 0.0,
            target_level: 0.0,
            report_phase: config.slot.mul_f64(phase("report phase")),
        }
    }
}
