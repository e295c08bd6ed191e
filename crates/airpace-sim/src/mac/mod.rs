//! An 802.11 cell as one sans-IO state machine: access point, stations and medium.
//!
//! Per-station queues at the access point are served round robin; access point and stations contend by EDCA and collide;
//! frames are A-MPDUs within every limit, answered by (block) acknowledgements; MPDUs are lost with a given probability, sent
//! again in later frames and given up at the retry limit. The same machine runs in virtual time and under a real clock.
//!
//! Every node hears every other (no hidden nodes), there is no capture, and data is of one access category. A frame's packets
//! are handed over together, at the end of its PPDU.
//!
//! ```
//! use airpace_core::phy::{GuardInterval, Standard, TxRate, Width};
//! use airpace_sim::mac::{CellConfig, Datagram, Input, Mac, Output, StationConfig};
//! use airpace_units::{StationId, Time};
//!
//! let rate = TxRate::new(Standard::Vht, Width::Mhz80, 1, 9, GuardInterval::Ns800)?;
//! let mut mac = Mac::cell(&CellConfig::new(vec![StationConfig::new(rate)]), 1)?;
//! mac.handle(Time::ZERO, Input::down(StationId(0), Datagram::new(0, 1_498)));
//! let end = mac.deadline().expect("a frame is due");
//! mac.handle(end, Input::Tick);
//! # let end = mac.deadline().unwrap();
//! # mac.handle(end, Input::Tick);
//! assert!(matches!(mac.poll(), Some(Output::Frame(frame)) if frame.mpdus == 1));
//! assert!(matches!(mac.poll(), Some(Output::Delivered { .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cell;
mod config;
mod contention;
mod datagram;
mod exchange;
mod hearing;
mod interface;
mod link;
mod tally;
#[cfg(test)]
mod tests;

pub use cell::{ACCESS_POINT, CellConfig, RateChange, StationConfig, ends, station_of};
pub use config::{
    Beacon, ConfigError, LinkConfig, MacConfig, Neighbours, Quality, QueueLimit, QueueScope, RadioConfig, Schedule,
};
pub use datagram::Datagram;
pub use hearing::{Hearing, Relation};
pub use interface::{Direction, DropReason, FrameRecord, Input, Mpdu, Output, RadioId};
pub use tally::FrameTally;

use crate::rng::Stream;
use airpace_core::packet::Packet;
use airpace_core::phy::{AccessCategory, Edca, TxRate};
use airpace_core::queue::Dropped;
use airpace_units::{StationId, Time};
use contention::{Channel, Contender};
use core::time::Duration;
use exchange::Exchange;
use link::{Link, Rules};
use std::collections::VecDeque;

/// Time between beacons: 100 time units of 1.024 ms (IEEE 802.11-2020 clause 11.1.3.2, the usual setting).
const BEACON_INTERVAL: Duration = Duration::from_micros(102_400);

/// A node that contends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Node {
    AccessPoint,
    Station(usize),
    Neighbour(usize),
}

/// The cell. See the module's text.
#[derive(Debug)]
pub struct Mac<P> {
    rules: Rules,
    seed: u64,
    edca: Edca,
    channel: Channel,
    access_point: Contender,
    stations: Vec<Station<P>>,
    neighbours: Vec<Contender>,
    neighbour_airtime: Duration,
    /// Stations for which the access point holds packets, in the order in which it will serve them.
    ring: VecDeque<usize>,
    /// Stations with uplink packets, in no particular order of service (they contend).
    senders: Vec<usize>,
    exchange: Option<Exchange>,
    next_access: Option<Time>,
    next_beacon: Option<Time>,
    trace: VecDeque<RateChange>,
    next_ampdu: u32,
    outputs: VecDeque<Output<P>>,
}

#[derive(Debug)]
struct Station<P> {
    down: Link<P>,
    up: Link<P>,
    contender: Contender,
    in_ring: bool,
}

impl<P: Packet + Clone> Mac<P> {
    /// A silent cell at time zero; all of its draws come from `seed`.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn cell(config: &CellConfig, seed: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let edca = Edca::of(config.category);
        let rules = Rules {
            timing: config.timing,
            max_mpdus: config.max_mpdus,
            max_duration: config.max_duration,
            txop: edca.txop,
            retry_limit: config.retry_limit,
            monitor: config.monitor,
            in_order: config.in_order,
        };
        let station = |(index, settings): (usize, &StationConfig)| Station::new(settings, index, config, &rules, seed);
        Ok(Self {
            stations: config.stations.iter().enumerate().map(station).collect(),
            rules,
            seed,
            channel: Channel::new(edca),
            access_point: Contender::new(seed, "access point", 0, &edca),
            edca,
            neighbours: Vec::new(),
            neighbour_airtime: Duration::ZERO,
            ring: VecDeque::new(),
            senders: Vec::new(),
            exchange: None,
            next_access: None,
            next_beacon: config.beacons.then_some(Time::ZERO + BEACON_INTERVAL),
            trace: config.trace.clone().into(),
            next_ampdu: 0,
            outputs: VecDeque::new(),
        })
    }

    /// Runs the cell up to `now` and applies `input`. Drain [`Mac::poll`] afterwards.
    ///
    /// Inputs may come late: whatever was due before `now` happens first, at its own time.
    pub fn handle(&mut self, now: Time, input: Input<P>) {
        self.run_until(now);
        match input {
            Input::Tick => {}
            Input::Send { from, to, packet } => match station_of(from, to) {
                (station, Direction::Down) => self.enqueue_down(now, station, packet),
                (station, Direction::Up) => self.enqueue_up(now, station, packet),
            },
            Input::SetRate { from, to, rate } => self.set_rate(station_of(from, to).0, rate),
            Input::SetQuality { from, to, quality: Quality::Loss(probability) } => {
                if let Some(station) = self.stations.get_mut(station_of(from, to).0.index()) {
                    let probability = if probability.is_nan() { 0.0 } else { probability.clamp(0.0, 1.0) };
                    station.down.set_loss(probability);
                    station.up.set_loss(probability);
                }
            }
            Input::SetNeighbours(neighbours) => self.set_neighbours(now, neighbours),
        }
    }

    /// The next thing that has happened.
    pub fn poll(&mut self) -> Option<Output<P>> {
        self.outputs.pop_front()
    }

    /// When [`Mac::handle`] must be called next, if nothing else happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        match &self.exchange {
            Some(exchange) => Some(exchange.end),
            None => earliest(self.next_access, self.beacon_access()),
        }
    }

    /// Packets that wait at the access point for `station`; those in flight are not counted.
    #[must_use]
    pub fn queued(&self, from: RadioId, to: RadioId) -> usize {
        self.stations.get(station_of(from, to).0.index()).map_or(0, |station| station.down.queued())
    }

    /// Bytes of the packets counted by [`Mac::queued`].
    #[must_use]
    pub fn queued_bytes(&self, from: RadioId, to: RadioId) -> u64 {
        self.stations.get(station_of(from, to).0.index()).map_or(0, |station| station.down.queued_bytes())
    }

    /// The longest that the access point's queue for `station` has been since this was last asked.
    pub fn take_queue_peak(&mut self, from: RadioId, to: RadioId) -> usize {
        self.stations.get_mut(station_of(from, to).0.index()).map_or(0, |station| station.down.take_peak())
    }

    /// Packets inside the cell in one direction: queued, or sent and neither handed up nor given up.
    #[must_use]
    pub fn held(&self, direction: Direction) -> usize {
        let link = |station: &Station<P>| match direction {
            Direction::Down => station.down.queued() + station.down.in_flight(),
            Direction::Up => station.up.queued() + station.up.in_flight(),
        };
        self.stations.iter().map(link).sum()
    }

    fn enqueue_down(&mut self, now: Time, id: StationId, packet: P) {
        let Some(station) = self.stations.get_mut(id.index()) else {
            let (from, to) = ends(id, Direction::Down);
            let (category, reason) = (AccessCategory::BestEffort, DropReason::UnknownLink);
            return self.outputs.push_back(Output::Dropped { at: now, from, to, category, reason, packet });
        };
        if let Some(Dropped { reason, packet }) = station.down.push(now, packet) {
            let (from, to) = ends(id, Direction::Down);
            let (category, reason) = (AccessCategory::BestEffort, DropReason::Queue(reason));
            return self.outputs.push_back(Output::Dropped { at: now, from, to, category, reason, packet });
        }
        if !core::mem::replace(&mut station.in_ring, true) {
            self.ring.push_back(id.index());
            if self.ring.len() == 1 {
                self.access_point.arrive(now, &self.channel);
                self.offer_access(self.access_point.access(&self.channel));
            }
        }
    }

    fn enqueue_up(&mut self, now: Time, id: StationId, packet: P) {
        let Some(station) = self.stations.get_mut(id.index()) else {
            let (from, to) = ends(id, Direction::Up);
            let (category, reason) = (AccessCategory::BestEffort, DropReason::UnknownLink);
            return self.outputs.push_back(Output::Dropped { at: now, from, to, category, reason, packet });
        };
        let was_idle = !station.up.has_work();
        if let Some(Dropped { reason, packet }) = station.up.push(now, packet) {
            let (from, to) = ends(id, Direction::Up);
            let (category, reason) = (AccessCategory::BestEffort, DropReason::Queue(reason));
            return self.outputs.push_back(Output::Dropped { at: now, from, to, category, reason, packet });
        }
        if was_idle {
            station.contender.arrive(now, &self.channel);
            let access = station.contender.access(&self.channel);
            self.senders.push(id.index());
            self.offer_access(access);
        }
    }

    /// Brings the next access forward if a node that has just become ready comes before it.
    fn offer_access(&mut self, at: Time) {
        // During an exchange nothing is offered: its end works out the next access afresh.
        if self.exchange.is_none() {
            self.next_access = Some(self.next_access.map_or(at, |next| next.min(at)));
        }
    }

    fn set_rate(&mut self, id: StationId, rate: TxRate) {
        if let Some(station) = self.stations.get_mut(id.index()) {
            station.down.set_rate(rate, &self.rules);
            station.up.set_rate(rate, &self.rules);
        }
    }

    fn set_neighbours(&mut self, now: Time, neighbours: Neighbours) {
        let count = usize::from(neighbours.count);
        // A neighbour whose frame is on the air may be gone when it ends; `Exchange` keeps what it needs.
        self.neighbours.truncate(count);
        for index in self.neighbours.len()..count {
            let mut contender = Contender::new(self.seed, "neighbour", index as u64, &self.edca);
            contender.arrive(now, &self.channel);
            self.neighbours.push(contender);
        }
        self.neighbour_airtime = neighbours.airtime;
        if self.exchange.is_none() {
            self.next_access = self.find_next_access();
        }
    }

    fn beacon_access(&self) -> Option<Time> {
        self.next_beacon.map(|due| self.channel.priority_access(due))
    }
}

impl<P: Packet + Clone> Station<P> {
    fn new(settings: &StationConfig, index: usize, config: &CellConfig, rules: &Rules, seed: u64) -> Self {
        let link = |rate, limit, name| {
            let mut link = Link::new(rate, rules, limit, Stream::new(seed, name, index as u64));
            link.set_loss(settings.loss);
            link
        };
        Self {
            down: link(settings.rate, config.ap_queue_packets, "loss down"),
            up: link(settings.uplink_rate, config.station_queue_packets, "loss up"),
            contender: Contender::new(seed, "station", index as u64, &Edca::of(config.category)),
            in_ring: false,
        }
    }
}

/// The earlier of two times that may be never.
fn earliest(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
