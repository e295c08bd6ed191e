//! The end of a slot: the law decides, stations change their mode, records are made.

use super::turns::Place;
use super::{Event, Mode, Proxy, mode, record};
use crate::agent::ENOUGH_FRAMES;
use airpace_core::packet::Packet;
use airpace_core::queue::CoDelConfig;
use airpace_units::Time;
use core::time::Duration;

/// How long a scalable flow counts as present after its last mark: several of its round trips.
const SCALABLE_MEMORY: Duration = Duration::from_secs(1);

impl<P: Packet> Proxy<P> {
    /// Ends a slot: runs the law on the reports that came, applies modes and rates, makes the
    /// records.
    pub(super) fn decide(&mut self, now: Time) {
        self.last_decision = Some(now);
        self.report_unseen(now);
        self.pending.sort_by_key(|report| report.station);
        if let Some(law) = &mut self.law
            && !self.pending.is_empty()
        {
            for allocation in law.on_slot(now, &self.pending) {
                if let Some(station) = self.stations.get_mut(allocation.station.index()) {
                    station.allocation = Some(*allocation);
                    station.pause(now, allocation.pause);
                }
            }
        }
        for station in 0..self.stations.len() {
            self.update_mode(now, station);
        }
        self.next_decision = now.saturating_add(if self.awaited > 0 {
            // Reports are waited for half a slot longer than they are due.
            self.config.slot * 3 / 2
        } else {
            self.config.slot
        });
        if let Some(law) = &self.law {
            let events = self
                .estimates
                .update(now, law.diagnostics(), self.config.delay_target);
            self.events.extend(events.into_iter().flatten());
        }
        if self.config.records {
            self.record(now);
        }
        for station in &mut self.stations {
            station.reported = false;
        }
        self.reported = 0;
        self.pending.clear();
    }

    /// Tells the law what is sent to stations that have not reported for some slots: what it does not
    /// know of would be overhead to it. It gives each its share of the air, as if it had a backlog:
    /// silence must not pay.
    fn report_unseen(&mut self, now: Time) {
        let takes_unseen = self.law.as_ref().is_some_and(|law| law.takes_news());
        let (slot, pending) = (self.config.slot, &mut self.pending);
        for station in &mut self.stations {
            if takes_unseen && station.mode.is_unseen() && !station.reported {
                pending.extend(station.unseen_report(now, slot));
            }
        }
    }

    /// Makes a record of every station's slot.
    fn record(&mut self, now: Time) {
        for station in &mut self.stations {
            let report = match self
                .pending
                .binary_search_by_key(&station.id, |report| report.station)
            {
                Ok(at) if station.reported => Some(&self.pending[at]),
                _ => None,
            };
            let diagnostics = self.estimates.diagnostics();
            let record = record::slot_record(now, station, &self.config, report, diagnostics);
            self.records.push_back(record);
            let counters = station.queue.counters();
            let (dropped, marked) = (counters.dropped(), counters.marked);
            station.slot.begin_slot(now, dropped, marked);
        }
    }

    /// Puts a station into the mode that its reports, or their absence, ask for, and paces it
    /// accordingly.
    pub(super) fn update_mode(&mut self, now: Time, station: usize) {
        let paced = &mut self.stations[station];
        let to = mode::wanted(paced, now, &self.config);
        if to != paced.mode {
            let from = core::mem::replace(&mut paced.mode, to);
            self.events.push_back(Event::ModeChanged {
                at: now,
                station,
                from,
                to,
                silence: now.saturating_since(paced.heard_at),
            });
            // Nothing that the law remembers of the station holds any more.
            if let Some(law) = &mut self.law
                && matches!(to, Mode::Away | Mode::Unshaped)
            {
                law.remove(paced.id);
                paced.allocation = None;
                paced.known_to_wait = false;
            }
        }
        // The next report of a station that has few frames may come up to three slots later.
        let takes_news = self.law.as_ref().is_some_and(|law| law.takes_news());
        let report = paced.last_report.as_ref();
        let may_extend = takes_news && report.is_some_and(|report| report.frames < ENOUGH_FRAMES);
        let awaited = paced.mode.is_awaited() && !may_extend;
        self.awaited -= usize::from(core::mem::replace(&mut paced.awaited, awaited));
        self.awaited += usize::from(awaited);
        self.reported -= usize::from(paced.counts_as_reported());
        paced.may_extend = may_extend;
        self.reported += usize::from(paced.counts_as_reported());
        self.apply_rate(now, station);
    }

    /// Paces a station as its mode and its allocation ask for.
    pub(super) fn apply_rate(&mut self, now: Time, station: usize) {
        let paced = &mut self.stations[station];
        if paced.has_scalable_flow() {
            self.scalable_until = now.saturating_add(SCALABLE_MEMORY);
        }
        let mut codel = self.config.queue.codel;
        if now < self.scalable_until {
            // Beside longer queues a scalable flow, of whatever station, would get less than four
            // fifths of what a Cubic flow gets.
            codel.target = codel.target.min(CoDelConfig::default().target);
        }
        paced.apply(now, &self.config, codel);
        // The release may have moved with the rate. A station in the ring finds out when its turn
        // comes.
        let unmoved = match paced.place {
            Place::Ready => true,
            Place::Waiting(release) => paced.next_release() == Some(release),
            Place::Idle => false,
        };
        if !unmoved {
            paced.place = Place::Idle;
            self.activate_at(now, station);
        }
    }
}
