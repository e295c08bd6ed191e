//! The air as a capture file: every MPDU that was decoded, as a monitor interface at its receiver shows it, with the headers of its packet.
//! Payload is left out; the lengths told are the real ones.

use crate::file::NodeKind;
use crate::resolve::Resolved;
use crate::run::Finished;
use airpace_core::wire::ieee80211::{DataHeader, Direction, MacAddr, write_frame};
use airpace_core::wire::radiotap::{Ampdu, Channel, Flags, LINK_TYPE, Radiotap};
use airpace_sim::mac::FrameRecord;
use airpace_sim::world::{MpduRecord, NodeId};
use anyhow::Result;
use std::collections::BTreeMap;
use std::io::Write;

/// Magic number of capture files with times in nanoseconds, written in the machine's order (draft-ietf-opsawg-pcap).
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Most bytes of a record.
const SNAP: u32 = 256;
/// Channel 36 and channel 1.
const PRIMARY_5_MHZ: u16 = 5_180;
const PRIMARY_2_4_MHZ: u16 = 2_412;

/// Writes the capture.
pub(super) fn write(out: &mut impl Write, finished: &Finished) -> Result<()> {
    for word in [MAGIC_NANOSECONDS, 4 << 16 | 2, 0, 0, SNAP, LINK_TYPE] {
        out.write_all(&word.to_le_bytes())?;
    }
    // An MPDU tells its frame by a number that counts up per channel.
    let frames: BTreeMap<(u32, u32), &FrameRecord> = finished
        .outcome
        .frames
        .iter()
        .map(|(channel, frame)| ((*channel, frame.ampdu), frame))
        .collect();
    let mut shown: BTreeMap<u32, (u32, u16)> = BTreeMap::new();
    let mut bytes = Vec::new();
    for record in &finished.outcome.mpdus {
        let Some(frame) = frames.get(&(record.channel, record.mpdu.ampdu)) else {
            continue;
        };
        let place = shown.entry(record.channel).or_default();
        *place = if place.0 == frame.ampdu {
            (frame.ampdu, place.1 + 1)
        } else {
            (frame.ampdu, 1)
        };
        bytes.clear();
        radiotap(
            frame,
            place.1 == frame.decoded,
            is_2_4_ghz(&finished.resolved, record.channel),
        )
        .write(&mut bytes);
        let whole = mpdu(&finished.resolved, record, &mut bytes);
        let at = frame.end.as_nanos();
        // Seconds of simulated time stay below 2^32, lengths below 2^16.
        let head = [
            (at / 1_000_000_000) as u32,
            (at % 1_000_000_000) as u32,
            bytes.len() as u32,
            whole,
        ];
        for word in head {
            out.write_all(&word.to_le_bytes())?;
        }
        out.write_all(&bytes)?;
    }
    Ok(())
}

fn is_2_4_ghz(resolved: &Resolved, channel: u32) -> bool {
    resolved.world.channels[channel as usize].mac.medium.band == airpace_core::phy::Band::Ghz2_4
}

/// Most drivers stamp all MPDUs of an A-MPDU with the arrival of the first; so does this.
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

/// Appends the MPDU with the headers of its packet; answers with the length that the whole record would have.
fn mpdu(resolved: &Resolved, record: &MpduRecord, out: &mut Vec<u8>) -> u32 {
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

/// A locally administered address that tells the node's number.
fn mac_address(node: NodeId) -> MacAddr {
    let [a, b, c, d] = node.0.to_be_bytes();
    MacAddr([0x02, 0x61, a, b, c, d])
}

/// IPv4 and UDP headers that tell the ends and the flow of the packet; reports of stations, which have no flow, tell port 0.
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
    // Lengths and ports are cut to their fields: a capture is for looking at.
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
