//! Stations that go from one access point to another.
//!
//! [`station`] decides; this file lets the station's radios and the access points do what follows:
//! probes, authentication and association on the air, and then what the distribution system does.
//! Until a station is associated anew, packets for it go to its old access point, which sends them in
//! vain. Then the new one tells the network where the station is; the old one drops what it holds.
//!
//! There is no handshake of keys after the association, as with 802.11r or in an open network.

mod station;

use super::event::{Alarm, Class};
use super::route::Routes;
use super::{NodeId, Parcel, World, WorldConfig, WorldError};
use crate::mac::{Input, ManagementEvent, ManagementFrame, ManagementKind, RadioId};
use airpace_units::Time;
use core::time::Duration;
use station::{Action, RoamingStation};

/// Lengths of management frames in bytes, with header and FCS, as a VHT station and access point
/// with the usual elements send them: a probe response is like a beacon.
const PROBE_REQUEST_BYTES: u32 = 110;
const PROBE_RESPONSE_BYTES: u32 = 158;
const AUTHENTICATION_BYTES: u32 = 34;
const ASSOCIATION_REQUEST_BYTES: u32 = 150;
const ASSOCIATION_RESPONSE_BYTES: u32 = 150;
/// A null data frame.
const NULL_BYTES: u32 = 28;

/// A station that looks for better access points and associates with them. Its channels must have
/// [`crate::mac::Hearing::Powers`], its radios and those of the access points must
/// [listen](crate::mac::RadioConfig::listens), and it has links with each of them.
#[derive(Clone, PartialEq, Debug)]
pub struct RoamingConfig {
    /// The station.
    pub station: NodeId,
    /// The access points that it may be associated with, the first at the beginning.
    pub access_points: Vec<AccessPointOnChannel>,
    /// When it looks for others, and which one it joins.
    pub rules: RoamingRules,
}

/// An access point, and the channel on which it serves stations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessPointOnChannel {
    /// The access point.
    pub node: NodeId,
    /// Index of the channel.
    pub channel: usize,
}

/// When a station looks for other access points, and which one it joins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RoamingRules {
    /// It scans when beacons of its access point are received with less than this, dBm (default
    /// −70, Apple's iPhone and iPad).
    pub scan_below_dbm: f64,
    /// By how many dB another access point must be stronger (default 8, the same while they send).
    pub better_by_db: f64,
    /// It joins no access point that is received with less than this, dBm (default −82, from which
    /// preambles are detected).
    pub least_dbm: f64,
    /// Least time from the beginning of a scan to that of the next (default 10 s, Samsung's
    /// phones), and so between two hand-overs.
    pub scan_interval: Duration,
    /// How long it listens on a channel after its probe request (default 30 ms:
    /// IEEE80211_CHANNEL_TIME of Linux).
    pub dwell: Duration,
    /// It takes its access point for lost when it has not heard it for this long (default 716.8 ms:
    /// seven beacons at the usual interval, as in Linux).
    pub beacon_timeout: Duration,
}

impl Default for RoamingRules {
    fn default() -> Self {
        Self {
            scan_below_dbm: -70.0,
            better_by_db: 8.0,
            least_dbm: -82.0,
            scan_interval: Duration::from_secs(10),
            dwell: Duration::from_millis(30),
            beacon_timeout: Duration::from_micros(716_800),
        }
    }
}

/// A station has gone from one access point to another, or has come back to the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandOver {
    /// The station.
    pub station: NodeId,
    /// The access point that it left.
    pub from: NodeId,
    /// The one that it is associated with.
    pub to: NodeId,
    /// When it left.
    pub left: Time,
    /// When it was associated.
    pub joined: Time,
}

impl HandOver {
    /// How long it had no access point.
    #[must_use]
    pub fn interruption(&self) -> Duration {
        self.joined.saturating_since(self.left)
    }
}

/// An access point as a station sees it.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    node: NodeId,
    channel: usize,
    radio: RadioId,
    /// The station's radio on that channel.
    own: RadioId,
}

/// A station with its radios.
#[derive(Debug)]
pub(super) struct Roamer {
    node: NodeId,
    candidates: Vec<Candidate>,
    station: RoamingStation,
    /// The channel that it is tuned to.
    tuned: usize,
    /// The access point at which the network looks for it.
    known_at: usize,
    /// When it left its access point, if it has none.
    left: Option<Time>,
    alarm: Alarm,
}

/// Attaches each station to its access point.
pub(super) fn attach(roamers: &[Roamer], routes: &mut Routes) {
    for roamer in roamers {
        routes.attach(roamer.node, &roamer.candidates[roamer.known_at].into());
    }
}

/// The roaming stations of a network, associated with the first access point of each.
pub(super) fn roamers(config: &WorldConfig) -> Result<Vec<Roamer>, WorldError> {
    let mut roamers = Vec::with_capacity(config.roaming.len());
    for roaming in &config.roaming {
        let mut candidates = Vec::with_capacity(roaming.access_points.len());
        for &AccessPointOnChannel { node, channel } in &roaming.access_points {
            let nodes = config.channels.get(channel).map(|channel| &channel.nodes);
            let radio_of = |wanted: NodeId| {
                let place = nodes?.iter().position(|&node| node == wanted)?;
                Some(RadioId::from_index(place))
            };
            let (Some(radio), Some(own)) = (radio_of(node), radio_of(roaming.station)) else {
                return Err(WorldError::UnknownNode { node });
            };
            candidates.push(Candidate {
                node,
                channel,
                radio,
                own,
            });
        }
        let Some(first) = candidates.first() else {
            return Err(WorldError::Zero {
                what: "the number of access points of a roaming station",
            });
        };
        let channels = candidates.iter().map(|candidate| candidate.channel);
        roamers.push(Roamer {
            node: roaming.station,
            station: RoamingStation::new(roaming.rules, channels.collect(), 0),
            tuned: first.channel,
            candidates,
            known_at: 0,
            left: None,
            alarm: Alarm::default(),
        });
    }
    Ok(roamers)
}

impl World {
    /// Roaming stations are tuned to the channel of their first access point.
    pub(super) fn start_roaming(&mut self) {
        for index in 0..self.roamers.len() {
            let Roamer { candidates, .. } = &self.roamers[index];
            let first = candidates[0];
            for candidate in candidates.clone() {
                if candidate.channel != first.channel {
                    let input = Input::SetAway {
                        radio: candidate.own,
                        is_away: true,
                    };
                    self.channels[candidate.channel].handle(self.now, input);
                }
                if candidate.node != first.node {
                    self.set_deaf(candidate, true);
                }
            }
            self.set_roaming_alarm(index);
        }
    }

    /// Handles what has become of management frames on a channel. Returns whether there were any.
    pub(super) fn settle_management(&mut self, channel: usize) -> bool {
        let mut any = false;
        while let Some(event) = self.channels[channel].mac.poll_management() {
            self.on_management(channel, event);
            any = true;
        }
        any
    }

    /// Whether a node is a roaming station that is not at this access point.
    pub(super) fn is_elsewhere(&self, node: NodeId, access_point: NodeId) -> bool {
        let mut roamers = self.roamers.iter();
        roamers.any(|roamer| {
            roamer.node == node && roamer.candidates[roamer.known_at].node != access_point
        })
    }

    /// Whether a node is a roaming station without an access point.
    pub(super) fn is_alone(&self, node: NodeId) -> bool {
        let mut roamers = self.roamers.iter();
        roamers.any(|roamer| roamer.node == node && roamer.left.is_some())
    }

    /// A management frame was received or sent on a channel.
    fn on_management(&mut self, channel: usize, event: ManagementEvent) {
        match event {
            ManagementEvent::Received {
                from,
                by,
                kind,
                dbm,
                ..
            } => {
                if let Some((index, number)) = self.roamer_between(channel, from, by) {
                    self.on_answer(index, number, kind, dbm);
                } else if let Some((index, number)) = self.roamer_between(channel, by, from) {
                    self.answer(index, number, kind);
                }
            }
            ManagementEvent::Sent { from, kind, .. } => {
                let radio = |roamer: &Roamer| {
                    let own = |candidate: &Candidate| (candidate.channel, candidate.own);
                    roamer
                        .candidates
                        .iter()
                        .any(|at| own(at) == (channel, from))
                };
                let Some(index) = self.roamers.iter().position(radio) else {
                    return;
                };
                let station = &mut self.roamers[index].station;
                match kind {
                    ManagementKind::Sleeps => station.on_asleep(self.now),
                    ManagementKind::ProbeRequest => station.on_probe_sent(self.now),
                    _ => return,
                }
                self.act(index);
            }
        }
    }

    /// The roaming station whose radio on a channel is `own`, and which of its access points the
    /// other radio is.
    fn roamer_between(
        &self,
        channel: usize,
        other: RadioId,
        own: RadioId,
    ) -> Option<(usize, usize)> {
        for (index, roamer) in self.roamers.iter().enumerate() {
            let is_it = |at: &Candidate| (at.channel, at.radio, at.own) == (channel, other, own);
            if let Some(number) = roamer.candidates.iter().position(is_it) {
                return Some((index, number));
            }
        }
        None
    }

    /// A roaming station has received a frame of an access point.
    fn on_answer(&mut self, index: usize, number: usize, kind: ManagementKind, dbm: Option<f64>) {
        let now = self.now;
        let station = &mut self.roamers[index].station;
        match kind {
            ManagementKind::Beacon | ManagementKind::ProbeResponse => {
                let Some(dbm) = dbm else { return };
                station.on_heard(now, number, dbm);
            }
            ManagementKind::AuthenticationResponse => station.on_authenticated(now, number),
            ManagementKind::AssociationResponse => station.on_associated(now, number),
            _ => return,
        }
        self.act(index);
    }

    /// An access point has received a frame of a roaming station.
    fn answer(&mut self, index: usize, number: usize, kind: ManagementKind) {
        let Candidate {
            channel,
            radio,
            own,
            ..
        } = self.roamers[index].candidates[number];
        let (kind, bytes) = match kind {
            ManagementKind::ProbeRequest => (ManagementKind::ProbeResponse, PROBE_RESPONSE_BYTES),
            ManagementKind::AuthenticationRequest => {
                (ManagementKind::AuthenticationResponse, AUTHENTICATION_BYTES)
            }
            ManagementKind::AssociationRequest => (
                ManagementKind::AssociationResponse,
                ASSOCIATION_RESPONSE_BYTES,
            ),
            ManagementKind::Sleeps | ManagementKind::Wakes => {
                let input = Input::SetAsleep {
                    from: radio,
                    to: own,
                    asleep: kind == ManagementKind::Sleeps,
                };
                return self.channels[channel].handle(self.now, input);
            }
            _ => return,
        };
        self.manage(channel, radio, Some(own), kind, bytes);
    }

    fn manage(
        &mut self,
        channel: usize,
        from: RadioId,
        to: Option<RadioId>,
        kind: ManagementKind,
        bytes: u32,
    ) {
        let frame = ManagementFrame { to, kind, bytes };
        self.channels[channel].handle(self.now, Input::Manage { from, frame });
    }

    /// The alarm of a roaming station has gone off.
    pub(super) fn wake_roamer(&mut self, index: usize) {
        let roamer = &mut self.roamers[index];
        if roamer.alarm.ring(self.now) {
            roamer.station.on_time(self.now);
            self.act(index);
        }
    }

    /// Does what a roaming station has decided.
    fn act(&mut self, index: usize) {
        while let Some(action) = self.roamers[index].station.poll() {
            let own_at = self.roamers[index].known_at;
            match action {
                Action::SaySleeps => {
                    self.ask(index, own_at, ManagementKind::Sleeps, NULL_BYTES);
                }
                Action::SayWakes => self.ask(index, own_at, ManagementKind::Wakes, NULL_BYTES),
                Action::Tune(number) => self.tune(index, number),
                Action::Probe => self.probe(index),
                Action::Leave => self.leave(index),
                Action::Authenticate(number) => {
                    let kind = ManagementKind::AuthenticationRequest;
                    self.ask(index, number, kind, AUTHENTICATION_BYTES);
                }
                Action::Associate(number) => {
                    let kind = ManagementKind::AssociationRequest;
                    self.ask(index, number, kind, ASSOCIATION_REQUEST_BYTES);
                }
                Action::Join(number) => self.join_access_point(index, number),
            }
        }
        self.set_roaming_alarm(index);
    }

    fn set_roaming_alarm(&mut self, index: usize) {
        let roamer = &mut self.roamers[index];
        let due = roamer.station.deadline();
        // There are fewer stations than 2^32.
        roamer
            .alarm
            .set(&mut self.agenda, due, Class::Roaming, index as u32);
    }

    /// A station sends a frame to one of its access points.
    fn ask(&mut self, index: usize, number: usize, kind: ManagementKind, bytes: u32) {
        let at = self.roamers[index].candidates[number];
        self.manage(at.channel, at.own, Some(at.radio), kind, bytes);
    }

    /// A station asks all access points on its present channel.
    fn probe(&mut self, index: usize) {
        let roamer = &self.roamers[index];
        let here = |at: &&Candidate| at.channel == roamer.tuned;
        if let Some(&at) = roamer.candidates.iter().find(here) {
            let kind = ManagementKind::ProbeRequest;
            self.manage(at.channel, at.own, None, kind, PROBE_REQUEST_BYTES);
        }
    }

    /// A station tunes to the channel of an access point.
    fn tune(&mut self, index: usize, number: usize) {
        let roamer = &mut self.roamers[index];
        let to = roamer.candidates[number];
        let before = core::mem::replace(&mut roamer.tuned, to.channel);
        if before == to.channel {
            return;
        }
        let on_channel = |at: &&Candidate| at.channel == before;
        let left = roamer.candidates.iter().find(on_channel).copied();
        for (at, is_away) in left.into_iter().map(|at| (at, true)).chain([(to, false)]) {
            let input = Input::SetAway {
                radio: at.own,
                is_away,
            };
            self.channels[at.channel].handle(self.now, input);
        }
    }

    /// A station gives its access point up, which does not know of it: as Linux, it sends no
    /// deauthentication. What it holds for that one is dropped.
    fn leave(&mut self, index: usize) {
        let roamer = &mut self.roamers[index];
        let at = roamer.candidates[roamer.known_at];
        roamer.left = Some(self.now);
        let node = roamer.node;
        self.routes.detach(node);
        self.set_deaf(at, true);
        self.forget(at.channel, at.own, at.radio);
    }

    /// A station is associated with an access point: the network learns where it is, and the old
    /// access point drops what it holds for it.
    fn join_access_point(&mut self, index: usize, number: usize) {
        let roamer = &mut self.roamers[index];
        let old = roamer.candidates[roamer.known_at];
        let new = roamer.candidates[number];
        let node = roamer.node;
        roamer.known_at = number;
        let left = roamer.left.take().unwrap_or(self.now);
        self.forget(old.channel, old.radio, old.own);
        if old.radio != new.radio || old.channel != new.channel {
            self.forget(new.channel, new.radio, new.own);
        }
        self.forget(new.channel, new.own, new.radio);
        self.set_deaf(new, false);
        self.routes.attach(node, &new.into());
        self.hand_overs.push(HandOver {
            station: node,
            from: old.node,
            to: new.node,
            left,
            joined: self.now,
        });
        self.follow_with_proxies(node, new.node);
    }

    fn forget(&mut self, channel: usize, from: RadioId, to: RadioId) {
        self.channels[channel].handle(self.now, Input::Forget { from, to });
    }

    /// A station receives nothing more of an access point, or receives it again.
    fn set_deaf(&mut self, at: Candidate, is_deaf: bool) {
        let input: Input<Box<Parcel>> = Input::SetDeaf {
            from: at.radio,
            to: at.own,
            is_deaf,
        };
        self.channels[at.channel].handle(self.now, input);
    }
}

impl From<Candidate> for super::route::Attachment {
    fn from(at: Candidate) -> Self {
        Self {
            to: at.node,
            // There are fewer channels than 2^32.
            channel: at.channel as u32,
            radio: at.radio,
            own: at.own,
        }
    }
}
