//! The table of stations: who is learnt, who follows to another access point, who is forgotten.

use super::config::MediumConfig;
use super::news::NewsKind;
use super::station::{LearntStation, Seat};
use super::{DownlinkFrame, Inline, StationChange};
use airpace_core::wire::ieee80211::MacAddr;
use airpace_units::Time;
use core::time::Duration;

/// How long a station to which frames have been sent may be seen on the wired side, without being
/// heard at an access point, before it counts as gone. A loop returns its frames within milliseconds,
/// and it is mostly heard again within a second.
const WIRED_GRACE: Duration = Duration::from_secs(2);

/// What is heard at the port that a station has just left was on its way when it left. An association
/// takes a station longer than this, so it cannot be back yet. If it were believed, frames would go to an
/// access point where the station is not, and nothing that it answers would correct that.
const BACK_AFTER: Duration = Duration::from_millis(50);

impl LearntStation {
    /// Whether a frame that is heard at `port` was sent before the station came to where it is.
    fn is_late(&self, now: Time, port: usize) -> bool {
        self.left_port
            .is_some_and(|(left, at)| left == port && port != self.port && now < at + BACK_AFTER)
    }
}

impl<F: DownlinkFrame> Inline<F> {
    /// Returns the seat of a station that has just been heard at `port`; `None` if there is no room for
    /// it.
    pub(super) fn hear(&mut self, now: Time, port: usize, mac: MacAddr) -> Option<Seat> {
        let Some(&index) = self.by_mac.get(&mac) else {
            return self.learn(now, port, mac);
        };
        let station = self.stations[index].as_mut()?;
        if station.is_late(now, port) {
            return Some(station.seat);
        }
        self.note_heard(index, now);
        let station = self.stations[index].as_mut()?;
        let before = core::mem::replace(&mut station.port, port);
        if before == port {
            return Some(station.seat);
        }
        station.left_port = Some((before, now));
        self.counts.roamed += 1;
        let seat = station.seat;
        let medium = self.medium_of(port, mac);
        if seat.medium == medium {
            return Some(seat);
        }
        let moved = self.move_to(now, index, medium);
        self.tell(index, NewsKind::Roamed { from: seat.medium });
        moved
    }

    /// Returns the medium of a station that is heard at `port`.
    pub(super) fn medium_of(&self, port: usize, mac: MacAddr) -> usize {
        let listed = |medium: &MediumConfig| medium.stations.contains(&mac);
        let medium = self.config.media.iter().position(listed);
        medium
            .unwrap_or(self.config.ports[port])
            .min(self.media.len() - 1)
    }

    /// Learns a station.
    fn learn(&mut self, now: Time, port: usize, mac: MacAddr) -> Option<Seat> {
        let medium = self.medium_of(port, mac);
        self.make_room(now)?;
        let index = self.free.pop().unwrap_or(self.stations.len());
        let known = self.config.stations.iter().find(|known| known.mac == mac);
        let mut station = LearntStation::new(mac, Seat::new(medium, 0), port, now, known);
        let key = self.key_of(medium, index);
        // A weight that the law does not support has been refused with the configuration.
        let seat = self.media[medium].seat(now, index, &station, key).ok()?;
        station.seat.station = seat;
        if !station.is_exempt {
            self.changes.push_back(StationChange::Joined(mac));
        }
        let (seat, is_confirmed) = (station.seat, station.is_confirmed);
        if index == self.stations.len() {
            self.stations.push(Some(station));
        } else {
            self.stations[index] = Some(station);
        }
        self.by_mac.insert(mac, index);
        if is_confirmed {
            self.tell(index, NewsKind::Joined);
        } else {
            self.unconfirmed.insert((now, index));
        }
        Some(seat)
    }

    /// Makes room for another station; `None` if there is none.
    ///
    /// Anybody can invent addresses and send from them, but frames for them come only if somebody
    /// answers. So stations to which nothing has been sent yet give way to each other, the one that
    /// was heard least recently first, and never displace others.
    fn make_room(&mut self, now: Time) -> Option<()> {
        let is_full = self.by_mac.len() >= self.config.most_stations;
        if !is_full && self.unconfirmed.len() < self.config.most_unconfirmed {
            return Some(());
        }
        self.counts.crowded_out += 1;
        let &(_, oldest) = self.unconfirmed.first()?;
        self.forget(now, oldest);
        Some(())
    }

    /// Notes that a frame is sent to a station: somebody answers it, so it is not invented.
    pub(super) fn confirm(&mut self, index: usize) {
        if let Some(station) = &mut self.stations[index]
            && !core::mem::replace(&mut station.is_confirmed, true)
        {
            self.unconfirmed.remove(&(station.heard_at, index));
            self.tell(index, NewsKind::Joined);
        }
    }

    /// Notes that a station was heard at an access point.
    pub(super) fn note_heard(&mut self, index: usize, at: Time) {
        let Some(station) = &mut self.stations[index] else {
            return;
        };
        let before = station.heard_at;
        if at > before {
            station.heard_at = at;
            station.wired_at = None;
            if !station.is_confirmed {
                self.unconfirmed.remove(&(before, index));
                self.unconfirmed.insert((at, index));
            }
        }
    }

    /// Handles a frame that arrived from `from` on the wired side after frames of the same source had
    /// arrived at the port of an access point. A station to which nothing has been sent is forgotten: it is
    /// a wired host, a frame of which a loop has returned. Any other one has two seconds to be heard
    /// at an access point again, because a loop may return its frames as well.
    pub fn on_wired(&mut self, now: Time, from: MacAddr) {
        let Some(&index) = self.by_mac.get(&from) else {
            return;
        };
        match &mut self.stations[index] {
            Some(station) if station.is_confirmed => station.wired_at = Some(now),
            _ => self.forget(now, index),
        }
    }

    /// Gives a station that has roamed a seat at its new access point, where its packets follow.
    pub(super) fn move_to(&mut self, now: Time, index: usize, medium: usize) -> Option<Seat> {
        let key = self.key_of(medium, index);
        let station = self.stations[index].as_mut()?;
        let old = station.seat;
        let seat = self.media[medium].seat(now, index, station, key).ok()?;
        station.seat = Seat::new(medium, seat);
        self.media[old.medium].leave(now, old.station);
        // Nothing that waited is lost: it is sent where the station is now.
        while let Some(dropped) = self.media[old.medium].proxy.poll_drop() {
            if dropped.reason.is_none() && dropped.station == old.station {
                self.media[medium].proxy.enqueue(now, seat, dropped.packet);
            }
        }
        Some(Seat::new(medium, seat))
    }

    /// Returns the secret key of the queue of the station `index`.
    fn key_of(&self, medium: usize, index: usize) -> [u8; 16] {
        let mut key = self.hash_key;
        let own = ((medium as u64) << 48) ^ index as u64;
        for (byte, own) in key.iter_mut().zip(own.to_le_bytes()) {
            *byte ^= own;
        }
        key
    }

    /// Forgets the stations that have been silent for long, or have moved to the wired side.
    pub(super) fn forget_silent(&mut self, now: Time) {
        for index in 0..self.stations.len() {
            let Some(station) = &self.stations[index] else {
                continue;
            };
            let is_silent = now.saturating_since(station.heard_at) >= self.config.leave_after;
            let is_wired = station
                .wired_at
                .is_some_and(|at| now.saturating_since(at) >= WIRED_GRACE);
            if is_silent || is_wired {
                self.forget(now, index);
            }
        }
    }

    /// Forgets a station. What waits for it is dropped.
    fn forget(&mut self, now: Time, index: usize) {
        let is_real = |station: &LearntStation| station.is_confirmed;
        if self.stations[index].as_ref().is_some_and(is_real) {
            self.tell(index, NewsKind::Left);
        }
        let Some(station) = self.stations[index].take() else {
            return;
        };
        self.by_mac.remove(&station.mac);
        self.unconfirmed.remove(&(station.heard_at, index));
        self.free.push(index);
        self.media[station.seat.medium].leave(now, station.seat.station);
        self.changes.push_back(StationChange::Left(station.mac));
    }
}
