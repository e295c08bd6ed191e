//! Packets on their way: over the air and wires, from node to node, to the ends of their flows.

use super::flow::Flow;
use super::parcel::Payload;
use super::proxy::PacedBy;
use super::route::Hop;
use super::{Loss, NodeId, Parcel, PassingRecord, World};
use crate::mac::RadioId;

impl World {
    /// Handles a packet that `node` was sent over the air by `from`.
    #[inline(always)]
    pub(super) fn receive_from_air(&mut self, from: NodeId, node: NodeId, packet: Box<Parcel>) {
        self.count_uplink(from, packet.bytes);
        self.deliver(node, packet);
    }

    /// A copy of a multicast packet has reached a station.
    #[cold]
    #[inline(never)]
    pub(super) fn deliver_copy(&mut self, packet: Box<Parcel>) {
        self.count_copy(&packet);
        self.arrive(packet);
    }

    /// Tells the proxy of a packet that a station has sent over the air. It comes to the proxy, at
    /// the latest after the wires behind the access point.
    pub(super) fn count_uplink(&mut self, from: NodeId, bytes: u32) {
        if let Some(PacedBy { proxy, station }) = self.paced_by[from.0 as usize] {
            self.proxies[proxy].edge.on_uplink(self.now, station, bytes);
        }
    }

    /// Handles a packet that has reached `node`.
    pub(super) fn deliver(&mut self, node: NodeId, mut parcel: Box<Parcel>) {
        if parcel.to != node {
            // Its flow was told if it wanted to be.
            parcel.at_source = false;
            return self.forward(node, parcel);
        }
        if let Some(tunnel) = parcel.tunnel.take() {
            if let Some(PacedBy { proxy, station }) = self.paced_by[node.0 as usize] {
                let managed = &mut self.proxies[proxy].stations[station];
                managed.on_tunnel_packet(self.now, &tunnel, &parcel);
                if managed.has_news() {
                    self.set_agent_alarm(proxy, station);
                }
            }
            // Behind the station's end of the tunnel the packet has its own length again.
            parcel.bytes = parcel.bytes.saturating_sub(u32::from(tunnel.bytes));
        }
        if let Payload::Report(packet) = parcel.payload {
            return self.receive_report(*packet);
        }
        if self.is_multicast(&parcel) {
            return self.send_to_group(node, parcel);
        }
        // A proxy on the host of the senders sees what comes back to them as well.
        if self.proxies.iter().any(|proxy| proxy.config.at == node) {
            self.observe_passing(node, &parcel);
        }
        self.arrive(parcel);
    }

    /// A packet has arrived at the end of its flow.
    #[inline(always)]
    pub(super) fn arrive(&mut self, parcel: Box<Parcel>) {
        let index = parcel.flow as usize;
        if self.flows[index].answers_each() {
            return self.unanswered.push_back(parcel);
        }
        if self.take(parcel) {
            self.wake(index);
        }
    }

    /// Hands a packet to its flow; returns whether the flow must be polled.
    #[inline(always)]
    pub(super) fn take(&mut self, mut parcel: Box<Parcel>) -> bool {
        self.totals.delivered += 1;
        self.record_arrival(&parcel);
        let index = parcel.flow as usize;
        let must_poll = self.flows[index].receive(self.now, &mut parcel);
        self.spares.put(parcel);
        must_poll
    }

    /// Forwards a packet from `node`: into the proxy that runs there, or to the next hop.
    pub(super) fn forward(&mut self, node: NodeId, parcel: Box<Parcel>) {
        if parcel.to == node && self.is_multicast(&parcel) {
            return self.send_to_group(node, parcel);
        }
        // A packet with a tunnel header has passed the proxy already.
        if parcel.tunnel.is_none()
            && let Some(PacedBy { proxy, station }) = self.paced_by[parcel.to.0 as usize]
            && self.proxies[proxy].config.at == node
            && self.proxies[proxy].stations[station].joined
        {
            return self.enqueue_at_proxy(proxy, station, parcel);
        }
        self.observe_passing(node, &parcel);
        self.transmit(node, parcel);
    }

    /// Sends a packet to the next hop on the route from `node`.
    pub(super) fn transmit(&mut self, node: NodeId, mut parcel: Box<Parcel>) {
        if self.record.passing == Some(node) && self.now >= self.begin {
            let passing = PassingRecord::of(self.now, &parcel);
            self.recorded.passing.push(passing);
        }
        match self.routes.next(node, parcel.to) {
            Some(Hop::Radio { channel, from, to }) => {
                parcel.queued = self.now;
                self.channels[channel as usize].send(self.now, from, to, parcel);
            }
            Some(Hop::Wire { wire, forward }) => {
                self.leave_source(&mut parcel);
                self.send_on_wire(wire, forward, parcel);
            }
            None if self.is_alone(node) => self.lose(Loss::Roaming, parcel),
            None => self.lose(Loss::NoRoute, parcel),
        }
    }

    pub(super) fn send_on_wire(&mut self, wire: u32, forward: bool, parcel: Box<Parcel>) {
        let lane = &mut self.lanes[wire as usize][usize::from(!forward)];
        let refused = lane.push(self.now, parcel);
        lane.await_next(&mut self.agenda, wire * 2 + u32::from(!forward));
        if let Some(parcel) = refused {
            self.lose(Loss::Wire, parcel);
        }
    }

    /// Takes the packets that have arrived at the end of a wire.
    pub(super) fn receive_from_wire(&mut self, index: usize) {
        let (wire, backward) = (index / 2, index % 2);
        self.lanes[wire][backward].ring(self.now);
        while let Some((node, parcel)) = self.lanes[wire][backward].pop(self.now) {
            self.deliver(node, parcel);
        }
        // The index was a `u32` before.
        self.lanes[wire][backward].await_next(&mut self.agenda, index as u32);
    }

    /// Tells the flow of a packet that it has left its source's radio, if the flow wants to know.
    #[inline]
    pub(super) fn leave_source(&mut self, parcel: &mut Parcel) {
        if core::mem::take(&mut parcel.at_source) {
            self.tell_left_source(parcel.flow as usize);
        }
    }

    #[inline(never)]
    pub(super) fn tell_left_source(&mut self, index: usize) {
        if self.flows[index].on_left_source() {
            self.wake(index);
        }
    }

    /// Counts a packet as lost, and tells its flow.
    pub(super) fn lose(&mut self, loss: Loss, parcel: Box<Parcel>) {
        let at_source = parcel.at_source;
        if at_source {
            self.tell_left_source(parcel.flow as usize);
        }
        if matches!(parcel.payload, Payload::Report(_)) {
            self.totals.reports_dropped += 1;
            return;
        }
        self.totals.dropped += 1;
        let index = parcel.flow as usize;
        // The flow still counts it as lost, as the statistics of a queueing discipline do.
        if at_source && loss == Loss::QueueLimit && self.flows[index].refuse(self.now, &parcel) {
            self.wake(index);
        }
        if let Some(slots) = &mut self.slots {
            slots.on_lost(parcel.to);
        }
        if self.flows[index].lose(self.now, loss, &parcel) {
            self.wake(index);
        }
        self.spares.put(parcel);
    }

    /// Whether a packet goes to all stations of an access point.
    #[inline]
    pub(super) fn is_multicast(&self, parcel: &Parcel) -> bool {
        if !self.has_multicast {
            return false;
        }
        let flow = self.flows.get(parcel.flow as usize);
        flow.is_some_and(Flow::is_multicast)
    }

    /// Counts a copy of a multicast packet; the first one stands for the packet itself.
    pub(super) fn count_copy(&mut self, parcel: &Parcel) {
        if self.has_multicast
            && let Some(flow) = self.flows.get_mut(parcel.flow as usize)
            && flow.is_multicast()
            && flow.on_copy(self.now, parcel)
        {
            self.totals.sent += 1;
        }
    }

    /// Sends a multicast packet that has reached its access point to the stations there.
    pub(super) fn send_to_group(&mut self, node: NodeId, mut parcel: Box<Parcel>) {
        let place = |nodes: &[NodeId]| nodes.iter().position(|&other| other == node);
        let on_air = self.channels.iter().position(|channel| {
            let radio = place(&channel.nodes).map(RadioId::from_index);
            radio.is_some_and(|radio| channel.links.pairs().any(|pair| pair == (radio, radio)))
        });
        let Some(index) = on_air else {
            return self.lose(Loss::NoRoute, parcel);
        };
        let channel = &mut self.channels[index];
        let radio = place(&channel.nodes)
            .map(RadioId::from_index)
            .unwrap_or_default();
        parcel.queued = self.now;
        channel.send(self.now, radio, radio, parcel);
    }
}
