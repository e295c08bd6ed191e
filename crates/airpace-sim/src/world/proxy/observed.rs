//! A box in front of the access point that observes the stations, which have no agents.

use super::super::parcel::Parcel;
use super::super::record::{PassingHeader, PassingRecord};
use super::super::{NodeId, World};
use super::radio::AirRadio;
use super::{PacedBy, ProxyNode};
use airpace_core::report::SlotReport;
use airpace_core::sensor::ack_burst::{
    DownlinkPacket, DownlinkSegment, FlowKey, SpinBit, UplinkAck, UplinkQuic,
};
use airpace_edge::inline::Observer;
use airpace_units::Time;
use core::time::Duration;

/// The sensors of a proxy, and when their slot ends.
pub(in crate::world) struct ObservingBox {
    pub(super) observer: Observer,
    /// A radio near the access point.
    pub(super) radio: Option<AirRadio>,
    slot: Duration,
    pub(super) slot_end: Time,
    /// Bytes that have come from each station, modulo 2³².
    uplink_bytes: Vec<u32>,
}

impl ObservingBox {
    pub(super) fn new(slot: Duration) -> Self {
        Self {
            observer: Observer::default(),
            radio: None,
            slot,
            slot_end: Time::ZERO.saturating_add(slot),
            uplink_bytes: Vec::new(),
        }
    }
}

impl ProxyNode {
    /// Observes a packet that leaves for a station.
    #[inline]
    pub(super) fn observe_sent(&mut self, now: Time, station: usize, parcel: &Parcel) {
        let Some(observing) = &mut self.observing else {
            return;
        };
        let flow = FlowKey(u64::from(parcel.flow));
        let mut packet = DownlinkPacket {
            bytes: parcel.bytes,
            tcp: None,
            quic: None,
        };
        let segment = |sequence, payload, timestamp| DownlinkSegment {
            flow,
            sequence,
            payload,
            timestamp,
        };
        match PassingRecord::of(now, parcel).header {
            PassingHeader::Data {
                sequence,
                payload,
                timestamp,
            } => packet.tcp = Some(segment(sequence, payload, Some(timestamp))),
            PassingHeader::Ack { .. } => packet.tcp = Some(segment(0, 0, None)),
            PassingHeader::Quic { spin } => packet.quic = Some(SpinBit::new(flow, spin)),
            PassingHeader::Other => {}
        }
        observing.observer.on_sent(now, station, &packet);
    }

    /// Observes a packet that has come from a station.
    fn observe_uplink(&mut self, now: Time, station: usize, parcel: &Parcel) {
        let Some(observing) = &mut self.observing else {
            return;
        };
        if observing.uplink_bytes.len() <= station {
            observing.uplink_bytes.resize(station + 1, 0);
        }
        let before_bytes = observing.uplink_bytes[station];
        observing.uplink_bytes[station] = before_bytes.wrapping_add(parcel.bytes);
        match PassingRecord::of(now, parcel).header {
            PassingHeader::Ack { ack, highest_sack } => {
                let ack = UplinkAck {
                    flow: FlowKey(u64::from(parcel.flow)),
                    number: ack.number,
                    timestamps: ack.timestamps,
                    highest_sack,
                    before_bytes: Some(before_bytes),
                };
                observing.observer.on_ack(now, station, &ack);
            }
            PassingHeader::Quic { spin } => {
                let flow = FlowKey(u64::from(parcel.flow));
                let packet = UplinkQuic {
                    spin: SpinBit::new(flow, spin),
                    bytes: parcel.bytes,
                    before_bytes: Some(before_bytes),
                };
                observing.observer.on_quic(now, station, &packet);
            }
            _ => observing.observer.on_other(now, station, before_bytes),
        }
    }

    /// Takes the report of an agent. A box that observes the stations completes it by what it has seen,
    /// and passes it on only while the agent speaks for its station.
    pub(super) fn take_report(&mut self, now: Time, mut report: SlotReport) {
        let station = report.station.index();
        let Some(observing) = &mut self.observing else {
            self.stations[station].reports += 1;
            return self.edge.on_report(now, report);
        };
        // Beside the box no packet bears the time at which it was sent.
        report.wait = None;
        if let Ok(Some(report)) = observing.observer.on_report(now, station, report) {
            self.stations[station].reports += 1;
            self.edge.on_report(now, report);
        }
    }

    /// Ends the slot of the sensors if it is over: the law gets what they saw.
    pub(super) fn close_observed(&mut self, now: Time) {
        let Some(observing) = &mut self.observing else {
            return;
        };
        if now < observing.slot_end {
            return;
        }
        observing.slot_end = now.saturating_add(observing.slot);
        let (observer, stations) = (&mut observing.observer, &mut self.stations);
        let reports = stations
            .iter_mut()
            .enumerate()
            .filter_map(|(idx, station)| {
                let report = observer.close_slot(now, idx)?;
                station.reports += 1;
                Some(report)
            });
        self.edge.on_reports(now, reports);
        // After all stations: acknowledgements that do not name their sender are divided among them.
        observing.observer.close_cell();
    }
}

impl World {
    /// Shows a packet that passes `node`, or ends there, to the proxy there, if it observes the packet's sender.
    #[inline(always)]
    pub(in crate::world) fn observe_passing(&mut self, node: NodeId, parcel: &Parcel) {
        if !self.proxies.is_empty() {
            self.show_passing(node, parcel);
        }
    }

    fn show_passing(&mut self, node: NodeId, parcel: &Parcel) {
        let Some(flow) = self.flows.get(parcel.flow as usize) else {
            return;
        };
        let from = if parcel.to == flow.to {
            flow.from
        } else {
            flow.to
        };
        let Some(PacedBy { proxy, station }) = self.paced_by[from.0 as usize] else {
            return;
        };
        let proxy = &mut self.proxies[proxy];
        if proxy.config.at == node {
            proxy.observe_uplink(self.now, station, parcel);
        }
    }
}
