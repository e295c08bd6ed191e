//! 802.11 radios on one channel as one sans-IO state machine: access points, stations, relays and
//! the medium between them.
//!
//! Every radio has four access categories that contend by EDCA, with internal and external
//! collisions, TXOPs and, above a threshold, RTS and CTS. Frames are A-MPDUs (of A-MSDUs, if
//! wanted) within every limit, answered by (block) acknowledgements; MPDUs are lost with a given
//! probability, sent again in later frames and given up at the retry limit. Non-HT rates send one
//! MPDU per frame. The same machine runs in virtual time and under a real clock.
//!
//! [`Hearing`] says for each pair of radios whether they hear each other, so hidden nodes exist. A
//! frame is lost if another one that disturbs its receiver overlaps it; or, with
//! [`Hearing::Powers`], its MPDUs are lost by the interference that they meet. Radios that hear the
//! same share one view of the channel, and a frame costs as much as there are views that hear it:
//! one in a cell whose radios are all in range; by powers each radio has a view of its own. A
//! frame's packets are handed over together, at the end of its PPDU.
//!
//! Group-addressed frames go over links of their own ([`LinkConfig::group`]): each is sent once and
//! not acknowledged. Their receiver stands for the group, or each of its members
//! ([`LinkConfig::members`]) receives them or not. Management frames ([`Input::Manage`]) go before
//! the data of their radio; radios may leave the channel for a while, and keep packets for others
//! that sleep.
//!
//! Not modelled: polling, fragments, protection of legacy networks by
//! CTS-to-self, and the recovery of a failed exchange within its TXOP (a back-off follows). After a
//! frame without an answer all radios of one view wait for the same time, whether they sent it (a
//! sender's timeout is a slot or two longer or shorter) or not.
//!
//! # The way of a packet
//!
//! 1. `enqueue.rs`: [`Input::Send`] finds the link and the access category of a packet.
//! 2. `path/`: the packet waits. `path/mod.rs` has the transmit paths of a radio,
//!    `path/category.rs` that of one access category and `path/lane.rs` what one link has in it;
//!    `path/order.rs` says which link is next. The queues are in `path/queue.rs` (FIFO),
//!    `path/qdisc.rs` (queueing disciplines), `path/flow_queues.rs` (FQ-MAC) and `path/custom.rs`
//!    (the user's own).
//! 3. `contention.rs`: the access function waits for the channel, as `view.rs` sees it; `agenda.rs`
//!    says what happens next.
//! 4. `compose.rs`: on winning the channel, or before, a frame is composed of waiting packets,
//!    within the limits in `frame.rs`.
//! 5. `exchange.rs`: RTS, CTS, data and answer go on the air (`air.rs`, by received powers
//!    `field/`), one SIFS after the other.
//! 6. `delivery.rs`: the receiver decodes MPDUs with the losses of `link.rs` and hands over what is
//!    in order; the sender learns what was acknowledged. `window.rs` has what both know of each
//!    MPDU.
//!
//! A configuration is in `config.rs` and `path/config.rs`, or for a single cell in `cell.rs`;
//! inputs and outputs are in `interface.rs`.
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

mod agenda;
mod air;
mod away;
mod cell;
mod compose;
mod config;
mod contention;
mod control;
mod datagram;
mod delivery;
mod earliest;
mod enqueue;
mod exchange;
mod field;
mod flight;
mod frame;
mod group;
mod ids;
mod interface;
mod link;
mod management;
mod neighbours;
mod outputs;
mod path;
mod radio;
mod tally;
#[cfg(test)]
mod tests;
mod view;
mod window;

pub use crate::radio::{
    Capture, Hearing, PairPowers, RadioId, ReceivedPowers, ReceptionRules, Relation,
};
pub use cell::{ACCESS_POINT, CellConfig, RateChange, StationConfig, ends, station_of};
pub use config::{
    Beacon, ConfigError, LinkConfig, MacConfig, Neighbours, Noise, Quality, RadioConfig, Signal,
};
pub use control::{ControlKind, ControlRecord};
pub use datagram::Datagram;
pub use interface::{Direction, DropReason, FrameRecord, Input, Monitoring, Mpdu, Output};
pub use management::{ManagementEvent, ManagementFrame, ManagementKind};
pub use path::{
    CustomQueues, Driver, DriverRules, Mitigation, PacketStore, PathConfig, Qdisc, QueueFactory,
    QueueLimit, QueueScope, QueueSite, QueuedPacket, Queues, Schedule, Scheme, TransmitQueue,
};
pub use tally::FrameTally;
pub use view::ChannelTime;

use agenda::{Beacons, Event};
use air::Air;
use airpace_core::packet::Packet;
use airpace_units::Time;
use core::time::Duration;
use exchange::Exchange;
use frame::Rules;
use group::GroupReception;
use ids::{ContenderId, LinkId};
use link::Link;
use management::Manager;
use neighbours::Neighbourhood;
use outputs::Outputs;
use radio::Radio;
use std::collections::VecDeque;

/// Time that a radio has transmitted, by kind of frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RadioAirtime {
    /// Data PPDUs.
    pub data: Duration,
    /// RTS, CTS and (block) acknowledgements.
    pub control: Duration,
    /// Beacons.
    pub beacons: Duration,
    /// Probes, authentication, association, and null frames.
    pub management: Duration,
}

/// The airtime of the frames of a link as the drivers of its two ends count it, which is what they
/// charge where airtime is shared out. That is the time for which exchanges occupied the channel,
/// unless [`DriverRules::counts_frames_alone`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CountedAirtime {
    /// By the sender: of all frames, retries included.
    pub sender: Duration,
    /// By the receiver: of what it has decoded.
    pub receiver: Duration,
}

impl CountedAirtime {
    /// What has come since it was `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            sender: self.sender.saturating_sub(before.sender),
            receiver: self.receiver.saturating_sub(before.receiver),
        }
    }
}

/// Radios and the medium that they share. See the [module's documentation](self).
#[derive(Debug)]
pub struct Mac<P> {
    rules: Rules,
    seed: u64,
    radios: Vec<Radio<P>>,
    links: Vec<Link>,
    air: Air,
    neighbours: Neighbourhood,
    beacons: Vec<Beacons>,
    /// When the first of them is due.
    beacon_due: Time,
    /// What is on the air, in no particular order.
    exchanges: Vec<Exchange>,
    /// What is due next.
    next: Option<(Time, Event)>,
    /// Buffer for the contenders that win the channel at one time, kept for its memory.
    winners: Vec<ContenderId>,
    /// Number of the next frame in records.
    next_ampdu: u32,
    outputs: Outputs<P>,
    /// Control frames and beacons, if they are to be reported.
    controls: VecDeque<ControlRecord>,
    /// The radios that listen to frames for everybody.
    listeners: Vec<RadioId>,
    /// By radio, what it has to send of management frames, once it was given any.
    managers: Vec<Option<Box<Manager>>>,
    managed: VecDeque<ManagementEvent>,
    /// Who has received the last frame for a group.
    group: GroupReception,
}

impl<P: Packet + Clone> Mac<P> {
    /// Silent radios at time zero; all of their draws come from `seed`.
    ///
    /// # Errors
    /// The first value of the configuration that makes no sense.
    pub fn new(config: MacConfig, seed: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let rules = Rules {
            medium: config.medium,
            timing: config.timing,
            retry_limit: config.retry_limit,
            block_ack_requests: config.block_ack_requests,
            endless_retries: config.endless_retries,
            monitor: config.monitor,
            controls: config.controls,
            in_order: config.in_order,
        };
        let radios = config.radios.len();
        let (air, views) = Air::new(&config, seed);
        let mut mac = Self {
            rules,
            seed,
            radios: Vec::with_capacity(radios),
            links: Vec::with_capacity(config.links.len()),
            air,
            neighbours: Neighbourhood::default(),
            beacons: Vec::new(),
            beacon_due: Time::ZERO,
            exchanges: Vec::new(),
            next: None,
            winners: Vec::new(),
            next_ampdu: 0,
            outputs: Outputs::new(),
            controls: VecDeque::new(),
            listeners: Vec::new(),
            managers: Vec::new(),
            managed: VecDeque::new(),
            group: GroupReception::default(),
        };
        for (radio, view) in config.radios.into_iter().zip(views) {
            let id = RadioId::from_index(mac.radios.len());
            if let Some(beacon) = radio.beacon {
                mac.beacons.push(Beacons {
                    radio: id,
                    view,
                    due: Time::ZERO.saturating_add(beacon.first),
                    interval: beacon.interval,
                    airtime: beacon.airtime,
                });
            }
            if radio.listens {
                mac.listeners.push(id);
            }
            let state = mac.air.view_mut(view);
            mac.radios.push(Radio::new(id, radio, view, state, seed));
        }
        for link in config.links {
            mac.add_link(link);
        }
        mac.find_beacon_due();
        mac.next = mac.find_next();
        Ok(mac)
    }

    /// An access point (radio 0) and its stations (from radio 1 on), all in range of each other.
    ///
    /// # Errors
    /// The first value of the configuration that makes no sense.
    pub fn cell(config: &CellConfig, seed: u64) -> Result<Self, ConfigError> {
        Self::new(config.mac()?, seed)
    }

    fn add_link(&mut self, config: LinkConfig) {
        let id = LinkId::from_index(self.links.len());
        let receiver = &self.radios[config.to.index()].config;
        let sender = &self.radios[config.from.index()].config;
        let losses = link::loss_stream(self.seed, &config, sender.stream.zip(receiver.stream));
        let link = Link::new(config, sender, &self.rules, losses);
        self.radios[link.from.index()].add_link(link.to, id);
        self.links.push(link);
    }

    /// Handles everything that is due up to `now`, and then `input`. Drain [`Mac::poll`]
    /// afterwards.
    ///
    /// Inputs may come late: whatever was due before `now` happens first, at its own time.
    pub fn handle(&mut self, now: Time, input: Input<P>) {
        self.run_until(now);
        match input {
            Input::Tick => {}
            Input::Send { from, to, packet } => self.send(now, from, to, packet),
            Input::SetRate { from, to, rate } => {
                if let Some(link) = self.link_mut(from, to) {
                    link.adaptation = rate.into();
                }
            }
            Input::SetQuality { from, to, quality } => {
                if let Some(link) = self.link_mut(from, to) {
                    link.set_quality(quality);
                }
            }
            Input::SetNeighbours(neighbours) => self.set_neighbours(now, neighbours),
            Input::Manage { from, frame } => self.manage(now, from, frame),
            Input::SetAway { radio, is_away } => self.set_away(now, radio, is_away),
            Input::SetAsleep { from, to, asleep } => self.set_asleep(now, from, to, asleep),
            Input::SetDeaf { from, to, is_deaf } => {
                if let Some(link) = self.link_mut(from, to) {
                    link.is_deaf = is_deaf;
                }
            }
            Input::Forget { from, to } => self.forget(now, from, to),
            Input::SetPowers { radio, pairs } => {
                self.air.set_powers(now, radio, &pairs);
                self.next = self.find_next();
            }
        }
    }

    /// The same as [`Mac::handle`] with [`Input::Send`].
    #[inline(always)]
    pub(crate) fn handle_packet(&mut self, now: Time, from: RadioId, to: RadioId, packet: P) {
        self.run_until(now);
        self.send(now, from, to, packet);
    }

    /// The next thing that has happened; `None` when all have been told.
    #[inline]
    pub fn poll(&mut self) -> Option<Output<P>> {
        self.outputs.pop()
    }

    /// Whether [`Mac::poll`] and [`Mac::poll_control`] have nothing to tell.
    #[inline]
    pub(crate) fn is_silent(&self) -> bool {
        self.outputs.is_empty() && self.controls.is_empty()
    }

    /// The same as [`Mac::poll`] if it would tell of an [`Output::Delivered`] of this link: when the
    /// packet was handed over, and the packet.
    #[inline]
    pub(crate) fn poll_delivered(&mut self, from: RadioId, to: RadioId) -> Option<(Time, P)> {
        self.outputs.pop_delivered(from, to)
    }

    /// The same as [`Mac::poll`] if it would tell of an [`Output::Heard`] of this link without a
    /// copy of the packet: the MPDU and the length of the packet.
    #[inline]
    pub(crate) fn poll_heard(&mut self, from: RadioId, to: RadioId) -> Option<(Mpdu, u32)> {
        self.outputs.pop_heard(from, to)
    }

    /// The next control frame or beacon that has left the air and that its receiver has decoded;
    /// `None` when all have been told. There are none without [`MacConfig::controls`].
    pub fn poll_control(&mut self) -> Option<ControlRecord> {
        self.controls.pop_front()
    }

    /// When [`Mac::handle`] must be called next, if no input comes before.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.next.map(|(at, _)| at)
    }

    /// Packets of all categories that wait at `from` for `to`; those in flight are not counted.
    #[must_use]
    pub fn queued(&self, from: RadioId, to: RadioId) -> usize {
        let radio = self.radios.get(from.index());
        radio.map_or(0, |radio| radio.waiting(to).packets)
    }

    /// The largest number of packets in the queue of `from` for `to` since this was last asked, the
    /// peaks of the categories added up.
    pub fn take_queue_peak(&mut self, from: RadioId, to: RadioId) -> usize {
        let radio = self.radios.get_mut(from.index());
        radio.map_or(0, |radio| radio.take_peak(to))
    }

    /// Packets that `from` was given and that were neither handed over by their receivers nor
    /// dropped.
    #[must_use]
    pub fn held(&self, from: RadioId) -> usize {
        let radio = self.radios.get(from.index());
        radio.map_or(0, |radio| radio.paths.held())
    }

    /// The number of radios.
    #[must_use]
    pub const fn radios(&self) -> usize {
        self.radios.len()
    }

    /// Time that a radio has transmitted since the beginning; zero for a radio that does not exist.
    /// A PPDU counts from its beginning on.
    #[must_use]
    pub fn airtime(&self, radio: RadioId) -> RadioAirtime {
        let radio = self.radios.get(radio.index());
        radio.map_or_else(RadioAirtime::default, |radio| radio.airtime)
    }

    /// The airtime of the frames from `from` to `to` since the beginning, as the drivers of both
    /// count it; zero without such a link.
    #[must_use]
    pub fn counted_airtime(&self, from: RadioId, to: RadioId) -> CountedAirtime {
        let peer = self
            .radios
            .get(from.index())
            .and_then(|radio| radio.peer(to));
        peer.map_or_else(CountedAirtime::default, |peer| {
            self.links[peer.link.index()].counted
        })
    }

    /// How long a radio has found the channel busy from the beginning to `now`, its own
    /// transmissions included. The rest of the time it was idle.
    #[must_use]
    pub fn channel(&self, radio: RadioId, now: Time) -> ChannelTime {
        let radio = self.radios.get(radio.index());
        radio.map_or_else(ChannelTime::default, |radio| {
            self.air.usage(radio.view, now)
        })
    }

    fn link_mut(&mut self, from: RadioId, to: RadioId) -> Option<&mut Link> {
        let peer = self.radios.get(from.index())?.peer(to)?;
        Some(&mut self.links[peer.link.index()])
    }
}
