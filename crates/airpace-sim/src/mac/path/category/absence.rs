//! Receivers that sleep, and those that have left.

use super::CategoryPath;
use crate::mac::flight::Flight;
use crate::mac::ids::LaneId;
use crate::mac::path::queue::Feed as _;
use airpace_core::packet::Packet;
use airpace_units::Time;

impl<P: Packet + Clone> CategoryPath<P> {
    /// See [`super::super::TransmitPaths::set_asleep`].
    pub(in crate::mac::path) fn set_asleep(&mut self, id: LaneId, asleep: bool, oldest: Time) {
        self.lanes[id.index()].asleep = asleep;
        if asleep {
            let is_kept = |flight: &&Flight| flight.lane == id;
            self.kept.extend(self.composed.iter().filter(is_kept));
            self.composed.retain(|flight| flight.lane != id);
            return;
        }
        while let Some(place) = self.kept.iter().rposition(|flight| flight.lane == id) {
            let flight = self.kept.remove(place);
            self.composed.push_front(flight);
        }
        self.relist(id, oldest);
    }

    /// Takes the packets of a lane whose receiver has left out of its queue.
    pub(in crate::mac::path) fn take_queue(&mut self, id: LaneId) -> Vec<P> {
        let lane = &mut self.lanes[id.index()];
        lane.left = true;
        lane.asleep = false;
        let mut packets = Vec::with_capacity(lane.queue.len());
        while let Some((_, packet)) = lane.queue.pop() {
            packets.push(packet);
        }
        // Only some queues count towards a limit.
        let counted = packets.len().min(lane.held);
        self.release(id, counted);
        packets
    }

    /// Takes the frames of a lane that are composed and not on the air, and says whether its sender
    /// was asking for a block ack.
    pub(in crate::mac) fn take_unsent(&mut self, id: LaneId) -> (Vec<Flight>, bool) {
        let is_of_lane = |flight: &&Flight| flight.lane == id;
        let mut unsent: Vec<Flight> = self.composed.iter().filter(is_of_lane).copied().collect();
        unsent.extend(self.kept.iter().filter(is_of_lane));
        self.composed.retain(|flight| flight.lane != id);
        self.kept.retain(|flight| flight.lane != id);
        let asked = self.request.take_if(|flight| flight.lane == id);
        unsent.extend(asked);
        (unsent, asked.is_some())
    }
}
