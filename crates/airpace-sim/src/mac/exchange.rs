//! From winning the channel to its falling idle again.

use super::link::{Built, Fate};
use super::{BEACON_INTERVAL, Direction, DropReason, FrameRecord, Mac, Mpdu, Node, Output, earliest, ends};
use airpace_core::packet::Packet;
use airpace_core::phy::{ACK_BYTES, AccessCategory, LegacyRate, SIFS};
use airpace_units::{StationId, Time};
use core::time::Duration;

/// Airtime of a beacon, 236 µs: 160 bytes at 6 Mbit/s, as ns-3 3.44 sends it.
const BEACON_AIRTIME: Duration = Duration::from_micros(236);

/// What is on the air.
#[derive(Debug)]
pub(super) struct Exchange {
    start: Time,
    /// End of the longest PPDU.
    pub(super) end: Time,
    on_air: Vec<OnAir>,
}

#[derive(Clone, Copy, Debug)]
struct OnAir {
    node: Node,
    /// The station at the other end; unused for a neighbour.
    station: usize,
    /// The frame and what it left in the queue; `None` for a neighbour's.
    frame: Option<(Built, usize)>,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    /// Time from the end of the PPDU to the end of its answer, if there was one.
    answer: Option<Duration>,
    /// Whether the sender has had as many frames in a row without an answer as the retry limit allows.
    spent: bool,
}

impl<P: Packet + Clone> Mac<P> {
    /// Everything that is due up to and including `now`.
    pub(super) fn run_until(&mut self, now: Time) {
        while let Some(at) = self.deadline().filter(|&at| at <= now) {
            if self.exchange.is_some() {
                self.end_exchange(at);
            } else if self.beacon_access().is_some_and(|beacon| beacon <= at) {
                self.send_beacon(at);
            } else {
                self.begin_exchange(at);
            }
        }
    }

    fn send_beacon(&mut self, at: Time) {
        self.next_beacon = self.next_beacon.map(|due| due + BEACON_INTERVAL);
        self.channel.occupy(at, at + BEACON_AIRTIME);
        self.next_access = self.find_next_access();
    }

    /// Every node whose time has come transmits.
    fn begin_exchange(&mut self, at: Time) {
        self.apply_trace(at);
        let mut exchange = Exchange { start: at, end: at, on_air: Vec::with_capacity(1) };
        if !self.ring.is_empty() && self.access_point.access(&self.channel) == at {
            self.transmit_down(&mut exchange);
        }
        for position in 0..self.senders.len() {
            let index = self.senders[position];
            if self.stations[index].contender.access(&self.channel) == at {
                self.transmit_up(index, &mut exchange);
            }
        }
        for (index, neighbour) in self.neighbours.iter().enumerate() {
            if neighbour.access(&self.channel) == at {
                exchange.end = exchange.end.max(at + self.neighbour_airtime);
                exchange.on_air.push(OnAir { node: Node::Neighbour(index), station: 0, frame: None });
            }
        }
        self.channel.occupy(at, exchange.end);
        self.next_access = None;
        self.exchange = Some(exchange);
    }

    fn apply_trace(&mut self, at: Time) {
        while let Some(&change) = self.trace.front().filter(|change| change.at <= at) {
            self.trace.pop_front();
            self.set_rate(change.station, change.rate);
        }
    }

    fn transmit_down(&mut self, exchange: &mut Exchange) {
        let Some(&index) = self.ring.front() else { return };
        let link = &mut self.stations[index].down;
        if let Some(built) = link.build(exchange.start, &self.rules) {
            let queued = link.queued();
            exchange.add(Node::AccessPoint, index, built, queued);
        }
    }

    fn transmit_up(&mut self, index: usize, exchange: &mut Exchange) {
        let link = &mut self.stations[index].up;
        if let Some(built) = link.build(exchange.start, &self.rules) {
            let queued = link.queued();
            exchange.add(Node::Station(index), index, built, queued);
        }
    }

    /// The longest PPDU has ended: outcomes are known and the channel's next idle period begins.
    fn end_exchange(&mut self, at: Time) {
        let Some(exchange) = self.exchange.take() else { return };
        let collided = exchange.on_air.len() > 1;
        let outcomes = exchange.on_air.iter().map(|on_air| match on_air.frame {
            Some((built, queued)) => self.end_frame(&exchange, on_air, &built, queued),
            None => Outcome { answer: (!collided).then_some(Duration::ZERO), spent: false },
        });
        let outcomes: Vec<_> = outcomes.collect();
        // After a frame without an answer every node waits out the time of one (EIFS, clause 10.3.2.3.7).
        let after = |outcome: &Outcome| outcome.answer.unwrap_or_else(unanswered);
        let idle = at + outcomes.iter().map(after).max().unwrap_or_default();
        self.channel.occupy(at, idle);
        for (on_air, outcome) in exchange.on_air.iter().zip(&outcomes) {
            self.settle(on_air, outcome);
        }
        self.next_access = self.find_next_access();
    }

    /// Decides what became of one frame and hands out its record and what it carried.
    fn end_frame(&mut self, exchange: &Exchange, on_air: &OnAir, built: &Built, queued: usize) -> Outcome {
        let collided = exchange.on_air.len() > 1;
        let direction = on_air.node.direction();
        let mut record = FrameRecord {
            ampdu: self.next_ampdu,
            from: ends(StationId::from_index(on_air.station), direction).0,
            to: ends(StationId::from_index(on_air.station), direction).1,
            category: AccessCategory::BestEffort,
            start: exchange.start,
            end: exchange.start + built.ppdu,
            rate: built.rate,
            mpdus: built.mpdus,
            packets: built.mpdus.into(),
            retries: built.retries,
            decoded: 0,
            psdu_bytes: built.psdu_bytes,
            airtime: built.ppdu,
            collided,
            queued: u32::try_from(queued).unwrap_or(u32::MAX),
        };
        self.next_ampdu = self.next_ampdu.wrapping_add(1);
        // The record goes first; what the frame carried, once known, completes it.
        let position = self.outputs.len();
        self.outputs.push_back(Output::Frame(record));
        let station = &mut self.stations[on_air.station];
        let link = if direction == Direction::Down { &mut station.down } else { &mut station.up };
        let outputs = &mut self.outputs;
        let ended = link.end_frame(record.ampdu, collided, &self.rules, |fate| outputs.push_back(fate.output(&record)));
        let answer = (ended.decoded > 0).then_some(SIFS + built.response);
        record.decoded = ended.decoded;
        record.airtime += answer.unwrap_or_default();
        self.outputs[position] = Output::Frame(record);
        Outcome { answer, spent: ended.spent }
    }

    /// Back-off, and whether the node stays in contention.
    fn settle(&mut self, on_air: &OnAir, outcome: &Outcome) {
        let contender = match on_air.node {
            Node::AccessPoint => Some(&mut self.access_point),
            Node::Station(index) => Some(&mut self.stations[index].contender),
            Node::Neighbour(index) => self.neighbours.get_mut(index),
        };
        let done = outcome.answer.is_some() || outcome.spent;
        if let Some(contender) = contender {
            if done { contender.succeed(&self.channel) } else { contender.fail(&self.channel) }
        }
        match on_air.node {
            Node::AccessPoint => self.turn_ring(on_air.station, done),
            Node::Station(index) if !self.stations[index].up.has_work() => {
                self.senders.retain(|&sender| sender != index)
            }
            Node::Station(_) | Node::Neighbour(_) => {}
        }
    }

    /// The station served goes to the tail; one whose frame must be sent again keeps its turn; one without work leaves.
    fn turn_ring(&mut self, index: usize, done: bool) {
        if !self.stations[index].down.has_work() {
            self.ring.pop_front();
            self.stations[index].in_ring = false;
        } else if done {
            self.ring.rotate_left(1);
        }
    }

    pub(super) fn find_next_access(&self) -> Option<Time> {
        let channel = &self.channel;
        let access_point = (!self.ring.is_empty()).then(|| self.access_point.access(channel));
        let stations = self.senders.iter().map(|&index| self.stations[index].contender.access(channel));
        let neighbours = self.neighbours.iter().map(|neighbour| neighbour.access(channel));
        earliest(access_point, stations.chain(neighbours).min())
    }
}

impl Exchange {
    fn add(&mut self, node: Node, station: usize, built: Built, queued: usize) {
        self.end = self.end.max(self.start + built.ppdu);
        self.on_air.push(OnAir { node, station, frame: Some((built, queued)) });
    }
}

impl Node {
    fn direction(self) -> Direction {
        if self == Self::AccessPoint { Direction::Down } else { Direction::Up }
    }
}

impl<P> Fate<P> {
    fn output(self, frame: &FrameRecord) -> Output<P> {
        let FrameRecord { from, to, category, end: at, ampdu, .. } = *frame;
        match self {
            Self::Heard { packet, sequence, retry } => {
                Output::Heard { mpdu: Mpdu { from, to, category, ampdu, sequence, retry }, packet }
            }
            Self::Released { packet, sequence, ampdu, retry } => {
                Output::Delivered { at, mpdu: Mpdu { from, to, category, ampdu, sequence, retry }, packet }
            }
            Self::GivenUp { packet } => {
                Output::Dropped { at, from, to, category, reason: DropReason::RetryLimit, packet }
            }
        }
    }
}

/// Idle time that follows a frame without an answer, beyond AIFS: SIFS and an acknowledgement at the lowest basic rate.
fn unanswered() -> Duration {
    SIFS + LegacyRate::Mbps6.duration(ACK_BYTES)
}
