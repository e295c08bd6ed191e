//! The air as a capture file: every MPDU that was decoded, as a monitor interface at its receiver
//! would show it, with the headers of its packet. Payload is left out; the lengths in the headers
//! are the real ones.

use crate::file::NodeKind;
use crate::resolve::Resolved;
use crate::run::Finished;
use airpace_core::wire::ieee80211::{DataHeader, Direction, MacAddr, write_frame};
use airpace_core::wire::radiotap::{Ampdu, Channel, Flags, Radiotap};
use airpace_sim::mac::FrameRecord;
use airpace_sim::world::{MpduRecord, NodeId};
use airpace_units::Time;
use anyhow::Result;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, TsResolution};
use std::collections::BTreeMap;
use std::io::Write;

/// Most bytes that are kept of a record.
const SNAP_LENGTH: u32 = 256;
/// Centre of channel 36, MHz.
const PRIMARY_5_MHZ: u16 = 5_180;
/// Centre of channel 1, MHz.
const PRIMARY_2_4_MHZ: u16 = 2_412;

/// Writes the capture.
pub(super) fn write(out: &mut impl Write, finished: &Finished) -> Result<()> {
    let header = PcapHeader {
        snaplen: SNAP_LENGTH,
        datalink: DataLink::IEEE802_11_RADIOTAP,
        ts_resolution: TsResolution::NanoSecond,
        endianness: Endianness::Little,
        ..PcapHeader::default()
    };
    let mut capture = PcapWriter::with_header(out, header)?;
    // The record of an MPDU names its frame by a number that counts up per channel.
    let mut frames: BTreeMap<(u32, u32), &FrameRecord> = BTreeMap::new();
    for (channel, frame) in &finished.outcome.frames {
        frames.insert((*channel, frame.ampdu), frame);
    }
    let mut shown: BTreeMap<u32, ShownFrame> = BTreeMap::new();
    let mut bytes = Vec::new();
    for record in &finished.outcome.mpdus {
        let Some(frame) = frames.get(&(record.channel, record.mpdu.ampdu)) else {
            continue;
        };
        let shown = shown.entry(record.channel).or_default();
        if shown.ampdu != frame.ampdu {
            *shown = ShownFrame {
                ampdu: frame.ampdu,
                mpdus: 0,
            };
        }
        shown.mpdus += 1;
        let is_last = shown.mpdus == frame.decoded;
        bytes.clear();
        radiotap(
            frame,
            is_last,
            is_2_4_ghz(&finished.resolved, record.channel),
        )
        .write(&mut bytes);
        let original_length = append_mpdu(&finished.resolved, record, &mut bytes);
        let at = frame.end.since(Time::ZERO);
        capture.write_packet(&PcapPacket::new(at, original_length, &bytes))?;
    }
    Ok(())
}

/// The frame of a channel whose MPDUs are being written.
#[derive(Default)]
struct ShownFrame {
    ampdu: u32,
    /// MPDUs written, the present one included.
    mpdus: u16,
}

fn is_2_4_ghz(resolved: &Resolved, channel: u32) -> bool {
    resolved.world.channels[channel as usize].mac.medium.band == airpace_core::phy::Band::Ghz2_4
}

/// The radiotap header. All MPDUs of an A-MPDU carry the time at which the first arrived, as most
/// drivers have it.
fn radiotap(frame: &FrameRecord, is_last: bool, is_2_4_ghz: bool) -> Radiotap {
    let aggregated = frame.mpdus > 1 || frame.rate.standard().always_aggregates();
    let channel = if is_2_4_ghz {
        Channel {
            mhz: PRIMARY_2_4_MHZ,
            flags: Channel::DYNAMIC_2GHZ,
        }
    } else {
        Channel {
            mhz: PRIMARY_5_MHZ,
            flags: Channel::OFDM_5GHZ,
        }
    };
    Radiotap {
        tsft_us: Some(frame.start.as_nanos() / 1_000),
        flags: Some(Flags::default()),
        channel: Some(channel),
        ampdu: aggregated.then(|| Ampdu::new(frame.ampdu, is_last)),
        ..Radiotap::default()
    }
    .with_rate(frame.rate)
}

/// Appends the MPDU with the headers of its packet; returns the length that the record would have
/// with its payload.
fn append_mpdu(resolved: &Resolved, record: &MpduRecord, out: &mut Vec<u8>) -> u32 {
    let nodes = &resolved.world.channels[record.channel as usize].nodes;
    let (from, to) = (
        nodes[record.mpdu.from.index()],
        nodes[record.mpdu.to.index()],
    );
    let is_ap = |node: NodeId| matches!(resolved.nodes[node.0 as usize].kind, NodeKind::Ap);
    let header = DataHeader {
        direction: match (is_ap(from), is_ap(to)) {
            (true, _) => Direction::FromDs,
            (false, true) => Direction::ToDs,
            (false, false) => Direction::Bridge,
        },
        receiver: mac_address(to),
        transmitter: mac_address(from),
        third: mac_address(if is_ap(from) { from } else { to }),
        sequence: record.mpdu.sequence,
        fragment: 0,
        more_fragments: false,
        retry: record.mpdu.retry,
        protected: false,
        tid: Some(record.mpdu.category.user_priority()),
        amsdu: false,
        null: false,
    };
    let packet = headers(resolved, record);
    write_frame(&header, &packet, false, out);
    // The headers are within the packet's length.
    out.len() as u32 + record.bytes.saturating_sub(packet.len() as u32)
}

/// A locally administered address that holds the node's number.
fn mac_address(node: NodeId) -> MacAddr {
    let [a, b, c, d] = node.0.to_be_bytes();
    MacAddr([0x02, 0x61, a, b, c, d])
}

/// IPv4 and UDP headers with the ends and, as ports, the flow of the packet. Reports of stations
/// belong to no flow and have port 0.
fn headers(resolved: &Resolved, record: &MpduRecord) -> Vec<u8> {
    let flow = resolved.world.flows.get(record.flow as usize);
    let nodes = &resolved.world.channels[record.channel as usize].nodes;
    let ends = flow.map_or(
        (
            nodes[record.mpdu.from.index()],
            nodes[record.mpdu.to.index()],
        ),
        |flow| (flow.from, flow.to),
    );
    // Lengths and ports that exceed their fields are cut off: nobody replays the capture.
    let length = (record.bytes as u16).to_be_bytes();
    let udp_length = (record.bytes.saturating_sub(20) as u16).to_be_bytes();
    let port = flow.map_or([0, 0], |_| {
        (record.flow as u16).wrapping_add(FIRST_PORT).to_be_bytes()
    });
    let address = |node: NodeId| [10, (node.0 >> 16) as u8, (node.0 >> 8) as u8, node.0 as u8];
    let mut packet = vec![0x45, 0, length[0], length[1], 0, 0, 0x40, 0, 64, 17, 0, 0];
    packet.extend(address(ends.0));
    packet.extend(address(ends.1));
    let sum = checksum(&packet).to_be_bytes();
    packet[10..12].copy_from_slice(&sum);
    packet.extend([port, port, udp_length, [0, 0]].concat());
    packet.truncate(record.bytes as usize);
    packet
}

/// Ports of flows count up from here.
const FIRST_PORT: u16 = 10_000;

/// The Internet checksum (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let words = header
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
