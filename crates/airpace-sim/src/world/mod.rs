//! A network in virtual time: radio channels, wired links, routes, flows, proxies, and the fate of
//! every packet.
//!
//! The world owns one [`crate::mac::Mac`] per channel and moves packets between them, wires,
//! proxies and the ends of flows. One agenda of events, in the total order time, class, index,
//! drives everything that is not on the air; frames come from the MACs, which keep their own time.
//! A run is a function of its configuration.

mod air;
mod change;
mod config;
mod error;
mod event;
mod flow;
mod intake;
mod outcome;
mod parcel;
mod proxy;
mod record;
mod roaming;
mod route;
mod slots;
mod statistics;
#[cfg(test)]
mod tests;
mod wire;

pub use config::{
    AirRadioConfig, Change, ChannelConfig, Feedback, FlowConfig, NodeId, ProxyConfig, Record,
    ReportFaults, RouteConfig, TcpConfig, Traffic, WireConfig, WorldConfig,
};
pub use error::WorldError;
pub use flow::{Details, TcpReport};
pub use outcome::{FlowSummary, LinkSummary, Outcome, ProxySummary, Totals};
pub use parcel::Parcel;
pub use proxy::{ModeChange, ProxySlot};
pub use record::{
    MpduRecord, PacketOnAir, PacketRecord, PassingHeader, PassingRecord, TransportOnAir,
};
pub use roaming::{AccessPointOnChannel, HandOver, RoamingConfig, RoamingRules};
pub use slots::{LinkSlot, NodeSlot, SlotRecord};
pub use statistics::{DirectionCounts, FlowCounts, LinkCounts, Loss, Losses, WindowedLevel};

use crate::mac::{Input, Output, RadioId};
use air::{Channel, channels};
use airpace_units::Time;
use event::{Agenda, Class, Event};
use flow::{Flow, flows};
use intake::Intake;
use parcel::Payload;
use proxy::{PacedBy, ProxyNode};
use record::Recorded;
use roaming::Roamer;
use route::{Hop, Routes};
use slots::SlotSeries;
use std::collections::VecDeque;
use wire::Lane;

/// A simulated network: see the [module](self).
pub struct World {
    now: Time,
    /// When the statistics begin.
    begin: Time,
    /// Whether they have begun.
    begun: bool,
    /// When the run ends.
    end: Time,
    agenda: Agenda,
    channels: Vec<Channel>,
    /// The radios that do not hand over at once.
    intakes: Vec<Intake>,
    /// Both directions of every wired link.
    lanes: Vec<[Lane; 2]>,
    routes: Routes,
    flows: Vec<Flow>,
    /// Packets that have arrived for flows that answer each before the next is looked at.
    unanswered: VecDeque<Parcel>,
    proxies: Vec<ProxyNode>,
    roamers: Vec<Roamer>,
    hand_overs: Vec<HandOver>,
    /// Whether any flow goes to all stations of an access point.
    has_multicast: bool,
    /// What paces each node, if a proxy does.
    paced_by: Vec<Option<PacedBy>>,
    changes: Vec<Change>,
    slots: Option<SlotSeries>,
    totals: Totals,
    recorded: Recorded,
    record: Record,
}

impl World {
    /// A network at time zero.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub fn new(config: WorldConfig) -> Result<Self, WorldError> {
        config.validate()?;
        let roamers = roaming::roamers(&config)?;
        let mut routes = Routes::new(&config)?;
        roaming::attach(&roamers, &mut routes);
        routes.check(&config)?;
        let begin = Time::ZERO.saturating_add(config.warm_up);
        let mut intakes = Vec::new();
        let mut world = Self {
            now: Time::ZERO,
            begin,
            begun: false,
            end: begin.saturating_add(config.duration),
            agenda: Agenda::default(),
            channels: channels(&config, &mut intakes)?,
            intakes,
            lanes: config.wires.iter().map(|&wire| Lane::pair(wire)).collect(),
            routes,
            flows: flows(&config.flows, &config.keys, config.seed, begin)?,
            unanswered: VecDeque::new(),
            proxies: Vec::new(),
            roamers,
            hand_overs: Vec::new(),
            has_multicast: (config.flows.iter())
                .any(|flow| matches!(flow.traffic, Traffic::Multicast(_))),
            paced_by: vec![None; config.nodes as usize],
            changes: Vec::new(),
            slots: config
                .slot
                .map(|length| SlotSeries::new(length, config.nodes)),
            totals: Totals::default(),
            recorded: Recorded::default(),
            record: config.record,
        };
        world.add_proxies(config.proxies, &config.keys, config.seed)?;
        world.schedule(config.changes);
        world.start_roaming();
        Ok(world)
    }

    /// Schedules the changes and the first slot, and starts the flows.
    fn schedule(&mut self, changes: Vec<(Time, Change)>) {
        for (index, (at, change)) in (0..).zip(changes) {
            self.changes.push(change);
            self.agenda.push(Event {
                at,
                class: Class::Change,
                index,
            });
        }
        if let Some(slots) = &self.slots {
            self.agenda.push(Event {
                at: slots.next(),
                class: Class::Slot,
                index: 0,
            });
        }
        for index in 0..self.flows.len() {
            self.attend(index);
        }
    }

    /// The time that the world has reached.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// When the run ends.
    #[must_use]
    pub const fn end(&self) -> Time {
        self.end
    }

    /// Runs to the end.
    pub fn run(&mut self) {
        self.run_until(self.end);
    }

    /// Runs up to and including `until`, but not beyond the end. Call it again to continue.
    pub fn run_until(&mut self, until: Time) {
        let until = until.min(self.end);
        loop {
            let frame = self.next_frame();
            let event = self.agenda.next();
            if !self.begun && until >= self.begin {
                let next = event.into_iter().chain(frame.map(|(due, _)| due)).min();
                if next.is_none_or(|next| next > self.begin) {
                    self.begin_statistics();
                }
            }
            // At one instant events go before frames: a packet that reaches an access point at the
            // very moment at which a frame starts can still go with it.
            match (event, frame) {
                (Some(at), frame) if at <= until && frame.is_none_or(|(due, _)| at <= due) => {
                    self.next_event()
                }
                (_, Some((due, channel))) if due <= until => self.run_channel(due, channel),
                _ => break,
            }
        }
        self.now = until;
    }

    /// The channel whose MAC must be called first.
    fn next_frame(&self) -> Option<(Time, usize)> {
        self.channels
            .iter()
            .enumerate()
            .filter_map(|(index, channel)| Some((channel.due?, index)))
            .min()
    }

    fn run_channel(&mut self, due: Time, channel: usize) {
        self.now = due;
        self.channels[channel].handle(due, Input::Tick);
        self.settle();
    }

    /// Notes how long the channels had been busy when the statistics began.
    fn begin_statistics(&mut self) {
        for channel in &mut self.channels {
            channel.begin_statistics(self.begin);
        }
        for proxy in &mut self.proxies {
            proxy.begin_statistics();
        }
        self.begun = true;
    }

    fn next_event(&mut self) {
        let Some(Event { at, class, index }) = self.agenda.pop() else {
            return;
        };
        self.now = at;
        let index = index as usize;
        match class {
            Class::Change => self.change(index),
            Class::Slot => self.end_slot(),
            Class::Join => self.join(index),
            Class::Agent => self.wake_agent(index),
            Class::ReportLoad => self.send_report_load(index),
            Class::Wire => self.receive_from_wire(index),
            Class::Intake => self.interrupt(index),
            Class::Proxy => self.wake_proxy(index),
            Class::Roaming => self.wake_roamer(index),
            Class::Flow => {
                if self.flows[index].alarm.ring(at) {
                    self.attend(index);
                }
            }
        }
        self.settle();
    }

    /// Sends what a flow has to send now, and schedules the next time at which it must be polled.
    fn attend(&mut self, index: usize) {
        while let Some((node, parcel)) = self.flows[index].poll(self.now) {
            self.totals.sent += 1;
            self.send_from(node, parcel);
            if self.flows[index].answers_each() {
                // It sends nothing more if this one is refused.
                self.drain();
            }
        }
        if self.flows[index].start_pulling(self.now) {
            self.pull_from(index);
        }
        let flow = &mut self.flows[index];
        let due = flow.deadline();
        // The index was a `u32` before.
        flow.alarm
            .set(&mut self.agenda, due, Class::Flow, index as u32);
    }

    /// Schedules a flow to be polled once everything of this instant has happened. The packets of
    /// one frame arrive at one instant, and what answers them sees them all.
    fn wake(&mut self, index: usize) {
        // The index was a `u32` before.
        self.flows[index]
            .alarm
            .set(&mut self.agenda, Some(self.now), Class::Flow, index as u32);
    }

    /// Handles all that happens at this instant because of what has just been done.
    fn settle(&mut self) {
        self.drain();
        while let Some(parcel) = self.unanswered.pop_front() {
            let index = parcel.flow as usize;
            self.take(parcel);
            self.attend(index);
            self.drain();
        }
    }

    /// Handles the outputs of the channels until there are none.
    fn drain(&mut self) {
        // An output of one channel may be an input of another that was asked before it.
        let mut busy = true;
        while busy {
            busy = false;
            for index in 0..self.channels.len() {
                while let Some(output) = self.channels[index].mac.poll() {
                    self.on_output(index, output);
                    busy = self.channels.len() > 1;
                }
                self.record_controls(index);
                self.overhear_answer(index);
                if !self.roamers.is_empty() {
                    busy |= self.settle_management(index);
                }
            }
        }
    }

    /// Whether a packet goes to all stations of an access point.
    #[inline]
    fn is_multicast(&self, parcel: &Parcel) -> bool {
        if !self.has_multicast {
            return false;
        }
        let flow = self.flows.get(parcel.flow as usize);
        flow.is_some_and(Flow::is_multicast)
    }

    /// Counts a copy of a multicast packet; the first one stands for the packet itself.
    fn count_copy(&mut self, parcel: &Parcel) {
        if self.has_multicast
            && let Some(flow) = self.flows.get_mut(parcel.flow as usize)
            && flow.is_multicast()
            && flow.on_copy(self.now, parcel)
        {
            self.totals.sent += 1;
        }
    }

    /// Sends a multicast packet that has reached its access point to the stations there.
    fn send_to_group(&mut self, node: NodeId, mut parcel: Parcel) {
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

    #[inline]
    fn on_output(&mut self, index: usize, output: Output<Parcel>) {
        let channel = &mut self.channels[index];
        match output {
            Output::Frame(frame) => {
                let counted = frame.end >= self.begin;
                channel.links.on_frame(&frame, self.begin);
                if self.record.frames && counted {
                    // There are far fewer than 2^32 channels.
                    self.recorded.frames.push((index as u32, frame));
                }
                self.overhear_frame(index, &frame);
                if frame.decoded > 0
                    && frame.from != frame.to
                    && let Some(intake) = self.intake_of(index, frame.to)
                {
                    self.take_in_frame(intake);
                }
            }
            Output::Heard { mpdu, packet } => {
                if self.record.mpdus && self.now >= self.begin {
                    self.recorded.mpdus.push(MpduRecord {
                        channel: index as u32,
                        mpdu,
                        flow: packet.flow,
                        bytes: packet.bytes,
                    });
                    if self.record.air {
                        self.recorded.headers.push(PacketOnAir::of(&packet));
                    }
                }
                self.overhear_mpdu(index, &mpdu, packet.bytes);
                if self.is_multicast(&packet) {
                    return;
                }
                let channel = &mut self.channels[index];
                let node = channel.nodes[mpdu.to.index()];
                // The station's monitor interface shows what its proxy's agent counts.
                if let Some(PacedBy { proxy, station }) = self.paced_by[node.0 as usize]
                    && let Some(frame) = channel.links.last_frame(mpdu.from, mpdu.to)
                {
                    let managed = &mut self.proxies[proxy].stations[station];
                    managed.on_mpdu(frame, &mpdu, &packet);
                    if managed.has_news() {
                        self.set_agent_alarm(proxy, station);
                    }
                }
            }
            Output::Delivered { at, mpdu, packet } => {
                if packet.at_source {
                    self.tell_left_source(packet.flow as usize);
                }
                let channel = &mut self.channels[index];
                if at >= self.begin {
                    let queued = packet.queued;
                    channel.links.on_delivered(mpdu.from, mpdu.to, queued, at);
                }
                let [from, node] = [mpdu.from, mpdu.to].map(|radio| channel.nodes[radio.index()]);
                if self.is_multicast(&packet) {
                    return self.deliver_copy(packet);
                }
                match self.intake_of(index, mpdu.to) {
                    Some(intake) => self.take_in(intake, from, packet),
                    None => self.receive_from_air(from, node, packet),
                }
            }
            Output::Dropped { reason, packet, .. } => {
                let loss = Loss::from(reason);
                if loss == Loss::Missed {
                    self.count_copy(&packet);
                }
                self.lose(loss, packet);
            }
        }
    }

    /// Handles a packet that `node` was sent over the air by `from`.
    #[inline(always)]
    fn receive_from_air(&mut self, from: NodeId, node: NodeId, packet: Parcel) {
        self.count_uplink(from, packet.bytes);
        self.deliver(node, packet);
    }

    /// A copy of a multicast packet has reached a station.
    #[cold]
    #[inline(never)]
    fn deliver_copy(&mut self, packet: Parcel) {
        self.count_copy(&packet);
        self.arrive(packet);
    }

    /// Tells the proxy of a packet that a station has sent over the air. It comes to the proxy, at
    /// the latest after the wires behind the access point.
    fn count_uplink(&mut self, from: NodeId, bytes: u32) {
        if let Some(PacedBy { proxy, station }) = self.paced_by[from.0 as usize] {
            self.proxies[proxy].edge.on_uplink(self.now, station, bytes);
        }
    }

    /// Handles a packet that has reached `node`.
    fn deliver(&mut self, node: NodeId, mut parcel: Parcel) {
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
        self.arrive(parcel);
    }

    /// A packet has arrived at the end of its flow.
    #[inline(always)]
    fn arrive(&mut self, parcel: Parcel) {
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
    fn take(&mut self, parcel: Parcel) -> bool {
        self.totals.delivered += 1;
        self.record_arrival(&parcel);
        let index = parcel.flow as usize;
        self.flows[index].receive(self.now, parcel)
    }

    /// Forwards a packet from `node`: into the proxy that runs there, or to the next hop.
    fn forward(&mut self, node: NodeId, parcel: Parcel) {
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
    fn transmit(&mut self, node: NodeId, mut parcel: Parcel) {
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

    fn send_on_wire(&mut self, wire: u32, forward: bool, parcel: Parcel) {
        let lane = &mut self.lanes[wire as usize][usize::from(!forward)];
        let refused = lane.push(self.now, parcel);
        lane.await_next(&mut self.agenda, wire * 2 + u32::from(!forward));
        if let Some(parcel) = refused {
            self.lose(Loss::Wire, parcel);
        }
    }

    /// Takes the packets that have arrived at the end of a wire.
    fn receive_from_wire(&mut self, index: usize) {
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
    fn leave_source(&mut self, parcel: &mut Parcel) {
        if core::mem::take(&mut parcel.at_source) {
            self.tell_left_source(parcel.flow as usize);
        }
    }

    #[inline(never)]
    fn tell_left_source(&mut self, index: usize) {
        if self.flows[index].on_left_source() {
            self.wake(index);
        }
    }

    /// Counts a packet as lost, and tells its flow.
    fn lose(&mut self, loss: Loss, parcel: Parcel) {
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
    }

    /// Ends a slot of the recorded series and schedules the end of the next.
    fn end_slot(&mut self) {
        let links = self
            .channels
            .iter_mut()
            .flat_map(Channel::take_slot)
            .collect();
        let Some(slots) = &mut self.slots else { return };
        slots.close(links);
        let at = slots.next();
        self.agenda.push(Event {
            at,
            class: Class::Slot,
            index: 0,
        });
    }
}
