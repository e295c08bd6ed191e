//! Ethernet frames for stations.

use airpace_core::packet::{Ecn, Packet};
use airpace_core::phy::AccessCategory;
use airpace_core::sensor::ack_burst::{DownlinkPacket, DownlinkSegment};
use airpace_core::wire::ethernet::Ethernet;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_core::wire::ip;
use airpace_core::wire::transport::Transport;
use airpace_edge::inline::DownlinkFrame;
use core::hash::Hasher;

use super::headers::FlowKeys;

/// An Ethernet frame with an IP packet, in a buffer that is used again.
#[derive(Debug)]
pub(crate) struct FrameBuf {
    bytes: Vec<u8>,
    /// Where the IP packet begins.
    ip: usize,
    downlink: DownlinkPacket,
    /// The timestamp of the station that a TCP segment returns.
    echo: Option<u32>,
    /// The acknowledgement number of a TCP segment.
    acknowledges: Option<u32>,
}

impl FrameBuf {
    /// Copies a frame into `buffer`. Returns the receiver's address besides; `None` if the frame's
    /// headers cannot be read, which the kernel's program has checked.
    pub(crate) fn copy(
        frame: &[u8],
        mut buffer: Vec<u8>,
        keys: &FlowKeys,
    ) -> Option<(MacAddr, Self)> {
        let ethernet = Ethernet::parse(frame).ok()?;
        let ip = frame.len() - ethernet.payload.len();
        let (mut echo, mut acknowledges) = (None, None);
        let transport = Transport::parse(ethernet.payload);
        let tcp = match &transport {
            Some(Transport::Tcp(header)) => {
                echo = header.timestamps.map(|timestamps| timestamps.echo);
                acknowledges = header.acknowledgement;
                Some(DownlinkSegment {
                    flow: keys.key(ethernet.payload)?,
                    sequence: header.sequence,
                    payload: header.payload,
                    timestamp: header.timestamps.map(|timestamps| timestamps.value),
                })
            }
            _ => None,
        };
        let downlink = DownlinkPacket {
            bytes: u32::try_from(ethernet.payload.len()).unwrap_or(u32::MAX),
            tcp,
            quic: transport.and_then(|transport| keys.spin_bit(ethernet.payload, &transport)),
        };
        buffer.clear();
        buffer.extend_from_slice(frame);
        let frame = Self {
            bytes: buffer,
            ip,
            downlink,
            echo,
            acknowledges,
        };
        Some((ethernet.destination, frame))
    }

    /// The frame from its Ethernet header on.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The buffer, to be used again.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }

    fn packet(&self) -> &[u8] {
        &self.bytes[self.ip..]
    }
}

impl Packet for FrameBuf {
    fn bytes(&self) -> u32 {
        self.downlink.bytes
    }

    fn hash_flow<H: Hasher>(&self, state: &mut H) {
        ip::hash_flow(self.packet(), state);
    }

    fn ecn(&self) -> Ecn {
        ip::ecn(self.packet())
    }

    fn category(&self) -> AccessCategory {
        let class = ip::traffic_class(self.packet()).unwrap_or(0);
        ip::category(class >> 2)
    }

    fn mark_ce(&mut self) -> bool {
        ip::mark_ce(&mut self.bytes[self.ip..])
    }

    fn acknowledges(&self) -> Option<u32> {
        self.acknowledges
    }
}

impl DownlinkFrame for FrameBuf {
    fn downlink(&self) -> DownlinkPacket {
        self.downlink
    }

    fn echo(&self) -> Option<u32> {
        self.echo
    }
}
