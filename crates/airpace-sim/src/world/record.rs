//! What a run records besides its statistics, if the configuration asks for it.

use super::NodeId;
use crate::mac;
use airpace_units::Time;

/// The records so far, until [`World::outcome`](super::World::outcome) takes them.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) frames: Vec<(u32, mac::FrameRecord)>,
    pub(super) packets: Vec<PacketRecord>,
    pub(super) mpdus: Vec<MpduRecord>,
}

/// One MPDU that was decoded, as a monitor interface at its receiver sees it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MpduRecord {
    /// Index of the channel.
    pub channel: u32,
    /// The MPDU; its frame is the one with the same [`mac::FrameRecord::ampdu`].
    pub mpdu: mac::Mpdu,
    /// The flow of its packet, or of the first of an A-MSDU.
    pub flow: u32,
    /// IP bytes of that packet.
    pub bytes: u32,
}

/// One packet that arrived at the end of its flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PacketRecord {
    /// Its flow.
    pub flow: u32,
    /// Its sequence number within the flow and direction.
    pub sequence: u64,
    /// Its destination.
    pub to: NodeId,
    /// When it left its source.
    pub sent: Time,
    /// When it arrived.
    pub received: Time,
    /// IP bytes.
    pub bytes: u32,
}
