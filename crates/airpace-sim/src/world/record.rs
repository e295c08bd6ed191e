//! What a run records besides its statistics, if the configuration asks for it.

use super::flow::PagePacket;
use super::parcel::{Parcel, Payload};
use super::{NodeId, World};
use crate::mac;
use crate::transport::tcp::{AckSegment, DataSegment, TIMESTAMP_UNIT};
use airpace_core::packet::Ecn;
use airpace_core::wire::tcp::{PureAck, Timestamps};
use airpace_core::wire::transport::SackBlock;
use airpace_units::Time;

/// The records so far, until [`World::outcome`](super::World::outcome) takes them.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) frames: Vec<(u32, mac::FrameRecord)>,
    pub(super) packets: Vec<PacketRecord>,
    pub(super) mpdus: Vec<MpduRecord>,
    pub(super) headers: Vec<PacketOnAir>,
    pub(super) controls: Vec<(u32, mac::ControlRecord)>,
    pub(super) passing: Vec<PassingRecord>,
}

/// One packet that passed a node on its way, at the moment at which it left that node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PassingRecord {
    /// When it passed.
    pub at: Time,
    /// Its flow.
    pub flow: u32,
    /// Its destination.
    pub to: NodeId,
    /// When it left its source.
    pub sent: Time,
    /// IP bytes.
    pub bytes: u32,
    /// What its transport header says.
    pub header: PassingHeader,
}

/// The transport header of a packet that passed a node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PassingHeader {
    /// A TCP segment with payload.
    Data {
        /// Sequence number of its first byte.
        sequence: u32,
        /// Bytes of payload.
        payload: u32,
        /// Its timestamp value, milliseconds of the sender's clock.
        timestamp: u32,
    },
    /// A TCP acknowledgement without payload.
    Ack {
        /// What it says.
        ack: PureAck,
        /// The highest of the blocks that it acknowledges selectively.
        highest_sack: Option<SackBlock>,
    },
    /// A QUIC packet with a short header.
    Quic {
        /// Its spin bit.
        spin: bool,
    },
    /// Anything else.
    Other,
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

/// What the headers of a packet say that was decoded on the air.
#[derive(Clone, PartialEq, Debug)]
pub struct PacketOnAir {
    /// Its destination.
    pub to: NodeId,
    /// When it left its source.
    pub sent: Time,
    /// IP bytes without the header that a proxy has put in front.
    pub bytes: u32,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// What follows the IP header.
    pub transport: TransportOnAir,
}

/// The transport header of a packet on the air.
#[derive(Clone, PartialEq, Debug)]
pub enum TransportOnAir {
    /// A datagram of a flow.
    Datagram,
    /// A report of a station to a proxy, or other packets that load the air as reports do.
    Report,
    /// An echo request or reply.
    Echo {
        /// Whether it is a request.
        request: bool,
        /// Its number.
        number: u32,
    },
    /// TCP data, or a SYN, on this connection of the flow.
    Data(u64, DataSegment),
    /// A TCP acknowledgement or a SYN-ACK on this connection of the flow.
    Ack(u64, AckSegment),
}

impl PacketOnAir {
    /// What `parcel` says.
    pub(super) fn of(parcel: &Parcel) -> Self {
        let tunnel = parcel.tunnel.map_or(0, |tunnel| u32::from(tunnel.bytes));
        // A flow has one connection, unless it loads pages.
        let transport = match &parcel.payload {
            Payload::Plain => TransportOnAir::Datagram,
            Payload::Report(_) => TransportOnAir::Report,
            &Payload::Echo { request, number } => TransportOnAir::Echo { request, number },
            _ if parcel.spin.is_some() => TransportOnAir::Datagram,
            Payload::Data(segment) => TransportOnAir::Data(0, **segment),
            Payload::Ack(ack) => TransportOnAir::Ack(0, (**ack).clone()),
            Payload::Page(page) => match &**page {
                PagePacket::Query { .. } | PagePacket::Answer => TransportOnAir::Datagram,
                PagePacket::Data(connection, segment) => {
                    TransportOnAir::Data(connection.0, *segment)
                }
                PagePacket::Ack(connection, ack) => TransportOnAir::Ack(connection.0, ack.clone()),
            },
        };
        Self {
            to: parcel.to,
            sent: parcel.sent,
            bytes: parcel.bytes.saturating_sub(tunnel),
            ecn: parcel.ecn,
            transport,
        }
    }
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

impl PassingRecord {
    /// The record of `parcel`, which passes at `at`.
    pub(super) fn of(at: Time, parcel: &Parcel) -> Self {
        let header = match &parcel.payload {
            Payload::Data(segment) if segment.len > 0 => PassingHeader::Data {
                // Sequence numbers and timestamps have 32 bits and wrap around.
                sequence: segment.offset as u32,
                payload: segment.len,
                timestamp: (segment.timestamp.as_nanos() / TIMESTAMP_UNIT) as u32,
            },
            Payload::Ack(ack) => match ack.on_the_wire() {
                Some(pure) => PassingHeader::Ack {
                    ack: PureAck {
                        timestamps: pure.timestamps.map(|echoed| Timestamps {
                            // The acknowledging host writes the time at which it acknowledges.
                            value: (parcel.sent.as_nanos() / TIMESTAMP_UNIT) as u32,
                            ..echoed
                        }),
                        ..pure
                    },
                    highest_sack: highest_block(ack),
                },
                None => PassingHeader::Other,
            },
            _ => PassingHeader::Other,
        };
        Self {
            at,
            flow: parcel.flow,
            to: parcel.to,
            sent: parcel.sent,
            bytes: parcel.bytes,
            header: parcel
                .spin
                .map_or(header, |spin| PassingHeader::Quic { spin }),
        }
    }
}

/// The highest of the blocks that an acknowledgement acknowledges selectively.
fn highest_block(ack: &AckSegment) -> Option<SackBlock> {
    let highest = ack.blocks().iter().max_by_key(|block| block.end)?;
    Some(SackBlock {
        start: highest.start as u32,
        end: highest.end as u32,
    })
}

impl World {
    /// Records the control frames and beacons that have left the air of a channel.
    #[inline]
    pub(super) fn record_controls(&mut self, index: usize) {
        while let Some(record) = self.channels[index].mac.poll_control() {
            if record.end >= self.begin {
                // There are far fewer than 2^32 channels.
                self.recorded.controls.push((index as u32, record));
            }
        }
    }

    /// Records a packet of an MPDU that was decoded, as far as the configuration asks for it.
    #[inline(never)]
    pub(super) fn record_mpdu(&mut self, channel: usize, mpdu: mac::Mpdu, packet: &Parcel) {
        if !self.record.mpdus || self.now < self.begin {
            return;
        }
        self.recorded.mpdus.push(MpduRecord {
            // There are far fewer than 2^32 channels.
            channel: channel as u32,
            mpdu,
            flow: packet.flow,
            bytes: packet.bytes,
        });
        if self.record.air {
            self.recorded.headers.push(PacketOnAir::of(packet));
        }
    }

    /// Records the arrival of a packet, as far as the configuration asks for it.
    #[inline]
    pub(super) fn record_arrival(&mut self, parcel: &Parcel) {
        if let Some(slots) = &mut self.slots {
            slots.on_received(self.now, parcel);
        }
        if self.record.packets && self.now >= self.begin {
            let &Parcel {
                flow,
                sequence,
                to,
                sent,
                bytes,
                ..
            } = parcel;
            self.recorded.packets.push(PacketRecord {
                flow,
                sequence,
                to,
                sent,
                received: self.now,
                bytes,
            });
        }
    }
}
