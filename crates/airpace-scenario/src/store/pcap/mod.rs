//! The air as a capture file: every MPDU that its receiver decoded, with the headers of its packets,
//! and the control frames and beacons around them, in the order of the air.
//!
//! Payload is left out: it is zeros where a header follows it in the same MPDU. Lengths in the
//! headers are the real ones, and checksums are those of packets whose payload is zeros. A packet in
//! a proxy's tunnel is shown as if it were not, because a sealed one would tell nothing.

mod frame;
mod packet;
mod tcp;

use crate::resolve::Resolved;
use crate::run::Finished;
use airpace_core::wire::ieee80211::MacAddr;
use airpace_core::wire::radiotap::Radiotap;
use airpace_sim::mac::{ControlKind, ControlRecord, FrameRecord, RadioId};
use airpace_sim::overheard::{Scoreboard, control_bytes};
use airpace_sim::world::{MpduRecord, NodeId, PacketOnAir};
use airpace_units::Time;
use anyhow::Result;
use frame::{append_mpdu, control_radiotap, data_radiotap};
use packet::Conversations;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, TsResolution};
use std::collections::BTreeMap;
use std::io::Write;

/// Most bytes that are kept of a record: more than the largest A-MSDU.
const SNAP_LENGTH: u32 = 16_384;

/// A packet on the air: where it was, and what it says.
type Heard<'a> = (&'a MpduRecord, &'a PacketOnAir);

/// Writes the capture.
pub(super) fn write(out: &mut impl Write, finished: &Finished) -> Result<()> {
    let header = PcapHeader {
        snaplen: SNAP_LENGTH,
        datalink: DataLink::IEEE802_11_RADIOTAP,
        ts_resolution: TsResolution::NanoSecond,
        endianness: Endianness::Little,
        ..PcapHeader::default()
    };
    let mut scribe = Scribe {
        capture: PcapWriter::with_header(out, header)?,
        resolved: &finished.resolved,
        conversations: Conversations::default(),
        scoreboards: BTreeMap::new(),
        bytes: Vec::new(),
    };
    let frames = with_packets(finished);
    let mut controls = finished.outcome.controls.iter().collect::<Vec<_>>();
    // Channels, and answers that were known before they ended, are out of order.
    controls.sort_by_key(|(_, control)| control.end);
    let mut controls = controls.into_iter().peekable();
    for (channel, frame, packets) in &frames {
        while let Some((on, control)) = controls.next_if(|(_, control)| control.end < frame.end) {
            scribe.control(*on, control)?;
        }
        scribe.frame(*channel, frame, packets)?;
    }
    for (on, control) in controls {
        scribe.control(*on, control)?;
    }
    Ok(())
}

/// The frames in the order of their ends, each with its channel and the packets that were decoded
/// of it.
fn with_packets(finished: &Finished) -> Vec<(u32, &FrameRecord, Vec<Heard<'_>>)> {
    let outcome = &finished.outcome;
    // The record of an MPDU names its frame by a number that counts up per channel.
    let mut packets: BTreeMap<(u32, u32), Vec<Heard<'_>>> = BTreeMap::new();
    for heard in outcome.mpdus.iter().zip(&outcome.headers) {
        let key = (heard.0.channel, heard.0.mpdu.ampdu);
        packets.entry(key).or_default().push(heard);
    }
    let mut frames = Vec::new();
    for (channel, frame) in &outcome.frames {
        if let Some(packets) = packets.remove(&(*channel, frame.ampdu)) {
            frames.push((*channel, frame, packets));
        }
    }
    frames.sort_by_key(|(_, frame, _)| frame.end);
    frames
}

/// Writes records, and remembers what later ones must agree with.
struct Scribe<'a, W: Write> {
    capture: PcapWriter<W>,
    resolved: &'a Resolved,
    conversations: Conversations,
    /// What each receiver has of each sender and traffic identifier: channel, sender, receiver.
    scoreboards: BTreeMap<(u32, RadioId, RadioId, u8), Scoreboard>,
    /// Bytes of a record, kept for their memory.
    bytes: Vec<u8>,
}

impl<W: Write> Scribe<'_, W> {
    /// Writes the MPDUs of a frame that were decoded.
    fn frame(&mut self, channel: u32, frame: &FrameRecord, packets: &[Heard<'_>]) -> Result<()> {
        let band = self.band(channel);
        let key = (
            channel,
            frame.from,
            frame.to,
            frame.category.user_priority(),
        );
        // The packets of an A-MSDU have the same number.
        let mpdus = packets.chunk_by(|a, b| a.0.mpdu.sequence == b.0.mpdu.sequence);
        let count = mpdus.clone().count();
        for (index, mpdu) in (1..).zip(mpdus) {
            let board = self.scoreboards.entry(key).or_default();
            board.receive(mpdu[0].0.mpdu.sequence);
            let radiotap = data_radiotap(frame, index == count, band);
            self.begin(&radiotap);
            let length = append_mpdu(
                self.resolved,
                mpdu,
                &mut self.conversations,
                &mut self.bytes,
            );
            self.finish(frame.end, length)?;
        }
        Ok(())
    }

    /// Writes a control frame or beacon.
    fn control(&mut self, channel: u32, control: &ControlRecord) -> Result<()> {
        let radiotap = control_radiotap(control, self.band(channel));
        let nodes = &self.resolved.world.channels[channel as usize].nodes;
        let address = |radio: RadioId| mac_address(nodes[radio.index()]);
        let (from, to) = (address(control.from), address(control.to));
        let tid = control.category.user_priority();
        // A block ack goes against the direction of the data.
        let key = (channel, control.to, control.from, tid);
        let board = match control.kind {
            ControlKind::BlockAck { .. } => self.scoreboards.entry(key).or_default(),
            _ => &mut Scoreboard::default(),
        };
        let frame = control_bytes(control, from, to, board);
        self.begin(&radiotap);
        self.bytes.extend(frame);
        // Control frames and beacons have at most a few hundred bytes.
        let length = self.bytes.len() as u32;
        self.finish(control.end, length)
    }

    fn band(&self, channel: u32) -> airpace_core::phy::Band {
        self.resolved.world.channels[channel as usize]
            .mac
            .medium
            .band
    }

    fn begin(&mut self, radiotap: &Radiotap) {
        self.bytes.clear();
        radiotap.write(&mut self.bytes);
    }

    /// Writes the record whose bytes are complete; with its payload it would have `length`.
    fn finish(&mut self, at: Time, length: u32) -> Result<()> {
        let at = at.since(Time::ZERO);
        let record = PcapPacket::new(at, length, &self.bytes);
        Ok(self.capture.write_packet(&record).map(|_| ())?)
    }
}

/// A locally administered address that holds the node's number.
fn mac_address(node: NodeId) -> MacAddr {
    let [a, b, c, d] = node.0.to_be_bytes();
    MacAddr([0x02, 0x61, a, b, c, d])
}
