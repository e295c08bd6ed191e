//! Tells the law of bursts between its slots, so that it divides the air among those that have
//! something to send.
//!
//! Video comes in bursts of a few milliseconds, pages in bursts of some hundred. If the law learnt of
//! them from reports alone, it would have to keep the air for all bursts that may come, or let them
//! add up in the access point.

use super::Proxy;
use airpace_core::control::BacklogChange;
use airpace_core::packet::Packet;
use airpace_units::Time;
use core::time::Duration;

/// Least time between two divisions. A burst of video takes several times as long to send.
const LEAST_GAP: Duration = Duration::from_millis(1);
/// The same per station, so that many stations take no more than a few hundredths of the processor:
/// a division takes 0.16 µs per station (`cargo bench -p airpace-core --bench control`).
const LEAST_GAP_PER_STATION: Duration = Duration::from_micros(5);

/// What the law has not been told yet.
#[derive(Debug)]
pub(super) struct Bursts {
    /// Stations that have begun or ceased to wait since the last division, perhaps more than once.
    noted: Vec<u32>,
    /// Kept for its capacity.
    changes: Vec<BacklogChange>,
    gap: Duration,
    /// When the law may divide again.
    soonest: Time,
}

impl Bursts {
    pub(super) fn new(stations: usize) -> Self {
        let mut bursts = Self {
            noted: Vec::new(),
            changes: Vec::new(),
            gap: LEAST_GAP,
            soonest: Time::ZERO,
        };
        bursts.set_stations(stations);
        bursts
    }

    /// Sets the number of stations.
    pub(super) fn set_stations(&mut self, stations: usize) {
        let stations = u32::try_from(stations).unwrap_or(u32::MAX);
        self.gap = LEAST_GAP.max(LEAST_GAP_PER_STATION.saturating_mul(stations));
    }

    /// When the law is to be told; `None` if there is nothing to tell.
    pub(super) fn deadline(&self) -> Option<Time> {
        (!self.noted.is_empty()).then_some(self.soonest)
    }
}

impl<P: Packet> Proxy<P> {
    /// Notes whether packets wait for a station's pacer, if that has changed.
    pub(super) fn note_backlog(&mut self, station: usize) {
        let paced = &mut self.stations[station];
        // A law that has not granted a rate does not know the station: it is told later.
        if paced.held_back != paced.known_to_wait && paced.allocation.is_some() && !paced.noted {
            paced.noted = true;
            self.bursts.noted.push(station as u32);
        }
    }

    /// Lets the law divide the air again if bursts have come or gone and the last division is long
    /// enough ago. Returns whether rates have changed.
    #[inline]
    pub(super) fn divide_again(&mut self, now: Time) -> bool {
        self.divides_again(now) && self.divide(now)
    }

    /// Whether there is something to tell the law, and it may divide again.
    #[inline]
    pub(super) fn divides_again(&self, now: Time) -> bool {
        !self.bursts.noted.is_empty() && now >= self.bursts.soonest
    }

    fn divide(&mut self, now: Time) -> bool {
        self.bursts.soonest = now.saturating_add(self.bursts.gap);
        self.bursts.changes.clear();
        for station in self.bursts.noted.drain(..) {
            let paced = &mut self.stations[station as usize];
            paced.noted = false;
            // A burst that came and went in the meantime is no change.
            if paced.held_back != paced.known_to_wait && paced.allocation.is_some() {
                paced.known_to_wait = paced.held_back;
                self.bursts.changes.push(BacklogChange {
                    station: paced.id,
                    waits: paced.held_back,
                });
            }
        }
        let Some(law) = &mut self.law else {
            return false;
        };
        let Some(allocations) = law.on_backlog(now, &self.bursts.changes) else {
            return false;
        };
        for allocation in allocations {
            if let Some(station) = self.stations.get_mut(allocation.station.index()) {
                station.allocation = Some(*allocation);
            }
        }
        for station in 0..self.stations.len() {
            self.apply_rate(now, station);
        }
        true
    }
}
