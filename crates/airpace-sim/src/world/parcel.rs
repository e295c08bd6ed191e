use super::NodeId;
use super::flow::PagePacket;
use crate::transport::tcp::{AckSegment, DataSegment};
use airpace_core::packet::Packet;
use airpace_core::phy::AccessCategory;
use airpace_core::report::SlotReport;
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
    /// Number among the station's packets.
    pub(super) sequence: u64,
    /// When the proxy let it go.
    pub(super) released: Time,
    /// IP bytes that the header adds.
    pub(super) bytes: u32,
}

/// What a parcel carries, as far as its receiver must know.
#[derive(Clone, Debug)]
pub(super) enum Payload {
    /// Bytes of a source.
    Plain,
    /// A report to the proxy of this index; empty if it is load only.
    Report { proxy: u32, report: Option<Box<SlotReport>> },
    /// An echo request or reply.
    Echo { request: bool, number: u64 },
    /// TCP from sender to receiver.
    Data(DataSegment),
    /// TCP from receiver to sender.
    Ack(AckSegment),
    /// A packet of a browser or of its server.
    Page(Box<PagePacket>),
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
