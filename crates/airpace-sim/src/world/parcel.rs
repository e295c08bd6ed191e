use super::NodeId;
use super::flow::PagePacket;
use crate::transport::tcp::{AckSegment, DataSegment};
use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;
use airpace_core::report::SlotReport;
use airpace_edge::agent::UplinkPacket;
use airpace_units::Time;
use core::hash::Hasher;

/// Explicit congestion notification of a packet (RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Ecn {
    /// The transport takes no part.
    #[default]
    NotCapable,
    /// It does (ECT).
    Capable,
    /// A queue has marked the packet (CE).
    Experienced,
}

/// A packet on its way through the network.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// The flow that it belongs to; reports of stations belong to none.
    pub flow: u32,
    /// Its number within flow and direction, from zero.
    pub sequence: u64,
    /// When it left its source.
    pub sent: Time,
    /// IP bytes.
    pub bytes: u32,
    /// Where it goes.
    pub to: NodeId,
    /// Access category on the air.
    pub category: AccessCategory,
    /// Congestion notification.
    pub ecn: Ecn,
    /// What the proxy put on it.
    pub(super) tunnel: Option<Tunnel>,
    /// What it carries.
    pub(super) payload: Payload,
}

/// The header that a proxy puts in front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tunnel {
    /// When the proxy let it go.
    pub(super) released: Time,
    /// Number among the station's packets of the session.
    pub(super) sequence: u32,
    /// Number of the session.
    pub(super) session: u16,
    /// IP bytes that the header adds.
    pub(super) bytes: u16,
}

/// What a parcel carries, as far as its receiver must know. Boxes keep a parcel small: it is copied several times on its way.
#[derive(Clone, Debug)]
pub(super) enum Payload {
    /// Bytes of a source.
    Plain,
    /// A report.
    Report(Box<ReportPacket>),
    /// An echo request or reply.
    Echo { request: bool, number: u32 },
    /// TCP from sender to receiver.
    Data(Box<DataSegment>),
    /// TCP from receiver to sender.
    Ack(Box<AckSegment>),
    /// A packet of a browser or of its server.
    Page(Box<PagePacket>),
}

/// A station's report on its way.
#[derive(Clone, Debug)]
pub(super) struct ReportPacket {
    /// Index of the proxy that it is for.
    pub(super) proxy: usize,
    /// What it says; `None` if it is load only.
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
        let capable = self.ecn != Ecn::NotCapable;
        if capable {
            self.ecn = Ecn::Experienced;
        }
        capable
    }
}

impl UplinkPacket for Parcel {
    fn is_pure_ack(&self) -> bool {
        matches!(self.payload, Payload::Ack(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parcel_stays_small() {
        assert!(size_of::<Parcel>() <= 72, "{}", size_of::<Parcel>());
    }
}
