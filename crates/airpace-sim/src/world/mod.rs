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
mod forward;
mod heap;
mod intake;
mod outcome;
mod outputs;
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

use crate::mac::Input;
use air::{Channel, channels};
use airpace_units::Time;
use event::{Agenda, Alarm, Class, Event};
use flow::{Flow, flows};
use intake::Intake;
use parcel::Spares;
use proxy::{PacedBy, ProxyNode};
use record::Recorded;
use roaming::Roamer;
use route::Routes;
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
    /// Up to when the world runs before it returns to its caller.
    until: Time,
    agenda: Agenda,
    channels: Vec<Channel>,
    /// The radios that do not hand over at once.
    intakes: Vec<Intake>,
    /// Both directions of every wired link.
    lanes: Vec<[Lane; 2]>,
    routes: Routes,
    flows: Vec<Flow>,
    spares: Spares,
    /// Packets that have arrived for flows that answer each before the next is looked at.
    unanswered: VecDeque<Box<Parcel>>,
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
            until: Time::ZERO,
            agenda: Agenda::default(),
            channels: channels(&config, &mut intakes)?,
            intakes,
            lanes: config.wires.iter().map(|&wire| Lane::pair(wire)).collect(),
            routes,
            flows: flows(&config.flows, &config.keys, config.seed, begin)?,
            spares: Spares::default(),
            unanswered: VecDeque::new(),
            proxies: Vec::new(),
            roamers,
            hand_overs: Vec::new(),
            has_multicast: config.has_multicast(),
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
        self.until = until;
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
    #[inline]
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
            Class::Flow => self.wake_flow(index),
        }
        self.settle();
    }

    /// Advances the world to `due` if that is later than now and nothing else happens until then, so
    /// that whoever asked for that time need not go through the agenda. Its alarm must not be set.
    /// Returns whether the world has advanced.
    #[inline(always)]
    fn goes_on_at(&mut self, due: Option<Time>, alarm: Alarm) -> bool {
        let Some(due) = due.filter(|_| !alarm.is_set()) else {
            return false;
        };
        let is_next = due > self.now
            && due <= self.until
            && (self.begun || due <= self.begin)
            && self.agenda.next().is_none_or(|at| due < at)
            && self.is_settled()
            && self
                .channels
                .iter()
                .all(|channel| channel.due.is_none_or(|at| due <= at));
        if is_next {
            self.now = due;
        }
        is_next
    }

    /// Polls a flow at the time that it asked for, and again as long as nothing else happens before
    /// the next time.
    fn wake_flow(&mut self, index: usize) {
        if !self.flows[index].alarm.ring(self.now) {
            return;
        }
        loop {
            self.poll_flow(index);
            let flow = &self.flows[index];
            let due = flow.deadline();
            if !self.goes_on_at(due, flow.alarm) {
                return self.set_flow_alarm(index, due);
            }
        }
    }

    /// Sends what a flow has to send now, and schedules the next time at which it must be polled.
    fn attend(&mut self, index: usize) {
        self.poll_flow(index);
        self.set_flow_alarm(index, self.flows[index].deadline());
    }

    /// Sends what a flow has to send now.
    fn poll_flow(&mut self, index: usize) {
        while let Some((node, parcel)) = self.flows[index].poll(self.now, &mut self.spares) {
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
    }

    #[inline]
    fn set_flow_alarm(&mut self, index: usize, due: Option<Time>) {
        // The index was a `u32` before.
        self.flows[index]
            .alarm
            .set(&mut self.agenda, due, Class::Flow, index as u32);
    }

    /// Schedules a flow to be polled once everything of this instant has happened. The packets of
    /// one frame arrive at one instant, and what answers them sees them all.
    fn wake(&mut self, index: usize) {
        self.set_flow_alarm(index, Some(self.now));
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
