//! An IP device of the cell: cuts super-packets that it reads and joins packets that it writes.

use crate::packet::EmulatedPacket;
use airpace_net::offload::{HEADER_BYTES, Joiner, MAX_FRAME_BYTES, SuperPacket};
use airpace_net::tun::Tun;
use std::io;

/// An IP device and the packets that are being joined for it.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) tun: Tun,
    /// `None` if every packet is written by itself.
    joiner: Option<Joiner>,
    /// Room for one packet behind an empty offload header, where nothing is joined.
    single: Vec<u8>,
    /// Frames that the kernel did not accept.
    pub(crate) refused: u64,
}

/// Buffers for reading, shared by all ports.
#[derive(Debug)]
pub(crate) struct ReadBuffers {
    frame: Vec<u8>,
    packet: Vec<u8>,
}

impl ReadBuffers {
    pub(crate) fn new() -> Self {
        Self {
            frame: vec![0; MAX_FRAME_BYTES],
            packet: vec![0; MAX_FRAME_BYTES],
        }
    }
}

/// Result of one read.
pub(crate) enum Read {
    /// No packet was waiting.
    Nothing,
    /// Packets were read, `malformed` of which were not whole IPv4 packets.
    Packets { malformed: u64 },
}

impl Port {
    pub(crate) fn new(tun: Tun, join: bool) -> Self {
        let joiner = join.then(|| Joiner::new(tun.udp_offload()));
        Self {
            tun,
            joiner,
            single: vec![0; HEADER_BYTES],
            refused: 0,
        }
    }

    /// Reads one packet or super-packet and passes each packet in it to `take`.
    pub(crate) fn read(
        &self,
        buffers: &mut ReadBuffers,
        mut take: impl FnMut(EmulatedPacket),
    ) -> io::Result<Read> {
        let Some(n) = self.tun.read(&mut buffers.frame)? else {
            return Ok(Read::Nothing);
        };
        let mut malformed = 0;
        match SuperPacket::parse(&mut buffers.frame[..n]) {
            Ok(super_packet) => {
                for i in 0..super_packet.count() {
                    let n = super_packet.write(i, &mut buffers.packet).unwrap_or(0);
                    match EmulatedPacket::copy(&buffers.packet[..n]) {
                        Some(packet) => take(packet),
                        None => malformed += 1,
                    }
                }
            }
            Err(_) => malformed += 1,
        }
        Ok(Read::Packets { malformed })
    }

    /// Passes a packet to the kernel, at once or together with those that follow: see
    /// [`Port::flush`].
    pub(crate) fn write(&mut self, packet: &EmulatedPacket) {
        let Self {
            tun,
            joiner,
            single,
            refused,
        } = self;
        if let Some(joiner) = joiner {
            joiner.push(packet.as_slice(), |frame| write(tun, frame, refused));
        } else {
            single.truncate(HEADER_BYTES);
            single.extend_from_slice(packet.as_slice());
            write(tun, single, refused);
        }
    }

    /// Passes all packets to the kernel that are still being joined.
    pub(crate) fn flush(&mut self) {
        let Self {
            tun,
            joiner,
            refused,
            ..
        } = self;
        if let Some(joiner) = joiner {
            joiner.flush(|frame| write(tun, frame, refused));
        }
    }
}

fn write(tun: &Tun, frame: &[u8], refused: &mut u64) {
    // A super-packet counts once: the figure only tells that the run cannot be trusted.
    if !tun.write(frame).unwrap_or(false) {
        *refused += 1;
    }
}
