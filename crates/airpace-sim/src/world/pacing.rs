//! The world's part in what proxies do: packets in and out, reports, decisions.

use super::event::{Class, Event};
use super::parcel::{Ecn, Parcel, Payload, ReportPacket};
use super::proxy::{Port, Proxy};
use super::statistics::Loss;
use super::{Feedback, NodeId, ProxyConfig, World, WorldError};
use airpace_core::phy::AccessCategory;

/// Ports of a proxy are told apart in events by this many numbers: there are no more nodes.
const PORTS_LOG2: u32 = 16;

impl World {
    pub(super) fn add_proxies(
        &mut self,
        configs: Vec<ProxyConfig>,
        draws: (&[u64], u64),
    ) -> Result<(), WorldError> {
        for config in configs {
            self.add_proxy(config, draws)?;
        }
        Ok(())
    }

    fn add_proxy(&mut self, config: ProxyConfig, draws: (&[u64], u64)) -> Result<(), WorldError> {
        let index = self.proxies.len();
        if config.slot.is_zero() {
            return Err(WorldError::Zero {
                what: "the slot of a proxy",
            });
        }
        let known = |&node: &NodeId| (node.0 as usize) < self.managed.len();
        if let Some(&node) = [config.at]
            .iter()
            .chain(&config.stations)
            .find(|node| !known(node))
        {
            return Err(WorldError::UnknownNode { node });
        }
        if self
            .proxies
            .iter()
            .any(|proxy| proxy.config.at == config.at)
        {
            return Err(WorldError::TwoProxies { node: config.at });
        }
        for (port, &node) in config.stations.iter().enumerate() {
            if self.managed[node.0 as usize]
                .replace((index, port))
                .is_some()
            {
                return Err(WorldError::TwoProxies { node });
            }
        }
        let mut proxy = Proxy::new(config, draws)?;
        self.adopt_sources(index, &mut proxy);
        proxy.start();
        self.proxies.push(proxy);
        self.begin_proxy(index);
        Ok(())
    }

    /// Flows that start at the proxy and always have packets are pulled instead of pushing.
    fn adopt_sources(&mut self, index: usize, proxy: &mut Proxy) {
        if proxy.config.law.is_none() {
            // Without a law nothing paces, and nothing would end the pulling.
            return;
        }
        for (number, flow) in self
            .flows
            .iter_mut()
            .enumerate()
            .filter(|(_, flow)| flow.from == proxy.config.at)
        {
            let port = self.managed[flow.to.0 as usize].filter(|&(paced_by, _)| paced_by == index);
            let Some(port) = port.map(|(_, port)| &mut proxy.ports[port]) else {
                continue;
            };
            if port.source.is_none() && flow.be_pulled() {
                port.source = Some(number);
            }
        }
    }

    fn begin_proxy(&mut self, index: usize) {
        let slot = self.proxies[index].config.slot;
        let at = self.proxies[index].next_decision;
        // Proxies are few, and so are their ports.
        self.agenda.push(Event {
            at,
            class: Class::Decision,
            index: index as u32,
        });
        for port in 0..self.proxies[index].ports.len() {
            if self.proxies[index].config.report_bytes.is_some() {
                let Port {
                    joins,
                    report_phase,
                    ..
                } = &self.proxies[index].ports[port];
                let at = joins.saturating_add(slot.mul_f64(*report_phase));
                self.agenda.push(Event {
                    at,
                    class: Class::Report,
                    index: event_index(index, port),
                });
            }
            self.await_release(index, port);
        }
    }

    pub(super) fn enqueue_at_proxy(&mut self, proxy: usize, port: usize, parcel: Parcel) {
        let mut dropped = self.proxies[proxy].enqueue(self.now, port, parcel);
        while let Some(drop) = dropped {
            self.lose(Loss::at_proxy(drop.reason), drop.packet);
            dropped = self.proxies[proxy].ports[port].queue.poll_drop();
        }
        self.release_from(proxy, port);
    }

    pub(super) fn release(&mut self, index: usize) {
        let (proxy, port) = ports_of(index);
        if self.proxies[proxy].ports[port].alarm.ring(self.now) {
            self.release_from(proxy, port);
        }
    }

    /// Lets go whatever of a station may go now.
    fn release_from(&mut self, index: usize, port: usize) {
        let now = self.now;
        loop {
            let proxy = &mut self.proxies[index];
            let source = proxy.ports[port].source.map(|flow| &mut self.flows[flow]);
            let sent = &mut self.totals.sent;
            let pull = || {
                source
                    .and_then(|flow| flow.pull(now))
                    .inspect(|_| *sent += 1)
            };
            let released = proxy.release(now, port, pull);
            let at = proxy.config.at;
            while let Some(drop) = self.proxies[index].ports[port].queue.poll_drop() {
                self.lose(Loss::at_proxy(drop.reason), drop.packet);
            }
            let Some(parcel) = released else { break };
            self.transmit(at, parcel);
        }
        self.await_release(index, port);
    }

    fn await_release(&mut self, index: usize, port: usize) {
        let source = self.proxies[index].ports[port].source;
        let from = source.and_then(|flow| self.flows[flow].available_from(self.now));
        let due = self.proxies[index].next_release(self.now, port, from);
        self.proxies[index].ports[port].alarm.set(
            &mut self.agenda,
            due,
            Class::Release,
            event_index(index, port),
        );
    }

    /// A station sends its report.
    pub(super) fn report(&mut self, index: usize) {
        let (proxy, port) = ports_of(index);
        let config = &self.proxies[proxy].config;
        let (at, slot, feedback) = (config.at, config.slot, config.feedback);
        let Some(bytes) = config.report_bytes else {
            return;
        };
        let node = self.proxies[proxy].ports[port].node;
        let report = (feedback == Feedback::OverTheAir)
            .then(|| self.proxies[proxy].close_slot(self.now, port));
        self.totals.reports_sent += 1;
        let parcel = Parcel {
            flow: u32::MAX,
            sequence: 0,
            sent: self.now,
            bytes,
            to: at,
            category: AccessCategory::BestEffort,
            ecn: Ecn::NotCapable,
            tunnel: None,
            payload: Payload::Report(Box::new(ReportPacket { proxy, report })),
        };
        self.forward(node, parcel);
        let at = self.now.saturating_add(slot);
        self.agenda.push(Event {
            at,
            class: Class::Report,
            index: index as u32,
        });
    }

    pub(super) fn receive_report(&mut self, packet: ReportPacket) {
        let ReportPacket { proxy, report } = packet;
        self.totals.reports_delivered += 1;
        if let Some(report) = report
            && self.proxies[proxy].on_report(self.now, report)
        {
            self.take_decision(proxy);
        }
    }

    /// The time of a decision has come.
    pub(super) fn decide(&mut self, index: usize) {
        if self.proxies[index].next_decision > self.now {
            // A decision was taken since; the event for the next one comes with it.
            return;
        }
        if self.proxies[index].config.feedback == Feedback::Direct {
            for port in 0..self.proxies[index].ports.len() {
                let report = self.proxies[index].close_slot(self.now, port);
                if self.proxies[index].ports[port].joins <= self.now {
                    self.proxies[index].on_report(self.now, report);
                }
            }
        }
        self.take_decision(index);
    }

    fn take_decision(&mut self, index: usize) {
        let record = self.slots.is_some();
        self.proxies[index].decide(self.now, record);
        let at = self.proxies[index].next_decision;
        self.agenda.push(Event {
            at,
            class: Class::Decision,
            index: index as u32,
        });
        for port in 0..self.proxies[index].ports.len() {
            self.release_from(index, port);
        }
    }
}

fn event_index(proxy: usize, port: usize) -> u32 {
    (proxy as u32) << PORTS_LOG2 | port as u32
}

fn ports_of(index: usize) -> (usize, usize) {
    (index >> PORTS_LOG2, index & ((1 << PORTS_LOG2) - 1))
}
