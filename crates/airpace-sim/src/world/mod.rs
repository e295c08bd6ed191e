//! A network in virtual time: radio channels, wired links, routes, flows, proxies, and what became of every packet.
//!
//! The world owns one [`crate::mac::Mac`] per channel and moves packets between them, wires, proxies and the ends of flows. One agenda of events, in
//! the total order time, class, index, drives everything that is not on the air; frames come from the MACs, which keep their own time.
//! A run is a function of its configuration.

mod air;
mod config;
mod error;
mod event;
mod flow;
mod outcome;
mod pacing;
mod parcel;
mod proxy;
mod record;
mod route;
mod slots;
mod statistics;
#[cfg(test)]
mod tests;
mod wire;

pub use config::ReportFaults;
pub use config::{
    Change, ChannelConfig, Feedback, FlowConfig, NodeId, ProxyConfig, Record, RouteConfig,
    TcpConfig, Traffic, WireConfig, WorldConfig,
};
pub use error::WorldError;
pub use flow::{Details, TcpReport};
pub use outcome::{FlowSummary, LinkSummary, Outcome, Totals};
pub use parcel::{Ecn, Parcel};
pub use proxy::{ModeChange, ProxySlot};
pub use record::{MpduRecord, PacketRecord};
pub use slots::{LinkSlot, NodeSlot, SlotRecord};
pub use statistics::{DirectionCounts, FlowCounts, LinkCounts, Loss, Losses};

use crate::mac::{Input, Output, RadioId};
use air::{Channel, channels};
use airpace_units::Time;
use event::{Agenda, Class, Event};
use flow::Flow;
use parcel::Payload;
use proxy::ProxyNode;
use record::Recorded;
use route::{Hop, Routes};
use slots::Slots;
use std::collections::BTreeMap;
use wire::Lane;

/// A network that runs. See the module's text.
pub struct World {
    now: Time,
    begin: Time,
    /// Whether the statistics have begun.
    begun: bool,
    end: Time,
    agenda: Agenda,
    channels: Vec<Channel>,
    lanes: Vec<[Lane; 2]>,
    routes: Routes,
    flows: Vec<Flow>,
    proxies: Vec<ProxyNode>,
    /// The proxy and port that paces each node.
    managed: Vec<Option<(usize, usize)>>,
    changes: Vec<Change>,
    slots: Option<Slots>,
    totals: Totals,
    recorded: Recorded,
    record: Record,
}

impl World {
    /// A network at time zero.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn new(config: WorldConfig) -> Result<Self, WorldError> {
        config.validate()?;
        let routes = Routes::new(&config)?;
        for (index, flow) in config.flows.iter().enumerate() {
            let way = |from, to| routes.takes_time(from, to, &config.wires);
            match (way(flow.from, flow.to), way(flow.to, flow.from)) {
                (Some(true), Some(_)) => {}
                (Some(false), Some(_)) => return Err(WorldError::Instantaneous { flow: index }),
                _ => {
                    return Err(WorldError::Unreachable {
                        flow: index,
                        from: flow.from,
                        to: flow.to,
                    });
                }
            }
        }
        let begin = Time::ZERO.saturating_add(config.warm_up);
        let mut this = Self {
            now: Time::ZERO,
            begin,
            begun: false,
            end: begin.saturating_add(config.duration),
            agenda: Agenda::default(),
            channels: channels(&config)?,
            lanes: config.wires.iter().map(|&wire| Lane::pair(wire)).collect(),
            routes,
            flows: flows(config.flows, &config.keys, (config.seed, begin))?,
            proxies: Vec::new(),
            managed: vec![None; config.nodes as usize],
            changes: Vec::new(),
            slots: config.slot.map(|length| Slots::new(length, config.nodes)),
            totals: Totals::default(),
            recorded: Recorded::default(),
            record: config.record,
        };
        this.add_proxies(config.proxies, &config.keys, config.seed)?;
        this.schedule(config.changes);
        Ok(this)
    }

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

    /// Runs up to and including `until`, but not beyond the end; call again to go on.
    pub fn run_until(&mut self, until: Time) {
        let until = until.min(self.end);
        loop {
            let frame = self.next_frame();
            let event = self.agenda.next();
            let next = event.into_iter().chain(frame.map(|(due, _)| due)).min();
            if !self.begun && next.is_none_or(|next| next > self.begin) && until >= self.begin {
                self.begin_statistics();
            }
            // At one instant what comes to the cell is there before the cell moves.
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

    /// Notes how busy the channels were before the statistics.
    fn begin_statistics(&mut self) {
        for channel in &mut self.channels {
            channel.begin_statistics(self.begin);
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
            Class::Wire => self.arrive(index),
            Class::Proxy => self.wake_proxy(index),
            Class::Flow => {
                if self.flows[index].alarm.ring(at) {
                    self.attend(index);
                }
            }
        }
        self.settle();
    }

    /// Lets a flow do what it has to, and sees to it that it is asked again in time.
    fn attend(&mut self, index: usize) {
        while let Some((node, parcel)) = self.flows[index].poll(self.now) {
            self.totals.sent += 1;
            self.send_from(node, parcel);
        }
        if self.flows[index].begins_to_be_taken(self.now) {
            self.begin_taking(index);
        }
        let flow = &mut self.flows[index];
        let due = flow.deadline();
        // The index came out of a `u32`.
        flow.alarm
            .set(&mut self.agenda, due, Class::Flow, index as u32);
    }

    /// Has a flow attended to as soon as all that happens at this instant has happened: packets of one frame come at once, and what
    /// answers them sees them all.
    fn wake(&mut self, index: usize) {
        // The index came out of a `u32`.
        self.flows[index]
            .alarm
            .set(&mut self.agenda, Some(self.now), Class::Flow, index as u32);
    }

    /// Takes what the channels have done until none has done anything more.
    fn settle(&mut self) {
        // What comes out of one channel may go into another before it.
        let mut busy = true;
        while busy {
            busy = false;
            for index in 0..self.channels.len() {
                while let Some(output) = self.channels[index].mac.poll() {
                    self.on_output(index, output);
                    busy = self.channels.len() > 1;
                }
            }
        }
    }

    fn on_output(&mut self, index: usize, output: Output<Parcel>) {
        let channel = &mut self.channels[index];
        match output {
            Output::Frame(frame) => {
                let counted = frame.end >= self.begin;
                channel.links.on_frame(&frame, self.begin);
                if self.record.frames && counted {
                    // Channels are few.
                    self.recorded.frames.push((index as u32, frame));
                }
            }
            Output::Heard { mpdu, packet } => {
                if self.record.mpdus && self.now >= self.begin {
                    let record = MpduRecord {
                        channel: index as u32,
                        mpdu,
                        flow: packet.flow,
                        bytes: packet.bytes,
                    };
                    self.recorded.mpdus.push(record);
                }
                let node = channel.nodes[mpdu.to.index()];
                let managed = self.managed.get(node.0 as usize).copied().flatten();
                if let Some(((proxy, station), frame)) =
                    managed.zip(channel.links.last_frame(mpdu.from, mpdu.to))
                {
                    self.proxies[proxy].stations[station].hear(frame, &mpdu, &packet);
                }
            }
            Output::Delivered { mpdu, packet, .. } => {
                let node = channel.nodes[mpdu.to.index()];
                self.deliver(node, packet);
            }
            Output::Dropped { reason, packet, .. } => self.lose(Loss::from(reason), packet),
        }
    }

    /// A packet has reached `node`.
    fn deliver(&mut self, node: NodeId, mut parcel: Parcel) {
        if parcel.to != node {
            return self.forward(node, parcel);
        }
        if let Some(tunnel) = parcel.tunnel.take() {
            if let Some((proxy, station)) = self.managed[node.0 as usize] {
                self.proxies[proxy].stations[station].receive(self.now, &tunnel, &parcel);
            }
            parcel.bytes = parcel.bytes.saturating_sub(u32::from(tunnel.bytes));
        }
        if let Payload::Report(packet) = parcel.payload {
            return self.receive_report(*packet);
        }
        self.totals.delivered += 1;
        let index = parcel.flow as usize;
        self.note(&parcel);
        if self.flows[index].receive(self.now, parcel) {
            self.wake(index);
        }
    }

    /// Keeps what was asked to be kept of a packet that has arrived.
    fn note(&mut self, parcel: &Parcel) {
        if let Some(slots) = &mut self.slots {
            slots.on_received(self.now, parcel);
        }
        if self.record.packets && self.now >= self.begin {
            let &Parcel {
                flow,
                sequence,
                to,
                sent,
                bytes,
                ..
            } = parcel;
            self.recorded.packets.push(PacketRecord {
                flow,
                sequence,
                to,
                sent,
                received: self.now,
                bytes,
            });
        }
    }

    /// Sends a packet on from `node`: into the proxy that runs there, or to the next hop.
    fn forward(&mut self, node: NodeId, parcel: Parcel) {
        if parcel.tunnel.is_none()
            && let Some((proxy, station)) = self.managed[parcel.to.0 as usize]
            && self.proxies[proxy].config.at == node
            && self.proxies[proxy].stations[station].joined
        {
            return self.enqueue_at_proxy(proxy, station, parcel);
        }
        self.transmit(node, parcel);
    }

    fn transmit(&mut self, node: NodeId, parcel: Parcel) {
        match self.routes.next(node, parcel.to) {
            Some(Hop::Radio { channel, from, to }) => {
                let input = Input::Send {
                    from,
                    to,
                    packet: parcel,
                };
                self.channels[channel as usize].handle(self.now, input);
            }
            Some(Hop::Wire { wire, forward }) => self.send_on_wire(wire, forward, parcel),
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

    /// Packets have arrived at the end of a wire.
    fn arrive(&mut self, index: usize) {
        let (wire, backward) = (index / 2, index % 2);
        self.lanes[wire][backward].ring(self.now);
        while let Some((node, parcel)) = self.lanes[wire][backward].pop(self.now) {
            self.deliver(node, parcel);
        }
        // The index came out of a `u32`.
        self.lanes[wire][backward].await_next(&mut self.agenda, index as u32);
    }

    /// A packet is gone.
    fn lose(&mut self, loss: Loss, parcel: Parcel) {
        if matches!(parcel.payload, Payload::Report(_)) {
            self.totals.reports_dropped += 1;
            return;
        }
        self.totals.dropped += 1;
        let index = parcel.flow as usize;
        if let Some(slots) = &mut self.slots {
            slots.on_lost(parcel.to);
        }
        if self.flows[index].lose(self.now, loss, &parcel) {
            self.wake(index);
        }
    }

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

    fn change(&mut self, index: usize) {
        match self.changes[index].clone() {
            Change::Rate(node, rate) => {
                self.change_links(node, |from, to| Input::SetRate { from, to, rate })
            }
            Change::Quality(node, quality) => {
                self.change_links(node, |from, to| Input::SetQuality {
                    from,
                    to,
                    quality: quality.clone(),
                });
            }
            Change::Neighbours {
                channel,
                neighbours,
            } => {
                if let Some(channel) = self.channels.get_mut(channel) {
                    channel.handle(self.now, Input::SetNeighbours(neighbours));
                }
            }
            change @ (Change::Reports { .. }
            | Change::Agent { .. }
            | Change::ProxyRestart { .. }) => self.change_proxy(&change),
            Change::FlowRate { flow, rate } => {
                if let Some(changed) = self.flows.get_mut(flow) {
                    changed.set_rate(self.now, rate);
                    self.attend(flow);
                }
            }
        }
    }

    /// Applies an input to every link from and to a node.
    fn change_links(&mut self, node: NodeId, input: impl Fn(RadioId, RadioId) -> Input<Parcel>) {
        for channel in &mut self.channels {
            let radio = |id: RadioId| channel.nodes[id.index()];
            let pairs: Vec<_> = channel
                .links
                .pairs()
                .filter(|&(a, b)| radio(a) == node || radio(b) == node)
                .collect();
            for (from, to) in pairs {
                channel.handle(self.now, input(from, to));
            }
        }
    }
}

fn flows(
    configs: Vec<FlowConfig>,
    keys: &[u64],
    (seed, begin): (u64, Time),
) -> Result<Vec<Flow>, WorldError> {
    let mut alike = BTreeMap::new();
    let flow = |(index, flow): (u32, FlowConfig)| {
        let of = |node: NodeId| keys.get(node.0 as usize).copied();
        // Flows between the same nodes are told apart by their order.
        let count = alike.entry((flow.from, flow.to)).or_insert(0_u64);
        let key = of(flow.from)
            .zip(of(flow.to))
            .map(|(from, to)| (from.rotate_left(1) ^ to).wrapping_add(*count));
        *count += 1;
        Flow::new(index, flow, (key.unwrap_or(u64::from(index)), seed, begin))
    };
    (0..).zip(configs).map(flow).collect()
}
