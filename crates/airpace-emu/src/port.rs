//! A device of the cell: cuts super-packets that it reads and joins packets that it writes.

use crate::packet::EmulatedPacket;
use airpace_net::offload::{
    ETHERNET_HEADER_BYTES, FrameJoiner, HEADER_BYTES, Joiner, MAX_FRAME_BYTES, SuperFrame,
    SuperPacket,
};
use airpace_net::packet::{PacketSocket, VlanTag};
use airpace_net::tun::Tun;
use airpace_net::udp::ReceiveBatch;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// What a port reads from and writes to. Every packet has an offload header before it.
#[derive(Debug)]
pub(crate) enum Device {
    /// A TUN device: IP packets.
    Ip(Tun),
    /// A TAP device: Ethernet frames.
    Ethernet(Tun),
    /// The near end of a veth pair, through a packet socket with offload: Ethernet frames.
    Pair {
        socket: PacketSocket,
        /// Name of the interface, for messages.
        name: String,
    },
}

/// A device and the packets that are being joined for it.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) device: Device,
    writer: Writer,
    /// Packets that the kernel did not accept. A super-packet counts once: the figure only tells
    /// that the run cannot be trusted.
    pub(crate) refused: u64,
}

/// How packets are put together for the kernel.
#[derive(Debug)]
enum Writer {
    JoinPackets(Joiner),
    JoinFrames(FrameJoiner),
    /// Every packet is written by itself. The buffer begins with an empty offload header.
    Single(Vec<u8>),
}

/// Buffers for reading, shared by all ports.
#[derive(Debug)]
pub(crate) struct ReadBuffers {
    frame: Vec<u8>,
    packet: Vec<u8>,
    batch: ReceiveBatch,
}

/// Length of a VLAN tag.
const TAG_BYTES: usize = 4;

/// Room for the longest super-packet with an Ethernet header and two VLAN tags.
const BUFFER_BYTES: usize = MAX_FRAME_BYTES + ETHERNET_HEADER_BYTES + 2 * TAG_BYTES;

/// Frames or super-frames that are received from a packet socket with one system call.
const BATCH: usize = 8;

impl ReadBuffers {
    pub(crate) fn new() -> Self {
        Self {
            frame: vec![0; BUFFER_BYTES],
            packet: vec![0; BUFFER_BYTES],
            batch: ReceiveBatch::new(BATCH, BUFFER_BYTES),
        }
    }
}

/// Result of one read.
pub(crate) enum Read {
    /// No packet was waiting.
    Nothing,
    /// Packets were read, `malformed` of which were not whole.
    Packets { malformed: u64 },
}

impl Device {
    /// Returns the name of the interface.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Ip(tun) | Self::Ethernet(tun) => tun.name(),
            Self::Pair { name, .. } => name,
        }
    }

    /// Returns how many packets the kernel has dropped since the last call because they were not
    /// read in time; 0 for devices whose interface counts that itself.
    pub(crate) fn unread(&self) -> io::Result<u64> {
        match self {
            Self::Ip(_) | Self::Ethernet(_) => Ok(0),
            Self::Pair { socket, .. } => Ok(socket.statistics()?.dropped.into()),
        }
    }

    /// Writes one packet or super-packet behind its offload header; returns whether the kernel has
    /// accepted it.
    fn write(&self, frame: &[u8]) -> bool {
        let result = match self {
            Self::Ip(tun) | Self::Ethernet(tun) => tun.write(frame),
            Self::Pair { socket, .. } => socket.send(frame),
        };
        result.unwrap_or(false)
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Ip(tun) | Self::Ethernet(tun) => tun.as_fd(),
            Self::Pair { socket, .. } => socket.as_fd(),
        }
    }
}

impl Port {
    pub(crate) fn new(device: Device, join: bool) -> Self {
        let writer = match &device {
            Device::Ip(tun) if join => Writer::JoinPackets(Joiner::new(tun.udp_offload())),
            Device::Ethernet(tun) if join => {
                Writer::JoinFrames(FrameJoiner::new(tun.udp_offload()))
            }
            // A wire carries no super-packets, and whoever is at its other end need not take them.
            _ => Writer::Single(vec![0; HEADER_BYTES]),
        };
        Self {
            device,
            writer,
            refused: 0,
        }
    }

    /// Reads what one system call returns and passes each packet in it to `take`.
    pub(crate) fn read(
        &self,
        buffers: &mut ReadBuffers,
        mut take: impl FnMut(EmulatedPacket),
    ) -> io::Result<Read> {
        let ReadBuffers {
            frame,
            packet,
            batch,
        } = buffers;
        let mut malformed = 0;
        match &self.device {
            Device::Ip(tun) => {
                let Some(n) = tun.read(frame)? else {
                    return Ok(Read::Nothing);
                };
                malformed += cut_packets(&mut frame[..n], packet, &mut take);
            }
            Device::Ethernet(tun) => {
                let Some(n) = tun.read(frame)? else {
                    return Ok(Read::Nothing);
                };
                malformed += cut_frames(&mut frame[..n], None, packet, &mut take);
            }
            Device::Pair { socket, .. } => {
                if socket.receive(batch)? == 0 {
                    return Ok(Read::Nothing);
                }
                for captured in batch.frames() {
                    let frame = &mut frame[..captured.bytes.len()];
                    frame.copy_from_slice(captured.bytes);
                    malformed += cut_frames(frame, captured.vlan, packet, &mut take);
                }
            }
        }
        Ok(Read::Packets { malformed })
    }

    /// Passes a packet to the kernel, at once or together with those that follow: see
    /// [`Port::flush`].
    pub(crate) fn write(&mut self, packet: &EmulatedPacket) {
        let Self {
            device,
            writer,
            refused,
        } = self;
        let bytes = packet.as_slice();
        let mut send = |frame: &[u8]| *refused += u64::from(!device.write(frame));
        match writer {
            Writer::JoinPackets(joiner) => joiner.push(bytes, send),
            Writer::JoinFrames(joiner) => joiner.push(bytes, send),
            Writer::Single(buffer) => {
                buffer.truncate(HEADER_BYTES);
                buffer.extend_from_slice(bytes);
                send(buffer);
            }
        }
    }

    /// Passes all packets to the kernel that are still being joined.
    pub(crate) fn flush(&mut self) {
        let Self {
            device,
            writer,
            refused,
        } = self;
        let send = |frame: &[u8]| *refused += u64::from(!device.write(frame));
        match writer {
            Writer::JoinPackets(joiner) => joiner.flush(send),
            Writer::JoinFrames(joiner) => joiner.flush(send),
            Writer::Single(_) => {}
        }
    }
}

/// Passes each IP packet of a super-packet to `take`. Returns how many were malformed.
fn cut_packets(frame: &mut [u8], buffer: &mut [u8], take: &mut impl FnMut(EmulatedPacket)) -> u64 {
    let Ok(super_packet) = SuperPacket::parse(frame) else {
        return 1;
    };
    let mut malformed = 0;
    for index in 0..super_packet.count() {
        let n = super_packet.write(index, buffer).unwrap_or(0);
        match EmulatedPacket::copy(&buffer[..n]) {
            Some(packet) => take(packet),
            None => malformed += 1,
        }
    }
    malformed
}

/// Passes each Ethernet frame of a super-frame to `take`, with the VLAN tag that the kernel has
/// taken out of it. Returns how many were malformed.
fn cut_frames(
    frame: &mut [u8],
    tag: Option<VlanTag>,
    buffer: &mut [u8],
    take: &mut impl FnMut(EmulatedPacket),
) -> u64 {
    let Ok(super_frame) = SuperFrame::parse(frame) else {
        return 1;
    };
    let mut malformed = 0;
    for index in 0..super_frame.count() {
        let mut n = super_frame.write(index, buffer).unwrap_or(0);
        if let Some(tag) = tag {
            n = insert_tag(buffer, n, tag);
        }
        match EmulatedPacket::copy_frame(&buffer[..n]) {
            Some(packet) => take(packet),
            None => malformed += 1,
        }
    }
    malformed
}

/// Puts a VLAN tag behind the addresses of the frame of `n` bytes in `buffer`; returns its new
/// length.
fn insert_tag(buffer: &mut [u8], n: usize, tag: VlanTag) -> usize {
    /// Where the tag stands: behind the two addresses.
    const AT: usize = 12;
    if n < AT || n + TAG_BYTES > buffer.len() {
        return n;
    }
    buffer.copy_within(AT..n, AT + TAG_BYTES);
    buffer[AT..AT + 2].copy_from_slice(&tag.protocol.to_be_bytes());
    buffer[AT + 2..AT + TAG_BYTES].copy_from_slice(&tag.control.to_be_bytes());
    n + TAG_BYTES
}
