//! Sets up proxies, moves packets into and out of proxies and agents, and wakes them in time.

use super::super::event::{Class, Event};
use super::super::parcel::Parcel;
use super::super::statistics::Loss;
use super::super::{Feedback, NodeId, ProxyConfig, World, WorldError};
use super::station::shapes_uplink;
use super::{PacedBy, ProxyNode};
use airpace_edge::agent::Agent;
use airpace_edge::proxy::{Output, Pacing};
use airpace_units::Time;
use core::time::Duration;

/// Bits of an event's index that hold the station of a proxy: a network has fewer nodes than 2^16.
const STATION_BITS: u32 = 16;

impl World {
    /// Adds the proxies of the configuration; their stations that do not join later join now.
    pub(in crate::world) fn add_proxies(
        &mut self,
        configs: Vec<ProxyConfig>,
        keys: &[u64],
        seed: u64,
    ) -> Result<(), WorldError> {
        for config in configs {
            self.add_proxy(config, keys, seed)?;
        }
        Ok(())
    }

    fn add_proxy(
        &mut self,
        mut config: ProxyConfig,
        keys: &[u64],
        seed: u64,
    ) -> Result<(), WorldError> {
        self.check_proxy(&config)?;
        let proxy = self.proxies.len();
        for (station, &node) in config.stations.iter().enumerate() {
            if config
                .medium
                .is_some_and(|medium| self.is_elsewhere(node, medium))
            {
                continue;
            }
            let paced_by = &mut self.paced_by[node.0 as usize];
            if paced_by.replace(PacedBy { proxy, station }).is_some() {
                return Err(WorldError::TwoProxies { node });
            }
        }
        config.edge.records = self.slots.is_some();
        let mut node = ProxyNode::new(config, keys, seed)?;
        let nodes = self.channels.iter().map(|channel| channel.nodes.as_slice());
        node.add_radio(nodes, seed);
        self.proxies.push(node);
        self.adopt_sources(proxy);
        self.start_proxy(proxy);
        Ok(())
    }

    fn check_proxy(&self, config: &ProxyConfig) -> Result<(), WorldError> {
        for (length, what) in [
            (config.edge.slot, "the slot of a proxy"),
            (config.agent.slot, "the slot of a proxy's agents"),
        ] {
            if length.is_zero() {
                return Err(WorldError::Zero { what });
            }
        }
        let nodes = [config.at].into_iter().chain(config.stations.clone());
        for node in nodes {
            if node.0 as usize >= self.paced_by.len() {
                return Err(WorldError::UnknownNode { node });
            }
        }
        let is_taken = |other: &ProxyNode| {
            let mediums = (other.config.medium, config.medium);
            let is_apart = matches!(mediums, (Some(other), Some(own)) if other != own);
            other.config.at == config.at && !is_apart
        };
        if self.proxies.iter().any(is_taken) {
            return Err(WorldError::TwoProxies { node: config.at });
        }
        Ok(())
    }

    /// Makes saturating flows that start at the proxy the load of their stations: the proxy pulls a
    /// packet whenever one may leave.
    fn adopt_sources(&mut self, index: usize) {
        let proxy = &mut self.proxies[index];
        if proxy.config.edge.pacing == Pacing::Unpaced {
            // It would pull packets without end at one instant.
            return;
        }
        for (number, flow) in self.flows.iter_mut().enumerate() {
            if flow.from != proxy.config.at {
                continue;
            }
            let Some(paced_by) = self.paced_by[flow.to.0 as usize] else {
                continue;
            };
            let station = &mut proxy.stations[paced_by.station];
            if paced_by.proxy == index && station.source.is_none() && flow.hand_to_proxy() {
                station.source = Some(number);
            }
        }
    }

    /// Lets the stations that are there from the start join, asks the law for their first rates,
    /// and schedules the other stations, the sources and the reports.
    fn start_proxy(&mut self, index: usize) {
        let proxy = &mut self.proxies[index];
        for station in 0..proxy.stations.len() {
            let node = proxy.stations[station].node;
            if self.paced_by[node.0 as usize]
                != Some(PacedBy {
                    proxy: index,
                    station,
                })
            {
                // It is at another access point, whose proxy paces it.
                continue;
            }
            let at = proxy.stations[station].joins;
            if at == Time::ZERO {
                proxy.join(Time::ZERO, station);
            } else {
                self.agenda.push(Event {
                    at,
                    class: Class::Join,
                    index: event_index(index, station),
                });
            }
        }
        proxy.edge.begin_slot(Time::ZERO);
        // The decision that gave the first rates ends no slot, so it is not recorded.
        proxy.take_records();
        proxy.decisions.clear();
        for station in 0..self.proxies[index].stations.len() {
            self.schedule_report_load(index, station);
            self.set_agent_alarm(index, station);
        }
        self.set_proxy_alarm(index, self.proxy_due(index));
    }

    /// Lets the proxy pull packets from a flow that has started.
    pub(in crate::world) fn pull_from(&mut self, flow: usize) {
        let to = self.flows[flow].to;
        let bytes = self.flows[flow].packet_bytes();
        let Some(PacedBy { proxy, station }) = self.paced_by[to.0 as usize] else {
            return;
        };
        self.proxies[proxy].edge.set_load(station, bytes);
        self.drain_proxy(proxy);
    }

    /// Hands a packet for a station to the proxy at whose node it is.
    pub(in crate::world) fn enqueue_at_proxy(
        &mut self,
        index: usize,
        station: usize,
        parcel: Box<Parcel>,
    ) {
        self.proxies[index].edge.enqueue(self.now, station, parcel);
        self.drain_proxy(index);
    }

    /// Calls a proxy at the time that it asked for, and again as long as nothing else happens
    /// before the next time.
    pub(in crate::world) fn wake_proxy(&mut self, index: usize) {
        if !self.proxies[index].alarm.ring(self.now) {
            return;
        }
        loop {
            self.call_proxy(index);
            let due = self.proxy_due(index);
            if !self.goes_on_at(due, self.proxies[index].alarm) {
                return self.set_proxy_alarm(index, due);
            }
        }
    }

    fn call_proxy(&mut self, index: usize) {
        let now = self.now;
        let proxy = &mut self.proxies[index];
        if !proxy.delayed.is_empty() {
            let delayed = core::mem::take(&mut proxy.delayed);
            for (due, report) in delayed {
                if due <= now {
                    proxy.take_report(now, report);
                } else {
                    proxy.delayed.push((due, report));
                }
            }
        }
        proxy.close_observed(now);
        proxy.edge.handle_timeout(now);
        self.poll_proxy(index);
    }

    /// Takes everything that a proxy has to send, has dropped, and has recorded, and sets its alarm.
    pub(super) fn drain_proxy(&mut self, index: usize) {
        self.poll_proxy(index);
        self.set_proxy_alarm(index, self.proxy_due(index));
    }

    fn poll_proxy(&mut self, index: usize) {
        let now = self.now;
        loop {
            let output = self.proxies[index].edge.poll(now);
            // A poll may drop packets whether or not it has an output.
            self.take_proxy_drops(index);
            match output {
                None => break,
                Some(Output::Packet {
                    station,
                    mut packet,
                    waited,
                    priority,
                }) => {
                    self.count_wait(&packet, waited);
                    packet.category = priority.unwrap_or(packet.category);
                    self.send_to_station(index, station, packet);
                }
                Some(Output::Load { station, .. }) => self.send_load(index, station),
            }
        }
        self.proxies[index].take_records();
    }

    #[inline]
    fn take_proxy_drops(&mut self, index: usize) {
        while let Some(dropped) = self.proxies[index].edge.poll_drop() {
            // Without a reason the station was away.
            let loss = dropped.reason.map_or(Loss::ProxyAway, Loss::at_proxy);
            self.lose(loss, dropped.packet);
        }
    }

    /// Counts the time that a packet of a flow has waited at the proxy.
    fn count_wait(&mut self, packet: &Parcel, waited: Duration) {
        // Reports belong to no flow.
        if let Some(flow) = self.flows.get_mut(packet.flow as usize) {
            flow.on_left_proxy(self.now, packet, waited);
        }
    }

    #[inline]
    fn send_to_station(&mut self, index: usize, station: usize, mut parcel: Box<Parcel>) {
        let proxy = &mut self.proxies[index];
        proxy.observe_sent(self.now, station, &parcel);
        proxy.encapsulate(self.now, station, &mut parcel);
        let at = proxy.config.at;
        self.transmit(at, parcel);
    }

    /// Sends a packet of the flow that is the station's load.
    fn send_load(&mut self, index: usize, station: usize) {
        let source = self.proxies[index].stations[station].source;
        let parcel = source.and_then(|flow| self.flows[flow].pull(self.now, &mut self.spares));
        match parcel {
            Some(parcel) => {
                self.totals.sent += 1;
                self.send_to_station(index, station, parcel);
            }
            // The flow has stopped.
            None => self.proxies[index].edge.set_load(station, None),
        }
    }

    /// When a proxy must be called next.
    #[inline]
    fn proxy_due(&self, index: usize) -> Option<Time> {
        // A deadline in the past means now.
        self.proxies[index].deadline().map(|due| due.max(self.now))
    }

    fn set_proxy_alarm(&mut self, index: usize, due: Option<Time>) {
        // There are far fewer than 2^32 proxies.
        self.proxies[index]
            .alarm
            .set(&mut self.agenda, due, Class::Proxy, index as u32);
    }

    /// Lets a station join whose time has come.
    pub(in crate::world) fn join(&mut self, event: usize) {
        let (index, station) = split_event_index(event);
        self.proxies[index].join(self.now, station);
        self.drain_proxy(index);
        self.set_agent_alarm(index, station);
    }

    /// Calls an agent at the time that it asked for.
    pub(in crate::world) fn wake_agent(&mut self, event: usize) {
        let (index, station) = split_event_index(event);
        let now = self.now;
        let managed = &mut self.proxies[index].stations[station];
        if !managed.alarm.ring(now) {
            return;
        }
        if let Some(agent) = &mut managed.agent
            && let Some(report) = agent.handle_timeout(now)
        {
            self.send_report(index, station, report);
        }
        self.drain_agent(index, station);
    }

    /// Sends a packet of a flow that leaves `node`: through the node's agent, if that shapes the
    /// uplink.
    pub(in crate::world) fn send_from(&mut self, node: NodeId, parcel: Box<Parcel>) {
        let Some(PacedBy { proxy, station }) = self.paced_by[node.0 as usize] else {
            return self.forward(node, parcel);
        };
        let managed_by = &mut self.proxies[proxy];
        let config = &managed_by.config.agent;
        // An agent that neither shapes nor gathers would let every packet pass at once.
        let shapes = shapes_uplink(config);
        match &mut managed_by.stations[station].agent {
            Some(agent) if shapes => {
                agent.enqueue(self.now, parcel);
                self.drain_agent(proxy, station);
            }
            _ => self.forward(node, parcel),
        }
    }

    /// Takes everything that an agent has to send and has dropped.
    fn drain_agent(&mut self, index: usize, station: usize) {
        let node = self.proxies[index].stations[station].node;
        while let Some(agent) = &mut self.proxies[index].stations[station].agent {
            let packet = agent.poll(self.now);
            while let Some(agent) = &mut self.proxies[index].stations[station].agent
                && let Some(dropped) = agent.poll_drop()
            {
                self.lose(Loss::at_agent(dropped.reason), dropped.packet);
            }
            let Some(parcel) = packet else { break };
            self.forward(node, parcel);
        }
        self.set_agent_alarm(index, station);
    }

    pub(in crate::world) fn set_agent_alarm(&mut self, index: usize, station: usize) {
        let managed = &mut self.proxies[index].stations[station];
        let due = managed.agent.as_ref().and_then(Agent::deadline);
        let due = due.map(|due| due.max(self.now));
        let event = event_index(index, station);
        managed
            .alarm
            .set(&mut self.agenda, due, Class::Agent, event);
    }

    /// Where reports reach the law directly, schedules the packets that are as long as reports:
    /// they are load only, and have a phase of their own.
    fn schedule_report_load(&mut self, index: usize, station: usize) {
        let proxy = &self.proxies[index];
        if proxy.config.feedback != Feedback::Direct || proxy.config.report_bytes.is_none() {
            return;
        }
        let managed = &proxy.stations[station];
        let phase = proxy.config.agent.slot.mul_f64(managed.report_phase);
        self.agenda.push(Event {
            at: managed.joins.saturating_add(phase),
            class: Class::ReportLoad,
            index: event_index(index, station),
        });
    }
}

/// The index of an event of one station of one proxy.
pub(super) fn event_index(proxy: usize, station: usize) -> u32 {
    (proxy as u32) << STATION_BITS | station as u32
}

/// The proxy and the station of an event's index.
pub(super) fn split_event_index(event: usize) -> (usize, usize) {
    (event >> STATION_BITS, event & ((1 << STATION_BITS) - 1))
}
