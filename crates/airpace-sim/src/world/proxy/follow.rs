//! Stations that go from one access point to another: the proxy of the new one takes over.

use super::super::statistics::Loss;
use super::super::{NodeId, World};
use super::PacedBy;

impl World {
    /// A station is associated with another access point. The proxy that paces that medium goes on
    /// with it, and the packets that wait at the old one follow; its agent begins anew.
    pub(in crate::world) fn follow_with_proxies(&mut self, node: NodeId, access_point: NodeId) {
        let old = self.paced_by[node.0 as usize];
        let paces = |index: &usize| self.proxies[*index].config.medium == Some(access_point);
        let station_at = |index: usize| {
            let stations = &self.proxies[index].config.stations;
            let station = stations.iter().position(|&station| station == node)?;
            Some(PacedBy {
                proxy: index,
                station,
            })
        };
        let new = match old {
            // A proxy that knows of one medium only goes on as before.
            Some(old) if self.proxies[old.proxy].config.medium.is_none() => return,
            _ => (0..self.proxies.len()).filter(paces).find_map(station_at),
        };
        if old == new {
            return;
        }
        self.paced_by[node.0 as usize] = new;
        let (waiting, source) = match old {
            Some(old) => self.leave_proxy(old),
            None => (Vec::new(), None),
        };
        let Some(PacedBy { proxy, station }) = new else {
            for parcel in waiting {
                self.lose(Loss::ProxyAway, parcel);
            }
            return;
        };
        self.proxies[proxy].stations[station].source = source;
        self.proxies[proxy].join(self.now, station);
        self.restore_load(proxy, station);
        for parcel in waiting {
            self.proxies[proxy].edge.enqueue(self.now, station, parcel);
        }
        self.drain_proxy(proxy);
        self.set_agent_alarm(proxy, station);
    }

    /// A station leaves a proxy. Returns the packets that wait there for it, and the flow that the
    /// proxy pulls for it. What waits at its agent is lost.
    #[expect(clippy::vec_box, reason = "parcels are moved in boxes")]
    fn leave_proxy(&mut self, from: PacedBy) -> (Vec<Box<super::Parcel>>, Option<usize>) {
        let PacedBy { proxy, station } = from;
        let managed = &mut self.proxies[proxy].stations[station];
        managed.joined = false;
        let source = managed.source.take();
        if let Some(agent) = managed.agent.take() {
            for parcel in agent.into_waiting() {
                self.lose(Loss::ProxyAway, parcel);
            }
        }
        let edge = &mut self.proxies[proxy].edge;
        edge.set_load(station, None);
        edge.set_connected(self.now, station, false);
        let mut waiting = Vec::new();
        while let Some(dropped) = self.proxies[proxy].edge.poll_drop() {
            match dropped.reason {
                None if dropped.station == station => waiting.push(dropped.packet),
                reason => {
                    let loss = reason.map_or(Loss::ProxyAway, Loss::at_proxy);
                    self.lose(loss, dropped.packet);
                }
            }
        }
        self.drain_proxy(proxy);
        (waiting, source)
    }
}
