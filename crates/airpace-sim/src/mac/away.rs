//! Stations that are on another channel, sleep, or leave for another access point.

use super::delivery::Address;
use super::ids::{AccessFunctionId, CATEGORIES, LaneId};
use super::window::{Fate, TryLimit};
use super::{DropReason, Mac, RadioId};
use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;
use airpace_core::queue;
use airpace_units::Time;

impl<P: Packet + Clone> Mac<P> {
    /// A radio leaves the channel or comes back, upon which it contends for what it has to send.
    pub(super) fn set_away(&mut self, now: Time, radio: RadioId, is_away: bool) {
        let Some(state) = self.radios.get_mut(radio.index()) else {
            return;
        };
        state.is_away = is_away;
        if is_away {
            return;
        }
        let parked = core::mem::take(&mut state.parked);
        for category in parked {
            let function = AccessFunctionId { radio, category };
            if self.radios[radio.index()].paths[category].has_work() {
                self.contend(now, function);
            }
        }
        self.unpark_management(now, radio);
        self.next = self.find_next();
    }

    /// A radio keeps its packets for another one that sleeps, or sends them again.
    pub(super) fn set_asleep(&mut self, now: Time, from: RadioId, to: RadioId, asleep: bool) {
        for (function, lane) in self.lanes_between(from, to) {
            let paths = &mut self.radios[from.index()].paths;
            let was_idle = paths[function.category].is_idle();
            paths.set_asleep(function.category, lane, asleep);
            if asleep {
                continue;
            }
            self.compose_ahead(function, now);
            if was_idle && self.radios[from.index()].paths[function.category].has_work() {
                self.contend(now, function);
            }
        }
    }

    /// A radio drops what it holds for another one; the next packet is the first of a new
    /// association.
    pub(super) fn forget(&mut self, now: Time, from: RadioId, to: RadioId) {
        for (function, lane) in self.lanes_between(from, to) {
            let category = function.category;
            let was_idle = self.radios[from.index()].paths[category].is_idle();
            let mut dropped = self.radios[from.index()].paths.forget(now, category, lane);
            self.settle_unsent(function, lane, &mut dropped);
            for packet in dropped {
                let address = Address { from, to, category };
                let reason = DropReason::Queue(queue::DropReason::Gone);
                self.outputs.dropped(now, address, reason, packet);
            }
            // What is in the queueing discipline for it is dropped, and the others may go on.
            self.radios[from.index()].paths[category].refill(now);
            self.compose_ahead(function, now);
            self.report_drops(now, function);
            if was_idle && self.radios[from.index()].paths[category].has_work() {
                self.contend(now, function);
            }
        }
        if let Some(link) = self.link_mut(from, to) {
            link.unanswered = 0;
        }
    }

    /// Gives up the MPDUs of a lane that are in no frame on the air.
    fn settle_unsent(&mut self, function: AccessFunctionId, id: LaneId, dropped: &mut Vec<P>) {
        let paths = &mut self.radios[function.radio.index()].paths;
        let path = &mut paths[function.category];
        let none = TryLimit {
            limit: Some(0),
            counts_answered: true,
        };
        let mut outputs = Vec::new();
        let mut settled = 0;
        let (unsent, was_asking) = path.take_unsent(id);
        for flight in unsent {
            let window = &mut path.lane_mut(id).window;
            let mut tell = |fate| outputs.push(fate);
            settled += window
                .settle(flight.built.number, false, &none, &mut tell)
                .packets;
            path.complete(id, self.rules.estimate(&flight.built));
        }
        let window = &mut path.lane_mut(id).window;
        settled += window.abandon(&mut |fate| outputs.push(fate));
        path.settled(id, settled);
        if was_asking {
            paths.served(function.category, id, true);
        }
        for fate in outputs {
            // What the receiver had, but not in order, is lost with its association.
            if let Fate::GivenUp { packet } | Fate::Released { packet, .. } = fate {
                dropped.push(packet);
            }
        }
    }

    /// The lanes of a link, with their access functions.
    fn lanes_between(&self, from: RadioId, to: RadioId) -> Vec<(AccessFunctionId, LaneId)> {
        let Some(radio) = self.radios.get(from.index()) else {
            return Vec::new();
        };
        let lane = |category: AccessCategory| {
            let function = AccessFunctionId {
                radio: from,
                category,
            };
            Some((function, radio.lane(to, category)?))
        };
        CATEGORIES.into_iter().filter_map(lane).collect()
    }
}
