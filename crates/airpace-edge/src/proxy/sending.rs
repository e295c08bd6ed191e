//! Packets go out: which station is served, and with what.

use super::turns::Place;
use super::{DroppedPacket, Output, Proxy};
use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;
use airpace_core::queue::Dropped;
use airpace_units::Time;

impl<P: Packet> Proxy<P> {
    /// The next packet that may leave now.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Output<P>> {
        // Callers poll until there is nothing, and mostly there is one packet at a time.
        if self.turns.is_quiet(now) && !self.divides_again(now) {
            return None;
        }
        self.poll_in_turn(now)
    }

    fn poll_in_turn(&mut self, now: Time) -> Option<Output<P>> {
        loop {
            if let Some(output) = self.poll_at_these_rates(now) {
                return Some(output);
            }
            // What waits now is a burst that the rates do not know of yet.
            if !self.divide_again(now) {
                return None;
            }
        }
    }

    /// The next packet that may leave now, at the rates as they are.
    fn poll_at_these_rates(&mut self, now: Time) -> Option<Output<P>> {
        while let Some(station) = self.turns.pop_released(now, |idx| self.stations[idx].place) {
            self.stations[station].place = self.turns.push_ready(station);
        }
        while let Some(station) = self.turns.current() {
            if self.turns.goes_on()
                && let Some(output) = self.serve(now, station)
            {
                self.turns.count();
                self.move_on_unless_due(now, station);
                self.note_backlog(station);
                return Some(output);
            }
            self.turns.end_turn();
            self.stations[station].place = Place::Idle;
            self.activate_at(now, station);
            self.note_backlog(station);
        }
        None
    }

    /// Puts a station that has something to send into the ring.
    pub(super) fn activate(&mut self, station: usize) {
        let paced = &mut self.stations[station];
        if paced.place == Place::Idle {
            paced.place = self.turns.push_ready(station);
        }
    }

    /// Moves a waiting station forward if its next packet may now leave sooner.
    pub(super) fn advance(&mut self, now: Time, station: usize) {
        let paced = &mut self.stations[station];
        let Place::Waiting(until) = paced.place else {
            return;
        };
        if paced.next_release().is_some_and(|release| release < until) {
            paced.place = Place::Idle;
            self.activate_at(now, station);
        }
    }

    /// Ends the turn of a station that has just sent and must wait for its pacer, as it mostly
    /// must: the next poll need not find out.
    fn move_on_unless_due(&mut self, now: Time, station: usize) {
        let paced = &mut self.stations[station];
        let Some(release) = paced.next_release().filter(|release| *release > now) else {
            return;
        };
        self.turns.end_turn();
        paced.held_back = paced.load_bytes.is_some() || !paced.queue.is_empty();
        paced.place = if paced.has_something() {
            self.turns.push_waiting(station, release)
        } else {
            Place::Idle
        };
    }

    /// Puts a station that stands nowhere where it belongs now.
    pub(super) fn activate_at(&mut self, now: Time, station: usize) {
        let paced = &mut self.stations[station];
        if !paced.has_something() {
            return;
        }
        match paced.next_release() {
            Some(release) if release <= now => paced.place = self.turns.push_ready(station),
            Some(release) => paced.place = self.turns.push_waiting(station, release),
            // Its rate is zero: the next grant brings it back.
            None => {}
        }
    }

    /// A packet, or load, of one station, if its pacer permits.
    fn serve(&mut self, now: Time, station: usize) -> Option<Output<P>> {
        let paced = &mut self.stations[station];
        if !paced.connected {
            return None;
        }
        let Some(due) = paced.due(now) else {
            paced.held_back = paced.load_bytes.is_some() || !paced.queue.is_empty();
            return None;
        };
        if paced.queue.is_empty() {
            return self.serve_load(due, station);
        }
        let would_hold = paced.would_hold(now);
        let held = paced.held_back || would_hold;
        let packet = paced.queue.dequeue_with_sojourn(now);
        if would_hold {
            paced.held_back = true;
        } else if paced.queue.is_empty() {
            paced.account.empty(now);
            paced.held_back &= paced.load_bytes.is_some();
        }
        let output = packet.map(|(packet, sojourn)| {
            let bytes = packet.bytes().saturating_add(self.config.packet_overhead);
            let priority = paced.priority(now, bytes, &self.config, &mut self.budget);
            let category = match priority {
                Some(category) => category,
                None if self.config.keeps_category => packet.category(),
                None => AccessCategory::BestEffort,
            };
            let acknowledged_bytes = paced.queue.last_served().acknowledged_bytes;
            paced.charge(due, bytes, acknowledged_bytes, Some(sojourn));
            paced.count(bytes, held, category);
            Output::Packet {
                station,
                packet,
                waited: sojourn,
                priority,
            }
        });
        self.collect_drops(station);
        self.stations[station].settle_empty_queue(now);
        // CoDel may have dropped all that waited.
        output.or_else(|| self.serve_load(due, station))
    }

    /// Load of a station to which nothing else is to be sent.
    fn serve_load(&mut self, due: Time, station: usize) -> Option<Output<P>> {
        let paced = &mut self.stations[station];
        let bytes = paced.load_bytes.filter(|_| paced.has_load())?;
        paced.charge(due, bytes, 0, None);
        paced.count(bytes, true, AccessCategory::BestEffort);
        Some(Output::Load { station, bytes })
    }

    /// Takes over what the station's queue has dropped.
    pub(super) fn collect_drops(&mut self, station: usize) {
        while let Some(Dropped { reason, packet }) = self.stations[station].queue.poll_drop() {
            self.drops.push_back(DroppedPacket {
                station,
                reason: Some(reason),
                packet,
            });
        }
    }
}
