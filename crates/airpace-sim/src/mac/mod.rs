//! 802.11 radios on one channel as one sans-IO state machine: access points, stations, relays and the medium between them.
//!
//! Every radio has four access categories that contend by EDCA, with internal and external collisions, TXOPs and, by threshold, RTS and
//! CTS. Frames are A-MPDUs (of A-MSDUs, if wanted) within every limit, answered by (block) acknowledgements; MPDUs are lost with a given
//! probability, sent again in later frames and given up at the retry limit. Non-HT rates send one MPDU per frame. The same machine
//! runs in virtual time and under a real clock.
//!
//! Who hears whom is given by pairs ([`Hearing`]), so hidden nodes exist; there is no capture: a frame is lost if another one that
//! disturbs its receiver overlaps it. Radios that hear the same share one view of the channel, and a frame costs as much as there are
//! views that hear it; in a cell in range of itself that is one. A frame's packets are handed over together, at the end of its PPDU.
//!
//! What is left out: capture, polling, power save, fragments, protection of legacy networks by CTS-to-self, and the recovery of a
//! failed exchange within its TXOP (a back-off follows). Radios of one view wait for the same time after a frame without an answer,
//! be they its sender (whose timeout is a slot or two off) or not.
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
mod compose;
mod config;
mod contention;
mod datagram;
mod exchange;
mod flight;
mod frame;
mod hearing;
mod interface;
mod link;
mod path;
mod tally;
#[cfg(test)]
mod tests;
mod view;
mod window;

pub use cell::{ACCESS_POINT, CellConfig, RateChange, StationConfig, ends, station_of};
pub use config::{
    Beacon, ConfigError, LinkConfig, MacConfig, Neighbours, Noise, Quality, RadioConfig, Signal,
};
pub use datagram::Datagram;
pub use hearing::{Hearing, Relation};
pub use interface::{Direction, DropReason, FrameRecord, Input, Mpdu, Output, RadioId};
pub use path::{PathConfig, Qdisc, QueueLimit, QueueScope, Queues, Schedule, Scheme};
pub use tally::FrameTally;
pub use view::ChannelTime;

use crate::rng::Stream;
use airpace_core::packet::Packet;
use airpace_core::phy::{AccessCategory, Edca, TxRate};
use airpace_core::queue::Dropped;
use airpace_units::Time;
use contention::Contender;
use core::time::Duration;
use exchange::Event;
use flight::{Exchange, category_of};
use frame::Rules;
use hearing::{Hearer, Views};
use link::Link;
use path::{Path, Pool};
use std::collections::VecDeque;
use view::{Spacing, View};

/// Time that a radio has transmitted, by what it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RadioAirtime {
    /// Data PPDUs.
    pub data: Duration,
    /// RTS, CTS and (block) acknowledgements.
    pub control: Duration,
    /// Beacons.
    pub beacons: Duration,
}

/// The radios and their medium. See the module's text.
#[derive(Debug)]
pub struct Mac<P> {
    rules: Rules,
    seed: u64,
    radios: Vec<Radio>,
    links: Vec<Link>,
    /// Per radio and category, four times the radio plus the category: who contends, and what it has to send.
    contenders: Vec<Contender>,
    paths: Vec<Path<P>>,
    /// The flow queues of each radio that has them.
    pools: Vec<Option<Box<Pool<P>>>>,
    /// The channel as each group of radios has it, and when the first of each group may transmit.
    views: Vec<View>,
    next_access: Vec<Option<Time>>,
    /// Which views each radio reaches; the last entry is the neighbours'.
    hearers: Vec<Vec<Hearer>>,
    airtime: Vec<RadioAirtime>,
    neighbours: Vec<Contender>,
    neighbour_airtime: Duration,
    neighbour_view: usize,
    /// Neighbours that there have been so far.
    neighbours_seen: u32,
    beacons: Vec<Beacons>,
    /// What is on the air, in no particular order.
    exchanges: Vec<Exchange>,
    /// What is due next.
    next: Option<(Time, Event)>,
    /// Reused room for the nodes that transmit at one time.
    winners: Vec<u32>,
    next_ampdu: u32,
    outputs: VecDeque<Output<P>>,
}

#[derive(Debug)]
struct Radio {
    config: RadioConfig,
    view: usize,
    /// What it has for each radio; as long as its receivers need.
    peers: Vec<Peer>,
}

/// A possible receiver.
#[derive(Clone, Copy, Debug)]
struct Peer {
    /// The link to it, or [`NO_LINK`].
    link: u32,
    /// Its lane in the path of each category, or [`NO_LANE`].
    lanes: [u32; 4],
}

/// Beacons to come.
#[derive(Debug)]
struct Beacons {
    radio: u32,
    view: usize,
    due: Time,
    interval: Duration,
    airtime: Duration,
}

/// Marks a radio that another has no link to.
const NO_LINK: u32 = u32::MAX;
/// Marks a category in which nothing has been sent to a radio yet.
const NO_LANE: u32 = u32::MAX;

impl<P: Packet + Clone> Mac<P> {
    /// Silent radios at time zero; all of their draws come from `seed`.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn new(config: MacConfig, seed: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let MacConfig {
            radios,
            links,
            hearing,
            medium,
            timing,
            retry_limit,
            monitor,
            in_order,
        } = config;
        let rules = Rules {
            medium,
            timing,
            retry_limit,
            monitor,
            in_order,
        };
        let Views {
            count,
            of_radio,
            hearers,
            neighbours,
        } = Views::new(&hearing, radios.len(), &links);
        let mut mac = Self {
            seed,
            radios: Vec::with_capacity(radios.len()),
            links: Vec::with_capacity(links.len()),
            contenders: Vec::new(),
            paths: Vec::new(),
            pools: Vec::new(),
            views: (0..count).map(|_| View::new(Spacing::of(medium))).collect(),
            next_access: vec![None; count],
            hearers,
            airtime: vec![RadioAirtime::default(); radios.len()],
            neighbours: Vec::new(),
            neighbour_airtime: Duration::ZERO,
            neighbour_view: neighbours as usize,
            neighbours_seen: 0,
            beacons: Vec::new(),
            exchanges: Vec::new(),
            next: None,
            winners: Vec::new(),
            next_ampdu: 0,
            outputs: VecDeque::new(),
            rules,
        };
        radios
            .into_iter()
            .zip(of_radio)
            .for_each(|(radio, view)| mac.add_radio(radio, view));
        links.into_iter().for_each(|link| mac.add_link(link));
        mac.next = mac.find_next();
        Ok(mac)
    }

    /// An access point (radio 0) and its stations (from radio 1 on), all in range of each other.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn cell(config: &CellConfig, seed: u64) -> Result<Self, ConfigError> {
        Self::new(config.mac()?, seed)
    }

    fn add_radio(&mut self, config: RadioConfig, view: u32) {
        let radio = self.radios.len() as u32;
        let place = view as usize;
        for (category, edca) in (0..).zip(&config.edca) {
            let node = 4 * radio + category;
            let backoff = match config.stream {
                Some(key) => Stream::new(
                    self.seed,
                    "named backoff",
                    key.wrapping_add(u64::from(category)),
                ),
                None => backoff(self.seed, radio, category),
            };
            self.contenders.push(Contender::new(
                node,
                edca,
                (view, &mut self.views[place]),
                backoff,
            ));
            self.paths.push(Path::new(&config));
        }
        self.pools.push(path::pool(&config.path));
        if let Some(Beacon {
            first,
            interval,
            airtime,
        }) = config.beacon
        {
            let due = Time::ZERO.saturating_add(first);
            self.beacons.push(Beacons {
                radio,
                view: place,
                due,
                interval,
                airtime,
            });
        }
        self.radios.push(Radio {
            config,
            view: place,
            peers: Vec::new(),
        });
    }

    fn add_link(&mut self, link: LinkConfig) {
        let radio = &mut self.radios[link.from.index()];
        let to = link.to.index();
        if radio.peers.len() <= to {
            radio.peers.resize(
                to + 1,
                Peer {
                    link: NO_LINK,
                    lanes: [NO_LANE; 4],
                },
            );
        }
        // There are fewer than 2^32 pairs of radios.
        radio.peers[to].link = self.links.len() as u32;
        let radio = &self.radios[link.from.index()];
        let draws = match radio.config.stream.zip(self.radios[to].config.stream) {
            Some((from, to)) => Stream::new(self.seed, "named loss", from.rotate_left(1) ^ to),
            None => link::draws(self.seed, link.from, link.to),
        };
        self.links
            .push(Link::new(link, &radio.config, &self.rules, draws));
    }

    /// Runs everything up to `now` and applies `input`. Drain [`Mac::poll`] afterwards.
    ///
    /// Inputs may come late: whatever was due before `now` happens first, at its own time.
    pub fn handle(&mut self, now: Time, input: Input<P>) {
        self.run_until(now);
        match input {
            Input::Tick => {}
            Input::Send { from, to, packet } => self.send(now, (from, to), packet),
            Input::SetRate { from, to, rate } => self.set_rate(from, to, rate),
            Input::SetQuality { from, to, quality } => {
                if let Some(link) = self.link(from, to) {
                    self.links[link as usize].set_quality(quality);
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
        self.next.map(|(at, _)| at)
    }

    /// Packets of every category that wait at `from` for `to`; those in flight are not counted.
    #[must_use]
    pub fn queued(&self, from: RadioId, to: RadioId) -> usize {
        self.waiting(from, to).map(|(packets, _)| packets).sum()
    }

    /// Bytes of the packets counted by [`Mac::queued`].
    #[must_use]
    pub fn queued_bytes(&self, from: RadioId, to: RadioId) -> u64 {
        self.waiting(from, to).map(|(_, bytes)| bytes).sum()
    }

    /// The longest that the queue of `from` for `to` has been since this was last asked, the peaks of the categories added up.
    pub fn take_queue_peak(&mut self, from: RadioId, to: RadioId) -> usize {
        let Some(&Peer { lanes, .. }) = self.peer(from, to) else {
            return 0;
        };
        let pool = self.pools[from.index()].as_deref();
        let paths = self.paths[4 * from.index()..]
            .iter_mut()
            .zip(lanes)
            .filter(|(_, lane)| *lane != NO_LANE);
        paths
            .map(|(path, lane)| path.lane_mut(lane).take_peak(pool))
            .sum()
    }

    /// Packets that `from` was given and that are neither handed up by their receivers nor given up.
    #[must_use]
    pub fn held(&self, from: RadioId) -> usize {
        let Some(pool) = self.pools.get(from.index()) else {
            return 0;
        };
        let paths = self.paths.iter().skip(4 * from.index()).take(4);
        paths.map(Path::inside).sum::<usize>() + pool.as_deref().map_or(0, Pool::len)
    }

    /// How many radios there are.
    #[must_use]
    pub const fn radios(&self) -> usize {
        self.radios.len()
    }

    /// Time that a radio has transmitted since the beginning; nothing for one that does not exist. A PPDU counts from its beginning on.
    #[must_use]
    pub fn airtime(&self, radio: RadioId) -> RadioAirtime {
        self.airtime.get(radio.index()).copied().unwrap_or_default()
    }

    /// How a radio has found the channel from the beginning to `now`, its own transmissions included. What is left of the time it
    /// was idle.
    #[must_use]
    pub fn channel(&self, radio: RadioId, now: Time) -> ChannelTime {
        self.radios
            .get(radio.index())
            .map(|radio| self.views[radio.view].usage(now))
            .unwrap_or_default()
    }

    fn peer(&self, from: RadioId, to: RadioId) -> Option<&Peer> {
        let peers = &self.radios.get(from.index())?.peers;
        peers.get(to.index()).filter(|peer| peer.link != NO_LINK)
    }

    fn link(&self, from: RadioId, to: RadioId) -> Option<u32> {
        self.peer(from, to).map(|peer| peer.link)
    }

    /// Packets and bytes that wait at `from` for `to`, per category in which anything was sent.
    fn waiting(&self, from: RadioId, to: RadioId) -> impl Iterator<Item = (usize, u64)> {
        let lanes = self.peer(from, to).map_or([NO_LANE; 4], |peer| peer.lanes);
        let paths = self
            .paths
            .iter()
            .skip(4 * from.index())
            .zip(lanes)
            .filter(|(_, lane)| *lane != NO_LANE);
        let pool = self.pools.get(from.index()).and_then(Option::as_deref);
        paths.map(move |(path, lane)| path.lane(lane).waiting(pool))
    }

    fn send(&mut self, now: Time, (from, to): (RadioId, RadioId), packet: P) {
        let Some(&Peer { link, lanes }) = self.peer(from, to) else {
            let (category, reason) = (packet.category(), DropReason::UnknownLink);
            return self.outputs.push_back(Output::Dropped {
                at: now,
                from,
                to,
                category,
                reason,
                packet,
            });
        };
        let radio = from.index();
        let category = self.radios[radio]
            .config
            .category
            .unwrap_or(packet.category()) as usize;
        let node = 4 * radio + category;
        let lane = if lanes[category] == NO_LANE {
            self.add_lane(node, link)
        } else {
            lanes[category]
        };
        if self.paths[node].wants_size(now) {
            self.resize(node, now);
        }
        let path = &mut self.paths[node];
        let was_idle = path.is_idle();
        path.push(now, lane, packet, self.pools[radio].as_deref_mut());
        self.compose_ahead(node, now);
        self.report_drops(now, node);
        if was_idle && self.paths[node].has_work() {
            self.arrive(now, node);
        }
    }

    /// A lane for a link over which nothing has been sent in this category.
    fn add_lane(&mut self, node: usize, link: u32) -> u32 {
        let radio = &mut self.radios[node / 4];
        let &Link {
            to,
            weight,
            ref adaptation,
            ..
        } = &self.links[link as usize];
        let path = &mut self.paths[node];
        // There are fewer than 2^16 receivers, and four categories.
        let (lane, category) = (path.lanes() as u32, (node % 4) as u8);
        let tid = self.pools[node / 4]
            .as_mut()
            .map(|pool| pool.add(category, lane, to.0));
        radio.peers[to.index()].lanes[usize::from(category)] = lane;
        path.add_lane(link, tid, (weight, adaptation.best().rate()))
    }

    /// Tells of the packets that the queues of a path, or those that it shares with others, have dropped.
    fn report_drops(&mut self, at: Time, node: usize) {
        while let Some((lane, dropped)) = self.paths[node].poll_drop() {
            self.tell_drop(at, node, lane, dropped);
        }
        while let Some((category, lane, dropped)) = self.pools[node / 4]
            .as_mut()
            .and_then(|pool| pool.poll_drop())
        {
            self.tell_drop(at, node / 4 * 4 + usize::from(category), lane, dropped);
        }
    }

    fn tell_drop(
        &mut self,
        at: Time,
        node: usize,
        lane: u32,
        Dropped { reason, packet }: Dropped<P>,
    ) {
        let &Link { from, to, .. } = &self.links[self.paths[node].lane(lane).link as usize];
        // There are fewer than 2^32 contenders.
        let (category, reason) = (category_of(node as u32), DropReason::Queue(reason));
        self.outputs.push_back(Output::Dropped {
            at,
            from,
            to,
            category,
            reason,
            packet,
        });
    }

    /// Adjusts the size of a queueing discipline to the time that others have kept the channel busy.
    fn resize(&mut self, node: usize, now: Time) {
        let radio = RadioId::from_index(node / 4);
        let RadioAirtime {
            data,
            control,
            beacons,
        } = self.airtime(radio);
        let others = self
            .channel(radio, now)
            .busy
            .saturating_sub(data + control + beacons);
        self.paths[node].resize(now, others);
    }

    fn arrive(&mut self, now: Time, node: usize) {
        let contender = &mut self.contenders[node];
        let place = contender.view();
        contender.arrive(now, &mut self.views[place]);
        self.next_access[place] = self.views[place].due();
        self.next = self.find_next();
    }

    fn set_rate(&mut self, from: RadioId, to: RadioId, rate: TxRate) {
        if let Some(link) = self.link(from, to) {
            self.links[link as usize].adaptation = rate.into();
        }
    }

    fn set_neighbours(&mut self, now: Time, neighbours: Neighbours) {
        let (place, first) = (self.neighbour_view, 4 * self.radios.len() as u32);
        // A neighbour whose frame is on the air may be gone when it ends, and another may have come: each has a number of its own.
        self.neighbours.truncate(usize::from(neighbours.count));
        let stay = &self.neighbours;
        self.views[place]
            .retain(|node| node < first || stay.iter().any(|contender| contender.node() == node));
        for index in self.neighbours.len()..usize::from(neighbours.count) {
            let backoff = Stream::new(self.seed, "neighbour", index as u64);
            let node = first.wrapping_add(self.neighbours_seen).max(first);
            self.neighbours_seen = self.neighbours_seen.wrapping_add(1);
            let view = (place as u32, &mut self.views[place]);
            let mut contender =
                Contender::new(node, &Edca::of(AccessCategory::BestEffort), view, backoff);
            contender.arrive(now, &mut self.views[place]);
            self.neighbours.push(contender);
        }
        self.neighbour_airtime = neighbours.airtime;
        self.next_access[place] = self.views[place].due();
        self.next = self.find_next();
    }
}

/// The stream of a contender. Best effort has the streams of the cell that this MAC grew out of, so that results of a cell stay what
/// they were for the same seed.
fn backoff(seed: u64, radio: u32, category: u32) -> Stream {
    match (radio, category) {
        (0, 1) => Stream::new(seed, "access point", 0),
        (_, 1) => Stream::new(seed, "station", u64::from(radio - 1)),
        _ => Stream::new(seed, "backoff", u64::from(radio) * 4 + u64::from(category)),
    }
}
