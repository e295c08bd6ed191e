//! Faults that a run may simulate: reports that go wrong, agents that stop, proxies that restart.

use super::super::statistics::Loss;
use super::super::{Change, NodeId, ReportFaults, World};
use super::PacedBy;

impl World {
    /// Applies a change of a proxy, its agents or their reports. Changes of nodes that no proxy
    /// paces have no effect.
    pub(in crate::world) fn change_proxy(&mut self, change: &Change) {
        match *change {
            Change::Reports { station, faults } => self.set_report_faults(station, faults),
            Change::Agent { station, running } => self.set_agent_running(station, running),
            Change::ProxyRestart { at } => {
                for index in 0..self.proxies.len() {
                    if self.proxies[index].config.at == at {
                        self.restart_proxy(index);
                    }
                }
            }
            _ => {}
        }
    }

    fn paced_by(&self, node: NodeId) -> Option<PacedBy> {
        self.paced_by.get(node.0 as usize).copied().flatten()
    }

    fn set_report_faults(&mut self, node: NodeId, faults: ReportFaults) {
        if let Some(PacedBy { proxy, station }) = self.paced_by(node) {
            self.proxies[proxy].stations[station].faults = faults;
        }
    }

    fn set_agent_running(&mut self, node: NodeId, running: bool) {
        let Some(PacedBy { proxy, station }) = self.paced_by(node) else {
            return;
        };
        if running {
            self.proxies[proxy].start_agent(self.now, station);
            self.set_agent_alarm(proxy, station);
        } else if let Some(agent) = self.proxies[proxy].stations[station].agent.take() {
            // Packets that wait for the uplink are lost with the agent that holds them.
            for parcel in agent.into_waiting() {
                self.lose(Loss::ProxyAway, parcel);
            }
        }
    }

    fn restart_proxy(&mut self, index: usize) {
        let mut old = self.proxies[index].restart(self.now);
        for station in 0..self.proxies[index].stations.len() {
            // A station that disconnects hands out the packets that wait for it.
            old.set_connected(self.now, station, false);
            self.restore_load(index, station);
        }
        while let Some(dropped) = old.poll_drop() {
            self.lose(Loss::ProxyAway, dropped.packet);
        }
        self.drain_proxy(index);
    }

    /// Tells a new proxy of the source from which it pulls packets for a station, if that has
    /// started.
    pub(super) fn restore_load(&mut self, index: usize, station: usize) {
        let proxy = &mut self.proxies[index];
        let Some(flow) = proxy.stations[station].source else {
            return;
        };
        let flow = &self.flows[flow];
        let load_bytes = if flow.is_pulled(self.now) {
            flow.packet_bytes()
        } else {
            None
        };
        proxy.edge.set_load(station, load_bytes);
    }
}
