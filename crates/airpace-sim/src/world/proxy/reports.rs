//! Reports on their way from the agents to the proxy.

use super::super::event::{Class, Event};
use super::super::parcel::{Parcel, Payload, ReportPacket};
use super::super::{Feedback, World};
use super::drive::split_event_index;
use airpace_core::packet::Ecn;
use airpace_core::phy::AccessCategory;
use airpace_core::report::SlotReport;

impl World {
    /// Sends an agent's report to the proxy, in the way that the configuration says.
    pub(super) fn send_report(&mut self, index: usize, station: usize, report: SlotReport) {
        let config = &self.proxies[index].config;
        match (config.feedback, config.report_bytes) {
            (Feedback::Direct, _) => self.report_arrives(index, report),
            (Feedback::OverTheAir | Feedback::Observed, Some(_)) => {
                self.send_report_packet(index, station, Some(report))
            }
            // No packet carries it.
            (Feedback::OverTheAir | Feedback::Observed, None) => {}
        }
    }

    /// Sends a packet that is as long as a report and carries none, and schedules the next.
    pub(in crate::world) fn send_report_load(&mut self, event: usize) {
        let (index, station) = split_event_index(event);
        self.send_report_packet(index, station, None);
        let slot = self.proxies[index].config.agent.slot;
        self.agenda.push(Event {
            at: self.now.saturating_add(slot),
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
        let parcel = Box::new(Parcel {
            at_source: false,
            // Reports belong to no flow.
            flow: u32::MAX,
            sequence: 0,
            sent: self.now,
            bytes,
            to: proxy.config.at,
            category: AccessCategory::BestEffort,
            ecn: Ecn::NotEct,
            spin: None,
            queued: self.now,
            tunnel: None,
            payload: Payload::Report(Box::new(ReportPacket {
                proxy: index,
                report,
            })),
        });
        self.totals.reports_sent += 1;
        self.forward(node, parcel);
    }

    /// Takes a report, or a packet as long as one, that has reached the proxy's node.
    pub(in crate::world) fn receive_report(&mut self, packet: ReportPacket) {
        self.totals.reports_delivered += 1;
        if let Some(report) = packet.report {
            self.report_arrives(packet.proxy, report);
        }
    }

    /// Hands a report to the proxy; the station's faults may lose, delay or repeat it.
    fn report_arrives(&mut self, index: usize, report: SlotReport) {
        let now = self.now;
        let proxy = &mut self.proxies[index];
        let station = &mut proxy.stations[report.station.index()];
        let faults = station.faults;
        // A probability of zero draws nothing.
        if station.fault_draws.happens(faults.loss) {
            return;
        }
        for _ in 0..faults.copies {
            if faults.delay.is_zero() {
                proxy.take_report(now, report.clone());
            } else {
                let due = now.saturating_add(faults.delay);
                proxy.delayed.push((due, report.clone()));
            }
        }
        self.drain_proxy(index);
    }
}
