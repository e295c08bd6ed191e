//! The world's part in what proxies and agents do: packets in and out, reports on their way, what goes wrong with them.

use super::event::{Class, Event};
use super::parcel::{Ecn, Parcel, Payload, ReportPacket};
use super::proxy::ProxyNode;
use super::statistics::Loss;
use super::{Change, Feedback, NodeId, ProxyConfig, World, WorldError};
use airpace_core::phy::AccessCategory;
use airpace_core::report::SlotReport;
use airpace_edge::agent::Agent;
use airpace_edge::proxy::{DroppedPacket, Output, Pacing};
use airpace_units::Time;
use core::time::Duration;

/// Stations of a proxy are told apart in events by this many numbers: there are no more nodes.
const STATIONS_LOG2: u32 = 16;

impl World {
    pub(super) fn add_proxies(
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
        let index = self.proxies.len();
        self.check_proxy(&config)?;
        for (station, &node) in config.stations.iter().enumerate() {
            if self.managed[node.0 as usize]
                .replace((index, station))
                .is_some()
            {
                return Err(WorldError::TwoProxies { node });
            }
        }
        config.edge.records = self.slots.is_some();
        self.proxies.push(ProxyNode::new(config, keys, seed)?);
        self.adopt_sources(index);
        self.begin_proxy(index);
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
        let known = |&node: &NodeId| (node.0 as usize) < self.managed.len();
        let mut nodes = [config.at].into_iter().chain(config.stations.clone());
        if let Some(node) = nodes.find(|node| !known(node)) {
            return Err(WorldError::UnknownNode { node });
        }
        if self
            .proxies
            .iter()
            .any(|proxy| proxy.config.at == config.at)
        {
            return Err(WorldError::TwoProxies { node: config.at });
        }
        Ok(())
    }

    /// Flows that start at the proxy and always have packets become the load of their station: the proxy takes a packet
    /// whenever one may leave.
    fn adopt_sources(&mut self, index: usize) {
        let proxy = &mut self.proxies[index];
        if proxy.config.edge.pacing == Pacing::Unpaced {
            // Nothing would end the taking.
            return;
        }
        for (number, flow) in self.flows.iter_mut().enumerate() {
            if flow.from != proxy.config.at {
                continue;
            }
            let Some((paced_by, station)) = self.managed[flow.to.0 as usize] else {
                continue;
            };
            let station = &mut proxy.stations[station];
            if paced_by == index && station.source.is_none() && flow.hand_to_proxy() {
                station.source = Some(number);
            }
        }
    }

    /// Stations that are there from the start connect, and the law gives the first rates.
    fn begin_proxy(&mut self, index: usize) {
        let proxy = &mut self.proxies[index];
        for station in 0..proxy.stations.len() {
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
        // What happened before the first slot is not recorded.
        proxy.take_records();
        proxy.decisions.clear();
        for station in 0..self.proxies[index].stations.len() {
            self.begin_source(index, station);
            self.begin_load_of_reports(index, station);
            self.set_agent_alarm(index, station);
        }
        self.set_proxy_alarm(index);
    }

    /// Has the source of a station begin, out of step with those of other stations.
    fn begin_source(&mut self, index: usize, station: usize) {
        let proxy = &self.proxies[index];
        let managed = &proxy.stations[station];
        let Some(flow) = managed.source else { return };
        let gap_s = match proxy.edge.granted(station) {
            Some(granted) if granted.rate_pps > 0.0 => managed.source_phase / granted.rate_pps,
            _ => 0.0,
        };
        let phase = Duration::try_from_secs_f64(gap_s).unwrap_or_default();
        self.flows[flow].postpone(phase);
        // Flows are attended to once all proxies are there.
    }

    /// Where the law is told of reports directly, their packets are load only and have a rhythm of their own.
    fn begin_load_of_reports(&mut self, index: usize, station: usize) {
        let proxy = &self.proxies[index];
        if proxy.config.feedback == Feedback::OverTheAir || proxy.config.report_bytes.is_none() {
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

    /// A flow that a proxy takes packets from has begun.
    pub(super) fn begin_taking(&mut self, flow: usize) {
        let to = self.flows[flow].to;
        let bytes = self.flows[flow].packet_bytes();
        let Some((index, station)) = self.managed[to.0 as usize] else {
            return;
        };
        self.proxies[index].edge.set_load(station, bytes);
        self.drain_proxy(index);
    }

    /// A packet for a station has come to the proxy's node.
    pub(super) fn enqueue_at_proxy(&mut self, index: usize, station: usize, parcel: Parcel) {
        self.proxies[index].edge.enqueue(self.now, station, parcel);
        self.drain_proxy(index);
    }

    /// The time has come that a proxy asked for.
    pub(super) fn wake_proxy(&mut self, index: usize) {
        let now = self.now;
        let proxy = &mut self.proxies[index];
        if !proxy.alarm.ring(now) {
            return;
        }
        let (due, later): (Vec<_>, Vec<_>) = core::mem::take(&mut proxy.delayed)
            .into_iter()
            .partition(|(due, _)| *due <= now);
        proxy.delayed = later;
        for (_, report) in due {
            proxy.edge.on_report(now, report);
        }
        proxy.edge.handle_timeout(now);
        self.drain_proxy(index);
    }

    /// Takes all that a proxy has to send, has dropped, and has to tell.
    fn drain_proxy(&mut self, index: usize) {
        let now = self.now;
        loop {
            let output = self.proxies[index].edge.poll(now);
            self.lose_dropped(index);
            match output {
                None => break,
                Some(Output::Packet { station, packet }) => {
                    self.send_to_station(index, station, packet);
                }
                Some(Output::Load { station, .. }) => self.send_load(index, station),
            }
        }
        self.proxies[index].take_records();
        self.set_proxy_alarm(index);
    }

    fn lose_dropped(&mut self, index: usize) {
        while let Some(DroppedPacket { reason, packet, .. }) = self.proxies[index].edge.poll_drop()
        {
            let loss = reason.map_or(Loss::ProxyAway, Loss::at_proxy);
            self.lose(loss, packet);
        }
    }

    fn send_to_station(&mut self, index: usize, station: usize, mut parcel: Parcel) {
        let proxy = &mut self.proxies[index];
        proxy.encapsulate(self.now, station, &mut parcel);
        let at = proxy.config.at;
        self.transmit(at, parcel);
    }

    /// Sends a packet of the flow that is the station's load.
    fn send_load(&mut self, index: usize, station: usize) {
        let source = self.proxies[index].stations[station].source;
        let parcel = source.and_then(|flow| self.flows[flow].pull(self.now));
        match parcel {
            Some(parcel) => {
                self.totals.sent += 1;
                self.send_to_station(index, station, parcel);
            }
            // The flow has stopped.
            None => self.proxies[index].edge.set_load(station, None),
        }
    }

    fn set_proxy_alarm(&mut self, index: usize) {
        let proxy = &mut self.proxies[index];
        let due = proxy.deadline().map(|due| due.max(self.now));
        // Proxies are few.
        proxy
            .alarm
            .set(&mut self.agenda, due, Class::Proxy, index as u32);
    }

    /// A station comes.
    pub(super) fn join(&mut self, event: usize) {
        let (index, station) = station_of(event);
        self.proxies[index].join(self.now, station);
        self.drain_proxy(index);
        self.set_agent_alarm(index, station);
    }

    /// The time has come that an agent asked for.
    pub(super) fn wake_agent(&mut self, event: usize) {
        let (index, station) = station_of(event);
        let now = self.now;
        let proxy = &mut self.proxies[index];
        if !proxy.stations[station].alarm.ring(now) {
            return;
        }
        let agent = self.proxies[index].stations[station].agent.as_mut();
        if let Some(report) = agent.and_then(|agent| agent.handle_timeout(now)) {
            self.send_report(index, station, report);
        }
        self.drain_agent(index, station);
    }

    /// A packet of a station's own goes through its agent, if that has an uplink.
    pub(super) fn send_from(&mut self, node: NodeId, parcel: Parcel) {
        let Some((index, station)) = self.managed[node.0 as usize] else {
            return self.forward(node, parcel);
        };
        let proxy = &mut self.proxies[index];
        let uplink = &proxy.config.agent;
        let shaped = uplink.uplink_rate.is_some() || !uplink.gather_acks.is_zero();
        match proxy.stations[station].agent.as_mut().filter(|_| shaped) {
            Some(agent) => {
                agent.enqueue(self.now, parcel);
                self.drain_agent(index, station);
            }
            None => self.forward(node, parcel),
        }
    }

    fn drain_agent(&mut self, index: usize, station: usize) {
        let node = self.proxies[index].stations[station].node;
        while let Some(agent) = &mut self.proxies[index].stations[station].agent {
            let packet = agent.poll(self.now);
            while let Some(dropped) = self.proxies[index].stations[station]
                .agent
                .as_mut()
                .and_then(|agent| agent.poll_drop())
            {
                self.lose(Loss::at_proxy(dropped.reason), dropped.packet);
            }
            let Some(parcel) = packet else { break };
            self.forward(node, parcel);
        }
        self.set_agent_alarm(index, station);
    }

    fn set_agent_alarm(&mut self, index: usize, station: usize) {
        let managed = &mut self.proxies[index].stations[station];
        let due = managed.agent.as_ref().and_then(Agent::deadline);
        let due = due.map(|due| due.max(self.now));
        managed.alarm.set(
            &mut self.agenda,
            due,
            Class::Agent,
            event_index(index, station),
        );
    }

    /// An agent's report sets out.
    fn send_report(&mut self, index: usize, station: usize, report: SlotReport) {
        let proxy = &self.proxies[index];
        match (proxy.config.feedback, proxy.config.report_bytes) {
            (Feedback::Direct, _) => self.report_arrives(index, report),
            (Feedback::OverTheAir, Some(_)) => {
                self.send_report_packet(index, station, Some(report))
            }
            // Nothing carries it.
            (Feedback::OverTheAir, None) => {}
        }
    }

    /// The time of a packet that is as long as a report and carries none.
    pub(super) fn send_report_load(&mut self, event: usize) {
        let (index, station) = station_of(event);
        self.send_report_packet(index, station, None);
        let at = self
            .now
            .saturating_add(self.proxies[index].config.agent.slot);
        self.agenda.push(Event {
            at,
            class: Class::ReportLoad,
            index: event as u32,
        });
    }

    fn send_report_packet(&mut self, index: usize, station: usize, report: Option<SlotReport>) {
        let proxy = &self.proxies[index];
        let Some(bytes) = proxy.config.report_bytes else {
            return;
        };
        let node = proxy.stations[station].node;
        let parcel = Parcel {
            flow: u32::MAX,
            sequence: 0,
            sent: self.now,
            bytes,
            to: proxy.config.at,
            category: AccessCategory::BestEffort,
            ecn: Ecn::NotCapable,
            tunnel: None,
            payload: Payload::Report(Box::new(ReportPacket {
                proxy: index,
                report,
            })),
        };
        self.totals.reports_sent += 1;
        self.forward(node, parcel);
    }

    /// A packet with, or as, a report has reached the proxy's node.
    pub(super) fn receive_report(&mut self, packet: ReportPacket) {
        self.totals.reports_delivered += 1;
        if let Some(report) = packet.report {
            self.report_arrives(packet.proxy, report);
        }
    }

    /// A report reaches the proxy, unless something is wrong with its station's reports.
    fn report_arrives(&mut self, index: usize, report: SlotReport) {
        let now = self.now;
        let proxy = &mut self.proxies[index];
        let station = &mut proxy.stations[report.station.index()];
        let faults = station.faults;
        if faults.loss > 0.0 && station.fault_draws.unit() < faults.loss {
            return;
        }
        for _ in 0..faults.copies {
            if faults.delay.is_zero() {
                proxy.edge.on_report(now, report.clone());
            } else {
                let due = now.saturating_add(faults.delay);
                proxy.delayed.push((due, report.clone()));
            }
        }
        self.drain_proxy(index);
    }

    /// Changes what goes wrong with a proxy, its agents and their reports.
    pub(super) fn change_proxy(&mut self, change: &Change) {
        match *change {
            Change::Reports { station, faults } => {
                if let Some((index, station)) = self.managed_station(station) {
                    self.proxies[index].stations[station].faults = faults;
                }
            }
            Change::Agent { station, running } => {
                if let Some((index, station)) = self.managed_station(station) {
                    // What waits for the uplink is lost with the agent that holds it.
                    let waiting = self.take_uplink(index, station, running);
                    for parcel in waiting {
                        self.lose(Loss::ProxyAway, parcel);
                    }
                    self.proxies[index].run_agent(self.now, station, running);
                    self.set_agent_alarm(index, station);
                }
            }
            Change::ProxyRestart { at } => {
                let proxies = 0..self.proxies.len();
                let restarted = proxies.filter(|&index| self.proxies[index].config.at == at);
                for index in restarted.collect::<Vec<_>>() {
                    self.restart_proxy(index);
                }
            }
            _ => {}
        }
    }

    fn managed_station(&self, node: NodeId) -> Option<(usize, usize)> {
        self.managed.get(node.0 as usize).copied().flatten()
    }

    /// The packets that wait at an agent which is about to stop.
    fn take_uplink(&mut self, index: usize, station: usize, running: bool) -> Vec<Parcel> {
        let agent = self.proxies[index].stations[station]
            .agent
            .take_if(|_| !running);
        agent.map_or_else(Vec::new, Agent::into_waiting)
    }

    fn restart_proxy(&mut self, index: usize) {
        let mut before = self.proxies[index].restart(self.now);
        for station in 0..self.proxies[index].stations.len() {
            before.set_connected(self.now, station, false);
            if let Some(flow) = self.proxies[index].stations[station].source {
                let bytes = self.flows[flow].packet_bytes();
                let begun = self.flows[flow].is_taken(self.now);
                self.proxies[index]
                    .edge
                    .set_load(station, bytes.filter(|_| begun));
            }
        }
        while let Some(dropped) = before.poll_drop() {
            self.lose(Loss::ProxyAway, dropped.packet);
        }
        self.drain_proxy(index);
    }
}

fn event_index(proxy: usize, station: usize) -> u32 {
    (proxy as u32) << STATIONS_LOG2 | station as u32
}

fn station_of(event: usize) -> (usize, usize) {
    (event >> STATIONS_LOG2, event & ((1 << STATIONS_LOG2) - 1))
}
