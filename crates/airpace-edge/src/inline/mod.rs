//! The in-line box: it learns the stations behind its access points, queues and paces what is sent
//! to them, and observes them without their help.
//!
//! [`Inline`] has a [`Proxy`](crate::proxy::Proxy) for each access point, because each is a medium of
//! its own, and a table of the stations by hardware address. The caller
//!
//! 1. hands in what it sees: frames for stations ([`Inline::on_downlink`]), and what came from them
//!    ([`Inline::on_uplink`]);
//! 2. takes frames out with [`Inline::poll`], and learns from [`Inline::poll_change`] for which
//!    addresses frames are to be handed in at all;
//! 3. at [`Inline::deadline`], calls [`Inline::handle_timeout`], then both again.
//!
//! Nothing is configured per station. A station is learnt when a frame of it first arrives at the port
//! of an access point, moves to another medium when it is heard there, and leaves after a silence.

mod cause;
mod config;
mod learn;
mod limit;
mod medium;
mod nearby;
mod news;
mod observer;
mod radio;
mod reconfigure;
mod reports;
mod sojourn;
mod station;
mod status;
#[cfg(test)]
mod tests;
mod watch;

pub use cause::ToldCause;
pub use config::{InlineConfig, KnownStation, MediumConfig};
pub use limit::{Limit, LimitedBy};
pub use nearby::{NearbyRadio, RadioState};
pub use news::{News, NewsKind};
pub use observer::Observer;
pub use radio::RadioCounts;
pub use reconfigure::ReconfigureError;
pub use reports::RefusedReport;
pub use status::{CellPicture, StationStatus};
pub use watch::{LostSensor, Recent};

use crate::proxy::{Event, Output, ProxyError, SlotRecord};
use airpace_core::control::Diagnostics;
use airpace_core::packet::Packet;
use airpace_core::sensor::ack_burst::{DownlinkPacket, UplinkAck, UplinkQuic};
use airpace_core::wire::ieee80211::MacAddr;
use airpace_units::Time;
use core::time::Duration;
use medium::Medium;
use news::NewsQueue;
use station::{LearntStation, Seat};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A frame for a station.
pub trait DownlinkFrame: Packet {
    /// Returns what the sensors need to know about the frame.
    fn downlink(&self) -> DownlinkPacket;

    /// Returns the timestamp of the station that a TCP segment returns (`TSecr`), if it has that
    /// option. Round trips on the wired side follow from it.
    fn echo(&self) -> Option<u32> {
        None
    }
}

/// A kind of frame that has arrived from a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uplink {
    /// A TCP acknowledgement.
    Ack(UplinkAck),
    /// A QUIC packet with a short header.
    Quic(UplinkQuic),
    /// Another IP packet.
    Other {
        /// Bytes that had come from the station before it, in all, modulo 2³².
        before_bytes: u32,
    },
    /// A frame that only shows that the station is there: ARP, DHCP and the like.
    Presence,
}

/// A change of the stations for which frames are to be handed in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StationChange {
    /// A station was learnt: its frames are to be handed in.
    Joined(MacAddr),
    /// A station has left: its frames are to pass.
    Left(MacAddr),
    /// A station that is still there is exempt from now on: its frames are to pass.
    Exempted(MacAddr),
    /// A station is no longer exempt: its frames are to be handed in.
    Readmitted(MacAddr),
}

/// A frame to send.
#[derive(Clone, PartialEq, Debug)]
pub struct Departure<F> {
    /// The port of the box, as numbered in [`InlineConfig::ports`].
    pub port: usize,
    /// The frame.
    pub frame: F,
    /// How long it waited.
    pub waited: Duration,
}

/// Counters since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Frames handed in for an address that is not a station's.
    pub unknown: u64,
    /// Stations that were not learnt, or forgotten for others before anything was sent to them,
    /// because there were too many.
    pub crowded_out: u64,
    /// How often a station was heard at another access point than before.
    pub roamed: u64,
    /// Reports of agents on stations that are not known, and repeated reports.
    pub bad_reports: u64,
}

/// The record of a station's slot, with the station's address.
#[derive(Clone, PartialEq, Debug)]
pub struct StationRecord {
    /// The station.
    pub mac: MacAddr,
    /// The access point, as numbered in [`InlineConfig::media`].
    pub medium: usize,
    /// The record. Its station's number is that of the medium's proxy.
    pub record: SlotRecord,
}

/// The state machine of the box, for frames of type `F`.
pub struct Inline<F> {
    config: InlineConfig,
    media: Vec<Medium<F>>,
    /// Stations by index; `None` where one has left.
    stations: Vec<Option<LearntStation>>,
    by_mac: BTreeMap<MacAddr, usize>,
    /// Stations to which nothing has been sent, by the time at which they were last heard.
    unconfirmed: BTreeSet<(Time, usize)>,
    free: Vec<usize>,
    hash_key: [u8; 16],
    /// The medium that is polled first; it rotates, so that none is always served before the others.
    turn: usize,
    next_sweep: Time,
    changes: VecDeque<StationChange>,
    news: NewsQueue,
    /// When the last slot ended.
    watched_at: Time,
    counts: Counts,
}

/// Interval between searches for silent stations.
const SWEEP: Duration = Duration::from_secs(1);

impl<F: DownlinkFrame> Inline<F> {
    /// Returns a box that knows no station yet. `hash_key` must be secret, so that senders cannot aim at the
    /// queue of another flow.
    ///
    /// # Errors
    /// The law refuses its parameters.
    pub fn new(config: InlineConfig, hash_key: [u8; 16]) -> Result<Self, ProxyError> {
        let proxy = crate::proxy::ProxyConfig {
            stations: Vec::new(),
            ..config.proxy.clone()
        };
        let media = config
            .media
            .iter()
            .map(|medium| Medium::new(medium, &proxy))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            config,
            media,
            stations: Vec::new(),
            by_mac: BTreeMap::new(),
            unconfirmed: BTreeSet::new(),
            free: Vec::new(),
            hash_key,
            turn: 0,
            next_sweep: Time::ZERO,
            changes: VecDeque::new(),
            news: NewsQueue::default(),
            watched_at: Time::ZERO,
            counts: Counts::default(),
        })
    }

    /// Returns the counters since the start.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the law's estimates of a medium at its last decision; `None` if there is no such
    /// medium.
    #[must_use]
    pub fn diagnostics(&self, medium: usize) -> Option<&Diagnostics> {
        self.media.get(medium).map(|m| m.proxy.diagnostics())
    }

    /// Returns the number of stations.
    #[must_use]
    pub fn station_count(&self) -> usize {
        self.by_mac.len()
    }

    /// Returns the number of frames that wait, for all stations.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.media.iter().map(|medium| medium.proxy.backlog()).sum()
    }

    /// Queues a frame for the station with the address `to`.
    ///
    /// # Errors
    /// Returns the frame if no station has that address.
    pub fn on_downlink(&mut self, now: Time, to: MacAddr, frame: F) -> Result<(), F> {
        let Some(&index) = self.by_mac.get(&to) else {
            self.counts.unknown += 1;
            return Err(frame);
        };
        self.confirm(index);
        let Some(known) = &mut self.stations[index] else {
            return Err(frame);
        };
        if let (Some(segment), Some(echo)) = (frame.downlink().tcp, frame.echo()) {
            known.watch.on_arrival(now, segment.flow, echo);
        }
        let Seat { medium, station } = known.seat;
        self.media[medium].proxy.enqueue(now, station, frame);
        Ok(())
    }

    fn seat_of(&self, mac: MacAddr) -> Option<Seat> {
        let &index = self.by_mac.get(&mac)?;
        self.stations[index].as_ref().map(|station| station.seat)
    }

    /// Handles a frame that arrived from `from` at `port`. An unknown station is learnt; one that was
    /// heard at another port has roamed.
    pub fn on_uplink(&mut self, now: Time, port: usize, from: MacAddr, what: Uplink) {
        // Group addresses are never a source (IEEE 802.3 §3.2.3), nor is the empty one a station's.
        if from.0[0] & 1 != 0 || from.0 == [0; 6] || port >= self.config.ports.len() {
            return;
        }
        let Some(seat) = self.hear(now, port, from) else {
            return;
        };
        if let Uplink::Ack(ack) = what
            && let Some(timestamps) = ack.timestamps
            && let Some(station) = self.station_mut(from)
        {
            station.watch.on_uplink(now, ack.flow, timestamps.value);
        }
        let medium = &mut self.media[seat.medium];
        match what {
            Uplink::Ack(ack) => medium.on_ack(now, seat.station, &ack),
            Uplink::Other { before_bytes } => {
                medium.on_other(now, seat.station, before_bytes);
            }
            Uplink::Quic(packet) => medium.on_quic(now, seat.station, &packet),
            Uplink::Presence => {}
        }
    }

    /// Counts what a station has sent since the last call: `frames` frames on the air, with IP packets
    /// of `bytes` bytes in all, the last of them at `last`. They took airtime.
    pub fn on_uplink_use(&mut self, mac: MacAddr, frames: u64, bytes: u64, last: Time) {
        let Some(&index) = self.by_mac.get(&mac) else {
            return;
        };
        self.note_heard(index, last);
        if let Some(station) = &self.stations[index] {
            let Seat { medium, station } = station.seat;
            self.media[medium]
                .proxy
                .on_uplink_frames(station, frames, bytes);
        }
    }

    /// Returns the next frame that may leave now.
    pub fn poll(&mut self, now: Time) -> Option<Departure<F>> {
        let count = self.media.len();
        for _ in 0..count {
            let index = self.turn;
            let medium = &mut self.media[index];
            match medium.proxy.poll(now) {
                Some(Output::Packet {
                    station,
                    packet,
                    waited,
                    ..
                }) => {
                    medium.on_sent(now, station, &packet.downlink());
                    let learnt = medium.station(station);
                    let learnt = learnt.and_then(|index| self.stations[index].as_mut());
                    let port = learnt.map_or(0, |station| {
                        station.watch.on_sent(packet.bytes(), waited);
                        station.port
                    });
                    return Some(Departure {
                        port,
                        frame: packet,
                        waited,
                    });
                }
                // There is no load in-line: nothing would take it at the station.
                Some(Output::Load { .. }) => {}
                None => self.turn = (index + 1) % count,
            }
        }
        None
    }

    /// Returns the next change of the stations for which frames are to be handed in.
    pub fn poll_change(&mut self) -> Option<StationChange> {
        self.changes.pop_front()
    }

    /// Returns the next frame that was dropped.
    pub fn poll_drop(&mut self) -> Option<F> {
        let dropped = self.media.iter_mut().find_map(|m| m.proxy.poll_drop())?;
        Some(dropped.packet)
    }

    /// Returns the next record of a station's slot, if records are made.
    pub fn poll_record(&mut self) -> Option<StationRecord> {
        for (index, medium) in self.media.iter_mut().enumerate() {
            while let Some(record) = medium.proxy.poll_record() {
                let station = medium.station(record.station.index());
                // A seat without a station has nothing to tell.
                if let Some(station) = station.and_then(|index| self.stations[index].as_ref()) {
                    return Some(StationRecord {
                        mac: station.mac,
                        medium: index,
                        record,
                    });
                }
            }
        }
        None
    }

    /// Returns the next event that an operator should know about, with the name of its medium and the
    /// address of its station, if it concerns one.
    pub fn poll_event(&mut self) -> Option<(&str, Option<MacAddr>, Event)> {
        let stations = &self.stations;
        self.media.iter_mut().find_map(|medium| {
            let event = medium.proxy.poll_event()?;
            let mac = match &event {
                Event::ModeChanged { station, .. } => medium
                    .station(*station)
                    .and_then(|index| stations[index].as_ref())
                    .map(|station| station.mac),
                _ => None,
            };
            Some((medium.name.as_str(), mac, event))
        })
    }

    /// Returns when the next frames that a pacer holds back may leave, if any are held back.
    #[must_use]
    pub fn release(&self) -> Option<Time> {
        self.media.iter().filter_map(Medium::release).min()
    }

    /// Returns what has happened next to a station, for an operator.
    pub fn poll_news(&mut self) -> Option<News> {
        self.news.pop()
    }

    /// Returns when [`Inline::handle_timeout`] and [`Inline::poll`] must be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let media = self.media.iter().filter_map(Medium::deadline);
        media.chain([self.next_sweep]).min()
    }

    /// Returns when the next slot ends. Calls of [`Inline::on_uplink_use`] before that count for it.
    #[must_use]
    pub fn slot_end(&self) -> Time {
        let ends = self.media.iter().map(Medium::slot_end);
        ends.min().unwrap_or(Time::MAX)
    }

    /// Ends slots that are over, and forgets stations that have been silent for long.
    pub fn handle_timeout(&mut self, now: Time) {
        for medium in 0..self.media.len() {
            if self.media[medium].handle_timeout(now) {
                self.watch_slot(now, medium);
            }
        }
        if now >= self.next_sweep {
            self.next_sweep = now.saturating_add(SWEEP);
            self.forget_silent(now);
        }
    }
}
