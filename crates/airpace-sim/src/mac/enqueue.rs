//! A packet comes from the network layer: it goes into the transmit path of its category, and the
//! access function contends for the channel if it had nothing to send before.

use super::delivery::Address;
use super::ids::{AccessFunctionId, LaneId, LinkId};
use super::path::LaneDrop;
use super::{DropReason, Mac, RadioAirtime, RadioId};
use airpace_core::packet::Packet;
use airpace_core::queue::Dropped;
use airpace_units::Time;

impl<P: Packet + Clone> Mac<P> {
    /// `from` is given a packet for `to`.
    #[inline(always)]
    pub(super) fn send(&mut self, now: Time, from: RadioId, to: RadioId, packet: P) {
        let radio = self.radios.get(from.index());
        let Some((radio, peer)) = radio.and_then(|radio| Some((radio, radio.peer(to)?))) else {
            let category = packet.category();
            let address = Address { from, to, category };
            let reason = DropReason::UnknownLink;
            return self.outputs.dropped(now, address, reason, packet);
        };
        let category = radio.config.category.unwrap_or(packet.category());
        let (link, lane) = (peer.link, peer.lanes[category]);
        let function = AccessFunctionId {
            radio: from,
            category,
        };
        let lane = match lane {
            Some(lane) => lane,
            None => self.add_lane(function, link),
        };
        if self.radios[from.index()].paths[category].wants_size(now) {
            self.resize(function, now);
        }
        let paths = &mut self.radios[from.index()].paths;
        let was_idle = paths[category].is_idle();
        paths.push(now, category, lane, packet);
        self.compose_for_arrival(function, now);
        self.report_drops(now, function);
        if was_idle && self.radios[from.index()].paths[category].has_work() {
            self.contend(now, function);
        }
    }

    /// Adds a lane for a link over which nothing has been sent in this category yet.
    fn add_lane(&mut self, function: AccessFunctionId, link: LinkId) -> LaneId {
        let radio = &mut self.radios[function.radio.index()];
        radio.add_lane(function.category, link, &self.links[link.index()])
    }

    /// Reports the packets that the queues of an access function have dropped, and packets of any
    /// link and category that the shared flow queues have dropped.
    #[inline]
    pub(super) fn report_drops(&mut self, at: Time, function: AccessFunctionId) {
        let paths = &self.radios[function.radio.index()].paths;
        if paths.has_drops(function.category) {
            self.report_each_drop(at, function);
        }
    }

    #[inline(never)]
    fn report_each_drop(&mut self, at: Time, function: AccessFunctionId) {
        let category = function.category;
        let paths = &mut self.radios[function.radio.index()].paths;
        while let Some((lane, Dropped { reason, packet })) = paths[category].poll_drop() {
            let link = &self.links[paths[category].lane(lane).link.index()];
            let address = Address::of(link, category);
            let reason = DropReason::Queue(reason);
            self.outputs.dropped(at, address, reason, packet);
        }
        while let Some(drop) = paths.poll_flow_drop() {
            let LaneDrop {
                category,
                link,
                dropped: Dropped { reason, packet },
            } = drop;
            let address = Address::of(&self.links[link.index()], category);
            let reason = DropReason::Queue(reason);
            self.outputs.dropped(at, address, reason, packet);
        }
    }

    /// Adjusts the size of a queueing discipline to the time for which others have kept the channel
    /// busy.
    pub(super) fn resize(&mut self, function: AccessFunctionId, now: Time) {
        let radio = function.radio;
        let RadioAirtime {
            data,
            control,
            beacons,
            management,
        } = self.airtime(radio);
        let busy = self.channel(radio, now).busy;
        let others = busy.saturating_sub(data + control + beacons + management);
        self.radios[radio.index()].paths[function.category].resize(now, others);
    }
}
