//! A packet on its way through the network.

use super::NodeId;
use super::flow::PagePacket;
use crate::transport::tcp::{AckSegment, DataSegment};
use airpace_core::packet::{Ecn, Packet};
use airpace_core::phy::AccessCategory;
use airpace_core::report::SlotReport;
use airpace_core::wire::tcp::PureAck;
use airpace_edge::agent::UplinkPacket;
use airpace_units::Time;
use core::hash::Hasher;
use core::num::NonZeroU16;

/// A packet on its way through the network.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// Its flow; reports belong to none and have `u32::MAX`.
    pub flow: u32,
    /// Its sequence number within the flow and direction, from zero.
    pub sequence: u64,
    /// When it left its source.
    pub sent: Time,
    /// IP bytes.
    pub bytes: u32,
    /// Its destination.
    pub to: NodeId,
    /// Access category on the air.
    pub category: AccessCategory,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// The spin bit, if it looks like a packet of QUIC to all between its flow's ends.
    pub(super) spin: Option<bool>,
    /// When it was handed to the MAC of the link that it crosses or has crossed last.
    pub(super) queued: Time,
    /// Whether its flow is told when it has left its source's radio.
    pub(super) at_source: bool,
    /// The header that a proxy has put in front.
    pub(super) tunnel: Option<Tunnel>,
    /// What it carries.
    pub(super) payload: Payload,
}

/// The header that a proxy puts in front of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tunnel {
    /// When the packet left the proxy.
    pub(super) released: Time,
    /// Sequence number among the station's packets of the session.
    pub(super) sequence: u32,
    /// Number of the session. Not zero, so that a parcel without a header needs no room to say so.
    pub(super) session: NonZeroU16,
    /// IP bytes that the header adds.
    pub(super) bytes: u16,
}

/// What a parcel carries, as far as its receiver must know. The contents are boxed to keep a parcel
/// small: many wait at once.
#[derive(Clone, Debug, Default)]
pub(super) enum Payload {
    /// Bytes without meaning.
    #[default]
    Plain,
    /// A report.
    Report(Box<ReportPacket>),
    /// An echo request or reply.
    Echo { request: bool, number: u32 },
    /// TCP from sender to receiver.
    Data(Box<DataSegment>),
    /// TCP from receiver to sender.
    Ack(Box<AckSegment>),
    /// A packet between a browser and its server.
    Page(Box<PagePacket>),
}

/// Spare parcels that are kept. Copies of a multicast packet bring back more than are taken.
const SPARES: usize = 4_096;

/// Parcels that have arrived, whose memory the next ones take: nothing is allocated for each.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "the boxes are what is kept")]
pub(super) struct Spares(Vec<Box<Parcel>>);

impl Spares {
    /// A new parcel.
    #[inline]
    pub(super) fn fill(&mut self, parcel: Parcel) -> Box<Parcel> {
        match self.0.pop() {
            Some(mut spare) => {
                // Field by field: a whole parcel would be put together elsewhere and moved here.
                spare.flow = parcel.flow;
                spare.sequence = parcel.sequence;
                spare.sent = parcel.sent;
                spare.bytes = parcel.bytes;
                spare.to = parcel.to;
                spare.category = parcel.category;
                spare.ecn = parcel.ecn;
                spare.spin = parcel.spin;
                spare.queued = parcel.queued;
                spare.at_source = parcel.at_source;
                spare.tunnel = parcel.tunnel;
                spare.payload = parcel.payload;
                spare
            }
            None => Box::new(parcel),
        }
    }

    /// Takes a parcel that nobody needs any more.
    #[inline]
    pub(super) fn put(&mut self, parcel: Box<Parcel>) {
        if self.0.len() < SPARES {
            self.0.push(parcel);
        }
    }
}

/// A station's report on its way.
#[derive(Clone, Debug)]
pub(super) struct ReportPacket {
    /// Index of the proxy to which it is sent.
    pub(super) proxy: usize,
    /// The report; `None` if the packet is load only.
    pub(super) report: Option<SlotReport>,
}

impl Packet for Parcel {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.flow);
        state.write_u32(self.to.0);
    }

    fn category(&self) -> AccessCategory {
        self.category
    }

    fn mark_ce(&mut self) -> bool {
        let capable = self.ecn.is_capable();
        if capable {
            self.ecn = Ecn::Ce;
        }
        capable
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn acknowledges(&self) -> Option<u32> {
        self.pure_ack().map(|ack| ack.number)
    }
}

impl UplinkPacket for Parcel {
    fn pure_ack(&self) -> Option<PureAck> {
        match &self.payload {
            Payload::Ack(ack) if self.spin.is_none() => ack.on_the_wire(),
            _ => None,
        }
    }

    fn is_same_flow(&self, other: &Self) -> bool {
        // A flow has one connection, and only its receiver acknowledges.
        self.flow == other.flow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_parcels_are_kept() {
        let parcel = || Parcel {
            flow: 0,
            sequence: 0,
            sent: Time::ZERO,
            bytes: 1_500,
            to: NodeId(1),
            category: AccessCategory::BestEffort,
            ecn: Ecn::NotEct,
            spin: None,
            queued: Time::ZERO,
            at_source: false,
            tunnel: None,
            payload: Payload::Plain,
        };
        let mut spares = Spares::default();
        for _ in 0..SPARES + 10 {
            spares.put(Box::new(parcel()));
        }
        assert_eq!(spares.0.len(), SPARES);
        spares.fill(parcel());
        assert_eq!(spares.0.len(), SPARES - 1);
    }

    #[test]
    fn a_parcel_stays_small() {
        assert!(size_of::<Parcel>() <= 72, "{}", size_of::<Parcel>());
    }
}
